"""What the name of a column tells: its words, and whether it speaks of groups or of one person."""

from __future__ import annotations

import re

#: Words of groups that laws and people protect.
OF_GROUPS = frozenset({
    "race", "ethnicity", "ethnic", "sex", "gender", "religion", "nationality", "disability",
    "caste", "minority", "female", "male", "hispanic", "latino",
})  # fmt: skip
#: Words that tell an identifier, whatever the other words of the name.
OF_ROWS = frozenset({"id", "pid", "subjid", "usubjid", "patid", "uuid", "guid", "identifier"})


def words_of(text: str) -> list[str]:
    """The words of a name, in lower case.

    Examples
    --------
    >>> words_of("customerNo_2")
    ['customer', 'no', '2']
    """
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    split = re.sub(r"(num|trt)\b|\b(rx)", r" \1\2 ", split)  # 'pidnum', 'RXASP'
    return re.findall(r"[^\W\d_]+|\d+", split)


def speaks_of_groups(name: str) -> bool:
    """Whether the name of a column, or of a level of one, speaks of a protected group.

    Examples
    --------
    >>> speaks_of_groups("sex=F"), speaks_of_groups("Essex County")
    (True, False)
    """
    return not OF_GROUPS.isdisjoint(words_of(name.partition("=")[0]))


def names_a_row(name: str) -> bool:
    """Whether the name of a column is that of an identifier.

    Examples
    --------
    >>> names_a_row("customer_id"), names_a_row("pidnum"), names_a_row("idle time")
    (True, True, False)
    """
    return not OF_ROWS.isdisjoint(words_of(name.partition("=")[0]))

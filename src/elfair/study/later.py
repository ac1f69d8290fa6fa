"""Which columns were measured after the decision, as far as their names and their order tell.

Repeated measurements have a time in their names: ``weight`` and ``weight_m6``, ``cd40`` and
``cd420``. And a table often has its columns in the order in which they came to be known. Neither is
certain, so such a column is left out with a word why, for a person to decide.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

_UNIT = "(?:years?|yrs?|y|quarters?|q|months?|mo|m|weeks?|wks?|w|days?|d)"
_WITH_UNIT = re.compile(rf"(.+?)[\W_]*(?:{_UNIT}[\W_]*(\d+)|(\d+)[\W_]*{_UNIT})", re.IGNORECASE)
_WITH_NUMBER = re.compile(r".*?(\d+)")
#: A smaller number without a unit may count columns, as in 'test' and 'test2'; and so may one after
#: a shorter name, as in 'x10'.
LEAST_TIME, SHORTEST = 4, 3


def times(names: Collection[str]) -> dict[str, tuple[str, int]]:
    """The columns that measure something again: what was measured first, and the time.

    Parameters
    ----------
    names : collection of str
        All columns.

    Examples
    --------
    >>> times(["age", "health", "health12", "cd40", "cd420", "pain", "pain_m1", "x1", "x10"])
    {'health12': ('health', 12), 'cd420': ('cd40', 20), 'pain_m1': ('pain', 1)}
    """
    found = {name: again for name in names if (again := _measured_again(name, names))}
    return {name: again for name, again in found.items() if again[0] != name}


def _measured_again(name: str, names: Collection[str]) -> tuple[str, int] | None:
    """The first measurement of the same, and how much later this one is."""
    if (match := _WITH_UNIT.fullmatch(name)) and match[1] in names:
        return match[1], int(match[2] or match[3])
    digits = match[1] if (match := _WITH_NUMBER.fullmatch(name)) else ""
    for length in range(len(digits), 0, -1):
        what, time = name[:-length], int(digits[-length:])
        # 'item1', 'item2', ... are counted.
        counted = any(f"{what}{k}" in names for k in range(1, LEAST_TIME))
        if time >= LEAST_TIME and len(what) >= SHORTEST and not counted:
            first = next((each for each in (what, f"{what}0") if each in names), None)
            if first is not None:
                return first, time
    return None


def behind(
    names: Sequence[str], marks: Mapping[str, str], among: Collection[str]
) -> dict[str, str]:
    """The columns that stand behind the first of some marked ones, if most stand before it.

    Parameters
    ----------
    names : sequence of str
        All columns, in their order.
    marks : mapping of str to str
        Columns that are not known before the decision, and what is said of them.
    among : collection of str
        The columns to look at.

    Returns
    -------
    dict of str to str
        Why each of them may have been measured later.

    Examples
    --------
    >>> behind(["age", "sex", "arm", "dead"], {"arm": "the decision"}, ["age", "dead"])
    {'dead': "stands behind 'arm', the decision: was it known before?"}
    >>> behind(["arm", "age", "sex"], {"arm": "the decision"}, ["age", "sex"])
    {}
    """
    for place, name in enumerate(names):
        if name in marks and len(names) - place - 1 < place:
            why = f"stands behind {name!r}, {marks[name]}: was it known before?"
            return {each: why for each in names[place + 1 :] if each in among}
    return {}

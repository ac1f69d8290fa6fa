"""Which value of a column was probably meant by another one, and which stand for "missing"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

#: Text that people write where nothing is known, as `plain` leaves it.
MEANS_MISSING = frozenset(
    [
        "", "na", "n/a", "n.a", "nan", "nat", "none", "null", "nil", "missing", "unknown", "unk",
        "?", "not available", "not known", "not stated", "not reported", "not recorded",
        "no answer", "prefer not to say", "refused", "declined", "#n/a", "#value!", "#div/0!",
        "#ref!", "#num!", "#name?", "#null!",
    ]
)  # fmt: skip
#: Numbers that survey and hospital tables write for "missing": they stand apart from all others.
_CODE = re.compile(r"-(1|7|8|9|66|77|88|99)|-?9{3,7}|-?8{3,7}")
#: A misspelt word is at least this long, and this many times as rare as the right one.
LONG, RARE = 5, 10
#: A number such as -999 stands apart if it is this many times as far from 0 as all others.
FAR = 5
#: A column with more values than this tells people apart, and words in it are not compared.
MOST_COMPARED = 200


def likely_meant(value: Any, counts: Mapping[Any, int]) -> Any | None:
    """The value of a column that a text was probably meant to be; None if there is none.

    It is one that differs by upper and lower case, spaces, invisible characters or the marks
    around it, or a word at least ten times as frequent that is one slip of the keyboard away.

    Parameters
    ----------
    value : object
        The value; of numbers, nothing is known.
    counts : mapping of object to int
        How many rows hold each value of the column that it may be.

    Examples
    --------
    >>> counts = {"Black": 900, "White": 1100, "black ": 31}
    >>> likely_meant("black ", counts), likely_meant("Whiet", {**counts, "Whiet": 2})
    ('Black', 'White')
    >>> likely_meant("Asian", counts) is None
    True
    """
    if not isinstance(value, str):
        return None
    own = plain(value)
    others = sorted(
        (v for v in counts if isinstance(v, str) and v != value), key=counts.__getitem__
    )
    for other in reversed(others):
        if plain(other) == own:
            return other
    if len(own) < LONG or len(others) > MOST_COMPARED:
        return None
    for other in reversed(others):
        if counts[other] >= RARE * counts.get(value, 1) and _one_slip(own, plain(other)):
            return other
    return None


def stands_for_missing(value: Any, counts: Mapping[Any, int]) -> bool:
    """Whether a value probably stands for "missing": a word for it, or a number such as -999 that
    lies outside all others.

    Parameters
    ----------
    value : object
        The value.
    counts : mapping of object to int
        How many rows hold each value of the column.

    Examples
    --------
    >>> stands_for_missing("N/A", {}), stands_for_missing(-999.0, {-999.0: 3, 17.0: 8, 30.0: 9})
    (True, True)
    >>> stands_for_missing(-1, {-1: 50, 1: 50}), stands_for_missing(-1, {-1: 5, -2: 5, 3: 5})
    (False, False)
    """
    if isinstance(value, str):
        return plain(value) in MEANS_MISSING
    if isinstance(value, bool) or not _CODE.fullmatch(f"{value:.7g}" if _is_number(value) else ""):
        return False
    others = [each for each in counts if _is_number(each) and each != value]
    if len(others) < 2:  # of -1 and 1, both are groups
        return False
    if value < 0:
        # Of numbers that may be negative, only one far below all others stands apart.
        least = value / FAR if value < -100 else 0
        return all(each >= least or stands_for_missing_alone(each) for each in others)
    return all(each * 2 < value or stands_for_missing_alone(each) for each in others)


def stands_for_missing_alone(value: float) -> bool:
    """Whether a number looks like a code for "missing", whatever the others are.

    Examples
    --------
    >>> stands_for_missing_alone(-99), stands_for_missing_alone(17)
    (True, False)
    """
    return bool(_CODE.fullmatch(f"{value:.7g}"))


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    r"""Text as it sounds: without case, repeated spaces, invisible characters and outer marks.

    Examples
    --------
    >>> plain(" African-American\u200b"), plain('"A"'), plain("1.0") == plain("1")
    ('african american', 'a', True)
    """
    kept = (
        " " if char.isspace() or char in "_-\u2010\u2011\u2012\u2013" else char
        for char in unicodedata.normalize("NFKC", text)
        if unicodedata.category(char) not in ("Cf", "Cc") or char.isspace()
    )
    words = " ".join("".join(kept).casefold().split()).strip(" \"'`.,;:()[]*")
    return words[:-2] if re.fullmatch(r"[0-9]+\.0", words) else words


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, str | bool) and isfinite(value)
    except TypeError:
        return False


def _one_slip(one: str, other: str) -> bool:
    """Whether one letter was changed, added or left out, or two were swapped; digits count."""
    if len(one) > len(other):
        one, other = other, one
    start = next((k for k, char in enumerate(one) if char != other[k]), len(one))
    left, right = one[start:], other[start:]
    if len(one) == len(other):
        swapped = right[1:2] + right[:1]
        slips = left[1:] == right[1:] or (left[:2] == swapped and left[2:] == right[2:])
        changed = left[:2] + right[:2]
    else:
        slips, changed = len(other) == len(one) + 1 and left == right[1:], right[:1]
    return slips and not any(char.isdigit() for char in changed)

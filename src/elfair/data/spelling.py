"""Which value of a column was probably meant by another one, and which stand for "missing"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np

#: Text that people write where nothing is known, as `plain` leaves it.
MEANS_MISSING = frozenset(
    [
        "", "na", "n/a", "n.a", "nan", "nat", "none", "null", "nil", "missing", "unknown", "unk",
        "?", "not available", "not known", "not stated", "not reported", "not recorded",
        "no answer", "prefer not to say", "refused", "declined", "#n/a", "#value!", "#div/0!",
        "#ref!", "#num!", "#name?", "#null!",
    ]
)  # fmt: skip
#: Those of them that name a decision, too: the treatment "none", a loan that was "declined".
_DECIDED = frozenset({"none", "refused", "declined"})
#: Numbers that survey and hospital tables write for "missing": they stand apart from all others.
_CODE = re.compile(r"-(1|7|8|9|66|77|88|99)|-?9{3,7}|-?8{3,7}")
#: Those that no measurement has by chance. (-1 and -9 may be meant.)
_NO_MEASUREMENT = (
    -66.0, -77.0, -88.0, -99.0,
    *(float(f"{sign}{digit * times}") for sign in " -" for digit in "98" for times in range(3, 8)),
)  # fmt: skip
#: A misspelt word is at least this long, and this many times as rare as the right one.
LONG, RARE = 5, 10
#: Of decisions, there are few: one is a slip of another if it is at least this long.
LONG_DECISION = 3
#: A number such as -999 stands apart if it is this many times as far from 0 as all others.
FAR = 5
#: Small numbers that surveys write for "missing", "refused" and "do not know".
_SMALL_CODES = frozenset({7, 8, 9, 77, 88, 98, 99})
#: A column with more values than this tells people apart, and words in it are not compared.
MOST_COMPARED = 200


def likely_meant(value: Any, counts: Mapping[Any, int], *, long: int = LONG) -> Any | None:
    """The value of a column that a text was probably meant to be; None if there is none.

    It is one that differs by upper and lower case, spaces, invisible characters or the marks
    around it; the only one that it is the first letter of, or that is its first letter; or a word
    at least ten times as frequent that is one slip of the keyboard away.

    Parameters
    ----------
    value : object
        The value; of numbers, nothing is known.
    counts : mapping of object to int
        How many rows hold each value of the column that it may be.
    long : int
        A word that is shorter is no slip of another.

    Examples
    --------
    >>> counts = {"Black": 900, "White": 1100, "black ": 31}
    >>> likely_meant("black ", counts), likely_meant("Whiet", {**counts, "Whiet": 2})
    ('Black', 'White')
    >>> likely_meant("Asian", counts) is None, likely_meant("Female", {"F": 40, "M": 50})
    (True, 'F')
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
    if len(others) > MOST_COMPARED:
        return None
    if (short := _shortened(own, others)) is not None:
        return short
    for other in reversed(others):
        right = plain(other)
        is_long = len(own) >= long and len(right) >= long - 1
        if is_long and counts[other] >= RARE * counts.get(value, 1) and _one_slip(own, right):
            return other
    return None


def _shortened(own: str, others: list[str]) -> str | None:
    """The only other value that begins alike, if one of the two is that letter alone."""
    alike = [other for other in others if plain(other)[:1] == own[:1]]
    if not own[:1].isalpha() or len({plain(other) for other in alike}) != 1:
        return None
    lengths = sorted((len(own), len(plain(alike[-1]))))
    return alike[-1] if lengths[0] == 1 < lengths[1] else None


def odd_classes(counts: Mapping[Any, int]) -> dict[Any, Any]:
    """Of all values of decisions and labels, those that are probably slips, and what was meant.

    Parameters
    ----------
    counts : mapping of object to int
        How many decisions and labels have each value.

    Returns
    -------
    dict
        For each slip, the value that was meant; None for what stands for "missing".

    Examples
    --------
    >>> odd_classes({"approve": 1500, "deny": 1480, "aprove": 3, "Deny": 17})
    {'aprove': 'approve', 'Deny': 'deny'}
    >>> odd_classes({0: 400, 1: 500, 9: 12}), odd_classes({-1: 400, 0: 50, 1: 500})
    ({9: None}, {})
    >>> odd_classes({"approve": 40, "deny": 50, "?": 3}), odd_classes({"none": 50, "drug": 50})
    ({'?': None}, {})
    """
    rank = {value: (n, str(value) == str(value).strip(), str(value)) for value, n in counts.items()}
    meant: dict[Any, Any] = {}
    for value in counts:
        if stands_apart(value, counts) or _is_no_class(value, counts):
            meant[value] = None
            continue
        more = {other: n for other, n in counts.items() if rank[other] > rank[value]}
        likely = likely_meant(value, {**more, value: counts[value]}, long=LONG_DECISION)
        if likely is not None:
            meant[value] = likely
    for value, likely in meant.items():  # of 'a ', 'a' and 'A', with 'A'
        while meant.get(likely) is not None:
            likely = meant[likely]
        meant[value] = likely
    return meant


def _is_no_class(value: Any, counts: Mapping[Any, int]) -> bool:
    """Whether a text says that nothing is known, beside two decisions or more."""
    if not isinstance(value, str) or len(counts) < 3:
        return False
    return (own := plain(value)) in MEANS_MISSING and own not in _DECIDED


def stands_apart(value: Any, counts: Mapping[Any, int]) -> bool:
    """Whether a number such as 9 or 99 probably stands for "missing": others are few, or far below.

    Parameters
    ----------
    value : object
        The value.
    counts : mapping of object to int
        How many rows hold each value of the column.

    Examples
    --------
    >>> stands_apart(9, {0: 40, 1: 50, 9: 3}), stands_apart(99, {0.5: 8, 2.25: 9, 99.0: 4})
    (True, True)
    >>> stands_apart(9, {5: 3, 7: 4, 9: 3}), stands_apart(3, {0: 40, 1: 50, 3: 3})
    (False, False)
    """
    if isinstance(value, bool) or not _is_number(value) or abs(value) not in _SMALL_CODES:
        return False
    others = {v for v in counts if _is_number(v) and abs(v) not in _SMALL_CODES}
    if len(others) < 2 or any(isinstance(v, str) for v in counts):
        return False
    if sum(n for v, n in counts.items() if v not in others) > sum(counts[v] for v in others):
        return False
    if abs(value) < 10:  # a scale from 0 to 4 leaves a gap before 9
        return all(v >= 0 and v == int(v) and v * 2 < abs(value) for v in others)
    return counts[value] > 1 and all(abs(v) * FAR < abs(value) for v in others)


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


def codes_in(numbers: Any, *, small: bool) -> dict[float, int]:
    """The numbers of a column that probably mean missing, and in how many rows each is.

    Parameters
    ----------
    numbers : ndarray
        The column.
    small : bool
        Whether numbers such as 9 and 99 may be codes, too, if they are far above all others. (Of a
        feature, 9 may well be a number; the sum of an impact must not hold it.)

    Examples
    --------
    >>> codes_in(np.array([0.5, -999.0, 2.5, -999.0]), small=True)
    {-999.0: 2}
    """
    possible = [*_NO_MEASUREMENT, *(sign * each for sign in (-1, 1) for each in _SMALL_CODES)]
    if not np.isin(numbers, possible if small else _NO_MEASUREMENT).any():
        return {}
    values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    counted = dict(zip(values.tolist(), counts.tolist(), strict=True))
    return {
        value: n
        for value, n in counted.items()
        if (value in _NO_MEASUREMENT and stands_for_missing(value, counted))
        or (small and stands_apart(value, counted))
    }


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
    """Whether one letter was changed, added or left out, or two were swapped. Digits and letters
    that stand alone count: 'arm a' is not 'arm b'.
    """
    pairs = list(zip(one.split(), other.split(), strict=False))
    if any(a != b and len(a) == len(b) == 1 for a, b in pairs):
        return False
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

"""Two records held against each other, with room for another machine's rounding and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from math import isfinite, isnan
from typing import Any

from elfair.certificate import PartRecord

#: By which share of themselves numbers may differ.
RELATIVE = 1e-9
#: By which share of the numbers around them: an average of 0 is 0 up to the rounding of its rows.
OF_SCALE = 1e-11
#: "About how many rows": found by bisection, so that the last digits mean nothing.
ABOUT = 1e-3

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def close(one: float, other: float, scale: float = 0.0) -> bool:
    """Whether two numbers are equal up to rounding; infinities are what they are.

    Examples
    --------
    >>> close(0.1 + 0.2, 0.3), close(1e-17, 0.0), close(1e-17, 0.0, scale=1.0)
    (True, False, True)
    """
    if one == other or (isnan(one) and isnan(other)):
        return True
    if not (isfinite(one) and isfinite(other)):
        return False
    return abs(one - other) <= RELATIVE * max(abs(one), abs(other)) + OF_SCALE * scale


def differences(
    recorded: Any, found: Any, path: str = "", *, but: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Where two records differ, in words.

    Parameters
    ----------
    recorded, found : record, tuple, number, text or None
        What is written down, and what was found.
    path : str
        What they are called.
    but : frozenset of str
        The fields that are not looked at.

    Examples
    --------
    >>> from elfair.certificate import Version
    >>> list(differences(Version("numpy", "2.1"), Version("numpy", "2.2"), "version"))
    ["version.version is '2.1', and '2.2' was found"]
    """
    yield from _differences(recorded, found, path, 0.0, but)


def _differences(
    recorded: Any, found: Any, path: str, scale: float, but: frozenset[str]
) -> Iterator[str]:
    if type(recorded) is not type(found):
        yield _said(path, recorded, found)
    elif is_dataclass(recorded):
        inner = _scale(recorded)
        for field in fields(recorded):
            if field.name not in but:
                one, other = getattr(recorded, field.name), getattr(found, field.name)
                name = f"{path}.{field.name}" if path else field.name
                yield from _differences(one, other, name, inner, but)
    elif isinstance(recorded, tuple):
        if len(recorded) != len(found):
            yield f"{path} has {len(recorded)} entries, and {len(found)} were found"
            return
        numbers = [abs(x) for x in recorded if isinstance(x, float) and isfinite(x)]
        for k, (one, other) in enumerate(zip(recorded, found, strict=True)):
            yield from _differences(one, other, f"{path}[{k}]", max(numbers, default=0.0), but)
    elif not _same(recorded, found, path, scale):
        yield _said(path, recorded, found)


def _same(recorded: Any, found: Any, path: str, scale: float) -> bool:
    if isinstance(recorded, float):
        return close(recorded, found, scale)
    if isinstance(recorded, str):
        shown = path.endswith("evidence") or "warnings[" in path
        return same_text(recorded, found) if shown else recorded == found
    if path.endswith("rows_needed") and recorded is not None:
        return bool(abs(recorded - found) <= max(1, ABOUT * recorded))
    return bool(recorded == found)


def same_text(one: str, other: str) -> bool:
    """Whether texts are equal, but for the last digit of decimal numbers that were rounded.

    Examples
    --------
    >>> same_text("T == 0: 1.003 +- 0.02", "T == 0: 1.004 +- 0.02"), same_text("0.1", "0.3")
    (True, False)
    """
    if one == other:
        return True
    if _NUMBER.split(one) != _NUMBER.split(other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(a == b or _near(a, b) for a, b in pairs)


def _near(one: str, other: str) -> bool:
    """Whether two written numbers differ by one in the last decimal place; whole ones must not."""
    digits = one.partition(".")[2]
    if not digits.isdigit():
        return False
    return abs(float(one) - float(other)) <= 1.5 * 10.0 ** -len(digits)


def _scale(record: Any) -> float:
    """The largest number of a record; the ends of a row do not say how large its rows are."""
    ends = ("low", "high") if isinstance(record, PartRecord) else ()
    values = [getattr(record, field.name) for field in fields(record) if field.name not in ends]
    numbers = [abs(value) for value in values if isinstance(value, float) and isfinite(value)]
    return max(numbers, default=0.0)


def _said(path: str, recorded: Any, found: Any) -> str:
    return f"{path} is {_short(recorded)}, and {_short(found)} was found"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."

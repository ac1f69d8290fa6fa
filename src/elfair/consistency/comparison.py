"""How what a certificate says is compared with what is found.

Numbers may differ by the rounding of another machine, and by no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from math import isfinite, isnan
from typing import Any

import numpy as np

from elfair.certificate import PartRecord

#: How many differences are shown in full.
SHOWN = 3


class MismatchError(Exception):
    """Something is not as the certificate says."""


class SkippedError(Exception):
    """The check cannot be made, for the reason that the message gives."""


def require(right: bool | np.bool_, detail: str) -> None:
    """Raise `MismatchError` if something is not as the certificate says."""
    if not right:
        raise MismatchError(detail)


def agree(name: str, said: Any, found: Any, scale: float = 0.0) -> None:
    """Raise `MismatchError` unless the certificate says what was found, up to rounding.

    Parameters
    ----------
    name : str
        What it is about.
    said, found : object
        What the certificate says, and what was found.
    scale : float, default 0
        The size of the numbers around it; see `close`.

    Examples
    --------
    >>> agree("the joint delta", 0.1, 0.2 - 0.1)
    """
    floats = isinstance(said, float) and isinstance(found, float)
    same = close(said, found, scale) if floats else said == found
    require(same, f"{name} is {_short(said)}, and should be {_short(found)}")


def require_same(said: Any, found: Any, name: str, but: frozenset[str] = frozenset()) -> None:
    """Raise `MismatchError` if two records differ, and say where; see `differences`."""
    wrong = list(differences(said, found, name, but))
    more = f"; and {len(wrong) - SHOWN} more differences" if len(wrong) > SHOWN else ""
    require(not wrong, "; ".join(wrong[:SHOWN]) + more)


#: The share of themselves by which numbers may differ.
RELATIVE = 1e-9
#: The share of the numbers around them by which they may differ: an average of 0 is 0 only up to
#: the rounding of its rows.
OF_SCALE = 1e-11
#: The same for "about how many rows": found by bisection, so the last digits mean nothing.
ABOUT = 1e-3

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def close(one: float, other: float, scale: float = 0.0) -> bool:
    """Whether two numbers are equal up to rounding; infinities must be equal.

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
    recorded: Any,
    found: Any,
    path: str,
    but: frozenset[str] = frozenset(),
    scale: float = 0.0,
) -> Iterator[str]:
    """Say where two records differ.

    Parameters
    ----------
    recorded, found : record, tuple, number, text or None
        What the certificate says, and what was found.
    path : str
        Their name.
    but : frozenset of str
        The fields that are not compared.
    scale : float, default 0
        The size of the numbers around them; see `close`.

    Examples
    --------
    >>> from elfair.certificate import Version
    >>> list(differences(Version("numpy", "2.1"), Version("numpy", "2.2"), "version"))
    ["version.version is '2.1', and '2.2' was found"]
    """
    if type(recorded) is not type(found):
        yield _said(path, recorded, found)
    elif is_dataclass(recorded):
        # The ends of a row do not say how large rows are.
        ends = ("low", "high") if isinstance(recorded, PartRecord) else ()
        names = [field.name for field in fields(recorded)]
        inner = _largest(getattr(recorded, name) for name in names if name not in ends)
        for name in names:
            if name not in but:
                one, other = getattr(recorded, name), getattr(found, name)
                yield from differences(one, other, f"{path}.{name}", but, inner)
    elif isinstance(recorded, tuple):
        if len(recorded) != len(found):
            yield f"{path} has {len(recorded)} entries, and {len(found)} were found"
            return
        inner = _largest(recorded)
        for k, (one, other) in enumerate(zip(recorded, found, strict=True)):
            yield from differences(one, other, f"{path}[{k}]", but, inner)
    elif not _same(recorded, found, path, scale):
        yield _said(path, recorded, found)


def _same(recorded: Any, found: Any, path: str, scale: float) -> bool:
    if isinstance(recorded, float):
        return close(recorded, found, scale)
    if isinstance(recorded, str):
        shown = path.endswith((".evidence", ".text"))
        return same_text(recorded, found) if shown else recorded == found
    if path.endswith("rows_needed") and recorded is not None:
        return bool(abs(recorded - found) <= max(1, ABOUT * recorded))
    return bool(recorded == found)


def same_text(one: str, other: str) -> bool:
    """Whether texts are equal up to the last digit of rounded decimal numbers.

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


def _largest(values: Iterable[Any]) -> float:
    """The size of the largest finite number."""
    return max((abs(v) for v in values if isinstance(v, float) and isfinite(v)), default=0.0)


def _said(path: str, recorded: Any, found: Any) -> str:
    return f"{path} is {_short(recorded)}, and {_short(found)} was found"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."

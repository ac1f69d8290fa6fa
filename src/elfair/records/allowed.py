"""What a value may be: in words, for people, and as a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

from elfair.errors import did_you_mean


@dataclass(frozen=True)
class Allowed:
    """What a value may be.

    Parameters
    ----------
    words : str
        Completes the sentence "x must be ...".
    fits : callable
        Whether a value is allowed.
    advice : callable
        The text of a hint about a value that is not allowed; empty if there is none.
    choices : tuple of str
        All values that are allowed, if they are a few names.

    Examples
    --------
    >>> probability = number("(0, 1)")
    >>> probability.words, probability.fits(0.95), probability.fits("x")
    ('a number in (0, 1)', True, False)
    """

    words: str
    fits: Callable[[Any], bool]
    advice: Callable[[Any], str] = lambda value: ""
    choices: tuple[str, ...] = ()


def is_number(value: object) -> bool:
    """Whether a value is a finite number; True and False are not numbers.

    Examples
    --------
    >>> is_number(0.5), is_number(float("nan")), is_number(True)
    (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def is_whole(value: object) -> bool:
    """Whether a value is a whole number.

    Examples
    --------
    >>> is_whole(2), is_whole(2.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def number(interval: str = "(-inf, inf)") -> Allowed:
    """A number in an interval.

    Parameters
    ----------
    interval : str
        Such as ``"(0, 0.5]"``: a square bracket includes the end.

    Examples
    --------
    >>> [number(each).words for each in ("(0, 0.5]", "(0, inf)", "[0, inf)", "(-inf, inf)")]
    ['a number in (0, 0.5]', 'a number above 0', 'a number of at least 0', 'a number']
    """
    first, second = interval[1:-1].split(", ")
    low, high = float(first), float(second)

    def fits(value: Any) -> bool:
        if not is_number(value):
            return False
        above = low < value if interval[0] == "(" else low <= value
        return bool(above and (value < high if interval[-1] == ")" else value <= high))

    words = f" in {interval}"
    if high == inf:
        words = f" above {first}" if interval[0] == "(" else f" of at least {first}"
    return Allowed("a number" + ("" if low == -inf else words), fits)


def whole(low: int, high: int | None = None) -> Allowed:
    """A whole number.

    Parameters
    ----------
    low : int
        The smallest.
    high : int, optional
        The largest, if there is one.

    Examples
    --------
    >>> whole(1, 1000).words, whole(2).words
    ('a whole number from 1 to 1000', 'a whole number of at least 2')
    """
    words = f"of at least {low}" if high is None else f"from {low} to {high}"
    most = inf if high is None else high
    return Allowed(
        f"a whole number {words}", lambda value: is_whole(value) and low <= value <= most
    )


def one_of(*choices: str, about: Mapping[str, str] | None = None) -> Allowed:
    """One of some names.

    Parameters
    ----------
    *choices : str
        The names.
    about : mapping, optional
        A few words about some of them.

    Examples
    --------
    >>> split = one_of("random", "stratified", "crossfit", about={"stratified": "the paper's"})
    >>> split.words
    "'random', 'stratified' (the paper's) or 'crossfit'"
    >>> split.advice("randm")
    "did you mean 'random'?"
    """
    about = about or {}
    told = [f"{name!r} ({about[name]})" if name in about else repr(name) for name in choices]
    words = " or ".join(filter(None, [", ".join(told[:-1]), told[-1]]))
    return Allowed(
        words,
        lambda value: isinstance(value, str) and value in choices,
        lambda value: did_you_mean(value, choices, ""),
        choices,
    )

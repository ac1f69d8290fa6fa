"""Bounds on forms that are not linear in averages, by interval arithmetic.

A form such as E[gain] * PR - 2 consists of *variables*: its largest parts that are linear in
averages. An upper bound on the form needs some variables bounded from above, some from below, some
from both sides. Each such *tail* gets an equal share of delta; a variable that occurs twice is
bounded once, and no delta is spent on a tail that is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isnan
from typing import NamedTuple

import numpy as np

from elfair.language.conjunction import Linear, linear_form, sign_of
from elfair.language.distribution import Statistic
from elfair.language.expressions import Abs, Expression, Max, Mean, Min, Product, Quotient
from elfair.language.tree import point_at
from elfair.types import Floats

ABOVE, BELOW = 1, -1


def needs(form: Linear, side: int = ABOVE) -> Iterator[tuple[Linear | Statistic, int]]:
    """The variables and statistics that a bound on one side of a form needs, each with its side.

    Examples
    --------
    >>> from elfair import E, PR, TPR
    >>> for variable, side in needs(linear_form(PR() * TPR() - 2 * E("gain"))):
    ...     print(side, variable)
    1 -2 * E[gain]
    1 PR
    1 TPR
    """
    yield from _needs(form, side, set())


def _needs(
    form: Linear, side: int, known: set[tuple[Expression, int]]
) -> Iterator[tuple[Linear | Statistic, int]]:
    """What a form needs beside what is known to be needed: both ends of a part may be asked for
    twice at every level, and without this the number of questions would double each time.
    """
    if form.means:
        yield Linear(form.constant, form.means), side
    for weight, node in form.terms:
        asked = node, side if weight > 0 else -side
        if not isinstance(node, Mean) and asked not in known:
            known.add(asked)
            yield from _needs_of(*asked, known)


def _needs_of(
    node: Expression, side: int, known: set[tuple[Expression, int]]
) -> Iterator[tuple[Linear | Statistic, int]]:
    match node:
        case Statistic():
            yield node, side
        case Product(left, right):
            for one, other in _corners(side, sign_of(left), sign_of(right)):
                yield from _needs(linear_form(left), one, known)
                yield from _needs(linear_form(right), other, known)
        case Quotient(top, bottom):
            sign = sign_of(bottom)
            for one, other in _corners(side, sign_of(top), sign):
                yield from _needs(linear_form(top), one, known)
                for end in (-other,) if sign else (ABOVE, BELOW):
                    yield from _needs(linear_form(bottom), end, known)
        case Max(parts) | Min(parts):
            for part in parts:
                yield from _needs(linear_form(part), side, known)
        case Abs(part):
            for end in (ABOVE, BELOW):
                yield from _needs(linear_form(part), end, known)


def _corners(side: int, left: int, right: int) -> list[tuple[int, int]]:
    """The ends of two factors that can give the largest (from below, the smallest) product.

    If a factor is never negative, only one end of the other factor matters, and so on.
    """
    return [
        (one, other)
        for one in (ABOVE, BELOW)
        for other in (ABOVE, BELOW)
        if (not left or other == side * left) and (not right or one == side * right)
    ]


class _Dual(NamedTuple):
    """A number and its derivatives with respect to the tails."""

    value: float
    slope: Floats | float = 0.0


_NOTHING = _Dual(0.0)


class _Interval(NamedTuple):
    low: _Dual
    high: _Dual

    def end(self, side: int) -> _Dual:
        return self.high if side == ABOVE else self.low


@dataclass(frozen=True)
class Formula:
    """How bounds on variables combine into a bound on a form.

    Parameters
    ----------
    form : Linear
        Averages, products, quotients, maxima, minima and absolute values.

    Examples
    --------
    >>> from elfair import E, PR
    >>> formula = Formula(linear_form(E("gain") * PR() - 2))
    >>> [str(tail) for tail in formula.tails]  # PR is never negative
    ['E[gain]', 'PR', '-PR']
    >>> value, slopes = formula.upper([3.0, 0.5, -0.25])
    >>> value, slopes.tolist()
    (-0.5, [0.5, 3.0, 0.0])
    """

    form: Linear

    @cached_property
    def tails(self) -> tuple[Linear, ...]:
        """The variables to bound from above; one that is needed from below is negated."""
        found: dict[Linear, None] = {}
        for variable, side in needs(self.form):
            if not isinstance(variable, Linear):
                raise point_at(
                    f"'{variable}' is not an average; only averages can be bounded.",
                    variable.span,
                    "elfair.statistics.settling.settle reduces it to averages.",
                )
            found[variable if side == ABOVE else -variable] = None
        return tuple(found)

    @cached_property
    def variables(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each variable, its tails: their places in `tails`, and their sides."""
        found: dict[Linear, list[tuple[int, int]]] = {}
        for place, tail in enumerate(self.tails):
            key, side = (-tail, BELOW) if -tail in found else (tail, ABOVE)
            found.setdefault(key, []).append((place, side))
        return tuple(tuple(tails) for tails in found.values())

    def upper(self, tails: Sequence[float]) -> tuple[float, Floats]:
        """The form's upper bound, from those of its tails, and its derivatives by them."""
        known = dict(zip(self.tails, _duals(tails), strict=True))

        def interval(variable: Linear) -> _Interval:
            below = known.get(-variable)
            return _Interval(
                _Dual(-inf) if below is None else _times(below, -1.0),
                known.get(variable, _Dual(inf)),
            )

        return _with_all_slopes(_evaluated(self.form, interval).high, len(tails))

    def value(self, means: Sequence[float]) -> tuple[float, Floats]:
        """The form's value, from the means of its tails, and its derivatives by them.

        If a variable has two tails, the mean of the first one counts.
        """
        duals = _duals(means)
        first = {self.tails[place]: duals[place] for ((place, _), *_) in self.variables}

        def interval(variable: Linear) -> _Interval:
            known = first.get(variable) or _times(first[-variable], -1.0)
            return _Interval(known, known)

        return _with_all_slopes(_evaluated(self.form, interval).high, len(means))


def _duals(values: Sequence[float]) -> list[_Dual]:
    """Values, each with the derivative 1 by itself and 0 by the others."""
    return [_Dual(float(v), unit) for v, unit in zip(values, np.eye(len(values)), strict=True)]


def _with_all_slopes(of: _Dual, size: int) -> tuple[float, Floats]:
    return of.value, np.zeros(size) + of.slope


def _evaluated(form: Linear, variable: Callable[[Linear], _Interval]) -> _Interval:
    if form.means:
        affine = Linear(form.constant, form.means)
        low, high = _signed(variable(affine), _sign_of_form(affine))
    else:
        low = high = _Dual(form.constant)
    for weight, node in form.terms:
        if (inner := _evaluated_term(node, variable)) is not None:
            ends = (inner.low, inner.high) if weight > 0 else (inner.high, inner.low)
            low = _plus(low, _times(ends[0], weight), -inf)
            high = _plus(high, _times(ends[1], weight), inf)
    return _Interval(low, high)


def _evaluated_term(node: Expression, variable: Callable[[Linear], _Interval]) -> _Interval | None:
    """The interval of a term; None for an average, which belongs to its form's own variable."""

    def of(part: Expression) -> _Interval:
        return _evaluated(linear_form(part), variable)

    match node:
        case Product(left, right):
            signs = sign_of(left), sign_of(right)
            product = _product(of(left), of(right), *signs)
            return _signed(product, sign_of(node))
        case Quotient(top, bottom):
            inverse = _reciprocal(of(bottom))
            signs = sign_of(top), sign_of(bottom)
            return _product(of(top), inverse, *signs, undefined=inf)  # 0 / 0 may be anything
        case Max(parts) | Min(parts):
            pick = max if isinstance(node, Max) else min
            inner = [of(part) for part in parts]
            return _Interval(
                pick((each.low for each in inner), key=_size),
                pick((each.high for each in inner), key=_size),
            )
        case Abs(part):
            low, high = of(part)
            return _Interval(
                max(low, _times(high, -1.0), _NOTHING, key=_size),
                max(high, _times(low, -1.0), key=_size),
            )
    return None


def _product(left: _Interval, right: _Interval, *signs: int, undefined: float = 0.0) -> _Interval:
    """The interval of a product; 0 times infinity is 0, or ``undefined``."""
    ends = []
    for side, pick in ((BELOW, min), (ABOVE, max)):
        corners = _corners(side, *signs)
        instead = -undefined if side == BELOW else undefined
        products = (_multiplied(left.end(a), right.end(b), instead) for a, b in corners)
        ends.append(pick(products, key=_size))
    return _Interval(*ends)


def _reciprocal(of: _Interval) -> _Interval:
    low, high = of
    whole = _Interval(_Dual(-inf), _Dual(inf))
    if low.value < 0 < high.value or low.value == high.value == 0:
        return whole
    return _Interval(
        whole.low if high.value == 0 else _inverse(high),
        whole.high if low.value == 0 else _inverse(low),
    )


def _signed(of: _Interval, sign: int) -> _Interval:
    """The part of the interval that the known sign allows."""
    if sign > 0:
        return _Interval(max(of.low, _NOTHING, key=_size), max(of.high, _NOTHING, key=_size))
    if sign < 0:
        return _Interval(min(of.low, _NOTHING, key=_size), min(of.high, _NOTHING, key=_size))
    return of


def _sign_of_form(form: Linear) -> int:
    signs = {sign_of(node) * (1 if weight > 0 else -1) for weight, node in form.terms}
    if form.constant:
        signs.add(1 if form.constant > 0 else -1)
    return signs.pop() if len(signs) == 1 else 0


def _size(of: _Dual) -> float:
    return of.value


def _plus(one: _Dual, other: _Dual, doubtful: float) -> _Dual:
    value = one.value + other.value
    return _Dual(doubtful if isnan(value) else value, one.slope + other.slope)


def _times(one: _Dual, factor: float) -> _Dual:
    return _Dual(one.value * factor, one.slope * factor)


def _inverse(of: _Dual) -> _Dual:
    return _Dual(1 / of.value, -of.slope / of.value**2)


def _multiplied(one: _Dual, other: _Dual, undefined: float) -> _Dual:
    value = one.value * other.value
    if isnan(value):
        return _Dual(undefined)
    if not np.isfinite(value):
        return _Dual(value)
    return _Dual(value, one.value * other.slope + other.value * one.slope)

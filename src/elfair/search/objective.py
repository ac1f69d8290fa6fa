"""An expression as the objective: a function of averages, with its derivative by the chain rule.

Each average of the expression is an average of affine rows, so the value and the derivative of the
whole follow from those of its nodes. Two matches, `_evaluate` and `_ends`, say what each kind of
node does to values, derivatives and ranges; anything smooth in averages can be added there.

Statistics beyond the mean are replaced by averages, to first order at a policy: see
`Statistic.first_order`. Repeating a search for such averages from its last result climbs the
statistic itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from elfair.data import LoggedData
from elfair.errors import ConstraintError, InputError, did_you_mean
from elfair.language import expressions
from elfair.language.conditions import RATES
from elfair.language.distribution import statistics_in
from elfair.language.expressions import Expression, Mean, as_expression, substitute
from elfair.language.parsing import parse_expression
from elfair.language.tree import find, point_at
from elfair.statistics import Rows
from elfair.statistics.settling import in_order
from elfair.types import Floats


def linearised(expression: Expression, data: LoggedData, free: Floats | None) -> Expression:
    """The expression with each statistic replaced by averages.

    Parameters
    ----------
    expression : Expression
        What to make large.
    data : LoggedData
        Candidate rows.
    free : ndarray of shape (channels, n), optional
        The policy to which the averages belong; by default, the behaviour model.
    """
    found = statistics_in(expression)
    if not found:
        return expression
    averages: dict[Expression, Expression] = {
        each: each.first_order(in_order(each, data, free)) for each in found
    }
    return substitute(expression, averages)


Ends = tuple[float, float]

#: The share of an objective's range over which the search rounds off the kinks of min, max and abs.
SOFTNESS = 0.001
#: So soft that all parts of a minimum count the same.
ALIKE = 1e6
#: The smallest denominator that a range allows for, as a share of the largest one.
SMALLEST_BOTTOM = 0.05


def read_objective(objective: str | Expression, named: Sequence[str]) -> Expression:
    """The expression to maximise; raise unless a new model can change it.

    Parameters
    ----------
    objective : str or Expression
        Text, or a tree built in Python.
    named : sequence of str
        The objectives that have a name; an error about another name lists them.

    Examples
    --------
    >>> print(read_objective("E[profit] - 2 * PR", ["accuracy"]))
    E[profit] - 2 * PR
    """
    expression = _expression(objective, named)
    means = find(expression, Mean)
    if statistics_in(expression):
        return expression  # these are always about the new model
    if not means:
        raise point_at(
            f"the objective '{expression}' holds no statistic, so no model can change it.",
            expression.span,
            "name what to make large, as in E[impact].",
        )
    if all(mean.logged for mean in means):
        raise not_of_the_new_model(expression)
    return expression


def not_of_the_new_model(expression: Expression) -> ConstraintError:
    """The error for an objective that no new model changes."""
    return point_at(
        f"the objective '{expression}' does not depend on the new model's decisions.",
        expression.span,
        "write E[...] for the new model; E_logged[...] is the behaviour model's.",
    )


def _expression(objective: object, named: Sequence[str]) -> Expression:
    if isinstance(objective, str):
        if objective.isidentifier() and objective not in RATES:
            raise InputError(
                f"objective must be {', '.join(map(repr, named))} or an expression to maximise, "
                f"such as 'E[impact]'. Got {objective!r} instead.",
                hint=did_you_mean(
                    objective,
                    (*named, *RATES),
                    f"to make an impact large, write 'E[{objective}]'.",
                ),
            )
        return parse_expression(objective)
    if isinstance(objective, expressions.Statement):
        raise ConstraintError(
            f"an objective is an expression without an inequality. Got '{objective}' instead.",
            hint="put what must hold in constraints=.",
        )
    return as_expression(objective)


class Shortfall:
    """How much of an expression's range a policy leaves unreached: 0 is the best possible.

    It is a share of the range, so a search treats money like accuracy. If the free numbers are
    probabilities, the range is that of policies which take the best, or the worst, decision about
    each row for each average. For other free numbers the ends must be given.

    Parameters
    ----------
    expression : Expression
        What to make large.
    rows : sequence of Rows
        For each average in the expression, rows whose average is taken for it.
    ends : sequence of (float, float), optional
        The smallest and the largest expected value of each average.
    softness : float, default 0
        The share of the range over which kinks are rounded off.

    Examples
    --------
    >>> from elfair import PR
    >>> rows = Rows(np.arange(2), np.zeros(2), np.ones((1, 2)), 0, 1)  # of the positive rate
    >>> float(Shortfall(2 * PR() - 1, [rows]).value(np.array([[0.25, 0.75]])))
    0.5
    """

    def __init__(
        self,
        expression: Expression,
        rows: Sequence[Rows],
        *,
        ends: Sequence[Ends] | None = None,
        softness: float = 0.0,
    ) -> None:
        self._expression = expression
        self._means = find(expression, Mean)
        self._rows = rows
        # Policies may leave ends that were given, but hardly by a whole range.
        self.maximum = 1.0 if ends is None else 2.0
        if ends is None:
            ends = [_average_ends(each) for each in rows]
        low, self._high = _ends(expression, dict(zip(self._means, ends, strict=True)))
        self._range = (self._high - low) or 1.0
        self._softness = softness * self._range

    def value(self, free: Floats) -> Floats:
        """The shortfall; leading axes of ``free`` are policies."""
        return np.asarray((self._high - self._at(free).value) / self._range)

    def gradient(self, free: Floats) -> Floats:
        """Its derivative by the free probabilities of one policy."""
        slopes = -self._at(free).slopes / self._range
        each = zip(self._rows, slopes, strict=True)
        n = free.shape[-1]
        return reduce(np.add, (rows.scatter(rows.slope * (by / rows.size), n) for rows, by in each))

    def _at(self, free: Floats) -> _Point:
        values = np.array([_average(rows, free) for rows in self._rows])
        units = np.eye(len(values)).reshape(*values.shape[:1] * 2, *[1] * (values.ndim - 1))
        points = dict(zip(self._means, map(_Point, values, units), strict=True))
        return _evaluate(self._expression, points, self._softness)


class _Point(NamedTuple):
    """The value of a node and, along the first axis, its derivative by each average."""

    value: Floats
    slopes: Floats

    def times(self, factor: float | Floats) -> _Point:
        return _Point(np.asarray(factor * self.value), np.asarray(factor * self.slopes))


def _evaluate(node: Expression, at: Mapping[Mean, _Point], softness: float) -> _Point:
    """The value of an expression and its derivative by its averages."""
    match node:
        case expressions.Number(value):
            return _Point(np.asarray(value), np.zeros(1))
        case Mean():
            return at[node]
        case expressions.Scaled(factor, part):
            return _evaluate(part, at, softness).times(factor)
        case expressions.Sum(parts):
            points = [_evaluate(part, at, softness) for part in parts]
            return reduce(lambda a, b: _Point(a.value + b.value, a.slopes + b.slopes), points)
        case expressions.Product(left, right):
            a, b = _evaluate(left, at, softness), _evaluate(right, at, softness)
            slopes = a.value * b.slopes + b.value * a.slopes
            return _Point(np.asarray(a.value * b.value), np.asarray(slopes))
        case expressions.Quotient(top, bottom):
            a, b = _evaluate(top, at, softness), _evaluate(bottom, at, softness)
            quotient = np.asarray(a.value / b.value)
            return _Point(quotient, np.asarray((a.slopes - quotient * b.slopes) / b.value))
        case expressions.Abs(part):
            point = _evaluate(part, at, softness)
            return _largest([point, point.times(-1)], softness)
        case expressions.Max(parts):
            return _largest([_evaluate(part, at, softness) for part in parts], softness)
        case expressions.Min(parts):
            below = [_evaluate(part, at, softness).times(-1) for part in parts]
            return _largest(below, softness).times(-1)
    raise _unsupported(node)


def _largest(points: Sequence[_Point], softness: float) -> _Point:
    """The maximum: exact, or smooth and at most softness * log(number of points) too large."""
    values = np.array(np.broadcast_arrays(*(point.value for point in points)))
    top = values.max(axis=0)
    if softness > 0:
        shares = np.exp((values - top) / softness)
        top = top + softness * np.log(shares.sum(axis=0))
    else:
        shares = np.where(values == top, 1.0, 0.0)
    shares /= shares.sum(axis=0)
    slopes = sum(share * point.slopes for share, point in zip(shares, points, strict=True))
    return _Point(np.asarray(top), np.asarray(slopes))


def _ends(node: Expression, of: Mapping[Mean, Ends]) -> Ends:
    """The range of an expression, from those of its averages."""
    match node:
        case expressions.Number(value):
            return value, value
        case Mean():
            return of[node]
        case expressions.Scaled(factor, part):
            low, high = sorted(factor * end for end in _ends(part, of))
            return low, high
        case expressions.Product(left, right):
            corners = [a * b for a in _ends(left, of) for b in _ends(right, of)]
            return min(corners), max(corners)
        case expressions.Quotient(top, bottom):
            corners = [a / b for a in _ends(top, of) for b in _bottom_ends(_ends(bottom, of))]
            return min(corners), max(corners)
        case expressions.Abs(part):
            low, high = _ends(part, of)
            return max(low, -high, 0.0), max(-low, high)
        case expressions.Sum(parts) | expressions.Max(parts) | expressions.Min(parts):
            lows, highs = zip(*(_ends(part, of) for part in parts), strict=True)
            if isinstance(node, expressions.Sum):
                return sum(lows), sum(highs)
            join = max if isinstance(node, expressions.Max) else min
            return join(lows), join(highs)
    raise _unsupported(node)


def _bottom_ends(ends: Ends) -> list[float]:
    """The ends of a denominator, without values near 0: a quotient has no ends there."""
    low, high = ends
    least = SMALLEST_BOTTOM * max(abs(low), abs(high)) or 1.0
    above = [max(low, least), high] if high >= least else []
    below = [low, min(high, -least)] if low <= -least else []
    return above + below or [least]


def _unsupported(node: Expression) -> ConstraintError:
    return point_at(
        f"'{node}' cannot be maximised.",
        node.span,
        "an objective combines statistics and numbers with +, -, *, /, abs, min and max.",
    )


def ends_among(rows: Rows, free: Floats) -> Ends:
    """The smallest and the largest average among some policies.

    Examples
    --------
    >>> rows = Rows(np.arange(2), np.zeros(2), np.ones((1, 2)), 0, 1)
    >>> ends_among(rows, np.array([[[1.0, 2.0]], [[3.0, 5.0]]]))
    (1.5, 4.0)
    """
    values = _average(rows, free)
    return float(values.min()), float(values.max())


def _average(rows: Rows, free: Floats) -> Floats:
    total = np.einsum("ki,...ki->...", rows.slope, rows.inside(free))
    return np.asarray(rows.mean_offset + total / rows.size)


def _average_ends(rows: Rows) -> Ends:
    """The average if every row gets its worst decision, and if every row gets its best."""
    worst, best = np.minimum(rows.slope.min(axis=0), 0), np.maximum(rows.slope.max(axis=0), 0)
    low, high = (float(each.sum()) / rows.size for each in (worst, best))
    return rows.mean_offset + low, rows.mean_offset + high

"""The words for writing constraints in Python, without text or parser.

Examples
--------
>>> black = col("race") == "Black"
>>> print(E("impact", given=black) >= 0.9 * E_logged("impact", given=black))
0.9 * E_logged[impact | race == 'Black'] <= E[impact | race == 'Black']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, NoReturn

from elfair.errors import ConstraintError
from elfair.language import conditions
from elfair.language.conditions import Column, Compare, Condition, Decision, Literal, as_condition
from elfair.language.distribution import ConditionalValueAtRisk, Quantile, Variance
from elfair.language.expressions import Expression, Max, Mean, Min, extreme, rate, share


class Reference:
    """What `col`, `label` and `decision` return: something to compare in a condition.

    It wraps an operand of the tree, because its ``==`` builds a condition while the operand's own
    ``==`` tells whether two trees are equal.

    Examples
    --------
    >>> print(Reference(Column("age")) >= 18)
    age >= 18
    """

    __array_ufunc__ = None

    def __init__(self, operand: conditions.Operand) -> None:
        self._operand = operand

    # Typed Any: a type checker wants a bool from == and would reject a condition.
    def __eq__(self, other: object) -> Any:
        return self._compare("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", other)

    def __lt__(self, other: object) -> Compare:
        return self._compare("<", other)

    def __le__(self, other: object) -> Compare:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Compare:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Compare:
        return self._compare(">=", other)

    def isin(self, values: Iterable[Any]) -> conditions.Member:
        """Whether it is one of the values.

        Examples
        --------
        >>> print(col("race").isin(["A", "B"]))
        race in ['A', 'B']
        """
        if isinstance(values, str):
            raise ConstraintError(
                f"isin takes a list of values. Got the text {values!r} instead.",
                hint=f"write isin([{values!r}]).",
            )
        return conditions.Member(self._operand, tuple(Literal(value) for value in values))

    def __bool__(self) -> NoReturn:
        raise ConstraintError(
            f"'{self._operand}' has no truth value until it is evaluated on data.",
            hint="compare it, as in col('employed') == True.",
        )

    def __repr__(self) -> str:
        return str(self._operand)

    def _compare(self, op: str, other: Any) -> Compare:
        right = other._operand if isinstance(other, Reference) else Literal(other)
        return Compare(self._operand, op, right)


def col(name: str) -> Reference:
    """A column of the data, to compare in a condition.

    Examples
    --------
    >>> print((col("age") >= 18) & ~col("race").isin(["A"]))
    age >= 18 and race not in ['A']
    """
    return Reference(_column(name))


def E(of: str | Condition | Reference, *, given: Condition | None = None) -> Mean:
    """The expected impact under the new model.

    It also takes an event (for its rate), and the decision where decisions are numbers.

    Examples
    --------
    >>> print(E("impact", given=col("race") == "Black"))
    E[impact | race == 'Black']
    """
    return Mean(_averaged(of), _optional(given))


def E_logged(of: str | Condition | Reference, *, given: Condition | None = None) -> Mean:
    """The expected impact under the behaviour model.

    Examples
    --------
    >>> print(E_logged("impact"))
    E_logged[impact]
    """
    return Mean(_averaged(of), _optional(given), logged=True)


def P(event: Condition, *, given: Condition | None = None) -> Expression:
    """The probability of an event under the new model.

    Given a decision, it is a quotient: the probability of event and decision together, divided by
    the probability of the decision.

    Examples
    --------
    >>> print(P(decision == 1, given=label == 0))
    P[decision == 1 | label == 0]
    >>> print(P(label == 1, given=(decision == 1) & (col("race") == "A")))
    P[decision == 1 and label == 1 | race == 'A'] / P[decision == 1 | race == 'A']
    """
    event, given = as_condition(event), _optional(given)
    if given is None or not conditions.uses_decision(given):
        return Mean(event, given)
    return share(event, conditions.parts_of(given))


def quantile(of: str, share: float, *, given: Condition | None = None) -> Quantile:
    """The value that the impact falls below with probability ``share``; in text also ``VaR``.

    Examples
    --------
    >>> print(quantile("impact", 0.1) >= 2)
    quantile[impact, 0.1] >= 2
    """
    return Quantile(_column(of), _optional(given), share=_number(share))


def median(of: str, *, given: Condition | None = None) -> Quantile:
    """The median of an impact.

    Examples
    --------
    >>> print(median("impact"))
    median[impact]
    """
    return quantile(of, 0.5, given=given)


def CVaR(of: str, share: float, *, given: Condition | None = None) -> ConditionalValueAtRisk:
    """The mean impact on the worst-off share of people.

    Examples
    --------
    >>> print(CVaR("impact", 0.1) >= 1)
    CVaR[impact, 0.1] >= 1
    """
    return ConditionalValueAtRisk(_column(of), _optional(given), share=_number(share))


def var(of: str, *, given: Condition | None = None) -> Variance:
    """The variance of an impact.

    Examples
    --------
    >>> print(var("impact") <= 4)
    var[impact] <= 4
    """
    return Variance(_column(of), _optional(given))


def IQR(
    of: str, low: float = 0.25, high: float = 0.75, *, given: Condition | None = None
) -> Expression:
    """The distance between two quantiles of an impact.

    Examples
    --------
    >>> print(IQR("impact") <= 3)
    quantile[impact, 0.75] - quantile[impact, 0.25] <= 3
    """
    low, high = _number(low), _number(high)
    if not low < high:
        raise ConstraintError(
            f"the shares of an inter-quantile range must be in order. Got {low:g} and {high:g}.",
            hint="IQR[impact, 0.25, 0.75] is usual.",
        )
    return quantile(of, high, given=given) - quantile(of, low, given=given)


#: The statistics beyond the mean, by their names in text.
BEYOND_THE_MEAN: dict[str, Callable[..., Expression]] = {
    "quantile": quantile,
    "VaR": quantile,
    "median": median,
    "CVaR": CVaR,
    "var": var,
    "IQR": IQR,
}


def maximum(*parts: Expression | float) -> Expression:
    """The largest of several expressions; ``max`` in text.

    Examples
    --------
    >>> print(maximum(E("gain"), E("loss")) <= 1)
    max(E[gain], E[loss]) <= 1
    """
    return extreme(Max, parts)


def minimum(*parts: Expression | float) -> Expression:
    """The smallest of several expressions; ``min`` in text.

    Examples
    --------
    >>> print(minimum(E("gain"), E("loss")) >= 0)
    min(E[gain], E[loss]) >= 0
    """
    return extreme(Min, parts)


label = Reference(conditions.Label())
"""The label, in a condition or an event: ``P(decision == 1, given=label == 0)``."""
decision = Reference(Decision())
"""The new model's decision, in an event: ``P(decision == "approve")``."""
accuracy = rate("accuracy")
"""How often the decision is the label: ``accuracy >= 0.75``, or by group, ``accuracy(given)``."""
PR = rate("PR")
"""The rate of the positive decision: ``PR(col("race") == "A")``, or ``PR`` of everyone."""
TPR = rate("TPR")
"""The rate of the positive decision among those whose label is positive."""
FPR = rate("FPR")
"""The rate of the positive decision among those whose label is not positive."""
TNR = rate("TNR")
"""The rate of decisions that are not positive among those whose label is not positive."""
FNR = rate("FNR")
"""The rate of decisions that are not positive among those whose label is positive."""
PPV = rate("PPV")
"""The share of positive labels among those with the positive decision (precision)."""
NPV = rate("NPV")
"""The share of labels that are not positive among those without the positive decision."""
FDR = rate("FDR")
"""The share of labels that are not positive among those with the positive decision."""
mse = rate("mse")
"""The mean squared difference of decision and label, in regression: ``mse <= 0.2``."""


def _averaged(of: object) -> Column | Condition | Decision:
    if isinstance(of, Reference) and isinstance(of._operand, Decision):
        return of._operand
    return _column(of) if isinstance(of, str) else as_condition(of)


def _optional(given: object) -> Condition | None:
    return None if given is None else as_condition(given)


def _column(name: object) -> Column:
    if isinstance(name, str) and name:
        return Column(name)
    raise ConstraintError(
        f"the name of a column must be non-empty text. Got {name!r} instead.",
        hint="write col('race').",
    )


def _number(share: object) -> float:
    if isinstance(share, Real) and not isinstance(share, bool):
        return float(share)
    raise ConstraintError(
        f"a share of people must be a number between 0 and 1. Got {share!r} instead.",
        hint="the lowest tenth is quantile('impact', 0.1).",
    )

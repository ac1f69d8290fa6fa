"""How statistics treat decisions of either kind: classes, or numbers.

A policy enters rows through *slots*: numbers in which the rows are affine. For classes these are
the probabilities of all classes; for numbers, the density at the logged decision, the mean, the
mean square, and P(decision >= t) for each threshold t in a constraint.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import ClassVar, TypeAlias

import numpy as np

from elfair.data import LoggedData
from elfair.errors import ConstraintError, DataError, listed
from elfair.language import conditions
from elfair.language.conditions import Condition, SquaredError, uses_decision
from elfair.language.evaluation import holds
from elfair.language.expressions import Mean
from elfair.language.tree import point_at, walk
from elfair.policies.gaussian import DENSITY, FIRST_THRESHOLD, MEAN, SQUARE
from elfair.statistics.impacts import asks_for_cost
from elfair.statistics.units import Units
from elfair.statistics.weights import ClassLaw, DensityLaw, Weights
from elfair.types import Array, Floats, Index


class Classes:
    """Logged decisions that are classes, and how other policies enter statistics about them.

    A *table* holds an outcome model's predictions for each row: a function of the decision.
    """

    needed: ClassVar[dict[str, str]] = {
        "decision": "the decision that was taken",
        "propensity": "the probability with which it was taken (or pass behavior=)",
    }

    def __init__(self, data: LoggedData) -> None:
        self._data = data
        self._taken = data.decision_index, np.arange(data.n)

    @property
    def slots(self) -> int:
        """The number of slots: one for each class."""
        return self._data.classes.size

    def term(self, mean: Mean) -> tuple[Floats, Floats]:
        """What is averaged if the new model decides (weights take care of impacts): the part that
        no policy changes, and what each slot adds. Here, the event for each possible decision.
        """
        return np.zeros(self._data.n), self._event(mean)

    def logged(self, mean: Mean) -> Floats:
        """What is averaged, for the logged decision of each row: where the event holds."""
        by_class = self._event(mean)
        if uses_decision(mean.of) or asks_for_cost(mean, self._data):
            return np.asarray(by_class[self._taken])
        return np.asarray(by_class[0])

    def add_weighted(self, by_slot: Floats, values: Floats) -> None:
        """Add the weight of each row times a value, in the slot of the logged class."""
        by_slot[self._taken] += values / _known(self._data.propensity)

    def add_predicted(self, by_slot: Floats, offset: Floats, table: Floats, factor: float) -> None:
        """Add a factor times the expectation of a table, which has a row for each class."""
        by_slot += factor * table

    def centre(self, table: Floats) -> float:
        """Subtract the average over rows and classes from a table, in place, and return it."""
        k = float(table.mean()) if table.size else 0.0
        table -= k
        return k

    def at_logged(self, table: Floats) -> Floats:
        """The values of a table at the logged classes."""
        return np.asarray(table[self._taken])

    def under_behavior(self, table: Floats) -> Floats | None:
        """The expectation of a table under the behaviour model; None if that is not known."""
        # The draws that were made say more about logged decisions than an estimate does.
        if self._data.behavior is None or self._data.unlogged is not None:
            return None
        return np.asarray(np.sum(self._data.behavior.T * table, axis=0))

    def free(self, offset: Floats, by_slot: Floats) -> tuple[Floats, Floats]:
        """Offset and slopes by the free numbers of a policy, from those by its slots. Probabilities
        sum to 1: those of all classes but the first are free.
        """
        return offset + by_slot[0], by_slot[1:] - by_slot[0]

    def weights(self, free: Floats, index: Index | None = None) -> Weights:
        """The weights of some rows under a policy."""
        return self.law(index).weights(free if index is None else free[:, index])

    def law(self, index: Index | None = None) -> ClassLaw:
        """How some rows were decided about; all, unless they are named."""
        index = np.arange(self._data.n) if index is None else index
        data = self._data
        behavior = None
        if data.behavior is not None:
            behavior = np.ascontiguousarray(data.behavior[index].T)
        assert data.decision_index is not None
        taken = data.decision_index[index]
        units = Units.of(data, index)
        return ClassLaw(behavior, taken, _known(data.propensity)[index], units)

    def compared(self, free: Floats, index: Index) -> list[tuple[str, float, float]]:
        """For some rows: each class, how often it was decided, and how often under a policy."""
        data, mass = self._data, _masses(self._data, index)
        assert data.decision_index is not None
        later = np.average(free[:, index], axis=1, weights=mass)
        new = [1 - float(later.sum()), *later.tolist()]
        taken = np.bincount(data.decision_index[index], mass, data.classes.size) / (
            index.size if mass is None else mass.sum()
        )
        return list(zip(map(str, data.classes), taken.tolist(), new, strict=True))

    def _event(self, mean: Mean) -> Floats:
        """For each class, where the event holds (or what it costs) if that class is decided."""
        data = self._data
        if asks_for_cost(mean, data):
            return self._cost(mean)
        if not data.classes.size:
            raise DataError(
                "there are no classes: neither y nor decision was given.",
                hint="pass y= or decision=.",
            )
        if not isinstance(mean.of, Condition):
            raise point_at(
                f"'{mean}' needs numeric decisions; here they are classes.",
                mean.span,
                hint="use a rate, such as P[decision == 1] or accuracy, or ELFRegressor.",
            )
        check_values(mean.of, data)
        if not uses_decision(mean.of):
            return np.tile(holds(mean.of, data).astype(np.float64), (data.classes.size, 1))
        return np.array([holds(mean.of, data, decision=name) for name in data.classes], np.float64)

    def _cost(self, mean: Mean) -> Floats:
        data = self._data
        if data.person_cost is not None:
            return data.person_cost.T
        assert data.cost is not None
        if data.label_index is None:
            raise point_at(
                f"'{mean}' needs labels, but y was not given.",
                mean.span,
                hint="pass y: the cost of a decision depends on the label.",
            )
        return np.asarray(data.cost[data.label_index].T)


class Numbers:
    """Logged decisions that are numbers; see `Classes`."""

    needed: ClassVar[dict[str, str]] = {
        "decision": "the decision that was taken",
        "propensity": "the density of the behaviour model at that decision (or behavior_mean=)",
        "behavior_spread": "the standard deviation of the behaviour model's decisions; the weights "
        "of a new model with a larger spread are unbounded",
    }

    def __init__(self, data: LoggedData) -> None:
        self._data = data

    @property
    def slots(self) -> int:
        """Density, mean, mean square, and one for each threshold."""
        return FIRST_THRESHOLD + len(self._data.thresholds)

    def term(self, mean: Mean) -> tuple[Floats, Floats]:
        """The decision, its squared error, or an event about it."""
        data = self._data
        offset, by_slot = np.zeros(data.n), np.zeros((self.slots, data.n))
        if isinstance(mean.of, conditions.Decision):
            by_slot[MEAN] = 1.0
            return offset, by_slot
        if isinstance(mean.of, SquaredError):
            label = self._label(mean)
            by_slot[MEAN], by_slot[SQUARE] = -2 * label, 1.0
            return label**2, by_slot
        # An event does not change between thresholds: one value represents each interval.
        edges = _thresholds(mean)
        inner = [(low + high) / 2 for low, high in pairwise(edges)]
        between = [edges[0] - 1, *inner, edges[-1] + 1] if edges else [0.0]
        met = [self._event(mean, np.full(data.n, value)) for value in between]
        for t, (below, above) in zip(edges, pairwise(met), strict=True):
            by_slot[FIRST_THRESHOLD + data.thresholds.index(t)] = above - below
        return met[0], by_slot

    def logged(self, mean: Mean) -> Floats:
        """What is averaged, for the logged decision of each row."""
        decision = _known(self._data.decision)
        return decision if isinstance(mean.of, conditions.Decision) else self._event(mean, decision)

    def add_weighted(self, by_slot: Floats, values: Floats) -> None:
        """A weight is the new density divided by the logged one."""
        by_slot[DENSITY] += values / _known(self._data.propensity)

    def add_predicted(self, by_slot: Floats, offset: Floats, table: Floats, factor: float) -> None:
        """A table holds the coefficients of 1, the decision and its square."""
        offset += factor * table[0]
        by_slot[MEAN] += factor * table[1]
        by_slot[SQUARE] += factor * table[2]

    def centre(self, table: Floats) -> float:
        """The average over rows, for the logged decisions."""
        k = float(self.at_logged(table).mean())
        table[0] -= k
        return k

    def at_logged(self, table: Floats) -> Floats:
        """The quadratic at the logged decisions."""
        d = _known(self._data.decision)
        return np.asarray(table[0] + table[1] * d + table[2] * d**2)

    def under_behavior(self, table: Floats) -> Floats | None:
        """By the mean and the spread of the behaviour model, if they were given."""
        mean, spread = self._data.behavior_mean, self._data.behavior_spread
        if mean is None or spread is None:
            return None
        return np.asarray(table[0] + table[1] * mean + table[2] * (mean**2 + spread**2))

    def free(self, offset: Floats, by_slot: Floats) -> tuple[Floats, Floats]:
        """Every slot is free."""
        return offset, by_slot

    def weights(self, free: Floats, index: Index | None = None) -> Weights:
        """The weights of some rows under a policy."""
        return self.law(index).weights(free if index is None else free[:, index])

    def law(self, index: Index | None = None) -> DensityLaw:
        """How some rows were decided about; all, unless they are named."""
        index = np.arange(self._data.n) if index is None else index
        data = self._data
        usual = spread = None
        if data.behavior_spread is not None and data.usual is not None:
            usual, spread = data.usual[index], data.behavior_spread[index]
        units = Units.of(data, index)
        return DensityLaw(_known(data.propensity)[index], usual, spread, units)

    def compared(self, free: Floats, index: Index) -> list[tuple[str, float, float]]:
        """The mean decision."""
        logged, mass = _known(self._data.decision)[index], _masses(self._data, index)
        old, new = (float(np.average(each, weights=mass)) for each in (logged, free[MEAN, index]))
        return [("mean", old, new)]

    def _label(self, mean: Mean) -> Floats:
        if self._data.label is None:
            raise point_at(
                f"'{mean}' needs the label, but y was not given.",
                mean.span,
                hint="pass y, or leave mse out.",
            )
        return np.asarray(self._data.label)

    def _event(self, mean: Mean, decision: Floats) -> Floats:
        assert isinstance(mean.of, Condition)
        return holds(mean.of, self._data, decision=decision).astype(np.float64)


LoggedDecisions: TypeAlias = Classes | Numbers


def decisions_of(data: LoggedData) -> LoggedDecisions:
    """The decisions of some rows, by their kind."""
    return Numbers(data) if data.decision_kind == "numbers" else Classes(data)


def _masses(data: LoggedData, index: Index) -> Floats | None:
    """How much each of some rows counts; None if all count the same."""
    units = Units.of(data, index)
    return None if units is None else units.mass


def _known(column: Array | None) -> Floats:
    """A column that is known to exist (see ``needed``)."""
    assert column is not None
    return column


def check_values(event: Condition, data: LoggedData) -> None:
    """Raise, pointing at the text, if a class does not exist."""
    known = data.classes.tolist()
    for node in walk(event):
        if isinstance(node, conditions.Compare) and node.op in ("==", "!="):
            sides: tuple[conditions.Operand, ...] = (node.left, node.right)
        elif isinstance(node, conditions.Member):
            sides = (node.left, *node.values)
        else:
            continue
        if any(isinstance(side, conditions.Decision | conditions.Label) for side in sides):
            for side in sides:
                if isinstance(side, conditions.Literal) and side.value not in known:
                    raise point_at(
                        f"no class {side}; classes: {listed(data.classes)}.",
                        side.span,
                        hint="compare with a class; text and numbers differ.",
                    )


def thresholds_of(means: Iterable[Mean]) -> tuple[float, ...]:
    """The thresholds for numeric decisions in all events that are averaged.

    Examples
    --------
    >>> from elfair import P, decision
    >>> thresholds_of([P((decision >= 1) & (decision < 3)), P(decision <= 2)])
    (1.0, 2.0, 3.0)
    """
    return tuple(sorted({t for mean in means for t in _thresholds(mean)}))


def _thresholds(mean: Mean) -> list[float]:
    if not isinstance(mean.of, Condition):
        return []
    found = set()
    for node in walk(mean.of):
        if isinstance(node, conditions.Member) and isinstance(node.left, conditions.Decision):
            raise _has_no_probability(mean, node)
        if not isinstance(node, conditions.Compare) or not uses_decision(node):
            continue
        if node.op in ("==", "!="):
            raise _has_no_probability(mean, node)
        other = node.right if isinstance(node.left, conditions.Decision) else node.left
        value = other.value if isinstance(other, conditions.Literal) else None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise point_at(
                f"'{node}' compares the decision with something other than a literal number.",
                node.span,
                hint="compare it with a number, as in P[decision >= 2.5 | race == 'A'].",
            )
        found.add(float(value))
    return sorted(found)


def _has_no_probability(mean: Mean, node: Condition) -> ConstraintError:
    return point_at(
        f"'{mean}' asks whether the decision equals some value ('{node}'); decisions here are "
        "numbers, not classes.",
        node.span,
        hint="use mse, E[decision] or P[decision >= t], or ELFClassifier for classes.",
    )

"""Impacts: what is averaged, an impact or a function of one, and regressions that predict it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from elfair.data import LoggedData
from elfair.data.costs import COST
from elfair.data.features import Encoding
from elfair.data.units import masses
from elfair.errors import InputError, did_you_mean
from elfair.language.conditions import MIRRORED, Column, Compare, Condition, Literal, uses_decision
from elfair.language.distribution import Derived, Threshold
from elfair.language.expressions import Mean
from elfair.language.tree import point_at, walk
from elfair.types import Floats

Ends: TypeAlias = tuple[float, float]
#: The powers of features that `Level` may use, beside none.
POWERS = (1, 2)
#: A regression of a few numbers learns next to nothing more from more rows than this.
MANY_ROWS = 20_000
#: A row that alone decides its own prediction.
ROUNDING = 1e-9


class Impact(NamedTuple):
    """An impact, or a function of one.

    Parameters
    ----------
    name : str
        The impact's column.
    derived : Derived, optional
        The function; None for the impact itself.

    Examples
    --------
    >>> data = LoggedData([[0.0], [1.0]], impact={"gain": [2.0, 4.0]})
    >>> below = Impact("gain", Threshold(Column("gain"), 3.0, "<"))
    >>> below.values(data).tolist(), below.ends({})
    ([1.0, 0.0], (0.0, 1.0))
    """

    name: str
    derived: Derived | None = None

    def values(self, data: LoggedData) -> Floats:
        """Its value in each row; NaN where the impact is."""
        values = data.impacts[self.name]
        if self.derived is None:
            return values
        return np.where(np.isnan(values), np.nan, self.derived.of(values))

    def ends(self, ranges: Mapping[str, Ends]) -> Ends:
        """Its range, from the declared ranges of impacts; infinite if none is declared."""
        low, high = ranges.get(self.name, (-np.inf, np.inf))
        return (low, high) if self.derived is None else self.derived.ends(low, high)


def impact_of(mean: Mean, data: LoggedData) -> Impact | None:
    """The impact that is averaged; None for the average of an event or of the cost matrix.

    Examples
    --------
    >>> from elfair import E, col
    >>> data = LoggedData([[0.0], [1.0]], impact={"gain": [2.0, 4.0]})
    >>> impact_of(E("impact"), data).name
    'gain'
    >>> print(impact_of(E(col("gain") < 3), data).derived)
    gain < 3
    """
    match mean.of:
        case Column() if asks_for_cost(mean, data):
            return None
        case Column():
            return Impact(_name(mean.of, data))
        case Derived(impact):
            return Impact(_name(impact, data), mean.of)
        case Compare(Column() as column, op, Literal(value)) if _is_impact(column, op, value, data):
            return Impact(_name(column, data), Threshold(column, float(value), op))
        case Compare(Literal(value), op, Column() as column) if _is_impact(column, op, value, data):
            return Impact(_name(column, data), Threshold(column, float(value), MIRRORED[op]))
        case Condition():
            _refuse_impacts(mean.of, data)
    return None


def is_decided(mean: Mean, data: LoggedData) -> bool:
    """Whether the new model's decisions change an average.

    Examples
    --------
    >>> from elfair import P, PR, col
    >>> data = LoggedData([[0.0], [1.0]], [0, 1])
    >>> is_decided(PR(), data), is_decided(P(col("x0") > 0), data)
    (True, False)
    """
    event = isinstance(mean.of, Condition) and impact_of(mean, data) is None
    return not mean.logged and (not event or uses_decision(mean.of))


def asks_for_cost(mean: Mean, data: LoggedData) -> bool:
    """Whether an average is about declared costs, not about an impact with this name."""
    declared = data.cost is not None or data.person_cost is not None
    return declared and mean.of == Column(COST)


def _is_impact(column: Column, op: str, value: object, data: LoggedData) -> bool:
    """Whether a comparison is about the impact (not about a column called ``impact``)."""
    number = isinstance(value, int | float) and op not in ("==", "!=")
    return number and column.name in data.impact_names and column.name not in data.names


def _refuse_impacts(event: Condition, data: LoggedData) -> None:
    """Refuse an event that is about an impact and something else."""
    for node in walk(event):
        if isinstance(node, Column) and node.name in {*data.impact_names} - {*data.names}:
            raise point_at(
                f"'{node.name}' is an impact; an event about it must be one comparison with a "
                f"number by <, <=, > or >=. Got '{event}' instead.",
                node.span,
                hint="the impact on those with some decision is not supported."
                if uses_decision(event)
                else f"write P[{node.name} < 3 | race == 'A'], with other conditions after the "
                "bar.",
            )


def _name(column: Column, data: LoggedData) -> str:
    if column.name in data.impact_names:
        return data.impact_key(column.name)
    if column.name == COST:
        raise point_at(
            "there is no impact 'cost', and neither cost= nor person_cost= was given.",
            column.span,
            hint="pass cost=, the cost of each decision (column) for each label (row); or "
            "person_cost=, that of each decision for each person.",
        )
    if not data.impacts:
        raise point_at(
            f"no impact '{column.name}': impact was not given.",
            column.span,
            hint="pass impact=, the column of what was observed later.",
        )
    raise point_at(
        f"no impact '{column.name}'; impacts: {', '.join(data.impact_names)}.",
        column.span,
        hint=did_you_mean(column.name, data.impact_names, "E[...] takes the name of an impact."),
    )


@dataclass(frozen=True)
class Level:
    """q(x): the impact to expect of a person whatever is decided.

    It is linear in powers of the features and in groups: in none of them (the mean), in the
    features, or in features and their squares. The richer one counts if it predicts a candidate row
    from the others better than by chance: by more than a standard error.

    Each row has the weight 1 / propensity, so that q is what to expect if decisions were taken at
    random. Without weights, q would follow the decision that people like these usually got, and the
    effect of another one would show only in the few rows that had it.

    Parameters
    ----------
    encoding : Encoding
        What it sees of a row.
    power : int
        The highest power of the features.
    regression : Ridge
        The coefficients.
    left_out : ndarray
        What it expects of each row that it was fitted to, from all the others. A search that used
        its fit to these rows would take them for less noisy than those of the test.
    """

    encoding: Encoding
    power: int
    regression: Ridge
    left_out: Floats

    @classmethod
    def fit(cls, data: LoggedData, values: Floats, encoding: Encoding) -> Level:
        """Fit on candidate rows inside a condition, and their impacts: on some of many, evenly
        spaced, which then leave hardly anything to learn from the others.
        """
        if values.size > MANY_ROWS:
            some = np.arange(0, values.size, -(-values.size // MANY_ROWS))
            fitted = cls.fit(data.take(some), values[some], encoding)
            left_out = fitted.of(data)
            left_out[some] = fitted.left_out
            return replace(fitted, left_out=left_out)
        weights = cls._weights(data)
        level = float(np.average(values, weights=weights)) if values.size else 0.0
        best = cls(encoding, 0, Ridge(level, np.empty(0)), np.full(values.size, level))
        if values.size < 2:
            return best
        errors = weights * Ridge.left_out(np.empty((values.size, 0)), values, weights) ** 2
        for power in POWERS:
            inputs = design(encoding, data, power)
            residual = Ridge.left_out(inputs, values, weights)
            fewer = errors - weights * residual**2
            if fewer.mean() > fewer.std() / sqrt(fewer.size):
                best = cls(encoding, power, Ridge.fit(inputs, values, weights), values - residual)
                errors = weights * residual**2
        return best

    @staticmethod
    def _weights(data: LoggedData) -> Floats:
        """As if each class had been decided equally often about anybody, by mass; they average
        1.
        """
        mass = masses(data) if data.n else None
        if data.propensity is None or data.decision_kind == "numbers" or not data.n:
            return np.ones(data.n) if mass is None else mass
        weights = (1.0 if mass is None else mass) / data.propensity
        return np.asarray(weights * (data.n / weights.sum()))

    def of(self, data: LoggedData) -> Floats:
        """The expected impact of each row."""
        expected = np.empty(data.n)
        for start in range(0, data.n, MANY_ROWS):  # a design takes more memory than the table
            rows = slice(start, start + MANY_ROWS)
            expected[rows] = self.regression.predict(design(self.encoding, data, self.power, rows))
        return expected


def design(encoding: Encoding, data: LoggedData, power: int, rows: slice = slice(None)) -> Floats:
    """What a regression sees of some rows: features and groups, and powers of the features."""
    if power == 0:
        return np.empty((len(range(data.n)[rows]), 0))
    known = encoding.of(data, rows)
    features = known[:, : encoding.center.size]
    return known if power == 1 else np.column_stack([known, features**2])


@dataclass(frozen=True)
class OutcomeModel:
    """q(x, a): the expected impact of each decision, by one regression for each.

    The regressions use sensitive features although the policy may not see them: a baseline only has
    to predict, from what is known about a logged row before its decision.
    """

    encoding: Encoding
    regressions: list[Any]
    range: Ends
    power: int = 1

    @classmethod
    def fit(
        cls, data: LoggedData, values: Floats, encoding: Encoding, regressor: Any, limits: Ends
    ) -> OutcomeModel:
        """Fit on candidate rows and their impacts, separately for each decision: a given regressor,
        or else ridge regression.
        """
        from sklearn.base import clone

        mass, power = masses(data), 1
        assert data.decision_index is not None
        if data.unlogged is not None and regressor is None:
            power = cls._best_power(data, values, encoding)
        inputs = design(encoding, data, power)
        regressions: list[Any] = []
        for a in range(data.classes.size):
            taken = data.decision_index == a
            if taken.sum() < 2:  # too few to learn from: use the overall mean
                mean = float(np.average(values, weights=mass))
                regressions.append(Ridge(mean, np.zeros(inputs.shape[1])))
            elif regressor is None:
                known = None if mass is None else mass[taken] / mass[taken].mean()
                regressions.append(Ridge.fit(inputs[taken], values[taken], known))
            else:
                regressions.append(clone(regressor).fit(inputs[taken], values[taken]))
        return cls(encoding, regressions, limits, power)

    @staticmethod
    def _best_power(data: LoggedData, values: Floats, encoding: Encoding) -> int:
        """Whether squares of the features predict a candidate row from the others better. What an
        outcome model misses counts if propensities are estimated: only the product of the errors of
        the two is small.
        """
        errors = []
        for power in POWERS:
            inputs = design(encoding, data, power)
            away = np.zeros(data.n)
            for a in range(data.classes.size):
                taken = np.flatnonzero(data.decision_index == a)
                if taken.size > 2:
                    left_out = Ridge.left_out(inputs[taken], values[taken], np.ones(taken.size))
                    away[taken] = left_out**2
            errors.append(float(away.sum()))
        return POWERS[int(np.argmin(errors))]

    def inputs(self, data: LoggedData) -> Floats:
        """What the regressions see of each row."""
        return design(self.encoding, data, self.power)

    def of(self, data: LoggedData) -> Floats:
        """The expected impact of every decision, of shape (classes, n), inside the range."""
        inputs = self.inputs(data)
        predicted = np.array([regression.predict(inputs) for regression in self.regressions])
        return np.asarray(np.clip(predicted, *self.range))


@dataclass(frozen=True)
class QuadraticModel:
    """q(x, d), quadratic in a numeric decision d: f_0(x) + f_1(x) d + f_2(x) d^2.

    Its expectation under any policy is affine in the policy's mean and mean square, and so are the
    rows of the doubly robust form. f_0 is linear in features and groups, f_1 and f_2 only in
    groups: with all features in each of them, the model overfits a few hundred rows, and the search
    trusts residuals that are too small. Only to find the best decision for each person must f_1
    also be linear in features (``personal``).
    """

    encoding: Encoding
    center: float
    scale: float
    regression: Ridge
    personal: bool = False

    @classmethod
    def fit(
        cls, data: LoggedData, values: Floats, encoding: Encoding, regressor: Any, personal: bool
    ) -> QuadraticModel:
        """Fit on candidate rows and their impacts, by ridge regression on the standardised
        decision.
        """
        if regressor is not None:
            raise InputError(
                f"outcome_model must be quadratic in a numeric decision. Got {regressor!r}.",
                hint="leave it out for a quadratic ridge regression.",
            )
        assert data.decision is not None
        center, scale = float(data.decision.mean()), float(data.decision.std()) or 1.0
        powers = cls.powers(data.decision, center, scale)
        inputs = np.column_stack(cls.blocks(encoding, encoding.of(data), *powers, personal))
        regression = Ridge.fit(inputs, values, masses(data))
        return cls(encoding, center, scale, regression, personal)

    @staticmethod
    def powers(decision: Floats, center: float, scale: float) -> tuple[Floats, Floats]:
        """A standardised decision, and its square."""
        away = (decision - center) / scale
        return away, away**2

    @staticmethod
    def blocks(
        encoding: Encoding, known: Floats, first: Floats, second: Floats, personal: bool
    ) -> tuple[Floats, Floats, Floats]:
        """The design matrix in blocks by power, from what is known about people and the powers of
        the decision. It is linear in the powers, so it also takes their expectations.
        """
        groups = encoding.groups_in(known)
        people = np.column_stack([np.ones(len(known)), known]) if personal else groups
        return known, first[:, None] * people, second[:, None] * groups

    def inputs(self, known: Floats, first: Floats, second: Floats) -> Floats:
        """The design matrix of this model."""
        return np.column_stack(self.blocks(self.encoding, known, first, second, self.personal))

    def of(self, data: LoggedData) -> Floats:
        """The coefficients f_0, f_1 and f_2 of each row, of shape (3, n)."""
        one = np.ones(data.n)
        blocks = self.blocks(self.encoding, self.encoding.of(data), one, one, self.personal)
        ends = np.cumsum([block.shape[1] for block in blocks[:-1]])
        by = np.split(self.regression.coefficients, ends)
        zeroth, first, second = (block @ each for block, each in zip(blocks, by, strict=True))
        zeroth = self.regression.intercept + zeroth
        first, second = first / self.scale, second / self.scale**2
        return np.array(
            [
                zeroth - self.center * first + self.center**2 * second,
                first - 2 * self.center * second,
                second,
            ]
        )


@dataclass(frozen=True)
class Ridge:
    """Least squares on standardised inputs, with one pseudo-observation against each of them."""

    intercept: float
    coefficients: Floats

    @classmethod
    def fit(cls, inputs: Floats, values: Floats, weights: Floats | None = None) -> Ridge:
        """Solve the normal equations; weights average 1."""
        center = np.average(inputs, 0, weights)
        level = float(np.average(values, weights=weights))
        away = inputs - center
        counted = away if weights is None else away * weights[:, None]
        gram = away.T @ counted + np.eye(inputs.shape[1])
        coefficients = np.asarray(np.linalg.solve(gram, counted.T @ (values - level)))
        return cls(float(level - center @ coefficients), coefficients)

    @classmethod
    def left_out(cls, inputs: Floats, values: Floats, weights: Floats) -> Floats:
        """How far each value is from what all others let expect.

        Examples
        --------
        >>> Ridge.left_out(np.empty((3, 0)), np.array([0.0, 0.0, 3.0]), np.ones(3))
        array([-1.5, -1.5,  3. ])
        """
        away = inputs - np.average(inputs, 0, weights)
        gram = (away.T * weights) @ away + np.eye(inputs.shape[1])
        pull = 1 / values.size + np.einsum("ij,ij->i", away, np.linalg.solve(gram, away.T).T)
        residual = values - cls.fit(inputs, values, weights).predict(inputs)
        return np.asarray(residual / np.maximum(1 - weights * pull, ROUNDING))

    def predict(self, inputs: Floats) -> Floats:
        """The linear prediction."""
        return np.asarray(inputs @ self.coefficients + self.intercept)

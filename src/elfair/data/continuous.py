"""ContinuousData: a validated table of logged decisions that are numbers."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from elfair.data.by_table import ByTable
from elfair.data.columns import as_floats, check_length, check_order, one_column, refuse
from elfair.data.revealed import numbers_reveal_nothing
from elfair.data.table import LoggedData
from elfair.errors import DataError, listed
from elfair.types import Array, Floats

#: Decisions with at most this many different values do not come from a density.
FEWEST_VALUES = 10
#: Two values of one density agree if they differ by at most this share: logs round them.
ROUNDED = 0.01
#: How often to choose, for each row, between the two means that its density allows.
ROUNDS = 5
#: How many standard errors the squares of normal numbers may be off before they are not normal.
LARGEST_SURPRISE = 5.0

#: What was usually decided, by tables whose mean was not given: a search asks often.
_USUAL: ByTable[Floats] = ByTable()


class ContinuousData(LoggedData):
    """Logged decisions that are numbers, such as doses or prices.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        Features: what the new model will see.
    y : array of shape (n,), optional
        Labels: the best decisions, as numbers.
    sensitive_features, impact, row_id, unit, sample_weight, time
        See `LoggedData`.
    decision : array of shape (n,), optional
        The logged decisions.
    propensity : array of shape (n,), optional
        The *density* of the behaviour model at the logged decision; it may exceed 1.
    behavior_spread : float or array of shape (n,), optional
        The standard deviation of the behaviour model's decision about each person.
    behavior_mean : float or array of shape (n,), optional
        The mean of that decision, if it was drawn from a normal distribution. The propensity
        follows from it and need not be given.

    Examples
    --------
    >>> data = ContinuousData([[0.0], [1.0]], [0.5, 1.5], decision=[0.25, 2.0],
    ...                       behavior_mean=[0.25, 1.5], behavior_spread=0.25)
    >>> data.n, data.label, data.propensity.round(3)
    (2, array([0.5, 1.5]), array([1.596, 0.216]))
    """

    decision_kind = "numbers"

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        behavior_mean: Any = None,
        behavior_spread: Any = None,
        **given: Any,
    ) -> None:
        if given.get("label_seen_for") is not None:
            raise numbers_reveal_nothing()
        check_order(X=X, y=y, behavior_mean=behavior_mean, behavior_spread=behavior_spread, **given)
        super().__init__(X, y, **given)
        if behavior_spread is not None:
            self.behavior_spread = self._positive_column(
                self._for_each(behavior_spread),
                "behavior_spread",
                "it is the standard deviation of the behaviour model's decisions about one person; "
                "if it is 0, no other decision can be judged.",
            )
        if behavior_mean is not None:
            self._set_mean(self._for_each(behavior_mean))

    def _for_each(self, values: Any) -> Any:
        """A column; a single number is the same for everyone."""
        return np.full(self.n, values) if np.ndim(values) == 0 else values

    @property
    def probability(self) -> Floats | None:
        """None: propensities are densities."""
        return None

    @property
    def usual(self) -> Floats | None:
        """The mean of the behaviour model's decision, or what comes near to it."""
        if self.behavior_mean is not None or self.decision is None:
            return self.behavior_mean
        if self not in _USUAL:
            _USUAL[self] = usual_decisions(self)
        return _USUAL[self]

    @property
    def measured(self) -> dict[str, Floats]:
        """Impacts, labels and decisions."""
        known = {"the label": self.label, "the decision": self.decision}
        return super().measured | {name: of for name, of in known.items() if of is not None}

    @property
    def as_numbers(self) -> tuple[Array | None, Array | None]:
        """Label and decision, as numbers."""
        return self.label, self.decision

    def _floats(self, values: Any, what: str) -> Floats:
        hint = f"{what} is a number here; ELFClassifier is for classes."
        column = as_floats(one_column(values, what), what, hint=hint)
        check_length(column, self.n, what)
        return column

    def _decisions(self, values: Any, what: str) -> Floats:
        column = self._floats(values, what)
        hint = f"drop the rows without {what}, or find out what it was."
        refuse(np.isnan(column), f"Input {what} contains NaN,", hint)
        refuse(np.isinf(column), f"Input {what} contains infinity,", hint)
        return column

    def _label(self, values: Any, label_seen_for: Any) -> Array:
        return self._decisions(values, "y")

    def _classes(self, classes: object) -> Array:
        return np.array([], dtype=np.intp)

    def _class_index(self, column: object, what: str) -> None:
        return None

    def _positive_column(self, values: Any, what: str, hint: str) -> Floats:
        column = self._floats(values, what)
        wrong = ~((column > 0) & np.isfinite(column))
        got = listed(column[wrong][:1])
        refuse(wrong, f"{what} must be positive and finite. Got {got}", hint)
        return column

    def _set_mean(self, values: Any) -> None:
        """Read the means of normal distributions, from which densities follow."""
        if self.behavior_spread is None:
            raise DataError(
                "behavior_mean was given without behavior_spread.",
                hint="pass behavior_spread=, the standard deviation with which the behaviour model "
                "drew decisions around that mean.",
            )
        self.behavior_mean = mean = self._decisions(values, "behavior_mean")
        if self.decision is None:
            return
        density, logged = normal_density(self.decision, mean, self.behavior_spread), self.propensity
        self._set_propensity(density)
        if logged is None:
            return
        wrong = np.abs(logged - density) > ROUNDED * density
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(
                f"propensity and behavior_mean disagree in {wrong.sum():,} of {self.n:,} rows: in "
                f"row {row}, propensity is {logged[row]:.6g}, and a normal distribution with that "
                f"mean and spread has the density {density[row]:.6g} there.",
                hint="leave out behavior_mean if decisions were not drawn from normal "
                "distributions; otherwise leave out propensity.",
            )

    def _set_propensity(self, values: Any) -> None:
        """Read densities; refuse decisions that cannot come from a density."""
        different = np.unique(np.asarray(self.decision)).size
        if different <= FEWEST_VALUES < self.n / 2:
            raise DataError(
                f"decision holds only {different:,} different values in {self.n:,} rows: such "
                "decisions have probabilities, not a density.",
                hint="use ELFClassifier, with the values as classes.",
            )
        hint = "it is the density of the behaviour model at the logged decision."
        self.propensity = self._positive_column(values, "propensity", hint)


def usual_decisions(data: ContinuousData) -> Floats:
    """What the behaviour model usually decided about each person, where its mean was not given.

    A linear function of the features. If the densities are those of normal distributions with the
    given spread, each says how far its decision is from the mean, but not on which side: of the
    two means that are possible, this takes the nearer to the linear function, and fits it again.

    Examples
    --------
    >>> x, rng = np.linspace(-1, 1, 200), np.random.default_rng(0)
    >>> decision = 3 * x + rng.normal(size=200)
    >>> data = ContinuousData(x[:, None], decision=decision, behavior_spread=1.0,
    ...                       propensity=normal_density(decision, 3 * x, 1.0))
    >>> bool(np.mean(np.abs(data.usual - 3 * x) < 1e-6) > 0.9)
    True
    """
    decision = data.decision
    assert decision is not None
    design = np.column_stack([np.ones(data.n), data.features])
    away = _distances(data)
    mean = decision
    for _ in range(ROUNDS):
        linear = np.asarray(design @ np.linalg.lstsq(design, mean, rcond=None)[0])
        if away is None:
            return linear
        mean = np.where(linear < decision, decision - away, decision + away)
    return mean


def _distances(data: ContinuousData) -> Floats | None:
    """How far decisions are from the means of normal distributions with the given densities and
    spreads; None if there are no such distributions.
    """
    if data.propensity is None or data.behavior_spread is None:
        return None
    ratio = data.propensity * data.behavior_spread * sqrt(2 * pi)
    if (ratio > 1 + ROUNDED).any():  # no normal distribution of that spread is so dense
        return None
    squares = -2 * np.log(np.minimum(ratio, 1.0))
    if abs(squares.mean() - 1) > LARGEST_SURPRISE * sqrt(2 / data.n):
        return None
    return np.asarray(data.behavior_spread * np.sqrt(squares))


def normal_density(value: Floats | float, mean: Floats, spread: Floats | float) -> Floats:
    """The density of a normal distribution.

    Examples
    --------
    >>> normal_density(0.0, np.array([0.0, 2.0]), 2.0).round(4)
    array([0.1995, 0.121 ])
    """
    return np.asarray(np.exp(-0.5 * ((value - mean) / spread) ** 2) / (spread * sqrt(2 * pi)))

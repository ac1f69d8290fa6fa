"""LoggedData: a validated table of logged decisions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from elfair.data.behavior import (
    FittedClassifier,
    check_agreement,
    check_not_certain,
    read_behavior,
    read_propensity,
)
from elfair.data.classes import class_index, read_classes, read_positive
from elfair.data.columns import (
    Columns,
    as_floats,
    check_length,
    check_order,
    complete_column,
    named_columns,
    refuse,
)
from elfair.data.costs import COST, read_cost
from elfair.data.digests import columns_digest, rows_digest
from elfair.data.features import comparable, read_features, same_values
from elfair.data.lottery import Lottery, is_lottery, read_lottery
from elfair.data.preparation import Preparation
from elfair.data.units import Average, read_row_ids, read_sample_weight, unit_numbers
from elfair.data.unseen import Unseen, read_unseen
from elfair.errors import DataError, did_you_mean, listed
from elfair.types import Array, Floats, Index


class LoggedData:
    """Logged decisions: the people, the decisions, their probabilities and their later impact.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        Features: what the new model will see. Numbers, true/false, text, categories and dates, also
        with missing values: a preparation that is part of the model makes numbers of them.
    y : array of shape (n,), optional
        Labels: the best decisions.
    sensitive_features : array, series, data frame or mapping, optional
        One or more columns that define groups.
    decision : array of shape (n,), optional
        The logged decisions.
    propensity : array of shape (n,), float or mapping, optional
        The probability with which the behaviour model took *the logged decision*, given everything
        that it used. If a lottery decided, as in a randomised trial, declare its chances instead:

        * ``{decision: probability}`` names every decision. A sum that is at most 0.001 off is taken
          for rounding, and scaled to 1.
        * A number is the probability of the *positive* decision of two, which is 1 if the decisions
          are 0 and 1, and otherwise what ``positive`` names. The other has the rest. Of more
          decisions, it must be 1 divided by their number.
        * ``{"by": column, value: chances}`` has either of these for each value of a feature, or of
          a sensitive feature.
    behavior : array of shape (n, classes) or fitted model, optional
        The behaviour model's probability of every decision. A fitted model with ``predict_proba``
        is kept, so a policy can respect its support at prediction time.
    impact : array, series, data frame or mapping, optional
        One or more columns of what was observed later. You can always call a single column
        ``impact``.
    missing_impact : {"at random", "worst case"}, optional
        What to take a missing impact for. Without it, one is an error. "at random" declares that,
        given features, groups, decision and ``early``, those without an impact are like those with
        one. "worst case" takes whichever end of ``impact_range`` is bad for the statement.
    early : array, series, data frame or mapping, optional
        Early outcomes: numbers known of everyone after the decision, which tell something of the
        impact. No model sees them.
    follow_up : float or array of shape (n,), optional
        The probability with which each person was drawn at random to be followed up, if that is why
        the impact of the others is missing.
    row_id : array of shape (n,), optional
        One unique identifier for each row (each person). The split into halves then depends on the
        identifiers, not on the order of rows.
    unit : array of shape (n,), optional
        Whom a row is about, if several rows may be about one person; or its cluster, such as a
        school. Rows of one unit stay together in every split, and bounds count units, not rows.
    sample_weight : array of shape (n,), optional
        How many people a row stands for, where that differs from row to row.
    classes : sequence, optional
        All possible decisions, if ``y`` and ``decision`` together do not show them all.
    positive : object, optional
        The class that PR, TPR and so on count. If classes are 0 and 1, or -1 and 1, it is 1 unless
        given, and of true and false it is true. Of any others you must name it, but only if a
        constraint or an objective uses it.
    cost : array of shape (classes, classes), mapping or data frame, optional
        What ``E[cost]`` averages: a row for each label and a column for each decision, both in the
        order of the sorted classes; or ``{label: {decision: cost}}``.

    Examples
    --------
    >>> data = LoggedData(
    ...     [[0.0], [1.0], [2.0], [3.0]],
    ...     [0, 0, 1, 1],
    ...     sensitive_features={"race": ["A", "B", "A", "B"]},
    ...     decision=[0, 1, 1, 1],
    ...     propensity=[0.5, 0.5, 0.8, 0.9],
    ...     impact=[1.0, 0.5, 2.0, 1.5],
    ... )
    >>> data
    LoggedData(n=4, classes=[0, 1], features=1, groups=['race'], impacts=['impact'])
    >>> data.names
    ['race', 'x0']

    A trial that gave treatment 1 to two in three women and to half of the men:

    >>> trial = LoggedData(
    ...     [[0.0], [1.0], [2.0], [3.0]],
    ...     sensitive_features={"sex": ["f", "m", "f", "m"]},
    ...     decision=[0, 1, 1, 0],
    ...     propensity={"by": "sex", "f": 0.6667, "m": 0.5},
    ... )
    >>> trial.propensity
    array([0.3333, 0.5   , 0.6667, 0.5   ])
    """

    #: What a decision is; `ContinuousData` is for numbers.
    decision_kind: ClassVar[Literal["classes", "numbers"]] = "classes"
    #: Where decisions are numbers: mean and standard deviation of the behaviour model's decisions,
    #: as they were given, and the t of each P[decision >= t] that statistics ask for.
    behavior_mean: Floats | None = None
    behavior_spread: Floats | None = None
    thresholds: tuple[float, ...] = ()
    #: What averages are about; see `elfair.data.units`.
    average: Average = "unit"

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        decision: Any = None,
        propensity: Any = None,
        behavior: Any = None,
        impact: Any = None,
        missing_impact: Any = None,
        early: Any = None,
        follow_up: Any = None,
        row_id: Any = None,
        unit: Any = None,
        sample_weight: Any = None,
        classes: Sequence[Any] | Array | None = None,
        positive: Any = None,
        cost: Any = None,
    ) -> None:
        check_order(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            decision=decision,
            propensity=propensity,
            behavior=behavior,
            impact=impact,
            early=early,
            follow_up=follow_up,
            row_id=row_id,
            unit=unit,
            sample_weight=sample_weight,
        )
        given = read_features(X)
        given.require_values()
        self.feature_names = given.names
        #: The features as they came, if they are not plain finite numbers or were prepared since.
        self.raw = given.raw
        #: The numbers that a model sees; None until a preparation has made them.
        self.matrix = given.matrix
        #: What made them; None if they came as they are.
        self.preparation: Preparation | None = None
        self.n = given.n
        #: The position of each row in the whole table.
        self.position = np.arange(self.n)
        self.label = None if y is None else self._decisions(y, "y")
        self.decision = None if decision is None else self._decisions(decision, "decision")
        self.row_id = None if row_id is None else read_row_ids(row_id, self.n)
        self.unit = None if unit is None else complete_column(unit, self.n, "unit")
        #: The number of each row's unit; None if no two rows are of one unit.
        self.unit_index = None if self.unit is None else unit_numbers(self.unit)
        self.sample_weight = read_sample_weight(sample_weight, self.n)
        self.sensitive = self._sensitive(sensitive_features)
        self.impacts = self._impacts(impact)
        #: What is declared about impacts that were not seen for everyone; None if all were seen.
        self.unseen: Unseen | None = read_unseen(
            self, self.impacts, missing_impact, early, follow_up
        )
        self.classes = self._classes(classes)
        #: The class that counts as positive; None if nobody said, and no convention tells. Then
        #: what uses it asks.
        self.positive: Any = read_positive(positive, self.classes)
        self.cost = None if cost is None else self._cost(cost)
        self.label_index = self._class_index(self.label, "y")
        self.decision_index = self._class_index(self.decision, "decision")
        self.behavior_model: FittedClassifier | None = None
        self.behavior: Floats | None = None
        self.propensity: Floats | None = None
        #: The declared chances, if propensities were not given row by row.
        self.lottery: Lottery | None = None
        #: A scorer's log-odds for the search, of shape (n, classes - 1). A scorer knows the rows
        #: that it was fitted to too well: for these, they come from scorers that were fitted to
        #: other rows, and every part of a search must see the same ones.
        self.scores: Floats | None = None
        if behavior is not None:
            self._set_behavior(X, behavior)
        if propensity is not None:
            if self.decision is None:
                raise DataError(
                    "propensity was given without the decision.",
                    hint="pass decision=, the logged decisions.",
                )
            if is_lottery(propensity) and self.decision_kind == "classes":
                self._set_lottery(read_lottery(propensity, self.classes, positive))
            else:
                self._set_propensity(propensity)

    def __repr__(self) -> str:
        decided = f", classes={self.classes.tolist()}" if self.classes.size else ""
        return (
            f"{type(self).__name__}(n={self.n}{decided}, features={len(self.feature_names)}, "
            f"groups={list(self.sensitive)}, impacts={list(self.impacts)})"
        )

    @property
    def has_names(self) -> bool:
        """Whether features came with names of their own."""
        return self.feature_names != [f"x{j}" for j in range(len(self.feature_names))]

    # -- what conditions and statistics read ----------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The columns that conditions can name."""
        extra = [name for name in self.feature_names if name not in self.sensitive]
        return [*self.sensitive, *extra]

    def column(self, name: str) -> Array:
        """A sensitive feature, or a feature, by its name."""
        if name in self.sensitive:
            return self.sensitive[name]
        return self.feature(name)

    def feature(self, name: str) -> Array:
        """A feature as it came, by its name."""
        if self.raw is not None:
            return self.raw[name]
        return self.features[:, self.feature_names.index(name)]

    @property
    def features(self) -> Floats:
        """The numbers that a model sees, of shape (n, d); raise if there are none (yet)."""
        if self.matrix is None:
            raise DataError(
                "features are not all finite numbers, and nothing was learnt that prepares them.",
                hint="fit learns it from candidate rows; feature(name) is a column as it came.",
            )
        return self.matrix

    @property
    def prepared_names(self) -> list[str]:
        """What each column of `features` means."""
        return self.feature_names if self.preparation is None else self.preparation.names

    def prepared(self, preparation: Preparation) -> Self:
        """The same rows as a preparation shows them to a model."""
        raw = {name: self.feature(name) for name in self.feature_names}
        return self.changed(raw=raw, matrix=preparation.of(raw), preparation=preparation)

    def impact(self, name: str) -> Floats:
        """An impact by its name; a single one is also called ``impact``."""
        return self.impacts[self.impact_key(name)]

    def impact_key(self, name: str) -> str:
        """The column that an impact's name refers to."""
        if name in self.impacts:
            return name
        if name in self.impact_names:
            return next(iter(self.impacts))
        if not self.impacts:
            raise DataError(
                f"no impact '{name}': impact was not given.",
                hint="pass impact=, the column of what was observed later.",
            )
        raise DataError(
            f"no impact '{name}'; impacts: {listed(self.impact_names)}.",
            hint=did_you_mean(name, self.impact_names, "name one of the impacts."),
        )

    @property
    def impact_names(self) -> list[str]:
        """The names that refer to impacts."""
        names = list(self.impacts)
        alone = len(names) == 1 and "impact" not in (*names, *self.names)
        return [*names, "impact"] if alone else names

    @property
    def probability(self) -> Floats | None:
        """The propensities where they are probabilities; None where they are densities."""
        return self.propensity

    @property
    def usual(self) -> Floats | None:
        """What the behaviour model usually decided about each person, where that is a number; as
        far as these rows tell, if its mean was not given.
        """
        return None

    @property
    def measured(self) -> dict[str, Floats]:
        """Columns of numbers that are known only after the decision, by names for people."""
        return {f"impact '{name}'": values for name, values in self.impacts.items()}

    # -- parts of the table ---------------------------------------------------------------------

    def take(self, rows: Index) -> LoggedData:
        """The given rows, in the given order."""
        return _combined([self], lambda columns: columns[0].take(rows, axis=0))

    @staticmethod
    def joined(parts: Sequence[LoggedData]) -> LoggedData:
        """The rows of several parts of one table, in order."""
        return parts[0] if len(parts) == 1 else _combined(parts, np.concatenate)

    def changed(self, **attributes: Any) -> Self:
        """The same rows with other attributes, such as `thresholds` or `scores`."""
        same = copy.copy(self)
        vars(same).update(attributes)
        return same

    def digest(self) -> bytes:
        """A fingerprint of the rows that does not depend on their order.

        It ignores groups and row ids: the same people under another grouping are the same held-out
        rows.
        """
        columns = [*self.comparable, *self.as_numbers, self.propensity, *self.impacts.values()]
        return rows_digest(columns, self.n)

    @property
    def comparable(self) -> list[Floats]:
        """The features as they came, each as floats that are equal where its values are."""
        return [comparable(self.feature(name)) for name in self.feature_names]

    @property
    def as_numbers(self) -> tuple[Array | None, Array | None]:
        """Label and decision, as numbers."""
        return self.label_index, self.decision_index

    def fingerprint(self) -> str:
        """SHA-256 of everything known about these rows, in their order."""
        known = {"label", "decision", "propensity", "row_id"}
        known |= {"behavior", "behavior_mean", "behavior_spread"}
        known |= {name for name in ("unit", "sample_weight") if getattr(self, name) is not None}
        positive = None if self.positive is None else np.array([self.positive], dtype=object)
        return columns_digest(
            [
                *((f"feature {name}", self.feature(name)) for name in self.feature_names),
                *((f"group {name}", column) for name, column in self.sensitive.items()),
                *((f"impact {name}", column) for name, column in self.impacts.items()),
                *((name, getattr(self, name)) for name in sorted(known)),
                ("classes", self.classes),
                ("positive", positive),
                ("cost", self.cost),
                *(() if self.unseen is None else self.unseen.columns),
            ]
        )

    # -- validation -----------------------------------------------------------------------------

    def _decisions(self, values: Any, what: str) -> Array:
        """Logged decisions, or the best ones."""
        return complete_column(values, self.n, what)

    def _sensitive(self, values: Any) -> Columns:
        """Groups; a missing value is allowed, and meets no condition."""
        if values is None:
            return {}
        columns = named_columns(values, "sensitive_features", default="sensitive")
        for name, column in columns.items():
            check_length(column, self.n, f"sensitive feature '{name}'")
            if name in self.feature_names and not same_values(column, self.feature(name)):
                raise DataError(
                    f"'{name}' is both a feature and a sensitive feature, with different values.",
                    hint="rename one of them; a condition could mean either.",
                )
        return columns

    def _impacts(self, values: Any) -> dict[str, Floats]:
        if values is None:
            return {}
        impacts = {}
        for name, column in named_columns(values, "impact", default="impact").items():
            check_length(column, self.n, f"impact '{name}'")
            if name in self.names:
                raise DataError(
                    f"'{name}' is both an impact and a column that conditions can name.",
                    hint="rename one of them; an impact is not known before the decision, so it is "
                    "not a feature.",
                )
            impacts[name] = as_floats(column, f"impact '{name}'")
            hint = "an impact must be finite; clip it to a meaningful range."
            refuse(np.isinf(impacts[name]), f"impact '{name}' is infinite", hint)
        return impacts

    def _classes(self, classes: Sequence[Any] | Array | None) -> Array:
        return read_classes(classes, self.label, self.decision)

    def _cost(self, cost: Any) -> Floats:
        if COST in self.impacts:
            raise DataError(
                "there is an impact called 'cost', and cost= was given: E[cost] could mean either.",
                hint="rename the impact.",
            )
        return read_cost(cost, self.classes)

    def _class_index(self, column: Array | None, what: str) -> Index | None:
        return class_index(column, self.classes, what)

    def _set_behavior(self, X: Any, behavior: Any) -> None:
        if not self.classes.size:
            raise DataError(
                "behavior was given without y, decision or classes.",
                hint="pass decision=, the logged decisions.",
            )
        self.behavior_model, self.behavior = read_behavior(behavior, X, self.n, self.classes)
        if self.decision_index is not None:
            self.propensity = self.behavior[np.arange(self.n), self.decision_index]
            hint = "these are not the probabilities of the model that decided."
            wrong = self.propensity <= 0
            refuse(wrong, "behavior gives probability 0 to the logged decision,", hint)
        certain = self.behavior.max(axis=1) >= 1
        check_not_certain(certain, masked=self.behavior_model is not None)

    def _set_lottery(self, lottery: Lottery) -> None:
        assert self.decision_index is not None  # a propensity comes with a decision
        if self.behavior is not None:
            raise DataError(
                "behavior was given beside a propensity that declares the chances of every "
                "decision.",
                hint="pass only the one that describes how decisions were made.",
            )
        self.lottery, self.behavior = lottery, lottery.behavior(self)
        self.propensity = self.behavior[np.arange(self.n), self.decision_index]

    def _set_propensity(self, values: Any) -> None:
        assert self.decision_index is not None  # a propensity comes with a decision
        propensity = read_propensity(values, self.n)
        if self.propensity is not None:
            check_agreement(propensity, self.propensity)
            return
        check_not_certain(propensity >= 1, masked=False)
        self.propensity = propensity
        if self.classes.size == 2:
            # With two classes, the other decision has the rest of the probability.
            other = 1 - propensity
            first = self.decision_index == 0
            self.behavior = np.column_stack(
                [np.where(first, propensity, other), np.where(first, other, propensity)]
            )


#: The attributes of LoggedData that have one entry for each row.
_BY_ROW = (
    "matrix", "label", "label_index", "decision", "decision_index", "propensity", "behavior",
    "row_id", "unit", "unit_index", "sample_weight", "scores", "behavior_mean", "behavior_spread",
    "position",
)  # fmt: skip


def _combined(parts: Sequence[LoggedData], combine: Callable[[list[Array]], Array]) -> LoggedData:
    """A table whose columns combine those of some parts."""
    every = [vars(part) for part in parts]
    apart = any(part.preparation is not parts[0].preparation for part in parts)
    known = [name for name in _BY_ROW if every[0].get(name) is not None]
    known = [name for name in known if name != "matrix" or not apart]
    made: dict[str, Any] = {name: combine([of[name] for of in every]) for name in known}
    for name in ("sensitive", "impacts", "raw"):
        if every[0][name] is not None:
            made[name] = {key: combine([of[name][key] for of in every]) for key in every[0][name]}
    if apart:  # each fold has a preparation of its own; together, they are seen by the first
        made["matrix"] = parts[0].preparation.of(made["raw"]) if parts[0].preparation else None
    unseen = [part.unseen for part in parts if part.unseen is not None]
    made["unseen"] = Unseen.combined(unseen, combine) if unseen else None
    return parts[0].changed(**made, n=len(made["position"]))

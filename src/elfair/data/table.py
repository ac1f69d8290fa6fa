"""LoggedData: a validated table of logged decisions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from elfair.data.asking import Mistakes, in_terms
from elfair.data.behavior import (
    FittedClassifier,
    check_agreement,
    check_not_certain,
    is_estimated,
    read_behavior,
    read_propensity,
    read_unlogged,
    require_estimable,
)
from elfair.data.classes import class_index, read_classes, read_positive
from elfair.data.columns import (
    Columns,
    as_floats,
    check_length,
    check_no_codes,
    check_order,
    check_size,
    complete_column,
    named_columns,
    refuse,
)
from elfair.data.combining import combined
from elfair.data.costs import COST, CostOf, read_cost, read_person_cost
from elfair.data.digests import Keys
from elfair.data.features import no_features, read_features, same_values
from elfair.data.known import KnownColumns
from elfair.data.lottery import Lottery, is_lottery, read_lottery
from elfair.data.preparation import Preparation
from elfair.data.revealed import UNDECLARED, Revealed, read_label, read_revealed
from elfair.data.setting import read_encoding
from elfair.data.subsample import Subsample
from elfair.data.times import read_time
from elfair.data.units import Average, read_row_ids, read_sample_weight, unit_numbers
from elfair.data.unseen import Unseen, read_unseen
from elfair.errors import DataError
from elfair.types import Array, Floats, Index


class LoggedData(KnownColumns):
    """Logged decisions: the people, the decisions, their probabilities and their later impact.

    Parameters
    ----------
    X : array or data frame of shape (n, d), or None
        Features: what the new model will see. Numbers, true/false, text, categories and dates, also
        with missing values: a preparation that is part of the model makes numbers of them. None
        if there are none, for a model from elsewhere that no condition on features asks about.
    y : array of shape (n,), optional
        Labels: the best decisions. Missing only as ``label_seen_for`` says.
    label_seen_for : sequence, optional
        The decisions that reveal the label, as only a loan shows who repays it. Labels are then
        missing for all other decisions, and weighting estimates what is said about them.
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
        * ``"estimated"`` learns it from candidate rows, if nobody logged it.
    behavior : array of shape (n, classes) or model, optional
        The behaviour model's probability of every decision. A fitted model with ``predict_proba``
        is kept, so a policy can respect its support at prediction time. A classifier that is not
        fitted estimates propensities that nobody logged.
    trim : float, optional
        If propensities are estimated: whoever could get some decision only with a smaller estimated
        probability has no part, and no statement is about them.
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
    time : array of shape (n,), optional
        When each decision was taken, as dates or numbers, for ``split="time"``. No model sees it.
    classes : sequence, optional
        All possible decisions, if ``y`` and ``decision`` together do not show them all.
    positive : object, optional
        The class that PR, TPR and so on count. If classes are 0 and 1, or -1 and 1, it is 1 unless
        given, and of true and false it is true. Of any others you must name it, but only if a
        constraint or an objective uses it.
    cost : array of shape (classes, classes), mapping or data frame, optional
        What ``E[cost]`` averages: a row for each label and a column for each decision, both in the
        order of the sorted classes; or ``{label: {decision: cost}}``.
    person_cost : array, series, data frame or mapping, optional
        What ``E[cost]`` averages instead, if costs differ from person to person: a column for each
        decision, as ``{decision: column}``; or one column, the cost of a wrong decision.
    encoding : mapping, optional
        How a table becomes these features, as JSON can say it. It is part of a model, of its digest
        and of its file, where it is ``encoding_``.

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

    A trial that gave treatment 1 to two in three:

    >>> LoggedData([[0.0], [1.0]], decision=[0, 1], propensity=0.6667).propensity
    array([0.3333, 0.6667])
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
    #: How rows were drawn, if more of small groups were.
    subsample: Subsample | None = None
    #: Whether these are all rows that are asked about; of a batch of them, a group may have none.
    whole: bool = True
    #: In which order rows of a batch are tested: their keys; None if they stand in that order.
    order: Keys | None = None

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        label_seen_for: Any = None,
        sensitive_features: Any = None,
        decision: Any = None,
        propensity: Any = None,
        behavior: Any = None,
        trim: float | None = None,
        impact: Any = None,
        missing_impact: Any = None,
        early: Any = None,
        follow_up: Any = None,
        row_id: Any = None,
        unit: Any = None,
        sample_weight: Any = None,
        time: Any = None,
        classes: Sequence[Any] | Array | None = None,
        positive: Any = None,
        cost: Any = None,
        person_cost: Any = None,
        encoding: Mapping[str, Any] | None = None,
    ) -> None:
        check_order(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            decision=decision,
            propensity=None if is_estimated(propensity) else propensity,
            behavior=behavior,
            impact=impact,
            early=early,
            follow_up=follow_up,
            row_id=row_id,
            unit=unit,
            sample_weight=sample_weight,
            time=time,
            person_cost=person_cost,
        )
        self.encoding = read_encoding(encoding)
        given = read_features(X) if X is not None else no_features(y, decision, impact)
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
        noted = self._read_columns(
            decision=decision, y=y, label_seen_for=label_seen_for, row_id=row_id, unit=unit,
            sample_weight=sample_weight, time=time, sensitive_features=sensitive_features,
            impact=impact, propensity=propensity,
        )  # fmt: skip
        noted.raise_all()  # what follows needs all of these
        #: The number of each row's unit; None if no two rows are of one unit.
        self.unit_index = None if self.unit is None else unit_numbers(self.unit)
        #: What is declared about impacts that were not seen for everyone; None if all were seen.
        self.unseen: Unseen | None = read_unseen(
            self, self.impacts, missing_impact, early, follow_up
        )
        self.classes = self._classes(classes)
        #: The class that counts as positive; None if nobody said, and no convention tells. Then
        #: what uses it asks.
        self.positive: Any = read_positive(positive, self.classes)
        self.cost = None if cost is None else self._cost(cost)
        self.label_index = self._class_index(self.label, "y")  # -1: not revealed
        self.decision_index = self._class_index(self.decision, "decision")
        #: What each decision costs for each person, of shape (n, classes), and what said so.
        self.person_cost: Floats | None = None
        self.cost_of: CostOf | None = None
        if person_cost is not None:
            self.person_cost, self.cost_of = read_person_cost(person_cost, self)
        self.behavior_model: FittedClassifier | None = None
        self.behavior: Floats | None = None
        self.propensity: Floats | None = None
        #: The declared chances, if propensities were not given row by row.
        self.lottery: Lottery | None = None
        #: A scorer's log-odds for the search, of shape (n, classes - 1). A scorer knows the rows
        #: that it was fitted to too well: for these, they come from scorers that were fitted to
        #: other rows, and every part of a search must see the same ones.
        self.scores: Floats | None = None
        #: How to estimate propensities that nobody logged; None if they are known. A split then
        #: fills in behavior, propensity, and what it learnt; and in `doubts`, of shape (n, groups),
        #: what the propensity would be without each group of candidate rows.
        self.unlogged = read_unlogged(propensity, behavior, trim, self.classes.size)
        self.doubts: Floats | None = None
        self.learnt: Any = None
        #: Which decisions reveal the label; None if it is known for everyone.
        self.revealed: Revealed | None = None
        if self.unlogged is not None:
            require_estimable(self, label_seen_for)
            return
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
        if label_seen_for is not None:
            self.revealed = read_revealed(self, label_seen_for)

    def __repr__(self) -> str:
        decided = f", classes={self.classes.tolist()}" if self.classes.size else ""
        return (
            f"{type(self).__name__}(n={self.n}{decided}, features={len(self.feature_names)}, "
            f"groups={list(self.sensitive)}, impacts={list(self.impacts)})"
        )

    # -- the same rows otherwise, and parts of them -----------------------------------------------

    def prepared(self, preparation: Preparation) -> Self:
        """The same rows as a preparation shows them to a model."""
        raw = {name: self.feature(name) for name in self.feature_names}
        return self.changed(raw=raw, matrix=preparation.of(raw), preparation=preparation)

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

    def take(self, rows: Index) -> LoggedData:
        """The given rows, in the given order."""
        return combined([self], lambda columns: columns[0].take(rows, axis=0))

    @staticmethod
    def joined(parts: Sequence[LoggedData]) -> LoggedData:
        """The rows of several parts of one table, in order."""
        return parts[0] if len(parts) == 1 else combined(parts, np.concatenate)

    def changed(self, **attributes: Any) -> Self:
        """The same rows with other attributes, such as `thresholds` or `scores`."""
        same = copy.copy(self)
        vars(same).update(attributes)
        return same

    # -- validation -----------------------------------------------------------------------------

    @classmethod
    def mistakes_of(cls, n: int, **columns: Any) -> list[DataError]:
        """What is wrong with single columns of a table that has other mistakes as well.

        Parameters
        ----------
        n : int
            How many rows it has.
        **columns
            Some of the columns, as the class takes them.
        """
        table = cls.__new__(cls)
        table.n, table.feature_names = n, []
        return table._read_columns(**columns).found

    def _read_columns(self, **given: Any) -> Mistakes:
        """Read each column by itself; what is wrong with some is noted."""
        noted, n = Mistakes(), self.n

        def read(name: str, reader: Callable[[Any], Any]) -> Any:
            return noted(given.get(name), lambda: reader(given[name]))

        self.decision: Array | None = read(
            "decision", lambda values: self._decisions(values, "decision")
        )
        self.label: Array | None = read(
            "y", lambda values: self._label(values, given.get("label_seen_for"))
        )
        self.row_id: Array | None = read("row_id", lambda values: read_row_ids(values, n))
        self.unit: Array | None = read("unit", lambda values: complete_column(values, n, "unit"))
        self.sample_weight: Floats | None = read(
            "sample_weight", lambda values: read_sample_weight(values, n)
        )
        self.time: Array | None = read("time", lambda values: read_time(values, n))
        self.sensitive: Columns = read("sensitive_features", self._sensitive) or {}
        self.impacts: dict[str, Floats] = read("impact", self._impacts) or {}
        known = given.get("propensity")
        if not (is_lottery(known) or self.decision_kind == "numbers" or is_estimated(known)):
            read("propensity", lambda values: read_propensity(values, n))
        return noted

    def _decisions(self, values: Any, what: str) -> Array:
        """Logged decisions, or the best ones."""
        return complete_column(values, self.n, what)

    def _label(self, values: Any, label_seen_for: Any) -> Array:
        if label_seen_for is None:
            label = in_terms("y", study="label")
            return complete_column(values, self.n, label, hint=UNDECLARED)
        return read_label(values, self.n, self.decision)

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
            check_size(impacts[name], f"impact '{name}'")
            check_no_codes(impacts[name], f"impact '{name}'")
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

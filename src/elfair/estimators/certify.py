"""`certify`: the fairness test alone, for a model from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from elfair.certificate import Certificate
from elfair.certificate.codes import AssumptionCode
from elfair.data import LoggedData
from elfair.data.batches import LoggedBatches
from elfair.data.behavior import distributions, probability_columns
from elfair.data.ledger import Ledger, entered_in
from elfair.data.repeats import check_not_repeated
from elfair.data.split import Split, in_order
from elfair.errors import DataError, InputError
from elfair.estimators.certify_batches import certify_batches
from elfair.estimators.deployed import DETERMINISTIC, plain_probabilities
from elfair.estimators.parameters import check_parameters
from elfair.fairness_test.issue import warn_reader
from elfair.fairness_test.ladder import Ladder
from elfair.fairness_test.test import FairnessTest
from elfair.policies.models import Model
from elfair.search.estimator import estimators_for, tightest
from elfair.search.threads import one_thread
from elfair.statistics import Baselines, Estimation, impact_of
from elfair.statistics.claims import Claim, Constraint, read_constraints
from elfair.statistics.impact_estimators import ROUNDING, declared_estimation
from elfair.statistics.plan import Plan
from elfair.statistics.require_overlap import require_overlap
from elfair.statistics.require_seen import require_seen
from elfair.statistics.settling import settle
from elfair.types import Array, Booleans, Floats, Index

NO_PARAMETERS: Floats = np.empty(0)


def certify(
    probabilities: Any,
    data: LoggedData | LoggedBatches,
    constraints: Constraint | Sequence[Constraint],
    *,
    delta: float | Sequence[float] = 0.1,
    bound: str = "auto",
    estimator: str = "paired",
    impact_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    propensity_floor: float | None = None,
    Lambda: float = 1.0,
    shift: float = 1.0,
    outcome_model: Any = None,
    average: str = "unit",
    classes: Sequence[Any] | None = None,
    nuisance_fraction: float = 0.2,
    looks: int = 1,
    accept_violated: Sequence[AssumptionCode] = (),
    random_state: int = 0,
    ledger: Ledger | str | PathLike[str] | None = None,
) -> Certificate:
    """Run only the fairness test, for a model from anywhere, on rows it was not trained on.

    Parameters
    ----------
    probabilities : array of shape (n, classes) or (n,), or Cutoff
        What `cutoff` makes of scores, if a cut-off decides. Otherwise the model's probability of
        each decision for each row of ``data``, from which decisions are drawn. A single column is
        that of the larger of two classes (of the last in ``classes``). The columns of a data frame
        that are called like the classes are taken by name. For rows that are read in batches, a
        fitted classifier.
    data : LoggedData or LoggedBatches
        Logged decisions that had no part in the making of the model.
    constraints : str, Statement, Recipe or a sequence of them
        What is to be certified.
    delta : float or sequence of float, default 0.1
        One for all, or one for each constraint.
    bound, estimator, impact_range, propensity_floor, Lambda, shift, outcome_model, average
        As for `ELFClassifier`.
    classes : sequence, optional
        The order of the columns of ``probabilities``, if it is not the sorted one.
    nuisance_fraction : float, default 0.2
        The share of rows that is set aside, and not tested, if constants, the points of a quantile
        or an outcome model must be learnt.
    looks : int, default 1
        How many looks at these rows there will be. You declare it before the first: one for each
        model that is tested on them. Each has its share of delta.
    accept_violated : sequence of str, default ()
        As for `ELFClassifier`.
    random_state : int, default 0
        Seed of the order of rows and of the choice of those set aside.
    ledger : Ledger, str or path-like, optional
        Where this look at the rows is counted; see `ELFClassifier.fit`.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> n = 2000
    >>> decision = rng.integers(0, 2, n)
    >>> data = LoggedData(
    ...     rng.normal(size=(n, 1)), decision=decision, propensity=np.full(n, 0.5),
    ...     impact=decision + rng.normal(size=n),
    ... )
    >>> always = np.tile([0.1, 0.9], (n, 1))  # decides 1 nine times in ten
    >>> certify(always, data, "E[impact] >= E_logged[impact]").passed
    True
    """
    parameters = locals()
    check_parameters("certify", parameters)
    if isinstance(data, LoggedBatches):
        with entered_in(ledger):
            certificate = certify_batches(probabilities, data, parameters)
        warn_reader(certificate)
        return certificate
    model = GivenModel.read(probabilities, data, classes)
    data = data.changed(average=average)
    claims = read_constraints(constraints, delta, data, looks=looks)
    if not claims:
        raise InputError(
            "there is nothing to certify: no constraint was given.",
            hint="pass constraint text, such as \"E[impact | race == 'A'] >= 0\".",
        )
    check_not_repeated(data)
    require_seen(claims, data, model.possible)
    names = estimators_for(estimator, data)
    estimation = declared_estimation(data, {**parameters, "estimator": names[0]})
    means = [mean for claim in claims for mean in claim.means]
    weighted = any(impact_of(mean, data) is not None for mean in means)
    learns = weighted and estimation.impact_estimator.learns != "nothing"
    learns |= data.unlogged is not None
    learns |= any(claim.statistics for claim in claims)
    split = Split.of(data, "none", share=nuisance_fraction if learns else 0.0, seed=random_state)
    test = fairness_test_of(model, split, claims, bound, estimation, names)
    test = replace(test, looks=looks, accept_violated=tuple(accept_violated))
    with entered_in(ledger):
        certificate = test.run()
    warn_reader(certificate)
    return certificate


@one_thread()
def fairness_test_of(
    model: GivenModel,
    split: Split,
    claims: tuple[Claim, ...],
    bound: str,
    estimation: Estimation,
    names: Sequence[str] = (),
) -> FairnessTest:
    """The fairness test of a model from elsewhere.

    Parameters
    ----------
    model : GivenModel
        Its probabilities.
    split : Split
        The rows, some of them set aside if something must be learnt.
    claims, bound, estimation
        What is tested, how it is bounded, and how impacts are estimated.
    names : sequence of str
        The estimators of impact to choose among, if there are several.
    """
    data, aside = split.everyone, split.candidate
    require_overlap(claims, aside)
    plan = Plan.make(claims, bound, Baselines(estimation, aside), data, model.possible)
    ladder = Ladder(model, [NO_PARAMETERS], aside)
    if len(names) > 1 and aside.n:
        plan = tightest(
            plan, names, aside, split.n_tested, lambda rows: [ladder.free(NO_PARAMETERS, rows)]
        )
    # Say what cannot be tested before an opening is counted.
    settle(plan, aside, ladder.free(NO_PARAMETERS, aside), split.n_tested).compile(data)
    return FairnessTest(split, (plan,), (ladder,))


@dataclass(frozen=True)
class GivenModel:
    """A model from elsewhere, known only by its probabilities on the rows of one table.

    Parameters
    ----------
    numbers : ndarray of shape (classes - 1, n)
        Its probabilities of all classes but the first.
    classes : ndarray
        The classes.
    order : ndarray of int
        The rows in the order of its digest; see `in_order`.
    rule : str
        The rule of a cut-off; empty if there is none.
    """

    digest_tag: ClassVar[str] = "given probabilities"

    numbers: Floats
    classes: Array
    order: Index
    rule: str = ""

    @property
    def deployed(self) -> str:
        """How it decides, if not by drawing from its probabilities; else nothing."""
        certain = bool(np.isin(self.numbers, (0.0, 1.0)).all())
        return (self.rule or DETERMINISTIC) if certain else ""

    @classmethod
    def read(
        cls, probabilities: Any, data: LoggedData, classes: Sequence[Any] | None = None
    ) -> GivenModel:
        """Check a model's probabilities; see `certify`."""
        if not isinstance(data, LoggedData):
            raise InputError(
                f"data must be a LoggedData. Got {type(data).__name__} instead.",
                hint="LoggedData(X, y, decision=..., propensity=..., impact=...) makes one.",
            )
        if data.classes.size < 2:
            raise DataError(
                "a model decides between two or more classes. Got "
                f"{data.classes.size} in the data.",
                hint="pass decision= to LoggedData, or classes= if some class never occurs.",
            )
        probabilities, rule = plain_probabilities(probabilities)
        by_name = data.classes if classes is None else data.classes[:0]
        table = probability_columns(probabilities, "probabilities", by_name)
        if table.shape[1] == 1 and data.classes.size == 2:
            table = np.column_stack([1 - table, table])
        names = [str(name) for name in data.classes]
        if table.shape != (data.n, len(names)):
            raise DataError(
                f"probabilities must be of shape ({data.n}, {len(names)}). Got {table.shape}.",
                hint="pass a line for each row of data and a column for each class: "
                f"{', '.join(names)}.",
            )
        distributions(table, "probabilities")
        if classes is not None:
            table = table[:, _order(classes, names)]
        behavior = data.behavior
        if behavior is not None and ((table > 0) & (behavior <= 0)).any():
            rows = ((table > 0) & (behavior <= 0)).any(axis=1).sum()
            raise DataError(
                f"the model can take a decision that the behaviour model could not, in {rows:,} of "
                f"{data.n:,} rows: its impact there cannot be identified.",
                hint="give those decisions probability 0.",
            )
        numbers = np.ascontiguousarray(table[:, 1:].T)
        return cls(numbers, data.classes, in_order(data).position, rule)

    def digest_content(self) -> Any:
        """Its probabilities, whatever the order of rows that have identifiers; the rule only says
        them in words.
        """
        return self.classes.tolist(), self.numbers[:, self.order]

    @property
    def possible(self) -> Booleans:
        """The decisions that it takes anywhere."""
        # Rounding may leave something of a decision that is never taken.
        first = (self.numbers.sum(axis=0) < 1 - ROUNDING).any()
        return np.append(first, (self.numbers > 0).any(axis=1))

    def logged(self, rows: LoggedData) -> Index:
        """Which rows of the table they are."""
        return rows.position

    def free(self, theta: Floats, position: Index) -> Floats:
        """Its probabilities on these rows; it has no parameters."""
        return self.numbers[:, position]

    def digest(self) -> str:
        """The digest by which a certificate names it."""
        return Model(self, NO_PARAMETERS).digest()


def _order(classes: Sequence[Any], names: Sequence[str]) -> list[int]:
    """The columns of classes that are given in another order."""
    named = [str(name) for name in classes]
    if sorted(named) != sorted(names):
        raise DataError(
            f"classes={list(classes)!r} does not name the classes of the data: {', '.join(names)}.",
            hint="name each class once, in the order of the columns.",
        )
    return [named.index(name) for name in names]

"""The parts of a certificate: what was asked for, and the result of each statement.

They hold all that a recomputation needs, and the moments from which each bound can be computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

from elfair.bounds import Kind
from elfair.certificate.behavior import BehaviorRecord
from elfair.certificate.codes import AssumptionCode, WarningRecord
from elfair.certificate.people import (
    LeftOut,
    RevealedRecord,
    UnitsRecord,
    UnseenRecord,
)

#: How features became numbers, if they came as numbers.
NOT_PREPARED = "features came as numbers; what was fitted to any rows before is not covered"
#: Stands where nobody said who chose something, or why.
NOT_STATED = "not stated"


@dataclass(frozen=True)
class ClaimRecord:
    """A one-sided statement, as fixed before held-out rows were opened.

    Parameters
    ----------
    constraint : str
        The constraint as the user wrote it.
    statement : str
        The one-sided statement that is part of it.
    delta : float
        The probability with which its test may err; with several looks, the share of each.
    chosen_by, why : str
        Who chose tolerance and delta, and why; "not stated" unless someone said so.
    """

    constraint: str
    statement: str
    delta: float
    chosen_by: str
    why: str


@dataclass(frozen=True)
class RangeRecord:
    """The declared range of an impact.

    Parameters
    ----------
    impact : str
        The impact.
    low, high : float
        The smallest and the largest value that it can have.
    """

    impact: str
    low: float
    high: float


@dataclass(frozen=True)
class ChanceRecord:
    """The declared probability of a decision, where a lottery took the logged ones.

    Parameters
    ----------
    condition : str
        Whose chance it was; "everyone" if there are no strata.
    decision : str
        The decision.
    probability : float
        Its probability.
    """

    condition: str
    decision: str
    probability: float


@dataclass(frozen=True)
class TermsRecord:
    """What was asked for, and how it was to be tested.

    Parameters
    ----------
    claims : tuple of ClaimRecord
        One for each one-sided statement.
    impact_ranges : tuple of RangeRecord
        The declared ranges.
    propensity_floor : float or None
        The declared smallest propensity.
    lottery : tuple of ChanceRecord
        The declared probability of each decision; empty if propensities are columns.
    outcome_model : str
        The outcome model of the doubly robust form; empty for other estimators.
    preparation : tuple of str
        How features became numbers, inside the model, and what candidate rows taught about each
        column (with cross-fitting, those of the first fold); empty for a model from elsewhere.
    candidate_share : float
        The share of candidate rows (of all rows, or of each stratum).
    folds : int
        The number of folds; 1 without cross-fitting.
    thresholds : tuple of float
        The values t of ``P[decision >= t]`` in constraints, where decisions are numbers.
    looks : int
        How many looks at these rows were declared before the first.
    accept_violated : tuple of str
        The assumptions that may be violated: the model was wanted all the same.
    positive : str or None
        The decision that PR, TPR and so on count; None if no statement and no objective uses it.
    units : UnitsRecord or None
        Units and sample weights; None if each row is about somebody else and stands for nobody
        more.
    unseen : tuple of UnseenRecord
        The impacts that were not seen for everyone.
    Lambda : float
        Up to which odds ratio confounding, or wrong propensities, may distort the logged
        probabilities; 1 if they are taken as they are.
    shift : float
        Up to which likelihood ratio the people to come may differ from those in the data; 1 if they
        are taken to be like them.
    behavior : BehaviorRecord or None
        How propensities were estimated; None if they are known.
    revealed : RevealedRecord or None
        Labels that were seen only for some decisions; None if they were seen for everyone.
    deployed : str
        How a model from elsewhere decides, if it draws nothing: the rule of its cut-off; empty if
        decisions are drawn from probabilities.
    """

    claims: tuple[ClaimRecord, ...]
    impact_ranges: tuple[RangeRecord, ...]
    propensity_floor: float | None
    lottery: tuple[ChanceRecord, ...]
    outcome_model: str
    preparation: tuple[str, ...]
    candidate_share: float
    folds: int
    thresholds: tuple[float, ...]
    looks: int
    accept_violated: tuple[AssumptionCode, ...]
    positive: str | None
    units: UnitsRecord | None
    unseen: tuple[UnseenRecord, ...]
    Lambda: float
    shift: float
    behavior: BehaviorRecord | None
    revealed: RevealedRecord | None
    deployed: str


@dataclass(frozen=True)
class WealthRecord:
    """What betting for growth has won against one statement about one model.

    Parameters
    ----------
    place : int
        The place of the model on the ladder, from 1.
    statement : str
        The one-sided statement.
    before, after : float
        The e-value before this test (1 before the first) and after it. The statement passes if it
        reaches 1 / delta on the way; betting stops there.
    """

    place: int
    statement: str
    before: float
    after: float


@dataclass(frozen=True)
class StageRecord:
    """That a test continues an earlier one, with the same models, on rows that came since.

    Parameters
    ----------
    number : int
        Which stage it is; the first test is stage 1.
    earlier : str
        SHA-256 of the certificate of the stage before, as its JSON.
    fresh : str
        Which rows of the table are fresh and were tested: a bit for each row, in the order of
        identifiers (or else of the table), compressed (zlib) and in base64.
    """

    number: int
    earlier: str
    fresh: str


@dataclass(frozen=True)
class Digests:
    """SHA-256 of everything that the result depends on, in hexadecimal digits.

    Parameters
    ----------
    data : str
        All columns of all rows, in their order.
    candidate, held_out : str
        The candidate rows, and the held-out rows in the order of the test.
    split : str
        The positions of the held-out rows in the table, in the order of the test.
    model : str
        The tested model.
    ladder : str
        All models on the ladder, in their order.
    """

    data: str
    candidate: str
    held_out: str
    split: str
    model: str
    ladder: str


@dataclass(frozen=True)
class Provenance:
    """Where the rows come from, and when the certificate was written; no result depends on it.

    Parameters
    ----------
    title : str
        The title of the study.
    issued : str
        The time, in UTC (ISO 8601).
    source : str
        The file or database that the rows were read from.
    source_digest : str
        SHA-256 of the file's bytes; empty if there is no file.
    rows_read : int
        The rows of the table, including those left out.
    left_out : tuple of LeftOut
        The rows that were not used, although the statements are about such people, too.
    outside : tuple of LeftOut
        The rows that do not meet the conditions of the study: no statement is about such people.
    changes : tuple of str
        What was changed as the table was read, and in how many rows.
    study : str
        The study file, without passwords; empty if there is none.
    """

    title: str = NOT_STATED
    issued: str = NOT_STATED
    source: str = NOT_STATED
    source_digest: str = ""
    rows_read: int = 0
    left_out: tuple[LeftOut, ...] = ()
    outside: tuple[LeftOut, ...] = ()
    changes: tuple[str, ...] = ()
    study: str = ""


@dataclass(frozen=True)
class Version:
    """A program that computed the result.

    Parameters
    ----------
    name, version : str
        Its name and version.
    """

    name: str
    version: str


#: What the columns of each person's costs are about: every decision, or a wrong one.
CostOf = Literal["decision", "error"]


@dataclass(frozen=True)
class RolesRecord:
    """What each column was used as.

    Parameters
    ----------
    features, sensitive, impacts : tuple of str
        The columns that the model sees, those that define groups, and those of later impacts.
    early : tuple of str
        The columns of early outcomes, for impacts that are missing.
    label, propensities, row_id, unit, sample_weight, time : bool
        Whether these columns were given.
    person_cost : {"decision", "error"} or None
        Whether columns hold the cost of each decision, or of a wrong one, for each person.
    """

    features: tuple[str, ...]
    sensitive: tuple[str, ...]
    impacts: tuple[str, ...]
    early: tuple[str, ...]
    label: bool
    propensities: bool
    row_id: bool
    unit: bool
    sample_weight: bool
    time: bool
    person_cost: CostOf | None


@dataclass(frozen=True)
class PartRecord:
    """The moments of the held-out rows of g inside one condition.

    Parameters
    ----------
    condition : str
        The condition; "everyone" if there is none.
    n : int
        The number of rows.
    mean, variance, largest : float
        Their mean, their variance (which divides by n - 1), and the largest of them and of other
        rows.
    others : int
        How many other rows that is: of candidates, or set aside.
    low, high : float
        The smallest and the largest value that a row can have; infinite if not known.
    least_variance : float
        The variance that they have by their weights, if decisions do not change impacts; 0 if it
        is not known. A t bound takes no smaller one.
    worst : float or None
        The largest residual that importance weights multiply; None if there are none.
    """

    condition: str
    n: int
    mean: float
    variance: float
    largest: float
    others: int
    low: float
    high: float
    least_variance: float
    worst: float | None


@dataclass(frozen=True)
class TailRecord:
    """A linear form of averages, bounded from above.

    Parameters
    ----------
    form : str
        Its text.
    delta : float
        The probability with which its bound may err.
    bound : str
        The name of its bound.
    estimate, upper : float
        The sum of the parts' means, and the upper bound on what it estimates.
    error : float
        The standard error of the estimate; parts that share rows vary together.
    disjoint : bool
        Whether nobody can be in two parts.
    parts : tuple of PartRecord
        Its rows by condition.
    doubt : PartRecord or None
        If propensities are estimated: as one more sample, how much the estimate would differ if the
        behaviour model had been learnt without each of some groups of candidate rows. None if
        they are known, or do not matter.
    """

    form: str
    delta: float
    bound: str
    estimate: float
    upper: float
    error: float
    disjoint: bool
    parts: tuple[PartRecord, ...]
    doubt: PartRecord | None = None

    @property
    def samples(self) -> tuple[PartRecord, ...]:
        """All that the bound was computed from."""
        return self.parts if self.doubt is None else (*self.parts, self.doubt)

    @property
    def spread(self) -> float:
        """The standard deviation of a row (of the sum, where several conditions take part)."""
        return sqrt(sum(part.variance for part in self.parts))


@dataclass(frozen=True)
class GroupRecord:
    """The held-out rows inside one condition.

    Parameters
    ----------
    condition : str
        The condition; "everyone" if there is none.
    n : int
        The number of held-out rows that meet it.
    ess, mean_weight, mean_weight_error, max_weight : float or None
        Effective sample size, mean importance weight with its standard error (computed from the
        behaviour model where all its probabilities are known), and largest weight; None if the
        statement uses no weights.
    rare_new, rare_logged : float or None
        The share of the decisions that are the rarest for what the new model makes of them: among
        its own, and among those of the behaviour model; None if that is not known.
    moved : float or None
        The share of decisions that the new model takes otherwise than the behaviour model; None if
        the statement uses no weights.
    """

    condition: str
    n: int
    ess: float | None
    mean_weight: float | None
    mean_weight_error: float | None
    max_weight: float | None
    rare_new: float | None = None
    rare_logged: float | None = None
    moved: float | None = None


@dataclass(frozen=True)
class ConstraintResult:
    """The test of one one-sided statement g <= 0; estimate, upper and spread are on g's scale.

    Parameters
    ----------
    constraint : str
        The constraint as the user wrote it.
    statement : str
        The one-sided statement that is part of it.
    delta : float
        The probability with which a violated statement may pass.
    passed : bool
        Whether ``upper <= 0``.
    estimate : float
        The estimate of g.
    upper : float
        The upper confidence bound on g.
    spread : float
        The standard deviation of a row of g (of the sum, where several conditions take part).
    kind : {"finite-sample", "asymptotic"}
        What the bound holds for: any number of rows, or the limit of many rows.
    tails : tuple of TailRecord
        The linear forms that the bound was computed from.
    n : int
        The number of held-out rows that the statement is about.
    groups : tuple of GroupRecord
        One for each condition.
    rows_needed : int or None
        About how many rows in all (including candidate rows) this statement needs to pass with
        probability 0.95 if estimate and spread stay as they are; None if no number is enough.
    break_even : float or None
        The odds ratio of unmeasured confounding, or of wrong propensities, up to which the
        statement still passes, of a fixed grid; None if it does not pass, or uses no weights.
    break_even_shift : float or None
        The likelihood ratio of a change of people up to which the statement still passes, of a
        fixed grid; None if it does not pass, or if its rows cannot allow for such a change.
    warnings : tuple of WarningRecord
        What a reader must not overlook.
    """

    constraint: str
    statement: str
    delta: float
    passed: bool
    estimate: float
    upper: float
    spread: float
    kind: Kind
    tails: tuple[TailRecord, ...]
    n: int
    groups: tuple[GroupRecord, ...]
    rows_needed: int | None
    break_even: float | None
    break_even_shift: float | None
    warnings: tuple[WarningRecord, ...]

    @property
    def ess(self) -> float | None:
        """The smallest effective sample size of a group; None if the statement uses no weights."""
        return min((g.ess for g in self.groups if g.ess is not None), default=None)

    @property
    def mean_weight(self) -> float | None:
        """The mean weight of a group that is furthest from 1."""
        means = [g.mean_weight for g in self.groups if g.mean_weight is not None]
        return max(means, key=lambda mean: abs(mean - 1), default=None)

    @property
    def max_weight(self) -> float | None:
        """The largest weight of any group."""
        return max((g.max_weight for g in self.groups if g.max_weight is not None), default=None)

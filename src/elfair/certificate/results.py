"""What was asked for, of which rows and which model: all that a recomputation needs to know.

What was seen of each statement, with the moments from which its bound can be computed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

from elfair.certificate.assumptions import WarningRecord

#: What stands where nobody said who chose something, or why.
NOT_STATED = "not stated"


@dataclass(frozen=True)
class ClaimRecord:
    """A one-sided statement, as it was fixed before held-out rows were opened.

    Parameters
    ----------
    constraint : str
        The constraint as the user wrote it.
    statement : str
        The one-sided statement that is part of it.
    delta : float
        The probability with which its test may err.
    chosen_by, why : str
        Who chose tolerance and delta, and for what reason; "not stated" unless said.
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
        What it cannot leave.
    """

    impact: str
    low: float
    high: float


@dataclass(frozen=True)
class Terms:
    """What was to be tested, and how.

    Parameters
    ----------
    claims : tuple of ClaimRecord
        One for each one-sided statement that was asked for.
    center : str
        Where the constant of the paired form goes.
    impact_ranges : tuple of RangeRecord
        The declared ranges.
    propensity_floor : float or None
        The declared smallest behaviour probability.
    outcome_model : str
        What the doubly robust form fits; empty where it fits nothing.
    candidate_share : float
        The share of rows that was not for the test (of the rows, or of each stratum).
    folds : int
        How many folds there are; 1 without cross-fitting.
    thresholds : tuple of float
        The decisions at which ``P[decision >= t]`` is asked for, where decisions are numbers.
    """

    claims: tuple[ClaimRecord, ...]
    center: str
    impact_ranges: tuple[RangeRecord, ...]
    propensity_floor: float | None
    outcome_model: str
    candidate_share: float
    folds: int
    thresholds: tuple[float, ...]


@dataclass(frozen=True)
class Digests:
    """SHA-256 of everything that the result depends on, in hexadecimal digits.

    Parameters
    ----------
    data : str
        All columns of all rows, in their order.
    candidate, fairness : str
        The rows of the search (or of constants), and the held-out rows in the order of the test.
    split : str
        Which rows of the table the held-out ones are, in the order of the test.
    model : str
        The model that all this is about.
    lineup : str
        All models that were lined up, in their order.
    """

    data: str
    candidate: str
    fairness: str
    split: str
    model: str
    lineup: str


@dataclass(frozen=True)
class GroupCount:
    """How many people of a group.

    Parameters
    ----------
    group : str
        The group.
    n : int
        How many.
    """

    group: str
    n: int


@dataclass(frozen=True)
class LeftOut:
    """Rows of the table that had no part in anything.

    Parameters
    ----------
    reason : str
        Why.
    n : int
        How many.
    groups : tuple of GroupCount
        The same by group.

    Examples
    --------
    >>> LeftOut("impact 'savings' is missing", 2, (GroupCount("race = A", 2),)).n
    2
    """

    reason: str
    n: int
    groups: tuple[GroupCount, ...]


@dataclass(frozen=True)
class Provenance:
    """Where the rows come from, and when this was written; nothing was computed from it.

    Parameters
    ----------
    title : str
        What the study is called.
    issued : str
        When, in UTC (ISO 8601).
    source : str
        The file or database that the rows were read from.
    source_digest : str
        SHA-256 of the file's bytes; empty where there is no file.
    rows_read : int
        The rows of the table, those left out included.
    left_out : tuple of LeftOut
        The rows that were not used.
    study : str
        The study file, as it was read (passwords left out); empty where there is none.
    """

    title: str = NOT_STATED
    issued: str = NOT_STATED
    source: str = NOT_STATED
    source_digest: str = ""
    rows_read: int = 0
    left_out: tuple[LeftOut, ...] = ()
    study: str = ""


@dataclass(frozen=True)
class Version:
    """A program that had a part in the result.

    Parameters
    ----------
    name, version : str
        Which, and its version.
    """

    name: str
    version: str


@dataclass(frozen=True)
class Roles:
    """Which column was what.

    Parameters
    ----------
    features, sensitive, impacts : tuple of str
        What the model sees, what names groups, what was seen later.
    label, propensities, row_id : bool
        Whether these were given.
    """

    features: tuple[str, ...]
    sensitive: tuple[str, ...]
    impacts: tuple[str, ...]
    label: bool
    propensities: bool
    row_id: bool


Kind = Literal["finite-sample", "asymptotic"]


@dataclass(frozen=True)
class PartRecord:
    """The moments of the held-out rows of g inside one condition.

    Parameters
    ----------
    condition : str
        The condition; "everyone" if there is none.
    n : int
        How many rows.
    mean, variance : float
        Of these rows; the variance divides by n - 1.
    low, high : float
        The ends of a row that are known whatever the rows are; infinite where none is.
    """

    condition: str
    n: int
    mean: float
    variance: float
    low: float
    high: float


@dataclass(frozen=True)
class TailRecord:
    """A linear form of averages, bounded from above.

    Parameters
    ----------
    form : str
        The form.
    delta : float
        The probability with which its bound may err.
    estimate, upper : float
        The sum of the parts' means, and the upper bound on what it estimates.
    error : float
        The standard error of the estimate, where parts that share rows vary together.
    unseen : float
        The variance of the estimate that rows do not show, where importance weights are known to
        vary far more than among these rows; the bound allows for it.
    disjoint : bool
        Whether nobody can be in two parts.
    parts : tuple of PartRecord
        Its rows, by condition.
    """

    form: str
    delta: float
    estimate: float
    upper: float
    error: float
    unseen: float
    disjoint: bool
    parts: tuple[PartRecord, ...]

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
        How many held-out rows meet it.
    ess, mean_weight, mean_weight_error, max_weight : float or None
        Effective sample size, mean importance weight with its standard error (that which right
        propensities would lead to, where all of them are known), and largest weight; None where no
        weight enters.
    """

    condition: str
    n: int
    ess: float | None
    mean_weight: float | None
    mean_weight_error: float | None
    max_weight: float | None


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
        The probability with which the test may let a violated statement pass.
    passed : bool
        Whether ``upper <= 0``.
    estimate : float
        The estimate of g.
    upper : float
        The upper confidence bound on g.
    spread : float
        The standard deviation of a row of g (of the sum, where several conditions take part).
    kind : {"finite-sample", "asymptotic"}
        What kind of bound it is.
    tails : tuple of TailRecord
        What the bound was computed from.
    n : int
        Held-out rows that took part.
    ess, mean_weight, max_weight : float or None
        The smallest effective sample size, the mean weight furthest from 1 and the largest weight
        among the groups.
    groups : tuple of GroupRecord
        One for each condition.
    rows_needed : int or None
        About how many rows in all (candidate rows included) would let this statement pass with
        probability 0.95 if estimate and spread stayed as they are; None where none would.
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
    ess: float | None
    mean_weight: float | None
    max_weight: float | None
    groups: tuple[GroupRecord, ...]
    rows_needed: int | None
    warnings: tuple[WarningRecord, ...]

"""What was seen of each statement, with the moments from which its bound can be computed again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    warnings : tuple of str
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
    warnings: tuple[str, ...]

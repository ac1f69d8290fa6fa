"""What a certificate says of propensities that nobody logged, and that were estimated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FormRecord:
    """A form of behaviour model that was tried.

    Parameters
    ----------
    form : str
        What kind of model it is.
    likelihood : float
        The average log-likelihood of the decisions of candidate rows, predicted from other folds.
    """

    form: str
    likelihood: float


@dataclass(frozen=True)
class CalibrationRecord:
    """How often a decision was taken in a group, and how often the estimate expects it.

    Parameters
    ----------
    condition : str
        The group; "everyone" if there is none.
    decision : str
        The decision.
    n : int
        How many rows meet the condition.
    taken, expected : float
        The share of them with this decision, and the average of its estimated probability.
    smallest, low : float
        The smallest of these probabilities, and their 5 % quantile.
    """

    condition: str
    decision: str
    n: int
    taken: float
    expected: float
    smallest: float
    low: float


@dataclass(frozen=True)
class TrimmedRecord:
    """The people of a group that no statement is about, because a decision was too unlikely.

    Parameters
    ----------
    condition : str
        The group; "everyone" if there is none.
    n, trimmed : int
        How many rows meet the condition, and how many of them were trimmed.
    candidates, candidates_trimmed : int
        The same among candidate rows.
    """

    condition: str
    n: int
    trimmed: int
    candidates: int
    candidates_trimmed: int


@dataclass(frozen=True)
class BehaviorRecord:
    """How propensities were estimated.

    Parameters
    ----------
    asked : str
        What was asked for: a classifier, or the best of a few forms.
    form : str
        The form that was used (with cross-fitting, in the first fold).
    tried : tuple of FormRecord
        The forms that it was chosen among.
    calibrated : bool
        Whether its probabilities were corrected by what other folds of candidate rows show.
    groups : int
        How many groups of candidate rows were left out in turn, for the doubt that bounds allow
        for.
    trim : float
        Statements are about people for whom no decision has a smaller estimated probability.
    trimmed : tuple of TrimmedRecord
        Who was left out by that, everyone first; empty if nobody could be.
    calibration : tuple of CalibrationRecord
        Calibration and overlap by group and decision, everyone first, of the rows that were used.
    digest : str
        SHA-256 of the estimated probabilities of all rows that were used, to six digits.
    """

    asked: str
    form: str
    tried: tuple[FormRecord, ...]
    calibrated: bool
    groups: int
    trim: float
    trimmed: tuple[TrimmedRecord, ...]
    calibration: tuple[CalibrationRecord, ...]
    digest: str

    @property
    def left(self) -> int:
        """How many rows were trimmed."""
        return self.trimmed[0].trimmed if self.trimmed else 0

    @property
    def about(self) -> str:
        """Whom statements are about, in a sentence; empty if they are about everyone."""
        if not self.trim:
            return ""
        everyone = self.trimmed[0]
        return (
            "statements are about people for whom every decision has an estimated probability of "
            f"at least {self.trim:g}: {everyone.n - everyone.trimmed:,} of {everyone.n:,} rows"
        )

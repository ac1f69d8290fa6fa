"""Loans that help people who repay and harm people who default, after Liu et al. (2018).

A repaid loan raises a credit score by 75 points and a default lowers it by 150, so a loan is good
for people who repay with a probability above 2/3. A lender who aims at accuracy lends to everyone
more likely than not to repay, and so lowers the scores of those in between. The law of scores and
repayment is a published toy law, or comes from real score tables.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from elfair.errors import DataError, did_you_mean
from elfair.populations.base import (
    GROUPS,
    Decider,
    Draw,
    Truth,
    chance_of_one,
    check_group,
    check_seed,
    check_size,
    no_worse_than_logged,
)
from elfair.populations.rules import LogisticModel
from elfair.types import Floats

LOWEST, HIGHEST = 300.0, 850.0

SHARES_FILE = "transrisk_cdf_by_race_ssa.csv"
BAD_FILE = "transrisk_performance_by_race_ssa.csv"
TOTALS_FILE = "totals.csv"


@dataclass(frozen=True, eq=False)
class CreditTable:
    """The law of credit scores and of repayment in two groups.

    Attributes
    ----------
    groups : tuple of str
        The names of the groups T = 0 and T = 1.
    group_probability : array of shape (2,)
        P(T).
    score : array of shape (k,)
        The possible scores, from 300 to 850.
    share : array of shape (2, k)
        P(score | T).
    repay : array of shape (2, k)
        P(a loan is repaid | score, T).
    """

    groups: tuple[str, str]
    group_probability: Floats
    score: Floats
    share: Floats
    repay: Floats


def credit_clusters() -> CreditTable:
    """Seven clusters of people, after Liu et al. (2018), "Delayed impact of fair machine learning".

    Repayment depends on the cluster alone. A cluster's score is the middle of its seventh of
    300..850, and the groups have the same size: the paper does not specify either.

    Examples
    --------
    >>> table = credit_clusters()
    >>> table.score.round().tolist()
    [339.0, 418.0, 496.0, 575.0, 654.0, 732.0, 811.0]
    """
    share = np.array([[0.0, 0.1, 0.1, 0.2, 0.3, 0.3, 0.0], [0.1, 0.1, 0.2, 0.3, 0.3, 0.0, 0.0]])
    repay = np.array([0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7])
    return CreditTable(
        groups=("A", "B"),
        group_probability=np.array([0.5, 0.5]),
        score=LOWEST + (HIGHEST - LOWEST) * (np.arange(7) + 0.5) / 7,
        share=share,
        repay=np.array([repay, repay]),
    )


def read_fico(
    folder: str | os.PathLike[str] | None = None, groups: tuple[str, str] = ("White", "Black")
) -> CreditTable:
    """TransUnion TransRisk scores of 2003 by race (Federal Reserve, 2007).

    The folder holds three tables, with a column for each group:
    ``transrisk_cdf_by_race_ssa.csv`` (percent of the group at or below a score),
    ``transrisk_performance_by_race_ssa.csv`` (percent of the group at a score that does not
    repay) and ``totals.csv`` (people of the group). Scores of 0..100 become 300..850.

    Parameters
    ----------
    folder : path, optional
        The default is the folder ``fico`` in the one named by the environment variable ELFAIR_DATA.
    groups : pair of str, default=("White", "Black")
        The columns of T = 0 and T = 1: their names or last words, in upper or lower case.

    Returns
    -------
    CreditTable

    Examples
    --------
    >>> read_fico("nowhere")
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: there is no file 'transrisk_cdf_by_race_ssa.csv' in the folder nowhere.
    Hint: ...
    """
    place = _folder(folder)
    for group in groups:
        if not isinstance(group, str):
            raise DataError(
                f"the name of a group must be text. Got {group!r} instead.",
                hint="name a column of the tables, such as 'Black'.",
            )
    if groups[0].lower() == groups[1].lower():
        raise DataError(
            f"the two groups must be different. Got {groups[0]!r} twice.",
            hint="one becomes T = 0 and the other T = 1.",
        )
    at_or_below = _by_score(place / SHARES_FILE, groups)
    bad = _by_score(place / BAD_FILE, groups)
    score, cumulated = at_or_below[0], at_or_below[1:]
    if not np.array_equal(score, bad[0]):
        raise DataError(
            f"{SHARES_FILE} and {BAD_FILE} in {place} have different scores.",
            hint="both tables must have a row for each score, in the same order.",
        )
    for name, column in zip(groups, cumulated, strict=True):
        if (np.diff(column) < 0).any() or not np.isclose(column[-1], 100, rtol=0, atol=1e-6):
            raise DataError(
                f"{SHARES_FILE}: the column of {name} must increase to 100, the percent of people "
                f"at or below each score. Got values that end at {column[-1]:g}, "
                f"{int((np.diff(column) < 0).sum())} of them below the one before.",
                hint="give cumulated percentages, not the share at each score.",
            )
    people = _totals(place / TOTALS_FILE, groups)
    return CreditTable(
        groups=groups,
        group_probability=people / people.sum(),
        score=LOWEST + (HIGHEST - LOWEST) * score / 100,
        share=np.diff(cumulated, axis=1, prepend=0) / 100,
        repay=1 - bad[1:] / 100,
    )


def _folder(folder: str | os.PathLike[str] | None) -> Path:
    if isinstance(folder, str | os.PathLike):
        return Path(folder)
    if folder is not None:
        raise DataError(
            f"folder must be a path. Got {folder!r} instead.",
            hint="the default is the folder 'fico' in ELFAIR_DATA.",
        )
    data = os.environ.get("ELFAIR_DATA")
    if data is None:
        raise DataError(
            "the score tables were not found: no folder was given, and the environment variable "
            "ELFAIR_DATA is not set.",
            hint="set ELFAIR_DATA to the folder that contains 'fico', or pass folder=.",
        )
    return Path(data) / "fico"


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header of a table, and its other lines."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except FileNotFoundError:
        raise DataError(
            f"there is no file '{path.name}' in the folder {path.parent}.",
            hint=f"the folder must contain {SHARES_FILE}, {BAD_FILE} and {TOTALS_FILE}.",
        ) from None
    if len(lines) < 2 or any(len(line) != len(lines[0]) for line in lines):
        raise DataError(
            f"{path.name} must be a table with a header and lines of equal length.",
            hint="separate the columns by commas.",
        )
    return [name.strip() for name in lines[0]], lines[1:]


def _column(header: list[str], group: str, path: Path) -> int:
    """The position of the column of a group."""
    names = [name.lower() for name in header[1:]]
    wanted = group.strip().lower()
    for candidates in (names, [name.split()[-1] if name else name for name in names]):
        if candidates.count(wanted) == 1:
            return 1 + candidates.index(wanted)
    raise DataError(
        f"{path.name} has no column for the group {group!r}. It has: {', '.join(header[1:])}.",
        hint=did_you_mean(group, header[1:], "use one of its columns."),
    )


def _numbers(cells: list[str], path: Path, what: str) -> Floats:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise DataError(
            f"{path.name}: the column {what} must contain numbers ({error}).",
            hint="write decimals with a point.",
        ) from None


def _by_score(path: Path, groups: tuple[str, str]) -> Floats:
    """Scores, and the percentages of each group: three rows."""
    header, lines = _rows(path)
    places = [0, *(_column(header, group, path) for group in groups)]
    table = np.array([_numbers([line[k] for line in lines], path, header[k]) for k in places])
    # A NaN fails this comparison, too.
    if not ((table >= 0) & (table <= 100)).all():
        row = int(np.flatnonzero(~((table >= 0) & (table <= 100)).all(axis=0))[0])
        raise DataError(
            f"{path.name}: scores and percentages must be in [0, 100]. Got {lines[row]}.",
            hint="scores are ranks from 0 to 100 here; give percentages, not shares of 1.",
        )
    if (np.diff(table[0]) <= 0).any():
        raise DataError(
            f"{path.name}: scores must increase from row to row.", hint="sort the table by score."
        )
    return table


def _totals(path: Path, groups: tuple[str, str]) -> Floats:
    """The size of each group, from the row that the score tables describe."""
    header, lines = _rows(path)
    row = next((line for line in lines if line[0].strip() == "SSA"), None)
    if row is None:
        raise DataError(
            f"{path.name} has no row 'SSA'. It has: {', '.join(line[0] for line in lines)}.",
            hint="the score tables describe the people of this row.",
        )
    people = _numbers([row[_column(header, group, path)] for group in groups], path, "of people")
    if not (np.isfinite(people) & (people > 0)).all():
        raise DataError(
            f"{path.name}: numbers of people must be above 0. Got {people.tolist()}.",
            hint="they give the probability of each group.",
        )
    return people


REPAID, DEFAULTED = 75.0, -150.0
MIDDLE, UNIT = 575.0, 100.0
CAUTIOUS = LogisticModel(-0.7, (1.0,))  # lends to 4 % in the lowest cluster, to 71 % in the sixth


@dataclass(frozen=True, eq=False)
class Lending:
    """A population of people who ask for loans, with known truth.

    A person has a group T and a credit score. The label Y is 1 if a loan would be repaid, the
    decision 1 is a loan, and the impact is the change of the score: 0 without a loan, 75 if it is
    repaid, -150 if not, limited to scores within 300..850. Models see the score alone, as
    ``(score - 575) / 100``. All cases can be enumerated, so the truth of any policy is exact.

    Parameters
    ----------
    table : CreditTable
        The law of scores and repayment. The default is the seven clusters of Liu et al. (2018).
    behavior : LogisticModel
        The lender who took the logged decisions. The default is cautious, logistic in the score.
    accuracy_floor : float, default=0.55
        The smallest accuracy that `constraints` allow.

    Examples
    --------
    >>> population = Lending()
    >>> likely = lambda X: (X[:, 0] > -0.5).astype(float)  # repaid with a probability above 1/2
    >>> truth = population.truth(likely)
    >>> round(truth.accuracy, 4), round(truth.impact[1], 4)
    (0.6575, -5.625)
    """

    table: CreditTable = field(default_factory=credit_clusters)
    behavior: LogisticModel = CAUTIOUS
    accuracy_floor: float = 0.55

    @classmethod
    def fico(
        cls,
        folder: str | os.PathLike[str] | None = None,
        group_0: str = "White",
        group_1: str = "Black",
    ) -> Lending:
        """The population with real scores, where repayment also depends on the group.

        Few real people repay with a probability between 1/2 and 2/3. Aiming at accuracy alone harms
        nobody here, but gives Black people about half of what loans could bring them. See
        `read_fico` for the tables.

        Parameters
        ----------
        folder : path, optional
            The default is the folder ``fico`` in the one named by the environment variable
            ELFAIR_DATA.
        group_0, group_1 : str
            The columns of the two groups.

        Returns
        -------
        Lending
        """
        return cls(read_fico(folder, (group_0, group_1)), accuracy_floor=0.75)

    @property
    def constraints(self) -> list[str]:
        """No worse than the behaviour model for each group, and a smallest accuracy."""
        return [*no_worse_than_logged(), f"accuracy >= {self.accuracy_floor}"]

    @property
    def impact_range(self) -> tuple[float, float]:
        """The smallest and the largest possible impact."""
        return DEFAULTED, REPAID

    @property
    def propensity_floor(self) -> float:
        """The smallest probability that the behaviour model gives any decision."""
        return float(self.behavior.predict_proba(self._points).min())

    def sample(self, n: int, seed: int) -> Draw:
        """Logged decisions, a function of the population, `n` and `seed` alone.

        Parameters
        ----------
        n : int
            How many people, at least 1.
        seed : int
            Seed of `numpy.random.default_rng`, at least 0.

        Returns
        -------
        Draw
        """
        check_size(n)
        check_seed(seed)
        rng, table = np.random.default_rng(seed), self.table
        group = (rng.random(n) < table.group_probability[1]).astype(np.int64)
        reached, chance = table.share.cumsum(axis=1), rng.random(n)
        reached /= reached[:, -1:]  # rounding must not leave a gap below 1
        place = np.empty(n, dtype=np.int64)
        for t in GROUPS:
            place[group == t] = np.searchsorted(reached[t], chance[group == t], side="right")
        label = (rng.random(n) < table.repay[group, place]).astype(np.int64)
        chances = self.behavior.predict_proba(self._points[place])
        decision = (rng.random(n) < chances[:, 1]).astype(np.int64)
        return Draw(
            features=self._points[place],
            label=label,
            group=group,
            decision=decision,
            propensity=np.where(decision == 1, chances[:, 1], chances[:, 0]),
            impact=decision * self._changes[label, place],
            feature_names=("score",),
        )

    def accuracy(self, policy: Decider) -> float:
        """P(decision == Y) when the policy decides.

        Parameters
        ----------
        policy : callable or object with ``predict_proba``
            A callable takes the features (m, 1) and returns the probability of decision 1, of
            shape (m,); ``predict_proba`` returns both probabilities, of shape (m, 2).

        Returns
        -------
        float
        """
        return self.truth(policy).accuracy

    def positive_rate(self, policy: Decider, group: int) -> float:
        """P(decision == 1 | T == group) when the policy decides; see `accuracy` for `policy`."""
        return float(self.table.share[check_group(group)] @ chance_of_one(policy, self._points))

    def impact(self, policy: Decider, group: int) -> float:
        """E[impact | T == group] when the policy decides; see `accuracy` for `policy`."""
        return self.truth(policy).impact[check_group(group)]

    def violations(self, policy: Decider) -> dict[int, float]:
        """E_logged[impact | T == group] - E[impact | T == group] by group; above 0: violated."""
        return dict(self.truth(policy).violation)

    def truth(self, policy: Decider) -> Truth:
        """Accuracy, impacts and violations together; see `accuracy` for `policy`."""
        table, loan = self.table, chance_of_one(policy, self._points)
        right = loan * table.repay + (1 - loan) * (1 - table.repay)
        impact = self._impacts(loan)
        lost = self._impacts(chance_of_one(self.behavior, self._points)) - impact
        return Truth(
            accuracy=float(table.group_probability @ (table.share * right).sum(axis=1)),
            impact={t: float(impact[t]) for t in GROUPS},
            violation={t: float(lost[t]) for t in GROUPS},
        )

    @property
    def _points(self) -> Floats:
        """The features of each score."""
        return (self.table.score[:, None] - MIDDLE) / UNIT

    @property
    def _changes(self) -> Floats:
        """The change of each score by a loan: a row for a default, a row for repayment."""
        after = self.table.score + np.array([[DEFAULTED], [REPAID]])
        changes: Floats = after.clip(LOWEST, HIGHEST) - self.table.score
        return changes

    def _impacts(self, loan: Floats) -> Floats:
        """E[impact | T] if loans are given with these probabilities."""
        repay, (default, repaid) = self.table.repay, self._changes
        return np.asarray(self.table.share * (repay * repaid + (1 - repay) * default) @ loan)

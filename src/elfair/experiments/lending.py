"""Loans that help who repays and harm who does not: a population after Liu et al. (2018).

A repaid loan raises a credit score by 75 points and a default lowers it by 150, so that a loan is
good for whoever repays with a probability above 2/3 alone. A lender who aims at accuracy lends
wherever it is above 1/2, and so lowers the scores of those in between.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np

from elfair.experiments.credit_scores import (
    HIGHEST,
    LOWEST,
    CreditTable,
    credit_clusters,
    read_fico,
)
from elfair.experiments.draw import Draw, FloatArray
from elfair.experiments.population import (
    GROUPS,
    Policy,
    Truth,
    chance_of_one,
    check_group,
    check_seed,
    check_size,
    no_worse_than_logged,
)
from elfair.experiments.rules import BehaviorModel

REPAID, DEFAULTED = 75.0, -150.0
MIDDLE, UNIT = 575.0, 100.0
CAUTIOUS = BehaviorModel(-0.7, (1.0,))  # lends to 4 % in the lowest cluster, to 71 % in the sixth


@dataclass(frozen=True, eq=False)
class Lending:
    """A population of people who ask for loans, with known truth.

    A person has a group T and a credit score. The label Y is 1 if a loan would be repaid, the
    decision 1 is a loan, and the impact is the change of the score: 0 without a loan, 75 if it is
    repaid, -150 if not, as far as scores stay within 300..850. Models see the score alone, as
    ``(score - 575) / 100``. All of it is enumerable, so that the truth of any policy is exact.

    Parameters
    ----------
    table : CreditTable
        The law of scores and repayment; by default the seven clusters of Liu et al. (2018).
    behavior : BehaviorModel
        The lender who took the logged decisions: by default a cautious one, logistic in the score.
    accuracy_floor : float, default=0.55
        The least accuracy that `constraints` ask for.

    Examples
    --------
    >>> population = Lending()
    >>> likely = lambda X: (X[:, 0] > -0.5).astype(float)  # repaid with a probability above 1/2
    >>> truth = population.truth(likely)
    >>> round(truth.accuracy, 4), round(truth.impact[1], 4)
    (0.6575, -5.625)
    """

    table: CreditTable = field(default_factory=credit_clusters)
    behavior: BehaviorModel = CAUTIOUS
    accuracy_floor: float = 0.55

    @classmethod
    def fico(
        cls,
        folder: str | os.PathLike[str] | None = None,
        group_0: str = "White",
        group_1: str = "Black",
    ) -> Lending:
        """The same with real scores, where repayment depends on the group as well; see `read_fico`.

        Few real people repay with a probability between 1/2 and 2/3: accuracy alone does not harm
        here, but leaves Black people about half of what loans could bring them.

        Parameters
        ----------
        folder : path, optional
            By default the folder ``fico`` in the one that the environment variable ELFAIR_DATA
            names.
        group_0, group_1 : str
            The columns of the two groups.

        Returns
        -------
        Lending
        """
        return cls(read_fico(folder, (group_0, group_1)), accuracy_floor=0.75)

    @property
    def constraints(self) -> list[str]:
        """No worse than the behaviour model for each group, and a floor of the accuracy."""
        return [*no_worse_than_logged(), f"accuracy >= {self.accuracy_floor}"]

    @property
    def impact_range(self) -> tuple[float, float]:
        """The smallest and the largest possible impact."""
        return DEFAULTED, REPAID

    @property
    def propensity_floor(self) -> float:
        """The smallest probability that the behaviour model gives to a decision."""
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

    def accuracy(self, policy: Policy) -> float:
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

    def positive_rate(self, policy: Policy, group: int) -> float:
        """P(decision == 1 | T == group) when the policy decides; see `accuracy` for `policy`."""
        return float(self.table.share[check_group(group)] @ chance_of_one(policy, self._points))

    def impact(self, policy: Policy, group: int) -> float:
        """E[impact | T == group] when the policy decides; see `accuracy` for `policy`."""
        return self.truth(policy).impact[check_group(group)]

    def violations(self, policy: Policy) -> dict[int, float]:
        """E_logged[impact | T == group] - E[impact | T == group] by group; above 0: violated."""
        return dict(self.truth(policy).violation)

    def truth(self, policy: Policy) -> Truth:
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
    def _points(self) -> FloatArray:
        """What models see of each score."""
        return (self.table.score[:, None] - MIDDLE) / UNIT

    @property
    def _changes(self) -> FloatArray:
        """What a loan does to each score: a row for a default, a row for repayment."""
        after = self.table.score + np.array([[DEFAULTED], [REPAID]])
        changes: FloatArray = after.clip(LOWEST, HIGHEST) - self.table.score
        return changes

    def _impacts(self, loan: FloatArray) -> FloatArray:
        """E[impact | T] where loans are given with these probabilities."""
        repay, (default, repaid) = self.table.repay, self._changes
        return np.asarray(self.table.share * (repay * repaid + (1 - repay) * default) @ loan)

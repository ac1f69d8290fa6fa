"""What estimated propensities may be off by, as one more sample of a bound.

Let g(beta) be the average of the tested rows if beta are the propensities. With estimated ones,
g(beta-hat) errs by the luck of the tested rows, which their spread shows, and by that of the
candidate rows that beta-hat was learnt from, which it does not. If m_k is the average with what the
candidate rows without group k teach (of K groups), the numbers (1 - K) (m_k - mean of m) have a
mean of 0, and the variance of their mean is the jackknife's variance of g(beta-hat) by the
candidate rows (Tukey 1958; Shao and Wu 1989, who leave out groups). The two errors are independent,
so these K numbers are one more sample in a sum of means: the bound on the sum allows for both, with
the degrees of freedom that each of them has.

Rows are affine in the new model's probability of the logged decision, so the m_k are, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from elfair.bounds import Sample
from elfair.types import Floats, Index


@dataclass(frozen=True)
class Doubt:
    """How the rows of one condition depend on estimated propensities.

    Parameters
    ----------
    changes : ndarray of shape (groups, m)
        What leaving out a group of candidate rows adds to a row, for each unit of the new model's
        probability of the logged decision.
    taken : ndarray of shape (m,)
        The logged decision of each row, by the number of its class.

    Examples
    --------
    >>> doubt = Doubt(np.array([[0.1, 0.1], [-0.1, -0.1]]), np.array([0, 1]))
    >>> doubt.totals(np.array([[0.5, 0.5]])).round(3)
    array([ 0.1, -0.1])
    """

    changes: Floats
    taken: Index

    def times(self, share: Floats) -> Doubt:
        """The same if rows count with these shares."""
        return replace(self, changes=self.changes * share)

    def totals(self, inside: Floats) -> Floats:
        """What each group changes in the sum of the rows under a policy."""
        return np.asarray(self.changes @ self._probability(inside))

    def slope(self, by_totals: Floats, channels: int) -> Floats:
        """The derivative by the free numbers, from that by the totals; of shape (channels, m)."""
        by_probability = by_totals @ self.changes
        slope = np.tile(np.where(self.taken == 0, -by_probability, 0.0), (channels, 1))
        other = np.flatnonzero(self.taken > 0)
        slope[self.taken[other] - 1, other] = by_probability[other]
        return slope

    def _probability(self, inside: Floats) -> Floats:
        """The new model's probability of the logged decision."""
        every = np.concatenate([1 - inside.sum(axis=0, keepdims=True), inside])
        return np.asarray(every[self.taken, np.arange(self.taken.size)])

    @staticmethod
    def joined(parts: Sequence[Doubt | None]) -> Doubt | None:
        """Those of several folds, one after the other."""
        known = [part for part in parts if part is not None]
        if not known:
            return None
        changes = np.concatenate([part.changes for part in known], axis=1)
        return Doubt(changes, np.concatenate([part.taken for part in known]))


def doubted(means: Floats) -> Sample:
    """One more sample of a bound, from what leaving out each group changes in the average."""
    count = means.size
    # Rows of the table have positions from 0 on: these are no rows.
    return Sample((1 - count) * (means - means.mean()), rows=-1 - np.arange(count), others=count)


def by_means(by_values: Floats) -> Floats:
    """Derivatives by the changed averages, from those by the values of `doubted`."""
    return np.asarray((1 - by_values.size) * (by_values - by_values.mean()))

"""Bets for growth: what was won counts towards the next test, on rows that are still to come.

Bets that aim at the end of a test stake nearly everything if it goes badly, and leave nothing to go
on with. These stake what makes wealth grow fastest by the rows so far (Kelly 1956; Waudby-Smith and
Ramdas call it aGRAPA): next to nothing if the mean of g seems to be 0.

Wealth is an *e-value*: if the statement is violated, its expectation is at most 1 at any time. So
fresh rows can multiply it, however many there are and whoever decides to go on, and it reaches
1/delta at any time of any stage with probability at most delta (Ville).
"""

from __future__ import annotations

from math import ceil, exp, inf, log

import numpy as np

from elfair.bounds.base import Sample, Samples
from elfair.bounds.betting import LOOKS, STAKE, Betting, target_of, unit_of
from elfair.bounds.finite_sample import block_sizes, join
from elfair.types import Floats

# How far the mean of m other rows is believed, with n rows of the test: m / (m + 1.5 n). It counts
# like m / 3 rows. The search has chosen a model for it, so of usual halves it is believed by half;
# later stages know more rows. Chosen on uniform, normal and skewed rows: to believe all of it wins
# .05 more often within one stage, and leaves a third of the wealth at the edge.
_DOUBT, _COUNTS = 1.5, 1 / 3


class Growth(Betting):
    """Betting for growth: a statement that does not pass can be tested further on fresh rows.

    It needs about 1.5 times the rows of "betting" to pass within one stage.

    Examples
    --------
    >>> rows = Sample(np.tile([-0.5, 0.25], 100), high=1, scale=0.4, likely=-0.125, others=300)
    >>> round(float(Growth().upper([rows], 0.1)), 4)
    -0.0671
    >>> round(Growth().wealth([rows], 0.1), 1)
    10.3
    """

    name = "growth"

    def wealth(self, samples: Samples, delta: float) -> float:
        """What 1 has become against a mean of 0: betting stops as soon as it is 1 / delta.

        Parameters
        ----------
        samples : sequence of Sample
            Disjoint ones.
        delta : float
            See `Bound.upper`.
        """
        sample = join(samples, block_sizes(samples, [each.n for each in samples]))
        if sample.high <= 0:
            return inf
        y, m = self._scaled(sample)
        bets = np.minimum(self._bets_on(sample, y, delta), STAKE / m)
        path = np.cumsum(np.log1p(bets * (y - m)))
        won = np.flatnonzero(path >= log(1 / delta))
        return exp(float(path[won[0] if won.size else -1]))

    def _scaled(self, sample: Sample) -> tuple[Floats, float]:
        """The rows Y, and their mean if g is 0, in the unit of the rows."""
        unit = unit_of(sample)
        return np.maximum(sample.high - sample.values, 0.0) / unit, sample.high / unit

    def _saved(self, level: float, delta: float) -> float:
        return 0.0

    def _bets_on(self, sample: Sample, y: Floats, delta: float) -> Floats:
        unit, target, n = unit_of(sample), target_of(sample, delta), y.shape[-1]
        m = (sample.high - target) / unit
        likely = sample.expected if sample.expected is not None else sample.likely
        believed = sample.others / (sample.others + _DOUBT * n)
        mean = 0.0 if likely is None else believed * (target - likely) / unit
        known = max(1.0, _COUNTS * sample.others)
        size = ceil(n / LOOKS)
        starts = np.arange(0, n, size)
        away = y - m
        sums = [
            start + np.cumsum(np.add.reduceat(each, starts, axis=-1), axis=-1)
            for start, each in ((known * mean, away), (known * (0.25 + mean**2), np.square(away)))
        ]
        first = np.full(y.shape[:-1], mean / (0.25 + mean**2))
        later = sums[0] / sums[1]
        best = np.concatenate([first[..., None], later[..., :-1]], axis=-1)
        return np.repeat(np.maximum(best, 0.0), size, axis=-1)[..., :n]

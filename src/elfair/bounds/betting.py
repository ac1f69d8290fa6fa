"""The betting bound of Waudby-Smith and Ramdas, which needs only the upper end of a row.

A gambler bets, row after row, that the mean of Y = high - Z is above m. If it is not, the wealth K
is a nonnegative supermartingale that starts at 1, and reaches 1/delta with probability at most
delta (Ville). The lower bound on E[Y] is the m at which the wealth stops reaching 1/delta.

Any bets that use only earlier rows are valid. These aim at a target, as Voracek and Orabona propose
(arXiv 2505.22422): the less wealth is missing and the more rows are left, the smaller the bet. The
target is the m at which the statement passes. The same bets then serve every other m, and wealth
falls as m grows, so there is exactly one m at which it stops reaching 1/delta.
"""

from __future__ import annotations

from math import ceil, inf, isfinite, log, sqrt

import numpy as np
from scipy.special import ndtri

from elfair.bounds.base import Sample, dot, mean_of
from elfair.bounds.finite_sample import BlockBound
from elfair.types import Floats

# The largest share of the wealth that one row may lose. Any number in (0, 1) is valid. Measured on
# five kinds of rows: it matters at n = 10 (uniform rows, delta = .1: lower bound .62 / .67 / .69 of
# the mean with .5 / .75 / .95), but not from n = 50 on.
STAKE = 0.95
# How often bets are chosen anew. Measured on seven kinds of rows: with 100 of them, power is within
# .006 of what bets for each single row reach.
LOOKS = 100
# Where bets that aim reach their target half of the time, in normal quantiles. Measured on seven
# kinds of rows with delta = .1, .05 and .01 and 50, 400 and 3,000 rows: 1.0 to 1.2.
_AIMED = 1.1
# How soon the stake limits the last bets, by the cube of a typical bet. Measured on normal
# rows that end 4 to 20 standard deviations above their mean, with 100 to 1,600 rows.
_LATE = 0.63
# The bound is exact to this share of the largest row.
_PRECISION = 1e-12


class Betting(BlockBound):
    """Usually the tightest finite-sample bound here; needs only the upper end of a row.

    Each bet depends on the rows before it, so the bound depends on the order of the rows: pass them
    in an order that does not depend on their values (a seeded permutation). The first bets use
    ``scale``; without it, the width ``high - low``; if low is unknown, ``abs(high)``, which is the
    mean of Y if the constraint holds with equality. All bets aim at 0 or, if ``expected`` is given,
    at where the bound is then likely to be.

    Examples
    --------
    >>> rows = Sample(np.tile([-0.5, 0.25], 100), high=1, scale=0.4)
    >>> round(float(Betting().upper([rows], 0.1)), 4)
    -0.0665
    """

    name = "betting"
    needs = ("high",)

    def _upper(self, sample: Sample, delta: float) -> Floats:
        unit = unit_of(sample)
        y = np.maximum(sample.high - sample.values, 0.0) / unit
        bets = self._bets_on(sample, y, delta)
        return np.asarray(sample.high - unit * _last_won(y, bets, log(1 / delta)))

    def _bets_on(self, sample: Sample, y: Floats, delta: float) -> Floats:
        """The bet on each row y of a sample, in the unit of its rows."""
        return _bets(y, (sample.high - target_of(sample, delta)) / unit_of(sample), delta)

    def _saved(self, level: float, delta: float) -> float:
        """Which share of the gap of steady bets is saved where no stake limits them."""
        return 1 - _AIMED * float(ndtri(1 - delta)) / sqrt(2 * level)

    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Floats]:
        level, each = log(1 / delta), 1 / sample.n
        y = sample.high - sample.values
        mean = mean_of(y)
        if mean <= 0:
            return sample.high - mean, np.full(y.size, each)
        centred = y - mean
        variance = dot(centred, centred) / (y.size - 1)
        free = sqrt(2 * level / (n * variance)) if variance > 0 else inf
        end, slope = _typical_end(y, centred, variance, free, level, n)
        gap = mean - end
        # The typical end is that of steady bets, which win too much if they win at all. Bets that
        # aim save a share of the gap, but less where the stake limits their last bets.
        limited = _LATE * (mean * free) ** 3
        saved = self._saved(level, delta) / (1 + limited)
        gradient = (1 - saved) * slope
        gradient += saved * each
        if variance > 0:
            lost = 3 * saved * gap * limited / (1 + limited)
            gradient += centred * (lost / (variance * (y.size - 1)))
            gradient -= lost * each / mean
        return sample.high - mean + (1 - saved) * gap, gradient


def unit_of(sample: Sample) -> float:
    """The unit in which a row of Y has an expected mean and standard deviation of 1/2."""
    if sample.scale is not None:
        return 2 * sample.scale
    width = sample.high - sample.low
    if isfinite(width):
        return width or 1.0
    return 2 * abs(sample.high) or 1.0


def target_of(sample: Sample, delta: float) -> float:
    """What the bound should get below."""
    if sample.expected is None:
        return 0.0
    scale = unit_of(sample) / 2
    return sample.expected + float(ndtri(1 - delta)) * scale / sqrt(sample.n)


def _bets(y: Floats, m: float, delta: float) -> Floats:
    """The bet on each row, from the rows before it: what it takes to win against m by the end."""
    n, level = y.shape[-1], log(1 / delta)
    bets, away = np.empty_like(y), y - m
    size, most = ceil(n / LOOKS), STAKE / m if m > 0 else inf
    starts = np.arange(0, n, size)
    known = 0.25 + np.cumsum(np.add.reduceat(np.square(away), starts, axis=-1), axis=-1)
    squares, wealth = np.full(y.shape[:-1], 0.25), np.zeros(y.shape[:-1])
    for k, start in enumerate(starts):
        rows = slice(start, start + size)
        # Who has won goes on to see how much further the bound can go.
        missing = np.where(wealth < level, (level - wealth) / (n - start), level / n)
        bet = np.sqrt(2 * missing * (start + 1) / squares)[..., None]
        bets[..., rows] = bet
        wealth += np.add.reduce(np.log1p(np.minimum(bet, most) * away[..., rows]), axis=-1)
        squares = known[..., k]
    return bets


def _last_won(y: Floats, bets: Floats, level: float) -> Floats:
    """The largest m against which the wealth reaches ``level``, in logarithms, from below; 0 if
    there is none. By the Illinois method: wealth falls as m grows.
    """
    below, above = np.zeros(y.shape[:-1]), y.max(axis=-1)  # no bet wins against the largest row
    enough = _PRECISION * above
    won, lost = (_peak(y, bets, m) - level for m in (below, above))
    above, before = np.where(won < 0, below, above), np.zeros_like(won)
    # Where normal rows would win, give or take as much.
    mean, gap = y.mean(axis=-1), y.std(axis=-1) * sqrt(2 * level / y.shape[-1])
    likely = [mean, mean - 2 * gap]
    while np.any((width := above - below) > enough):
        # Samples on which nothing was bet have no width, and win as much at both ends.
        share = np.divide(won, won - lost, out=np.zeros_like(won), where=won > lost)
        share = np.clip(share, 0.0, 1.0) * width
        if likely:
            share = likely.pop() - below
        m = below + np.clip(share, enough / 2, width - enough / 2)
        surplus = _peak(y, bets, m) - level
        wins = surplus >= 0
        # If an end stays where it is, it counts half, so that the next m is nearer to it.
        lost = np.where(wins, np.where(before > 0, lost / 2, lost), surplus)
        won = np.where(wins, surplus, np.where(before < 0, won / 2, won))
        below, above = np.where(wins, m, below), np.where(wins, above, m)
        before = np.where(wins, 1.0, -1.0)
    return below


def _peak(y: Floats, bets: Floats, m: Floats) -> Floats:
    """The logarithm of the largest wealth on the way, betting that the mean is above m."""
    with np.errstate(divide="ignore"):  # m = 0: no limit on the stake
        most = np.where(m > 0, STAKE / m, inf)[..., None]
    gains = np.minimum(bets, most)
    gains *= y - m[..., None]
    np.log1p(gains, out=gains)
    return np.asarray(np.cumsum(gains, axis=-1, out=gains).max(axis=-1))


def _typical_end(
    y: Floats, centred: Floats, variance: float, free: float, level: float, n: float
) -> tuple[float, Floats]:
    """The m against which n rows like y should win ``level`` in log wealth, and its gradient.

    It is the root of ``n mean(log(1 + b (y - m))) = level`` with the bet b that the whole sample
    suggests: ``free``, or what the stake allows. It may be negative, although the bound itself
    would then be vacuous: this still tells the search which way is better.
    """
    mean = mean_of(y)

    def surplus(m: float) -> tuple[float, float]:
        bet = min(free, STAKE / m) if m > 0 else free
        won = bet * (y - m)
        value = n * mean_of(np.log1p(won)) - level
        won += 1
        pulled = np.divide(y / m if bet < free else 1.0, won, out=won)  # a limited bet shrinks
        return value, -n * bet * mean_of(pulled)

    below, above = 0.0, mean
    m = max(mean / 2, mean - sqrt(2 * level * variance / n))  # where normal rows would win
    if variance > 0 and surplus(0.0)[0] < 0:
        # Concave from here on: Newton's steps never pass the root.
        below, above, m = -inf, 0.0, 0.0
    for _ in range(60):
        value, slope = surplus(m)
        below, above = (m, above) if value > 0 else (below, m)
        step = m - value / slope
        if abs(step - m) <= 1e-12 * mean:  # before the bracket: at the root a step is on its edge
            m = step
            break
        m = step if below < step < above else (below + above) / 2

    bet = min(free, STAKE / m) if m > 0 else free
    _, slope = surplus(m)
    each = 1 / (1 + bet * (y - m))
    gradient = each * (n * bet / y.size)
    if bet == free:
        lost = n * dot(y - m, each) / y.size * free / (variance * (y.size - 1))
        gradient -= lost * centred
    gradient /= -slope
    return m, gradient

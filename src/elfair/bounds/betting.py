"""The betting bound of Waudby-Smith and Ramdas, for rows with a known upper end only.

A gambler bets, row after row, that the mean of Y = high - Z is above m. While it is not, the
wealth K is a nonnegative supermartingale that starts at 1, and reaches 1/delta with probability
at most delta (Ville). The lower bound on E[Y] is where the wealth stops reaching it.
"""

from __future__ import annotations

from math import inf, isfinite, log, sqrt

import numpy as np
import numpy.typing as npt

from elfair.bounds.base import Array, Sample, dot, require_delta
from elfair.bounds.finite_sample import FiniteSampleBound, require_inside

# The largest share of the wealth that one row may lose. Any number in (0, 1) is valid. Measured on
# five kinds of rows: it matters at n = 10 (uniform rows, delta = .1: lower bound .62 / .67 / .69 of
# the mean with .5 / .75 / .95), and no longer from n = 50 on.
_STAKE = 0.95
# Measured: gap of the bound / gap of the typical end = .81 / .85 / .90 at delta = .1 / .05 / .01,
# for ln(1/delta) = 2.3 / 3.0 / 4.6.
_ON_THE_WAY = 0.54
# Halvings of [0, largest row]: the bound is exact to 1e-12 of the largest row.
_HALVINGS = 40


class Betting(FiniteSampleBound):
    """Usually the tightest finite-sample bound here; needs only the upper end of a row.

    Bets are sized by the rows seen before, so the bound depends on the order of the rows: pass
    them in an order that does not depend on their values (a seeded permutation). The first bets
    rest on ``scale``; without it, on the width ``high - low`` or, where low is not
    known, on ``abs(high)``: the mean of Y where the constraint holds with equality.

    Examples
    --------
    >>> rows = Sample(np.tile([-0.5, 0.25], 100), high=1, scale=0.4)
    >>> round(float(Betting().upper([rows], 0.1)), 4)
    -0.0707
    """

    name = "betting"
    needs = "the upper end of a row"
    needs_high = True

    def _upper(self, sample: Sample, delta: float) -> Array:
        unit = _unit(sample)
        y = np.maximum(sample.high - sample.values, 0.0) / unit
        bets = _bets(y, delta)
        below, above = np.zeros(y.shape[:-1]), y.max(axis=-1)  # no bet wins against the largest row
        for _ in range(_HALVINGS):
            middle = (below + above) / 2
            wins = _peak(y, bets, middle) >= log(1 / delta)
            below, above = np.where(wins, middle, below), np.where(wins, above, middle)
        return np.asarray(sample.high - unit * below)

    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Array]:
        level, each = log(1 / delta), 1 / sample.n
        y = sample.high - sample.values
        mean = float(y.mean())
        if mean <= 0:
            return sample.high - mean, np.full(y.size, each)
        centred = y - mean
        variance = dot(centred, centred) / (y.size - 1)
        free = sqrt(2 * level / (n * variance)) if variance > 0 else inf
        end, slope = _typical_end(y, centred, variance, free, level, n)
        gap = mean - end
        # The bound takes the best moment on the way, the typical end only the last one. That saves
        # a share of the gap; less of it where bets are limited and the wealth grows steadily.
        limit = min(1.0, _STAKE / (mean * free)) ** 2
        saved = _ON_THE_WAY / (level + _ON_THE_WAY) * limit
        gradient = (1 - saved) * slope
        gradient += saved * each
        if 0 < limit < 1:
            gradient += centred * (2 * saved * gap / (variance * (y.size - 1)))
            gradient -= 2 * saved * gap * each / mean
        return sample.high - mean + (1 - saved) * gap, gradient


def wealth_exceeds(sample: Sample, delta: float, value: float = 0.0) -> npt.NDArray[np.bool_]:
    """Whether the betting bound of a sample is at most ``value``, decided without a search.

    Parameters
    ----------
    sample : Sample
        Its upper end must be known.
    delta : float
        Level of the bound.
    value : float
        What the bound is compared with.

    Returns
    -------
    array of bool
        One for each repetition.

    Examples
    --------
    >>> rows = Sample(np.tile([-0.5, 0.25], 100), high=1, scale=0.4)
    >>> bool(wealth_exceeds(rows, 0.1)), bool(wealth_exceeds(rows, 0.1, -0.1))
    (True, False)
    """
    require_delta(delta)
    Betting().check(sample)
    require_inside(sample)
    unit = _unit(sample)
    y = np.maximum(sample.high - sample.values, 0.0) / unit
    goal = np.full(y.shape[:-1], (sample.high - value) / unit)
    if sample.high <= value:
        return np.ones(goal.shape, dtype=bool)
    return _peak(y, _bets(y, delta), goal) >= log(1 / delta)


def _unit(sample: Sample) -> float:
    """The unit in which a row of Y is expected to be 1/2 with a standard deviation of 1/2."""
    if sample.scale is not None:
        return 2 * sample.scale
    width = sample.high - sample.low
    if isfinite(width):
        return width or 1.0
    return 2 * abs(sample.high) or 1.0


def _bets(y: Array, delta: float) -> Array:
    """The bet on each row, from the rows before it."""
    n = y.shape[-1]
    seen = np.arange(2, n + 2)
    mean = (0.5 + np.cumsum(y, axis=-1)) / seen
    variance = (0.25 + np.cumsum((y - mean) ** 2, axis=-1)) / seen
    bets = np.empty_like(y)
    bets[..., 0] = 0.25
    bets[..., 1:] = variance[..., :-1]
    return np.asarray(np.sqrt(2 * log(1 / delta) / n / bets))


def _peak(y: Array, bets: Array, m: Array) -> Array:
    """Logarithm of the largest wealth on the way, betting that the mean is above m."""
    with np.errstate(divide="ignore"):  # m = 0: the stake is not limited
        most = np.where(m > 0, _STAKE / m, inf)[..., None]
    gains = np.minimum(bets, most)
    gains *= y - m[..., None]
    np.log1p(gains, out=gains)
    return np.asarray(np.cumsum(gains, axis=-1, out=gains).max(axis=-1))


def _typical_end(
    y: Array, centred: Array, variance: float, free: float, level: float, n: float
) -> tuple[float, Array]:
    """The m against which n rows like y are expected to win ``level`` in log wealth; its gradient.

    That is the root of ``n mean(log(1 + b (y - m))) = level`` with the bet b that the whole sample
    suggests: ``free``, or what the stake allows. It may be negative, where the bound itself would
    be vacuous: the search then still sees which way is better.
    """
    mean = float(y.mean())

    def surplus(m: float) -> tuple[float, float]:
        bet = min(free, _STAKE / m) if m > 0 else free
        won = bet * (y - m)
        value = n * float(np.log1p(won).mean()) - level
        pull = y / m if bet < free else np.ones_like(y)  # a limited bet shrinks as m grows
        won += 1
        return value, -n * bet * float((pull / won).mean())

    below, m = 0.0, mean
    if variance > 0 and surplus(0.0)[0] < 0:
        below, m = -inf, 0.0  # concave from here on: Newton's steps never jump over the root
    above = m
    for _ in range(60):
        value, slope = surplus(m)
        below, above = (m, above) if value > 0 else (below, m)
        step = m - value / slope
        if abs(step - m) <= 1e-12 * mean:  # before the bracket: at the root a step is on its edge
            m = step
            break
        m = step if below < step < above else (below + above) / 2

    bet = min(free, _STAKE / m) if m > 0 else free
    _, slope = surplus(m)
    each = 1 / (1 + bet * (y - m))
    gradient = each * (n * bet / y.size)
    if bet == free:
        lost = n * float(((y - m) * each).mean()) * free / (variance * (y.size - 1))
        gradient -= lost * centred
    gradient /= -slope
    return m, gradient

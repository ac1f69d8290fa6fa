"""Bets on rows with a known end, that may be looked at at any time.

To show that the mean of some rows z is below g0, bet that Y = high - z has a mean above
m = high - g0. A gambler who stakes the share f multiplies the wealth by 1 + f (Y / m - 1). If the
mean of each row, given those before, is at least g0, no such factor is above 1 in expectation. So
wealth reaches 1 / alpha at *any* time with probability at most alpha (Ville), and so does a
portfolio of gamblers with fixed stakes. Wealth falls as g0 grows less, so the g0 that were refuted
are all above some number: an upper confidence sequence for the mean.

Where many rows are one piece, log(1 + f r) >= f r + (log(1 - f) + f) r^2 for r >= -1 (Fan, Grama
and Liu 2015) makes their sum and the sum of their squares enough. What it gives away, the wealth
loses: the proof stands.

What changes late would be found late: all wealth was lost while things went well. So a quarter
of it is kept for gamblers who start later, each with the share 1 / (j + 1)^2 of what the first of
them has.
"""

from __future__ import annotations

from math import log, pi

import numpy as np

from elfair.monitoring.pieces import SINGLE, Pieces
from elfair.types import Booleans, Floats

#: The stakes of the gamblers, and how the wealth is divided among them. Chosen on uniform rows and
#: normal ones whose end is 4 to 10 standard deviations away, for a change by half of one: equal
#: shares would need 1.5 times the rows.
STAKES = 0.95 * 0.5 ** np.arange(12)
SHARES = (1.0 + np.arange(12)) ** -2.0
SHARES /= SHARES.sum()
#: What the first gamblers have of all wealth.
FIRST = 0.75
#: Gamblers start anew after so many values, or after this share of those so far if that is more.
START_AFTER, START_SHARE = 100, 0.01
#: No more than so many of those who started later are kept: the poorest make room.
KEPT = 32
#: Pieces are bet on in batches: it bounds memory.
AT_ONCE = 256
#: The logarithm of no wealth at all, as JSON can say it.
NONE = -1e300


def grid_of(high: float) -> Floats:
    """The numbers g0 that are bet against: 0, fine around it, and even up to the known end.

    Examples
    --------
    >>> grid = grid_of(1.0)
    >>> bool((np.diff(grid) > 0).all()), 0.0 in grid, float(grid.max()) < 1
    (True, True, True)
    """
    fine = high * 0.5 ** np.arange(1, 8, 0.5)
    even = high * np.linspace(-2, 0.95, 60)
    return np.unique(np.concatenate([even, fine, -fine, [0.0]]))


class Wealth:
    """What bets have won against each g0 of a grid, and against 0 since later starts.

    Parameters
    ----------
    high : float
        The known upper end of a value; above 0.
    alpha : float
        The level: a false alarm has at most this probability, over all time.
    repetitions : tuple of int, default ()
        Further axes of the pieces, for simulations.
    grid : ndarray, optional
        The numbers that are bet against, 0 among them; by default those of `grid_of`.

    Examples
    --------
    >>> wealth = Wealth(1.0, 0.1)
    >>> rows = np.full(60, -0.2)
    >>> wealth.add(Pieces(np.ones(60, dtype=np.intp), rows, rows**2))
    >>> bool(wealth.reached), -0.2 < float(wealth.upper) < 0
    (True, True)
    """

    kind = "finite-sample"
    #: What is kept of it.
    kept = ("n", "starts", "next", "first", "peak", "later", "share", "best", "now")

    def __init__(
        self,
        high: float,
        alpha: float,
        repetitions: tuple[int, ...] = (),
        grid: Floats | None = None,
    ) -> None:
        self._high, self._alpha = high, alpha
        self._grid = grid_of(high) if grid is None else grid
        self._zero = int(np.flatnonzero(self._grid == 0)[0])
        self.n = 0
        #: How often gamblers have started later, and after how many values the next do.
        self.starts, self.next = 0, START_AFTER
        k = STAKES.size
        self.first = np.zeros((*repetitions, self._grid.size, k))
        self.peak = np.zeros((*repetitions, self._grid.size))
        self.later = np.zeros((*repetitions, KEPT, k))
        #: The logarithm of the share of each who started later.
        self.share = np.full((*repetitions, KEPT), NONE)
        #: The logarithm of the whole wealth against 0: the largest so far, and the present one.
        self.best = np.zeros(repetitions)
        self.now = np.zeros(repetitions)

    @property
    def reached(self) -> Booleans:
        """Whether the wealth against 0 has ever reached 1 / alpha."""
        return np.asarray(self.best >= log(1 / self._alpha))

    @property
    def lacking(self) -> Floats:
        """The logarithm of the factor that it lacks now."""
        return np.asarray(np.maximum(log(1 / self._alpha) - self.now, 0.0))

    @property
    def upper(self) -> Floats:
        """The upper end of the confidence sequence, at the share `FIRST` of alpha.

        The first gamblers have that share of the wealth: so it is at most 0 only if `reached`.
        """
        refuted = self.peak >= log(1 / (FIRST * self._alpha))
        # The refuted are an upper set; of a tie by rounding, the safe side.
        inside = np.flip(np.logical_and.accumulate(np.flip(refuted, -1), axis=-1), -1)
        lowest = np.where(inside, self._grid, self._high).min(axis=-1)
        return np.asarray(lowest)

    def add(self, pieces: Pieces) -> None:
        """Bet on some pieces, in order."""
        left = pieces
        while left.sizes.size:
            stop = int(np.searchsorted(self.n + np.cumsum(left.sizes), self.next)) + 1
            some = min(stop, left.sizes.size, AT_ONCE)
            if self.n < SINGLE:
                some = min(some, SINGLE - self.n)
            self._bet(left.part(0, some))
            while self.n >= self.next:
                self._start()
            left = left.part(some, None)

    def _start(self) -> None:
        """Gamblers start against 0; the poorest of the earlier ones give up what they have."""
        shares = -2 * log(self.starts + 1) - log(pi**2 / 6)
        place = np.argmin(self.share + _whole(self.later), axis=-1)[..., None]
        np.put_along_axis(self.share, place, shares, axis=-1)
        np.put_along_axis(self.later, place[..., None], 0.0, axis=-2)
        self.starts += 1
        self.next += max(START_AFTER, int(START_SHARE * self.n))

    def _bet(self, pieces: Pieces) -> None:
        first = self._path(pieces, self.first, self._high - self._grid)
        later = self._path(pieces, self.later, np.full(KEPT, self._high))
        peaks = _whole(first)
        self.peak = np.maximum(self.peak, peaks.max(axis=0))
        others = log(1 - FIRST) + _log_sum(self.share + _whole(later))
        path = np.logaddexp(log(FIRST) + peaks[..., self._zero], others)
        self.best = np.maximum(self.best, path.max(axis=0))
        self.first, self.later, self.now = first[-1], later[-1], path[-1]
        self.n += int(pieces.sizes.sum())

    def _path(self, pieces: Pieces, before: Floats, m: Floats) -> Floats:
        """The wealth of each gambler after each piece, in logarithms."""
        count = pieces.sizes.reshape(-1, *[1] * (pieces.total.ndim + 1))
        total, squares = pieces.total[..., None, None], pieces.squares[..., None, None]
        m = m[:, None]
        # Of r = Y / m - 1 with Y = high - z: its sum, and that of its squares.
        end = self._high / m - 1
        r = count * end - total / m
        if (pieces.sizes == 1).all():
            gains = np.log1p(STAKES * np.maximum(r, -1.0))
        else:
            square = count * end**2 - 2 * end * total / m + squares / m**2
            gains = STAKES * r + (np.log1p(-STAKES) + STAKES) * square
        return np.asarray(before + np.cumsum(gains, axis=0))


def _whole(wealth: Floats) -> Floats:
    """The wealth of all gamblers together, in logarithms."""
    return _log_sum(wealth + np.log(SHARES))


def _log_sum(values: Floats, axis: int = -1) -> Floats:
    largest = values.max(axis=axis, keepdims=True)
    total = np.exp(values - largest).sum(axis=axis, keepdims=True)
    return np.asarray(np.squeeze(largest + np.log(total), axis=axis))

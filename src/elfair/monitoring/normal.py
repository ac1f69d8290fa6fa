"""The same where no end of a row is known: asymptotic, by the law of large numbers in the limit.

For normal values with standard deviation s, exp(b T - b^2 n / 2) with T = (n g0 - sum of z) / s has
an expectation of at most 1 at any time if their mean is at least g0, for every b > 0. So has its
average over half-normal b (Robbins 1970),

    2 / sqrt(n r^2 + 1) exp(r^2 T^2 / (2 (n r^2 + 1))) Phi(r T / sqrt(n r^2 + 1)).

With an estimated s, and for values that are not normal, the level holds in the limit of a first
look after many values (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, "Time-uniform central
limit theory and asymptotic confidence sequences"). As in the guarded t bound, there is room for one
more row as large as the largest, as far as that is more than normal rows would show.
"""

from __future__ import annotations

from math import log, pi

import numpy as np
from scipy.special import log_ndtr, ndtri

from elfair.monitoring.pieces import Pieces
from elfair.monitoring.wealth import FIRST, KEPT, NONE, START_AFTER, START_SHARE
from elfair.types import Booleans, Floats

#: The spread r of b, in 1 / s: the best for a change by half a standard deviation.
SPREAD = 0.5
#: Nothing is said before so many values.
FEWEST = 40


class Normal:
    """The evidence that the mean of values is below 0, and an upper confidence sequence for it.

    Parameters
    ----------
    alpha : float
        The level, in the limit.
    repetitions : tuple of int, default ()
        Further axes of the pieces, for simulations.

    Examples
    --------
    >>> evidence = Normal(0.1)
    >>> rows = np.tile([-1.5, 0.5], 40)
    >>> evidence.add(Pieces(np.ones(80, dtype=np.intp), rows, rows**2))
    >>> bool(evidence.reached), -0.5 < float(evidence.upper) < 0
    (True, True)
    """

    kind = "asymptotic"
    #: What is kept of it.
    kept = (
        *("n", "starts", "next", "total", "squares", "worst", "end"),
        *("began", "before", "share", "best", "now"),
    )

    def __init__(self, alpha: float, repetitions: tuple[int, ...] = ()) -> None:
        self._alpha = alpha
        self.n = 0
        self.starts, self.next = 0, START_AFTER
        self.total = np.zeros(repetitions)
        self.squares = np.zeros(repetitions)
        self.worst = np.full(repetitions, NONE)
        #: The lowest upper end so far.
        self.end = np.full(repetitions, -NONE)
        #: When others started, what the sum was then, and the logarithms of their shares.
        self.began = np.zeros(KEPT)
        self.before = np.zeros((*repetitions, KEPT))
        self.share = np.full(KEPT, NONE)
        self.best = np.zeros(repetitions)
        self.now = np.zeros(repetitions)

    @property
    def reached(self) -> Booleans:
        """Whether the evidence has ever reached 1 / alpha."""
        return np.asarray(self.best >= log(1 / self._alpha))

    @property
    def lacking(self) -> Floats:
        """The logarithm of the factor that it lacks now."""
        return np.asarray(np.maximum(log(1 / self._alpha) - self.now, 0.0))

    @property
    def upper(self) -> Floats:
        """The upper end of the confidence sequence, at the share `FIRST` of alpha."""
        return np.asarray(np.where(self.end == -NONE, np.inf, self.end))

    def add(self, pieces: Pieces) -> None:
        """Add some pieces, in order."""
        left = pieces
        while left.sizes.size:
            some = int(np.searchsorted(self.n + np.cumsum(left.sizes), self.next)) + 1
            self._look(left.part(0, some))
            while self.n >= self.next:
                self._start()
            left = left.part(some, None)

    def _start(self) -> None:
        """Others start; the earliest but the first makes room."""
        place = self.starts % KEPT
        self.began[place], self.before[..., place] = self.n, self.total
        self.share[place] = -2 * log(self.starts + 1) - log(pi**2 / 6)
        self.starts += 1
        self.next += max(START_AFTER, int(START_SHARE * self.n))

    def _look(self, pieces: Pieces) -> None:
        n = self.n + np.cumsum(pieces.sizes)
        total = self.total + np.cumsum(pieces.total, axis=0)
        squares = self.squares + np.cumsum(pieces.squares, axis=0)
        typical = pieces.total / pieces.sizes.reshape(-1, *[1] * (pieces.total.ndim - 1))
        worst = np.maximum(self.worst, np.maximum.accumulate(typical, axis=0))
        self.n, self.total, self.squares = int(n[-1]), total[-1], squares[-1]
        self.worst = worst[-1]
        enough = n >= FEWEST
        if not enough.any():
            return
        n, total, squares, worst = n[enough], total[enough], squares[enough], worst[enough]
        shape = (-1, *[1] * (total.ndim - 1))
        many = n.reshape(shape).astype(np.float64)
        mean = total / many
        spread = np.sqrt(np.maximum(squares - many * mean**2, 0.0) / (many - 1))
        spread = np.where(
            spread > 0, spread, np.inf
        )  # seeing no spread does not mean there is none
        usual = mean + spread * ndtri(1 - 1 / (many + 1))
        more = np.where(np.isfinite(spread), np.maximum(worst - usual, 0.0), 0.0)
        spread = np.hypot(spread, more / np.sqrt(many))
        total = total + more
        first = _evidence(-total / spread, many)
        since = many[..., None] - self.began
        fresh = np.where(since >= FEWEST, since, 1.0)
        later = _evidence((self.before - total[..., None]) / spread[..., None], fresh)
        later = np.where(since >= FEWEST, later, 0.0) + self.share
        others = log(1 - FIRST) + np.logaddexp.reduce(later, axis=-1)
        path = np.logaddexp(log(FIRST) + first, others)
        self.best, self.now = np.maximum(self.best, path.max(axis=0)), path[-1]
        ends = (total + spread * _needed(many, log(1 / (FIRST * self._alpha)))) / many
        self.end = np.minimum(self.end, np.where(np.isfinite(ends), ends, -NONE).min(axis=0))


def _evidence(t: Floats, n: Floats) -> Floats:
    """The logarithm of the average over b; see the module."""
    wide = n * SPREAD**2 + 1
    away = SPREAD * t / np.sqrt(wide)
    value = log(2) - np.log(wide) / 2 + away**2 / 2 + log_ndtr(away)
    return np.asarray(value)


def _needed(n: Floats, level: float) -> Floats:
    """The t at which the evidence is at a level: it grows with t."""
    below, above = np.zeros_like(n), np.sqrt(n) * (10 + np.sqrt(2 * level + np.log(n + 1)))
    for _ in range(50):
        middle = (below + above) / 2
        short = _evidence(middle, n) < level
        below, above = np.where(short, middle, below), np.where(short, above, middle)
    return np.asarray(above)

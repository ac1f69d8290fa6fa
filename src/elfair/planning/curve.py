"""From trials on parts of a pilot to the probability of a solution at any number of rows.

Let the *score* of a data set be the number of standard errors by which its worst bound is below 0.
The estimate of g stays where it is while its standard error falls, so that scores grow with the
square root of the rows; the width of the bound, and the luck of the search, are taken off. Where
rows abound, the search spends what it need not keep, and the score stays at what its margin asks
for. So its mean is a sqrt(n) - b as far as that ceiling, and there is a solution where the score,
which varies by about 1, is above 0.

What makes one pilot better than another is above all the average effect in its rows: an error of a
that all parts of the pilot share, and that no number of trials makes smaller. The probability that
is shown is an average over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.optimize import least_squares
from scipy.special import ndtr

from elfair.planning.trials import Size
from elfair.search.targets import Target
from elfair.types import Floats

#: What the search and several statements take off a score, beside the width of the bound, and how
#: far that may be off; and how far off the ceiling is from what the target asks for (measured on
#: the foster-care-like population).
TAKEN, TAKEN_ERROR, CEILING_ERROR = 0.6, 0.5, 0.4
#: How sharply scores bend into their ceiling.
SHARPNESS = 2.5
#: Curves that could be the true one.
CURVES = 1_000


@dataclass(frozen=True)
class Ceiling:
    """The score that the search is content with: ``start + growth * sqrt(n)``.

    Parameters
    ----------
    start : float
        What its power or inflation asks for.
    growth : float
        What xi adds.
    """

    start: float
    growth: float


def ceiling_of(target: Target, luck: float, sizes: Sequence[Size]) -> Ceiling:
    """The ceiling that a target implies.

    Parameters
    ----------
    target : Target
        How far inside the constraints a candidate is to be.
    luck : float
        The error that the search expects of a predicted bound, in standard errors of the test.
    sizes : sequence of Size
        Trials, whose bounds and spreads are taken.

    Examples
    --------
    >>> ceiling_of(Target(power=0.5, xi=0.0), 1.0, [])
    Ceiling(start=0.0, growth=0.0)
    """
    terms = target.terms
    seen = [(size.rows, trial) for size in sizes for trial in size.trials if trial.spread > 0]
    width = float(np.median([trial.width for _, trial in seen])) if seen else 0.0
    start = terms.error * luck - terms.mean * width
    margins = [
        (terms.spread + terms.constant / trial.spread) * sqrt(trial.tested / rows)
        for rows, trial in seen
    ]
    return Ceiling(start, float(np.median(margins)) if margins else 0.0)


@dataclass(frozen=True)
class Curves:
    """Curves that could be the true one, given what a pilot showed.

    Parameters
    ----------
    best : ndarray of shape (3,)
        Growth a, intercept b and ceiling of the likeliest one.
    drawn : ndarray of shape (3, curves)
        Those of some that are as likely as they are.
    spread : float
        The standard deviation of a score.
    growth : float
        By how much the ceiling rises.
    """

    best: Floats
    drawn: Floats
    spread: float
    growth: float

    def best_chance(self, rows: Floats) -> Floats:
        """The likeliest curve's probability of a solution."""
        best: Floats = self._chance(self.best[:, None], rows)[0]
        return best

    def most(self, rows: int) -> float:
        """The probability that the likeliest curve's ceiling leaves."""
        return float(ndtr((self.best[2] + self.growth * sqrt(rows)) / self.spread))

    def chances(self, rows: Floats) -> Floats:
        """The probability of a solution, of shape (curves, sizes)."""
        return self._chance(self.drawn, rows)

    def _chance(self, parameters: Floats, rows: Floats) -> Floats:
        a, b, ceiling = parameters[:, :, None]
        return np.asarray(ndtr(_mean_score(a, b, ceiling, self.growth, rows) / self.spread))


def _mean_score(a: Floats, b: Floats, ceiling: Floats, growth: float, rows: Floats) -> Floats:
    root = np.sqrt(rows)
    low, high = a * root - b, ceiling + growth * root
    return np.asarray(-np.logaddexp(-SHARPNESS * low, -SHARPNESS * high) / SHARPNESS)


def fit_curves(
    sizes: Sequence[Size], ceiling: Ceiling, pilot_rows: int, tested: float, seed: int
) -> Curves:
    """The curves that trials on parts of a pilot leave possible.

    Parameters
    ----------
    sizes : sequence of Size
        The trials.
    ceiling : Ceiling
        What the search is content with.
    pilot_rows : int
        Rows that parts were drawn from.
    tested : float
        The share of rows that is tested.
    seed : int
        Of the curves that are drawn.
    """
    rows = np.array([size.rows for size in sizes], dtype=float)
    means = np.array([size.score for size in sizes])
    counts = np.array([size.scores.size for size in sizes])
    inside = np.array([size.scores.var(ddof=1) for size in sizes])
    # Parts share rows, so that their scores vary less than those of separate data sets would; and
    # the worst of several statements varies less than the one that is left to fail in the end.
    shared = np.minimum(tested * rows / pilot_rows, 0.5)
    spread = sqrt(max(float(np.median(inside / (1 - shared))), 1.0))
    errors = spread / np.sqrt(counts)
    widths = np.array([trial.width for trial in sizes[-1].trials])
    taken = float(np.median(widths)) + TAKEN

    # a in scores per sqrt(n), times that of the pilot: numbers of a size that a solver likes. Where
    # nearly all models pass at every size, it could be anything from some number on.
    slope = float(np.median((means + taken) * np.sqrt(pilot_rows / rows)))
    slope_error = 1 + abs(slope) / 2

    def off(parameters: Floats) -> Floats:
        a, b, top = parameters
        expected = _mean_score(a / sqrt(pilot_rows), b, top, ceiling.growth, rows)
        priors = [
            (a - slope) / slope_error,
            (b - taken) / TAKEN_ERROR,
            (top - ceiling.start) / CEILING_ERROR,
        ]
        return np.array([*((means - expected) / errors), *priors])

    found = least_squares(off, [slope, taken, ceiling.start])
    by = np.asarray(found.jac)
    covariance = np.linalg.inv(by.T @ by)
    covariance[0, 0] += tested * spread**2  # the pilot's own luck
    drawn = np.random.default_rng(seed).multivariate_normal(found.x, covariance, CURVES).T
    scale = np.array([1 / sqrt(pilot_rows), 1.0, 1.0])
    return Curves(found.x * scale, drawn * scale[:, None], spread, ceiling.growth)

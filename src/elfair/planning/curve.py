"""The chance that a model is released, at any number of rows, from scores on candidate rows.

The *score* of a statement is the number of standard errors of the test by which its bound is below
0. The statement passes if its score, plus the luck of the test, is above 0. `Forecaster` measures
mean scores at today's number of rows and at smaller ones.

Beyond today's rows, the estimate of g stays where it is while its standard error falls. So scores
grow with the square root of the rows, up to a ceiling: the search keeps no more margin than its
most demanding target asks for.

Candidate rows have luck of their own, which no number of fits shows: their average effect errs by
the spread of a row over the square root of their number. The chance is an average over this luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from elfair.types import Floats

#: What the search gives up on few rows, in standard errors of the test, beside the width of the
#: bound (measured on the foster-care population at 250 to 5,000 rows).
GIVEN_UP = 0.4
#: How many degrees of luck are averaged over.
DRAWS = 400


class Scores(NamedTuple):
    """What fits of one number of rows came to, on average; one value for each statement.

    Parameters
    ----------
    rows : int
        The number of rows, candidate and held-out together.
    fits : int
        How many models were searched for.
    score : ndarray
        By how many standard errors of the test the bound is below 0.
    width : ndarray
        By how many standard errors the bound is above its estimate.
    margin : ndarray
        The score that xi asks for.
    share : ndarray
        The variance of the estimate, as a share of what the rows alone would give it.
    """

    rows: int
    fits: int
    score: Floats
    width: Floats
    margin: Floats
    share: Floats


@dataclass(frozen=True)
class ChanceCurve:
    """The chance to pass, by the number of rows.

    Parameters
    ----------
    sizes : sequence of Scores
        What was measured, at fewer rows first and at today's rows last.
    luck : float
        The variance of candidate rows' luck, in variances of the test at today's rows.
    noise : float
        The variance of a score through the test; below 1 where a bound is stretched.
    apart : bool
        Whether search and test have different rows.
    target : tuple of float
        The ceiling of scores, apart from what xi adds: a multiple of the spread of a prediction,
        and one of the width.
    seed : int
        Of the order in which luck is drawn.
    """

    sizes: Sequence[Scores]
    luck: float
    noise: float
    apart: bool
    target: tuple[float, float]
    seed: int

    @property
    def now(self) -> Scores:
        """Today's rows."""
        return self.sizes[-1]

    def by_statement(self, rows: float) -> Floats:
        """The chance of each statement to pass at a number of rows."""
        passing = self._passing(np.array([float(rows)]), self._draws)
        return np.asarray(passing.mean(axis=0)[:, 0])

    def chance(self, rows: float) -> float:
        """The chance that all statements pass at a number of rows."""
        return float(self.chances(np.array([float(rows)])).mean())

    def chances(self, rows: Floats) -> Floats:
        """The chance that all statements pass, of shape (draws, sizes), for each degree of luck."""
        return np.asarray(self._passing(rows, self._draws).prod(axis=1))

    def without_luck(self, rows: Floats) -> Floats:
        """The chance that all statements pass if candidate rows are as lucky as most."""
        neither = np.zeros((1, self.now.score.size))
        return np.asarray(self._passing(rows, neither).prod(axis=1)[0])

    def most(self, rows: float) -> float:
        """The chance that the margin of the search leaves, however large the effect is."""
        return float(ndtr(self._ceiling(np.array([float(rows)]))).prod())

    @property
    def effects(self) -> Floats:
        """What grows with the square root of the rows, at today's rows."""
        return self.now.score + self.now.width + GIVEN_UP

    @cached_property
    def _draws(self) -> Floats:
        """Degrees of luck, of shape (draws, statements), independent between statements."""
        rng, even = np.random.default_rng(self.seed), ndtri((np.arange(DRAWS) + 0.5) / DRAWS)
        return np.column_stack([rng.permutation(even) for _ in self.now.score])

    def _passing(self, rows: Floats, draws: Floats) -> Floats:
        """The chance of each statement, of shape (draws, statements, sizes)."""
        now, ratio = self.now, rows / self.now.rows
        # A score falls with fewer rows; where trials say otherwise, it is their noise.
        falling = np.minimum.accumulate([size.score for size in self.sizes[::-1]], axis=0)[::-1]
        scores = self._between(falling.T, rows)
        effects, taken = self.effects[:, None], (now.width + GIVEN_UP)[:, None]
        scores = np.where(ratio > 1, effects * np.sqrt(ratio) - taken, scores)
        luck = np.sqrt(self.luck * now.share[:, None] * ratio)
        standard = (scores + luck * draws[:, :, None]) / np.sqrt(self.noise)
        ceiling = np.where(ratio > 1, self._ceiling(rows), np.inf)
        return np.asarray(ndtr(np.minimum(standard, ceiling)))

    def _between(self, measured: Floats, rows: Floats) -> Floats:
        """What was measured, of shape (values, sizes), between and beyond the sizes."""
        at = np.sqrt([size.rows for size in self.sizes])
        return np.array([np.interp(np.sqrt(rows), at, values) for values in measured])

    def _ceiling(self, rows: Floats) -> Floats:
        """The score that the search is content with, over its standard deviation."""
        now, (errors, widths) = self.now, self.target
        spread = np.sqrt(self.noise + self.luck * now.share * self.apart)
        asked = (errors * spread + widths * now.width)[:, None]
        asked = asked + now.margin[:, None] * np.sqrt(rows / now.rows)
        return np.asarray(np.maximum(asked, now.score[:, None]) / spread[:, None])

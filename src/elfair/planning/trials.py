"""What a pilot can show by itself: models searched for and tested on parts of it.

A part is drawn without replacement, so that no row is in both halves of it; over pilots, what
happens on parts of m rows is then what happens to data sets of m rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, sqrt

import numpy as np
from joblib import Parallel, delayed
from scipy.special import ndtri

from elfair.certificate import ConstraintResult
from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.estimators.fit import Request, fit_model
from elfair.types import Floats

#: A score further out says nothing more: the test passes always, or never.
FURTHEST = 5.0
#: So many rows of each condition should be left for the test in the smallest parts.
FEWEST_ROWS = 10
#: How many sizes are tried at first, and by how much one is larger than the one before, at most.
SIZES, STEP = 5, 2.0
#: Two sizes in a row whose score is so far above the wanted one are enough.
BEYOND = 0.5


@dataclass(frozen=True)
class Trial:
    """One model that was searched for and tested.

    Parameters
    ----------
    score : float
        By how many standard errors the worst bound is below 0: the model passed from 0 on.
    width : float
        By how many standard errors that bound is above its estimate.
    spread : float
        The standard deviation of a row of that statement.
    tested : int
        How many rows it was tested on.
    statement : str
        The statement; empty if a group was too small for a test.
    """

    score: float
    width: float
    spread: float
    tested: int
    statement: str


@dataclass(frozen=True)
class Size:
    """All trials of one size.

    Parameters
    ----------
    rows : int
        Rows of each part.
    trials : tuple of Trial
        What came of them.
    """

    rows: int
    trials: tuple[Trial, ...]

    @cached_property
    def scores(self) -> Floats:
        """The score of each trial."""
        return np.array([trial.score for trial in self.trials])

    @property
    def score(self) -> float:
        """Their average."""
        return float(self.scores.mean())

    @property
    def solutions(self) -> int:
        """How many models passed."""
        return int((self.scores >= 0).sum())


def grow(
    request: Request,
    pilot: LoggedData,
    smallest: int,
    share: float,
    fits: int,
    n_jobs: int,
) -> list[Size]:
    """Trials on larger and larger parts, until nearly all of them pass or the pilot is used up;
    then on smaller ones, until many fail.

    Parameters
    ----------
    request : Request
        What is planned; parts and their halves depend on its seed.
    pilot : LoggedData
        The rows that may be looked at.
    smallest : int
        The smallest size.
    share : float
        The share of solutions that is wanted.
    fits : int
        Trials of each size.
    n_jobs : int
        Processes.
    """
    # The first fit of all rows speaks up about what is wrong with the data or the parameters;
    # after it an error is about a part that is too small.
    _trial(request, pilot, pilot.n, request.seed, strict=True)
    wanted = float(ndtri(share))
    with Parallel(n_jobs=n_jobs) as parallel:

        def of(rows: int) -> Size:
            seeds = np.random.SeedSequence([request.seed, rows]).generate_state(fits).tolist()
            made = (delayed(_trial)(request, pilot, rows, each) for each in seeds)
            return Size(rows, tuple(parallel(made)))

        start = max(smallest, pilot.n / STEP ** (SIZES - 1))
        grown: list[Size] = []
        for rows in np.geomspace(start, pilot.n, SIZES).round().astype(int).tolist():
            grown.append(of(rows))
            if len(grown) > 1 and min(size.score for size in grown[-2:]) > wanted + BEYOND:
                break
        # What lies below the wanted share says where it is reached.
        while grown[1].score > wanted and grown[0].rows >= STEP * smallest:
            grown.insert(0, of(round(grown[0].rows / STEP)))
    return grown


def _trial(
    request: Request, pilot: LoggedData, rows: int, seed: int, *, strict: bool = False
) -> Trial:
    """Search and test on a part of the pilot."""
    part = pilot.take(np.random.default_rng(seed).permutation(pilot.n)[:rows])
    try:
        trained = fit_model(part, replace(request, seed=seed))
    except DataError:
        if strict:
            raise
        return Trial(-FURTHEST, 0.0, 0.0, 0, "")
    return min(map(_scored, trained.certificate.constraints), key=lambda trial: trial.score)


def _scored(result: ConstraintResult) -> Trial:
    error = result.spread / sqrt(result.n)
    known = result.spread, result.n, result.statement
    if not isfinite(result.upper) or error == 0:  # silent rows, or rows that are 0 whatever happens
        return Trial(FURTHEST if result.passed else -FURTHEST, 0.0, *known)
    score, width = -result.upper / error, (result.upper - result.estimate) / error
    return Trial(float(np.clip(score, -FURTHEST, FURTHEST)), width, *known)


def binding(sizes: Sequence[Size]) -> str:
    """The statement that kept most models back; or that came nearest to it."""
    trials = [trial for size in sizes for trial in size.trials if trial.statement]
    failed = [trial for trial in trials if trial.score < 0]
    counts = Counter(trial.statement for trial in failed or trials)
    return counts.most_common(1)[0][0]

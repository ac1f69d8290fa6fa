"""What is foreseen of the test, from candidate rows alone.

The best of many models looks better, on the rows it was found on, than it is. So models are found
on some folds of the candidate half and judged on the remaining one, each fold in turn. What remains
is the noise of the candidate rows themselves: where there is nothing to gain, a chance of .3 is
foreseen on average and .1 is true; where there is, models found on fewer rows do a little worse.
On the foster-care population, one statement about group 1, average over draws:

===========  =====  ========================  =============  ========
alpha        rows   on rows it was found on   foreseen here  returned
===========  =====  ========================  =============  ========
0.2           500   .61                       .39            .21
0.2          2000   .81                       .57            .65
0 (no gain)   500   .49                       .31            .08
0 (no gain)  2000   .45                       .28            .08
===========  =====  ========================  =============  ========

Of 57 draws in which a statement was called out of reach (27 of these, 30 with more asked for),
fit returned a model in 2: a test at the edge passes with probability delta, and no more is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from elfair.checking.bench import MEAN, Bench
from elfair.checking.record import Forecast, Reach
from elfair.constraints import Plan
from elfair.data import LoggedData
from elfair.evidence import is_silent
from elfair.requirements import Levels, Requirement
from elfair.search import Selection
from elfair.targets import Target

Floats = NDArray[np.float64]

#: Models are found on all but one of these folds, and judged on that one.
FOLDS = 3
#: A chance above this is called likely.
LIKELY = 0.8
#: How many standard errors the best g that there can be has to be above 0, before it is said that
#: no number of rows would do: wrong one time in twenty at worst.
ERRORS = 1.645


class Foreseen(NamedTuple):
    """What is foreseen of one statement; see `StatementCheck`."""

    alone: Forecast
    together: Forecast
    reach: Reach


def foresee(
    searches: Sequence[tuple[Selection, Plan, LoggedData, LoggedData]],
    whole: tuple[Selection, Plan, LoggedData],
    n_test: int,
) -> list[Foreseen]:
    """What is foreseen of each statement.

    Parameters
    ----------
    searches : sequence of (Selection, Plan, LoggedData, LoggedData)
        For each fold: how models are found, for what, on which rows, and the rows that judge them.
    whole : (Selection, Plan, LoggedData)
        The same for all candidate rows.
    n_test : int
        How many rows the test will have.
    """
    n = whole[2].n
    judged = [_judged(*search, n_test, n) for search in searches]
    shares = np.array([search[3].n / n for search in searches])
    found = []
    compiled = whole[1].compile(whole[2])
    for j, claim in enumerate(whole[1].claims):
        of_kinds = [_joined([fold[kind][j] for fold in judged], shares) for kind in range(3)]
        if any(map(is_silent, compiled[j].tails)):  # as the test says it
            of_kinds = [Forecast(each.estimate, np.inf, 0.0) for each in of_kinds]
        *_, together = of_kinds
        # Where several models are as good as certain to pass, the lowest bound is the best.
        alone = max(of_kinds, key=lambda forecast: (round(forecast.chance, 2), -forecast.upper))
        reach: Reach = "likely" if alone.chance >= LIKELY else "uncertain"
        if alone.chance < claim.delta:  # a model that changes nothing passes as often
            reach = "out of reach at this number of rows"
            if isfinite(alone.upper) and _never(whole, n_test, j):
                reach = "out of reach at any number of rows"
        found.append(Foreseen(alone, together, reach))
    return found


def _judged(
    selection: Selection,
    plan: Plan,
    seen: LoggedData,
    unseen: LoggedData,
    n_test: int,
    n_candidate: int,
) -> list[list[Levels]]:
    """For the lowest bounds, the largest chances, and all statements together: what rows that had
    no part in these models predict of each statement's test.
    """
    bench = Bench(selection, plan, seen, n_test)
    logged, ratios = bench.policy.logged(unseen), (n_test / unseen.n, n_candidate / unseen.n)
    judges = [Requirement(claim, Target(0.5), *ratios) for claim in plan.compile(unseen)]
    line = selection.line_up(seen, plan, n_test, 2)
    first = line.policy.free(line.thetas[0], line.policy.logged(unseen))
    lowest, likeliest, together = [], [], []
    for j, judge in enumerate(judges):
        low = bench.lowest(j, bench.starts)
        likely = bench.likeliest(j, [low, *bench.starts])
        lowest.append(judge.predict(bench.policy.free(low, logged)).levels)
        likeliest.append(judge.predict(bench.policy.free(likely, logged)).levels)
        together.append(judge.predict(first).levels)
    return [lowest, likeliest, together]


def _joined(folds: Sequence[Levels], shares: Floats) -> Forecast:
    """What the folds say together: the models of all of them, picked at random."""
    upper = float(shares @ [levels.upper for levels in folds])
    mean = float(shares @ [levels.mean for levels in folds])
    error = sqrt(float(shares @ [levels.error**2 for levels in folds]))
    if not np.isfinite(upper):
        return Forecast(mean, np.inf, 0.0)
    chance = float(ndtr(-upper / error)) if error > 0 else float(upper <= 0)
    return Forecast(mean, upper, chance)


def _never(whole: tuple[Selection, Plan, LoggedData], n_test: int, claim: int) -> bool:
    """Whether g is above 0 for the model for which it is lowest, beyond doubt.

    That model is looked for and looked at on the same rows, so that its g is, if anything, too low.
    """
    bench = Bench(*whole, n_test)
    best = bench.lowest(claim, bench.starts, MEAN)
    levels = bench.predict(claim, best).levels
    by_candidates = sqrt(n_test / (n_test + whole[2].n))  # the rest of the error is the test's
    return levels.mean > ERRORS * levels.error * by_candidates

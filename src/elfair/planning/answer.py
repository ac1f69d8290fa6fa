"""What curves say: the number of rows, how sure that is, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import NamedTuple

import numpy as np

from elfair.planning.curve import Curves
from elfair.planning.record import CurvePoint, Verdict
from elfair.planning.trials import STEP, Size
from elfair.rounding import floored, raised

#: The ends of intervals: 80 % lie between.
ENDS = (0.1, 0.9)
#: Numbers of rows that are looked at, up to the horizon: 3 % apart.
APART = 1.03
#: An interval that is wider than this is worth a note.
WIDE = 4.0


class Answer(NamedTuple):
    """The number of rows; see `RowPlan`."""

    verdict: Verdict
    rows: int | None
    low: int | None
    high: int | None


def find_rows(curves: Curves, sizes: Sequence[Size], share: float, horizon: int) -> Answer:
    """The least number of rows at which the probability of a solution is the wanted share.

    Parameters
    ----------
    curves : Curves
        What is possible.
    sizes : sequence of Size
        What was tried.
    share : float
        The wanted probability.
    horizon : int
        The largest number of rows that is looked at.
    """
    count = ceil(np.log(horizon / sizes[0].rows) / np.log(APART)) + 1
    grid = np.geomspace(sizes[0].rows, horizon, count)
    chances = curves.chances(grid)
    reached = np.vstack([chances.mean(axis=0), curves.best_chance(grid), chances]) >= share
    least = np.where(reached.any(axis=1), grid[reached.argmax(axis=1)], np.inf)
    mean, best = least[:2]
    low, high = np.quantile(least[2:], ENDS, method="nearest")
    ends = floored(low) if isfinite(low) else None, raised(high) if isfinite(high) else None
    if isfinite(mean):
        beyond = mean > sizes[-1].rows
        return Answer("extrapolated" if beyond else "measured", raised(mean), *ends)
    possible = isfinite(best) or (curves.best[0] > 0 and curves.most(horizon) >= share)
    return Answer("too uncertain" if possible else "infeasible", None, *ends)


def points(curves: Curves, sizes: Sequence[Size], end: int) -> tuple[CurvePoint, ...]:
    """The curve at the sizes that were tried, and beyond them.

    Parameters
    ----------
    curves : Curves
        What is possible.
    sizes : sequence of Size
        What was tried.
    end : int
        How far the curve goes at least.
    """
    tried = {size.rows: (len(size.trials), size.solutions) for size in sizes}
    rows = list(tried)
    while rows[-1] < end:
        rows.append(round(rows[-1] * STEP))
    chances = curves.chances(np.array(rows, dtype=float))
    lows, highs = np.quantile(chances, ENDS, axis=0)
    columns = zip(rows, chances.mean(axis=0).tolist(), lows.tolist(), highs.tolist(), strict=True)
    return tuple(
        CurvePoint(n, chance, low, high, *tried.get(n, (0, 0))) for n, chance, low, high in columns
    )


def notes_on(
    answer: Answer, curves: Curves, sizes: Sequence[Size], share: float, pilot: int
) -> list[str]:
    """What a reader of the answer must not overlook.

    Parameters
    ----------
    answer : Answer
        The answer.
    curves, sizes, share
        See `find_rows`.
    pilot : int
        The rows at hand.
    """
    tried, (verdict, rows, low, high) = sizes[-1].rows, answer
    notes = []
    if verdict == "infeasible" and curves.best[0] <= 0:
        notes.append(
            "as far as the candidate rows can tell, no model is on the right side of all "
            "constraints: more rows would show that more clearly"
        )
    elif verdict == "too uncertain":
        notes.append(
            f"the {pilot:,} rows at hand show too small an effect to be sure of it; plan again "
            "with more of them"
        )
    elif verdict == "extrapolated":
        notes.append(
            f"an extrapolation: no part of the candidate half has more than {tried:,} rows, and "
            "beyond them the effect is taken to stay as it is"
        )
    elif rows is not None and rows <= raised(sizes[0].rows):
        notes.append(f"fewer rows may do: no part of fewer than {sizes[0].rows:,} was tried")
    if curves.best[0] > 0 and curves.most(tried) < share:
        notes.append(
            f"with the margin that the search keeps, about {curves.most(tried):.2f} of all fits "
            f"pass, and hardly more with more rows: raise power (or inflation) for {share:g}"
        )
    if rows is not None and (high is None or low is None or high > WIDE * low):
        notes.append("very uncertain: take the interval for the answer, or plan with more rows")
    small = sum(not trial.statement for size in sizes for trial in size.trials)
    if small:
        fits = sum(len(size.trials) for size in sizes)
        notes.append(f"in {small} of {fits} fits a group was too small to be tested")
    return notes

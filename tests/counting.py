"""Count what is promised to be rare, in as few draws as it takes to tell.

ELFAIR_GUARANTEES=full draws each case a fixed number of times, on all processors. The reduced size
is Wald's sequential test: it draws until it can tell a rate at its limit from one `times` as large.
Seeds are fixed, so a test gives the same answer each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from math import log, sqrt
from typing import Any

FULL = os.environ.get("ELFAIR_GUARANTEES") == "full"
#: How often a rate exactly at its limit fails the test, and one at `times` its limit passes it.
BLAMED, MISSED = 1e-3, 0.05


def limit(allowed: float, draws: int) -> float:
    """The largest share of so many draws that an allowed rate explains: 4 standard errors above."""
    return allowed + 4 * sqrt(allowed * (1 - allowed) / draws)


def drawn(trial: Callable[..., Any], draws: int, *given: Any) -> list[Any]:
    """``trial(*given, seed)`` for the seeds 0, 1, ...; the full lane runs it on all processors."""
    one = partial(trial, *given)
    if not FULL:
        return [one(seed) for seed in range(draws)]
    with ProcessPoolExecutor() as pool:
        return list(pool.map(one, range(draws), chunksize=4))


def check_rare(
    trial: Callable[..., Any],
    *given: Any,
    allowed: float,
    full: int,
    bad: Callable[[Any], bool] = bool,
    times: float = 2.0,
    at_least: int = 0,
) -> list[Any]:
    """Check that at most `allowed` of all draws are bad, and return what was drawn.

    Parameters
    ----------
    trial : callable
        ``trial(*given, seed)`` draws once.
    full : int
        How often the full lane draws.
    bad : callable
        Whether what a trial returned is what is promised to be rare.
    times : float
        The reduced lane can miss a rate of `times` the allowed one, but only 5 times in 100.
    at_least : int
        Draw so often in any case, for what else is to be checked of the draws.
    """
    if FULL:
        every = drawn(trial, full, *given)
        share = sum(map(bad, every)) / full
        assert share <= limit(allowed, full), f"{share:.4f} of {full} draws are bad"
        return every
    return _until_decided(partial(trial, *given), allowed, bad, times, at_least)


def _until_decided(
    trial: Callable[[int], Any],
    allowed: float,
    bad: Callable[[Any], bool],
    times: float,
    at_least: int,
) -> list[Any]:
    every: list[Any] = []
    seeds: Iterator[int] = count()
    happened, score = 0, 0.0
    while len(every) < at_least or score > log(MISSED):
        every.append(trial(next(seeds)))
        if bad(every[-1]):
            happened += 1
            score += log(times)
        else:
            score += log((1 - times * allowed) / (1 - allowed))
        assert score < -log(BLAMED), f"{happened} of {len(every)} draws are bad"
    return every

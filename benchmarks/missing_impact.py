"""Impacts that were not seen for everyone: how often a statement at the edge passes.

    python benchmarks/missing_impact.py [draws] [rows ...]    # for docs/missing-impact.md; goes on

The new model's expected impact is exactly that of the old one, so that "no worse" holds with
equality, and a test at delta = .1 may pass .1 of the time. Whether an impact is seen depends on an
early outcome and on the decision: those who fared well, and those with decision 0, are seen more
often. In the last rows of the table the declaration is wrong.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np

from elfair import LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import PropensityError
from levels import DRAWS, SHOWN, SIZES, Kept, shares, write_by_size

DELTA = 0.1
NO_WORSE = "E[impact] >= E_logged[impact]"
NO_HIGHER = "E[impact] <= E_logged[impact]"
#: The new model takes decision 1 about everyone with this probability.
NEW = 0.85
#: Impacts have a standard deviation of about 2: none is cut off here.
RANGE = (-10.0, 10.0)
FOLLOWED = 0.5
#: What is declared, of rows in which it is right or wrong.
HOW = (
    "all seen", "at random", "follow-up drawn at random", "worst case",
    "left out", "at random, without the early outcome", "at random, but it is not",
)  # fmt: skip


def draw(n, seed, broken=0.0):
    """Rows; with ``broken``, who fared better than the early outcome says with decision 1 is seen
    more often.
    """
    rng = np.random.default_rng([seed, n])
    x = rng.normal(size=(n, 2))
    p = 1 / (1 + np.exp(-0.6 * x[:, 0]))
    decision = (rng.random(n) < p).astype(int)
    # The effect of decision 1 is 0.8 times the second feature, which is 0 on average.
    early = x[:, 0] + 0.8 * decision * x[:, 1] + rng.normal(size=n)
    impact = np.clip(early + 0.5 * x[:, 1] + rng.normal(size=n), *RANGE)
    logit = 0.6 + 0.8 * early - 0.5 * decision + broken * decision * (impact - early)
    seen = rng.random(n) < 1 / (1 + np.exp(-logit))
    followed = rng.random(n) < FOLLOWED
    return x, decision, np.where(decision == 1, p, 1 - p), early, impact, seen, followed


def table(how, n, seed):
    """The rows as somebody would declare them."""
    broken = 1.0 if how == HOW[-1] else 0.0
    x, decision, propensity, early, impact, seen, followed = draw(n, seed, broken)
    seen = followed if how.startswith("follow-up") else seen
    given = {"decision": decision, "propensity": propensity}
    if how == "all seen":
        return LoggedData(x, impact=impact, **given)
    if how == "left out":
        given = {name: column[seen] for name, column in given.items()}
        return LoggedData(x[seen], impact=impact[seen], **given)
    impact = np.where(seen, impact, np.nan)
    if how == "worst case":
        return LoggedData(x, impact=impact, missing_impact="worst case", **given)
    known = {} if how.endswith("without the early outcome") else {"early": {"early": early}}
    drawn = {"follow_up": FOLLOWED} if how.startswith("follow-up") else {}
    return LoggedData(x, impact=impact, missing_impact="at random", **known, **drawn, **given)


def passes(how, text, n, estimator, seed):
    """Whether a statement that holds with equality passes."""
    data = table(how, n, seed)
    proven = how in ("worst case", "follow-up drawn at random")
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return certify(
                np.full(data.n, NEW),
                data,
                text,
                delta=DELTA,
                estimator=estimator,
                impact_range=RANGE if proven else None,
            ).passed
        except PropensityError:  # rows that were left out may contradict the propensities
            return False


def main():
    """Draw what is missing, and write the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    kept = Kept("missing_impact")
    for n in [int(size) for size in sys.argv[2:]] or SIZES:
        for how in HOW:
            kept.draw(f"{how}, {n}", partial(both, how, n), draws)
            print(n, how, *shares(kept.found(f"{how}, {n}")), flush=True)

    def lines_of(n):
        made = {how: kept.found(f"{how}, {n}") for how in HOW}
        return [
            f"| {how} | {n:,} | {len(found)} | {' | '.join(shares(found))} |"
            for how, found in made.items()
            if len(found) >= SHOWN
        ]

    head = '| declared | rows | draws | "no worse" passes | "no higher" passes |'
    write_by_size("missing-impact.md", "missing", head, lines_of)


def both(how, n, seed):
    """Whether each of the two statements passes."""
    return [passes(how, text, n, "paired", seed) for text in (NO_WORSE, NO_HIGHER)]


if __name__ == "__main__":
    main()

"""Confounding of exactly an odds ratio Lambda: how often a model at the edge passes, and how
often a break-even value is above the true one.

    python benchmarks/confounding.py [draws] [rows ...]    # for docs/no-propensities.md; goes on

An unseen u decides, with x, which decision is taken and how it turns out. Given u, the odds of a
decision are exactly Lambda times, or 1 / Lambda times, those given x alone: no distortion within
Lambda is worse. The new model is exactly at the edge.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np

from elfair import LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import CertificateWarning
from levels import DRAWS, SHOWN, SIZES, Kept, shares, write_by_size

N = 600
DELTA = 0.1
LAMBDA = 1.49  # a break-even value of 1.5 is too large
BETA = np.array([0.4, 0.6])  # of decision 1, by x
NEW = np.array([0.7, 0.8])
SPREAD = 0.05


def given_u(beta):
    """The probability of decision 1 given u = 1 and u = 0, with an odds ratio of Lambda and
    1 / Lambda to beta, and P(u = 1), such that beta is their mean.
    """
    odds = beta / (1 - beta) * np.array([LAMBDA, 1 / LAMBDA])
    high, low = odds / (1 + odds)
    return high, low, (beta - low) / (high - low)


HIGH, LOW, SHARE = np.array([given_u(each) for each in BETA]).T
#: Decision 1 brings u - PRICE, and 0 brings nothing. This makes the new model exactly as good as
#: the old one, which decided about those whom it helps.
PRICE = (np.mean(NEW * SHARE) - np.mean(SHARE * HIGH)) / (np.mean(NEW) - np.mean(BETA))


def world(rng, n):
    x = rng.integers(0, 2, n)
    u = rng.random(n) < SHARE[x]
    return x, u, (rng.random(n) < np.where(u, HIGH[x], LOW[x])).astype(int)


def draw(seed, sign=1, n=N):
    rng = np.random.default_rng(seed)
    x, u, decision = world(rng, n)
    impact = sign * (decision * (u - PRICE) + rng.normal(0, SPREAD, n))
    return x, LoggedData(
        x[:, None].astype(float),
        decision=decision,
        behavior=np.column_stack([1 - BETA[x], BETA[x]]),
        impact=np.clip(impact, -1.5, 1.5),
        classes=[0, 1],
    )


def certified(sign, seed, n=N, **parameters):
    x, data = draw(seed, sign, n)
    text = f"E[impact] {'>=' if sign > 0 else '<='} E_logged[impact]"
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore", CertificateWarning)
        return certify(NEW[x], data, text, delta=DELTA, **parameters)


def passes(sign, parameters, seed):
    return certified(sign, seed, **parameters).passed


def even(sign, seed, n=N):
    """The break-even value."""
    return certified(sign, seed, n, bound="ttest").constraints[0].break_even


#: What is asked, and the Lambda of the test; None looks at the break-even value.
HOW = {
    f"Lambda = {LAMBDA}, the true one": LAMBDA,
    "Lambda = 1.25, too small": 1.25,
    "Lambda = 1, none allowed for": 1.0,
    "break-even value above the true one": None,
}


def found(how, n, seed):
    """Whether "no worse" and "no better" pass, or have too large a break-even value."""
    Lambda = HOW[how]
    if Lambda is None:
        values = [even(sign, seed, n) for sign in (1, -1)]
        return [value is not None and value > LAMBDA for value in values]
    return [certified(sign, seed, n, Lambda=Lambda).passed for sign in (1, -1)]


def main():
    """Draw what is missing, and write the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    kept = Kept("confounding")
    for n in [int(size) for size in sys.argv[2:]] or SIZES:
        for how in HOW:
            kept.draw(f"{how}, {n}", partial(found, how, n), draws)
            print(n, how, *shares(kept.found(f"{how}, {n}")), flush=True)

    def lines_of(n):
        made = {how: kept.found(f"{how}, {n}") for how in HOW}
        return [
            f"| {how} | {n:,} | {len(every)} | {' | '.join(shares(every))} |"
            for how, every in made.items()
            if len(every) >= SHOWN
        ]

    head = '| declared | rows | draws | "no worse" | "no better" |'
    write_by_size("no-propensities.md", "confounding", head, lines_of, f"delta = {DELTA}. ")


if __name__ == "__main__":
    main()

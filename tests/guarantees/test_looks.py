"""Several looks at the same rows: declared in advance, they keep the promise together.

Decisions do nothing, so every model is at the edge: one that is released is an error. Each study
looks four times at the same rows, with another seed or another model, until some model is released.
ELFAIR_GUARANTEES=full runs 500 studies of fits and 4,000 of `certify`.
"""

from __future__ import annotations

import numpy as np

from counting import FULL, check_rare, drawn, limit
from elfair import ELFClassifier, LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in

LOOKS, DELTA = 4, 0.2
NO_WORSE = "E[impact] >= E_logged[impact]"


def table(n, seed):
    rng = np.random.default_rng([seed, n])
    return LoggedData(
        rng.normal(size=(n, 1)),
        decision=rng.integers(0, 2, n),
        propensity=np.full(n, 0.5),
        impact=rng.normal(size=n),
    )


def fits(seed):
    """Whether any of the declared looks releases a model; each fits with another seed."""
    data = table(200, seed)
    how = {"delta": DELTA, "looks": LOOKS, "objective": "E[impact]", "candidates": 1}
    with counted_in(LooksOfProcess()):
        looks = [
            ELFClassifier(NO_WORSE, **how, random_state=look).fit(data) for look in range(LOOKS)
        ]
    assert {clf.certificate_.openings for clf in looks} <= {*range(1, LOOKS + 1)}
    return any(clf.solution_found_ for clf in looks)


def certificates(declared, seed):
    """The same for models from elsewhere; undeclared looks are accepted, at the full delta."""
    data = table(100, seed)
    rng = np.random.default_rng([seed, 5])
    how = {"delta": DELTA, "looks": LOOKS if declared else 1, "accept_violated": ["opened_once"]}
    with counted_in(LooksOfProcess()):
        records = [
            certify(rng.uniform(0.05, 0.95, data.n), data, NO_WORSE, **how) for _ in range(LOOKS)
        ]
    assert [each.openings for each in records] == [*range(1, LOOKS + 1)]
    assert bool(records[-1].violated) is not declared
    return any(each.passed for each in records)


def test_fits_with_several_seeds_err_together_at_most_delta_of_the_time():
    check_rare(fits, allowed=DELTA, full=500)


def test_models_that_certify_tests_in_declared_looks_err_together_at_most_delta_of_the_time():
    check_rare(certificates, True, allowed=DELTA, full=4_000, times=1.5, at_least=100)


def test_looks_that_were_not_declared_err_far_more_often():
    """So declaring them is not in vain: this is what a violated assumption keeps from release."""
    draws = 4_000 if FULL else 150
    share = np.mean(drawn(certificates, draws, False))
    assert share > limit(DELTA, draws)

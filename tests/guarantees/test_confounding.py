"""Under the worst confounding of an odds ratio Lambda, a certificate at Lambda keeps its promise,
and no break-even value is larger than the true one more than delta of the time.

An unseen u decides, with x, which decision is taken and how it turns out.
Given u, the odds of a decision are exactly Lambda times, or 1 / Lambda times, those given x alone:
no distortion within Lambda is worse. The new model is exactly at the edge at Lambda.
ELFAIR_GUARANTEES=full draws 2,000 times a case.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from confounding import (
    BETA,
    DELTA,
    HIGH,
    LAMBDA,
    NEW,
    PRICE,
    SHARE,
    draw,
    even,
    passes,
    world,
)  # fmt: skip
from counting import check_rare
from elfair import ELFClassifier
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import CertificateWarning


def test_the_population_is_at_the_edge():
    x, u, decision = world(np.random.default_rng(0), 400_000)
    assert np.mean(decision) == pytest.approx(BETA[x].mean(), abs=0.005)
    assert np.mean(NEW[x] * (u - PRICE)) == pytest.approx(np.mean(decision * (u - PRICE)), abs=4e-3)


RANGE = {"impact_range": (-1.5, 1.5)}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "more", [{}, {"estimator": "dr"}, {**RANGE, "bound": "betting"}], ids=["t", "dr", "betting"]
)
def test_at_lambda_it_passes_at_most_delta_of_the_time(sign, more):
    found = check_rare(
        passes, sign, {"Lambda": LAMBDA, **more}, allowed=DELTA, full=2_000, at_least=60
    )
    if "bound" not in more:  # were the worst case exaggerated, none would pass
        assert any(found)


@pytest.mark.parametrize("sign", [1, -1])
def test_without_lambda_it_passes_far_more_often(sign):
    """Else this population would show nothing."""
    assert np.mean([passes(sign, {"bound": "ttest"}, seed) for seed in range(60)]) > 0.5


@pytest.mark.parametrize("sign", [1, -1])
def test_the_break_even_value_is_rarely_above_the_true_one(sign):
    """The true one is at most Lambda, because this confounding is one of those within Lambda."""
    found = check_rare(
        even, sign, allowed=DELTA, full=2_000, at_least=100,
        bad=lambda value: value is not None and value > LAMBDA,
    )  # fmt: skip
    known = [value for value in found if value is not None]
    assert np.median(known) >= 1.2  # else it would say nothing


def fitted(seed):
    """Whether a model was returned and decides so often that it does harm."""
    _, data = draw(seed, n=1000)
    clf = ELFClassifier(
        "E[impact] >= E_logged[impact]", objective="P[decision == 1]", delta=DELTA, Lambda=LAMBDA
    )
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore", CertificateWarning)
        clf.fit(data)
    both = np.array([[0.0], [1.0]])
    if not clf.solution_found_:
        return False, False
    new = clf.predict_proba(both)[:, 1]
    worth = np.mean(new * (SHARE - PRICE))
    return True, bool(worth < np.mean(SHARE * HIGH) - PRICE * np.mean(BETA))


def test_a_search_for_lambda_keeps_the_promise():
    found = check_rare(fitted, allowed=DELTA, full=500, bad=lambda found: found[1])
    assert any(returned for returned, _ in found)

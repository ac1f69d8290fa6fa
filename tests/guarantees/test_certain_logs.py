"""A log whose decisions were nearly certain: what was hardly ever done cannot be certified by it.

The old model is nearly the best there is, and takes the other decision once in 10,000 times. A new
model that reverses some of its decisions gives those rows a weight of 0, and the rows that would
show what then comes of people (with weights of 10,000) are not there. The spread of what is left
says nothing; only the known spread of the weights tells.

ELFAIR_GUARANTEES=full runs more draws.
"""

from __future__ import annotations

from math import isfinite

import numpy as np
import pytest
from scipy.special import expit

from counting import FULL, check_rare
from elfair import ELFClassifier
from elfair.populations import FosterCare

DELTA = 0.1
NO_WORSE = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]


def world(n, rng):
    """Groups, features, and how likely each person is to repay."""
    group, x = rng.integers(0, 2, n), rng.normal(size=(n, 3))
    x[:, 0] += 0.3 * group
    return group, x, expit(1.2 * x[:, 0] - 0.8 * x[:, 1] + 0.3 * x[:, 2] * x[:, 0])


def old(x, exploration):
    """The probability of a loan under the old model."""
    sure = expit(60 * (1.2 * x[:, 0] - 0.8 * x[:, 1]))
    return (1 - exploration) * sure + exploration / 2


def trial(n, exploration, seed, **parameters):
    """Whether a model is released, and whether it truly harms some group."""
    rng = np.random.default_rng(seed)
    group, x, repays = world(n, rng)
    p = old(x, exploration)
    decision = (rng.random(n) < p).astype(int)
    label = (rng.random(n) < repays).astype(int)
    impact = decision * (0.6 * label - 0.3) + rng.normal(0, 0.2, n)
    clf = ELFClassifier(NO_WORSE, delta=DELTA, random_state=seed, **parameters)
    clf.fit(
        x,
        label,
        sensitive_features={"T": group},
        decision=decision,
        propensity=np.where(decision == 1, p, 1 - p),
        impact=impact,
    )
    if not clf.solution_found_:
        return False, False
    group, x, repays = world(50_000, np.random.default_rng(10**6))
    gain = (clf.predict_proba(x)[:, 1] - old(x, exploration)) * (0.6 * repays - 0.3)
    return True, min(gain[group == t].mean() for t in (0, 1)) < 0


def harms_someone(outcome):
    return outcome[1]


@pytest.mark.filterwarnings("ignore::elfair.errors.CertificateWarning")
@pytest.mark.parametrize("n", [1_000, 3_000, 12_000] if FULL else [1_000, 3_000])
def test_no_more_models_harm_than_delta_allows(n):
    check_rare(trial, n, 2e-4, allowed=DELTA, full=500, bad=harms_someone)


def test_a_log_with_some_chance_in_it_is_enough():
    found, harms = np.array([trial(3_000, 0.1, seed) for seed in range(20)]).T
    assert found.mean() > 0.7
    assert harms.mean() <= DELTA


@pytest.mark.parametrize("alpha", [0.5, 0.9])
def test_where_decisions_had_some_chance_in_them_it_costs_nothing(alpha):
    """No model is held back that would be released otherwise, with 50 rows of a group."""
    population = FosterCare(alpha=alpha)
    for seed in range(200 if FULL else 15):
        draw = population.sample(256, 5_000 + seed)
        clf = ELFClassifier(population.constraints, random_state=seed)
        clf.fit(draw.features, draw.label, **draw.logged)
        assert all(isfinite(result.upper) for result in clf.certificate_.constraints)

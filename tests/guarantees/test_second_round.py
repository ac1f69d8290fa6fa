"""Two rounds: the first model's decisions, drawn and logged, are what the second learns from.

What is promised of the second model is counted against the truth under the first.
"""

from __future__ import annotations

import os
from math import sqrt

import numpy as np
import pytest

from elfair import ELFClassifier
from elfair.experiments import FosterCare

FULL = os.environ.get("ELFAIR_GUARANTEES") == "full"
RUNS, ROWS, DELTA = (1_000, 1_000, 0.1) if FULL else (50, 1_000, 0.1)
POPULATION = FosterCare(alpha=0.9)


def two_rounds(seed, exploration):
    """The models of both rounds; None where none was let out."""
    clf = ELFClassifier(POPULATION.constraints, delta=DELTA, exploration=exploration)
    before = POPULATION.sample(ROWS, seed=2 * seed)
    clf.fit(before.features, before.label, **before.logged)
    if not clf.solution_found_:
        return None, None
    people = POPULATION.sample(ROWS, seed=2 * seed + 1)
    decision, propensity = clf.decide(people.features, random_state=seed)
    # Everyone keeps the noise, and has the impact of the new decision.
    impact = people.impact + POPULATION.alpha * (decision - people.decision)
    second = ELFClassifier(POPULATION.constraints, delta=DELTA, exploration=exploration)
    second.fit(
        people.features,
        people.label,
        sensitive_features={"T": people.group},
        decision=decision,
        propensity=propensity,
        impact=impact,
    )
    assert propensity.min() >= exploration / 2 - 1e-12
    return clf, second if second.solution_found_ else None


@pytest.mark.filterwarnings("ignore::elfair.errors.CertificateWarning")
def test_a_log_with_some_chance_in_it_can_be_learnt_from():
    made = [both for seed in range(RUNS) if (both := two_rounds(seed, 0.1))[0] is not None]
    failures = {0: 0, 1: 0, "accuracy": 0}
    returned = [(first, second) for first, second in made if second is not None]
    accuracies = []
    for first, second in returned:
        old, new = POPULATION.truth(first), POPULATION.truth(second)
        accuracies.append(new.accuracy)
        for group in (0, 1):
            failures[group] += new.impact[group] < old.impact[group] - 1e-9
        failures["accuracy"] += new.accuracy < 0.75
    n = len(made)
    assert n >= 0.8 * RUNS
    assert len(returned) / n >= 0.8 - (0.0 if FULL else 3 * sqrt(0.8 * 0.2 / n))
    limit = DELTA + 4 * sqrt(DELTA * (1 - DELTA) / n)
    assert max(failures.values()) / n <= limit, failures
    # Logged decisions were right in 0.709 of all cases, and blind ones would be in 0.5.
    assert np.mean(accuracies) > 0.8

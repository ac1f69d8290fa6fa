"""Trees keep the promise at the edge, and their chance to pass is not overstated.

The population is that of benchmarks/nonlinear.py, which a tree of depth 2 can learn. A power target
of .1 makes the search put candidates at the edge, where the test decides.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from counting import FULL, check_rare, drawn
from elfair import ELFClassifier
from nonlinear import CONSTRAINTS, TRUTH, sample, truth

DELTA = 0.1


def trial(policy, n, power, candidates, seed):
    """Whether a model was returned, is truly worse for someone, its accuracy and its forecast."""
    clf = ELFClassifier(
        CONSTRAINTS, delta=DELTA, bound="ttest", policy=policy, power=power, candidates=candidates
    ).fit(**sample(n, seed))
    lost, accuracy = truth(clf.fitted_.probabilities(TRUTH.features, None)[:, 1])
    forecast = clf.certificate_.search.forecast
    return clf.solution_found_, max(lost) > 0, accuracy, forecast


# Among many groups some mean weight is four standard errors from 1, by luck alone.
@pytest.mark.filterwarnings("ignore::elfair.errors.CertificateWarning")
def test_a_tree_that_is_worse_for_someone_is_rarely_returned():
    outcomes = check_rare(
        trial, "tree", 600, 0.1, 1, allowed=DELTA, full=1_000, at_least=20,
        bad=lambda outcome: outcome[0] and outcome[1],
    )  # fmt: skip
    assert np.mean([worse for _, worse, *_ in outcomes]) > 0.05, "candidates must be near the edge"


@pytest.mark.filterwarnings("ignore::elfair.errors.CertificateWarning")
def test_the_chance_to_pass_is_not_overstated():
    draws = 400 if FULL else 20
    outcomes = drawn(trial, draws, "tree", 1_000, 0.8, 1)
    passed, _, _, forecast = (np.array(column) for column in zip(*outcomes, strict=True))
    assert forecast.mean() <= passed.mean() + 4 * sqrt(0.25 / draws) * (0.5 if FULL else 1.0)


def test_a_tree_learns_what_no_linear_model_can():
    found = drawn(trial, 6, "tree", 2_000, 0.95, 20)
    linear = drawn(trial, 6, "softmax", 2_000, 0.95, 20)
    assert np.mean([accuracy for _, _, accuracy, _ in found]) > 0.65
    assert np.mean([accuracy for _, _, accuracy, _ in linear]) < 0.6

"""The lending population: its law, its samples against its truth, and the point it makes."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from elfair import ELFClassifier
from elfair.errors import InputError
from elfair.populations import Lending, LinearRule

DATA = os.environ.get("ELFAIR_DATA")
STANDARD_ERRORS = 4

# Written out again here, from the definition of the population, on purpose.
SHARE = {0: (0, 0.1, 0.1, 0.2, 0.3, 0.3, 0), 1: (0.1, 0.1, 0.2, 0.3, 0.3, 0, 0)}
REPAY = (0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7)


def lends_from(cluster: int):
    """Lend to this cluster and to those above it."""
    cut = 300 + 550 * cluster / 7
    return lambda X: (100 * X[:, 0] + 575 > cut).astype(float)


def odd(X: np.ndarray) -> np.ndarray:
    """A policy without any shape."""
    return 0.5 + 0.5 * np.sin(9 * X[:, 0])


def test_truth_is_the_sum_over_clusters():
    population, accuracy = Lending(), 0.0
    for t in (0, 1):
        impact = 0.0
        for cluster, (share, repay) in enumerate(zip(SHARE[t], REPAY, strict=True)):
            score = 300 + 550 * (cluster + 0.5) / 7
            loan = float(odd(np.array([[(score - 575) / 100]]))[0])
            up, down = min(score + 75, 850) - score, max(score - 150, 300) - score
            impact += share * loan * (repay * up + (1 - repay) * down)
            accuracy += 0.5 * share * (loan * repay + (1 - loan) * (1 - repay))
        assert population.impact(odd, t) == pytest.approx(impact, abs=1e-12)
        lost = population.impact(population.behavior, t) - impact
        assert population.violations(odd)[t] == pytest.approx(lost, abs=1e-12)
    assert population.accuracy(odd) == pytest.approx(accuracy, abs=1e-12)


def populations() -> list[object]:
    absent = pytest.mark.skipif(DATA is None, reason="ELFAIR_DATA, which holds fico/, is not set")
    return [pytest.param(Lending, id="clusters"), pytest.param(Lending.fico, marks=absent)]


@pytest.mark.parametrize("make", populations())
def test_samples_agree_with_the_truth(make):
    population, n = make(), 400_000
    draw, truth = population.sample(n, seed=3), population.truth(population.behavior)
    chance = odd(draw.features)
    weight = np.where(draw.decision == 1, chance, 1 - chance) / draw.propensity
    table = population.table

    def check(values, expected):
        error = values.std() / np.sqrt(values.size)
        assert abs(values.mean() - expected) < STANDARD_ERRORS * error

    check(draw.group, table.group_probability[1])
    check((draw.decision == draw.label).astype(float), truth.accuracy)
    check(weight, 1)
    for t in (0, 1):
        inside = draw.group == t
        check(draw.impact[inside], truth.impact[t])
        check((weight * draw.impact)[inside], population.impact(odd, t))
        check(draw.decision[inside], population.positive_rate(population.behavior, t))
        check(draw.features[inside, 0], (table.share[t] @ table.score - 575) / 100)
        check(draw.label[inside], table.share[t] @ table.repay[t])
    assert draw.propensity.min() >= population.propensity_floor > 0.03


def test_the_law_of_clusters_in_a_sample():
    draw, n = Lending().sample(200_000, seed=8), 200_000
    cluster = np.rint((draw.features[:, 0] * 100 + 275) / 550 * 7 - 0.5).astype(int)
    for t in (0, 1):
        for k in range(7):
            here = cluster[draw.group == t] == k
            assert abs(here.mean() - SHARE[t][k]) < STANDARD_ERRORS * 0.5 / np.sqrt(n / 2.1)
            assert here.any() == (SHARE[t][k] > 0)
    for k in range(6):
        repaid = draw.label[cluster == k]
        assert abs(repaid.mean() - REPAY[k]) < STANDARD_ERRORS * 0.5 / np.sqrt(repaid.size)


def test_impacts_are_changes_of_scores_within_their_range():
    population = Lending()
    draw = population.sample(50_000, seed=1)
    assert population.impact_range == (-150, 75)
    assert set(draw.impact[draw.decision == 0]) == {0.0}
    score = draw.features[:, 0] * 100 + 575
    after = score + draw.impact
    assert after.min() == pytest.approx(300)
    assert after.max() <= 850
    loan = draw.decision == 1
    assert set(draw.impact[loan & (draw.label == 1)]) == {75.0}
    low = loan & (draw.label == 0) & (score < 450)
    np.testing.assert_allclose(draw.impact[low], 300 - score[low])
    assert set(draw.impact[loan & (draw.label == 0) & (score > 450)]) == {-150.0}


def test_accuracy_alone_lowers_scores():
    population = Lending()
    best = population.truth(lends_from(3))  # repaid with .6 and more
    for cluster in range(8):
        assert population.accuracy(lends_from(cluster)) <= best.accuracy
    assert max(best.impact.values()) < 0
    assert min(best.violation.values()) > 0.2
    draw = population.sample(4096, seed=0)
    fitted = LogisticRegression().fit(draw.features, draw.label)
    rule = LinearRule(float(fitted.intercept_[0]), fitted.coef_[0])
    assert population.truth(rule) == best


def test_the_constraints_can_be_met_with_room_to_spare():
    population = Lending()
    careful = population.truth(lends_from(4))  # repaid with .65 and more
    assert max(careful.violation.values()) < -1.5
    assert careful.accuracy > 0.55 + 0.05
    assert population.constraints == [
        "E[impact | T == 0] >= E_logged[impact | T == 0]",
        "E[impact | T == 1] >= E_logged[impact | T == 1]",
        "accuracy >= 0.55",
    ]
    # A softmax-linear policy comes as close to it as one likes.
    steep = population.truth(lambda X: 1 / (1 + np.exp(-12 * (X[:, 0] - 0.39))))
    assert max(steep.violation.values()) < -1.5


def test_elf_finds_solutions_that_lower_nobodys_score():
    population, seeds = Lending(), 20
    found, failed = 0, np.zeros(3)
    for seed in range(seeds):
        draw = population.sample(4096, seed)
        model = ELFClassifier(population.constraints).fit(draw.features, draw.label, **draw.logged)
        if model.solution_found_:
            found += 1
            truth = population.truth(model)
            failed += [*(v > 1e-9 for v in truth.violation.values()), truth.accuracy < 0.55]
    assert found > seeds / 2
    # delta = 0.1 for each; three standard errors of a share of 20.
    assert (failed / seeds <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / seeds)).all()


def test_samples_are_a_function_of_n_and_seed_and_pickling():
    population = Lending()
    first = population.sample(300, seed=4).frame()
    again = pickle.loads(pickle.dumps(population)).sample(300, seed=4).frame()
    for name, column in first.items():
        np.testing.assert_array_equal(column, again[name])
    assert next(iter(first)) == "score"
    assert not np.array_equal(population.sample(300, seed=5).label, first["Y"])


@pytest.mark.skipif(DATA is None, reason="ELFAIR_DATA, the folder that holds fico/, is not set")
def test_with_real_scores_accuracy_leaves_one_group_half_of_its_gain():
    population = Lending.fico()
    cuts = np.arange(0, 100, 0.5)
    truths = [population.truth(lambda X, c=c: (X[:, 0] > c * 0.055 - 2.75) * 1.0) for c in cuts]
    best = truths[int(np.argmax([truth.accuracy for truth in truths]))]
    most = max(truth.impact[1] for truth in truths)
    assert best.accuracy > 0.87
    assert 0 < best.impact[1] < 0.6 * most
    # Both groups can gain a lot over the log, at little cost in accuracy.
    assert any(t.accuracy > 0.85 and max(t.violation.values()) < -5 for t in truths)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Lending().sample(0, seed=1), "at least 1. Got 0"),
        (lambda: Lending().impact(odd, 2), r"one of \[0, 1\]. Got 2"),
        (lambda: Lending().accuracy(lambda X: X[:, 0]), "Got values from -2.357"),
        (lambda: Lending().accuracy(lambda X: X), r"must have shape \(7,\)"),
        (lambda: Lending().truth(LinearRule(0.0, np.ones(5))), r"\(n, 5\). Got \(7, 1\)"),
    ],
)
def test_errors_say_what_was_got_and_what_is_allowed(wrong, says):
    with pytest.raises(InputError, match=says) as caught:
        wrong()
    assert "\nHint: " in str(caught.value)

import numpy as np
import pytest

from elfair import ELFClassifier
from elfair.populations import FosterCare
from elfair.search.classification import Classification
from elfair.search.goals import PredictLabel
from elfair.search.prediction import LOWER_POWERS, Target
from elfair.search.problem import Candidate
from elfair.search.selection import Found, Selection, worth_testing

DEFAULT = Selection("gradient", Classification(PredictLabel("accuracy")), Target(power=0.95), 0)


def candidate(loss, log_pass, *, meets_target=True, theta=(0.0,)):
    return Candidate(np.array(theta), loss, np.zeros(1), log_pass, meets_target)


def ladder(*candidates, models=5):
    return Found(list(candidates), 0, None, models).ladder


def test_models_lie_between_the_candidates_in_their_order():
    first, second, third = (
        candidate(0.3, -0.1, theta=(0.0, 0.0)),
        candidate(0.2, -1.0, theta=(2.0, 4.0)),
        candidate(0.1, -2.0, theta=(2.0, 6.0)),
    )
    np.testing.assert_allclose(
        ladder(first, second, third), [[0, 0], [1, 2], [2, 4], [2, 5], [2, 6]]
    )


def test_a_single_candidate_is_all_there_is():
    assert len(ladder(candidate(0.3, -0.1))) == 1


def test_what_is_not_better_or_misses_its_target_is_not_on_the_ladder():
    first = candidate(0.3, -0.1)
    worse = candidate(0.4, -1.0)
    safer = candidate(0.2, -0.05)
    missed = candidate(0.2, -1.0, meets_target=False)
    less_cautious = candidate(0.2, -1.0)
    assert worth_testing([first, worse]) == [first]
    assert worth_testing([first, safer]) == [first]
    assert worth_testing([first, missed]) == [first]
    assert worth_testing([first, worse, less_cautious]) == [first, less_cautious]


def test_targets_ask_for_less_and_less():
    assert [target.power for target in Target(power=0.95).less_cautious] == list(LOWER_POWERS)
    assert [target.power for target in Target(power=0.5).less_cautious] == [LOWER_POWERS[-1]]
    assert Target(inflation=2.0).less_cautious == ()


@pytest.mark.parametrize("n", [800, 12_000])
def test_models_are_less_and_less_cautious(candidate_rows, make_plan, n):
    data = candidate_rows(n, 3)
    found = DEFAULT.run(data, make_plan(data), n // 2, models=9)
    seen = [found.problem.look_at(theta) for theta in found.ladder]
    assert len(seen) == 9
    assert seen[0].meets_target
    assert np.all(np.diff([model.loss for model in seen]) < 0)
    assert np.all(np.diff([model.log_pass for model in seen]) < 0)
    # Three statements pass with their targets' probabilities, one of them binding.
    assert 0.8 < np.exp(seen[0].log_pass) < 1
    assert LOWER_POWERS[-1] / 2 < np.exp(seen[-1].log_pass) < 2 * LOWER_POWERS[-1]


def test_a_ladder_of_one_is_the_best_candidate(candidate_rows, make_plan):
    data = candidate_rows(600, 4)
    found = DEFAULT.run(data, make_plan(data), 400)
    np.testing.assert_array_equal(found.ladder, [found.best.theta])
    assert found.losses == [found.problem.loss_at(found.best.theta)]


def fitted(seed, **parameters):
    population = FosterCare(alpha=0.9)
    draw = population.sample(1_000, seed)
    clf = ELFClassifier(population.constraints, **parameters)
    return clf.fit(draw.features, draw.label, **draw.logged), population


def test_the_released_model_is_the_last_that_passed(monkeypatch):
    places = []
    for seed in range(6):
        clf, _ = fitted(seed)
        record = clf.certificate_.search
        places.append(record.place)
        assert clf.certificate_.openings == 1
        assert record.on_ladder == 20
        if clf.solution_found_:
            assert record.tested == min(record.place + 1, 20)
        else:
            assert (record.place, record.tested) == (1, 1)
    assert max(places) > 5


def test_a_ladder_is_more_accurate_than_its_first_model():
    gains = []
    for seed in range(5):
        one, population = fitted(seed, candidates=1)
        many, _ = fitted(seed)
        if one.solution_found_ and many.solution_found_:
            gains.append(population.accuracy(many) - population.accuracy(one))
    assert min(gains) >= -0.003
    assert np.mean(gains) > 0.005


def test_the_promise_speaks_of_the_ladder():
    clf, _ = fitted(0)
    alone, _ = fitted(0, candidates=1)
    assert "20 models" in clf.certificate_.joint_statement
    assert "ladder" not in alone.certificate_.joint_statement
    assert clf.certificate_.joint_delta == 0.1

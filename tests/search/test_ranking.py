"""The ranking: which models form the ladder, in which order, and how likely the first passes."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy.special import ndtr

from elfair import ELFClassifier, LoggedData
from elfair.populations import FosterCare
from elfair.search.classification import CERTAIN, Classification
from elfair.search.found import Ranked
from elfair.search.goals import PredictLabel, goal_of
from elfair.search.judging import Judged, in_folds
from elfair.search.prediction import HIGHEST_POWER, LOWER_POWERS, Target
from elfair.search.problem import USELESS
from elfair.search.ranking import STEPS, Effects, Kept, Ranking, between
from elfair.search.requirements import requirements_of
from elfair.search.selection import Selection, View

DEFAULT = Selection("gradient", Classification(PredictLabel("accuracy")), Target(power=0.95), 0)
LUCK, WIDTH = 2 / 3, 1.2816


def judged(effect, width=WIDTH):
    """One claim of one model; g has a standard error of 1 in the test."""
    return Judged(-effect, -effect + width, 1.0, 1.0, 1.0)


def ranked(effects, losses, simple=0, seen=None, kept=None):
    """Models with one claim each; the last so many are simple."""
    effects = Effects.of([[judged(effect)] for effect in effects], LUCK)
    seen = np.zeros(len(losses)) if seen is None else np.array(seen, dtype=float)
    seen = seen[:, None]
    kept = kept or Kept.all_of_it(1)
    return Ranking(effects, np.array(losses, dtype=float), seen, len(losses) - simple, kept)


def kept_of(promised, seen, variance=LUCK):
    return Kept.seen(np.array([promised]), np.array([seen]), np.array([variance]))


@pytest.mark.parametrize("variance", [0.0, -5e-17])
def test_rows_that_do_not_vary_tell_exactly_what_is_kept(variance):
    kept = kept_of(4.0, 2.0, variance)
    np.testing.assert_allclose([*kept.mean, *kept.variance, *kept.estimate], [0.5, 0, 0.5])


def test_models_lie_between_those_found_in_their_order():
    models = between([np.array([0.0, 0.0]), np.array([2.0, 4.0]), np.array([2.0, 6.0])])
    assert len(models) == 2 * STEPS + 1
    np.testing.assert_allclose(models[STEPS // 2], [1, 2])
    np.testing.assert_allclose(models[STEPS], [2, 4])
    np.testing.assert_allclose(models[-1], [2, 6])
    assert len(between([np.zeros(3)])) == 1


def test_every_row_judges_once_and_never_what_was_found_on_it():
    data = LoggedData(np.zeros((100, 1)), row_id=np.arange(100))
    folds = in_folds(data, seed=3)
    turned = in_folds(data.take(np.arange(100)[::-1]), seed=3)
    assert all(
        set(99 - other) == set(one) for (_, one), (_, other) in zip(folds, turned, strict=True)
    )
    assert sorted(np.concatenate([unseen for _, unseen in folds])) == list(range(100))
    assert all(np.intersect1d(seen, unseen).size == 0 for seen, unseen in folds)


def test_the_most_likely_is_first_and_each_that_follows_has_a_smaller_loss():
    effects, losses = [3, 5, 4, 1, 2], [0.30, 0.35, 0.40, 0.10, 0.30]
    # The third is outdone by the second, the last by the first.
    assert ranked(effects, losses).in_turn(9).tolist() == [1, 0, 3]
    assert ranked(effects, losses).in_turn(2).tolist() == [1, 3]
    assert ranked(effects, losses).in_turn(1).tolist() == [1]


def test_among_models_that_are_certain_to_pass_the_loss_decides():
    assert ranked([9.0, 8.5, 3.0], [0.9, 0.2, 0.1]).in_turn(9).tolist() == [1, 2]


def test_rows_that_a_model_was_found_on_can_only_make_it_less_likely():
    judged = ranked([3, 5, 4], [0.3, 0.4, 0.5], seen=[-0.01, -20.0, USELESS])
    assert judged.log_pass[1] == -20
    assert judged.in_turn(9).tolist() == [0]


def test_a_simple_model_has_no_search_to_allow_for_but_must_be_a_new_model():
    judged = ranked([5, 5], [0.3, 0.3], simple=2, seen=[-20.0, USELESS])
    assert judged.log_pass[0] > -0.01
    assert judged.log_pass[1] == USELESS


def test_what_a_search_does_not_keep_is_not_believed():
    effects, losses = [5.0, 4.0], [0.3, 0.3]
    assert ranked(effects, losses, simple=1).in_turn(9).tolist() == [0]
    # Other rows bear out a third of what searches promise: the simple model is the better bet.
    assert ranked(effects, losses, simple=1, kept=kept_of(6, 2)).in_turn(9).tolist() == [1]
    # Whatever is kept, models of one search stay in their order.
    for share in (0.01, 0.3, 1.0):
        order = ranked([5, 3, 1], [0.3, 0.2, 0.1], kept=kept_of(6, 6 * share)).in_turn(9)
        assert order.tolist() == [0, 1, 2]


def test_simple_models_are_believed_as_far_as_they_stand_out_of_their_noise():
    few = ranked([0.5, -3.0], [0.3, 0.3], simple=2)
    np.testing.assert_allclose(few.chances[0, 0], ndtr(-WIDTH))  # less than its noise: nothing
    assert ranked([6.0], [0.3], simple=1).chances[0, 0] == pytest.approx(
        ndtr(6 * (1 - LUCK / 36) - WIDTH)
    )


@pytest.mark.parametrize(
    ("promised", "seen", "variance", "mean", "estimate"),
    [
        (4.0, 2.0, 1e-4, 0.5, 0.5),
        (4.0, 6.0, 1e-4, 1.0, 1.0),
        (4.0, -1.0, 1e-4, 0.0, 0.0),
        (4.0, 2.0, 1e4, 0.5, 0.5),  # who knows nothing believes a half
        (4.0, 4.0, 1e4, 0.5, 1.0),
        (-1.0, -2.0, LUCK, None, 1.0),  # nothing was promised
    ],
)
def test_how_much_is_kept(promised, seen, variance, mean, estimate):
    kept = kept_of(promised, seen, variance)
    assert kept.estimate == pytest.approx(estimate)
    if mean is not None:
        assert kept.mean[0] == pytest.approx(mean, abs=0.01)
    assert 0 <= kept.variance[0] <= 1 / 12 + 2e-3


def test_who_promises_nothing_is_not_believed_more():
    doubted = ranked([-1.0], [0.3], kept=kept_of(4, 0))
    assert doubted.log_pass[0] == ranked([-1.0], [0.3]).log_pass[0]


def test_what_cannot_be_tested_does_not_pass():
    silent = Judged(-1.0, np.inf, 0.0, 0.0, 1.0)
    effects = Effects.of([[silent]], LUCK)
    ranking = Ranking(effects, np.zeros(1), np.zeros((1, 1)), 1, Kept.all_of_it(1))
    assert ranking.chances[0, 0] < 1e-6
    assert not effects.certain(0, 0.0)


@pytest.mark.parametrize(
    "constraint",
    ["E[impact | T == 1] >= E_logged[impact | T == 1]", "PR[T == 0] / PR[T == 1] >= 0.8"],
)
def test_what_allows_for_luck_does_not_count_against_a_model_twice(
    candidate_rows, make_plan, constraint
):
    data = candidate_rows(500, 0)
    compiled, free = (
        make_plan(data, constraint).compile(data),
        np.random.default_rng(1).uniform(0.2, 0.8, (1, 500)),
    )
    searched, simple = (
        [
            each.predict(free).levels
            for each in requirements_of(compiled, Target(0.5), 0.5, n_parameters=count)
        ]
        for count in (40, 0)
    )
    for one, other in zip(searched, simple, strict=True):
        assert one.upper > other.upper + 1e-3
        np.testing.assert_allclose(Judged.by(one, 0.5), Judged.by(other, 0.5), rtol=1e-9)


def test_luck_is_doubted_where_there_can_be_enough_of_it():
    effects = Effects.of([[judged(5.5)], [judged(0.0)]], LUCK)
    assert effects.certain(6, 1.645)  # 5.5 - 1.28 - 2 = 2.2
    assert not effects.certain(12, 1.645)  # 5.5 - 1.28 - 2.8 = 1.4
    assert not effects.certain(6, 2.5)
    assert not Effects.of([[judged(9.0), judged(3.0)]], LUCK).certain(6, 1.645)


@pytest.mark.parametrize("share", [0.0, 0.4, 0.8])
def test_the_forecast_of_a_search_is_about_right(share):
    """Searches promise 5 and keep a share of it; folds see that with the noise of their rows."""
    rng, promise = np.random.default_rng(int(share * 10)), 5.0
    forecasts = [
        ranked([promise], [0.3], kept=kept_of(promise, rng.normal(share * promise, LUCK**0.5)))
        for _ in range(400)
    ]
    happens = ndtr(share * promise - WIDTH)
    naive = ndtr(promise - WIDTH)
    found = np.mean([each.chances[0, 0] for each in forecasts])
    assert found == pytest.approx(happens, abs=0.1)
    assert naive > happens + 0.001


def left_out(searched, simple, variance=LUCK):
    """What rows left out say of a searched model, and of a simple one."""
    size = np.array([[searched], [simple]])
    return Effects(size, np.full_like(size, WIDTH), np.full_like(size, variance))


@pytest.mark.parametrize("effect", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("variance", [0.3, LUCK])
def test_what_rows_left_out_say_is_right_on_average(effect, variance):
    """Whatever the true effect is, and however noisy these rows are."""
    rng, draws = np.random.default_rng(7), 4_000
    forecasts = [
        replace(ranked([9.0], [0.3]), left_out=left_out(size, 0.0, variance)).chances[0, 0]
        for size in rng.normal(effect, variance**0.5, draws)
    ]
    error = np.std(forecasts) / np.sqrt(draws)
    assert np.mean(forecasts) == pytest.approx(ndtr(effect - WIDTH), abs=3 * error)


def test_the_best_of_many_models_that_do_nothing_is_not_forecast_to_pass():
    rng = np.random.default_rng(8)
    seen, judged_as = rng.normal(0, LUCK**0.5, (400, 12)), rng.normal(0, LUCK**0.5, 400)
    naive, careful = [], []
    for sizes, other in zip(seen, judged_as, strict=True):
        ranking = ranked(sizes, [0.3] * 12, simple=12)
        first = ranking.in_turn(1)[0]
        naive.append(ranking.chances[first, 0])
        careful.append(replace(ranking, left_out=left_out(0.0, other)).chances[first, 0])
    assert np.mean(naive) > 0.2
    assert np.mean(careful) == pytest.approx(0.1, abs=0.05)


def test_rows_left_out_never_raise_a_forecast():
    ranking = ranked([2.0, 2.0], [0.3, 0.3], simple=1, kept=kept_of(2, 1))
    for judged_as in (-1.0, 1.0, 9.0):
        lower = replace(ranking, left_out=left_out(judged_as, judged_as)).chances
        assert (lower <= ranking.chances).all()


def test_of_several_claims_the_more_cautious_view_counts_as_a_whole():
    effects = Effects.of([[judged(3.0), judged(3.0)]], LUCK)
    seen, kept = np.zeros((1, 2)), Kept.all_of_it(2)
    size = np.array([[9.0, 1.0]] * 2)
    left = Effects(size, np.full_like(size, WIDTH), np.full_like(size, 0.5))
    ranking = Ranking(effects, np.zeros(1), seen, 1, kept, left)
    expected = ndtr((np.array([3.0, 1.0]) - WIDTH) / np.sqrt(0.5))  # no larger than promised
    np.testing.assert_allclose(ranking.chances[0], expected)
    told = replace(ranking, seen=np.log([[0.2, 0.3]]), left_out=None)
    np.testing.assert_allclose(told.chances[0], [0.2, 0.3])


def test_the_search_is_repeated_only_where_it_may_have_been_lucky(candidate_rows, make_plan):
    data = candidate_rows(2_000, 3)
    plan, folds = make_plan(data), []

    def found_on(view, *arguments):
        folds.append(view.data.n)
        return searched(view, *arguments)

    searched = View.found
    with patch.object(View, "found", found_on):
        easy = DEFAULT.run(data, plan, 1_300, models=9)
        assert folds == [2_000]
        hard = DEFAULT.run(
            data.take(np.arange(100)), make_plan(data.take(np.arange(100))), 70, models=9
        )
    assert sorted(folds[2:]) == [66, 67, 67]
    assert easy.ranking.kept.mean.tolist() == [1, 1, 1]
    assert max(hard.ranking.kept.mean) < 1


def test_targets_ask_for_less_and_less():
    def powers(power):
        return [target.power for target in Target(power=power).of_ladder]

    assert powers(0.95) == [HIGHEST_POWER, 0.95, *LOWER_POWERS]
    assert powers(0.5) == [HIGHEST_POWER, 0.5, LOWER_POWERS[-1]]
    assert powers(0.9999) == [0.9999, *LOWER_POWERS]
    assert Target(inflation=2.0).of_ladder == [Target(inflation=2.0)]


@pytest.mark.parametrize("n", [800, 12_000])
def test_models_are_less_and_less_cautious(candidate_rows, make_plan, n):
    data = candidate_rows(n, 3)
    found = DEFAULT.run(data, make_plan(data), n // 2, models=9)
    assert isinstance(found, Ranked)
    assert len(found.ladder) == 9
    assert found.ladder[0].meets_target
    assert np.all(np.diff([model.loss for model in found.ladder]) < 0)
    assert np.all(np.diff([model.log_pass for model in found.ladder]) <= 0)
    assert 0.8 < found.forecast <= 1


def test_a_ladder_of_one_is_the_best_candidate(candidate_rows, make_plan):
    data = candidate_rows(600, 4)
    found = DEFAULT.run(data, make_plan(data), 400)
    (only,) = found.ladder
    assert np.array_equal(only.theta, found.best.theta)
    # Rows left out have a say, too: what the search sees in its own rows is the most to expect.
    assert 0 < found.forecast <= np.exp(found.best.log_pass) + 1e-12


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
        assert record.on_ladder <= 20
        if clf.solution_found_:
            assert record.tested == min(record.place + 1, record.on_ladder)
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
    assert f"{clf.certificate_.search.on_ladder} models" in clf.certificate_.joint_statement
    assert "ladder" not in alone.certificate_.joint_statement
    assert clf.certificate_.joint_delta == 0.1


def everybody_gains(n, seed, noise_features=30):
    """Decision 1 is better for everybody, and features say nothing."""
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, n)
    impact = 0.5 * decision + rng.normal(size=n)
    X = rng.normal(size=(n, noise_features))
    half = np.full(n, 0.5)
    return LoggedData(X, decision=decision, propensity=half, impact=impact)


def test_where_features_say_nothing_the_constant_is_tested(make_plan):
    best = []
    for seed in range(5):
        data = everybody_gains(300, seed)
        task = Classification(goal_of("E[impact]"))
        search = Selection("gradient", task, Target(power=0.95), seed)
        plan = make_plan(data, ["E[impact] >= E_logged[impact]"])
        found = search.run(data, plan, 200, models=20)
        always = found.policy.raised(found.policy.indifferent, 1, CERTAIN)
        best.append(np.array_equal(found.ladder[-1].theta, always))
    assert sum(best) >= 4


@pytest.mark.parametrize(
    ("constraint", "whole"),
    [
        ("TPR[T == 0] - TPR[T == 1] <= 0.9", True),
        ("E[impact | T == 0] >= E_logged[impact | T == 0] - 5", False),
    ],
)
def test_rates_alone_let_the_ladder_climb_to_the_fit_without_constraints(
    candidate_rows, make_plan, constraint, whole
):
    data = candidate_rows(600, 5)
    found = DEFAULT.run(data, make_plan(data, [constraint]), 400, models=20)
    view = View(DEFAULT, found.policy, data, make_plan(data, [constraint]), 400, None, print)
    fits = view._fits()
    assert bool(fits) is whole
    if whole:  # each decision for everyone; then sharper and sharper, in one direction
        policy = found.policy
        shares = [policy.free(theta, policy.logged(data)).mean() for theta in fits[:2]]
        np.testing.assert_allclose(shares, [0, 1], atol=2e-4)
        fits = fits[2:]
        sizes = [np.abs(theta).max() for theta in fits]
        assert sizes == sorted(sizes)
        assert sizes[-1] == pytest.approx(found.policy.box[1][0])
        steps = [theta / np.abs(theta).max() for theta in fits]
        np.testing.assert_allclose(steps, [steps[0]] * len(steps))
        losses = view._losses(data, found, [*fits, *(each.theta for each in found.candidates)])
        assert found.ladder[-1].loss <= min(losses) + 0.01


@pytest.mark.parametrize("models", [2, 20])
def test_a_group_too_small_to_be_divided_leaves_what_was_found(candidate_rows, make_plan, models):
    data = candidate_rows(400, 4)
    data.sensitive["rare"] = (np.arange(data.n) < 3).astype(int)
    plan = make_plan(data, ["PR[rare == 1] <= 1.5", "accuracy >= 0.88"])
    found = DEFAULT.run(data, plan, 300, models=models)
    np.testing.assert_equal(found.ranking.kept, Kept.unknown(2))
    assert 1 <= len(found.ladder) <= models
    assert all(np.diff([model.loss for model in found.ladder]) < 0)

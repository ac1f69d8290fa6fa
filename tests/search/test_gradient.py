"""The gradient search against brute force on problems that a grid can cover."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.search import Target, gradient
from elfair.search.gradient import MOST_EVALUATIONS, fit_log_loss, gradient_search

NO_WORSE = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]


def grid(problem, reach=12.0, steps=61):
    """Every policy of a fine grid; the problem has two parameters."""
    assert problem.policy.n_parameters == 2
    points = np.linspace(-reach, reach, steps)
    return [problem.look_at(np.array([a, b])) for a in points for b in points]


@pytest.mark.parametrize(("alpha", "constraints"), [
    (0.9, [*NO_WORSE, "accuracy >= 0.5"]),
    (0.5, [*NO_WORSE, "accuracy >= 0.5"]),
    (0.9, ["abs(PR[T == 0] - PR[T == 1]) <= 0.1", "PR <= 0.55"]),
    (0.9, []),
])  # fmt: skip
@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_policy_that_meets_its_target(
    candidate_rows, make_problem, alpha, constraints, seed
):
    data = candidate_rows(600, seed, alpha=alpha, features=1)
    problem = make_problem(data, constraints, target=Target(power=0.8))
    feasible = [seen for seen in grid(problem) if seen.meets_target]
    assert feasible
    start = fit_log_loss(problem.policy, problem.inputs, data.label_index)
    other = fit_log_loss(problem.policy, problem.inputs, data.decision_index)
    found = gradient_search(problem, [start, other])
    assert found.meets_target
    # No worse than the best point of the grid (to the precision of the search).
    assert found.loss <= min(seen.loss for seen in feasible) + 1e-5


@pytest.mark.parametrize("constraints", [
    ["accuracy >= 0.9"],
    [*NO_WORSE, "accuracy >= 0.75"],
    ["PR[T == 0] <= 0.3", "PR[T == 1] >= 0.6"],
])  # fmt: skip
def test_where_none_does_the_greatest_pass_probability(candidate_rows, make_problem, constraints):
    data = candidate_rows(150, 2, alpha=0.5, features=1)
    problem = make_problem(data, constraints, target=Target(power=0.999))
    seen = grid(problem)
    assert not any(one.meets_target for one in seen)
    start = fit_log_loss(problem.policy, problem.inputs, data.label_index)
    found = gradient_search(problem, [start, np.zeros(2)])
    assert not found.meets_target
    assert found.log_pass >= max(one.log_pass for one in seen) - 1e-3


def test_what_passes_only_after_all_is_then_improved(candidate_rows, make_problem, monkeypatch):
    # Searches that give up at once leave it to the pass probability to find the way.
    data = candidate_rows(600, 0)
    problem = make_problem(data, target=Target(power=0.8))
    start = fit_log_loss(problem.policy, problem.inputs, data.label_index)
    assert not problem.look_at(start).meets_target
    minimise, calls = gradient._Search.minimise_loss, []

    def lazy_at_first(self, start, reach=np.inf):
        calls.append(self.problem.look_at(start))
        if len(calls) <= 2:
            self._begin()
            self.look_at(start)
        else:
            minimise(self, start, reach)

    monkeypatch.setattr(gradient._Search, "minimise_loss", lazy_at_first)
    found = gradient_search(problem, [start])
    assert [seen.meets_target for seen in calls] == [False, False, True]
    assert found.meets_target
    assert found.loss < calls[-1].loss - 0.001


def test_of_several_starts_the_best_end_counts(candidate_rows, make_problem):
    data = candidate_rows(300, 4)
    starts = [np.random.default_rng(seed).normal(scale=3, size=6) for seed in range(4)]
    ends = [gradient_search(make_problem(data), [start]) for start in starts]
    together = gradient_search(make_problem(data), starts)
    reached = [end.loss for end in ends if end.meets_target]
    assert together.meets_target
    # A single start that looks stuck gets a second chance, which several starts do not need.
    assert together.loss <= min(reached) + 1e-4


def test_the_box_is_kept_and_evaluations_are_counted(candidate_rows, make_problem):
    data = candidate_rows(60, 5, model=True)
    problem = make_problem(data, [*NO_WORSE, "accuracy >= 0.99"])
    seen, calls = [], 0
    look_at = problem.look_at

    def watched(theta):
        seen.append(theta.copy())
        return look_at(theta)

    def progress():
        nonlocal calls
        calls += 1

    problem.look_at = watched
    starts = [np.append(np.full(6, value), 1.0) for value in (0.0, 0.5)]
    problem.progress = progress
    gradient_search(problem, starts)
    low, high = problem.policy.box
    assert all(((low <= theta) & (theta <= high)).all() for theta in seen)
    # Three searches for a small loss and one for a great chance to pass.
    assert problem.evaluations <= 4 * (MOST_EVALUATIONS + 2)
    assert calls >= problem.evaluations


def test_the_same_search_twice_is_the_same(candidate_rows, make_problem):
    data = candidate_rows(200, 6)
    found = [gradient_search(make_problem(data), [np.zeros(6)]) for _ in range(2)]
    np.testing.assert_array_equal(found[0].theta, found[1].theta)


def test_units_of_the_impact_do_not_matter(candidate_rows, make_problem):
    losses = []
    for scale in (1e-6, 1.0, 1e6):
        data = candidate_rows(300, 7)
        data.impacts["impact"] = data.impacts["impact"] * scale
        found = gradient_search(make_problem(data), [np.zeros(6)])
        assert found.meets_target
        losses.append(found.loss)
    np.testing.assert_allclose(losses, losses[1], atol=2e-5)

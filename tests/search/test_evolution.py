"""The paper's search: its cost, and CMA-ES on it."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.search import Target, evolution
from elfair.search.evolution import cmaes_search, paper_cost
from elfair.search.gradient import fit_log_loss, gradient_search
from elfair.statistics import Estimation

PAPER = Target(inflation=2.0)


def population(problem, size=30, scale=2.0):
    rng = np.random.default_rng(0)
    return scale * rng.normal(size=(size, problem.policy.n_parameters))


@pytest.mark.parametrize("bound", ["ttest", "anderson"])
def test_the_cost_is_the_loss_or_the_maximum_and_what_is_missing(
    candidate_rows, make_problem, bound
):
    constraints = ["PR[T == 0] <= 0.6", "PR[T == 1] >= 0.15", "accuracy >= 0.3"]
    problem = make_problem(candidate_rows(400, 0), constraints, target=PAPER, bound=bound)
    thetas = population(problem)
    costs = paper_cost(problem, thetas)
    kinds = set()
    for theta, cost in zip(thetas, costs, strict=True):
        seen = problem.look_at(theta)
        missing = np.maximum(seen.excess, 0)
        if (seen.excess <= 0).all():
            assert cost == pytest.approx(seen.loss)
        else:
            assert cost == pytest.approx(1.0 + missing.sum())
        kinds.add((bool(missing.any()), bool((seen.excess < -0.1).any())))
    # Some are feasible, and some miss one constraint while another is comfortable.
    assert {(False, True), (True, True)} <= kinds


def test_a_comfortable_constraint_does_not_pay_for_a_violated_one(candidate_rows, make_problem):
    data = candidate_rows(400, 0)
    hard = make_problem(data, "PR <= 0.05", target=PAPER)
    both = make_problem(data, ["PR <= 0.05", "E[impact] >= -50"], target=PAPER)
    theta = np.zeros((1, 6))
    theta[0, 0] = 0.5
    assert both.look_at(theta[0]).excess[1] < -10
    np.testing.assert_allclose(paper_cost(hard, theta), paper_cost(both, theta))
    assert paper_cost(both, theta)[0] > both.loss.maximum


def test_every_infeasible_policy_costs_more_than_every_feasible_one(candidate_rows, make_problem):
    for objective in ("accuracy", "log_loss"):
        problem = make_problem(
            candidate_rows(400, 1), "PR <= 0.5", target=PAPER, objective=objective
        )
        thetas = population(problem, 60)
        costs = paper_cost(problem, thetas)
        feasible = np.array([problem.look_at(theta).excess[0] <= 0 for theta in thetas])
        assert 0 < feasible.sum() < 60
        assert costs[feasible].max() <= problem.loss.maximum <= costs[~feasible].min()


def test_without_constraints_the_cost_is_the_loss(candidate_rows, make_problem):
    problem = make_problem(candidate_rows(100, 1), [])
    thetas = population(problem)
    np.testing.assert_allclose(
        paper_cost(problem, thetas), [problem.look_at(theta).loss for theta in thetas]
    )


@pytest.mark.parametrize("estimator", ["is", "paired"])
def test_cmaes_and_gradients_end_at_the_same_loss(candidate_rows, make_problem, estimator):
    data = candidate_rows(2000, 3)
    options = {"target": PAPER, "estimation": Estimation(estimator)}
    problem = make_problem(data, **options)
    start = fit_log_loss(problem.policy, problem.inputs, data.label_index)
    evolved = cmaes_search(problem, start, seed=1)
    descended = gradient_search(make_problem(data, **options), [start, start / 2])
    assert (evolved.excess <= 0).all()
    assert evolved.meets_target
    assert descended.meets_target
    assert abs(evolved.loss - descended.loss) < 0.004


@pytest.mark.parametrize("seed", range(4))
def test_the_best_policy_ever_seen_is_returned(candidate_rows, make_problem, monkeypatch, seed):
    monkeypatch.setattr(evolution, "MOST_GENERATIONS", 12)  # long before all look the same
    data = candidate_rows(300, 4)
    problem = make_problem(data, target=PAPER)
    free = problem.policy.free

    class Watched:
        def __getattr__(self, name):
            return getattr(policy, name)

        def free(self, theta, inputs):
            if theta.ndim == 2:
                watched.append(theta)
            return free(theta, inputs)

    policy, watched = problem.policy, []
    problem.policy = Watched()
    found = cmaes_search(problem, np.zeros(6), seed=seed)
    generations = list(watched)
    # Whole populations at once, the size of which CMA-ES chooses: 4 + 3 ln 6.
    assert {len(thetas) for thetas in generations} == {9}
    assert len(generations) == 12
    least = min(float(paper_cost(problem, thetas).min()) for thetas in generations)
    assert paper_cost(problem, found.theta[None])[0] == least


def test_the_seed_decides_and_numpys_own_generator_is_left_alone(candidate_rows, make_problem):
    data = candidate_rows(150, 5)

    def search(seed):
        return cmaes_search(make_problem(data, target=PAPER), np.zeros(6), seed=seed).theta

    np.random.seed(7)
    before = np.random.get_state()[1].copy()
    first = search(3)
    assert (np.random.get_state()[1] == before).all()
    np.random.seed(8)
    np.testing.assert_array_equal(search(3), first)
    assert (search(4) != first).any()
    assert search(2**32 + 3) == pytest.approx(first)  # any whole number is a seed


def test_the_box_is_kept(candidate_rows, make_problem):
    problem = make_problem(candidate_rows(150, 5, model=True), target=PAPER)
    start = np.append(np.zeros(6), 1.0)
    found = cmaes_search(problem, start, seed=0)
    low, high = problem.policy.box
    assert ((low <= found.theta) & (found.theta <= high)).all()

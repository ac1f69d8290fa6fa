"""The paper's search: CMA-ES on its cost (algorithms 2 and 4), a whole population at a time."""

from __future__ import annotations

import numpy as np

from elfair.records.progress import parts
from elfair.search.problem import Candidate, Problem
from elfair.types import Floats

#: The first step, as a share of the largest parameter (0.3 for a softmax), and when to stop.
FIRST_STEP = 0.006
MOST_GENERATIONS = 150


def paper_cost(problem: Problem, population: Floats) -> Floats:
    """The paper's cost of each model of a population.

    A model that meets every requirement costs its loss. Any other costs the largest possible loss
    plus the sum of the *positive* parts of its predicted bounds: room in one constraint must not
    pay for the violation of another (the paper's algorithm 4 adds them all).

    Parameters
    ----------
    problem : Problem
        How candidate rows judge models.
    population : ndarray of shape (size, n_parameters)
        The parameters of one model in each row.

    Returns
    -------
    ndarray of shape (size,)
    """
    free = problem.policy.free(population, problem.inputs)
    loss = problem.loss.value(free)
    if not problem.requirements:
        return loss
    excess = np.array([requirement.excess(free) for requirement in problem.requirements])
    infeasible = problem.loss.maximum + np.maximum(excess, 0.0).sum(axis=0)
    return np.where((excess <= 0).all(axis=0), loss, infeasible)


def cmaes_search(problem: Problem, start: Floats, *, seed: int) -> Candidate:
    """The model of least cost that CMA-ES finds.

    Parameters
    ----------
    problem : Problem
        How candidate rows judge models.
    start : ndarray
        Parameters to start from.
    seed : int
        Seed of the search.

    Returns
    -------
    Candidate
    """
    from cmaes import CMA

    low, high = problem.policy.box
    optimizer = CMA(
        mean=np.clip(start, low, high),
        sigma=FIRST_STEP * float(high.max()),
        bounds=np.column_stack([low, high]),
        seed=seed % 2**32,
    )
    best, least = start, np.inf
    for _ in parts(range(MOST_GENERATIONS)):
        population = np.array([optimizer.ask() for _ in range(optimizer.population_size)])
        costs = paper_cost(problem, population)
        optimizer.tell(list(zip(population, costs.tolist(), strict=True)))
        if costs.min() < least:
            best, least = population[int(costs.argmin())], float(costs.min())
        problem.progress()
        if optimizer.should_stop():
            break
    return problem.look_at(best)

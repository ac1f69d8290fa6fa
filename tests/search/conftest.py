"""Candidate rows of the foster-care-like population, and the search's view of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from elfair import LoggedData
from elfair.policies import SoftmaxPolicy
from elfair.populations import FosterCare
from elfair.search import Problem, Target
from elfair.search.goals import PredictLabel
from elfair.search.requirements import requirements_of
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan


@pytest.fixture
def candidate_rows() -> Callable[..., LoggedData]:
    def make(
        n: int, seed: int, *, alpha: float = 0.9, model: bool = False, features: int = 5
    ) -> LoggedData:
        population = FosterCare(alpha=alpha)
        draw = population.sample(n, seed)
        how: dict[str, Any] = {"propensity": draw.propensity}
        if model:
            how = {"behavior": population.behavior}
        return LoggedData(
            draw.features[:, :features],
            draw.label,
            sensitive_features={"T": draw.group},
            decision=draw.decision,
            impact=draw.impact,
            **how,
        )

    return make


@pytest.fixture
def make_plan() -> Callable[..., Plan]:
    def make(
        data: LoggedData,
        constraints: str | Sequence[str] = tuple(FosterCare().constraints),
        *,
        bound: str = "ttest",
        estimation: Estimation | None = None,
    ) -> Plan:
        baselines = Baselines(estimation or Estimation(), data)
        return Plan.make(read_constraints(constraints, 0.1), bound, baselines, data)

    return make


@pytest.fixture
def make_problem(make_plan: Callable[..., Plan]) -> Callable[..., Problem]:
    def make(
        data: LoggedData,
        *arguments: Any,
        target: Target | None = None,
        objective: str = "accuracy",
        test_ratio: float = 2 / 3,
        **options: Any,
    ) -> Problem:
        mixed = data.behavior_model is not None
        policy = SoftmaxPolicy.standardised(data.features, data.classes.size, mixed=mixed)
        compiled = make_plan(data, *arguments, **options).compile(data)
        return Problem(
            policy,
            policy.inputs(data.features, data.behavior),
            PredictLabel(objective).loss(data),
            requirements_of(compiled, target or Target(power=0.95), test_ratio),
        )

    return make


@pytest.fixture
def three_classes() -> LoggedData:
    rng = np.random.default_rng(8)
    n = 90
    table = rng.dirichlet(np.full(3, 2.0), size=n)
    decision = (rng.random(n)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    return LoggedData(
        rng.normal(size=(n, 2)),
        rng.integers(0, 3, n),
        sensitive_features={"T": rng.integers(0, 2, n)},
        decision=decision,
        propensity=table[np.arange(n), decision],
        impact=rng.normal(1, 1, n),
        positive=2,
    )

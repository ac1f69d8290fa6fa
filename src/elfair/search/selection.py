"""Models lined up for the test, from one that is likely to pass to one that dares more.

They are tested in this order, which held-out rows had no part in, until one fails; the last that
passed is let out. For that no level needs correction (fixed-sequence testing; Angelopoulos, Bates,
Candes, Jordan and Lei 2021 use it to tune a predictor): a model that violates a constraint is let
out only if the *first* such model in line passes its test, and that test errs with probability
delta. So the margin that makes one model likely to pass no longer costs accuracy: where the test
turns out to have room, the next models use it.

Candidate selection: from candidate rows and a plan of the test to the policy to be tested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.policies import Policy
from elfair.search.evolution import cmaes_search
from elfair.search.forecast import forecast
from elfair.search.gradient import gradient_path, gradient_search
from elfair.search.loss import Loss
from elfair.search.prediction import Belief, Requirement
from elfair.search.problem import Candidate, Problem
from elfair.search.targets import Target
from elfair.search.task import Task
from elfair.statistics.beyond_the_mean import settle
from elfair.statistics.plan import CompiledClaim, Plan
from elfair.types import Floats


class Found(NamedTuple):
    """What a search puts forward.

    Parameters
    ----------
    candidates : list of Candidate
        One for each target that was asked for, the most demanding first.
    evaluations : int
        How many policies were looked at.
    problem : Problem
        What candidate rows say of a policy.
    """

    candidates: list[Candidate]
    evaluations: int
    problem: Problem


class Lineup(NamedTuple):
    """Policies in the order in which they are to be tested.

    Parameters
    ----------
    policy : Policy
        Their family. (Typed Any: whoever asked for a family knows what its policies can do.)
    thetas : list of ndarray
        Their parameters, the most likely to pass first.
    found : Found
        Where they come from.
    """

    policy: Any
    thetas: list[Floats]
    found: Found

    @property
    def losses(self) -> list[float]:
        """The loss of each policy on candidate rows."""
        return [self.found.problem.loss_at(theta) for theta in self.thetas]

    @classmethod
    def of(cls, policy: Any, found: Found, count: int) -> Lineup:
        """The candidates of a search, and models between them: ``count`` in all, where there is
        more than one candidate.
        """
        ends = np.array([candidate.theta for candidate in in_order(found.candidates)])
        places = np.linspace(0, len(ends) - 1, count if len(ends) > 1 else 1)
        before = np.minimum(places.astype(int), max(0, len(ends) - 2))
        after = np.minimum(before + 1, len(ends) - 1)
        share = (places - before)[:, None]
        return cls(policy, list((1 - share) * ends[before] + share * ends[after]), found)


def in_order(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that are worth a test after the ones before them: less likely to pass, and
    better by the objective.
    """
    kept = [candidates[0]]
    for candidate in candidates[1:]:
        dares = candidate.log_pass < kept[-1].log_pass and candidate.loss < kept[-1].loss
        if candidate.meets_target and dares:
            kept.append(candidate)
    return kept


Method = Literal["gradient", "cmaes", "steps"]

#: The gradient search explores on at most this many rows, and finishes on all of them.
EXPLORED_ROWS = 5_000
#: How precisely it finishes: the loss of so many rows is not known any better.
ROUGHLY = 1e-5
#: How precisely the ends of a line of models are found: the next in line is further away.
ROUGHER = 1e-4
#: How often points are chosen and a policy is searched for them, where a claim needs points.
ROUNDS = 3


@dataclass(frozen=True)
class Selection:
    """How candidates are looked for.

    Parameters
    ----------
    method : {"gradient", "cmaes", "steps"}
        Constrained gradient search, the paper's CMA-ES, or what `Steps` does.
    task : Task
        What it is for: the family of policies, the objective, the starts.
    target : Target
        How far inside the constraints a candidate is to be.
    seed : int
        Seed of whatever is random in the search.
    """

    method: Method
    task: Task
    target: Target
    seed: int

    def run(
        self,
        data: LoggedData,
        plan: Plan,
        n_test: int,
        progress: Callable[[], None] = lambda: None,
        *,
        n_error: int | None = None,
    ) -> tuple[Policy, Candidate, int]:
        """Find the policy to be tested.

        Parameters
        ----------
        data : LoggedData
            Candidate rows.
        plan : Plan
            What will be tested.
        n_test : int
            On how many rows.
        progress : callable
            Called now and then.
        n_error : int, optional
            Rows whose average errs as much as the prediction; see `Requirement`.

        Returns
        -------
        policy : Policy
        candidate : Candidate
        evaluations : int
        """
        policy, found = self._run(data, plan, n_test, progress, n_error, [self.target])
        return policy, found.candidates[0], found.evaluations

    def line_up(
        self,
        data: LoggedData,
        plan: Plan,
        n_test: int,
        count: int,
        progress: Callable[[], None] = lambda: None,
        *,
        n_error: int | None = None,
    ) -> Lineup:
        """Find the policies to be tested in turn.

        Parameters
        ----------
        count : int
            How many, at most. CMA-ES, and a search for a module, find a single one.
        data, plan, n_test, progress, n_error
            See `run`.
        """
        targets = [self.target, *self.target.daring] if count > 1 else [self.target]
        return Lineup.of(*self._run(data, plan, n_test, progress, n_error, targets), count)

    def _run(
        self,
        data: LoggedData,
        plan: Plan,
        n_test: int,
        progress: Callable[[], None],
        n_error: int | None,
        targets: Sequence[Target],
    ) -> tuple[Policy, Found]:
        self.task.check(data)
        policy = self.task.policy(data)
        changing = bool(plan.statistics) or self.task.at(data, None) is not self.task
        if plan.is_settled and not changing:
            return policy, self._searched(policy, data, plan, n_test, progress, n_error, targets)
        # Points and policies by turns: for given points claims and objective are about averages,
        # and the policy that is found then has points of its own.
        inputs = policy.logged(data)
        theta, evaluations, known = self.task.best(policy, inputs, data), 0, list[Floats]()
        rounds = ROUNDS if changing else 1
        for turn in range(rounds):
            free = policy.free(theta, inputs)
            search = replace(self, task=self.task.at(data, free))
            settled = settle(plan, data, free, n_test)
            wanted = targets if turn == rounds - 1 else targets[:1]
            found = search._searched(
                policy, data, settled, n_test, progress, n_error, wanted, known
            )
            theta, evaluations = found.candidates[0].theta, evaluations + found.evaluations
            known = [theta]
        return policy, found._replace(evaluations=evaluations)

    def _searched(
        self,
        policy: Policy,
        data: LoggedData,
        plan: Plan,
        n_test: int,
        progress: Callable[[], None],
        n_error: int | None,
        targets: Sequence[Target],
        known: Sequence[Floats] = (),
    ) -> Found:
        """The best policies for one plan, which has no statistics beyond the mean."""
        view = _View(self, policy, data, plan, n_test, n_error=n_error)
        if self.method == "cmaes":
            problem = view.problem()
            start = known[0] if known else view.best
            best = cmaes_search(problem, start, seed=self.seed, progress=progress)
            return Found([best], problem.evaluations, problem)
        if data.n > 2 * EXPLORED_ROWS:
            some = np.sort(np.random.default_rng(self.seed).choice(data.n, EXPLORED_ROWS, False))
            explored = _View(self, policy, data.take(some), plan, n_test, data.n, n_error)
            with suppress(DataError):  # a condition that too few of these rows meet
                first = explored.search(targets, known, progress)
                view.best = explored.best  # good enough to smooth so many labels
                found = view.finish(targets, first.candidates, progress)
                return found._replace(evaluations=first.evaluations + found.evaluations)
        return view.search(targets, known, progress)


@dataclass
class _View:
    """Some candidate rows, which may stand for more."""

    selection: Selection
    policy: Policy
    data: LoggedData
    plan: Plan
    n_test: int
    n_candidate: int | None = None
    n_error: int | None = None

    @cached_property
    def inputs(self) -> Any:
        return self.policy.logged(self.data)

    def problem(self) -> Problem:
        """The paper's problem: labels and averages as they are."""
        loss = self.selection.task.loss(self.data)
        return self._problem(loss, self.plan.compile(self.data))

    def smooth_problem(self, starts: Sequence[Floats]) -> Problem:
        """The problem with less luck in it: labels smoothed, averages forecast."""
        model = self.policy.free(self.best, self.inputs)
        loss = self.selection.task.loss(self.data, model)
        compiled = self.plan.compile(self.data)
        if self.selection.target.power is None:
            return self._problem(loss, compiled)
        policies = [self.policy.free(start, self.inputs) for start in starts]
        return self._problem(loss, compiled, forecast(self.plan, compiled, self.data, policies))

    def _problem(
        self,
        loss: Loss,
        compiled: Sequence[CompiledClaim],
        beliefs: Sequence[Sequence[Belief]] | None = None,
    ) -> Problem:
        n, target = self.data.n, self.selection.target
        ratios = self.n_test / n, (self.n_candidate or n) / n
        error = None if self.n_error is None else self.n_error / n
        if beliefs is None:
            requirements = [
                Requirement(claim, target, *ratios, error_ratio=error) for claim in compiled
            ]
        else:
            p = self.policy.n_parameters
            requirements = [
                Requirement(
                    claim, target, *ratios, beliefs=belief, n_parameters=p, error_ratio=error
                )
                for claim, belief in zip(compiled, beliefs, strict=True)
            ]
        return Problem(self.policy, self.inputs, loss, requirements)

    @cached_property
    def best(self) -> Floats:
        """The policy that is best by the objective, whatever it does to the constraints."""
        return self.selection.task.best(self.policy, self.inputs, self.data)

    def starts(self) -> Sequence[Floats]:
        return self.selection.task.starts(self.policy, self.inputs, self.data, self.best)

    def search(
        self, targets: Sequence[Target], known: Sequence[Floats], progress: Callable[[], None]
    ) -> Found:
        """The gradient search, from policies that are known already and from the usual starts."""
        if len(targets) > 1:
            start = known[0] if known else self.best
            task, rows = self.selection.task, (self.policy, self.inputs, self.data)
            likely = task.likely(*rows, start)
            problem = self.smooth_problem(likely)
            found = gradient_path(problem, likely, self.starts, targets, ROUGHER, progress)
        else:
            starts = [*known, *self.starts()]
            problem = self.smooth_problem(starts)
            found = [gradient_search(problem, starts, progress=progress)]
        return Found(found, problem.evaluations, problem)

    def finish(
        self,
        targets: Sequence[Target],
        near: Sequence[Candidate],
        progress: Callable[[], None],
    ) -> Found:
        """The same from policies that are near the best ones, one for each target."""
        problem, found = self.smooth_problem([near[0].theta]), []
        for target, start in reversed(list(zip(targets, near, strict=True))):
            problem.aim(target)
            found.append(
                gradient_search(problem, [start.theta], precision=ROUGHLY, progress=progress)
            )
        return Found(found[::-1], problem.evaluations, problem)

"""Candidate selection: from candidate rows and a plan of the test to the models to be tested.

The margin that makes one model likely to pass costs accuracy. So the search also finds less
cautious models. They form a ladder and are tested in turn, most cautious first: if the test turns
out to have room, the later models use it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.search.evolution import cmaes_search
from elfair.search.gradient import gradient_path, gradient_search
from elfair.search.prediction import Target
from elfair.search.problem import Candidate, Problem, Progress, Task, silent
from elfair.search.requirements import requirements_of
from elfair.search.shrinkage import shrunk_means
from elfair.search.steps import steps_search
from elfair.statistics.plan import Plan
from elfair.statistics.settling import settle
from elfair.types import Booleans, Floats

#: The gradient search explores on at most this many rows, and finishes on all of them.
EXPLORED_ROWS = 5_000
#: How precisely it finishes: the loss of so many rows is not known any better.
ROUGHLY = 1e-5
#: How precisely the candidates for a ladder are found: its models are further apart.
ROUGHER = 1e-4
#: How often points are chosen and a policy is searched for them, if a claim needs points.
ROUNDS = 3
#: Seconds of silence before any progress is shown.
PATIENCE = 2.0
#: Each combination is searched on all but one of these folds, and judged on that one.
TUNING_FOLDS = 3


@dataclass(frozen=True)
class Found:
    """What a search found.

    Parameters
    ----------
    candidates : list of Candidate
        One for each target, the most demanding first.
    evaluations : int
        How many models were evaluated.
    problem : Problem
        How candidate rows judge models.
    models : int, default 1
        How many models the ladder may have.
    """

    candidates: list[Candidate]
    evaluations: int
    problem: Problem
    models: int = 1

    @property
    def policy(self) -> Any:
        """The family of models. (Typed Any: callers know what the policies of a family can do.)"""
        return self.problem.policy

    @property
    def best(self) -> Candidate:
        """The best candidate for the most demanding target."""
        return self.candidates[0]

    @cached_property
    def ladder(self) -> list[Floats]:
        """The parameters of the models to test in turn, the most cautious first: the candidates
        that are worth a test, and models between them.
        """
        ends = np.array([candidate.theta for candidate in worth_testing(self.candidates)])
        places = np.linspace(0, len(ends) - 1, self.models if len(ends) > 1 else 1)
        before = np.minimum(places.astype(int), max(0, len(ends) - 2))
        after = np.minimum(before + 1, len(ends) - 1)
        share = (places - before)[:, None]
        return list((1 - share) * ends[before] + share * ends[after])

    @property
    def losses(self) -> list[float]:
        """The loss of each model of the ladder on candidate rows."""
        return [self.problem.loss_at(theta) for theta in self.ladder]


def worth_testing(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that are worth a test after the ones before them: each is less likely to pass
    and has a smaller loss.
    """
    kept = [candidates[0]]
    for candidate in candidates[1:]:
        less_cautious = candidate.log_pass < kept[-1].log_pass and candidate.loss < kept[-1].loss
        if candidate.meets_target and less_cautious:
            kept.append(candidate)
    return kept


@dataclass(frozen=True)
class Selection:
    """How to search for candidates.

    Parameters
    ----------
    method : str
        The name of a search in `SEARCHES`.
    task : Task
        What the search is for: the family of models, the objective, the starts.
    target : Target
        How far inside its constraints a candidate must be.
    seed : int
        Seed of everything random in the search.
    """

    method: str
    task: Task
    target: Target
    seed: int

    def run(
        self,
        data: LoggedData,
        plan: Plan,
        n_test: int,
        *,
        models: int = 1,
        n_error: int | None = None,
        progress: Progress = silent,
    ) -> Found:
        """Search for the models to test.

        Parameters
        ----------
        data : LoggedData
            Candidate rows.
        plan : Plan
            What will be tested.
        n_test : int
            The number of test rows.
        models : int, default 1
            The most models to test in turn. Some searches find a single one.
        n_error : int, optional
            The number of rows whose average errs as much as the prediction; see `Requirement`.
        progress : callable
            Called now and then.
        """
        targets = [self.target, *self.target.less_cautious] if models > 1 else [self.target]
        view = View(self, self.task.policy(data), data, plan, n_test, n_error, progress)
        return replace(self._found(view, targets), models=models)

    def _found(self, view: View, targets: Sequence[Target]) -> Found:
        data, plan = view.data, view.plan
        changing = bool(plan.statistics) or self.task.at(data, None) is not self.task
        if not changing:
            return view.found(targets)
        # Points and policies take turns: for given points, claims and objective are about averages,
        # and the policy found for them then has points of its own.
        theta, evaluations, known = view.best, 0, list[Floats]()
        for turn in range(ROUNDS):
            free = view.policy.free(theta, view.inputs)
            search = replace(self, task=self.task.at(data, free))
            settled = replace(view, selection=search, plan=settle(plan, data, free, view.n_test))
            found = settled.found(targets if turn == ROUNDS - 1 else targets[:1], known)
            theta, evaluations = found.best.theta, evaluations + found.evaluations
            known = [theta]
        return replace(found, evaluations=evaluations)


@dataclass
class View:
    """Some candidate rows, which may stand for more, and a plan about averages on them."""

    selection: Selection
    policy: Any
    data: LoggedData
    plan: Plan
    n_test: int
    n_error: int | None
    progress: Progress
    n_candidate: int | None = None

    @cached_property
    def inputs(self) -> Any:
        """The rows in the form that the policy works on."""
        return self.policy.logged(self.data)

    @cached_property
    def best(self) -> Floats:
        """The best model by the objective, regardless of constraints."""
        return self.selection.task.best(self.policy, self.inputs, self.data)

    def starts(self) -> Sequence[Floats]:
        """Where a search begins, the best model first."""
        return self.selection.task.starts(self.policy, self.inputs, self.data, self.best)

    def found(self, targets: Sequence[Target], known: Sequence[Floats] = ()) -> Found:
        """The best models by the method of the selection, starting from known models, if any."""
        return SEARCHES[self.selection.method].run(self, targets, known)

    def by_steps(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """One target: training more models takes too long."""
        best, problem = steps_search(self, targets[0], known)
        return Found([best], problem.evaluations, problem)

    def by_evolution(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """One target, that of the selection, on rows and labels as they are."""
        problem, start = self._problem(), known[0] if known else self.best
        best = cmaes_search(problem, start, seed=self.selection.seed)
        return Found([best], problem.evaluations, problem)

    def by_gradients(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """All targets; with many rows, first on some of them."""
        n = self.data.n
        if n > 2 * EXPLORED_ROWS:
            rng = np.random.default_rng(self.selection.seed)
            some = np.sort(rng.choice(n, EXPLORED_ROWS, False))
            explored = replace(self, data=self.data.take(some), n_candidate=n)
            with suppress(DataError):  # a condition that too few of these rows meet
                first = explored._searched(targets, known)
                self.best = explored.best  # good enough to smooth so many labels
                found = self._finished(targets, first.candidates)
                return replace(found, evaluations=first.evaluations + found.evaluations)
        return self._searched(targets, known)

    def _searched(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """The gradient search, from known models and from the usual starts."""
        if len(targets) > 1:
            start, task = known[0] if known else self.best, self.selection.task
            likely = task.likely(self.policy, self.inputs, self.data, start)
            problem = self._smooth_problem(likely)
            found = gradient_path(problem, likely, self.starts, targets, ROUGHER)
        else:
            starts = [*known, *self.starts()]
            problem = self._smooth_problem(starts)
            found = [gradient_search(problem, starts)]
        return Found(found, problem.evaluations, problem)

    def _finished(self, targets: Sequence[Target], near: Sequence[Candidate]) -> Found:
        """The gradient search from models near the best ones, one for each target."""
        problem, found = self._smooth_problem([near[0].theta]), []
        for target, start in reversed(list(zip(targets, near, strict=True))):
            problem.aim(target)
            found.append(gradient_search(problem, [start.theta], precision=ROUGHLY))
        return Found(found[::-1], problem.evaluations, problem)

    def _smooth_problem(self, starts: Sequence[Floats]) -> Problem:
        """The problem with less luck in it: smoothed labels and shrunk means."""
        model = self.policy.free(self.best, self.inputs)
        if self.selection.target.power is None:
            return self._problem(model)
        return self._problem(model, [self.policy.free(start, self.inputs) for start in starts])

    def _problem(
        self, model: Floats | None = None, policies: Sequence[Floats] | None = None
    ) -> Problem:
        """The problem on these rows; the paper's has labels and averages as they are."""
        n, compiled = self.data.n, self.plan.compile(self.data)
        options: dict[str, Any] = {}
        if policies is not None:
            options["shrunk"] = shrunk_means(self.plan, compiled, self.data, policies)
            options["n_parameters"] = self.policy.n_parameters
        if self.n_error is not None:
            options["error_ratio"] = self.n_error / n
        ratios = self.n_test / n, (self.n_candidate or n) / n
        requirements = requirements_of(compiled, self.selection.target, *ratios, **options)
        loss = self.selection.task.loss(self.data, model)
        return Problem(self.policy, self.inputs, loss, requirements, self.progress)


@dataclass(frozen=True)
class Search:
    """A way to find models.

    Parameters
    ----------
    run : callable
        From a `View`, targets and known models to what was found.
    about : str
        What it is, in a few words.
    asked : bool, default True
        Whether users can ask for it by name.
    slow : bool, default False
        Whether `check` and `plan_rows` forecast with the default search instead.
    trains : str, optional
        The search that runs instead if the policy is a torch module.
    most : float, default inf
        The most parameters of a torch module that it can search.
    """

    run: Callable[[View, Sequence[Target], Sequence[Floats]], Found]
    about: str
    asked: bool = True
    slow: bool = False
    trains: str = ""
    most: float = inf


#: Every search by name; the first is the default.
SEARCHES = {
    "gradient": Search(View.by_gradients, "sequential quadratic programming", trains="steps"),
    # CMA-ES keeps a matrix of parameters by parameters, and needs about as many generations.
    "cmaes": Search(View.by_evolution, "the paper's", slow=True, most=200),
    "steps": Search(View.by_steps, "constrained gradient steps", asked=False),
}
DEFAULT = next(iter(SEARCHES))
#: The searches that users can ask for.
ASKED = tuple(name for name, search in SEARCHES.items() if search.asked)


def tune(
    grid: Mapping[str, Sequence[Any]],
    candidate: LoggedData,
    n_test: int,
    make: Callable[[Mapping[str, Any], LoggedData], tuple[Selection, Plan]],
    seed: int,
) -> dict[str, Any]:
    """The parameters of the grid that do best on rows their search did not see.

    Each combination is searched on all folds of the candidate rows but one, and judged on that one
    by how much of the objective it is expected to deliver: the predicted probability that all tests
    pass, times how far its loss is below the largest possible one.

    Parameters
    ----------
    grid : mapping of str to sequence
        The values to try for each parameter.
    candidate : LoggedData
        The candidate rows.
    n_test : int
        The number of test rows.
    make : callable
        Maps parameters and rows to a search and the plan of a test.
    seed : int
        Seed of the folds.

    Returns
    -------
    dict
        The best combination.
    """
    from sklearn.model_selection import ParameterGrid

    folds = np.random.default_rng(seed).permutation(candidate.n) % TUNING_FOLDS

    def worth(parameters: Mapping[str, Any]) -> float:
        halves = [folds == fold for fold in range(TUNING_FOLDS)]
        return float(
            np.mean([_delivered(make, parameters, candidate, half, n_test) for half in halves])
        )

    best: dict[str, Any] = max(ParameterGrid(dict(grid)), key=worth)
    return best


def _delivered(
    make: Callable[[Mapping[str, Any], LoggedData], tuple[Selection, Plan]],
    parameters: Mapping[str, Any],
    candidate: LoggedData,
    unseen: Booleans,
    n_test: int,
) -> float:
    seen, judged = (candidate.take(np.flatnonzero(rows)) for rows in (~unseen, unseen))
    selection, plan = make(parameters, seen)
    seen = selection.task.rows(seen)
    found = selection.run(seen, plan, n_test)
    policy, theta = found.policy, found.best.theta
    plan = settle(plan, seen, policy.free(theta, policy.logged(seen)), n_test)
    inputs = policy.logged(judged)
    loss = selection.task.at(judged, policy.free(theta, inputs)).loss(judged)
    requirements = requirements_of(plan.compile(judged), selection.target, n_test / judged.n)
    view = Problem(policy, inputs, loss, requirements).look_at(theta)
    return float(np.exp(view.log_pass)) * (loss.maximum - view.loss)


class SearchProgress:
    """Counts the steps of a search, and shows them on a terminal once it has taken a while.

    Examples
    --------
    >>> with SearchProgress("searching") as progress:
    ...     progress()
    >>> progress.steps
    1
    """

    def __init__(self, what: str) -> None:
        self.steps = 0
        self._what = what
        self._status: Any = None
        self._shown = sys.stderr.isatty()
        self._began = monotonic()

    def __call__(self) -> None:
        """Count one more step."""
        self.steps += 1
        if not self._shown or monotonic() - self._began < PATIENCE:
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(self._what)
            self._status.start()
        seconds = monotonic() - self._began
        self._status.update(f"{self._what}: {self.steps} steps, {seconds:.0f} s")

    def __enter__(self) -> SearchProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

"""Candidate selection: from candidate rows and a plan of the test to the models to be tested.

The margin that makes one model likely to pass costs accuracy. So the search also finds less
cautious models. They form a ladder and are tested in turn, most cautious first: if the test turns
out to have room, the later models use it (`elfair.search.ranking`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np

from elfair.data import LoggedData
from elfair.data.subsample import plain_rows
from elfair.data.units import some_rows
from elfair.errors import DataError
from elfair.policies.tree import TreePolicy
from elfair.records.progress import Progress, parts
from elfair.search.evolution import cmaes_search
from elfair.search.found import Found, Ranked
from elfair.search.gradient import gradient_path, gradient_search
from elfair.search.growing import ANCHORS, GAIN, MANY_ROWS, Everyone, growing_search
from elfair.search.judging import Judge, Judged, in_folds
from elfair.search.narrow import is_many, narrow_search
from elfair.search.prediction import Target
from elfair.search.problem import Candidate, Problem, Steps, Task, silent
from elfair.search.ranking import Effects, Kept, Ranking, between, first_of
from elfair.search.requirements import requirements_of
from elfair.search.shrinkage import shrunk_means
from elfair.search.steps import steps_search
from elfair.search.threads import one_thread
from elfair.search.trees import grown
from elfair.statistics import Baselines
from elfair.statistics.decisions import decisions_of
from elfair.statistics.plan import Plan
from elfair.statistics.settling import settle
from elfair.types import Floats, Index

#: The gradient search explores on at most this many rows, and finishes on all of them.
EXPLORED_ROWS = 5_000
#: How precisely it finishes: the loss of so many rows is not known any better.
ROUGHLY = 1e-5
#: How precisely the candidates for a ladder are found: its models are further apart.
ROUGHER = 1e-4
#: How often points are chosen and a policy is searched for them, if a claim needs points.
ROUNDS = 3
#: The share of a search's time until models are found, as far as progress is told; the rest ranks
#: them.
FINDING = 0.4
#: The ladder is made by at most this many rows.
RANKED_BY = 15_000


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

    @one_thread()
    def run(
        self,
        data: LoggedData,
        plan: Plan,
        n_test: int,
        *,
        models: int = 1,
        n_error: int | None = None,
        progress: Steps = silent,
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
        targets = self.target.of_ladder if models > 1 else [self.target]
        view = View(
            self,
            self.task.policy(data),
            data,
            plan,
            n_test,
            n_error,
            progress,
            for_ladder=len(targets) > 1,
        )
        with Progress(end=FINDING):
            view, found = self._found(view, targets)
        view = found.view or view
        # Of one model, too, other rows should say what to expect; where a search takes long, or
        # the test is about all rows, its own rows have to do.
        alone = models == 1 and self.method == DEFAULT and n_error is None
        if len(found.candidates) > 1 or alone:
            with Progress(start=FINDING):
                found = view.ranked(found, models)
        return replace(found, view=None, rows=view.data.n)

    def _found(self, view: View, targets: Sequence[Target]) -> tuple[View, Found]:
        """What is found, and the view of it in which all is about averages."""
        data, plan = view.data, view.plan
        changing = bool(plan.statistics) or self.task.at(data, None) is not self.task
        if not changing:
            return view, view.found(targets)
        # Points and policies take turns: for given points, claims and objective are about averages,
        # and the policy found for them then has points of its own.
        policy, theta, evaluations, known = view.policy, view.best, 0, list[Floats]()
        for turn in range(ROUNDS):
            free = policy.free(theta, policy.logged(data))
            search = replace(self, task=self.task.at(data, free))
            settled = replace(view, selection=search, plan=settle(plan, data, free, view.n_test))
            found = settled.found(targets if turn == ROUNDS - 1 else [self.target], known)
            policy, theta = found.policy, found.best.theta
            evaluations, known = evaluations + found.evaluations, [theta]
        return settled, replace(found, evaluations=evaluations)


class Repeated(NamedTuple):
    """What comes of a search that is repeated without a part of its rows.

    Parameters
    ----------
    kept : Kept
        How much of what it promises is kept on the rows left out.
    left_out : Effects, optional
        What these rows say about what was found, and about the simple model that looked best.
    optimism : float
        By how much the loss is larger there.
    evaluations : int
        How many models were evaluated.
    """

    kept: Kept
    left_out: Effects | None = None
    optimism: float = 0.0
    evaluations: int = 0


@dataclass
class View:
    """Some candidate rows, which may stand for more, and a plan about averages on them."""

    selection: Selection
    policy: Any
    data: LoggedData
    plan: Plan
    n_test: int
    n_error: int | None
    progress: Steps
    n_candidate: int | None = None
    for_ladder: bool = False
    everyone: Everyone | None = None

    @property
    def n(self) -> int:
        """How many rows there are, without those that were drawn of small groups alone."""
        return plain_rows(self.data)

    @cached_property
    def inputs(self) -> Any:
        """The rows in the form that the policy works on."""
        return self.policy.logged(self.data)

    @cached_property
    def best(self) -> Floats:
        """The best model by the objective, regardless of constraints."""
        task = self.selection.task
        return task.best(self.policy, self.inputs, self.data, self.progress)

    def starts(self) -> Sequence[Floats]:
        """Where a search begins, the best model first."""
        return self.selection.task.starts(self.policy, self.inputs, self.data, self.best)

    def found(self, targets: Sequence[Target], known: Sequence[Floats] = ()) -> Found:
        """The best models by the method of the selection, starting from known models, if any."""
        return SEARCHES[self.selection.method].run(self, targets, known)

    def ranked(self, found: Found, most: int) -> Found:
        """A ladder of at most so many models."""
        if found.policy is not self.policy:  # a tree, which has grown
            return replace(self, policy=found.policy).ranked(found, most)
        problem, luck = found.problem, self.n_test / self.n
        problem.aim(self.selection.target)
        fits, simple = (self._fits(), self._simple()) if most > 1 else ((), ())
        searched = between([*(each.theta for each in found.candidates), *fits[-1:]])
        every = [*searched, *fits, *simple]
        models, seen, effects = self._looked_at(problem, every, luck)
        losses = self._losses(self.data, found, every)
        repeated = Repeated(Kept.all_of_it(effects.size.shape[1]))
        if not effects.certain(self.policy.n_parameters, self.selection.target.factors.error):
            try:
                repeated = self._repeated(simple)
            except DataError:  # a group is too small to be divided once more
                repeated = Repeated(Kept.unknown(effects.size.shape[1]))
        losses[: len(searched)] += repeated.optimism
        ranking = Ranking(effects, losses, seen, len(searched), repeated.kept, repeated.left_out)
        evaluations = found.evaluations + repeated.evaluations
        return Ranked(
            found.candidates,
            evaluations,
            problem,
            models=models,
            ranking=ranking,
            most=most,
            # Where rows are many, a test of one more model takes long, too.
            gain=0.0 if self.everyone is None else GAIN,
        )

    def _fits(self) -> Sequence[Floats]:
        """Fits to labels without constraints, the sharpest last, and constant decisions, if rates
        alone are asked about: a search that is cautious because a group is small stops short of the
        former, and finds something worse than the latter.
        """
        if self._weighted or is_many(self.policy):
            return ()
        return self.selection.task.fits(self.policy, self.best)

    def _simple(self) -> Sequence[Floats]:
        """Models that follow a simple rule, if what the old model did matters."""
        if not self._weighted:
            return []
        compiled = self.plan.compile(self.data)
        return self.selection.task.simple(self.policy, self.inputs, self.data, compiled)

    def _looked_at(
        self, problem: Problem, thetas: Sequence[Floats], luck: float
    ) -> tuple[list[Candidate], Floats, Effects]:
        """Some models, and what the rows of a problem say about their tests."""
        models, seen, promised = [], [], []
        for theta in thetas:  # all at once: a problem remembers its last model only
            models.append(self._look_at(problem, theta))
            seen.append(problem.log_pass_by_claim(theta))
            promised.append(_promised(problem, theta, luck))
            self.progress()
        return models, np.array(seen), Effects.of(promised, luck)

    def _look_at(self, problem: Problem, theta: Floats) -> Candidate:
        """One model, by all rows if these are some of many."""
        everyone = self.everyone
        return problem.look_at(theta) if everyone is None else everyone.look_at(problem, theta)

    def _repeated(self, simple: Sequence[Floats]) -> Repeated:
        """The search, repeated without each part of the rows in turn; that part judges it, and the
        simple model that looks best on the others.
        """
        rows = self.data
        if rows.n > RANKED_BY:
            rows = rows.take(some_rows(rows, RANKED_BY, self.selection.seed))
        promised, judged, plain, optimism, evaluations = [], [], [], [], 0
        for seen, unseen in parts(list(in_folds(rows, self.selection.seed))):
            view, others = self._on(rows.take(seen)), rows.take(unseen)
            found = view.found([self.selection.target])
            if found.policy is not self.policy:  # another tree
                view = replace(view, policy=found.policy)
                simple = view._simple()
            theta, luck = found.best.theta, self.n_test / plain_rows(others)
            within = self.n_test / view.n
            promised.append(_promised(found.problem, theta, within))
            judge = Judge(self.plan, others, self.n_test)
            judged.extend(judge.of(view.policy, [theta]))
            if unsearched := [*view._fits(), *simple]:
                _, looks, effects = self._looked_at(found.problem, unsearched, within)
                best = first_of(looks, effects)
                plain.extend(judge.of(view.policy, [unsearched[best]]))
            before, after = (view._losses(each, found, [theta]) for each in (view.data, others))
            optimism.append(float(after[0] - before[0]))
            evaluations += found.evaluations
        effects = Effects.of(judged, luck)
        (size,), _, (variance,) = effects.over_folds
        kept = Kept.seen(Effects.of(promised, luck).size.mean(axis=0), size, variance)
        left_out = effects.over_folds.beside(Effects.of(plain or judged, luck).over_folds)
        return Repeated(kept, left_out, max(0.0, float(np.mean(optimism))), evaluations)

    def _on(self, rows: LoggedData) -> View:
        """The same on some of the rows alone."""
        baselines = Baselines(self.plan.baselines.estimation, rows)
        plan = replace(self.plan, baselines=baselines)
        return View(
            self.selection,
            self.policy,
            rows,
            plan,
            self.n_test,
            self.n_error,
            self.progress,
            for_ladder=self.for_ladder,
        )

    def _losses(self, rows: LoggedData, found: Found, thetas: Sequence[Floats]) -> Floats:
        """The loss of some models on some rows."""
        inputs = self.policy.logged(rows)
        best = self.policy.free(found.best.theta, inputs)
        loss = self.selection.task.judging_loss(rows, best)
        return np.array([float(loss.value(self.policy.free(theta, inputs))) for theta in thetas])

    @property
    def _weighted(self) -> bool:
        """Whether any claim depends on what the old model did."""
        return any(claim.weighted for claim in self.plan.compile(self.data))

    def by_steps(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """One target, that of the selection: training more models takes too long."""
        best, problem = steps_search(self, self.selection.target, known)
        return Found([best], problem.evaluations, problem)

    def by_evolution(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """One target, that of the selection, on rows and labels as they are."""
        problem, start = self._problem(), known[0] if known else self.best
        best = cmaes_search(problem, start, seed=self.selection.seed)
        return Found([best], problem.evaluations, problem)

    def by_gradients(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """All targets; for a tree, after its splits."""
        if isinstance(self.policy, TreePolicy):
            policy, start = grown(self)
            return replace(self, policy=policy)._explored(targets, [start])
        if is_many(self.policy):
            return self._narrowly(targets, known)
        return self._explored(targets, known)

    def _explored(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """All targets; with many rows, on as many of them as the answer gains from."""
        if self.data.n > MANY_ROWS and self.n_error is None:
            return growing_search(self, targets, known)
        return self.on_all(targets, known)

    def on_all(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """All targets, on all rows; if these are many, first on some of them."""
        n = self.data.n
        if n > 2 * EXPLORED_ROWS:
            some = self._some(EXPLORED_ROWS)
            explored = replace(self, data=self.data.take(some), n_candidate=n)
            with suppress(DataError):  # a condition that too few of these rows meet
                first = explored._searched(targets, known)
                self.best = explored.best  # good enough to smooth so many labels
                found = self._finished(targets, first.candidates)
                return replace(found, evaluations=first.evaluations + found.evaluations)
        return self._searched(targets, known)

    def on_some(
        self, targets: Sequence[Target], known: Sequence[Floats], near: Sequence[Candidate]
    ) -> Found:
        """All targets, on some of many rows: from models near the best ones, if there are any."""
        evaluations = 0
        if not near:
            first = self._searched(targets, known)
            near, evaluations = first.candidates, first.evaluations
        found = self._finished(targets, near)
        return replace(found, evaluations=evaluations + found.evaluations)

    def _narrowly(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """All targets; with many rows, on some of them, for there are few numbers to find."""
        if self.data.n > 2 * EXPLORED_ROWS:
            with suppress(DataError):  # a condition that too few of these rows meet
                some = self._some(2 * EXPLORED_ROWS)
                candidates, problem = narrow_search(self, some, targets, known)
                return Found(candidates, problem.evaluations, problem)
        candidates, problem = narrow_search(self, None, targets, known)
        return Found(candidates, problem.evaluations, problem)

    def _some(self, count: int) -> Index:
        """So many of the rows, drawn at random; of whole units."""
        return some_rows(self.data, count, self.selection.seed)

    def _searched(self, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
        """The gradient search, from known models and from the usual starts."""
        if self.for_ladder:
            start, task = known[0] if known else self.best, self.selection.task
            likely = task.likely(self.policy, self.inputs, self.data, start)
            problem = self.smooth_problem(self.best, likely)
            found = gradient_path(problem, likely, targets, ROUGHER)
        else:
            starts = [*known, *self.starts()]
            problem = self.smooth_problem(self.best, starts)
            found = [gradient_search(problem, starts)]
        return Found(found, problem.evaluations, problem)

    def _finished(self, targets: Sequence[Target], near: Sequence[Candidate]) -> Found:
        """The gradient search from models near the best ones, one for each target."""
        problem, found = self.smooth_problem(self.best, [near[0].theta]), list(near)
        for _ in range(1 if self.everyone is None else ANCHORS):
            if self.everyone is not None:
                wanted = targets.index(self.selection.target)
                self.everyone.anchor(problem, found[wanted].theta)
            starts, found = found, []
            for target, start in reversed(list(zip(targets, starts, strict=True))):
                problem.aim(target)
                found.append(gradient_search(problem, [start.theta], precision=ROUGHLY))
            found.reverse()
        return Found(found, problem.evaluations, problem)

    def smooth_problem(self, best: Floats, starts: Sequence[Floats]) -> Problem:
        """The problem with less luck in it: labels smoothed towards a model, and shrunk means."""
        model = self.policy.free(best, self.inputs)
        if self.selection.target.power is None:
            return self._problem(model)
        return self._problem(model, [self.policy.free(start, self.inputs) for start in starts])

    def problem_like(self, models: Sequence[Floats]) -> Problem:
        """The same, with the free numbers of models from elsewhere, the best one first."""
        return self._problem(models[0], None if self.selection.target.power is None else models)

    def _problem(
        self, model: Floats | None = None, policies: Sequence[Floats] | None = None
    ) -> Problem:
        """The problem on these rows; the paper's has labels and averages as they are."""
        n, compiled = self.n, self.plan.compile(self.data)
        options: dict[str, Any] = {}
        if policies is not None:
            options["shrunk"] = shrunk_means(self.plan, compiled, self.data, policies)
            options["n_parameters"] = self.policy.n_parameters
        if self.n_error is not None:
            options["error_ratio"] = self.n_error / n
        ratios = self.n_test / n, (self.n_candidate or n) / n
        requirements = requirements_of(compiled, self.selection.target, *ratios, **options)
        loss = self.selection.task.loss(self.data, model)
        judged = self.policy, self.inputs, loss, requirements, self.progress
        if policies is None or not self._weighted:
            return Problem(*judged)
        law = decisions_of(self.data).law()
        return Problem(*judged, moved=lambda free: law.weights(free).moved)


def _promised(problem: Problem, theta: Floats, luck: float) -> list[Judged]:
    """What the rows that were searched say about the tests of a model."""
    return [Judged.by(each.levels, luck) for each in problem.predictions(theta)]


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

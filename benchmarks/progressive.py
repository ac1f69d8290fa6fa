"""Progressive certification beside the ladder and cross-fitting: why elfair does not have it.

The rows come in a random order. The first are only searched on. The others are tested block by
block, each with a model searched on all rows before it. The mixture of these models is released, or
nothing. Given what is before it, a row is independent of the model that it tests, so the errors are
martingale differences.

* With constant stakes, one for each statement, the *final* wealth certifies the mixture for any
  number of rows: prod(1 - stake z_t) / prod(1 - stake g_t) is a martingale, and the denominator is
  at most exp(-stake sum g_t) <= 1 if the mixture violates the statement. Blocks count by their rows
  (rows outside a group bet nothing). Which statement is violated may depend on tested rows, so the
  deltas of the statements add up.
* With the t bound, the central limit theorem for martingales asks for more: the variance of later
  blocks must not depend on the luck of earlier ones. `stopping` shows what happens otherwise.

    python benchmarks/progressive.py            # hours; resumes what is in the store
    python benchmarks/progressive.py --print    # what there is so far, into docs/results.md
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from scipy.special import ndtri

from elfair import ELFClassifier, LoggedData
from elfair.bounds.betting import _AIMED
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.data.split import Fold, SealedHalf, Split, row_keys
from elfair.errors import DataError
from elfair.fairness_test.ladder import Ladder
from elfair.fairness_test.test import FairnessTest
from elfair.policies.models import Model
from elfair.populations import FosterCare
from elfair.search import Found, Selection, Target
from elfair.search.prediction import Factors
from elfair.statistics.plan import Plan
from pages import stamp, write_into
from worlds import WORLDS
from worlds_base import ROUNDING, Fitted
from worlds_people import DELTA, Floats, Version

STORE = Path(__file__).parents[1] / "build" / "progressive.jsonl"
#: The largest share of the wealth that one row may lose.
STAKE = 0.95
#: Draws of `stopping`.
DRAWS = 400_000


# -- one progressive fit -------------------------------------------------------------------------


@dataclass
class Progressive:
    """Progressive certification of what an estimator asks for.

    Parameters
    ----------
    burn_in : float
        The share of rows that are only searched on.
    blocks : int
        How many blocks the others make.
    steered : bool
        Whether each search knows how the test of earlier blocks went, and aims at what is left.
        (It may: these rows are before it.) Otherwise each aims at the whole test as if all blocks
        had its model.
    together : bool
        Whether the prediction and the test are taken to err together, as under cross-fitting.
    betting : bool
        Whether constant stakes are bet on each statement, instead of the guarded t bound.
    """

    burn_in: float = 0.3
    blocks: int = 5
    steered: bool = False
    together: bool = False
    betting: bool = False
    models: list[Model] = field(default_factory=list)

    def fit(self, data: LoggedData, clf: ELFClassifier) -> bool:
        """Search, test, and say whether the mixture is released."""
        request = clf.request(data)
        split = self._split(data, request.seed)
        selection, plans, found = request.selection(), list[Plan](), list[Found]()
        done = _Done()
        for fold in split.folds:
            # Stakes are fixed with the ends of rows, so these are learnt from the burn-in alone.
            again = self.betting and plans
            plans.append(plans[0] if again else request.plan(fold.candidate, data))
            search, plan, n_test, n_error = self._aim(selection, plans[-1], done, split, fold)
            found.append(search.run(fold.candidate, plan, n_test, n_error=n_error))
            self.models.append(Model(found[-1].policy, found[-1].best.theta))
            # From here on, these rows are among those before the next block.
            done.add(plans[-1], fold.sealed.open(), self.models[-1])
        if self.betting:
            return self._won(plans[0], split, done)
        ladders = [
            Ladder(each.policy, [each.best.theta], fold.candidate)
            for each, fold in zip(found, split.folds, strict=True)
        ]
        test = FairnessTest(split, tuple(plans), tuple(ladders))
        with patch("elfair.fairness_test.test.SHARED_ROWS", 1.0):
            return test.run().passed

    def probabilities(self, X: Floats) -> Floats:
        """The mixture."""
        every = [each.policy.probabilities(each.theta, X, None) for each in self.models]
        mixture: Floats = np.average(every, axis=0, weights=self._sizes)
        return mixture

    def _split(self, data: LoggedData, seed: int) -> Split:
        order = np.argsort(row_keys(data, seed))
        ends = np.linspace(round(self.burn_in * data.n), data.n, self.blocks + 1)
        ends = ends.round().astype(int)
        self._sizes = np.diff(ends)
        folds = [
            Fold(data.take(np.sort(order[:start])), SealedHalf(data.take(order[start:end])))
            for start, end in pairwise(ends)
        ]
        return Split("random", self.burn_in, seed, data, tuple(folds))

    def _aim(
        self, selection: Selection, plan: Plan, done: _Done, split: Split, fold: Fold
    ) -> tuple[Selection, Plan, float, float | None]:
        """The search, what it should meet, and its numbers of test rows and of error rows."""
        n, left, seen = split.n_tested, split.everyone.n - fold.candidate.n, fold.candidate.n
        n_test, n_error = float(n), split.everyone.n if self.together else None
        if self.steered:
            plan, n_error = done.added_to(plan, left / seen, fold.candidate), _both(left, seen)
            target = Steered(selection.target.power, rest=left / n)
            selection = replace(selection, target=target)
        if self.betting:
            # The search predicts bets that aim; constant stakes need sqrt(2 log(1 / delta)).
            delta = min(claim.delta for claim in plan.claims)
            n_error = n_error or _both(n, seen)
            n_test *= (_AIMED * float(ndtri(1 - delta))) ** 2 / (2 * log(1 / delta))
        return selection, plan, n_test, n_error

    def _won(self, plan: Plan, split: Split, done: _Done) -> bool:
        """Whether the final wealth of each statement's constant stake reaches 1 / delta.

        The stakes come from the burn-in, under the first model.
        """
        first, model = split.folds[0].candidate, self.models[0]
        free, ratio = model.free(first), split.n_tested / first.n
        for place, claim in enumerate(plan.compile(first)):
            (part,) = claim.parts
            values, level = part.rows.values(free), log(1 / claim.claim.delta)
            stake = sqrt(2 * level / (ratio * values.size * max(values.var(), 1e-12)))
            stake = min(stake, STAKE / part.rows.high)
            if np.log1p(-stake * np.concatenate(done.rows[place])).sum() < level:
                return False
        return True


def _both(n: float, m: float) -> float:
    """The number of rows whose average errs as much as the difference of two averages."""
    return 1 / (1 / n + 1 / m)


@dataclass(frozen=True)
class Steered(Target):
    """A target for the rest of a test: its mean counts as far as it is still open, the width of the
    bound as a whole.

    Parameters
    ----------
    rest : float
        The share of the test's rows that is left.
    """

    rest: float = 1.0

    @property
    def factors(self) -> Factors:
        """See `Target.factors`."""
        whole = super().factors
        return whole._replace(mean=self.rest - 1, error=self.rest * whole.error)


class _Done:
    """The rows of each statement in the blocks that are done."""

    def __init__(self) -> None:
        self.rows: dict[int, list[Floats]] = {}

    def add(self, plan: Plan, block: LoggedData, model: Model) -> None:
        free = model.free(block)
        for place, claim in enumerate(plan.compile(block)):
            (part,) = claim.parts
            self.rows.setdefault(place, []).append(part.rows.exact_values(free))

    def added_to(self, plan: Plan, ratio: float, seen: LoggedData) -> Plan:
        """The plan, with what is done added to the mean of the rest."""
        if not self.rows:
            return plan
        claims = []
        for place, compiled in enumerate(plan.compile(seen)):
            (part,), claim = compiled.parts, compiled.claim
            shift = float(np.concatenate(self.rows[place]).sum()) / (ratio * part.rows.index.size)
            if part.rows.low > -inf:  # a rate cannot be asked for more than it can reach
                shift = min(shift, -0.8 * part.rows.low)
            form = claim.conjunct.form
            form = replace(form, constant=form.constant + shift)
            claims.append(replace(claim, conjunct=replace(claim.conjunct, form=form)))
        return replace(plan, claims=tuple(claims))


# -- methods -------------------------------------------------------------------------------------


class Fit(NamedTuple):
    """Whether a model was released, and the probabilities of what was tested."""

    released: bool
    probabilities: Callable[[Floats], Floats]


@dataclass(frozen=True)
class Method:
    """A way to a released model.

    Parameters
    ----------
    parameters : dict
        Those of the estimator.
    progressive : dict, optional
        Those of `Progressive`.
    same_promise : bool
        Whether delta is divided by the number of constraints, so that deltas which add up promise
        what the ladder promises.
    """

    parameters: dict[str, Any] = field(default_factory=dict)
    progressive: dict[str, Any] | None = None
    same_promise: bool = False

    def fit(self, data: LoggedData, constraints: Sequence[str], seed: int, **given: Any) -> Fit:
        """Fit it to some rows."""
        delta = DELTA / len(constraints) if self.same_promise else DELTA
        given = {**given, **self.parameters}
        if self.progressive is not None and not self.progressive.get("betting"):
            given["bound"] = "guarded"
        clf = ELFClassifier(constraints, delta=delta, random_state=seed, **given)
        if self.progressive is None:
            clf.fit(data)
            return Fit(clf.solution_found_, lambda X: clf.fitted_.probabilities(X, None))
        progressive = Progressive(**self.progressive)
        return Fit(progressive.fit(data, clf), progressive.probabilities)


def crossfit(power: float = 0.95, *, same_promise: bool = False) -> Method:
    """Cross-fitting with five folds."""
    return Method({"split": "crossfit", "power": power}, same_promise=same_promise)


def progressive(power: float = 0.95, *, same_promise: bool = False, **options: Any) -> Method:
    """Progressive certification."""
    return Method({"power": power}, options, same_promise)


#: By name: for progressive certification, the burn-in in percent and the number of blocks.
METHODS: dict[str, Method] = {
    "ladder": Method(),
    "ladder 40/60": Method({"candidate_fraction": 0.4}),
    # Mixtures are tested with the guarded t throughout; the ladder's default for rates is betting.
    "ladder, guarded": Method({"bound": "guarded"}),
    "ladder 40/60, guarded": Method({"bound": "guarded", "candidate_fraction": 0.4}),
    "one model": Method({"candidates": 1}),
    "crossfit": crossfit(),
    "crossfit .8": crossfit(0.8),
    "crossfit .5": crossfit(0.5),
    "30/5": progressive(),
    "30/5 .8": progressive(0.8),
    "30/5 .5": progressive(0.5),
    "30/5 steered": progressive(steered=True),
    "30/5 steered .8": progressive(0.8, steered=True),
    "30/5 steered .5": progressive(0.5, steered=True),
    "crossfit, same promise": crossfit(same_promise=True),
    "crossfit .8, same promise": crossfit(0.8, same_promise=True),
    "30/5, same promise": progressive(same_promise=True),
    "30/5 steered .8, same promise": progressive(0.8, steered=True, same_promise=True),
    "30/5 errs together": progressive(together=True),
    "20/5": progressive(burn_in=0.2),
    "50/5": progressive(burn_in=0.5),
    "30/2": progressive(blocks=2),
    "30/10": progressive(blocks=10),
    "30/10 steered .8": progressive(0.8, blocks=10, steered=True),
    "20/10 steered .8": progressive(0.8, burn_in=0.2, blocks=10, steered=True),
    "30/5 bets": progressive(betting=True),
    "30/5 steered bets .8": progressive(0.8, betting=True, steered=True),
    "30/5 bets, same promise": progressive(betting=True, same_promise=True),
}


# -- what they are tried on ----------------------------------------------------------------------


class Outcome(NamedTuple):
    """Whether a model was released, whether it breaks a promise, and its true accuracy."""

    released: bool
    broken: bool
    accuracy: float


@dataclass(frozen=True)
class Cell:
    """A population and a number of rows.

    Parameters
    ----------
    world : str
        "foster care", "flat", or the name of a world.
    n : int
        How many rows.
    alpha : float, optional
        That of foster care.
    version : {"edge", "twin"}, optional
        That of a world.
    ranged : bool
        Whether the range of the impact is declared.
    """

    world: str
    n: int
    alpha: float | None = None
    version: Version | None = None
    ranged: bool = False

    def __str__(self) -> str:
        """How it is kept in the store."""
        at = self.version if self.alpha is None else f"alpha {self.alpha:g}"
        words = [self.world, at, str(self.n), "range" if self.ranged else None]
        return ", ".join(word for word in words if word)

    def trial(self, method: Method, seed: int) -> Outcome:
        """Try a method once."""
        tried = {"foster care": self._foster, "flat": self._flat}.get(self.world, self._of_world)
        with warnings.catch_warnings(), counted_in(LooksOfProcess()):
            warnings.simplefilter("ignore")
            try:
                return tried(method, seed)
            except DataError:  # too few rows of a group: refused
                return Outcome(False, False, float("nan"))

    def _foster(self, method: Method, seed: int) -> Outcome:
        population = FosterCare(alpha=self.alpha, clipped=self.ranged)
        draw = population.sample(self.n, seed)
        given = {"impact_range": population.impact_range} if self.ranged else {}
        data = LoggedData(draw.features, draw.label, **draw.logged)
        fit = method.fit(data, population.constraints, seed, **given)
        truth = population.truth(lambda X: fit.probabilities(np.asarray(X))[:, 1])
        broken = max(truth.violation.values()) > ROUNDING or truth.accuracy < 0.75
        return Outcome(fit.released, fit.released and broken, truth.accuracy)

    def _flat(self, method: Method, seed: int) -> Outcome:
        """Decisions without effect: every policy has g = 1e-9, so every release is a violation. The
        objective and a small power make the search follow whatever was lucky so far.
        """
        rng = np.random.default_rng(seed)
        data = LoggedData(
            rng.normal(size=(self.n, 2)),
            decision=rng.integers(0, 2, self.n),
            propensity=np.full(self.n, 0.5),
            impact=rng.normal(size=self.n),
        )
        daring = replace(method, parameters={**method.parameters, "power": 0.1})
        text = "E[impact] >= E_logged[impact] + 1e-9"
        fit = daring.fit(data, [text], seed, objective="E[impact]")
        return Outcome(fit.released, fit.released, float("nan"))

    def _of_world(self, method: Method, seed: int) -> Outcome:
        world = WORLDS[self.world]
        assert isinstance(world, Fitted)
        assert self.version is not None
        log = world.population.log(self.n, world.rng(self.n, self.version, seed), self.version)
        classes = list(range(log.people.behavior.shape[1]))
        data = LoggedData(log.people.features, log.label, classes=classes, **log.columns)
        texts = [each.text for each in world.promises]
        fit = method.fit(data, texts, seed, classes=classes, **world.parameters)
        crowd = world.population.crowd(self.version)
        new = fit.probabilities(crowd.features)
        broken = max(each.truth(crowd, new) for each in world.promises) > -ROUNDING
        accuracy = float((new * crowd.labels).sum(axis=1).mean())
        return Outcome(fit.released, fit.released and broken, accuracy)


def of_foster(*sizes: tuple[float, int], ranged: bool = False) -> list[Cell]:
    """Foster care at some alphas and sizes."""
    return [Cell("foster care", n, alpha, ranged=ranged) for alpha, n in sizes]


def of_worlds(version: Version) -> list[Cell]:
    """Worlds with several groups, some of which have nothing to gain at the edge."""
    names = ("opposed groups", "Student, two groups", "third group")
    return [Cell(name, 1_000, version=version) for name in names]


class Study(NamedTuple):
    """Some methods on some cells: one table."""

    title: str
    cells: list[Cell]
    methods: tuple[str, ...]
    seeds: int


COMPARED = ("ladder", "crossfit", "crossfit .8", "30/5", "30/5 .8", "30/5 steered .8")
STUDIES = [
    Study(
        "Returned / accuracy in %, foster care",
        of_foster((0.9, 256), (0.9, 512), (0.9, 1_000), (0.5, 512), (0.5, 1_000), (0.2, 4_000)),
        ("ladder", "ladder 40/60", "ladder, guarded", "ladder 40/60, guarded", "crossfit",
         "crossfit .8", "30/5", "30/5 .8", "30/5 steered", "30/5 steered .8",
         "crossfit .8, same promise", "30/5 steered .8, same promise"),
        40,
    ),
    Study(
        "The same where the ladder returns least",
        of_foster((0.9, 256), (0.5, 512), (0.2, 4_000)),
        ("one model", "crossfit, same promise", "30/5, same promise"),
        40,
    ),
    Study(
        "The same for other burn-ins, blocks and powers",
        of_foster((0.9, 512), (0.5, 1_000)),
        ("one model", "crossfit .5", "20/5", "50/5", "30/2", "30/10", "30/5 .5",
         "30/5 errs together", "30/5 steered .5", "30/10 steered .8", "20/10 steered .8"),
        40,
    ),
    Study(
        "The same with a declared range: finite-sample",
        of_foster((0.9, 1_000), (0.5, 4_000), ranged=True),
        ("ladder", "30/5 bets", "30/5 steered bets .8", "30/5 bets, same promise"),
        40,
    ),
    Study("Returned / accuracy in %, twins of worlds", of_worlds("twin"), COMPARED, 60),
    Study("Violated in %, at their edges", of_worlds("edge"), COMPARED, 200),
    Study(
        "Violated in %, where decisions have no effect",
        [Cell("flat", 200)],
        ("ladder", "crossfit", "30/5", "30/5 steered"),
        300,
    ),
]  # fmt: skip


# -- running and telling -------------------------------------------------------------------------


def read() -> dict[tuple[str, str], dict[int, Outcome]]:
    """What there is in the store."""
    found: dict[tuple[str, str], dict[int, Outcome]] = {}
    if STORE.exists():
        for line in STORE.read_text().splitlines():
            cell, method, seed, *outcome = json.loads(line)
            found.setdefault((cell, method), {})[seed] = Outcome(*outcome)
    return found


def run() -> None:
    """Try every method on every cell; seed by seed, so that all stay comparable."""
    done = read()
    STORE.parent.mkdir(exist_ok=True)
    with STORE.open("a") as store:
        for study in STUDIES:
            for cell in study.cells:
                for seed in range(study.seeds):
                    for name in study.methods:
                        if seed not in done.get((str(cell), name), {}):
                            outcome = cell.trial(METHODS[name], seed)
                            line = json.dumps([str(cell), name, seed, *outcome])
                            print(line, file=store, flush=True)


def percent(values: Floats) -> str:
    """A mean and its standard error, in percent."""
    return f"{100 * values.mean():.1f} ± {100 * values.std(ddof=1) / sqrt(values.size):.1f}"


def entry(outcomes: dict[int, Outcome], seeds: int, *, edge: bool) -> str:
    """A cell of a table: the violated share at an edge; elsewhere the returned share, and the
    accuracy of released models.
    """
    if len(outcomes) < seeds:
        return f"({len(outcomes)} of {seeds})"
    released, broken, accuracy = (
        np.array(each, dtype=float) for each in zip(*outcomes.values(), strict=True)
    )
    return percent(broken) if edge else f"{percent(released)} / {percent(accuracy[released > 0])}"


def tables() -> str:
    """All tables."""
    found, parts = read(), []
    for study in STUDIES:
        names = [str(cell).removeprefix("foster care, ") for cell in study.cells]
        lines = [
            f"| method | {' | '.join(names)} |",
            "|---" * (len(names) + 1) + "|",
        ]
        for method in study.methods:
            entries = [
                entry(
                    found.get((str(cell), method), {}),
                    study.seeds,
                    edge=study.title.startswith("Violated"),
                )
                for cell in study.cells
            ]
            lines.append(f"| {method} | {' | '.join(entries)} |")
        parts.append(f"{study.title} ({study.seeds} seeds):\n\n" + "\n".join(lines))
    return "\n\n".join([*parts, on_foster_care(found), stopping(), stamp() + "."])


def on_foster_care(found: dict[tuple[str, str], dict[int, Outcome]]) -> str:
    """How many models broke a promise on foster care."""
    asked = {
        (str(cell), name) for study in STUDIES for cell in study.cells for name in study.methods
    }
    trials = [
        (key[1], outcome)
        for key, outcomes in found.items()
        if key in asked and key[0].startswith("foster care")
        for outcome in outcomes.values()
    ]
    broke = sorted(method for method, outcome in trials if outcome.broken)
    return (
        f"Of {len(trials):,} trials on foster care, {len(broke)} released a model that breaks a "
        f"promise ({'; '.join(broke) or 'none'})."
    )


def stopping() -> str:
    """How often a mixture with g = 0 passes if the search changes no more decisions once the test
    of the blocks so far would pass. Its rows are then 0, and the variance of the test depends on
    its luck. In the Gaussian limit.
    """
    rng, shown = np.random.default_rng(0), []
    for blocks in (2, 5, 10):
        count = np.arange(1, blocks + 1)
        sums = rng.normal(size=(DRAWS, blocks)).cumsum(axis=1)
        by_t = (sums / np.sqrt(count) > ndtri(1 - DELTA)).any(axis=1).mean()
        level = log(1 / DELTA)
        stake = sqrt(2 * level / blocks)
        by_wealth = (stake * sums - stake**2 * count / 2 >= level).any(axis=1).mean()
        shown.append(f"| {blocks} | {by_t:.3f} | {by_wealth:.3f} |")
    head = "| blocks | t bound | constant stakes |\n|---|---|---|\n"
    return (
        f"Passes at g = 0 and delta = {DELTA:g}, if the search stops once it is ahead "
        f"({DRAWS:,} draws):\n\n{head}" + "\n".join(shown)
    )


def main() -> None:
    """Run what is missing, and put the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--print", action="store_true", dest="only_print")
    if not parser.parse_args().only_print:
        run()
    text = tables()
    print(text)
    write_into("results.md", "progressive", text)


if __name__ == "__main__":
    main()

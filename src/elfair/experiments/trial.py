"""What one trial of a study came to.

One trial: draw logged decisions, fit a method, ask the population for the truth.

A trial depends on nothing but the population, its settings, the method, n and the seed: the data
are ``population.sample(n, seed)``, and the method is told the same seed. So all methods and all
settings see the same people, which makes their differences sharper than their levels.
"""

from __future__ import annotations

import hashlib
import json
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from elfair.errors import InputError
from elfair.experiments.baselines.methods import Method
from elfair.experiments.baselines.registry import get_method
from elfair.populations import Draw, Population, make_population


@dataclass(frozen=True)
class TrialRecord:
    """What one trial came to: a method, fitted to one draw from a population.

    Examples
    --------
    >>> trial = TrialRecord("elfair", '{"alpha": 0.9}', 256, 0, "no solution", None, {}, 0.01, None)
    >>> trial.outcome
    'no solution'
    """

    method: str
    settings: str
    n: int
    seed: int
    outcome: str
    accuracy: float | None
    violations: dict[str, float]
    seconds: float
    error: str | None


#: How many frames of a crash are kept: the outermost, in the method itself, and the innermost.
OUTER, INNER = 2, 3
#: What a method or a model may raise. One that calls ``sys.exit`` has crashed, too.
CRASHES = (Exception, SystemExit)


@dataclass(frozen=True)
class Task:
    """Trials that are run together: one method on one seed, at one or several settings.

    Parameters
    ----------
    population : str
        Its name.
    settings : tuple of str
        Settings of the population, each as canonical JSON.
    method : str
        Its name.
    n, seed : int
        The draw.
    delta : float
        What the method is told.
    attempt : int, default 0
        How often these trials crashed before.
    """

    population: str
    settings: tuple[str, ...]
    method: str
    n: int
    seed: int
    delta: float
    attempt: int = 0


def perform(task: Task) -> list[TrialRecord]:
    """Run the trials of a task: a record for each of its settings.

    A crash of the method or of its model is recorded as 'failed', with the error's text and place;
    so is a draw that cannot be made, such as one of more people than fit in memory.

    Parameters
    ----------
    task : Task
        What to run.

    Returns
    -------
    list of TrialRecord

    Examples
    --------
    >>> task = Task("foster-care", ('{"alpha": 0.9}',), "logistic-regression", 500, 0, 0.1)
    >>> [trial] = perform(task)
    >>> trial.outcome, trial.accuracy > 0.75, sorted(trial.violations)
    ('returned', True, ['0', '1'])
    """
    method = get_method(task.method)
    with _one_thread(), warnings.catch_warnings():
        # Thousands of trials would say the same thing thousands of times.
        warnings.simplefilter("ignore")
        populations = [_population(task.population, settings) for settings in task.settings]
        try:
            draws = [population.sample(task.n, task.seed) for population in populations]
        except Exception as error:
            return _unscored(task, task.settings, "failed", 0.0, _told(error))
        records: list[TrialRecord] = []
        for first, last in _alike(draws, method):
            records += _fit_and_score(
                task, method, draws[first], populations[first:last], task.settings[first:last]
            )
        return records


def perform_elsewhere(task: Task, paths: Sequence[str]) -> tuple[Task, list[TrialRecord], str]:
    """In a worker: the task, what came of it, and a fingerprint of the source that ran it.

    Parameters
    ----------
    task : Task
        What to run.
    paths : sequence of str
        Where modules are looked for as well.
    """
    sys.path += [path for path in paths if path not in sys.path]
    return task, perform(task), source_of(task.method)


def _fit_and_score(
    task: Task,
    method: Method,
    draw: Draw,
    populations: Sequence[Population],
    settings: Sequence[str],
) -> list[TrialRecord]:
    """One fit, and what it is worth in each of several populations."""
    constraints = populations[0].constraints
    if not method.uses_impact:
        # What is shared by settings of other impacts must not depend on those of the first.
        draw, constraints = replace(draw, impact=np.full(len(draw.impact), np.nan)), []
    began = process_time()
    model, crash = None, None
    try:
        model = method.fit(draw, constraints, delta=task.delta, seed=task.seed)
    except CRASHES as error:
        crash = _told(error)
    # Shared, so that the times of all trials sum to the time spent.
    seconds = (process_time() - began) / len(populations)
    outcome = "failed" if crash else "no solution" if model is None else "returned"
    records = _unscored(task, settings, outcome, seconds, crash)
    if model is None:
        return records
    known = _integrated(model, populations[0])
    return [_scored(record, p, known) for record, p in zip(records, populations, strict=True)]


def _unscored(
    task: Task, settings: Sequence[str], outcome: str, seconds: float, crash: str | None
) -> list[TrialRecord]:
    """A record for each of several settings, with no truth in it."""
    plain = TrialRecord(task.method, "", task.n, task.seed, outcome, None, {}, seconds, crash)
    return [replace(plain, settings=each) for each in settings]


def _integrated(model: Any, population: Population) -> Any:
    """What settings that share a fit share of its truth as well; else the model itself.

    Integrals about a model can take longer than its fit, and there are eleven alphas.
    """
    if not hasattr(population, "rates"):
        return model
    try:
        return population.rates(model)
    except CRASHES:  # what cannot be scored says so at each setting
        return model


def _scored(record: TrialRecord, population: Population, model: Any) -> TrialRecord:
    """The record with the truth about a model."""
    try:
        truth = population.truth(model)
        violations = {str(group): float(value) for group, value in truth.violation.items()}
        if not all(map(isfinite, [truth.accuracy, *violations.values()])):
            raise InputError(
                f"the truth about a model must be finite. Got accuracy {truth.accuracy} and "
                f"violations {violations} instead.",
                hint="does predict_proba return NaN somewhere?",
            )
    except CRASHES as error:
        return replace(record, outcome="failed", error=_told(error))
    return replace(record, accuracy=float(truth.accuracy), violations=violations)


def _alike(draws: Sequence[Draw], method: Method) -> Iterator[tuple[int, int]]:
    """Ranges of draws that one fit serves.

    A method that never looks at the impact is fitted once where all else is equal; that is seen
    from the draws rather than believed of the settings.
    """
    first = 0
    for position in range(1, len(draws) + 1):
        ends = position == len(draws)
        if ends or method.uses_impact or not _same_but_impact(draws[first], draws[position]):
            yield first, position
            first = position


def _same_but_impact(one: Draw, other: Draw) -> bool:
    names = ("features", "label", "group", "decision", "propensity")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _told(error: BaseException) -> str:
    """Type and message, then where it happened."""
    frames = traceback.format_tb(error.__traceback__)[1:]  # the first is the one that caught it
    if len(frames) > OUTER + INNER:
        between = len(frames) - OUTER - INNER
        frames[OUTER:-INNER] = [f"  ... {between} more ...\n"]
    return f"{type(error).__name__}: {error}\n{''.join(frames)}".rstrip()


@cache
def _population(name: str, settings: str) -> Population:
    # Kept, as the truth about the behaviour model takes longer to find than a small fit.
    return make_population(name, json.loads(settings))


def _one_thread() -> Any:
    """Numerical libraries on one thread: times mean something, and workers do not crowd."""
    return _controller(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _controller(modules: int) -> Any:
    """Made anew (2 ms) only when something was imported since, which may have brought a library."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


@cache
def source_digest() -> str:
    """A fingerprint of this library's own source, so that results of versions are told apart.

    Examples
    --------
    >>> len(source_digest())
    12
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def source_of(method: str) -> str:
    """A fingerprint of all source that runs a method, as it was first met in this process.

    Kept, since a module stays as it was imported when its file is edited during a run.

    Parameters
    ----------
    method : str
        Its name.

    Examples
    --------
    >>> source_of("elfair") == source_digest()
    True
    """
    own = module_digest(method)
    return f"{source_digest()}+{own}" if own else source_digest()


def module_digest(method: str) -> str:
    """A fingerprint of the file of a user's method, as it is now; empty where there is none.

    Parameters
    ----------
    method : str
        Its name; one without a colon is part of this library.

    Examples
    --------
    >>> module_digest("elfair"), len(module_digest("json:loads"))
    ('', 12)
    """
    module, colon, _ = method.partition(":")
    try:
        spec = find_spec(module) if colon else None
        content = Path(spec.origin).read_bytes() if spec and spec.origin else b""
    except (ImportError, OSError, ValueError):  # it is gone, or was never a file
        return ""
    return hashlib.sha256(content).hexdigest()[:12] if content else ""

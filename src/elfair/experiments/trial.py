"""One trial of an experiment: draw a log, fit a method, ask the population for the truth.

A trial depends only on the population, its settings, the method, n and the seed: the data are
``population.sample(n, seed)``, and the method gets the same seed. So all methods and all settings
see the same people, and their differences are known more precisely than their levels.
"""

from __future__ import annotations

import hashlib
import json
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import InputError
from elfair.experiments.baselines import get_method
from elfair.experiments.baselines.methods import Method
from elfair.populations import Draw, Population, make_population
from elfair.search.threads import one_thread


@dataclass(frozen=True)
class TrialRecord:
    """The result of one trial: a method, fitted to one draw from a population.

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


#: How many frames of a crash are kept: the outermost ones, in the method itself, and the innermost.
OUTER, INNER = 2, 3
#: What counts as a crash of a method or a model. Calling ``sys.exit`` does, too.
CRASHES = (Exception, SystemExit)


@dataclass(frozen=True)
class Batch:
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
        The delta that the method gets.
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


def perform(batch: Batch) -> list[TrialRecord]:
    """Run the trials of a batch, and return a record for each of its settings.

    A crash of the method or of its model is recorded as 'failed', with the text and the place of
    the error. So is a draw that cannot be made, for example of more people than fit in memory.

    Parameters
    ----------
    batch : Batch
        What to run.

    Returns
    -------
    list of TrialRecord

    Examples
    --------
    >>> batch = Batch("foster-care", ('{"alpha": 0.9}',), "logistic-regression", 500, 0, 0.1)
    >>> [trial] = perform(batch)
    >>> trial.outcome, trial.accuracy > 0.75, sorted(trial.violations)
    ('returned', True, ['0', '1'])
    """
    method = get_method(batch.method)
    # Times are comparable, and workers do not compete.
    with one_thread(everything=True), warnings.catch_warnings():
        # Thousands of trials would say the same thing thousands of times.
        warnings.simplefilter("ignore")
        populations = [_population(batch.population, settings) for settings in batch.settings]
        try:
            draws = [population.sample(batch.n, batch.seed) for population in populations]
        except Exception as error:
            return _unscored(batch, batch.settings, "failed", 0.0, _told(error))
        records: list[TrialRecord] = []
        for first, last in _alike(draws, method):
            records += _fit_and_score(
                batch, method, draws[first], populations[first:last], batch.settings[first:last]
            )
        return records


def perform_in_worker(batch: Batch, paths: Sequence[str]) -> tuple[Batch, list[TrialRecord], str]:
    """Run a batch in a worker, and return it with its records and a fingerprint of the source.

    Parameters
    ----------
    batch : Batch
        What to run.
    paths : sequence of str
        Further folders to import modules from.
    """
    sys.path += [path for path in paths if path not in sys.path]
    return batch, perform(batch), source_of(batch.method)


def _fit_and_score(
    batch: Batch,
    method: Method,
    draw: Draw,
    populations: Sequence[Population],
    settings: Sequence[str],
) -> list[TrialRecord]:
    """Fit once, and score the model in each of several populations."""
    constraints = populations[0].constraints
    if not method.uses_impact:
        # One fit serves several settings, so it must not depend on the impacts of the first.
        draw, constraints = replace(draw, impact=np.full(len(draw.impact), np.nan)), []
    began = process_time()
    model, crash = None, None
    try:
        with counted_in(LooksOfProcess()):  # each method is a study of its own
            model = method.fit(draw, constraints, delta=batch.delta, seed=batch.seed)
    except CRASHES as error:
        crash = _told(error)
    # Divided, so the times of all trials add up to the time spent.
    seconds = (process_time() - began) / len(populations)
    outcome = "failed" if crash else "no solution" if model is None else "returned"
    records = _unscored(batch, settings, outcome, seconds, crash)
    if model is None:
        return records
    known = _integrated(model, populations[0])
    return [_scored(record, p, known) for record, p in zip(records, populations, strict=True)]


def _unscored(
    batch: Batch, settings: Sequence[str], outcome: str, seconds: float, crash: str | None
) -> list[TrialRecord]:
    """A record for each of several settings, without the truth."""
    plain = TrialRecord(batch.method, "", batch.n, batch.seed, outcome, None, {}, seconds, crash)
    return [replace(plain, settings=each) for each in settings]


def _integrated(model: Any, population: Population) -> Any:
    """The part of a model's truth that settings with a common fit share, or the model itself.

    The integrals can take longer than the fit, and there are eleven alphas.
    """
    if not hasattr(population, "rates"):
        return model
    try:
        return population.rates(model)
    except CRASHES:  # scoring it at each setting will report the crash
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
                hint="check whether predict_proba returns NaN somewhere.",
            )
    except CRASHES as error:
        return replace(record, outcome="failed", error=_told(error))
    return replace(record, accuracy=float(truth.accuracy), violations=violations)


def _alike(draws: Sequence[Draw], method: Method) -> Iterator[tuple[int, int]]:
    """Ranges of draws that one fit can serve.

    A method that does not use the impact is fitted once for draws that are otherwise equal. This is
    checked on the draws themselves, not inferred from the settings.
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
    """The type and message of an error, then where it happened."""
    frames = traceback.format_tb(error.__traceback__)[1:]  # the first is the one that caught it
    if len(frames) > OUTER + INNER:
        between = len(frames) - OUTER - INNER
        frames[OUTER:-INNER] = [f"  ... {between} more ...\n"]
    return f"{type(error).__name__}: {error}\n{''.join(frames)}".rstrip()


@cache
def _population(name: str, settings: str) -> Population:
    # Cached: the truth about the behaviour model takes longer to compute than a small fit.
    return make_population(name, json.loads(settings))


@cache
def source_digest() -> str:
    """A fingerprint of elfair's source, to tell results of different versions apart.

    It depends on what the files contain, not on their names or folders.

    Examples
    --------
    >>> len(source_digest())
    12
    """
    root = Path(__file__).parents[1]
    contents = sorted(hashlib.sha256(path.read_bytes()).digest() for path in root.rglob("*.py"))
    return hashlib.sha256(b"".join(contents)).hexdigest()[:12]


@cache
def source_of(method: str) -> str:
    """A fingerprint of all source that runs a method, as of its first use in this process.

    Cached: if you edit a file during a run, the module stays as it was imported.

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
    """A fingerprint of the current file of your own method; empty if there is none.

    Parameters
    ----------
    method : str
        Its name. A name without a colon is one of elfair's methods.

    Examples
    --------
    >>> module_digest("elfair"), len(module_digest("json:loads"))
    ('', 12)
    """
    module, colon, _ = method.partition(":")
    try:
        spec = find_spec(module) if colon else None
        content = Path(spec.origin).read_bytes() if spec and spec.origin else b""
    except (ImportError, OSError, ValueError):  # it was removed, or never was a file
        return ""
    return hashlib.sha256(content).hexdigest()[:12] if content else ""

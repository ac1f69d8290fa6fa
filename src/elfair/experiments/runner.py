"""Run the trials of an experiment that are not in its store yet, in parallel, and store each."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elfair.errors import ElfairError, InputError, MissingPackageError, install_extra
from elfair.experiments.experiment import Experiment, of_meaning
from elfair.experiments.progress import Progress, Timing
from elfair.experiments.store import Key, Store
from elfair.experiments.trial import Batch, perform_in_worker
from elfair.records.progress import Nobody, present
from elfair.records.toml import together


class RunStoppedError(ElfairError, RuntimeError):
    """A run ended early, not because of the experiment. Finished trials are stored.

    Examples
    --------
    >>> issubclass(RunStoppedError, RuntimeError)
    True
    """


@dataclass(frozen=True)
class Tally:
    """How many trials a run finished, and how many of them crashed."""

    finished: int
    failed: int


def run(
    experiment: Experiment,
    store: str | Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
    retry_failed: bool = False,
    quiet: bool = False,
) -> Tally:
    """Run the missing trials of an experiment, and store each as it finishes.

    If a run is stopped, even by a kill, the same call continues where it was.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    store : str or Path
        The file of finished trials. It is created if it does not exist.
    jobs : int, default 1
        Processes on this machine, each with one thread; -1 means one for each core.
    dask : str, optional
        The address of a Dask scheduler, such as ``"tcp://host:8786"``. Trials then run on its
        workers, and ``jobs`` is ignored. Install elfair there, and give each worker one thread:
        processor time is measured by process.
    retry_failed : bool, default False
        Run crashed trials once more. Their last attempt counts.
    quiet : bool, default False
        Show no progress.

    Returns
    -------
    Tally

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> experiment = Experiment.parse('''
    ... title = "A small experiment"
    ... population = "foster-care"
    ... methods = ["elfair", "logistic-regression"]
    ... sizes = [{ n = [256], seeds = 2 }]
    ... ''')
    >>> with TemporaryDirectory() as folder:
    ...     run(experiment, f"{folder}/trials.sqlite")
    ...     run(experiment, f"{folder}/trials.sqlite")  # nothing left to do
    Tally(finished=4, failed=0)
    Tally(finished=0, failed=0)
    """
    impactful = _check(experiment)
    with (
        # First: if these arguments are wrong, no store is created.
        _workers(jobs, dask) as (parallel, width),
        Store.open(store, experiment) as opened,
        opened.alone(),
    ):
        batches = list(
            batches_of(experiment, opened.attempts(), impactful, retry_failed=retry_failed)
        )
        pending: Counter[tuple[str, int]] = Counter()
        for batch in batches:
            pending[batch.method, batch.n] += len(batch.settings)
        timing = Timing(Store.read(store, experiment)[1])
        with (
            Progress(
                pending,
                timing,
                total=experiment.trials,
                jobs=width,
                listener=Nobody() if quiet else present(),
            ) as progress,
            closing(_results(parallel, batches)) as results,
        ):
            try:
                for batch, trials, source in results:
                    opened.add(trials, attempt=batch.attempt, source=source)
                    progress(trials)
            except Exception as error:
                reason = _reason_to_stop(error)
                if reason is None:
                    raise
                raise RunStoppedError(
                    f"{reason} {progress.finished:,} trials of this run are stored.",
                    hint="run the same command to continue, with fewer jobs if memory ran out.",
                ) from error
        return Tally(progress.finished, progress.failed)


def batches_of(
    experiment: Experiment,
    attempts: Mapping[Key, tuple[int, str]],
    impactful: Mapping[str, bool],
    *,
    retry_failed: bool = False,
) -> Iterator[Batch]:
    """The trials still to run, seed by seed, so that early results cover all sizes and methods.

    Parameters
    ----------
    experiment : Experiment
        The whole experiment.
    attempts : mapping
        The last attempt of each finished trial, and its outcome.
    impactful : mapping of str to bool
        Whether each method uses the impact. One that does not gets all settings in one batch.
    retry_failed : bool, default False
        Whether to run crashed trials again.
    """
    sizes, combinations = experiment.seeds, experiment.combinations
    for seed in range(max(sizes.values())):
        for n, seeds in sizes.items():
            if seed >= seeds:
                continue
            for method in experiment.methods:
                by_attempt: dict[int, list[str]] = {}
                for settings in combinations:
                    last, outcome = attempts.get((method, settings, n, seed), (-1, ""))
                    if last < 0 or (retry_failed and outcome == "failed"):
                        by_attempt.setdefault(last + 1, []).append(settings)
                for attempt, several in by_attempt.items():
                    together = [[each] for each in several] if impactful[method] else [several]
                    for settings_of_batch in together:
                        yield Batch(
                            experiment.population,
                            tuple(settings_of_batch),
                            method,
                            n,
                            seed,
                            experiment.delta,
                            attempt,
                        )


def _check(experiment: Experiment) -> dict[str, bool]:
    """Check the experiment, and return whether each of its methods uses the impact."""
    from elfair.experiments.baselines import get_method

    if not isinstance(experiment, Experiment):
        raise InputError(
            f"experiment must be a Experiment. Got {experiment!r} instead.",
            hint=f"Experiment.load({experiment!r}) reads one from its file or by its name."
            if isinstance(experiment, str | Path)
            else "Experiment.load reads one from its file or by its name.",
        )
    # Checked again: an experiment made in Python was not read from a file.
    mistakes = of_meaning(experiment.tables())
    impactful = {}
    for name in experiment.methods:
        try:
            impactful[name] = bool(get_method(name).uses_impact)
        except InputError as error:
            mistakes.append(error)
    if mistakes:
        raise together("the experiment", mistakes)
    return impactful


@contextmanager
def _workers(jobs: int, dask: str | None) -> Iterator[tuple[Any, int]]:
    """The pool that runs batches in parallel, and how many it runs at a time."""
    from joblib import cpu_count, parallel_config

    if dask is None:
        if jobs == 0 or jobs < -1:
            raise InputError(
                f"jobs must be at least 1, or -1 for one on each core. Got {jobs} instead.",
                hint=f"this machine has {cpu_count()} cores.",
            )
        width = cpu_count() if jobs == -1 else jobs
        # Libraries that are first loaded during a fit take their threads from the environment.
        one_thread = {"inner_max_num_threads": 1} if width > 1 else {}
        backend = "loky" if width > 1 else "sequential"
        with parallel_config(backend=backend, **one_thread):
            yield _parallel(width), width
        return
    with _client(dask) as client, parallel_config(backend="dask"):
        width = max(1, sum(client.ncores().values()))
        yield _parallel(width), width


def _parallel(width: int) -> Any:
    from joblib import Parallel

    # One by one: a kill then costs each worker one batch, and passing a batch takes a millisecond.
    return Parallel(n_jobs=width, return_as="generator_unordered", batch_size=1)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError(
            "A Dask cluster needs the package 'distributed', which is not installed.",
            hint=install_extra("dask"),
        ) from None
    try:
        client = Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            f"dask must be the address of a running scheduler. Got {address!r} instead ({error}).",
            hint="`dask scheduler` prints its address, such as tcp://host:8786.",
        ) from None
    with client:
        yield client


def _results(parallel: Any, batches: Iterable[Batch]) -> Any:
    from joblib import delayed

    # Workers import modules from the same folders, which may include the experiment's.
    paths = tuple(sys.path)
    return parallel(delayed(perform_in_worker)(batch, paths) for batch in batches)


def _reason_to_stop(error: Exception) -> str | None:
    """What happened to the machine, if that ended the run."""
    name = type(error).__name__
    if isinstance(error, sqlite3.OperationalError):
        return f"The store could not be written ({error})."
    if name in {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker"}:
        return f"A worker process was killed ({name})."
    return None

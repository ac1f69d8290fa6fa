"""Runs the trials of a study that are not in its store yet, in parallel, and stores each."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elfair.errors import ElfairError, InputError, MissingPackageError
from elfair.experiments.progress import Progress, Timing
from elfair.experiments.store import Key, Store
from elfair.experiments.study import Study, of_meaning
from elfair.experiments.trial import Task, perform_elsewhere
from elfair.records.toml import together


class RunStoppedError(ElfairError, RuntimeError):
    """A run ended before its time, through no fault of the study; what finished is stored.

    Examples
    --------
    >>> issubclass(RunStoppedError, RuntimeError)
    True
    """


@dataclass(frozen=True)
class Tally:
    """What a run did: trials it finished, and how many of them crashed."""

    finished: int
    failed: int


def run(
    study: Study,
    store: str | Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
    retry_failed: bool = False,
    quiet: bool = False,
) -> Tally:
    """Run what is missing, and store each trial as it finishes.

    Ended at any moment, even by a kill, the same call goes on where it was.

    Parameters
    ----------
    study : Study
        What to run.
    store : str or Path
        The file of finished trials; made where there is none.
    jobs : int, default 1
        Processes on this machine, each with one thread; -1 is one for each core.
    dask : str, optional
        The address of a Dask scheduler, such as ``"tcp://host:8786"``: trials then run on its
        workers, and ``jobs`` is not used. elfair must be installed there. Give each worker one
        thread: processor time is counted by process.
    retry_failed : bool, default False
        Run trials that failed once more. Their last attempt counts.
    quiet : bool, default False
        Show no progress.

    Returns
    -------
    Tally

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> study = Study.parse('''
    ... title = "A small study"
    ... population = "foster-care"
    ... methods = ["elfair", "logistic-regression"]
    ... sizes = [{ n = [256], seeds = 2 }]
    ... ''')
    >>> with TemporaryDirectory() as folder:
    ...     run(study, f"{folder}/trials.sqlite")
    ...     run(study, f"{folder}/trials.sqlite")  # nothing is left to do
    Tally(finished=4, failed=0)
    Tally(finished=0, failed=0)
    """
    impactful = _check(study)
    with (
        # First, so that what makes no sense here leaves no store behind.
        _workers(jobs, dask) as (parallel, width),
        Store.open(store, study) as opened,
        opened.alone(),
    ):
        tasks = list(tasks_of(study, opened.attempts(), impactful, retry_failed=retry_failed))
        pending: Counter[tuple[str, int]] = Counter()
        for task in tasks:
            pending[task.method, task.n] += len(task.settings)
        timing = Timing(Store.read(store, study)[1])
        with (
            Progress(pending, timing, total=study.trials, jobs=width, quiet=quiet) as progress,
            closing(_results(parallel, tasks)) as results,
        ):
            try:
                for task, trials, source in results:
                    opened.add(trials, attempt=task.attempt, source=source)
                    progress(trials)
            except Exception as error:
                reason = _reason_to_stop(error)
                if reason is None:
                    raise
                raise RunStoppedError(
                    f"{reason} {progress.finished:,} trials of this run are stored.",
                    hint="run the same command again to go on; with fewer jobs, if memory ran out.",
                ) from error
        return Tally(progress.finished, progress.failed)


def tasks_of(
    study: Study,
    attempts: Mapping[Key, tuple[int, str]],
    impactful: Mapping[str, bool],
    *,
    retry_failed: bool = False,
) -> Iterator[Task]:
    """What remains to be run, seed by seed, so that results so far cover all sizes and methods.

    Parameters
    ----------
    study : Study
        All that is to be run.
    attempts : mapping
        What has been: the last attempt of each trial, and its outcome.
    impactful : mapping of str to bool
        Whether each method looks at the impact. One that does not gets all settings in one task.
    retry_failed : bool, default False
        Whether a trial that failed is run again.
    """
    sizes, combinations = study.seeds, study.combinations
    for seed in range(max(sizes.values())):
        for n, seeds in sizes.items():
            if seed >= seeds:
                continue
            for method in study.methods:
                by_attempt: dict[int, list[str]] = {}
                for settings in combinations:
                    last, outcome = attempts.get((method, settings, n, seed), (-1, ""))
                    if last < 0 or (retry_failed and outcome == "failed"):
                        by_attempt.setdefault(last + 1, []).append(settings)
                for attempt, several in by_attempt.items():
                    together = [[each] for each in several] if impactful[method] else [several]
                    for settings_of_task in together:
                        yield Task(
                            study.population,
                            tuple(settings_of_task),
                            method,
                            n,
                            seed,
                            study.delta,
                            attempt,
                        )


def _check(study: Study) -> dict[str, bool]:
    """Whether each method looks at the impact, once the study is known to make sense."""
    from elfair.experiments.baselines.registry import get_method

    if not isinstance(study, Study):
        raise InputError(
            f"study must be a Study. Got {study!r} instead.",
            hint=f"Study.load({study!r}) reads one from its file or by its name."
            if isinstance(study, str | Path)
            else "Study.load reads one from its file or by its name.",
        )
    # Again, as one made in Python was not read from a file.
    mistakes = of_meaning(study.model_dump(mode="json"))
    impactful = {}
    for name in study.methods:
        try:
            impactful[name] = bool(get_method(name).uses_impact)
        except InputError as error:
            mistakes.append(error)
    if mistakes:
        raise together("the study", mistakes)
    return impactful


@contextmanager
def _workers(jobs: int, dask: str | None) -> Iterator[tuple[Any, int]]:
    """What runs tasks in parallel, and how many at a time."""
    from joblib import cpu_count, parallel_config

    if dask is None:
        if jobs == 0 or jobs < -1:
            raise InputError(
                f"jobs must be at least 1, or -1 for one on each core. Got {jobs} instead.",
                hint=f"this machine has {cpu_count()} cores.",
            )
        width = cpu_count() if jobs == -1 else jobs
        # Libraries that are first loaded in the middle of a fit obey the environment.
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

    # One by one: a kill then costs each worker one task, and handing over takes a millisecond.
    return Parallel(n_jobs=width, return_as="generator_unordered", batch_size=1)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError(
            "A Dask cluster needs the package 'distributed', which is not installed.",
            hint="pip install 'elfair[dask]'.",
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


def _results(parallel: Any, tasks: Iterable[Task]) -> Any:
    from joblib import delayed

    # Modules are found in workers where they are found here: the study's folder may be among them.
    paths = tuple(sys.path)
    return parallel(delayed(perform_elsewhere)(task, paths) for task in tasks)


def _reason_to_stop(error: Exception) -> str | None:
    """What happened to the machine, if that is what ended the run."""
    name = type(error).__name__
    if isinstance(error, sqlite3.OperationalError):
        return f"The store could not be written ({error})."
    if name in {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker"}:
        return f"A worker process was killed ({name})."
    return None

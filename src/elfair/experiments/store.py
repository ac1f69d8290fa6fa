"""Finished trials on disk: a SQLite file to which rows are only ever added.

Each result is one transaction in a write-ahead log: a killed process loses nothing that was
committed, and readers never wait for the writer. ``synchronous=NORMAL`` does not wait for the disk
at each commit. That matters only if the machine loses power; even then the file stays intact, and
the last few trials run again.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from elfair._version import __version__
from elfair.errors import InputError
from elfair.experiments.experiment import Experiment
from elfair.experiments.trial import TrialRecord
from elfair.records.files import locked, writing

#: The version of the layout below.
FORMAT = 1
#: Marks the file as elfair's ("elfa", in the field of SQLite's header for that).
APPLICATION_ID = 0x656C6661

SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE trials (
        method TEXT NOT NULL,
        settings TEXT NOT NULL,
        n INTEGER NOT NULL,
        seed INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        outcome TEXT NOT NULL CHECK (outcome IN ('returned', 'no solution', 'failed')),
        accuracy REAL,
        violations TEXT NOT NULL,
        seconds REAL NOT NULL,
        error TEXT,
        source TEXT NOT NULL,
        finished TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
        PRIMARY KEY (method, settings, n, seed, attempt)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TRIGGER no_update BEFORE UPDATE ON trials
        BEGIN SELECT RAISE(ABORT, 'trials are only ever added'); END""",
    """CREATE TRIGGER no_delete BEFORE DELETE ON trials
        BEGIN SELECT RAISE(ABORT, 'trials are only ever added'); END""",
    f"PRAGMA application_id = {APPLICATION_ID}",
)

#: Method, settings, n and seed identify a trial.
Key = tuple[str, str, int, int]


class Store:
    """The finished trials of one experiment.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from elfair.experiments.trial import Batch, perform
    >>> experiment = Experiment.load("figure-3")
    >>> batch = Batch(experiment.population, ('{"alpha": 1}',), "elfair", 256, 0, experiment.delta)
    >>> with TemporaryDirectory() as folder:
    ...     with Store.open(Path(folder) / "figure-3.sqlite", experiment) as store:
    ...         store.add(perform(batch), source="a version")
    ...     read, trials = Store.read(Path(folder) / "figure-3.sqlite")
    >>> read.title, len(trials)
    ('Figure 3: ELF at every alpha', 1)
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: str | Path, experiment: Experiment) -> Self:
        """Open the store of an experiment, or create it.

        Parameters
        ----------
        path : str or Path
            The file.
        experiment : Experiment
            What the trials belong to. The store of another definition is refused.
        """
        path = Path(path)
        if path.exists() and not path.is_file():
            raise InputError(
                f"The store must be a plain file. Got {str(path)!r} instead, which is "
                f"{'a folder' if path.is_dir() else 'a device'}.",
                hint="name a file that elfair can create, such as trials.sqlite.",
            )
        if path.exists():
            # Checked before anything is written: a refused file stays as it is.
            with closing(_readable(path)) as reader:
                if not _is_blank(path, reader):
                    _check_same(path, _meta(path, reader), experiment)
        elif not path.parent.is_dir():
            raise InputError(
                f"The store must lie in a folder that exists. Got {str(path)!r} instead.",
                hint="create the folder first.",
            )
        try:
            with ExitStack() as undone:
                connection = sqlite3.connect(path, timeout=30, isolation_level=None)
                store = cls(path, connection)
                undone.callback(store.close)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                with store._transaction():
                    store._begin(experiment)
                undone.pop_all()  # all went well: the connection stays open
        except sqlite3.OperationalError as error:
            raise InputError(
                f"The store must be a file that can be written. Got {str(path)!r} instead "
                f"({error}).",
                hint="check write permission and free disk space.",
            ) from None
        return store

    @staticmethod
    def read(
        path: str | Path, experiment: Experiment | None = None
    ) -> tuple[Experiment, list[TrialRecord]]:
        """Read the experiment and the trials of a store; of repeated trials, the last attempt.

        Parameters
        ----------
        path : str or Path
            The file.
        experiment : Experiment, optional
            What the trials must belong to; its title, figures and efficiency are then used.

        Returns
        -------
        experiment : Experiment
        trials : list of TrialRecord
        """
        path = Path(path)
        with closing(_readable(path)) as connection:
            meta = _meta(path, connection)
            if experiment is None:
                experiment = Experiment(**json.loads(meta["study"]))
            _check_same(path, meta, experiment)
            with _as_input_error(path):
                rows = connection.execute(
                    "SELECT method, settings, n, seed, outcome, accuracy, violations, seconds, "
                    "error, MAX(attempt) FROM trials GROUP BY method, settings, n, seed"
                ).fetchall()
        return experiment, [
            TrialRecord(m, settings, n, seed, outcome, accuracy, json.loads(violations), s, error)
            for m, settings, n, seed, outcome, accuracy, violations, s, error, _ in rows
        ]

    @staticmethod
    def sources(path: str | Path) -> dict[str, int]:
        """How many trials each version of the code has run.

        Versions are those of elfair. If your own method changed in between, versions of its module
        follow, each after the method's name.
        """
        ours: Counter[str] = Counter()
        theirs: dict[str, int] = {}
        for method, versions in Store.versions(path).items():
            own: Counter[str] = Counter()
            for source, count in versions.items():
                library, _, module = source.partition("+")
                ours[library] += count
                own[module or "of unknown version"] += count
            if len(own) > 1:
                theirs |= {f"{method} {module}": count for module, count in own.items()}
        return theirs if theirs and len(ours) == 1 else {**ours, **theirs}

    @staticmethod
    def versions(path: str | Path) -> dict[str, dict[str, int]]:
        """How many trials each source has run, by method; of each trial the last attempt counts."""
        with closing(_readable(Path(path))) as connection, _as_input_error(Path(path)):
            _meta(Path(path), connection)
            rows = connection.execute(
                "SELECT method, source, COUNT(*) FROM (SELECT method, source, MAX(attempt) FROM "
                "trials GROUP BY method, settings, n, seed) GROUP BY method, source"
            ).fetchall()
        found: dict[str, dict[str, int]] = {}
        for method, source, count in rows:
            found.setdefault(method, {})[source] = count
        return found

    def attempts(self) -> dict[Key, tuple[int, str]]:
        """The last attempt of each finished trial, and its outcome."""
        rows = self._connection.execute(
            "SELECT method, settings, n, seed, MAX(attempt), outcome FROM trials "
            "GROUP BY method, settings, n, seed"
        )
        return {(row[0], row[1], row[2], row[3]): (row[4], row[5]) for row in rows}

    def add(self, trials: Iterable[TrialRecord], *, attempt: int = 0, source: str) -> None:
        """Write trials, all or none of them.

        Parameters
        ----------
        trials : iterable of TrialRecord
            Their results.
        attempt : int, default 0
            How often they crashed before.
        source : str
            A fingerprint of the code that ran them. For your own method, a plus sign and the
            fingerprint of its module follow.
        """
        rows = [
            (
                *(trial.method, trial.settings, trial.n, trial.seed, attempt, trial.outcome),
                *(trial.accuracy, json.dumps(trial.violations), trial.seconds, trial.error, source),
            )
            for trial in trials
        ]
        with self._transaction():
            # A trial that is already stored has the same result: it depends on its key alone.
            self._connection.executemany(
                "INSERT INTO trials (method, settings, n, seed, attempt, outcome, accuracy, "
                "violations, seconds, error, source) VALUES (?,?,?,?,?,?,?,?,?,?,?) "
                "ON CONFLICT (method, settings, n, seed, attempt) DO NOTHING",
                rows,
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep a second run away, which would repeat the same work.

        The lock is held by the file system, on a file beside the store, and ends with the process.
        """
        path = self.path.with_name(f"{self.path.name}.running")
        with ExitStack() as held:
            with writing(f"'{path}'"):
                lock = held.enter_context(locked(path, wait=False))
            if lock is None:
                raise InputError(
                    f"Only one run at a time can write to a store. {self.path} is in use by "
                    "another run.",
                    hint="wait for it or stop it; `elfair experiment status` shows its progress.",
                )
            try:
                yield
            finally:
                with suppress(OSError):  # the next run removes it
                    path.unlink()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self, experiment: Experiment) -> None:
        """Write the tables and the experiment into an empty file."""
        if not _is_blank(self.path, self._connection):
            # Another process may have written it in the meantime.
            _check_same(self.path, _meta(self.path, self._connection), experiment)
            return
        for statement in SCHEMA:
            self._connection.execute(statement)
        meta = {
            "format": str(FORMAT),
            "definition": json.dumps(experiment.definition, sort_keys=True),
            "digest": experiment.digest,
            "study": json.dumps(experiment.tables()),  # its name in stores from the first on
            "version": __version__,
        }
        self._connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # On a full disk SQLite has rolled back itself; a second rollback would hide the reason.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _readable(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise InputError(
            f"There is no store at {str(path)!r}.",
            hint="`elfair experiment run` creates one; --store names its file.",
        )
    if os.access(path.parent, os.W_OK):
        connection = sqlite3.connect(path, timeout=30, isolation_level=None)
        # Not opened read-only: that would leave the files of the log behind.
        connection.execute("PRAGMA query_only = ON")
        return connection
    # Without a log nobody is writing. A plain read would create a log, which is impossible here.
    settled = not path.with_name(f"{path.name}-wal").exists()
    options = "mode=ro&immutable=1" if settled else "mode=ro"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}", uri=True, timeout=30, isolation_level=None
    )


def _is_blank(path: Path, connection: sqlite3.Connection) -> bool:
    """Whether the file is still empty: a run can be killed right after creating it."""
    with _as_input_error(path):
        return not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]


@contextmanager
def _as_input_error(path: Path) -> Iterator[None]:
    """Report a file that SQLite cannot read as an `InputError`."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{str(path)!r} must be an intact store of trials. Got another or a damaged file "
            f"({error}).",
            hint="name another --store, or restore this file from a copy.",
        ) from None


def _meta(path: Path, connection: sqlite3.Connection) -> dict[str, str]:
    """The description that a store holds of itself."""
    with _as_input_error(path):
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        if not ours:
            raise sqlite3.DatabaseError("the database of another program, or an empty file")
        problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
        meta: dict[str, str] = dict(connection.execute("SELECT key, value FROM meta"))
    if int(meta["format"]) > FORMAT:
        raise InputError(
            f"{str(path)!r} has format {meta['format']}, written by elfair {meta['version']}. This "
            f"is elfair {__version__}, which reads formats up to {FORMAT}.",
            hint="install a newer elfair.",
        )
    return meta


def _check_same(path: Path, meta: dict[str, str], experiment: Experiment) -> None:
    if meta["digest"] == experiment.digest:
        return
    there, here = json.loads(meta["definition"]), experiment.definition
    differences = [
        f"  {key}: {_short(there.get(key))} in the store, {_short(here.get(key))} in the experiment"
        for key in sorted({*there, *here})
        if there.get(key) != here.get(key)
    ]
    raise InputError(
        f"{str(path)!r} holds trials of another experiment, and results are not mixed. "
        "Differences:\n" + "\n".join(differences),
        hint="name another --store for the changed experiment, or undo the change.",
    )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}..."

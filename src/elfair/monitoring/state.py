"""The state of a monitor on disk: whole after any kill.

What belongs together is in ``state.json``, which names all other files and is replaced at once.
Files that it does not name were left by a killed process, and are removed.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elfair.data.columns import Columns
from elfair.errors import InputError
from elfair.monitoring.known import Keys, KnownRows
from elfair.records.files import locked, read_whole, replace_file, writing
from elfair.types import Booleans

if TYPE_CHECKING:
    from elfair.monitoring.log import Log, Part

STATE, LOCK = "state.json", ".elfair-lock"
VERSION = 1


@dataclass
class State:
    """Everything that a monitor keeps.

    Parameters
    ----------
    settings : dict
        What was declared at the first look.
    time : str
        The last look.
    counted, missing, late, gone, others, pending : int
        See `MonitorStatus`.
    taught : int
        How many rows there are to learn from.
    learnt : str or None
        The file of these rows.
    weighted : bool or None
        Whether the old model is estimated by weighting; None before the first row.
    written : list of str
        Their columns that hold texts as they were written.
    runs : list of str
        The files of rows that were counted.
    waiting : str or None
        The file of rows that are pending.
    sides : list
        What both sides of each statement have gathered.
    said : list of dict
        What was said of each statement.
    """

    settings: dict[str, Any]
    time: str = ""
    counted: int = 0
    missing: int = 0
    late: int = 0
    gone: int = 0
    others: int = 0
    pending: int = 0
    taught: int = 0
    learnt: str | None = None
    weighted: bool | None = None
    written: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    waiting: str | None = None
    sides: list[Any] = field(default_factory=list)
    said: list[dict[str, Any]] = field(default_factory=list)
    version: int = VERSION

    def __post_init__(self) -> None:
        self._table: Any = None
        self._changed = False

    def teach(self, table: Any, written: Sequence[str] | frozenset[str], most: int) -> None:
        """Keep some rows to learn from, up to a number."""
        import pyarrow as pa

        table = table.slice(0, max(0, most - self.taught))
        if not table.num_rows:
            return
        self._table = (
            table
            if self._table is None
            else pa.concat_tables([self._table, table], promote_options="permissive")
        )
        self.written, self.taught, self._changed = sorted(written), self._table.num_rows, True

    def learnt_columns(self, log: Log, n: int | None = None) -> Columns:
        """The columns of the first n rows to learn from."""
        from elfair.study.sources import SourceTable

        table = self._table if n is None else self._table.slice(0, n)
        source = SourceTable(table, "the log", None, as_written=frozenset(self.written))
        read = log.reading.read(source, log.known + log.measured)
        return {name: read.columns[name] for name in log.known + log.measured}

    def save(self, folder: Path, *, pending: Keys | None = None) -> None:
        """Replace what is on disk, at once."""
        with writing(f"the state of the monitor in '{folder}'"):
            if self._changed:
                self.learnt = f"learnt-{self.taught}.arrow"
                replace_file(folder / self.learnt, _arrow(self._table))
                self._changed = False
            if pending is not None:
                self.pending = pending.shape[1]
                file = io.BytesIO()
                np.save(file, pending)
                self.waiting = f"pending-{0 if self.waiting != 'pending-0.npy' else 1}.npy"
                replace_file(folder / self.waiting, file.getvalue())
            replace_file(folder / STATE, json.dumps(asdict(self), allow_nan=False).encode())
            self._tidy(folder)

    def _tidy(self, folder: Path) -> None:
        """Remove files that the state does not name."""
        KnownRows(folder, self.runs).tidy()
        for path in [*folder.glob("learnt-*.arrow"), *folder.glob("pending-*.npy")]:
            if path.name not in (self.learnt, self.waiting):
                path.unlink()

    def load_rows(self, folder: Path) -> None:
        """Read the rows to learn from."""
        import pyarrow as pa

        if self.learnt is not None:
            content = read_whole(folder / self.learnt, hint=_DAMAGED)
            self._table = pa.ipc.open_file(io.BytesIO(content)).read_all()


def _arrow(table: Any) -> bytes:
    import pyarrow as pa

    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


_DAMAGED = "restore the folder of the monitor, or begin anew in another one."


@contextlib.contextmanager
def restored(folder: Path, settings: Mapping[str, Any]) -> Iterator[State]:
    """The state in a folder, for no other process meanwhile; a new one if there is none.

    Parameters
    ----------
    folder : Path
        The folder; it is made if it does not exist.
    settings : mapping
        What is declared. It must be what was declared at the first look.
    """
    with writing(f"the folder '{folder}'"):
        if not folder.exists():
            folder.mkdir()
        elif not folder.is_dir() or not ((folder / STATE).exists() or _is_free(folder)):
            raise InputError(
                f"'{folder}' exists, and holds no monitor.", hint="name another folder."
            )
    with contextlib.ExitStack() as held:
        with writing(f"the folder '{folder}'"):
            held.enter_context(locked(folder / LOCK))
        if not (folder / STATE).exists():
            yield State(dict(settings))
            return
        state = _read(folder)
        differ = [name for name in settings if settings[name] != state.settings.get(name)]
        if differ:
            said = ", ".join(f"{name}={state.settings.get(name)!r}" for name in differ)
            raise InputError(
                f"the monitor in '{folder}' was begun with {said}: what it promises holds for "
                "what was declared before the first look.",
                hint="go on with the same settings, or begin anew in another folder.",
            )
        state.load_rows(folder)
        yield state


def _is_free(folder: Path) -> bool:
    """Whether a folder holds nothing, or what a killed first look left."""
    known = (".elfair-", "known-", "learnt-", "pending-")
    return all(path.name.startswith(known) for path in folder.iterdir())


def _read(folder: Path) -> State:
    try:
        record = json.loads(read_whole(folder / STATE, hint=_DAMAGED))
        if record["version"] != VERSION:
            raise ValueError(f"it has version {record['version']}")
        return State(**record)
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"'{folder / STATE}' is not as elfair wrote it ({error}).", hint=_DAMAGED
        ) from None


@dataclass(frozen=True)
class Pending:
    """The rows that were pending at the last look.

    Parameters
    ----------
    ids, decided : ndarray of uint64
        Their keys.
    """

    ids: Keys
    decided: Keys

    def changed(self, part: Part) -> Booleans:
        """The rows of a part that were decided about otherwise than at the last look."""
        if not self.ids.size:
            return np.zeros(part.ids.size, dtype=np.bool_)
        place = np.minimum(np.searchsorted(self.ids, part.ids), self.ids.size - 1)
        changed = (self.ids[place] == part.ids) & (self.decided[place] != part.decided)
        return np.asarray(changed)

    def replaced(self, parts: Sequence[Part], known: KnownRows) -> tuple[Keys, int]:
        """Those of this look, and how many of the last are gone; raise if one has changed."""
        none = np.zeros(0, dtype=np.uint64)
        ids = np.concatenate([none, *(each.ids for each in parts)])
        decided = np.concatenate([none, *(each.decided for each in parts)])
        ids, first = np.unique(ids, return_index=True)
        here = np.isin(self.ids, ids)
        gone = int((~here & ~known.find(self.ids).known).sum())
        return np.stack([ids, decided[first]]), gone


def pending_from(folder: Path, state: State) -> Pending:
    """The rows that were pending at the last look."""
    if state.waiting is None:
        return Pending(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint64))
    return Pending(*np.load(folder / state.waiting))

"""The ledger: the tests that were made, of whom, in a database that all processes share.

It helps honest people: nothing notices if you delete it. It holds keyed hashes alone. The key is in
a file beside it, which only its owner can read: who has both can check whether somebody whose data
he knows took part, and who has the ledger alone learns nothing about anybody.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import tee
from pathlib import Path

import numpy as np

from elfair.data.identity import Identity, ids_of
from elfair.data.looks import NOBODY, Look, chain, counted_in
from elfair.data.sketches import Sketch
from elfair.data.table import LoggedData
from elfair.errors import InputError
from elfair.records.files import check_regular, read_whole, write_new, writing
from elfair.types import Booleans

#: Names the ledger of the command line, unless --ledger does.
VARIABLE = "ELFAIR_LEDGER"
#: No more bytes are read at once: identifiers of 32 million people.
LONGEST = 1 << 28
#: How many seconds to wait for another process that writes.
PATIENCE = 60.0
_TABLES = """
CREATE TABLE IF NOT EXISTS looks (
    number INTEGER PRIMARY KEY, test TEXT NOT NULL UNIQUE, declared INTEGER NOT NULL,
    after TEXT NOT NULL, people INTEGER NOT NULL, time TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS identities (
    look INTEGER NOT NULL REFERENCES looks (number), kind TEXT NOT NULL, content BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_look ON identities (look);
"""


def usual_ledger() -> Path:
    """The ledger of the command line: one for each user, so that a copy of a table in another
    folder is the same rows.

    Examples
    --------
    >>> os.environ[VARIABLE] = "shared/ledger.db"
    >>> usual_ledger().as_posix()
    'shared/ledger.db'
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "elfair" / "ledger.db"


@dataclass(frozen=True)
class Entry:
    """A look that was made.

    Parameters
    ----------
    look : Look
        The look.
    people : int
        How many rows it was about, those that were searched on included.
    time : str
        When it was entered, in UTC.
    """

    look: Look
    people: int
    time: str


class Ledger:
    """The tests that were made, in all processes that use one file.

    Parameters
    ----------
    path : str or path-like
        The file, a SQLite database. It, its folder and its key are made with the first entry.
    least_chance : float, default 0
        The smallest chance to pass with which a test is made that was not made before. The command
        line takes 0.05; with a smaller chance, `fit` raises `UnlikelyError`, and no row is opened.
    durable : bool, default True
        Whether what was entered outlasts a machine that stops.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder) / "ledger.db")
    ...     people = Identity(frozenset({"digest"}), None, False, ())
    ...     tests = [Look(people, test, declared=1) for test in ("a", "b", "a")]
    ...     [ledger.enter(lambda secret, look=look: look) for look in tests]
    [1, 2, 1]
    """

    def __init__(
        self, path: str | os.PathLike[str], *, least_chance: float = 0.0, durable: bool = True
    ) -> None:
        self.path, self._least_chance, self._durable = Path(path), least_chance, durable

    def enter(self, made: Callable[[bytes], Look]) -> int:
        """Write down a test that is about to be made, and return which look at its rows it is.

        The same test again is the same look. Of two processes one comes first, and the other counts
        its test: the whole of looking and writing is one transaction that excludes other writers.
        """
        what = f"no test is made, since it was not counted: the ledger '{self.path}'"
        with writing(what), self._open() as database:
            look = made(self._secret(database))
            database.execute("BEGIN IMMEDIATE")
            earlier = _before(look, database)
            if all(each.test != look.test for each in earlier):
                look.require_chance(self._least_chance)
            number = look.number(earlier)
            _add(database, look)
            database.execute("COMMIT")
        return number

    def entries(self) -> list[Entry]:
        """All looks, in their order."""
        if not self.path.exists():
            return []
        with writing(f"the ledger '{self.path}'"), self._open() as database:
            return list(_entries(database))

    def fresh(self, data: LoggedData, test: str) -> Booleans:
        """Which rows of a table are about people whom neither a test nor those before it saw.

        Parameters
        ----------
        data : LoggedData
            The table, with units or identifiers.
        test : str
            The test, which must have been entered.
        """
        with writing(f"the ledger '{self.path}'"), self._open() as database:
            ids = ids_of(data, self._secret(database))
            seen = [look.rows.ids for look in chain([e.look for e in _entries(database)], test)]
        if not seen or any(each is None for each in seen):
            raise InputError(
                f"the ledger '{self.path}' does not know whom the earlier test was about.",
                hint="use the ledger that it was entered in: --ledger names it; and name a column "
                "that identifies people as row_id or unit before the first test.",
            )
        assert ids is not None
        known = np.concatenate([each for each in seen if each is not None])
        return ~np.isin(ids, known)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        check_regular(self.path)
        database = None
        try:
            database = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'OFF'}")
            database.executescript(_TABLES)
            yield database
        except sqlite3.OperationalError as error:
            raise InputError(
                f"no test is made, since it was not counted: the ledger '{self.path}' could not "
                f"be written: {error}.",
                hint=f"check write permission and free disk space, or name another ledger with "
                f"--ledger or {VARIABLE}.",
            ) from None
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"the ledger '{self.path}' is not as elfair wrote it: {error}.",
                hint="restore the file; without it nobody knows how often rows were tested.",
            ) from None
        finally:
            if database is not None:
                database.close()  # what was not committed is undone

    def _secret(self, database: sqlite3.Connection) -> bytes:
        """The key of the hashes; the first process makes it, whole or not at all."""
        path = self.path.with_name(self.path.name + ".key")
        if not path.exists():
            if database.execute("SELECT 1 FROM looks").fetchone():
                raise InputError(
                    f"the key '{path}' of the ledger is missing: no row can be known again.",
                    hint="restore the file; it belongs to the ledger beside it.",
                )
            with contextlib.suppress(FileExistsError):  # another process was faster
                write_new(path, secrets.token_bytes(32), mode=0o600)
        secret = read_whole(path, hint="only the owner of the ledger can read its key.")
        if len(secret) != 32:
            raise InputError(f"'{path}' is not the key of a ledger.", hint="restore the file.")
        return secret


@contextlib.contextmanager
def entered_in(ledger: Ledger | str | os.PathLike[str] | None) -> Iterator[None]:
    """Count tests in a ledger, or in the one of a file; without one, where they are counted now.

    Examples
    --------
    >>> with entered_in(7):
    ...     pass
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: ledger must be a Ledger, or the name of its file. Got int instead.
    Hint: leave it out to count within this process and its workers.
    """
    if ledger is None:
        yield
        return
    if not isinstance(ledger, Ledger | str | os.PathLike):
        raise InputError(
            f"ledger must be a Ledger, or the name of its file. Got {type(ledger).__name__} "
            "instead.",
            hint="leave it out to count within this process and its workers.",
        )
    with counted_in(ledger if isinstance(ledger, Ledger) else Ledger(ledger)):
        yield


# -- from looks to tables and back -----------------------------------------------------------------


def _add(database: sqlite3.Connection, look: Look) -> None:
    now, rows = datetime.now(UTC).isoformat(timespec="seconds"), look.rows
    added = database.execute(
        "INSERT INTO looks (test, declared, after, people, time) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (test) DO NOTHING",
        (look.test, look.declared, look.after, rows.n, now),
    )
    if not added.rowcount:
        return
    parts = [("whole", digest.encode()) for digest in sorted(rows.whole)]
    parts += [(f"view {kind}", sketch.to_bytes()) for kind, sketch in rows.views]
    if rows.ids is not None:
        kind = "names" if rows.named else "numbers"
        parts.append((kind, rows.ids.astype("<u8").tobytes()))
    database.executemany(
        "INSERT INTO identities VALUES (?, ?, ?)",
        [(added.lastrowid, kind, content) for kind, content in parts],
    )


def _entries(database: sqlite3.Connection) -> Iterator[Entry]:
    """All looks; a database in which something else stands is one error."""
    try:
        yield from _read(database)
    except (ValueError, TypeError) as error:
        raise sqlite3.DatabaseError(str(error)) from None


def _before(look: Look, database: sqlite3.Connection) -> list[Look]:
    """The looks that were made before one. What strangers are known by is not kept: a ledger may
    hold thousands of them.
    """
    looks, also = tee(entry.look for entry in _entries(database))
    if look.after:  # its stages before may know people whom it does not
        return [*looks]
    known = look.rows.known_among(each.rows for each in also)
    pairs = zip(looks, known, strict=True)
    return [each if shares else replace(each, rows=NOBODY) for each, shares in pairs]


def _read(database: sqlite3.Connection) -> Iterator[Entry]:
    lost = "SELECT look FROM identities WHERE look NOT IN (SELECT number FROM looks)"
    if database.execute(lost).fetchone():
        raise ValueError("it knows people whom no look was at")
    by = "SELECT kind, content FROM identities WHERE look = ?"
    made = "SELECT number, test, declared, after, people, time FROM looks ORDER BY number"
    for number, *row in database.execute(made):
        if list(map(type, row)) != [str, int, str, int, str] or row[1] < 1 or row[3] < 0:
            raise ValueError(f"look {number} is {row}")
        test, declared, after, people, time = row
        rows = _identity(database.execute(by, (number,)), people)
        yield Entry(Look(rows, test, declared, after=after), people, time)


def _identity(parts: Iterable[tuple[str, bytes]], n: int) -> Identity:
    whole, views, keys, named = [], [], None, False
    for kind, content in parts:
        if not isinstance(content, bytes) or not isinstance(kind, str):
            raise TypeError("people are not kept as bytes")
        if kind == "whole":
            whole.append(content.decode())
        elif kind in ("names", "numbers"):
            keys, named = np.frombuffer(content, dtype="<u8").astype(np.uint64), kind == "names"
        elif kind.startswith("view "):
            views.append((kind.removeprefix("view "), Sketch.from_bytes(content)))
        else:
            raise ValueError(f"{kind!r} says nothing of people")
    return Identity(frozenset(whole), keys, named, tuple(views), n)

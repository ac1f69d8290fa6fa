"""Tables from databases: one select statement, which cannot change anything.

The database engine itself says what a statement is. DuckDB parses every query that it answers, and
only a single SELECT reaches it; what it attaches, it attaches read-only, with its settings locked.
It runs in a process of its own, and reads files of some folders alone: see `elfair.study.asking`.
SQLite files are opened read-only by Python's own driver, which is told to refuse everything but
reading. (A function that a select calls on a server may still do what the account may do: query a
server with an account that may only read.)
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from elfair.errors import DataError, InputError, MissingPackageError, install_extra
from elfair.records.tables import Opened
from elfair.study.reach import Reach
from elfair.study.secrets import without_secrets

#: By the scheme of an address: the extension of DuckDB that attaches such a server.
SERVERS = {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}
_FILES = ("duckdb", "sqlite")

#: What a statement may do that SQLite prepares.
_READS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
#: All that a query to files may know of the environment; the driver of a server may read more.
_HARMLESS = ("PATH", "HOME", "TMPDIR", "TEMP", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

#: A query may ask for a gigabyte in one cell; a row of a table of people has no more bytes.
LONGEST_ROW = 1 << 24


def is_address(source: str | Path) -> bool:
    """Whether a source is the address of a database, not a file.

    Examples
    --------
    >>> is_address("sqlite:///loans.db"), is_address("loans.csv")
    (True, False)
    """
    return "://" in str(source)


def is_known(address: str) -> bool:
    """Whether an address names a kind of database that can be queried.

    Parameters
    ----------
    address : str
        The address.

    Examples
    --------
    >>> is_known("postgresql+psycopg://host/db"), is_known("https://host/loans.csv")
    (True, False)
    """
    return _scheme(address) in (*_FILES, *SERVERS)


def is_server(address: str) -> bool:
    """Whether an address names a server, not a file.

    Examples
    --------
    >>> is_server("mysql://host/db"), is_server("sqlite:///loans.db")
    (True, False)
    """
    return _scheme(address) in SERVERS


def open_query(
    address: str,
    query: str,
    folder: Path,
    reach: Reach | None = None,
    within: Sequence[str | Path] = (),
) -> Opened:
    """The result of a query.

    Parameters
    ----------
    address : str
        ``duckdb:///file.db``, ``duckdb://`` (no database: its query reads files),
        ``sqlite:///file.db``, or the address of a server, such as
        ``postgresql://user:password@host/database``.
    query : str
        A select statement.
    folder : Path
        Where relative paths begin, in the address and in the query.
    reach : Reach, optional
        The folders of files that may be read, if a study names the address. Without it the address
        is yours, and the query reads files of the folder.
    within : sequence of str or Path
        Without a reach, further folders that the query may read.

    Examples
    --------
    >>> names, read = open_query("duckdb://", "select 1 as a, 'x' as b", Path("."))
    >>> names, read(["b"]).to_pydict()
    (['a', 'b'], {'b': ['x']})
    """
    scheme, rest = _scheme(address), address.partition("://")[2]
    folders = (reach or Reach.of(folder, within)).folders
    if scheme in SERVERS:
        asked: dict[str, Any] = {"attached": f"{scheme}://{rest}", "kind": SERVERS[scheme]}
        return _query_duckdb(query, folder, folders, asked)
    inside = rest.removeprefix("/")
    if rest and not rest.startswith("/"):
        raise InputError(
            f"the address of a database file must be {scheme}:///file.db. Got "
            f"{without_secrets(address)!r} instead.",
            hint=f"write three slashes before a file; {scheme}:// alone has no file.",
        )
    path = None if inside in ("", ":memory:") else folder / inside
    if path is not None:
        if reach is not None:
            reach.check_file(path, without_secrets(inside))
        if not path.is_file():
            raise InputError(
                f"there is no database file {without_secrets(inside)!r}.",
                hint="a relative path begins at the folder of the study file; an absolute one has "
                "four slashes after the colon.",
            )
    if scheme == "sqlite":
        return _query_sqlite(query, path)
    asked = {"attached": None if path is None else str(path.resolve()), "kind": "duckdb"}
    return _query_duckdb(query, folder, folders, asked)


def _query_duckdb(
    query: str, folder: Path, folders: Sequence[Path], asked: dict[str, Any]
) -> Opened:
    """Query DuckDB, which attaches a file or a server if one is given."""
    if sys.modules.get("duckdb", ...) is None or find_spec("duckdb") is None:
        raise MissingPackageError(
            "reading from this address needs duckdb, which cannot be imported.",
            hint=install_extra("sql"),
        )
    asked = {**asked, "query": query, "folders": [str(each.resolve()) for each in folders]}

    def read(columns: Sequence[str] | None, _: Collection[str] = ()) -> Any:
        said, table = _asked(folder, {**asked, "columns": columns})
        if "kinds" in said:
            raise _not_reading(" and ".join(said["kinds"]) or "no statements")
        if "extension" in said:
            raise _not_installed(said["extension"])
        if "refused" in said:
            raise _refused("DuckDB", said["refused"], asked["attached"])
        return said["names"] if columns is None else table

    return read(None), read


def _asked(folder: Path, asked: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """What a process of its own answers, and the table if it was asked for columns."""
    import pyarrow as pa

    known = os.environ if asked["kind"] != "duckdb" else {}
    given = {
        **asked,
        "path": [str(Path(each).resolve()) for each in sys.path if each],  # not the study's folder
    }
    done = subprocess.run(
        # -I: neither variables nor files of the folder change what is imported.
        [sys.executable, "-I", str(Path(__file__).with_name("asking.py"))],
        input=json.dumps(given).encode() + b"\n",
        capture_output=True,
        cwd=folder,
        env={**known, **{name: os.environ[name] for name in _HARMLESS if name in os.environ}},
        check=False,
    )
    line, _, table = done.stdout.partition(b"\n")
    if done.returncode or not line:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise _refused("DuckDB", "".join(last) or f"it ended with {done.returncode}", None)
    return json.loads(line), pa.ipc.open_stream(table).read_all() if table else None


def _not_installed(extension: str) -> MissingPackageError:
    return MissingPackageError(
        f"reading from this address needs DuckDB's extension {extension!r}, which is not "
        "installed.",
        hint=f"install it once, with `INSTALL {extension}` in DuckDB; or export the table to "
        "Parquet.",
    )


def _query_sqlite(query: str, path: Path | None) -> Opened:
    """Query SQLite, which refuses everything but reading."""
    where = ":memory:" if path is None else f"{path.resolve().as_uri()}?mode=ro"
    denied: list[int] = []

    def allow(action: int, *_: object) -> int:
        if action in _READS:
            return sqlite3.SQLITE_OK
        denied.append(action)
        return sqlite3.SQLITE_DENY

    try:
        database = sqlite3.connect(where, uri=path is not None)
        try:
            database.set_authorizer(allow)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_ROW)
            cursor = database.execute(query)
            if cursor.description is None:
                raise _not_reading("no statements")
            names, rows = [name for name, *_ in cursor.description], cursor.fetchall()
        finally:
            database.close()
    # More than one statement is a Warning, and from Python 3.12 on a ProgrammingError.
    except (sqlite3.Warning, sqlite3.ProgrammingError):
        raise _not_reading("several statements") from None
    except sqlite3.Error as error:
        if denied:
            raise _not_reading("a statement that does more than read") from None
        raise _refused("SQLite", str(error)) from None

    def read(columns: Sequence[str], _: Collection[str] = ()) -> Any:
        import pyarrow as pa

        places = [(name, names.index(name)) for name in columns]
        return pa.table({name: _column(name, [row[k] for row in rows]) for name, k in places})

    return names, read


def _column(name: str, values: list[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowException, ValueError, TypeError):
        kinds = sorted({type(value).__name__ for value in values if value is not None})
        raise DataError(
            f"column '{name}' of the query must hold values of one kind. Got {', '.join(kinds)}.",
            hint="cast it in the query, such as cast(... as text).",
        ) from None


def _scheme(address: str) -> str:
    """The kind of database that an address names; a driver behind a plus does not matter here."""
    return address.partition("://")[0].partition("+")[0].lower()


def _not_reading(got: str) -> InputError:
    return InputError(
        f"a query must be one single select statement. Got {got} instead.",
        hint="a query never changes anything: write 'select ...' or 'with ... select ...'; put a "
        "column whose name is a word of SQL in double quotes.",
    )


def _refused(database: str, said: str, address: str | None = None) -> InputError:
    said = without_secrets(said).strip()
    password = urlsplit(address or "").password
    for secret in filter(None, {password, unquote(password or "")}):
        said = said.replace(secret, "***")
    hint = "try the query in the database's own shell."
    if "file system operations are disabled" in said:
        hint = (
            "a query reads files of the study's folder; allow another one with --within (in "
            "Python, within=), or start elfair in the folder that holds them."
        )
    return InputError(f"{database} refused the query or the connection: {said}", hint=hint)

"""Tables from databases: one select statement, which cannot change anything.

The database engine itself says what a statement is. DuckDB parses every query that it answers, and
only a single SELECT reaches it; what it attaches, it attaches read-only, with its settings locked.
SQLite files are opened read-only by Python's own driver, which is told to refuse everything but
reading. (A function that a select calls on a server may still do what the account may do: query a
server with an account that may only read.)

Passwords in addresses are shown nowhere and recorded nowhere. A study file can leave them to the
environment: ``postgresql://ann:${DB_PASSWORD}@host/loans``.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from elfair.errors import DataError, InputError, MissingPackageError, install_extra
from elfair.records.tables import Opened

#: By the scheme of an address: the extension of DuckDB that attaches such a server.
SERVERS = {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}
_FILES = ("duckdb", "sqlite")

#: What a statement may do that SQLite prepares.
_READS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_CLOSED: dict[str, Any] = {
    # No code from elsewhere, no network, no variables of this process.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


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


def open_query(address: str, query: str, folder: Path) -> Opened:
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

    Examples
    --------
    >>> names, read = open_query("duckdb://", "select 1 as a, 'x' as b", Path("."))
    >>> names, read(["b"]).to_pydict()
    (['a', 'b'], {'b': ['x']})
    """
    scheme, rest = _scheme(address), address.partition("://")[2]
    if scheme in SERVERS:
        return _query_duckdb(query, folder, f"{scheme}://{rest}", SERVERS[scheme])
    inside = rest.removeprefix("/")
    if rest and not rest.startswith("/"):
        raise InputError(
            f"the address of a database file must be {scheme}:///file.db. Got "
            f"{without_secrets(address)!r} instead.",
            hint=f"write three slashes before a file; {scheme}:// alone has no file.",
        )
    path = None if inside in ("", ":memory:") else folder / inside
    if path is not None and not path.is_file():
        raise InputError(
            f"there is no database file {without_secrets(inside)!r}.",
            hint="a relative path begins at the folder of the study file; an absolute one has four "
            "slashes after the colon.",
        )
    if scheme == "sqlite":
        return _query_sqlite(query, path)
    return _query_duckdb(query, folder, None if path is None else str(path), "duckdb")


def _query_duckdb(query: str, folder: Path, attached: str | None, kind: str) -> Opened:
    """Query DuckDB, which attaches a file or a server if one is given."""
    try:
        import duckdb
    except ImportError:
        raise MissingPackageError(
            "reading from this address needs duckdb, which cannot be imported.",
            hint=install_extra("sql"),
        ) from None
    try:
        kinds = [statement.type for statement in duckdb.extract_statements(query)]
        if kinds != [duckdb.StatementType.SELECT]:
            raise _not_reading(" and ".join(each.name for each in kinds) or "no statements")
        database = duckdb.connect(config={**_CLOSED, "file_search_path": str(folder)})
        if attached is not None:
            if kind != "duckdb":
                _load(duckdb, database, kind)
            name = attached.replace("'", "''")
            database.execute(f"ATTACH '{name}' AS source (TYPE {kind}, READ_ONLY)")
            database.execute("USE source")
        # A select can call functions that change settings, such as where a log is written.
        database.execute("SET lock_configuration = true")
        relation = database.sql(query)
    except duckdb.Error as error:
        raise _refused("DuckDB", error, attached) from None

    def read(columns: Sequence[str], _: Collection[str] = ()) -> Any:
        wanted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        try:
            return relation.project(wanted).to_arrow_table()
        except duckdb.Error as error:
            raise _refused("DuckDB", error, attached) from None
        finally:
            database.close()

    return list(relation.columns), read


def _load(duckdb: Any, database: Any, extension: str) -> None:
    try:
        database.load_extension(extension)
    except duckdb.Error:
        raise MissingPackageError(
            f"reading from this address needs DuckDB's extension {extension!r}, which is not "
            "installed.",
            hint=f"install it once, with `INSTALL {extension}` in DuckDB; or export the table to "
            "Parquet.",
        ) from None


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
        raise _refused("SQLite", error) from None

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


def _refused(database: str, error: Exception, address: str | None = None) -> InputError:
    said = without_secrets(str(error)).strip()
    password = urlsplit(address or "").password
    for secret in filter(None, {password, unquote(password or "")}):
        said = said.replace(secret, "***")
    return InputError(
        f"{database} refused the query or the connection: {said}",
        hint="try the query in the database's own shell.",
    )


# -- secrets -----------------------------------------------------------------------------------

#: From the scheme to the last @ on the line: a password may itself hold any of : / ? @.
_LOGIN = re.compile(r"(\w[\w+.-]*://)[^\n]*@")
_PARAMETER = re.compile(
    r"((?:password|passwd|pwd|passphrase|token|secret|(?:api|access|private)_?key)\s*=\s*)"
    r"[^&\s'\";]+",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def without_secrets(text: str) -> str:
    """A text in which no address has a login, and no parameter has a password or token.

    It hides too much rather than too little.

    Parameters
    ----------
    text : str
        An address, or a message that holds some.

    Examples
    --------
    >>> without_secrets("postgresql://ann:s3cret@db/loans?sslpassword=x&mode=ro")
    'postgresql://***@db/loans?sslpassword=***&mode=ro'
    """
    return _PARAMETER.sub(r"\1***", _LOGIN.sub(r"\1***@", text))


def with_variables(address: str) -> str:
    """An address whose password is left to the environment, and so can be written down.

    Examples
    --------
    >>> with_variables("postgresql://ann:s3cret@db/loans?token=x")
    'postgresql://ann:${DB_PASSWORD}@db/loans?token=${DB_SECRET}'
    """
    address = re.sub(r"(://[^:/@]*):.*@", r"\1:${DB_PASSWORD}@", address)
    return _PARAMETER.sub(r"\1${DB_SECRET}", address)


def filled_in(address: str) -> str:
    """An address with its ``${NAME}`` filled in from the environment.

    Examples
    --------
    >>> filled_in("sqlite:///loans.db")
    'sqlite:///loans.db'
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InputError(
                f"the address {without_secrets(address)!r} asks for {match[1]} of the environment, "
                "which is not set.",
                hint=f"set it before you start: export {match[1]}=...",
            )
        return quote(os.environ[match[1]], safe="")

    return _VARIABLE.sub(value, address)

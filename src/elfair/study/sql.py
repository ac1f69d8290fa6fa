"""Tables from databases: DuckDB (also over files), and whatever SQLAlchemy knows.

A query only reads. It must be one select statement, and connections are opened so that they cannot
write: SQLite and DuckDB files read-only; elsewhere in a transaction that is read-only where the
database knows such, and is always rolled back. (A function that a select calls may still do what
the account may do: a server is best asked with an account that may only read.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from elfair.errors import DataError, InputError, MissingPackageError
from elfair.study.secrets import without_secrets
from elfair.study.statements import check_reads, not_reading

_READ = "the query is read and never changes anything; try it in the database's own shell."

#: What keeps a connection from writing.
_ONLY_READ = {"sqlite": "PRAGMA query_only = ON"} | dict.fromkeys(
    ("postgresql", "mysql", "mariadb", "oracle"), "SET TRANSACTION READ ONLY"
)

#: Databases that need no looking up.
_KNOWN = ("duckdb", "sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql")

#: The names of the columns, and what reads some of them.
Opened = tuple[list[str], Callable[[Sequence[str]], Any]]


def is_known(url: str) -> bool:
    """Whether an address is that of a database which can be asked, as far as its scheme tells.

    Parameters
    ----------
    url : str
        The address.

    Examples
    --------
    >>> is_known("postgresql+psycopg://host/db"), is_known("https://host/loans.csv")
    (True, False)
    """
    scheme = url.partition("://")[0].lower()
    if scheme.partition("+")[0] in _KNOWN:
        return True
    try:
        import_module("sqlalchemy.dialects").registry.load(scheme.replace("+", "."))
    except ImportError:
        return scheme not in ("http", "https")  # without SQLAlchemy only they are known not to be
    except Exception:  # no such plugin
        return False
    return True


def query_duckdb(url: str, query: str, folder: Path) -> Opened:
    """The result of a DuckDB query.

    Parameters
    ----------
    url : str
        ``duckdb:///file.db``, or ``duckdb://`` for a database in memory: its query reads files.
    query : str
        A select statement.
    folder : Path
        Where relative paths begin, in the address and in the query.

    Examples
    --------
    >>> names, read = query_duckdb("duckdb://", "select 1 as a, 'x' as b", Path("."))
    >>> names, read(["b"]).to_pydict()
    (['a', 'b'], {'b': ['x']})
    """
    duckdb = _package("duckdb")
    rest = url.removeprefix("duckdb://")
    if rest and not rest.startswith("/"):
        raise InputError(
            "a DuckDB address must be duckdb:///file.db or duckdb://. Got "
            f"{without_secrets(url)!r} instead.",
            hint=f"write three strokes before a file: {without_secrets('duckdb:///' + rest)!r}.",
        )
    inside = rest[1:]
    path = ":memory:" if inside in ("", ":memory:") else str(_existing(inside, folder))
    try:
        statements = duckdb.extract_statements(query)
        kinds = [statement.type for statement in statements]
        if kinds != [duckdb.StatementType.SELECT]:
            raise not_reading(" and ".join(kind.name for kind in kinds) or "no statements")
        database = duckdb.connect(
            path,
            read_only=path != ":memory:",
            config={
                "file_search_path": str(folder),
                # No code from elsewhere, no network, no variables of this process.
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
                # A select can call functions that change settings, such as where a log is written.
                "lock_configuration": True,
            },
        )
        relation = database.sql(query)
    except duckdb.Error as error:
        raise _refused("DuckDB", error) from None

    def read(columns: Sequence[str]) -> Any:
        wanted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        try:
            return relation.project(wanted).to_arrow_table()
        except duckdb.Error as error:
            raise _refused("DuckDB", error) from None
        finally:
            database.close()

    return list(relation.columns), read


def query_sqlalchemy(url: str, query: str, folder: Path) -> Opened:
    """The result of a query to any database that SQLAlchemy has a driver for.

    Parameters
    ----------
    url : str
        Such as ``sqlite:///loans.db`` or ``postgresql://user:password@host/database``.
    query : str
        A select statement.
    folder : Path
        Where the relative path of an SQLite file begins.

    Examples
    --------
    >>> names, read = query_sqlalchemy("sqlite://", "select 1 as a, 'x' as b", Path("."))
    >>> names, read(["b"]).to_pydict()
    (['a', 'b'], {'b': ['x']})
    """
    sqlalchemy = _package("sqlalchemy")
    try:
        address = sqlalchemy.make_url(url)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise InputError(
            f"{without_secrets(url)!r} is no address of a database.",
            hint="for example sqlite:///loans.db or postgresql://user@host/database.",
        ) from None
    memory = address.database in (None, "", ":memory:")
    database = address.get_backend_name()
    if database == "sqlite" and not memory:
        # SQLite would make an empty database of a name that is not there.
        file = _existing(address.database, folder).resolve().as_uri()
        address = address.set(database=file).update_query_dict({"uri": "true", "mode": "ro"})
    check_reads(query, database)
    try:
        engine = sqlalchemy.create_engine(address)
        with engine.connect() as connection:  # rolled back at the end, as nothing commits
            # Without parameters the text reaches the database as it is, colons, per cents and all.
            plain = connection.execution_options(no_parameters=True)
            if database in _ONLY_READ:
                plain.exec_driver_sql(_ONLY_READ[database])
            result = plain.exec_driver_sql(query)
            names, rows = [str(name) for name in result.keys()], result.fetchall()  # noqa: SIM118
        engine.dispose()
    except sqlalchemy.exc.NoSuchModuleError:
        raise InputError(
            f"SQLAlchemy knows no database {address.drivername!r}.",
            hint="check the part before ://; some databases come in a package of their own.",
        ) from None
    except ImportError as error:
        raise MissingPackageError(
            f"a database {address.drivername!r} needs a driver, which cannot be imported: {error}.",
            hint="install the driver that SQLAlchemy names for this database.",
        ) from None
    except Exception as error:  # drivers raise what they like
        cause = getattr(error, "orig", None) or error
        raise _refused(database, cause, address.password) from None

    def read(columns: Sequence[str]) -> Any:
        import pyarrow as pa

        values = {name: [row[names.index(name)] for row in rows] for name in columns}
        return pa.table({name: _column(name, column) for name, column in values.items()})

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


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingPackageError(
            f"reading from this address needs {name}, which cannot be imported.",
            hint="pip install 'elfair[sql]'.",
        ) from None


def _existing(inside: str, folder: Path) -> Path:
    path = folder / inside
    if not path.is_file():
        raise InputError(
            f"there is no database file {without_secrets(inside)!r}.",
            hint="a relative path begins at the folder of the study file; an absolute one has four "
            "strokes after the colon.",
        )
    return path


def _refused(database: str, error: BaseException, password: object = None) -> InputError:
    said = without_secrets(str(error)).strip()
    if password:
        said = said.replace(str(password), "***")
    return InputError(f"{database} refused the query or the connection: {said}", hint=_READ)

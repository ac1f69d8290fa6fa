"""Read a table: from a file, or from a database with a query."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from elfair.data.digests import file_digest
from elfair.errors import DataError, InputError, did_you_mean, listed
from elfair.records.files import unreadable
from elfair.records.tables import ENDINGS, Opened, format_of
from elfair.records.toml import repeated
from elfair.study.databases import filled_in, is_address, is_known, open_query, without_secrets


@dataclass(frozen=True)
class SourceTable:
    """A table as it was read, and where it came from.

    Parameters
    ----------
    table : pyarrow.Table
        The columns that were asked for.
    name : str
        The source, without secrets.
    digest : str or None
        The sha256 of the file's bytes; a query has none.

    Examples
    --------
    >>> read_table("duckdb://", query="select 1 as a").name
    'duckdb://'
    """

    table: Any
    name: str
    digest: str | None


def read_table(
    source: str | Path,
    *,
    query: str | None = None,
    columns: Sequence[str] | None = None,
    folder: Path | None = None,
) -> SourceTable:
    """Read a table, whatever holds it.

    Parameters
    ----------
    source : str or Path
        A file in one of the formats of `elfair.records.tables`, or the address of a database.
    query : str, optional
        The query, if the source is a database.
    columns : sequence of str, optional
        The columns that are needed; all of them unless given.
    folder : Path, optional
        Where relative paths begin; the working directory unless given.

    Returns
    -------
    SourceTable

    Examples
    --------
    >>> read = read_table("duckdb://", query="select 1 as a, 2 as b", columns=["b"])
    >>> read.table.to_pydict()
    {'b': [2]}
    """
    check_query(source, query)
    folder = (Path.cwd() if folder is None else folder).resolve()
    name = without_secrets(str(source))
    if query is not None:
        opened = open_query(filled_in(str(source)), query, folder)
        table, digest = _read(opened, columns, name), None
    else:
        table, digest = _read_file(folder / source, columns, name)
    if not table.num_rows:
        raise DataError(f"{name} has no rows.", hint="every row is one logged decision.")
    return SourceTable(table, name, digest)


def check_query(source: str | Path, query: str | None, of_study: str | None = None) -> None:
    """Raise if a database comes without a query, or a file with one.

    Parameters
    ----------
    source : str or Path
        A file, or the address of a database.
    query : str or None
        The query.
    of_study : str, optional
        The query of the study for its own source; it is shown for you to decide on.

    Examples
    --------
    >>> check_query("loans.csv", None)
    """
    shown = without_secrets(str(source))
    if is_address(source) and not is_known(str(source)):
        raise InputError(
            f"{shown!r} cannot be read. Sources are files "
            f"({ENDINGS}), duckdb://, sqlite://, and through DuckDB's extensions "
            "postgresql:// and mysql://.",
            hint="export the table to Parquet or CSV first.",
        )
    if is_address(source) and not (query or "").strip():
        needs = f"{shown!r} is a database, and needs a query."
        if of_study is None:
            hint = 'for example: query = "select * from loans where year = 2024"'
        else:
            needs += f" The query of the study is:\n{without_secrets(of_study)}"
            hint = "read it; if you agree to run it, give it as the query."
        raise InputError(needs, hint=hint)
    if not is_address(source) and query is not None:
        raise InputError(
            f"{str(source)!r} is a file, which takes no query.",
            hint=f'DuckDB can query files: source = "duckdb://", query = "select ... from '
            f"'{source}'\".",
        )


def nearest_file(path: Path, beside: Iterable[Path], otherwise: str) -> str:
    """The text of a hint: the file with almost that name, or else another piece of advice.

    Endings are not compared: they would be half of a short name.

    Parameters
    ----------
    path : Path
        The file that does not exist.
    beside : iterable of Path
        Files that do.
    otherwise : str
        The other piece of advice.

    Examples
    --------
    >>> nearest_file(Path("loan.csv"), [Path("loans.csv")], "check the folder.")
    "did you mean 'loans.csv'?"
    >>> nearest_file(Path("nothing.csv"), [Path("log.csv")], "check the folder.")
    'check the folder.'
    """
    names = {each.stem: each.name for each in sorted(beside, reverse=True)}
    near = get_close_matches(path.stem, names, n=1, cutoff=0.75)
    return f"did you mean '{names[near[0]]}'?" if near else otherwise


def _check_file(path: Path, name: str) -> None:
    """Raise unless a file exists, and is of a kind that can be read."""
    if path.is_dir():
        raise InputError(
            f"{name!r} must be a file. It is a folder.",
            hint='DuckDB reads many files at once: source = "duckdb://", query = '
            f"\"select * from '{name}/*.parquet'\".",
        )
    if not path.exists():
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        otherwise = "a relative path begins at the folder of the study file."
        raise InputError(f"there is no file {name!r}.", hint=nearest_file(path, beside, otherwise))
    format_of(path)
    if not path.stat().st_size:
        raise DataError(f"{name} is empty.", hint="check that it was written completely.")


def _read_file(path: Path, columns: Sequence[str] | None, name: str) -> tuple[Any, str]:
    import pyarrow as pa

    try:
        _check_file(path, name)
        return _read(format_of(path).open(path, name), columns, name), file_digest(path)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise unreadable(name, error) from None
        kind = path.suffix.lower().removeprefix(".")
        first = str(error).splitlines()[0]
        raise DataError(
            f"{name} is not a readable {kind} file: {first}",
            hint="check that it was written completely, and that its ending is right.",
        ) from None


def _read(opened: Opened, columns: Sequence[str] | None, name: str) -> Any:
    every, read = opened
    names = [each for each in every if each]  # a column without a name cannot be named
    for mistake in repeated(f"the columns of {name}", names):
        raise mistake
    wanted = list(names if columns is None else dict.fromkeys(columns))
    check_columns(wanted, names, name, "check the names in [columns].")
    return _plain(read(wanted))


def check_columns(wanted: Iterable[str], names: Collection[str], table: str, advice: str) -> None:
    """Raise if a table lacks a column.

    Parameters
    ----------
    wanted : iterable of str
        The columns that are needed.
    names : collection of str
        Those that there are.
    table : str
        What messages call the table.
    advice : str
        What to do if no column has almost that name.

    Examples
    --------
    >>> check_columns(["age"], ["age", "sex"], "loans.csv", "check the names.")
    """
    absent = [each for each in wanted if each not in names]
    if absent:
        raise DataError(
            f"{table} has no column {listed(absent)}; columns: {listed(names, 30)}.",
            hint=did_you_mean(absent[0], names, advice),
        )


def _plain(table: Any) -> Any:
    """Categories as what they name, and decimals as floats."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_decimal(kind):
            kind = pa.float64()
        if kind != field.type:
            table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table

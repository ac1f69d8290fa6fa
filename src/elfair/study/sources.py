"""Where a table comes from: a file (CSV, Parquet, Arrow), or a database and a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from elfair.data.digests import file_digest
from elfair.errors import DataError, InputError, did_you_mean, listed
from elfair.records.files import unreadable
from elfair.study.databases import (
    Opened,
    filled_in,
    is_address,
    is_known,
    open_query,
    without_secrets,
)
from elfair.study.delimited import DelimitedText

FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")


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
        A file (.csv, .tsv, .parquet, .arrow, .feather), or the address of a database.
    query : str, optional
        What to ask a database.
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
        path = _file(folder / source, name)
        table, digest = _read_file(path, columns, name)
    if not table.num_rows:
        raise DataError(f"{name} has no rows.", hint="every row is one logged decision.")
    return SourceTable(table, name, digest)


def check_query(source: str | Path, query: str | None, of_study: str | None = None) -> None:
    """Raise where a database comes without a query, or a file with one.

    Parameters
    ----------
    source : str or Path
        A file, or the address of a database.
    query : str or None
        What to ask.
    of_study : str, optional
        What the study asks its own source; it is shown, for a person to agree to.

    Examples
    --------
    >>> check_query("loans.csv", None)
    """
    if is_address(source) and not is_known(str(source)):
        raise InputError(
            f"{without_secrets(str(source))!r} cannot be read. Sources are files "
            f"({', '.join(FORMATS)}), duckdb://, sqlite://, and through DuckDB's extensions "
            "postgresql:// and mysql://.",
            hint="export the table to Parquet or CSV first.",
        )
    if is_address(source) and not (query or "").strip():
        needs = f"{without_secrets(str(source))!r} is a database, and needs a query."
        if of_study is None:
            hint = 'for example: query = "select * from loans where year = 2024"'
        else:
            needs += f" That of the study is:\n{without_secrets(of_study)}"
            hint = "read it; if it may be asked, give it as the query."
        raise InputError(needs, hint=hint)
    if not is_address(source) and query is not None:
        raise InputError(
            f"{str(source)!r} is a file, which takes no query.",
            hint=f'DuckDB can ask files: source = "duckdb://", query = "select ... from '
            f"'{source}'\".",
        )


def nearest_file(path: Path, beside: Iterable[Path], otherwise: str) -> str:
    """The text of a hint: the file of nearly that name, or else another piece of advice.

    Endings are not compared: of short names they would be half.

    Parameters
    ----------
    path : Path
        What is not there.
    beside : iterable of Path
        What is.
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


def _file(path: Path, name: str) -> Path:
    """The path of a file that is there, and of a kind that can be read."""
    try:
        if path.is_dir():
            raise InputError(
                f"{name!r} must be a file. It is a folder.",
                hint='DuckDB reads many files at once: source = "duckdb://", query = '
                f"\"select * from '{name}/*.parquet'\".",
            )
        if not path.exists():
            beside = path.parent.iterdir() if path.parent.is_dir() else ()
            raise InputError(
                f"there is no file {name!r}.",
                hint=nearest_file(
                    path, beside, "a relative path begins at the folder of the study file."
                ),
            )
    except OSError as error:
        raise unreadable(name, error) from None
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{name!r} must be one of {', '.join(FORMATS)}. Got {path.suffix or 'no ending'!r} "
            "instead.",
            hint="save the table as CSV or Parquet.",
        )
    return path


def _read_file(path: Path, columns: Sequence[str] | None, name: str) -> tuple[Any, str]:
    import pyarrow as pa

    openers = {".parquet": _parquet, ".arrow": _arrow, ".feather": _arrow}
    opener = openers.get(path.suffix.lower(), _delimited)
    try:
        digest = file_digest(path)
        if not path.stat().st_size:
            raise DataError(f"{name} is empty.", hint="was it written to the end?")
        return _read(opener(path, name), columns, name), digest
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise unreadable(name, error) from None
        kind = path.suffix.lower().removeprefix(".")
        first = str(error).splitlines()[0]
        raise DataError(
            f"{name} is no readable {kind} file: {first}",
            hint="was it written to the end, and does its ending say what it is?",
        ) from None


def _delimited(path: Path, name: str) -> Opened:
    text = DelimitedText(path.read_bytes(), name)
    return text.names, text.read


def _parquet(path: Path, name: str) -> Opened:
    from pyarrow import parquet

    file = parquet.ParquetFile(path, pre_buffer=False)
    return file.schema_arrow.names, lambda columns: file.read(columns=list(columns))


def _arrow(path: Path, name: str) -> Opened:
    import pyarrow as pa

    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"  # the other format is a stream

    def opened(fields: list[int] | None) -> Any:
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        file = pa.OSFile(str(path))
        return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file, options=options)

    names = opened(None).schema.names

    def read(columns: Sequence[str]) -> Any:
        fields = sorted(names.index(column) for column in columns)
        return opened(fields).read_all().select(list(columns))

    return names, read


def _read(opened: Opened, columns: Sequence[str] | None, name: str) -> Any:
    every, read = opened
    names = [each for each in every if each]  # what has no name cannot be asked for
    twice = [each for each, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f"{name} has {names.count(twice[0])} columns called {twice[0]!r}; names must differ.",
            hint="rename all but one of them.",
        )
    wanted = list(names if columns is None else dict.fromkeys(columns))
    absent = [each for each in wanted if each not in names]
    if absent:
        raise DataError(
            f"{name} has no column {listed(absent)}; columns: {listed(names, 30)}.",
            hint=did_you_mean(absent[0], names, "check the names in [columns]."),
        )
    return _plain(read(wanted))


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

"""Read a table: from a file, or from a database with a query."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from elfair.data.spelling import plain
from elfair.errors import DataError, InputError, did_you_mean, listed
from elfair.records.appending import finish_appending
from elfair.records.files import check_regular, unreadable
from elfair.records.tables import ENDINGS, FORMATS, DelimitedText, Opened, format_of, typed
from elfair.records.text import plural
from elfair.records.toml import repeated
from elfair.study.databases import is_address, is_known, is_server, open_query
from elfair.study.reach import Reach
from elfair.study.secrets import filled_in, without_secrets


@dataclass(frozen=True)
class Part:
    """The rows of a table that came from one source.

    Parameters
    ----------
    name : str
        The source, without secrets.
    n : int
        How many rows there are.
    content : bytes or None
        The file, if it is text and has lines.
    """

    name: str
    n: int
    content: bytes | None = None


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
        The sha256 of the file's bytes (of several files, of their digests in order); a query has
        none.
    parts : tuple of Part
        The rows by source, in order.
    as_written : frozenset of str
        The columns that hold the texts of a text file, as they were written.
    changes : tuple of str
        What was done to make one table of the sources.
    names : frozenset of str
        All columns that there are, also those that were not asked for.

    Examples
    --------
    >>> read_table("duckdb://", query="select 1 as a").name
    'duckdb://'
    """

    table: Any
    name: str
    digest: str | None
    parts: tuple[Part, ...] = ()
    as_written: frozenset[str] = frozenset()
    changes: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    def place(self, row: int) -> str:
        """Where a row is, as people find it: by the line of a file, or else counted from 1.

        Parameters
        ----------
        row : int
            The row, counted from 0.
        """
        for part in self.parts:
            if row < part.n:
                of = f" of {part.name}" if len(self.parts) > 1 else ""
                if part.content is None:
                    return f"row {row + 1:,}{of}"
                line = DelimitedText(part.content, part.name).line(row)
                return f"line {line:,}{of}"
            row -= part.n
        return f"row {row + 1:,}"


@dataclass(frozen=True)
class OpenTable:
    """A source that was opened, of which columns can be read.

    Parameters
    ----------
    name : str
        The source, without secrets.
    names : list of str
        The columns that have a name.
    read : callable
        Reads columns, see `elfair.records.tables.Opened`.
    path : Path or None
        The file; a query has none.
    content : bytes
        The file as it was read, once: whatever is written to it meanwhile is not seen.
    """

    name: str
    names: list[str]
    read: Callable[[Sequence[str], Collection[str]], Any]
    path: Path | None
    content: bytes = b""

    @property
    def is_text(self) -> bool:
        """Whether it is a text file, of which values can be read as they were written."""
        return self.path is not None and format_of(self.path) in (FORMATS[".csv"], FORMATS[".tsv"])


def read_table(
    source: str | Path | Sequence[str],
    *,
    query: str | None = None,
    columns: Sequence[str] | None = None,
    folder: Path | None = None,
    as_written: bool | Collection[str] = (),
    within: Sequence[str | Path] = (),
) -> SourceTable:
    """Read a table, whatever holds it.

    Parameters
    ----------
    source : str, Path or sequence of str
        A file in one of the formats of `elfair.records.tables`, or the address of a database; or
        several files of the same columns: a list, or a pattern such as ``loans-*.csv``.
    query : str, optional
        The query, if the source is a database.
    columns : sequence of str, optional
        The columns that are needed; all of them unless given.
    folder : Path, optional
        Where relative paths begin; the working directory unless given.
    as_written : bool or collection of str, default ()
        The columns of text files that are wanted as they were written; True for all of them.
    within : sequence of str or Path
        Folders whose files a query may read, beside that one.

    Returns
    -------
    SourceTable

    Examples
    --------
    >>> read = read_table("duckdb://", query="select 1 as a, 2 as b", columns=["b"])
    >>> read.table.to_pydict()
    {'b': [2]}
    """
    opened = open_tables(source, query=query, folder=folder, within=within)
    return read_opened(opened, columns, as_written)


def open_tables(
    source: str | Path | Sequence[str],
    *,
    query: str | None = None,
    folder: Path | None = None,
    reach: Reach | None = None,
    within: Sequence[str | Path] = (),
) -> list[OpenTable]:
    """Open every file of a source, or the database.

    Parameters
    ----------
    source, query, folder
        See `read_table`.
    reach : Reach, optional
        What may be read, if a study names the source. Without it the source is the user's own.
    within : sequence of str or Path
        Further folders that the user's own query may read.
    """
    check_query(source, query)
    folder = (Path.cwd() if folder is None else folder).resolve()
    if query is not None:
        address, shown = str(source), without_secrets(str(source))
        if reach is not None and is_server(address):
            reach.check_server(address, shown)
        names, read = open_query(filled_in(address), query, folder, reach, within)
        return [_open(shown, lambda: (names, read), None)]
    opened = []
    for each in files_of(source, folder, reach):
        path, name = folder / each, str(each)
        if reach is not None:
            reach.check_file(path, name)
        with _readable(path, name):
            _check_file(path, name)
            finish_appending(path)
            content = path.read_bytes()
        opened.append(_open(name, partial(format_of(path).open, content, name), path, content))
    return opened


def files_of(
    source: str | Path | Sequence[str], folder: Path, reach: Reach | None = None
) -> list[str]:
    """The files that a source names: itself, each of a list, and those that fit a pattern.

    Parameters
    ----------
    source : str, Path or sequence of str
        See `read_table`.
    folder : Path
        Where relative paths begin.
    reach : Reach, optional
        Where patterns may look.

    Examples
    --------
    >>> files_of(["a.csv", "b.csv"], Path())
    ['a.csv', 'b.csv']
    """
    listed_files = [str(source)] if isinstance(source, str | Path) else list(source)
    found: list[str] = []
    for each in listed_files:
        if not set(each) & set("*?[") or (folder / each).exists():
            found.append(each)
            continue
        if reach is not None:
            reach.check_file(folder / re.split(r"[^/\\]*[*?\[]", each)[0], each)
        base = Path(each).anchor or folder
        fitting = sorted(Path(base).glob(str(Path(each).relative_to(Path(each).anchor))))
        if not fitting:
            raise InputError(
                f"no file fits {each!r}.",
                hint="a relative path begins at the folder of the study file.",
            )
        found += [str(one.relative_to(folder)) if base == folder else str(one) for one in fitting]
    return found


def read_opened(
    opened: Sequence[OpenTable],
    columns: Sequence[str] | None = None,
    as_written: bool | Collection[str] = (),
) -> SourceTable:
    """Read columns of open tables, one below the other.

    Parameters
    ----------
    opened : sequence of OpenTable
        From `open_tables`.
    columns, as_written
        See `read_table`.
    """
    every = dict.fromkeys(name for each in opened for name in each.names)
    wanted = list(every if columns is None else dict.fromkeys(columns))
    name = ", ".join(each.name for each in opened)
    if len(opened) == 1:
        check_columns(wanted, every, name, "check the names in [columns].")
    else:
        _check_alike(opened, wanted)
    is_text = all(each.is_text for each in opened)
    raw = frozenset(wanted if as_written is True else as_written or ()) if is_text else frozenset()
    # Of several text files, what a column holds is decided when all of it is known.
    texts = wanted if is_text and len(opened) > 1 else raw
    tables = [_plain(each.read(wanted, texts)) for each in opened]
    table = _below(tables, opened)
    if not table.num_rows:
        raise DataError(f"{name} has no rows.", hint="every row is one logged decision.")
    for place, column in enumerate(wanted):
        if column in texts and column not in raw:
            table = table.set_column(place, column, typed(table.column(column)))
    parts = tuple(
        Part(each.name, one.num_rows, each.content if each.is_text else None)
        for each, one in zip(opened, tables, strict=True)
    )
    digests = [hashlib.sha256(each.content).hexdigest() for each in opened if each.path]
    digest = digests[0] if len(digests) == 1 else digest_of(digests)
    raw, said = raw & set(wanted), tuple(_repeats(parts))
    return SourceTable(table, name, digest, parts, raw, said, frozenset(every))


def _repeats(parts: Sequence[Part]) -> Iterator[str]:
    """What is said of lines that repeat the names of the columns."""
    for part in parts:
        if part.content and (again := DelimitedText(part.content, part.name).repeats):
            said = f"{plural(len(again), 'line')} with the names of the columns again, left out"
            yield f"{Path(part.name).name}: {said}"  # wherever it is verified


def digest_of(digests: Sequence[str]) -> str | None:
    """One digest for several files, from theirs; None for none.

    Parameters
    ----------
    digests : sequence of str
        In the order of the files.
    """
    return hashlib.sha256("\n".join(digests).encode()).hexdigest() if digests else None


def _check_alike(opened: Sequence[OpenTable], wanted: Sequence[str]) -> None:
    """Raise if some files lack a column that others have, or that is needed."""
    lacking = {
        each.name: absent
        for each in opened
        if (absent := [name for name in wanted if name not in each.names])
    }
    if lacking:
        said = "; ".join(f"{name} lacks {listed(absent)}" for name, absent in lacking.items())
        first = next(iter(lacking.values()))[0]
        raise DataError(
            f"several files must have the same columns. {said}.",
            hint=did_you_mean(
                first,
                dict.fromkeys(name for each in opened for name in each.names if name != first),
                "rename the columns of these files, or take the files out of source in [data].",
            ),
        )


def _below(tables: Sequence[Any], opened: Sequence[OpenTable]) -> Any:
    import pyarrow as pa

    if len(tables) == 1:
        return tables[0]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        for name in tables[0].column_names:
            kinds = {str(table.schema.field(name).type) for table in tables}
            if len(kinds) > 1:
                raise DataError(
                    f"column {name!r} holds {listed(sorted(kinds))} in different files: "
                    f"{', '.join(each.name for each in opened)}.",
                    hint="write it in the same way in all of them, or export all to CSV.",
                ) from None
        raise


def check_query(
    source: str | Path | Sequence[str], query: str | None, of_study: str | None = None
) -> None:
    """Raise if a database comes without a query, or a file with one.

    Parameters
    ----------
    source : str, Path or sequence of str
        A file or several, or the address of a database.
    query : str or None
        The query.
    of_study : str, optional
        The query of the study for its own source; it is shown for you to decide on.

    Examples
    --------
    >>> check_query("loans.csv", None)
    """
    if not isinstance(source, str | Path):
        for each in source:
            if is_address(each):
                raise InputError(
                    f"several sources must be files. Got {without_secrets(each)!r}.",
                    hint="one query can read several tables: select ... union all select ...",
                )
        source = ", ".join(source)
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
            hint=f"a pattern reads all of its files: source = '{name}/*.csv'",
        )
    if not path.exists():
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        otherwise = "a relative path begins at the folder of the study file."
        raise InputError(f"there is no file {name!r}.", hint=nearest_file(path, beside, otherwise))
    format_of(path)
    check_regular(path)
    if not path.stat().st_size:
        raise DataError(f"{name} is empty.", hint="check that it was written completely.")


def _open(
    name: str, opening: Callable[[], Opened], path: Path | None, content: bytes = b""
) -> OpenTable:
    """A table that is open; what Arrow has against the file is said in other words."""
    with _readable(path, name):
        every, read = opening()
    names = [each for each in every if each]  # a column without a name cannot be named
    for mistake in repeated(f"the columns of {name}", names):
        raise mistake

    def reading(columns: Sequence[str], as_written: Collection[str]) -> Any:
        with _readable(path, name):
            return read(columns, as_written)

    return OpenTable(name, names, reading, path, content)


@contextmanager
def _readable(path: Path | None, name: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if path is None:
            raise
        if getattr(error, "errno", None) is not None:
            raise unreadable(name, error) from None
        kind = path.suffix.lower().removeprefix(".")
        first = str(error).splitlines()[0]
        raise DataError(
            f"{name} is not a readable {kind} file: {first}",
            hint="check that it was written completely, and that its ending is right.",
        ) from None


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
        alike = next((each for each in names if plain(each) == plain(absent[0])), None)
        raise DataError(
            f"{table} has no column {listed(absent)}; columns: {listed(names, 30)}.",
            hint=f"did you mean {alike!r}?"
            if alike is not None
            else did_you_mean(absent[0], names, advice),
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

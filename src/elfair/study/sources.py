"""Read a table: from a file (CSV, Parquet, Arrow), or from a database with a query.

A column of a CSV file keeps what was written, and becomes numbers only if all of it is numbers.
Missing is what is empty, ``NA``, ``NaN``, ``nan``, ``null`` or ``NULL``. Whole numbers, decimal
numbers (with a point) and true/false become that; everything else stays text: dates, and codes with
leading zeros such as 007.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from elfair.data.digests import file_digest
from elfair.errors import DataError, InputError, did_you_mean, listed
from elfair.records.files import decoded, unreadable
from elfair.records.text import plural
from elfair.records.toml import repeated
from elfair.study.databases import (
    Opened,
    filled_in,
    is_address,
    is_known,
    open_query,
    without_secrets,
)

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
            f"({', '.join(FORMATS)}), duckdb://, sqlite://, and through DuckDB's extensions "
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
    check_format(path)
    if not path.stat().st_size:
        raise DataError(f"{name} is empty.", hint="check that it was written completely.")


def check_format(source: str | Path) -> None:
    """Raise for a file that is not of a kind that can be read or written.

    Parameters
    ----------
    source : str or Path
        A file, or the address of a database.

    Examples
    --------
    >>> check_format("loans.csv")
    """
    ending = Path(source).suffix
    if not is_address(source) and ending.lower() not in FORMATS:
        raise InputError(
            f"the file of a table must end with one of {', '.join(FORMATS)}. Got "
            f"{Path(source).name!r} instead.",
            hint="use CSV or Parquet.",
        )


def _read_file(path: Path, columns: Sequence[str] | None, name: str) -> tuple[Any, str]:
    import pyarrow as pa

    openers = {".parquet": _parquet, ".arrow": _arrow, ".feather": _arrow}
    opener = openers.get(path.suffix.lower(), _delimited)
    try:
        _check_file(path, name)
        return _read(opener(path, name), columns, name), file_digest(path)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise unreadable(name, error) from None
        kind = path.suffix.lower().removeprefix(".")
        first = str(error).splitlines()[0]
        raise DataError(
            f"{name} is not a readable {kind} file: {first}",
            hint="check that it was written completely, and that its ending is right.",
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

    reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(pa.OSFile(str(path)))
    return reader.schema.names, lambda columns: reader.read_all().select(list(columns))


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


# -- CSV and TSV --------------------------------------------------------------------------------

DELIMITERS = (",", ";", "\t")
#: What to do about numbers with a decimal comma.
POINTS = (
    "write decimal numbers with a point: 1.5, not 1,5; or let DuckDB read the file: source = "
    "\"duckdb://\", query = \"from read_csv('loans.csv', decimal_separator = ',')\"."
)
MISSING = ("", "NA", "NaN", "nan", "null", "NULL")
#: Lines that tell the delimiter.
SNIFFED = 20

_SPACE = r"[ \t]*"
_WHOLE = rf"^{_SPACE}-?(0|[1-9][0-9]*){_SPACE}$"
_DECIMAL = rf"^{_SPACE}-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?{_SPACE}$"
_COMMA = rf"{_SPACE}-?[0-9]+(\.[0-9]{{3}})*,[0-9]+([eE][+-]?[0-9]+)?{_SPACE}"
_TRUTH = rf"^{_SPACE}(true|True|TRUE|false|False|FALSE){_SPACE}$"


class DelimitedText:
    r"""The bytes of a CSV file, and the names of its columns.

    Parameters
    ----------
    content : bytes
        The file.
    name : str
        What messages call it.

    Examples
    --------
    >>> text = DelimitedText(b"id;sum\n007;1.5\n008;NA\n", "loans.csv")
    >>> text.names
    ['id', 'sum']
    >>> text.read(["id", "sum"]).to_pydict()
    {'id': ['007', '008'], 'sum': [1.5, None]}
    """

    def __init__(self, content: bytes, name: str) -> None:
        self._content = content.removeprefix(b"\xef\xbb\xbf")  # the mark of UTF-8
        self._name = name
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataError(
                f"{name} must be text in UTF-8. Its first bytes are the mark of UTF-16.",
                hint="save it again as 'CSV UTF-8'.",
            )
        first = self._content[:100_000]
        if len(first) < len(self._content):
            first = first[: first.rfind(b"\n") + 1] or first
        text = first.decode("utf-8", "replace")
        if not text.strip():
            raise DataError(f"{name} is empty.", hint="its first line must name the columns.")
        self._delimiter = max(DELIMITERS, key=lambda each: _fit(text, each))
        self.names = next(_records(text, self._delimiter, 1))[1]
        if "\ufffd" in "".join(self.names):
            self._text()

    def read(self, columns: Sequence[str]) -> Any:
        """Some columns, as a pyarrow table."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        try:
            table = arrow.read_csv(
                pa.BufferReader(self._content),
                parse_options=arrow.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True
                ),
                convert_options=arrow.ConvertOptions(
                    include_columns=list(columns),
                    column_types=dict.fromkeys(columns, pa.string()),
                ),
            )
        except pa.ArrowInvalid as error:
            self._check_lines()
            raise DataError(
                f"{self._name} cannot be read: {error}.", hint="check that it is a CSV file."
            ) from None
        if self._content.count(b'"') % 2:
            self._check_lines()  # a quote that nothing closes swallows all lines after it
        return pa.table({name: typed(table[name]) for name in columns})

    def _text(self) -> str:
        hint = "save it again as 'CSV UTF-8'; older programs write Latin-1 or Windows-1252."
        return decoded(self._content, self._name, hint=hint)

    def _check_lines(self) -> None:
        """Say which line has another number of fields than the first one, or an open quote."""
        text, wanted, last = self._text(), len(self.names), 1
        try:
            for line, record in _records(text, self._delimiter):
                last = line + 1
                if len(record) != wanted:
                    raise DataError(
                        f"line {line} of {self._name} has {plural(len(record), 'field')}, but the "
                        f"first line names {wanted} columns.",
                        hint=f"a value that holds {self._delimiter!r} must stand in double quotes.",
                    )
        except csv.Error:
            raise DataError(
                f'{self._name} has a quote (") that is never closed; it opens in the record that '
                f"begins at line {last}.",
                hint='close it; a quote inside quotes is written twice, "".',
            ) from None


def has_decimal_comma(value: object) -> bool:
    """Whether a value is the text of a number with a decimal comma, as some Excels write it.

    Examples
    --------
    >>> has_decimal_comma("-1.250,5"), has_decimal_comma("1.5"), has_decimal_comma("a, b")
    (True, False, False)
    """
    return isinstance(value, str) and re.fullmatch(_COMMA, value) is not None


def typed(column: Any) -> Any:
    """A column of texts as whole numbers, decimal numbers or true/false, if all of it is that.

    Examples
    --------
    >>> import pyarrow as pa
    >>> typed(pa.chunked_array([["1", "NA", "2"]])).to_pylist()
    [1, None, 2]
    >>> typed(pa.chunked_array([["1", "02"]])).to_pylist()
    ['1', '02']
    """
    import pyarrow as pa
    from pyarrow import compute

    trimmed = compute.utf8_trim(column, characters=" \t")
    absent = compute.is_in(trimmed, value_set=pa.array(MISSING))
    column = compute.if_else(absent, pa.scalar(None, pa.string()), column)
    kinds = ((_WHOLE, pa.int64()), (_DECIMAL, pa.float64()), (_TRUTH, pa.bool_()))
    for pattern, kind in kinds:
        if compute.all(compute.match_substring_regex(column, pattern)).as_py() is not False:
            try:
                return compute.utf8_trim(column, characters=" \t").cast(kind)
            except pa.ArrowInvalid:  # more digits than a number can hold: an identifier
                return column
    return column


def _records(text: str, delimiter: str, most: int | None = None) -> Iterator[tuple[int, list[str]]]:
    """The records that are not empty, each with the line where it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begin, found = 1, 0
    for record in reader:
        if record:
            yield begin, record
            found += 1
            if found == most:
                return
        begin = reader.line_num + 1


def _fit(text: str, delimiter: str) -> tuple[bool, int]:
    """How well a delimiter explains the first lines: all have as many fields, and how many."""
    widths: list[int] = []
    with suppress(csv.Error):  # a quote that is never closed is found when the file is read
        widths += (len(record) for _, record in _records(text, delimiter, SNIFFED))
    return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0

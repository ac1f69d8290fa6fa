"""Files that hold tables: how each format is read and written.

A column of a CSV file keeps what was written, and becomes numbers only if all of it is numbers.
Missing is what is empty, ``NA``, ``NaN``, ``nan``, ``null`` or ``NULL``. Whole numbers, decimal
numbers (with a point) and true/false become that; everything else stays text: dates, and codes with
leading zeros such as 007.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from elfair.errors import DataError, InputError
from elfair.records.elsewhere import advice, ending_of, named
from elfair.records.files import decoded
from elfair.records.text import plural

#: The names of the columns, and what reads some of them: those that are wanted, and those among
#: them of which the texts of a text file are wanted as they were written.
Opened: TypeAlias = tuple[list[str], Callable[[Sequence[str], Collection[str]], Any]]


@dataclass(frozen=True)
class TableFormat:
    """A format of files that hold tables.

    Parameters
    ----------
    open : callable
        From the bytes of a file, and what messages call it, to the names of the columns and what
        reads them.
    write : callable
        Writes a pyarrow.Table to an open stream.
    """

    open: Callable[[bytes, str], Opened]
    write: Callable[[Any, Any], None]


def format_of(path: str | Path) -> TableFormat:
    """The format that the name of a file asks for; `InputError` if there is none.

    Parameters
    ----------
    path : str or Path
        The file.

    Examples
    --------
    >>> format_of("loans.CSV") is FORMATS[".csv"]
    True
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"the file of a table must end with one of {ENDINGS}. Got {path.name!r} instead.",
            hint=advice(path),
        )
    return FORMATS[path.suffix.lower()]


def file_content(table: Any, path: Path) -> bytes:
    r"""A table as the bytes of a file, in the format that its name asks for.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    path : Path
        The file; nothing is written to it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> file_content(pa.table({"age": [30]}), Path("people.csv"))
    b'"age"\n30\n'
    """
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    format_of(path).write(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _open_delimited(content: bytes, name: str) -> Opened:
    text = DelimitedText(content, name)
    return text.names, text.read


def _open_parquet(content: bytes, name: str) -> Opened:
    import pyarrow as pa
    from pyarrow import parquet

    file = parquet.ParquetFile(pa.BufferReader(content), pre_buffer=False)
    return file.schema_arrow.names, lambda columns, _: file.read(columns=list(columns))


def _open_arrow(content: bytes, name: str) -> Opened:
    import pyarrow as pa

    is_file = content.startswith(b"ARROW1")  # the other format is a stream
    reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(pa.BufferReader(content))
    return reader.schema.names, lambda columns, _: reader.read_all().select(list(columns))


def _write_delimited(delimiter: str) -> Callable[[Any, Any], None]:
    def write(table: Any, sink: Any) -> None:
        from pyarrow import csv as arrow

        arrow.write_csv(table, sink, arrow.WriteOptions(delimiter=delimiter))

    return write


def _write_parquet(table: Any, sink: Any) -> None:
    from pyarrow import parquet

    parquet.write_table(table, sink)


def _write_arrow(table: Any, sink: Any) -> None:
    from pyarrow import feather

    feather.write_feather(table, sink, compression="uncompressed")


#: How a file is read and written, by the ending of its name.
FORMATS: Mapping[str, TableFormat] = {
    ".csv": TableFormat(_open_delimited, _write_delimited(",")),
    ".tsv": TableFormat(_open_delimited, _write_delimited("\t")),
    ".parquet": TableFormat(_open_parquet, _write_parquet),
    ".arrow": TableFormat(_open_arrow, _write_arrow),
    ".feather": TableFormat(_open_arrow, _write_arrow),
}
#: The endings, for people.
ENDINGS = ", ".join(FORMATS)


# -- CSV and TSV --------------------------------------------------------------------------------

DELIMITERS = (",", ";", "\t", "|")
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
        _check_is_text(content, name)
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
        self._check_names(text)

    def _check_names(self, text: str) -> None:
        """Raise if the first line is a title, or has names for half of the columns alone."""
        try:
            records = list(_records(text, self._delimiter, SNIFFED))
        except csv.Error:  # found when the file is read
            return
        widths = [sum(map(bool, record)) for _, record in records]
        widest = max(widths)
        if widths[0] * 2 > widest or widest < 3:
            return
        line = next(at for (at, _), width in zip(records, widths, strict=True) if width == widest)
        raise DataError(
            f"the first line of {self._name} must name the columns. It has "
            f"{plural(widths[0], 'name')}, but line {line} has {widest} fields.",
            hint="delete the lines above the one that names the columns; if names stand in several "
            "lines, write them into one.",
        )

    def read(self, columns: Sequence[str], as_written: Collection[str] = ()) -> Any:
        """Some columns, as a pyarrow table; of some, the texts as they were written."""
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
        if self.repeats:
            repeated = set(self.repeats)
            table = table.filter(pa.array([k not in repeated for k in range(table.num_rows)]))
        return pa.table(
            {name: table[name] if name in as_written else typed(table[name]) for name in columns}
        )

    @cached_property
    def repeats(self) -> tuple[int, ...]:
        """The rows that are the names of the columns again, as where files were put one below the
        other. They are left out.
        """
        first = self._content.partition(b"\n")[0].strip(b"\r")
        if self._content.count(b"\n" + first) == 0:  # nearly always
            return ()
        rows = _records(self._text(), self._delimiter)
        return tuple(k - 1 for k, (_, row) in enumerate(rows) if k and row == self.names)

    def line(self, row: int) -> int:
        """The line where a row begins, counted from 1: the names of the columns have line 1."""
        return next(line for count, (line, _) in enumerate(self.records()) if count == row)

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The rows, also those with too few or too many fields, each with the line where it begins;
        without those that are the names again.

        Raise where a quote is never closed: nobody knows which lines it swallows.
        """
        rows = _records(self._text(), self._delimiter)
        next(rows)
        try:
            yield from (each for each in rows if each[1] != self.names)
        except csv.Error:
            self._check_lines()

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


def _check_is_text(content: bytes, name: str) -> None:
    """Raise if a file is of another format, whatever its name says."""
    ending = ending_of(content)
    if ending is None:
        return
    right = named(name, ending)
    then = "and it is read." if ending in FORMATS else f"then {advice(right)}"
    raise DataError(
        f"{name} must be text. By its content, it is a {ending} file, whatever its name says.",
        hint=f"name it {right!r}{',' if ending in FORMATS else ';'} {then}",
    )


def has_decimal_comma(value: object) -> bool:
    """Whether a value is the text of a number with a decimal comma, as some Excels write it.

    Examples
    --------
    >>> has_decimal_comma("-1.250,5"), has_decimal_comma("1.5"), has_decimal_comma("a, b")
    (True, False, False)
    """
    return isinstance(value, str) and re.fullmatch(_COMMA, value) is not None


def is_plain_number(text: str) -> bool:
    """Whether a text is a number, written plainly.

    Examples
    --------
    >>> is_plain_number(" -1.5e3"), is_plain_number("1,5")
    (True, False)
    """
    return re.match(_DECIMAL, text) is not None


def comma_hint(name: str, values: Iterable[Any]) -> str:
    """The text of a hint: how a study file declares what commas in numbers mean.

    Parameters
    ----------
    name : str
        The column, as TOML writes it.
    values : iterable
        Its values with a comma.

    Examples
    --------
    >>> comma_hint('"sum"', ["1,5"])
    'write decimal = "," in [clean."sum"].'
    """
    if all(re.fullmatch(r"\s*-?[1-9]\d{0,2}(,\d{3})+\s*", value) for value in values):
        both = 'thousands = "," if 1,234 is above one thousand, or decimal = "," if it is not'
        return f"in [clean.{name}], write {both}."
    return f'write decimal = "," in [clean.{name}].'


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


def filled_rows(table: Any) -> Any:
    """The rows that hold anything, as an array of true and false.

    Parameters
    ----------
    table : pyarrow.Table
        Of text files it may have what is written, so that an empty field is an empty text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> filled_rows(pa.table({"a": ["x", " "], "b": [1, None]})).tolist()
    [True, False]
    """
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute

    some = np.zeros(table.num_rows, dtype=np.bool_)
    for column in table.columns:
        filled = compute.is_valid(column)
        if pa.types.is_string(column.type):
            written = compute.not_equal(compute.utf8_trim_whitespace(column), "")
            filled = compute.fill_null(written, False)
        some |= np.asarray(filled)
    return some


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

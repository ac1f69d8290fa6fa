"""CSV and TSV: a column keeps what was written, and becomes numbers only if all of it is one.

Missing is what is empty, ``NA``, ``NaN``, ``nan``, ``null`` or ``NULL``. Whole numbers, decimal
numbers (with a point) and true/false become that; everything else stays text: dates, and codes with
leading zeros such as 007.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from elfair.errors import DataError

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
            self._check_encoding()

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
            self._check_encoding()
            self._check_lines()
            raise DataError(
                f"{self._name} cannot be read: {error}.", hint="is it a CSV file?"
            ) from None
        if self._content.count(b'"') % 2:
            self._check_lines()  # a quote that nothing closes swallows all lines after it
        return pa.table({name: typed(table[name]) for name in columns})

    def _check_encoding(self) -> None:
        try:
            self._content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self._content.count(b"\n", 0, error.start) + 1
            raise DataError(
                f"{self._name} must be text in UTF-8. Line {line} holds the byte "
                f"0x{self._content[error.start]:02x}, which is not.",
                hint="save it again as 'CSV UTF-8'; older programs write Latin-1 or Windows-1252.",
            ) from None

    def _check_lines(self) -> None:
        """Say which line has another number of fields than the first one, or an open quote."""
        text, wanted, last = self._content.decode("utf-8"), len(self.names), 1
        try:
            for line, record in _records(text, self._delimiter):
                last = line + 1
                if len(record) != wanted:
                    fields = "field" if len(record) == 1 else "fields"
                    raise DataError(
                        f"line {line} of {self._name} has {len(record)} {fields}, but the first "
                        f"line names {wanted} columns.",
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

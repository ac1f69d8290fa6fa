"""Read a log part by part, so that a long one needs no more memory than a short one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from elfair.errors import InputError
from elfair.records.appending import finish_appending
from elfair.records.files import check_regular, unreadable
from elfair.records.tables import FORMATS, DelimitedText, format_of
from elfair.study.sources import SourceTable, check_columns, check_query, files_of, read_table

#: So many rows of a Parquet file are read at once, and about so many bytes of a text.
ROWS, BYTES = 200_000, 16_000_000


def parts_of(
    source: str | Path, query: str | None, wanted: Sequence[str], as_written: Collection[str]
) -> Iterator[SourceTable]:
    """The rows of a log in order, in parts.

    Text and Parquet are read part by part; of a database, the answer to a query as a whole.

    Parameters
    ----------
    source : str or Path
        A file, a pattern of files, a folder of Parquet files, or the address of a database.
    query : str or None
        The query, if it is a database.
    wanted : sequence of str
        The columns that are needed.
    as_written : collection of str
        The columns of text files that are wanted as they were written.
    """
    check_query(source, query)
    if query is not None:
        yield from _divided(read_table(source, query=query, columns=wanted))
        return
    folder = Path.cwd()
    pattern = f"{source}/*.parquet" if Path(source).is_dir() else str(source)
    for name in files_of(pattern, folder):
        path = folder / name
        try:
            check_regular(path)
            finish_appending(path)
            form = format_of(path)
            if form in (FORMATS[".csv"], FORMATS[".tsv"]):
                yield from _text(path, name, wanted, as_written)
            elif form is FORMATS[".parquet"]:
                yield from _parquet(path, name, wanted)
            else:
                yield from _divided(read_table(path, columns=wanted))
        except OSError as error:
            raise unreadable(name, error, hint="check its name, and read permission.") from None


def _divided(table: SourceTable) -> Iterator[SourceTable]:
    for start in range(0, table.table.num_rows, ROWS):
        yield SourceTable(table.table.slice(start, ROWS), table.name, None)


def _parquet(path: Path, name: str, wanted: Sequence[str]) -> Iterator[SourceTable]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        check_columns(list(wanted), file.schema_arrow.names, name, "it is a log of decisions.")
        for batch in file.iter_batches(ROWS, columns=list(wanted)):
            yield SourceTable(pa.table(batch), name, None)
    except pa.ArrowInvalid as error:
        raise InputError(f"{name} cannot be read: {error}.", hint="write it again.") from None


def _text(
    path: Path, name: str, wanted: Sequence[str], as_written: Collection[str]
) -> Iterator[SourceTable]:
    with path.open("rb") as file:
        header = file.readline()
        while content := _whole_lines(file):
            text = DelimitedText(header + content, name)
            check_columns(list(wanted), text.names, name, "it is a log of decisions.")
            raw = frozenset(as_written) & set(wanted)
            yield SourceTable(text.read(wanted, raw), name, None, as_written=raw)


def _whole_lines(file: Any) -> bytes:
    """About `BYTES` of a file, up to the end of a record: outside quotes."""
    content = bytearray(file.read(BYTES))
    while line := file.readline():
        content += line
        if line.endswith(b"\n") and content.count(b'"') % 2 == 0:
            break
    return bytes(content)

"""Tables that need not fit into memory: what reads them in batches, column by column.

A batch has the same rows whatever the size of files, row groups or chunks is, so that sums over
batches come out the same, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any, TypeAlias

from elfair.errors import DataError, InputError, did_you_mean, listed

#: How many rows are looked at together: a few megabytes.
BATCH = 131_072
#: From the columns that are wanted to all rows of them, in record batches of any size.
Reader: TypeAlias = Callable[[Sequence[str]], Iterator[Any]]


def _never_changes() -> None:
    pass


@dataclass(frozen=True)
class Source:
    """A table that can be read several times.

    Parameters
    ----------
    name : str
        What messages call it.
    kinds : mapping of str to str
        Its columns, and what they hold, in Arrow's words.
    read : callable
        Reads all rows of some columns.
    in_order : bool
        Whether rows come in the same order each time.
    check : callable
        Raises if it changed since it was opened, as far as that is known.
    """

    name: str
    kinds: Mapping[str, str]
    read: Reader
    in_order: bool
    check: Callable[[], None] = _never_changes

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """All rows of some columns, as pyarrow tables of `BATCH` rows (the last has fewer)."""
        import pyarrow as pa

        self.check()
        waiting: list[Any] = []
        for part in self.read(columns):
            waiting.append(part)
            if sum(each.num_rows for each in waiting) >= BATCH:
                table = pa.Table.from_batches(waiting)
                whole = table.num_rows - table.num_rows % BATCH
                for start in range(0, whole, BATCH):
                    yield table.slice(start, BATCH)
                waiting = table.slice(whole).to_batches()
        if waiting:
            yield pa.Table.from_batches(waiting)
        self.check()

    def require(self, columns: Iterable[str]) -> None:
        """Raise unless it has these columns."""
        absent = [name for name in columns if name not in self.kinds]
        if absent:
            raise DataError(
                f"{self.name} has no column {listed(absent)}; columns: {listed(self.kinds, 30)}.",
                hint=did_you_mean(absent[0], self.kinds, "name one of its columns."),
            )


def open_source(source: Any) -> Source:
    """A table that is read in batches.

    Parameters
    ----------
    source : str, Path, sequence of them, or a table
        Parquet files: a file, a folder, a pattern such as ``decisions/*.parquet``, or several; a
        pyarrow data set (also one with a filter) or table; a polars LazyFrame; a DuckDB relation; a
        Dask data frame; or a data frame in memory.

    Examples
    --------
    >>> import pyarrow as pa
    >>> source = open_source(pa.table({"x": [1.0, 2.0]}))
    >>> [batch.to_pydict() for batch in source.batches(["x"])]
    [{'x': [1.0, 2.0]}]
    """
    import pyarrow as pa
    from pyarrow import dataset

    if isinstance(source, str | Path) or (
        isinstance(source, list | tuple) and all(isinstance(each, str | Path) for each in source)
    ):
        return _of_files(source)
    kind = type(source)
    if isinstance(source, pa.Table):
        return Source("the table", _kinds(source.schema), partial(_of_table, source), True)
    if isinstance(source, dataset.Dataset):
        return Source("the data set", _kinds(source.schema), partial(_of_dataset, source), True)
    if kind.__module__.startswith("polars") and kind.__name__ == "LazyFrame":
        schema = source.collect_schema()
        kinds = {name: str(of) for name, of in schema.items()}
        return Source("the LazyFrame", kinds, partial(_of_lazy, source), True)
    if kind.__name__ == "DuckDBPyRelation":
        kinds = dict(zip(source.columns, map(str, source.types), strict=True))
        return Source("the relation", kinds, partial(_of_relation, source), False)
    if kind.__module__.startswith("dask") and hasattr(source, "get_partition"):
        kinds = {str(name): str(of) for name, of in source.dtypes.items()}
        return Source("the Dask data frame", kinds, partial(_of_dask, source), False)
    if kind.__name__ == "DataFrame" and hasattr(source, "__dataframe__") | hasattr(
        source, "to_arrow"
    ):
        import narwhals.stable.v1 as nw

        return open_source(nw.from_native(source).to_arrow())
    raise InputError(
        f"rows cannot be read in batches from a {kind.__name__}.",
        hint="pass Parquet files (a folder, a pattern), a pyarrow data set or table, a polars "
        "LazyFrame, a DuckDB relation, a Dask data frame, or a data frame in memory.",
    )


def _kinds(schema: Any) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema}


def _of_table(table: Any, columns: Sequence[str]) -> Iterator[Any]:
    yield from table.select(list(columns)).to_batches(max_chunksize=BATCH)


def _of_dataset(dataset: Any, columns: Sequence[str]) -> Iterator[Any]:
    yield from dataset.to_batches(columns=list(columns), batch_size=BATCH)


def _of_lazy(frame: Any, columns: Sequence[str]) -> Iterator[Any]:
    for part in frame.select(list(columns)).collect_batches(chunk_size=BATCH, maintain_order=True):
        yield from part.to_arrow().to_batches()


def _of_relation(relation: Any, columns: Sequence[str]) -> Iterator[Any]:
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    yield from relation.project(quoted).to_arrow_reader(BATCH)


def _of_dask(frame: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Dask computes one partition after the other, again where a worker was lost."""
    import pyarrow as pa

    some = frame[list(columns)]
    for k in range(some.npartitions):
        part = some.get_partition(k).compute()
        yield from pa.Table.from_pandas(part, preserve_index=False).to_batches()


# -- Parquet files --------------------------------------------------------------------------------


def _of_files(source: str | Path | Sequence[str | Path]) -> Source:
    paths = [path for each in _listed(source) for path in _found(str(each))]
    schemas = [_kinds(_schema(path)) for path in paths]
    first = schemas[0]
    for path, kinds in zip(paths, schemas, strict=True):
        if kinds != first:
            raise _differs(path, kinds, paths[0], first)
    seen = {path: _stamp(path) for path in paths}
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1:,} more files"
    return Source(name, first, partial(_rows_of, paths), True, partial(_check_same, seen))


def _listed(source: str | Path | Sequence[str | Path]) -> Sequence[str | Path]:
    return [source] if isinstance(source, str | Path) else source


def _found(text: str) -> list[str]:
    """The files that a name stands for, in the order of their names."""
    path = Path(text)
    if path.is_dir():
        found = sorted(map(str, path.rglob("*.parquet")))
    elif path.exists():
        found = [text]
    else:
        found = sorted(glob(text, recursive=True))
    if not found:
        raise InputError(
            f"there is no Parquet file {text!r}.",
            hint="name a file, a folder of *.parquet files, or a pattern that fits some.",
        )
    if other := [each for each in found if not each.endswith(".parquet")]:
        raise InputError(
            f"only Parquet files are read in batches. Got {other[0]!r}.",
            hint="write it as Parquet, or read it into memory: LoggedData(...).",
        )
    return found


def _schema(path: str) -> Any:
    from pyarrow import parquet

    with _readable(path):
        return parquet.read_schema(path)


def _differs(
    path: str, kinds: Mapping[str, str], first: str, known: Mapping[str, str]
) -> DataError:
    lacks = [name for name in known if name not in kinds]
    more = [name for name in kinds if name not in known]
    other = [name for name in kinds if known.get(name, kinds[name]) != kinds[name]]
    said = [f"lacks {listed(lacks)}"] if lacks else []
    said += [f"has {listed(more)} as well"] if more else []
    said += [f"holds {kinds[name]} in {name!r}, not {known[name]}" for name in other[:3]]
    told = "; ".join(said) or "has its columns in another order"
    return DataError(
        f"all files must have the same columns. {path} differs from {first}: it {told}.",
        hint="write all files alike, or take this one out.",
    )


def _rows_of(paths: Sequence[str], columns: Sequence[str]) -> Iterator[Any]:
    from pyarrow import parquet

    for path in paths:
        with _readable(path), parquet.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=BATCH, columns=list(columns))


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Say of which file Arrow complains."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{path} cannot be read: {str(error).splitlines()[0]}.",
            hint="it was damaged, or not written completely: write it again.",
        ) from None


def _stamp(path: str) -> tuple[int, int]:
    with _readable(path):
        known = Path(path).stat()
    return known.st_size, known.st_mtime_ns


def _check_same(seen: Mapping[str, tuple[int, int]]) -> None:
    for path, stamp in seen.items():
        if _stamp(path) != stamp:
            raise DataError(
                f"{path} was changed while its rows were in use: nothing was certified.",
                hint="leave the files alone until it is done, and start again.",
            )

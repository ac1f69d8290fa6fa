"""Which rows were counted, on disk: so that none counts twice, and none changes unseen.

Of a row three numbers are kept: keys of its identifier, of what was known when it was decided, and
of what was measured later. They are sorted in files, of which only parts are read; files of
similar size are merged, so there are few.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elfair.data.digests import mix, text_keys
from elfair.records.files import replace_file
from elfair.types import Booleans

Keys = NDArray[np.uint64]

#: Texts longer than this are read one by one.
LONGEST_AT_ONCE = 64
#: So many rows of each file are merged at once.
AT_ONCE = 500_000
_PRIME, _ABSENT = np.uint64(0x100000001B3), np.uint64(0x9E3779B97F4A7C15)


def column_keys(column: Any) -> Keys:
    """A key for each value of a column: equal numbers have equal keys, and equal texts.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one, two = column_keys(pa.chunked_array([[1, 2]])), column_keys(pa.chunked_array([[2.0]]))
    >>> bool(one[1] == two[0]), bool(one[0] == two[0])
    (True, False)
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int64() if column.type.bit_width == 64 else pa.int32())
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        numbers = pc.fill_null(column.cast(pa.float64(), safe=False), 0.0)
        keys = mix((numbers.to_numpy() + 0.0).view(np.uint64))  # -0.0 is 0.0
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        keys = _keys_of_texts(pc.fill_null(column, "").cast(pa.large_string()))
    else:
        keys = text_keys(column.to_pylist())
    if column.null_count:
        keys[column.is_null().to_numpy()] = _ABSENT
    return keys


def _keys_of_texts(column: Any) -> Keys:
    """Keys of texts, letter by letter of all of them at once."""
    import pyarrow as pa

    text = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(text, pa.ChunkedArray):
        text = pa.concat_arrays(text.chunks)
    _, offsets, letters = text.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    lengths = np.diff(starts)
    raw = np.frombuffer(letters or b"\0", dtype=np.uint8)
    keys = lengths.astype(np.uint64)
    # The key of a text depends on nothing but the text: long ones are read apart, by themselves.
    long = np.flatnonzero(lengths > LONGEST_AT_ONCE)
    for k in range(min(int(lengths.max(initial=0)), LONGEST_AT_ONCE)):
        longer = np.flatnonzero(lengths > k)
        keys[longer] = keys[longer] * _PRIME + raw[starts[:-1][longer] + k]
        if k % 8 == 7:
            keys[longer] = mix(keys[longer])
    keys[long] = text_keys(text.take(long).to_pylist())
    return mix(keys)


def row_keys(columns: Sequence[Any], n: int) -> Keys:
    """A key for each row, of several columns."""
    keys = np.zeros(n, dtype=np.uint64)
    for column in columns:
        keys = mix(keys * _PRIME + column_keys(column))
    return keys


class Found(NamedTuple):
    """What is known of some rows.

    Parameters
    ----------
    known : ndarray of bool
        Whether a row was counted.
    decided, later : ndarray of uint64
        What was kept of it; 0 if it was not counted.
    """

    known: Booleans
    decided: Keys
    later: Keys


class KnownRows:
    """The rows that were counted.

    Parameters
    ----------
    folder : Path
        Where the files are.
    runs : list of str
        Their names; files that are not named do not count.
    """

    def __init__(self, folder: Path, runs: Sequence[str] = ()) -> None:
        self._folder, self.runs = folder, list(runs)

    def find(self, ids: Keys) -> Found:
        """What is known of the rows with these identifiers."""
        found = Found(np.zeros(ids.size, dtype=np.bool_), np.zeros_like(ids), np.zeros_like(ids))
        order = np.argsort(ids)
        wanted = ids[order]
        for name in self.runs:
            run = _Run(self._folder / name)
            for start in range(0, run.n, AT_ONCE):
                some = run.column(0, start, AT_ONCE)
                first, stop = np.searchsorted(wanted, [some[0], some[-1]])
                stop += int(np.count_nonzero(wanted[stop:] == some[-1]))
                place = np.searchsorted(some, wanted[first:stop])
                hit = some[place] == wanted[first:stop]
                if hit.any():
                    rows = order[first:stop][hit]
                    found.known[rows] = True
                    found.decided[rows] = run.column(1, start, AT_ONCE)[place[hit]]
                    found.later[rows] = run.column(2, start, AT_ONCE)[place[hit]]
        return found

    def add(self, ids: Keys, decided: Keys, later: Keys) -> None:
        """Write some rows to a file; whoever does not name it yet does not see them."""
        if not ids.size:
            return
        order = np.argsort(ids, kind="stable")
        name = self._name()
        columns = np.stack([each[order] for each in (ids, decided, later)])
        replace_file(self._folder / name, columns.astype("<u8").tobytes())
        self.runs.append(name)
        while len(self.runs) > 1 and self._size(-2) <= 2 * self._size(-1):
            self._merge()

    def _size(self, place: int) -> int:
        return (self._folder / self.runs[place]).stat().st_size

    def _name(self) -> str:
        """A name that no file has had: the number after the largest."""
        used = [int(each.stem.split("-")[1]) for each in self._folder.glob("known-*.keys")]
        return f"known-{max(used, default=0) + 1}.keys"

    def _merge(self) -> None:
        """One sorted file of the last two, in parts that fit into memory."""
        before, last = (_Run(self._folder / name) for name in self.runs[-2:])
        name, n, done, other = self._name(), before.n + last.n, 0, 0
        part = self._folder / f".elfair-{name}"
        with part.open("wb") as out:
            for start in range(0, before.n, AT_ONCE):
                stop = min(start + AT_ONCE, before.n)
                until = (
                    last.n if stop == before.n else last.place(int(before.column(0, stop, 1)[0]))
                )
                both = [
                    np.concatenate([before.column(k, start, stop - start),
                                    last.column(k, other, until - other)])
                    for k in range(3)
                ]  # fmt: skip
                order = np.argsort(both[0], kind="stable")
                for k, column in enumerate(both):
                    out.seek(8 * (k * n + done))
                    out.write(column[order].tobytes())
                done, other = done + order.size, until
            out.flush()
            os.fsync(out.fileno())
        part.replace(self._folder / name)
        self.runs[-2:] = [name]

    def tidy(self) -> None:
        """Remove files that are not named: a killed process left them, or they were merged."""
        for path in [
            *self._folder.glob("known-*.keys"),
            *self._folder.glob(".elfair-known-*.keys"),
        ]:
            if path.name not in self.runs:
                path.unlink()


class _Run:
    """A file of sorted rows: all identifiers, then what was decided, then what came later."""

    def __init__(self, path: Path) -> None:
        self._path, self.n = path, path.stat().st_size // 24

    def column(self, which: int, start: int, count: int) -> Keys:
        """Some of the numbers of a kind."""
        count = min(count, self.n - start)
        at = 8 * (which * self.n + start)
        return np.fromfile(self._path, dtype="<u8", count=count, offset=at).astype(np.uint64)

    def place(self, key: int) -> int:
        """Where an identifier is, or would be, by bisection."""
        below, above = 0, self.n
        while below < above:
            middle = (below + above) // 2
            if int(self.column(0, middle, 1)[0]) < key:
                below = middle + 1
            else:
                above = middle
        return below

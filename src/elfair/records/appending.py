"""Files that only grow: what is added is added completely, or not at all.

What is to be added is first written beside the file, whole (a write-ahead log). If a process is
killed while it adds it, whoever opens the file next adds the rest. So lines that somebody saw in
the file never vanish from it, and no half line stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from elfair.errors import InputError
from elfair.records.files import locked, replace_file, sync_folder, write_all, writing

#: So many bytes before the place where data are added tell that it is still the same place.
COMPARED = 4096


class _Pending(NamedTuple):
    """What is to be added to a file: where, after which bytes, and what."""

    end: int
    before: str
    data: bytes

    def to_bytes(self) -> bytes:
        return f"elfair adds at {self.end} after {self.before}\n".encode() + self.data

    @classmethod
    def read(cls, path: Path) -> _Pending | None:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        first, _, data = content.partition(b"\n")
        said = re.fullmatch(rb"elfair adds at (\d+) after ([0-9a-f]{64})", first)
        if said is None:
            raise InputError(
                f"'{path}' is not as elfair wrote it.",
                hint="move it to another place; elfair keeps there what it is about to add.",
            )
        return cls(int(said[1]), said[2].decode(), data)


@contextlib.contextmanager
def appending(path: Path) -> Iterator[BinaryIO]:
    """A file that only grows, open for reading and writing, and for no other process meanwhile.

    What a killed process did not finish to add is added first.

    Parameters
    ----------
    path : Path
        The file; it is made if it does not exist.
    """
    with locked(path) as file:
        assert file is not None  # it was waited for
        _finish(file)
        yield file


def append_whole(file: BinaryIO, end: int, data: bytes) -> None:
    """Write at the end of a file, or leave it as it was.

    Parameters
    ----------
    file : file
        From `appending`.
    end : int
        Where the data begin; what is behind it is removed.
    data : bytes
        What to write.
    """
    os.ftruncate(file.fileno(), end)
    pending = _beside(Path(file.name))
    try:
        replace_file(pending, _Pending(end, _before(file, end), data).to_bytes())
        write_all(file, data)
    except BaseException as error:  # also when stopped by Ctrl-C
        _withdraw(file, end, pending, error)
        raise
    with contextlib.suppress(OSError):  # whoever opens the file next sees that all is there
        pending.unlink()


def finish_appending(path: Path) -> None:
    """Finish what a killed process was adding to a file, so that readers see all of it.

    Parameters
    ----------
    path : Path
        The file; most have nothing to finish.
    """
    if _beside(path).exists():
        what = f"'{path}', to which a process was adding when it was stopped,"
        with writing(what), appending(path):
            pass


def _finish(file: BinaryIO) -> None:
    pending = _beside(Path(file.name))
    adding = _Pending.read(pending)
    if adding is None:
        return
    size, whole = os.fstat(file.fileno()).st_size, adding.end + len(adding.data)
    file.seek(adding.end)
    there = file.read(len(adding.data))
    same = size >= adding.end and _before(file, adding.end) == adding.before
    # After a power cut, what did not reach the disk may be zeros.
    begun = size <= whole and adding.data.startswith(there.rstrip(b"\0"))
    if not (same and (begun or there == adding.data)):
        raise InputError(
            f"'{file.name}' was changed after a process was stopped while it added to it. "
            f"'{pending}' holds all that was to be added.",
            hint="add what the file lacks by hand, and then delete that file.",
        )
    if there == adding.data:  # and perhaps more, which came later
        os.fsync(file.fileno())
    else:
        os.ftruncate(file.fileno(), adding.end)
        write_all(file, adding.data)
    pending.unlink()


def _withdraw(file: BinaryIO, end: int, pending: Path, error: BaseException) -> None:
    """Leave all as it was. In this order: a kill in between must not leave half a line alone."""
    try:
        os.ftruncate(file.fileno(), end)
        os.fsync(file.fileno())
        pending.unlink(missing_ok=True)
        sync_folder(pending.parent)
    except OSError:
        if pending.exists():
            raise InputError(
                f"'{file.name}' could not be written ({error}), and what was to be added could "
                f"not be withdrawn: '{pending}' holds it.",
                hint="do not repeat the command; whatever opens the file next adds it first.",
            ) from None


def _before(file: BinaryIO, end: int) -> str:
    file.seek(max(0, end - COMPARED))
    return hashlib.sha256(file.read(min(end, COMPARED))).hexdigest()


def _beside(path: Path) -> Path:
    target = path.resolve()  # of a link, beside what it leads to
    return target.with_name(f"{target.name}.elfair-pending")

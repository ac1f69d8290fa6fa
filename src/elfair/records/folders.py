"""Folders whose files belong together: all are replaced in one step, by one process at a time."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from elfair.errors import InputError
from elfair.records.files import locked, sync_folder, writing

#: What the kernel of Linux calls it, in linux/fs.h and linux/fcntl.h.
RENAME_EXCHANGE, AT_FDCWD = 2, -100


class ClaimedFolder:
    """A folder to which no other process writes; see `claimed`.

    Parameters
    ----------
    folder : Path
        The folder, as the user named it.
    work : Path
        A folder beside it, which need not exist.
    """

    def __init__(self, folder: Path, work: Path) -> None:
        self.folder, self._target, self._work = folder, folder.resolve(), work

    def fill(self, write: Callable[[Path], None], *, overwrite: bool) -> None:
        """Give the folder its files: all of them, or everything stays as it was.

        Parameters
        ----------
        write : callable
            Writes the files into the folder that it is given.
        overwrite : bool
            Replace what is there.
        """
        new = self._work / "new"
        with writing(f"the results in '{self.folder}'"):
            new.mkdir(parents=True)
            write(new)
            sync_folder(new)
            if overwrite and self._target.exists():
                _exchange(new, self._target, self._work / "old")
            else:
                new.replace(self._target)  # fails where somebody else's files came meanwhile
            sync_folder(self._target.parent)


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[ClaimedFolder]:
    """A folder, and no other process that writes to it meanwhile.

    Beside it lie, meanwhile, a lock and a folder of work, whose names begin with a dot. A killed
    process leaves them behind, and the next one that claims the folder removes them.

    Parameters
    ----------
    folder : Path
        The folder; it need not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with claimed(Path(place) / "results") as results:
    ...         results.fill(lambda new: (new / "a.txt").touch(), overwrite=False)
    ...     sorted(str(path.relative_to(place)) for path in Path(place).rglob("*"))
    ['results', 'results/a.txt']
    """
    target = folder.resolve()  # what a link leads to is replaced, not the link
    lock = target.with_name(f".{target.name}.elfair-lock")
    work = target.with_name(f".{target.name}.elfair-work")
    with contextlib.ExitStack() as claim:
        with writing(f"the results in '{folder}'"):
            target.parent.mkdir(parents=True, exist_ok=True)
            if claim.enter_context(locked(lock, wait=False)) is None:
                raise InputError(
                    f"another process is at work on the results in '{folder}'.",
                    hint="wait until it has ended, or name another folder.",
                )
            _settle(target, work)
        try:
            yield ClaimedFolder(folder, work)
        finally:
            with contextlib.suppress(OSError):  # the next process settles it
                _settle(target, work)
                lock.unlink()


def _settle(target: Path, work: Path) -> None:
    """Bring back what was being replaced when a process was stopped, and clear up."""
    old = work / "old"
    if old.exists() and not target.exists():
        old.replace(target)
    shutil.rmtree(work, ignore_errors=True)


def _exchange(new: Path, target: Path, old: Path) -> None:
    """Put a folder into the place of another one."""
    if _swap(new, target):
        return
    target.replace(old)
    try:
        new.replace(target)
    except BaseException:
        old.replace(target)
        raise


def _swap(one: Path, other: Path) -> bool:
    """Exchange two names in one step, so that both are there at any moment, if the system can."""
    if os.name == "nt":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if not rename(
        AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), ctypes.c_uint(RENAME_EXCHANGE)
    ):
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code))

"""Files that are written completely or not at all, and errors for files that cannot be read.

Whatever happens (a kill, a full disk, a power cut), a reader finds the old file or the new one.
What a killed process leaves behind has a name that begins with ``.elfair-``, and the next one that
writes the same file uses and removes it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from elfair.errors import InputError


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write a file, or leave everything as it was.

    The data go to a temporary name in the same folder, which takes the place of the file once they
    are on the disk: a reader sees all of the old file or all of the new one, even after a crash.

    Parameters
    ----------
    path : str or path-like
        The file; its folder must exist. One that is there already is replaced.
    data : bytes or str
        What it is to hold; text is written as UTF-8, with line ends as they are.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "report.txt", "no solution found")
    ...     print(*(file.name for file in Path(folder).iterdir()))
    report.txt
    """
    try:
        content = data.encode() if isinstance(data, str) else data
        with writing(f"'{path}'"):
            target = Path(path).resolve()  # what a link leads to is replaced, not the link
            if target.exists() and not target.is_file():
                raise InputError(
                    f"'{path}' must be a file to be written. Got "
                    f"{'a folder' if target.is_dir() else 'something else'} of that name.",
                    hint="choose another name.",
                )
            replace_file(target, content)
    except UnicodeEncodeError as error:
        raise InputError(
            f"{str(path)!r} cannot hold {error.object[error.start : error.end]!r}, which is not "
            "text.",
            hint="rename files whose names are not UTF-8.",
        ) from None
    except (ValueError, RuntimeError) as error:  # a NUL in the name, a loop of links
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{str(path)!r} cannot be the name of a file: {error}.", hint="choose another name."
        ) from None


@contextlib.contextmanager
def writing(what: str) -> Iterator[None]:
    """Where something is written: an error of the system becomes one message with a hint.

    Parameters
    ----------
    what : str
        What is written; begins the sentence "... could not be written".

    Examples
    --------
    >>> with writing("the log 'log.csv'"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: the log 'log.csv' could not be written: No space left on device.
    Hint: check write permission and free disk space.
    """
    try:
        yield
    except OSError as error:
        hint = "check write permission and free disk space."
        if isinstance(error, FileNotFoundError):
            hint = "make its folder first."
        raise InputError(
            f"{what} could not be written: {error.strerror or error}.", hint=hint
        ) from None


def replace_file(target: Path, content: bytes) -> None:
    """What `write_whole` does, with the errors of the system.

    Parameters
    ----------
    target : Path
        The file itself, not a link to it.
    content : bytes
        What it is to hold.
    """
    with _part(target, content) as part:
        part.replace(target)
    sync_folder(target.parent)


def write_new(path: str | os.PathLike[str], content: bytes, *, mode: int = 0o666) -> None:
    """Make a file, whole or not at all; nobody else's is replaced. With the errors of the system.

    Parameters
    ----------
    path : str or path-like
        The file. If there is one of that name, a FileExistsError is raised.
    content : bytes
        What it is to hold.
    mode : int
        Who may read it, also while it is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_new(Path(folder) / "key", b"secret", mode=0o600)
    ...     write_new(Path(folder) / "key", b"other")
    Traceback (most recent call last):
        ...
    FileExistsError: [Errno 17] File exists
    """
    target = Path(path)
    with _part(target, content, mode) as part:
        try:
            os.link(part, target)
        except OSError:
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            part.replace(target)  # some file systems know no links
        try:
            part.unlink(missing_ok=True)
            sync_folder(target.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                target.unlink()
            raise


@contextlib.contextmanager
def _part(target: Path, content: bytes, mode: int = 0o666) -> Iterator[Path]:
    """What a file is to hold, on the disk beside it, to be given its name."""
    name = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    part = target.with_name(f".elfair-{name}.part")
    with locked(part, mode=mode) as file:
        assert file is not None  # it was waited for
        try:
            os.ftruncate(file.fileno(), 0)  # a killed process may have left something
            write_all(file, content)
            if os.name == "nt":
                file.close()  # Windows does not rename what is open
            yield part
        except BaseException:  # also when stopped by Ctrl-C
            with contextlib.suppress(OSError):
                part.unlink()
            raise


def write_all(file: BinaryIO, data: bytes) -> None:
    """Write at the end of a file from `locked`, and wait until the data are on the disk.

    Parameters
    ----------
    file : file
        The file.
    data : bytes
        What to write.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file.fileno(), rest) :]
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; Windows cannot be asked for that.

    Parameters
    ----------
    folder : Path
        The folder.
    """
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True, mode: int = 0o666) -> Iterator[BinaryIO | None]:
    """A file, open for reading and for writing at its end, and for no other process meanwhile.

    The lock ends with the process, however that ends. Who holds it may rename or remove the file.
    There is no buffer, which could hold what was there before, or write late what had failed.

    Parameters
    ----------
    path : Path
        The file; it is made if it does not exist.
    wait : bool, default True
        Wait until it is free. If not, what is given is None if another process has it.
    mode : int
        Who may read it, if it is made.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "lock"
    ...     with locked(path) as first, locked(path, wait=False) as second:
    ...         print(second)
    None
    """
    while True:
        with open(path, "a+b", buffering=0, opener=partial(os.open, mode=mode)) as file:
            if not _lock(file, wait=wait):
                yield None
                return
            if _is_at(path, file):
                yield file
                return
        # While this waited, who had the lock renamed or removed the file: take the one there now.


def _lock(file: BinaryIO, *, wait: bool) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


#: More bytes than a study file, a certificate or a key ever has.
LONGEST = 100_000_000
PIECE = 1 << 20


def read_whole(path: str | os.PathLike[str], *, hint: str, most: int = LONGEST) -> bytes:
    """The contents of a file; see `unreadable`. What may have no end is not read.

    Parameters
    ----------
    path : str or path-like
        The file; a device or a pipe is refused.
    hint : str
        The next step most likely to help if it cannot be read.
    most : int
        The most bytes that it may have.

    Examples
    --------
    >>> read_whole("nowhere/model.elfair", hint="is this the right name?")
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: 'nowhere/model.elfair' could not be read: No such file or directory.
    Hint: is this the right name?
    """
    try:
        # A pipe that nobody writes to would wait for ever.
        with open(path, "rb", opener=_at_once) as file:
            size = _check_regular(file.fileno(), path)
            # In pieces: room for the most that there may be would be taken for the smallest file.
            pieces = iter(lambda: file.read(PIECE), b"")
            content = b"".join(islice(pieces, most // PIECE + 1)) if size <= most else b""
    except (OSError, ValueError) as error:  # a NUL in the name
        if isinstance(error, InputError):
            raise
        raise unreadable(path, error, hint=hint) from None
    if size > most or len(content) > most:
        raise InputError(
            f"{str(path)!r} must have at most {most:,} bytes. Got {max(size, len(content)):,}.",
            hint=hint,
        )
    return content


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise if something is there that is no plain file, and so may have no end.

    Parameters
    ----------
    path : str or path-like
        A file, which need not exist.

    Examples
    --------
    >>> check_regular("nowhere/loans.csv")
    """
    if os.path.exists(path):
        _check_regular(path, path)


def _check_regular(file: int | str | os.PathLike[str], name: str | os.PathLike[str]) -> int:
    """The size of a file."""
    found = os.stat(file)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise InputError(
            f"{str(name)!r} must be a plain file. Got a device or a pipe.",
            hint="write what it gives to a file first.",
        )
    return found.st_size


def unreadable(
    path: str | os.PathLike[str],
    error: Exception,
    *,
    hint: str = "check read permission of the file and its folder.",
) -> InputError:
    """The error to raise where reading a file failed.

    Parameters
    ----------
    path : str or path-like
        The file, as the user named it.
    error : Exception
        What the system said.
    hint : str, optional
        The next step most likely to help.

    Examples
    --------
    >>> print(unreadable("loans.csv", PermissionError(13, "Permission denied")))
    'loans.csv' could not be read: Permission denied.
    Hint: check read permission of the file and its folder.
    """
    reason = getattr(error, "strerror", None) or error
    return InputError(f"{str(path)!r} could not be read: {reason}.", hint=hint)


def decoded(content: bytes, path: str | os.PathLike[str], *, hint: str) -> str:
    """The text of a file, which must be UTF-8.

    Parameters
    ----------
    content : bytes
        The file.
    path, hint
        See `unreadable`.

    Examples
    --------
    >>> decoded(b"title = 'Loans'", "study.toml", hint="check that it is a TOML file.")
    "title = 'Loans'"
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{str(path)!r} must be text in UTF-8. Line {line} holds the byte "
            f"0x{content[error.start]:02x}, which is not.",
            hint=hint,
        ) from None

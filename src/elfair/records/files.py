"""Files that are written completely or not at all, and errors for files that cannot be read."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
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
            _replace(target, content)
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


def _replace(target: Path, content: bytes) -> None:
    part = target.with_name(f".elfair-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:  # also when stopped by Ctrl-C
        with contextlib.suppress(OSError):
            part.unlink()
        raise


@contextlib.contextmanager
def appending(path: Path) -> Iterator[BinaryIO]:
    """A file that only grows, open for reading and writing, and for no other process meanwhile.

    Parameters
    ----------
    path : Path
        The file; it is made if it does not exist.
    """
    with path.open("a+b") as file:
        try:
            import fcntl
        except ImportError:  # on Windows a file that is open for writing is locked anyway
            pass
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
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
    file.truncate(end)
    try:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    except BaseException:
        file.truncate(end)
        raise


def read_whole(path: str | os.PathLike[str], *, hint: str) -> bytes:
    """The contents of a file; see `unreadable`.

    Examples
    --------
    >>> read_whole("nowhere/model.elfair", hint="is this the right name?")
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: 'nowhere/model.elfair' could not be read: No such file or directory.
    Hint: is this the right name?
    """
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # a NUL in the name
        raise unreadable(path, error, hint=hint) from None


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

"""What is said of files that cannot be read."""

from __future__ import annotations

import os

from elfair.errors import InputError


def unreadable(
    path: str | os.PathLike[str],
    error: Exception,
    *,
    hint: str = "may you read it, and the folder that it lies in?",
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
    Hint: may you read it, and the folder that it lies in?
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
    >>> decoded(b"title = 'Loans'", "study.toml", hint="is it a TOML file?")
    "title = 'Loans'"
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{str(path)!r} must be text in UTF-8. Line {line} is not.", hint=hint
        ) from None

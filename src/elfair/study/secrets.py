"""Passwords in database addresses, which are shown nowhere and recorded nowhere.

A study file can leave them to the environment: ``postgresql://ann:${DB_PASSWORD}@host/loans``.
"""

from __future__ import annotations

import os
import re
from urllib.parse import quote

from elfair.errors import InputError

#: From the scheme to the last @ on the line: a password may itself hold any of : / ? @.
_LOGIN = re.compile(r"(\w[\w+.-]*://)[^\n]*@")
_PARAMETER = re.compile(
    r"((?:password|passwd|pwd|passphrase|token|secret|(?:api|access|private)_?key)\s*=\s*)"
    r"[^&\s'\";]+",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def without_secrets(text: str) -> str:
    """A text in which no address has a login, and no parameter of one a password or token.

    Rather too much is hidden than too little.

    Parameters
    ----------
    text : str
        An address, or a message that holds some.

    Examples
    --------
    >>> without_secrets("postgresql://ann:s3cret@db/loans?sslpassword=x&mode=ro")
    'postgresql://***@db/loans?sslpassword=***&mode=ro'
    """
    return _PARAMETER.sub(r"\1***", _LOGIN.sub(r"\1***@", text))


def with_variables(address: str) -> str:
    """An address whose password is left to the environment, and so can be written down.

    Examples
    --------
    >>> with_variables("postgresql://ann:s3cret@db/loans?token=x")
    'postgresql://ann:${DB_PASSWORD}@db/loans?token=${DB_SECRET}'
    """
    address = re.sub(r"(://[^:/@]*):.*@", r"\1:${DB_PASSWORD}@", address)
    return _PARAMETER.sub(r"\1${DB_SECRET}", address)


def filled_in(address: str) -> str:
    """An address with its ``${NAME}`` filled in from the environment.

    Examples
    --------
    >>> filled_in("sqlite:///loans.db")
    'sqlite:///loans.db'
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InputError(
                f"the address {without_secrets(address)!r} asks for {match[1]} of the environment, "
                "which is not set.",
                hint=f"set it before you start: export {match[1]}=...",
            )
        return quote(os.environ[match[1]], safe="")

    return _VARIABLE.sub(value, address)

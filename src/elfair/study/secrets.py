"""Passwords in database addresses, which are shown nowhere and recorded nowhere."""

from __future__ import annotations

import re

#: From the scheme to the last @ on the line: a password may itself hold any of : / ? @.
_LOGIN = re.compile(r"(\w[\w+.-]*://)[^\n]*@")
_PARAMETER = re.compile(
    r"((?:password|passwd|pwd|passphrase|token|secret|key)\s*=\s*)[^&\s'\";]+", re.IGNORECASE
)


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

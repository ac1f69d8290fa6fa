"""Text of others, shown: what would steer a terminal or turn the order of letters is spelt out.

Names of columns, reasons and titles come from files that somebody else wrote. An escape sequence in
one could clear the screen or repaint a verdict; a bidirectional control could make a statement read
otherwise than it was tested (https://trojansource.codes/).

Numbers of rows to two digits: a forecast is no better known.
"""

from __future__ import annotations

import re
from math import ceil, floor, log10

#: Control characters but tab and line break, all that change the direction of text, and bytes of
#: file names that are no text.
_HIDDEN = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Text with its hidden characters written as JSON escapes them.

    Parameters
    ----------
    text : str
        Anything; JSON stays the JSON that it was.

    Examples
    --------
    >>> print(visible("\x1b[2Jpassed\u202e"))
    \u001b[2Jpassed\u202e
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def raised(rows: float) -> int:
    """Rows to two digits, and no fewer.

    Examples
    --------
    >>> raised(1234.5), raised(1200), raised(87)
    (1300, 1200, 87)
    """
    unit = _unit(rows)
    return ceil(rows / unit - 1e-9) * unit


def floored(rows: float) -> int:
    """Rows to two digits, and no more.

    Examples
    --------
    >>> floored(1234.5)
    1200
    """
    unit = _unit(rows)
    return floor(rows / unit + 1e-9) * unit


def _unit(rows: float) -> int:
    return int(10 ** max(0, floor(log10(max(1, rows))) - 1))

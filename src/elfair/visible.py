"""Text of others, shown: what would steer a terminal or turn the order of letters is spelt out.

Names of columns, reasons and titles come from files that somebody else wrote. An escape sequence in
one could clear the screen or repaint a verdict; a bidirectional control could make a statement read
otherwise than it was tested (https://trojansource.codes/).
"""

from __future__ import annotations

import re

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

"""Text that people read: numbers as words, and foreign text made safe to print.

Names of columns, reasons and titles come from files that somebody else wrote. An escape sequence in
one could clear the screen or repaint a verdict, and a bidirectional control could make a statement
read differently from the one that was tested (https://trojansource.codes/).
"""

from __future__ import annotations

import re
from math import ceil, floor, isinf, isnan, log10

#: Control characters except tab and line break, characters that change the direction of text, and
#: bytes of file names that are not text.
_HIDDEN = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


#: Numbers between these would have an exponent, which people do not write.
LONG, LONGEST = 1e4, 1e15


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


def number(value: float) -> str:
    """A number with the digits that matter; a long one as people write it.

    Examples
    --------
    >>> number(-0.0123456), number(float("inf")), number(float("nan"))
    ('-0.01235', 'infinite', 'none')
    >>> number(1234567.89), number(-98765.4)
    ('1,234,568', '-98,765')
    """
    if isnan(value):
        return "none"
    if isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    return f"{value:,.0f}" if LONG <= abs(value) < LONGEST else f"{value:.4g}"


def exact(value: float) -> str:
    """A number with all its digits, which read back as the same float.

    Examples
    --------
    >>> exact(0.1), exact(float("-inf"))
    ('0.1', '-inf')
    """
    return repr(float(value))


def rate(value: float) -> str:
    """A share in percent.

    Examples
    --------
    >>> rate(0.1), rate(0.123456)
    ('10 %', '12.3 %')
    """
    return f"{100 * value:.3g} %"


def confidence(delta: float) -> str:
    """The confidence that a delta leaves.

    Examples
    --------
    >>> confidence(0.1), confidence(0.001)
    ('90 %', '99.9 %')
    """
    return f"{100 * (1 - delta):g} %"


def count(n: int) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return f"{n:,}"


def shown_count(n: int) -> str:
    """A number of people, which is 0 where it was left out because it is too small.

    Examples
    --------
    >>> shown_count(1200), shown_count(0)
    ('1,200', 'too few to say')
    """
    return count(n) if n else "too few to say"


def plural(n: int, one: str) -> str:
    """How many of something.

    Examples
    --------
    >>> plural(1, "statement"), plural(1200, "statement")
    ('1 statement', '1,200 statements')
    """
    return f"{count(n)} {one}{'' if n == 1 else 's'}"


def sentence(words: str) -> str:
    """Words as a sentence.

    Examples
    --------
    >>> sentence("too few rows")
    'Too few rows.'
    """
    return f"{words[:1].upper()}{words[1:]}."


def edge_words(edge: float) -> str:
    """The edge of a bin of weights.

    Examples
    --------
    >>> edge_words(0.125), edge_words(4.0), edge_words(float("inf"))
    ('1/8', '4', '∞')
    """
    if isinf(edge):
        return "∞"
    return f"1/{1 / edge:g}" if 0 < edge < 1 else f"{edge:g}"


def spoken(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> [spoken(s) for s in (7e-6, 0.04, 12.3, 150, 5000, 200000)]
    ['under 0.01 s', '0.04 s', '12 s', '2.5 min', '1.4 h', '2.3 days']
    """
    if 0 < seconds < 0.01:
        return "under 0.01 s"
    if seconds < 10:
        return f"{seconds:.2g} s"
    for size, unit in ((86400, "days"), (3600, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / (60 if unit == 'min' else size):.1f} {unit}"
    return f"{seconds:.0f} s"


def raised(rows: float) -> int:
    """Rows rounded up to two digits, because a forecast is not more precise.

    Examples
    --------
    >>> raised(1234.5), raised(1200), raised(87)
    (1300, 1200, 87)
    """
    unit = _unit(rows)
    return ceil(rows / unit - 1e-9) * unit


def floored(rows: float) -> int:
    """Rows rounded down to two digits.

    Examples
    --------
    >>> floored(1234.5)
    1200
    """
    unit = _unit(rows)
    return floor(rows / unit + 1e-9) * unit


def _unit(rows: float) -> int:
    return int(10 ** max(0, floor(log10(max(1, rows))) - 1))

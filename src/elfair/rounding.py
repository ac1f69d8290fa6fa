"""Numbers of rows to two digits: a forecast is no better known."""

from __future__ import annotations

from math import ceil, floor, log10


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

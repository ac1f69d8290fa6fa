"""Everything elfair raises or warns of descends from the names in this file.

A message says what was wrong, what was got and what is allowed, and ends with one line that starts
with ``Hint:``.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class ElfairError(Exception):
    """Base of every error that elfair raises on purpose.

    Parameters
    ----------
    message : str
        What was wrong, what was got, what is allowed.
    hint : str, optional
        The one next step most likely to help; shown as a last line ``Hint: ...``.

    Examples
    --------
    >>> print(ElfairError("delta must be in (0, 1). Got 1.5 instead.", hint="use 0.1."))
    delta must be in (0, 1). Got 1.5 instead.
    Hint: use 0.1.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")


class InputError(ElfairError, ValueError):
    """A parameter that makes no sense, or that does not fit another one."""


class DataError(InputError):
    """Data from which nothing can be certified."""


class FeatureTypeError(DataError, TypeError):
    """Features of a kind that cannot be used at all, such as a sparse matrix."""


class ConstraintError(InputError):
    """Constraint text (or a tree built in Python) that makes no sense on these data."""


class BoundError(InputError):
    """A bound that was asked for without what its proof needs."""


class NoSolutionFoundError(ElfairError, RuntimeError):
    """A model was asked for after the fairness test said "no solution found"."""


class CertificateWarning(UserWarning):
    """The certificate holds something a reader must not overlook."""


def did_you_mean(name: object, available: Iterable[object], otherwise: str) -> str:
    """The text of a hint: the nearest available name, or else another piece of advice.

    Examples
    --------
    >>> did_you_mean("rase", ["race", "sex"], "check the spelling.")
    "did you mean 'race'?"
    >>> did_you_mean("age", ["race", "sex"], "check the spelling.")
    'check the spelling.'
    """
    near = get_close_matches(str(name), [str(item) for item in available], n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else otherwise

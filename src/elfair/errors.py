"""The errors and warnings of elfair, and words for their messages.

A message says what was wrong, what was got and what is allowed, and ends with one line that starts
with ``Hint:``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

Choice = TypeVar("Choice")


class ElfairError(Exception):
    """Base of every error that elfair raises on purpose.

    Parameters
    ----------
    message : str
        What was wrong, what was got, what is allowed.
    hint : str, optional
        The next step that is most likely to help, shown as a last line ``Hint: ...``.

    Examples
    --------
    >>> print(ElfairError("delta must be in (0, 1). Got 1.5 instead.", hint="use 0.1."))
    delta must be in (0, 1). Got 1.5 instead.
    Hint: use 0.1.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message, self.hint = message, hint
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")


class InputError(ElfairError, ValueError):
    """A parameter that makes no sense, or that does not fit another one.

    Examples
    --------
    >>> from elfair import ELFClassifier
    >>> ELFClassifier("accuracy >= 0.75", delta=1.5).fit([[0.0], [1.0]], [0, 1])
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: delta must be a number in (0, 0.5], or one such number for each
    constraint. Got 1.5 instead.
    Hint: delta is the probability of an error: 0.1 asks for 90 % confidence, as in delta=0.1.
    """


class DataError(InputError):
    """Data from which nothing can be certified.

    Examples
    --------
    >>> from elfair import LoggedData
    >>> LoggedData([[0.0]], [1], decision=[1], propensity=[1.2])
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: propensity must be in (0, 1]. Got 1.2 in 1 of 1 rows (the ...
    Hint: ...
    """

    @property
    def parts(self) -> tuple[DataError, ...]:
        """The mistakes that it lists; itself, if it lists none."""
        return self._parts or (self,)

    _parts: tuple[DataError, ...] = ()


class FeatureTypeError(DataError, TypeError):
    """Features of a kind that cannot be used at all, such as a sparse matrix.

    Examples
    --------
    >>> from elfair import LoggedData
    >>> from scipy.sparse import csr_array
    >>> LoggedData(csr_array([[0.0], [1.0]]))
    Traceback (most recent call last):
        ...
    elfair.errors.FeatureTypeError: ...
    Hint: X must be a dense table, one row for each person.
    """


class PropensityError(DataError):
    """The propensities cannot have produced the logged decisions.

    Examples
    --------
    >>> issubclass(PropensityError, DataError)
    True
    """


class ConstraintError(InputError):
    """Constraint text (or a tree built in Python) that makes no sense on these data.

    Examples
    --------
    >>> from elfair import ELFClassifier
    >>> ELFClassifier("accuracy > 0.75").fit([[0.0], [1.0]], [0, 1])
    Traceback (most recent call last):
        ...
    elfair.errors.ConstraintError: a strict inequality cannot be distinguished from one that ...
        accuracy > 0.75
                 ^
    Hint: use <= or >=.
    """


class BoundError(InputError):
    """A bound was requested without what its proof needs.

    Examples
    --------
    >>> from elfair.bounds import Sample, get_bound
    >>> get_bound("betting").check(Sample([0.25, -0.5]))
    Traceback (most recent call last):
        ...
    elfair.errors.BoundError: The 'betting' bound needs the upper end of a row, finite. ...
    Hint: declare impact_range=(lowest, highest), or use bound='guarded' (asymptotic).
    """


class NoSolutionFoundError(ElfairError, RuntimeError):
    """A prediction was requested, but the fairness test found no solution.

    Examples
    --------
    >>> from elfair import ELFClassifier
    >>> X, y = [[float(i % 7)] for i in range(200)], [i % 2 for i in range(200)]
    >>> clf = ELFClassifier("accuracy >= 0.99").fit(X, y)
    >>> clf.solution_found_
    False
    >>> clf.predict(X)
    Traceback (most recent call last):
        ...
    elfair.errors.NoSolutionFoundError: no solution found: no model passed the test, so there is ...
    Hint: explain() says what was wrong and what to do about it.
    """


class UnlikelyError(ElfairError, RuntimeError):
    """A test was not made, because it would hardly pass and cannot be made again.

    Examples
    --------
    >>> raise UnlikelyError("not tested.", hint="collect more rows.")
    Traceback (most recent call last):
        ...
    elfair.errors.UnlikelyError: not tested.
    Hint: collect more rows.
    """


class SpentError(ElfairError, RuntimeError):
    """A test was not made, because all declared looks at its rows were made.

    Examples
    --------
    >>> raise SpentError("not tested.", hint="test new rows.")
    Traceback (most recent call last):
        ...
    elfair.errors.SpentError: not tested.
    Hint: test new rows.
    """


class MissingPackageError(ElfairError, ImportError):
    """A feature needs a package that is not installed.

    Examples
    --------
    >>> issubclass(MissingPackageError, ImportError)
    True
    """


class CertificateWarning(UserWarning):
    """The certificate contains something that a reader must not overlook.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", CertificateWarning)  # stop rather than overlook it
    """


def all_of(name: str, mistakes: Sequence[DataError]) -> DataError:
    """One error that lists all that is wrong with a table; a hint that all share is given once.

    Parameters
    ----------
    name : str
        What the table is called.
    mistakes : sequence of DataError
        At least one.

    Examples
    --------
    >>> short = [DataError(f"{name} has 3 rows.", hint="fill it up.") for name in ("y", "impact")]
    >>> print(all_of("loans.csv", short))
    loans.csv: 2 mistakes:
      - y has 3 rows.
      - impact has 3 rows.
    Hint: fill it up.
    """
    every = tuple(part for each in mistakes for part in each.parts)
    if len(every) == 1:
        return every[0]
    shared = every[0].hint if len({each.hint for each in every}) == 1 else None
    told = [each.message if shared is not None else str(each) for each in every]
    points = "\n".join("  - " + each.replace("\n", "\n    ") for each in told)
    error = DataError(f"{name}: {len(every)} mistakes:\n{points}", hint=shared)
    error._parts = every
    return error


def install_extra(name: str) -> str:
    """The text of a hint: how to install an optional part of elfair.

    Parameters
    ----------
    name : str
        An extra of ``pyproject.toml``.

    Examples
    --------
    >>> install_extra("sql")
    "install the extra 'sql', for example with pip install '.[sql]' in a clone of elfair."
    """
    how = f"pip install '.[{name}]'"
    return f"install the extra '{name}', for example with {how} in a clone of elfair."


def did_you_mean(name: object, available: Iterable[object], otherwise: str) -> str:
    """The text of a hint: the most similar available name, or other advice.

    Examples
    --------
    >>> did_you_mean("rase", ["race", "sex"], "check the spelling.")
    "did you mean 'race'?"
    >>> did_you_mean("age", ["race", "sex"], "check the spelling.")
    'check the spelling.'
    """
    near = get_close_matches(str(name), [str(item) for item in available], n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else otherwise


def chosen(table: Mapping[str, Choice], parameter: str, name: str, otherwise: str) -> Choice:
    """The entry of a table that the value of a parameter names; raise if there is none.

    Examples
    --------
    >>> chosen({"ttest": 1, "betting": 2}, "bound", "betting", "use 'ttest'.")
    2
    """
    if name not in table:
        raise InputError(
            f"The '{parameter}' parameter must be one of {', '.join(map(repr, table))}. "
            f"Got {name!r} instead.",
            hint=did_you_mean(name, table, otherwise),
        )
    return table[name]


def listed(values: Iterable[Any], most: int = 10) -> str:
    """Values for an error message, at most ten of them.

    Examples
    --------
    >>> listed([0, 1])
    '0, 1'
    >>> listed(["0", "1"])
    "'0', '1'"
    """
    plain = [value.item() if getattr(value, "shape", None) == () else value for value in values]
    return ", ".join([*map(repr, plain[:most]), *(["..."] if plain[most:] else [])])

"""Who has which credit score, and who repays: a published toy law, and real score tables."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elfair.errors import DataError, did_you_mean
from elfair.experiments.draw import FloatArray

LOWEST, HIGHEST = 300.0, 850.0

SHARES_FILE = "transrisk_cdf_by_race_ssa.csv"
BAD_FILE = "transrisk_performance_by_race_ssa.csv"
TOTALS_FILE = "totals.csv"


@dataclass(frozen=True, eq=False)
class CreditTable:
    """The law of credit scores and of repayment in two groups.

    Attributes
    ----------
    groups : tuple of str
        What the groups T = 0 and T = 1 are called.
    group_probability : array of shape (2,)
        P(T).
    score : array of shape (k,)
        The scores that occur, from 300 to 850.
    share : array of shape (2, k)
        P(score | T).
    repay : array of shape (2, k)
        P(a loan is repaid | score, T).
    """

    groups: tuple[str, str]
    group_probability: FloatArray
    score: FloatArray
    share: FloatArray
    repay: FloatArray


def credit_clusters() -> CreditTable:
    """Seven clusters of people, after Liu et al. (2018), "Delayed impact of fair machine learning".

    Repayment depends on the cluster alone. A cluster's score is the middle of its seventh of
    300..850, and the groups are of one size: the paper leaves both open.

    Examples
    --------
    >>> table = credit_clusters()
    >>> table.score.round().tolist()
    [339.0, 418.0, 496.0, 575.0, 654.0, 732.0, 811.0]
    """
    share = np.array([[0.0, 0.1, 0.1, 0.2, 0.3, 0.3, 0.0], [0.1, 0.1, 0.2, 0.3, 0.3, 0.0, 0.0]])
    repay = np.array([0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7])
    return CreditTable(
        groups=("A", "B"),
        group_probability=np.array([0.5, 0.5]),
        score=LOWEST + (HIGHEST - LOWEST) * (np.arange(7) + 0.5) / 7,
        share=share,
        repay=np.array([repay, repay]),
    )


def read_fico(
    folder: str | os.PathLike[str] | None = None, groups: tuple[str, str] = ("White", "Black")
) -> CreditTable:
    """TransUnion TransRisk scores of 2003 by race (Federal Reserve, 2007).

    The folder holds three tables, with a column for each group:
    ``transrisk_cdf_by_race_ssa.csv`` (percent of the group at or below a score),
    ``transrisk_performance_by_race_ssa.csv`` (percent of the group at a score that does not
    repay) and ``totals.csv`` (people of the group). Scores of 0..100 become 300..850.

    Parameters
    ----------
    folder : path, optional
        By default the folder ``fico`` in the one that the environment variable ELFAIR_DATA names.
    groups : pair of str, default=("White", "Black")
        Names of columns, or their last words, in any case: T = 0 and T = 1.

    Returns
    -------
    CreditTable

    Examples
    --------
    >>> read_fico("nowhere")
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: there is no file 'transrisk_cdf_by_race_ssa.csv' in the folder nowhere.
    Hint: ...
    """
    place = _folder(folder)
    for group in groups:
        if not isinstance(group, str):
            raise DataError(
                f"a group must be named by text. Got {group!r} instead.",
                hint="name a column of the tables, such as 'Black'.",
            )
    if groups[0].lower() == groups[1].lower():
        raise DataError(
            f"two different groups are needed. Got {groups[0]!r} twice.",
            hint="one becomes T = 0 and the other T = 1.",
        )
    at_or_below = _by_score(place / SHARES_FILE, groups)
    bad = _by_score(place / BAD_FILE, groups)
    score, cumulated = at_or_below[0], at_or_below[1:]
    if not np.array_equal(score, bad[0]):
        raise DataError(
            f"{SHARES_FILE} and {BAD_FILE} in {place} hold different scores.",
            hint="both tables need a row for each score, in the same order.",
        )
    for name, column in zip(groups, cumulated, strict=True):
        if (np.diff(column) < 0).any() or not np.isclose(column[-1], 100, rtol=0, atol=1e-6):
            raise DataError(
                f"{SHARES_FILE}: the column of {name} must grow to 100, the percent of people at "
                f"or below each score. Got values that end at {column[-1]:g}, "
                f"{int((np.diff(column) < 0).sum())} of them below the one before.",
                hint="cumulated percentages are meant, not the share at each score.",
            )
    people = _totals(place / TOTALS_FILE, groups)
    return CreditTable(
        groups=groups,
        group_probability=people / people.sum(),
        score=LOWEST + (HIGHEST - LOWEST) * score / 100,
        share=np.diff(cumulated, axis=1, prepend=0) / 100,
        repay=1 - bad[1:] / 100,
    )


def _folder(folder: str | os.PathLike[str] | None) -> Path:
    if isinstance(folder, str | os.PathLike):
        return Path(folder)
    if folder is not None:
        raise DataError(
            f"folder must be a path. Got {folder!r} instead.",
            hint="leave it out for the folder 'fico' in ELFAIR_DATA.",
        )
    data = os.environ.get("ELFAIR_DATA")
    if data is None:
        raise DataError(
            "the score tables were not found: no folder was given, and the environment variable "
            "ELFAIR_DATA is not set.",
            hint="set ELFAIR_DATA to the folder that holds 'fico', or pass folder=.",
        )
    return Path(data) / "fico"


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header of a table, and its other lines."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except FileNotFoundError:
        raise DataError(
            f"there is no file '{path.name}' in the folder {path.parent}.",
            hint=f"the folder must hold {SHARES_FILE}, {BAD_FILE} and {TOTALS_FILE}.",
        ) from None
    if len(lines) < 2 or any(len(line) != len(lines[0]) for line in lines):
        raise DataError(
            f"{path.name} must be a table with a header and lines of equal length.",
            hint="commas separate the columns.",
        )
    return [name.strip() for name in lines[0]], lines[1:]


def _column(header: list[str], group: str, path: Path) -> int:
    """Where the column of a group is."""
    names = [name.lower() for name in header[1:]]
    wanted = group.strip().lower()
    for candidates in (names, [name.split()[-1] if name else name for name in names]):
        if candidates.count(wanted) == 1:
            return 1 + candidates.index(wanted)
    raise DataError(
        f"{path.name} has no column for the group {group!r}. It has: {', '.join(header[1:])}.",
        hint=did_you_mean(group, header[1:], "name one of its columns."),
    )


def _numbers(cells: list[str], path: Path, what: str) -> FloatArray:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise DataError(
            f"{path.name}: the column {what} must hold numbers ({error}).",
            hint="the decimal sign is a point.",
        ) from None


def _by_score(path: Path, groups: tuple[str, str]) -> FloatArray:
    """Scores, and the percentages of each group: three rows."""
    header, lines = _rows(path)
    places = [0, *(_column(header, group, path) for group in groups)]
    table = np.array([_numbers([line[k] for line in lines], path, header[k]) for k in places])
    # Written so that a NaN fails.
    if not ((table >= 0) & (table <= 100)).all():
        row = int(np.flatnonzero(~((table >= 0) & (table <= 100)).all(axis=0))[0])
        raise DataError(
            f"{path.name}: scores and percentages must be in [0, 100]. Got {lines[row]}.",
            hint="scores are ranks of 0 to 100 here; percentages are not shares of 1.",
        )
    if (np.diff(table[0]) <= 0).any():
        raise DataError(
            f"{path.name}: scores must increase from row to row.", hint="sort the table by score."
        )
    return table


def _totals(path: Path, groups: tuple[str, str]) -> FloatArray:
    """How many people each group has, in the row that the score tables were made of."""
    header, lines = _rows(path)
    row = next((line for line in lines if line[0].strip() == "SSA"), None)
    if row is None:
        raise DataError(
            f"{path.name} has no row 'SSA'. It has: {', '.join(line[0] for line in lines)}.",
            hint="the score tables describe the people of that row.",
        )
    people = _numbers([row[_column(header, group, path)] for group in groups], path, "of people")
    if not (np.isfinite(people) & (people > 0)).all():
        raise DataError(
            f"{path.name}: numbers of people must be above 0. Got {people.tolist()}.",
            hint="they give the probability of each group.",
        )
    return people

"""A table at a glance: what each column holds, what `elfair init` takes it for, and why.

What was measured after the decision is not shown, only whether it is there: what it says belongs to
rows that may be held out, and whoever has seen it might choose by it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elfair.data.columns import table_columns
from elfair.records.text import count, number, plural, rate
from elfair.report.svg import Svg
from elfair.serve import pictures
from elfair.study.defects import cleaned, proposals, toml_of
from elfair.study.encoding import MOST_LEVELS
from elfair.study.guessing import Guess, guess_columns
from elfair.study.profiles import Profile
from elfair.study.reasons import reasons
from elfair.study.sources import read_table

#: A column with at most this many values is shown by value.
FEW = 8
BINS = 24
#: What a column may be, as people say it.
ROLES = {
    "features": "feature",
    "sensitive": "group",
    "decision": "decision",
    "propensity": "propensity",
    "label": "label",
    "impact": "impact",
    "early": "early outcome",
    "row_id": "identifier",
    "unit": "unit",
    "sample_weight": "weight",
}
#: What is known only after the decision.
LATER = frozenset({"label", "impact", "early"})
_KINDS = {"number": "numbers", "text": "text", "truth": "yes or no", "other": "other"}


@dataclass(frozen=True)
class ColumnView:
    """A column at a glance.

    Parameters
    ----------
    name, kind : str
        What it is called, and what it holds.
    n, missing, different : int
        How many rows there are, in how many it is missing, and how many values it has.
    role, why : str
        What it is taken for, if for anything, and why.
    said : str
        Its values in words.
    drawing : Svg or None
        How often they occur; None if that is not shown.
    levels : tuple of str
        The values of a text with few of them.
    values : tuple of object
        Its values, if they are few and may be shown.
    """

    name: str
    kind: str
    n: int
    missing: int
    different: int
    role: str
    why: str
    said: str
    drawing: Svg | None
    levels: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class GroupView:
    """The groups that a column names.

    Parameters
    ----------
    name : str
        The column.
    sizes : tuple of (str, str, str)
        Each group, its rows, and its share of all rows; the largest first.
    """

    name: str
    sizes: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class TableView:
    """A table at a glance.

    Parameters
    ----------
    name : str
        The file.
    n : int
        The number of rows.
    columns : tuple of ColumnView
        Its columns.
    groups : tuple of GroupView
        What names groups.
    propensities : tuple of (str, str, Svg)
        For each decision how probable it was, in words and as a picture.
    lines : tuple of str
        Lines for a study file about how columns are written.
    """

    name: str
    n: int
    columns: tuple[ColumnView, ...]
    groups: tuple[GroupView, ...]
    propensities: tuple[tuple[str, str, Svg], ...]
    lines: tuple[str, ...]

    def column(self, name: str) -> ColumnView | None:
        """The column of a name."""
        return next((each for each in self.columns if each.name == name), None)


class TableViews:
    """Tables at a glance, each looked at once for each time that its file is written."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], TableView] = {}
        self._lock = threading.Lock()

    def of(self, path: Path, closed: Collection[str]) -> TableView:
        """The table in a file.

        Parameters
        ----------
        path : Path
            The file.
        closed : collection of str
            Columns that studies take for labels or impacts.
        """
        with self._lock:  # many requests at once read a table once
            found = path.stat()
            key = path, found.st_mtime_ns, found.st_size, frozenset(closed)
            if key not in self._seen:
                while len(self._seen) >= 8:
                    del self._seen[next(iter(self._seen))]
                self._seen[key] = viewed(path, closed)
            return self._seen[key]


def viewed(path: Path, closed: Collection[str] = ()) -> TableView:
    """Look at a table.

    Parameters
    ----------
    path : Path
        The file.
    closed : collection of str
        Columns whose values are not shown, beside those that look as if known only later.
    """
    read = read_table(path, as_written=True)
    found = proposals(read)
    table = cleaned(read, found)
    guess = guess_columns(table)
    profiles = [Profile(*each) for each in (table_columns(table, "X") or {}).items()]
    roles, why = _roles(guess), reasons(guess, profiles)
    hidden = {*closed, *guess.later} | {name for name, role in roles.items() if role in LATER}
    return TableView(
        path.name,
        table.num_rows,
        tuple(_column(each, roles, why[each.name], each.name in hidden) for each in profiles),
        tuple(_groups(each) for each in guess.sensitive),
        tuple(_propensities(profiles, guess)),
        tuple(toml_of(found)),
    )


def _roles(guess: Guess) -> dict[str, str]:
    singles = ("label", "decision", "propensity", "impact", "row_id", "unit")
    roles = {name: role for role in singles if (name := getattr(guess, role)) is not None}
    roles |= {each.name: "features" for each in guess.features}
    return roles | {each.name: "sensitive" for each in guess.sensitive}


def _column(of: Profile, roles: dict[str, str], why: str, hidden: bool) -> ColumnView:
    role = ROLES.get(roles.get(of.name, ""), "")
    levels = sorted(of.counts) if of.kind == "text" and of.different <= MOST_LEVELS else []
    said, drawing = ("not shown: known only after the decision", None) if hidden else _seen(of)
    few = not hidden and 0 < of.different <= MOST_LEVELS
    return ColumnView(
        name=of.name,
        kind=_KINDS[of.kind],
        n=of.n,
        missing=of.missing,
        different=of.different,
        role=role,
        why=why,
        said=said,
        drawing=drawing,
        levels=tuple(levels),
        values=tuple(sorted(of.counts, key=str)) if few else (),
    )


def _seen(of: Profile) -> tuple[str, Svg | None]:
    """The values of a column in words, and their picture."""
    if not of.counts:
        return "empty", None
    if of.kind != "number":
        if of.different == of.n:
            return "different in every row", None
        common = of.counts.most_common(3)
        words = ", ".join(f"{_shown(value)} {rate(n / of.n)}" for value, n in common)
        more = f", {of.different - 3} more" if of.different > 3 else ""
        by_size = [n for _, n in of.counts.most_common(BINS)]
        return words + more, pictures.histogram(by_size, apart=True)
    values = np.array(of.known, dtype=float)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return "no finite number", None
    low, middle, high = np.quantile(finite, [0, 0.5, 1])
    said = f"{number(low)} to {number(high)}, median {number(middle)}"
    if not np.isfinite(high - low):
        return said, None
    if of.different <= FEW:
        return said, pictures.histogram([n for _, n in sorted(of.counts.items())], apart=True)
    return said, pictures.histogram(np.histogram(finite, bins=BINS)[0].tolist())


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 30 else f"{text[:29]}…"


def _groups(of: Profile) -> GroupView:
    sizes = of.counts.most_common(12)
    shown = [(_shown(value), count(n), rate(n / of.n)) for value, n in sizes]
    if of.different > len(sizes):
        rest = sum(of.counts.values()) - sum(n for _, n in sizes)
        shown.append((f"{of.different - len(sizes)} more", count(rest), rate(rest / of.n)))
    if of.missing:
        shown.append(("missing", count(of.missing), rate(of.missing / of.n)))
    return GroupView(of.name, tuple(shown))


def _propensities(profiles: list[Profile], guess: Guess) -> Iterator[tuple[str, str, Svg]]:
    """How probable each decision was, where it was taken."""
    by_name = {each.name: each for each in profiles}
    if guess.decision is None or guess.propensity is None:
        return
    taken, chances = by_name[guess.decision], by_name[guess.propensity]
    for decision, n in sorted(Counter(taken.counts).items(), key=lambda pair: str(pair[0]))[:FEW]:
        where = np.array([value == decision for value in taken.values.tolist()])
        values = np.array([v for v in chances.values[where].tolist() if v is not None], dtype=float)
        values = values[np.isfinite(values)]
        if values.size:
            low = int((values < 0.05).sum())
            said = f"{plural(n, 'row')}, smallest {number(values.min())}"
            said += f", {plural(low, 'row')} below 0.05" if low else ", none below 0.05"
            counts = np.histogram(values, bins=20, range=(0, 1))[0].tolist()
            yield _shown(decision), said, pictures.histogram(counts)

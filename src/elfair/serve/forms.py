"""The form of a study: from the fields of a page to changes of the file, and back to what is wrong.

A field that says what the file says already is no change. Keys that the form does not show stay as
they are.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elfair.errors import ElfairError, InputError
from elfair.language.recipes import RECIPES
from elfair.records.toml import class_text, parsed
from elfair.serve.columns import TableView
from elfair.serve.editing import REMOVED, edited
from elfair.serve.editing import Path as Place
from elfair.serve.words import reading
from elfair.study.file import TODO, StudyFile

#: What a column may be chosen as; "feature and group" is both.
CHOICES = {
    "": "not used",
    "features": "feature",
    "sensitive": "group",
    "both": "feature and group",
    "decision": "decision",
    "propensity": "propensity",
    "label": "label",
    "impact": "impact",
    "early": "early outcome",
    "row_id": "identifier",
    "unit": "unit",
    "sample_weight": "weight",
}
_LISTS = {"features": True, "sensitive": True, "impact": True, "early": False}
_SINGLE = ("decision", "propensity", "label", "row_id", "unit", "sample_weight")
#: Which number each constraint by name takes.
AMOUNTS = {
    "no_worse": "slack",
    "improvement": "margin",
    "decline": "at_most",
    "disparate_impact": "ratio",
    **dict.fromkeys(
        ("stagnation", "parity", "equalized_odds", "equal_opportunity", "predictive_equality",
         "accuracy_parity"), "tolerance",
    ),
}  # fmt: skip
#: Fields of single keys: their path, and whether they hold a number.
_PLAIN: dict[str, tuple[Place, bool]] = {
    "title": (("title",), False),
    "missing_impact": (("rows", "missing_impact"), False),
    "objective": (("model", "objective"), False),
    "positive": (("model", "positive"), False),
    "delta": (("test", "delta"), True),
    "seed": (("test", "seed"), True),
}

Fields = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Preview:
    """What a form would do to the file.

    Parameters
    ----------
    text : str
        The file as it would be.
    diff : tuple of (str, str)
        Its lines that differ, with what they are: "+", "-", "@" or " ".
    mistakes : str
        What is wrong with it; empty if nothing is.
    readings : tuple of str
        Each constraint in words.
    """

    text: str
    diff: tuple[tuple[str, str], ...]
    mistakes: str
    readings: tuple[str, ...]


def previewed(old: str, new: str, name: str, folder: Path, **reach: Any) -> Preview:
    """Compare two texts of a study file, and check the new one.

    Parameters
    ----------
    old, new : str
        The file before and after.
    name : str
        What it is called.
    folder : Path
        Where relative paths begin.
    **reach
        What the study may read; see `StudyFile.load`.
    """
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1)
    diff = tuple((line[:1], line) for line in lines if not line.startswith(("---", "+++")))
    try:
        StudyFile.loads(new, folder=folder, name=name, **reach)
        mistakes = ""
    except (ElfairError, ValueError, TypeError) as error:
        mistakes = str(error)
    return Preview(new, diff, mistakes, tuple(readings(new)))


def readings(text: str) -> list[str]:
    """Each constraint of a file in words, as far as it can be read."""
    try:
        tables = parsed(text, "the study file")
    except InputError:
        return []
    columns = tables.get("columns")
    impacts = columns.get("impact") if isinstance(columns, dict) else None
    entries = tables.get("constraints")
    named = [each for each in impacts if isinstance(each, str)] if isinstance(impacts, list) else []
    return [reading(each, named) for each in entries] if isinstance(entries, list) else []


def changed(text: str, fields: Fields, table: TableView | None) -> str:
    """The study file as a form asks for it.

    Parameters
    ----------
    text : str
        The file as it is.
    fields : mapping of str to sequence of str
        What the form holds.
    table : TableView or None
        The table that it is about, if that can be read.
    """
    tables = parsed(text, "the study file")
    changes: dict[Place, Any] = {}
    for field, (path, is_number) in _PLAIN.items():
        if field in fields:
            changes[path] = _value(fields[field][-1], is_number)
    if changes.get(("title",), "") is REMOVED:
        changes[("title",)] = ""
    changes |= _columns(tables.get("columns", {}), fields, table)
    changes |= _constraints(tables, fields, table)
    return edited(text, changes)


def _value(text: str, is_number: bool = False) -> Any:
    """What a field holds; an empty one takes its key away, and what is no number is left as text,
    of which the check says what it should be.
    """
    text = text.strip()
    if not text:
        return REMOVED
    if is_number:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text


def roles(columns: Mapping[str, Any]) -> dict[str, str]:
    """What each column is in the file, as `CHOICES` call it."""
    found: dict[str, str] = {}
    for key in (*_LISTS, *_SINGLE):
        value = columns.get(key)
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and not name.startswith(TODO) and name != "estimated":
                pair = {found.get(name), key} == {"features", "sensitive"}
                found[name] = "both" if pair else key
    return found


def _columns(columns: Any, fields: Fields, table: TableView | None) -> dict[Place, Any]:
    """The roles of columns, and the levels of texts that became features."""
    if "column" not in fields or not isinstance(columns, dict):
        return {}
    chosen = dict(zip(fields["column"], fields.get("role", ()), strict=False))
    changes: dict[Place, Any] = {}
    for key, always in _LISTS.items():
        also = ("both",) if key in ("features", "sensitive") else ()
        names = [name for name, role in chosen.items() if role in (key, *also)]
        before = columns.get(key)
        known = before if isinstance(before, list) else []
        ordered = [name for name in known if name in names]
        ordered += [name for name in names if name not in ordered]
        if ordered or always or key in columns:
            changes["columns", key] = ordered if ordered or always else REMOVED
    for key in _SINGLE:
        names = [name for name, role in chosen.items() if role == key]
        if len(names) > 1:
            raise InputError(
                f"{len(names)} columns are chosen as {CHOICES[key]}: {', '.join(names)}.",
                hint="choose one of them.",
            )
        if key == "propensity":
            if fields.get("estimated"):
                names = ["estimated"]
            elif not isinstance(columns.get(key, ""), str):
                continue  # declared chances, which stand in the file
        if names or key in columns:
            changes["columns", key] = names[0] if names else REMOVED
    return changes | _levels(columns, changes["columns", "features"], table)


def _levels(
    columns: Mapping[str, Any], features: Sequence[str], table: TableView | None
) -> dict[Place, Any]:
    known = columns.get("categories", {})
    if not isinstance(known, dict):
        return {}
    changes: dict[Place, Any] = {
        ("columns", "categories", name): REMOVED for name in known if name not in features
    }
    for name in features:
        view = None if table is None else table.column(name)
        if name not in known and view is not None and len(view.levels) > 1:
            changes["columns", "categories", name] = list(view.levels)
    return changes


def _constraints(
    tables: Mapping[str, Any], fields: Fields, table: TableView | None
) -> dict[Place, Any]:
    entries = tables.get("constraints", [])
    if not isinstance(entries, list):
        return {}
    changes: dict[Place, Any] = {}
    for k in range(len(entries) + 1):
        kind = fields.get(f"kind-{k}", [""])[-1]
        if kind not in ("text", *RECIPES):
            continue
        if fields.get(f"remove-{k}"):
            changes["constraints", k] = REMOVED
            continue
        entry = entries[k] if k < len(entries) else {}
        if not isinstance(entry, dict):
            continue  # the check says what it should be
        for key, value in _entry(kind, entry, k, fields, table).items():
            if value is not REMOVED or key in entry:
                changes["constraints", k, key] = value
    return changes


def _entry(
    kind: str, entry: Mapping[str, Any], k: int, fields: Fields, table: TableView | None
) -> dict[str, Any]:
    """The keys of one constraint."""

    def given(field: str, is_number: bool = False) -> Any:
        return _value(fields.get(f"{field}-{k}", [""])[-1], is_number)

    # The other ways to state it go, or the entry would say two things.
    found: dict[str, Any] = {name: REMOVED for name in ("text", *RECIPES) if name != kind}
    amount = AMOUNTS.get(kind)
    found |= {name: REMOVED for name in AMOUNTS.values() if name != amount}
    if kind == "text":
        text = given("text")
        found |= {"text": "" if text is REMOVED else text, "groups": REMOVED, "impact": REMOVED}
    else:
        by = list(fields.get(f"by-{k}", ()))
        found[kind] = by[0] if len(by) == 1 else by
        found[str(amount)] = given("amount", is_number=True)
        found |= _groups(entry, by, fields.get(f"groups-{k}", [""])[-1], table)
    found["delta"] = given("delta", is_number=True)
    for name in ("chosen_by", "why"):
        said = given(name)
        found[name] = said if said is not REMOVED or name not in entry else ""
    return found


def _groups(
    entry: Mapping[str, Any], by: Sequence[str], text: str, table: TableView | None
) -> dict[str, Any]:
    """The groups that are named, one in a line. (Those of several columns stand in the file.)"""
    if len(by) != 1:
        return {}
    column = None if table is None else table.column(by[0])
    values = {class_text(value): value for value in (column.values if column else ())}
    known = entry.get("groups")
    named = known if isinstance(known, list) else []
    values |= {class_text(each): each for each in named if not isinstance(each, list)}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return {"groups": [values.get(line, line) for line in lines] or REMOVED}

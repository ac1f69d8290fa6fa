"""A first study file for a table: guesses are marked, and unknown columns are left open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from elfair.data.behavior import ESTIMATED
from elfair.data.classes import read_positive
from elfair.errors import listed
from elfair.language.conditions import Column
from elfair.language.naming import Names
from elfair.language.recipes import RECIPES
from elfair.records.reading import REQUIRED, Key, keys_inside, keys_of
from elfair.records.tables import filled_rows
from elfair.records.text import sentence
from elfair.records.toml import class_text, example_of, toml, words_of
from elfair.study.databases import is_address
from elfair.study.defects import cleaned, proposals, toml_of
from elfair.study.file import TODO, lines_to_fill_in
from elfair.study.guessing import Guess, guess_columns, likely_positive
from elfair.study.keys import (
    CONSTRAINT,
    MODEL,
    RECIPE_KEYS,
    TEST,
    CleanKeys,
    ColumnKeys,
    LaterKeys,
    RowKeys,
    StudyKeys,
)
from elfair.study.profiles import Profile
from elfair.study.reasons import beside_its_name
from elfair.study.secrets import with_variables
from elfair.study.sources import read_table

_COLUMNS = keys_of(ColumnKeys)
_COMMENT: dict[str, Any] = {
    "width": 100, "initial_indent": "# ", "subsequent_indent": "# ", "break_on_hyphens": False,
}  # fmt: skip


def draft_study(
    source: str | Path,
    *,
    query: str | None = None,
    folder: str | Path | None = None,
    within: Sequence[str | Path] = (),
) -> str:
    """Look at a table, and draft a study file for you to correct.

    Guesses are marked ``# guess``. What could not be guessed says ``TODO``, and `StudyFile.load`
    refuses the file until you fill it in. Nothing is written to disk. A password in an address
    becomes ``${DB_PASSWORD}``, to be filled in from the environment.

    Parameters
    ----------
    source : str or Path
        A file, or the address of a database.
    query : str, optional
        The query, if the source is a database.
    folder : str or Path, optional
        Where the study file will lie; the working directory unless given.
    within : sequence of str or Path
        Folders whose files a query may read, beside the working directory.

    Returns
    -------
    str
        TOML.

    Examples
    --------
    >>> print(draft_study("duckdb://", query="select range as age, range % 2 as approved from "
    ...                   "range(9)")[:42])
    # An elfair study file, drafted from the ...
    """
    read = read_table(source, query=query, as_written=True, within=within)
    read = replace(read, table=read.table.filter(filled_rows(read.table)))
    found = proposals(read)
    table = cleaned(read, found)
    guess, where = guess_columns(table), _place(source, Path.cwd() if folder is None else folder)
    given = {
        "": {"title": f"title = {toml('A study' if query else Path(where).stem)}"},
        "data": _data(where, query, table),
        "rows": _defaults(keys_of(RowKeys), "missing_impact"),
        "model": _model(guess),
        "test": {**_defaults(TEST, "delta", "seed"), **_range(guess, table)},
    }
    known = keys_of(StudyKeys)
    tables = {name: keys for name, each in known.items() if (keys := keys_inside(each)) is not None}
    apart = [name for name in known if name not in ("clean", *tables, *_GUESSED)]
    lines = _settings({name: known[name] for name in apart}, given[""])
    for name in known:
        keys = tables.get(name, {})
        if name == "clean":
            lines += _clean(guess, found)
        elif name in _GUESSED:
            lines += _GUESSED[name](guess)
        elif name in apart:
            continue
        else:
            lines += ["", f"[{name}]", *_settings(keys, given.get(name, {}))]
    return "\n".join([*_head(lines), *lines, ""])


def _head(lines: list[str]) -> list[str]:
    head = [
        "# An elfair study file, drafted from the table below.",
        "# Lines marked 'guess' were guessed from names and values: check each of them.",
    ]
    if lines_to_fill_in("\n".join(lines)):
        head.append(f"# Lines with {TODO} are for you to fill in.")
    return head


def _place(source: str | Path, folder: str | Path) -> str:
    """The source as a study file in a folder names it."""
    if is_address(source):
        return with_variables(str(source))
    return Path(os.path.relpath(Path(source).resolve(), Path(folder).resolve())).as_posix()


def _data(where: str, query: str | None, table: Any) -> dict[str, str]:
    size = f"{table.num_rows:,} rows, {table.num_columns} columns"
    source = {"source": f"source = {toml(where)}  # {size}"}
    return source if query is None else {**source, "query": f"query = {toml(query)}"}


def _columns(guess: Guess) -> list[str]:
    column, columns = f"{TODO}: a column", [f"{TODO}: columns"]
    maybe = f"; maybe {' or '.join(map(repr, guess.probabilities))}" if guess.probabilities else ""
    found = {
        "features": _guessed("features", [each.name for each in guess.features], columns),
        "sensitive": _guessed("sensitive", [each.name for each in guess.sensitive], columns),
        "decision": _guessed("decision", guess.decision, column),
        "propensity": _guessed("propensity", guess.propensity, column + maybe),
        "impact": _guessed("impact", [guess.impact] if guess.impact else [], columns),
    }
    if guess.later and guess.impact:
        last = listed(guess.later[::-1], 8)  # what came to be known last stands last
        found["impact"] += f"; or maybe {last}"
    if guess.later and not guess.impact:
        found["impact"] = f"impact = {toml([f'{TODO}: columns; maybe {listed(guess.later, 5)}'])}"
    if guess.unlogged:
        found["propensity"] = f'propensity = "{ESTIMATED}"  # guess: nobody logged it'
    if guess.shares:
        found["propensity"] = "\n".join([found["propensity"], *_lottery(guess.shares)])
    if guess.behavior:
        found["propensity"] = '# propensity = "..."  # not needed with [columns.behavior]'
    for name in ("label", "row_id", "unit"):
        if known := getattr(guess, name):
            found[name] = _guessed(name, known, None)
    for role in ("decision", "label", "impact"):
        if (name := getattr(guess, role)) and (why := beside_its_name(role, name)):
            found[role] += f": {why}"
    tables = {"behavior", "categories"} if guess.behavior else {"categories"}
    keys = {name: known for name, known in _COLUMNS.items() if name not in tables}
    lines = ["", "[columns]", *_settings(keys, found)]
    if guess.left:
        lines.append("# Not used:")
        lines += [f"#   {toml(name)}: {why}" for name, why in guess.left.items()]
    if guess.behavior:
        lines += ["", "[columns.behavior]  # guess: the probability of each decision"]
        lines += [f"{toml(key)} = {toml(name)}" for key, name in guess.behavior.items()]
    texts = [each for each in guess.features if each.kind == "text"]
    known = _COLUMNS["categories"]
    levels = "[columns.categories]" if texts else f"# {example_of('categories', known)}"
    lines += ["", *_told(known, levels)]
    return lines + [f"{toml(each.name)} = {toml(sorted(each.counts))}" for each in texts]


def _lottery(shares: Mapping[str, float]) -> list[str]:
    """How to declare the chances of a trial, with what was seen: the design is for the user to
    say.
    """
    told = (
        "If decisions were drawn at random, declare the planned probabilities instead (by a "
        f'column, if they differ by its values). "{ESTIMATED}" is for chances that nobody knows. '
        "For comparison, the shares in these rows:"
    )
    return [*wrap(told, **_COMMENT), f"# propensity = {toml(shares)}"]


def _model(guess: Guess) -> dict[str, str]:
    if guess.label is not None:
        return {**_defaults(MODEL, "objective"), **_positive(guess)}
    impact = str(Column(guess.impact)) if guess.impact else "impact"
    objective = f"objective = {toml(f'E[{impact}]')}  # guess: there is no label"
    return {"objective": objective, **_positive(guess)}


def _positive(guess: Guess) -> dict[str, str]:
    """A place for the positive decision, if no convention tells it. The guess has no effect until
    the user confirms it: rates about refusals would look like rates about approvals.
    """
    classes = guess.classes
    if not classes or read_positive(None, np.array(classes, dtype=object)) is not None:
        return {}
    likely = likely_positive(classes)
    if likely is None:
        return {"positive": f"# positive = {toml(classes[0])}  # or another of {listed(classes)}?"}
    confirm = f"guess, of {listed(classes)}: remove the first # to confirm it"
    return {"positive": f"# positive = {toml(likely)}  # {confirm}"}


def _range(guess: Guess, table: Any) -> dict[str, str]:
    """A place for the range of the impact, with what was seen beside it: what is possible is for
    the user to say.
    """
    if guess.impact is None:
        return {}
    values = [value for value in table.column(guess.impact).to_pylist() if value is not None]
    seen = [float(value) for value in values if isfinite(value)]
    if not seen:
        return {}
    span = f"seen in these rows: {min(seen):g} to {max(seen):g}; declare what is possible"
    return {"impact_range": f"# {example_of('impact_range', TEST['impact_range'])}  # {span}"}


def _defaults(keys: Mapping[str, Key], *names: str) -> dict[str, str]:
    return {name: f"{name} = {toml(keys[name].default)}" for name in names}


def _constraints(guess: Guess) -> list[str]:
    lines = [
        "",
        "# What must hold: one entry for each constraint, as text, such as",
        f"#   {example_of('text', CONSTRAINT['text'])}",
        *wrap(f"or by name: {', '.join(RECIPES)}.", **_COMMENT),
    ]
    settings = [name for name in CONSTRAINT if name not in {"text", *RECIPES, *RECIPE_KEYS}]
    nobody = [f'no_worse = "{TODO}: a column that names groups"']
    for asked in [_no_worse(each) for each in guess.sensitive] or [nobody]:
        lines += [
            "",
            "[[constraints]]",
            *asked,
            *_settings(
                {name: CONSTRAINT[name] for name in ("slack", *settings)},
                _defaults(CONSTRAINT, "chosen_by", "why"),
            ),
        ]
    return lines


def _no_worse(groups: Profile) -> list[str]:
    small = [each for each in groups.counts if each not in groups.groups]
    lines = [
        f"no_worse = {toml(groups.name)}  # guess: no group worse off than under the old model",
        f"groups = {toml(groups.groups)}",
    ]
    if small:
        lines.append(f"# too few rows for a statement of their own: {toml(small)}")
    return lines


def _later(guess: Guess) -> list[str]:
    """A place for a table that came later."""
    known = keys_of(LaterKeys)
    examples = [f"#   {example_of(name, each)}" for name, each in known.items()]
    return ["", *_told(keys_of(StudyKeys)["later"], "# [later]"), *examples]


def _clean(guess: Guess, found: Mapping[str, CleanKeys]) -> list[str]:
    """How columns seem to be written, and a place to say so of others."""
    lines = ["", *_told(keys_of(StudyKeys)["clean"], '# [clean."a column"]')]
    keys = keys_of(CleanKeys).items()
    lines += [f"#   {example_of(*each)}  # {each[1].about}" for each in keys]
    named = guess.row_id, guess.unit, guess.propensity, guess.decision, guess.label, guess.impact
    used = {*named, *guess.behavior.values()}
    used |= {each.name for each in (*guess.features, *guess.sensitive)}
    for name, each in found.items():
        declared = list(toml_of({name: each}))
        if name in used:
            lines += [f"{declared[0]}  # guess", *declared[1:]]
        else:
            lines += ["# If you use this column:", *(f"# {line}" for line in declared)]
    return lines


def _derived(guess: Guess) -> list[str]:
    """A place for columns that are made of others."""
    examples = (
        'age_band = { of = "age", bins = [30, 60] }',
        'arm = { join = ["aspirin", "heparin"] }',
        'alive = "code in [3, 4]"',
    )
    lines = ["", *_told(keys_of(StudyKeys)["derived"], "# [derived]")]
    return lines + [f"#   {each}" for each in examples]


def _names(guess: Guess) -> list[str]:
    """A place for words, with the columns, groups and decisions of the table."""
    impacts = [guess.impact] if guess.impact else []
    columns = [*impacts, *(each.name for each in guess.sensitive)]
    decisions = list(map(class_text, guess.classes))
    known = {
        "columns": {name: name for name in columns},
        "units": {name: "points" for name in impacts},
        "decisions": {each: f"decision {each}" for each in decisions},
        "labels": {each: f"with label {each}" for each in decisions} if guess.label else {},
        "groups": {
            each.name: {class_text(group): class_text(group) for group in each.groups}
            for each in guess.sensitive
        },
    }
    lines = ["", *_told(keys_of(StudyKeys)["names"], "# [names]")]
    for name, each in keys_of(Names).items():
        example = replace(each, example=known.get(name) or each.example)
        lines.append(f"#   {example_of(name, example)}  # {each.about}")
    return lines


#: The tables that are guessed from the columns, or left as comments.
_GUESSED: dict[str, Callable[[Guess], list[str]]] = {
    "later": _later,
    "derived": _derived,
    "names": _names,
    "columns": _columns,
    "constraints": _constraints,
}


def _guessed(key: str, value: Any, otherwise: Any) -> str:
    """The line of a key that must be given."""
    return f"{key} = {toml(value)}  # guess" if value else f"{key} = {toml(otherwise)}"


def _told(known: Key, line: str) -> list[str]:
    """A line below what its key is for."""
    choices = f": {known.allowed.words}" if known.allowed and known.allowed.choices else ""
    return [*wrap(sentence(known.about + choices), **_COMMENT), line]


def _settings(keys: Mapping[str, Key], given: Mapping[str, str]) -> list[str]:
    """All keys of a table: those that are given, those that must be, and others commented out."""
    lines = []
    for name, known in keys.items():
        line = f"# {example_of(name, known)}"
        if known.default is REQUIRED:
            line = f"{name} = {toml(f'{TODO}: {words_of(known)}')}"
        lines += _told(known, given.get(name, line))
    return lines

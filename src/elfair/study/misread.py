"""What can be wrong with ``[clean]``, ``[derived]`` and ``keep`` of a study file, before data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from elfair.errors import InputError, did_you_mean, listed
from elfair.language.conditions import columns_used
from elfair.records.toml import toml
from elfair.study.derived import Derived, closure, condition_of, read_derived


def mistakes_of_reading(study: Any) -> Iterator[InputError]:
    """Everything that does not fit together in how a table is to be read.

    Parameters
    ----------
    study : StudyFile
        Its keys and values are right.
    """
    derived: dict[str, Derived] = {}
    for name, value in study.derived.items():
        try:
            made = read_derived(name, value)
        except InputError as error:
            yield error
            continue
        for each in made.of:
            if each == name or (each in study.derived and each not in derived):
                yield InputError(
                    f"{name!r} of [derived] is made of {each!r}, which is not there yet.",
                    hint="a derived column is made of columns of the table, and of derived ones "
                    "above it.",
                )
        derived[name] = made
    kept: list[str] = []
    for text in study.rows.keep:
        try:
            names = sorted(columns_used(condition_of(text, "keep of [rows]")))
        except InputError as error:
            yield error
            continue
        kept += names
        yield from _known_too_late(study, f"keep of [rows], {text!r},", names, derived)
    yield from _of_columns(study, derived)
    yield from _of_clean(study, derived, kept)


def _of_columns(study: Any, derived: dict[str, Derived]) -> Iterator[InputError]:
    """Derived features and groups that are made of what came of a decision."""
    columns = study.columns
    for key in ("features", "sensitive"):
        for name in getattr(columns, key):
            if name in derived:
                what = f"{name!r}, which is among {key} of columns,"
                yield from _known_too_late(study, what, [name], derived, label=key == "features")


def _known_too_late(
    study: Any,
    what: str,
    names: Sequence[str],
    derived: dict[str, Derived],
    *,
    label: bool = False,
) -> Iterator[InputError]:
    """Conditions, features or groups that use what came of a decision.

    Who takes part, and to which group somebody belongs, must be the same whatever was decided: a
    choice by the decision, by its propensity or by its impact would bias every average.
    """
    columns = study.columns
    late = {columns.decision: "the decision"} | dict.fromkeys(columns.impact, "an impact")
    late |= dict.fromkeys(columns.early, "an early outcome")
    if columns.drawn_with is not None:
        late[columns.drawn_with] = "the propensity of the decision"
    if label:
        late[columns.label] = "the label"
    for role in [each for each in late if each in derived]:
        late |= dict.fromkeys(closure([role], derived)[0], late[role])
    used = closure(names, derived)[0]
    for name in [*names, *used]:
        if name in late:
            yield InputError(
                f"{what} uses {name!r}, {late[name]}.",
                hint="use only what was known before the decision: otherwise people would be "
                "chosen by what was done to them.",
            )
            return


def _of_clean(study: Any, derived: dict[str, Derived], kept: list[str]) -> Iterator[InputError]:
    on = [] if study.later is None else study.later.on
    keys = [on] if isinstance(on, str) else list(on)
    used = [*closure([*study.needed_columns, *kept], derived)[0], *keys]
    for name, keys_of in study.clean.items():
        where = f"[clean.{toml(name)}]"
        if name in derived:
            yield InputError(
                f"{where} is about a derived column.", hint="clean the columns that it is made of."
            )
        elif name not in used:
            yield InputError(
                f"{where} is about a column that the study does not use. It uses "
                f"{listed(used, 30)}.",
                hint=did_you_mean(name, used, "remove it."),
            )
        if keys_of.date is not None and keys_of.is_number:
            yield InputError(
                f"{where} declares both dates and numbers.", hint="a column holds one of them."
            )
        if keys_of.thousands is not None and keys_of.thousands == (keys_of.decimal or "."):
            yield InputError(
                f"thousands of {where} is {keys_of.thousands!r}, the sign before decimals.",
                hint="they must differ: write decimal = ',' beside thousands = '.'.",
            )

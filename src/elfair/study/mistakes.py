"""What can be wrong with a study file whose keys and values are right, before data are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from elfair.data.lottery import read_lottery
from elfair.data.revealed import numbers_reveal_nothing
from elfair.errors import ElfairError, InputError, did_you_mean, listed
from elfair.estimators.parameters import PARAMETERS, check_parameters
from elfair.language import recipes
from elfair.language.conditions import columns_used, impacts_used, uses_label
from elfair.language.parsing import parse
from elfair.language.recipes import RECIPES, Recipe
from elfair.language.tree import Node
from elfair.records.tables import format_of
from elfair.records.toml import example_of, repeated
from elfair.search.goals import goal_of
from elfair.search.regression import task_of
from elfair.statistics.claims import read_constraints
from elfair.study.databases import is_address
from elfair.study.keys import OF_NUMBERS, RECIPE_KEYS
from elfair.study.misread import mistakes_of_reading
from elfair.study.sources import check_query


def constraint_of(entry: Mapping[str, Any], impacts: Sequence[str] = ()) -> str | Recipe:
    """A constraint as an estimator takes it.

    Parameters
    ----------
    entry : mapping
        An entry of ``[[constraints]]``: it has a text, or the name of one recipe.
    impacts : sequence of str
        The impacts of the study: a single one need not be named.

    Examples
    --------
    >>> print(constraint_of({"no_worse": "race", "groups": ["A"]}, ["savings"]))
    E[savings | race == 'A'] >= E_logged[savings | race == 'A']
    """
    (name,) = _named(entry)
    if name == "text":
        return str(entry[name])
    given = {key: entry[key] for key in RECIPE_KEYS if key in entry}
    if "groups" in given:  # TOML has lists where groups of several columns are tuples
        given["groups"] = [tuple(g) if isinstance(g, list) else g for g in given["groups"]]
    if len(impacts) == 1 and "impact" in _takes(name):
        given.setdefault("impact", impacts[0])
    recipe: Recipe = getattr(recipes, name)(entry[name], **given)
    return recipe


def _takes(name: str) -> dict[str, inspect.Parameter]:
    """What a recipe takes in addition to its columns."""
    return dict(list(inspect.signature(getattr(recipes, name)).parameters.items())[1:])


def _named(entry: Mapping[str, Any]) -> list[str]:
    """How an entry states its constraint: as text, or by the names of recipes."""
    return [name for name in ("text", *RECIPES) if name in entry]


def mistakes_of(study: Any) -> Iterator[InputError]:
    """Everything that does not fit together in a study file.

    Parameters
    ----------
    study : StudyFile
        Its keys and values are right.
    """
    sources = [study.data] if study.later is None else [study.data, study.later]
    for given in sources:
        yield from _raised(check_query, given.source, given.query)
        files = [given.source] if isinstance(given.source, str) else given.source
        for each in files:
            if not is_address(each):
                yield from _raised(format_of, each)
    yield from mistakes_of_reading(study)
    yield from _parameters(study)
    yield from _raised(check_parameters, study.kind, study.parameters)
    yield from _columns(study.columns)
    yield from _named_columns(study)
    yield from _lottery(study)
    yield from _estimated(study)
    yield from _unseen(study)
    yield from _revealed(study)
    yield from _categories(study.columns)
    yield from _objective(study)
    for position, entry in enumerate(study.constraints):
        where = f"constraints[{position}]"
        mistakes = list(_entry(where, entry))
        yield from mistakes or _constraint(where, entry, study)


def _parameters(study: Any) -> Iterator[InputError]:
    """Keys of the other kind of model."""
    other = "classifier" if study.kind == "regressor" else "regressor"
    wrong: list[tuple[str, str]] = [
        (each.key, each.table)
        for each in PARAMETERS
        if each.table and study.kind not in each.defaults
        if each.key in getattr(study, each.table)
    ]
    columns = ("behavior", "person_cost") if other == "classifier" else OF_NUMBERS
    wrong += [(column, "columns") for column in columns if getattr(study.columns, column)]
    for key, table in wrong:
        yield InputError(
            f"{key} of {table} is only for a {other}, but the kind of [model] is {study.kind!r}.",
            hint=f"remove it, or write kind = '{other}' in [model].",
        )


def _raised(check: Callable[..., object], *given: Any) -> Iterator[InputError]:
    """What a check raises."""
    try:
        check(*given)
    except InputError as error:
        yield error


def _columns(columns: Any) -> Iterator[InputError]:
    for key in ("features", "sensitive", "impact"):
        yield from repeated(f"{key} of columns", getattr(columns, key))
    # A feature may be sensitive; what came of a decision, or decided it, may not be a feature.
    for role, name in columns.roles.items():
        if name in columns.features:
            yield InputError(
                f"the column {name!r} is both a feature and {role} of columns.",
                hint="a feature is what the new model sees before it decides; take it out of "
                "features.",
            )
    yield from repeated(
        "label, decision, propensity, behavior, impact, early, follow_up and row_id of columns",
        list(columns.roles.values()),
    )
    drawn = columns.propensity or columns.behavior or columns.behavior_mean
    if columns.decision is None and drawn:
        yield InputError(
            "[columns] names a propensity, but not the decision that it belongs to.",
            hint="for example: decision = 'approved'",
        )


def _named_columns(study: Any) -> Iterator[InputError]:
    """Names for columns that the study does not have: they would never be seen."""
    columns, names = study.columns, study.names
    known = [*columns.features, *columns.sensitive, *columns.impact, "decision", "cost"]
    for table, given, there in (
        ("columns", names.columns, known),
        ("units", names.units, [*columns.impact, "cost"]),
        ("groups", names.groups, [*columns.sensitive, *columns.features]),
    ):
        for name in given:
            if name not in there:
                yield InputError(
                    f"{table} of names has words for {name!r}; there are {listed(there)}.",
                    hint=did_you_mean(name, there, "write the name as [columns] does."),
                )


def _unseen(study: Any) -> Iterator[InputError]:
    """What is declared of missing impacts, and does not act."""
    how, columns = study.rows.missing_impact, study.columns
    for key in ("early", "follow_up"):
        if getattr(columns, key) and how != "at random":
            yield InputError(
                f"{key} of columns is for impacts that are missing at random; missing_impact of "
                f"rows is {how!r}.",
                hint=f'write missing_impact = "at random" in [rows], or remove {key}.',
            )
    if how == "worst case" and study.test.get("impact_range") is None:
        yield InputError(
            'missing_impact = "worst case" needs the range of the impact.',
            hint="write impact_range = [low, high] in [test], which no impact can leave.",
        )


def _estimated(study: Any) -> Iterator[InputError]:
    """What does not go with estimated propensities, or only with them."""
    columns = study.columns
    if not columns.estimated:
        if study.rows.trim:
            yield InputError(
                f"trim of rows is {study.rows.trim!r}, but propensities are not estimated.",
                hint='write propensity = "estimated" in [columns], or remove trim.',
            )
        return
    if study.kind == "regressor":
        yield InputError(
            'propensity = "estimated" needs decisions that are classes; the kind of [model] is '
            "'regressor'.",
            hint="name the column of densities, or give behavior_mean and behavior_spread.",
        )
    if columns.behavior:
        yield InputError(
            '[columns] has both propensity = "estimated" and [columns.behavior].',
            hint="keep the one that says how decisions were made.",
        )


def _revealed(study: Any) -> Iterator[InputError]:
    """What is declared of labels, and cannot act."""
    if not study.rows.label_seen_for:
        return
    for role in ("label", "decision"):
        if getattr(study.columns, role) is None:
            yield InputError(
                f"label_seen_for of rows was given, but [columns] names no {role}.",
                hint=f"name the {role}, or remove label_seen_for.",
            )
    if study.kind == "regressor":
        yield numbers_reveal_nothing()


def _lottery(study: Any) -> Iterator[InputError]:
    """What is wrong with declared chances, as far as that shows without the table."""
    columns = study.columns
    if columns.lottery is None:
        return
    if study.kind == "regressor":
        yield InputError(
            "propensity of columns must be a column if the kind of [model] is 'regressor': the "
            f"density of each decision. Got {columns.lottery!r} instead.",
            hint="name that column, or give behavior_mean and behavior_spread.",
        )
    if columns.behavior:
        yield InputError(
            "[columns] has both a propensity that declares the chances of every decision, and "
            "[columns.behavior].",
            hint="keep the one that says how decisions were made.",
        )
    known = [*columns.sensitive, *columns.features]
    if columns.strata is not None and columns.strata not in known:
        yield InputError(
            f"propensity of columns differs by {columns.strata!r}, which must be among features or "
            f"sensitive. These are {listed(known)}.",
            hint=did_you_mean(columns.strata, known, "add it to sensitive."),
        )
    # Which decisions there are, the table says; here it is enough that all strata name the same.
    every = columns.lottery if isinstance(columns.lottery, Mapping) else {}
    parts = every.values() if columns.strata is not None else [every]
    named = sorted({key for part in parts if isinstance(part, Mapping) for key in part})
    classes = np.array(named or [0, 1], dtype=object)
    yield from _raised(read_lottery, columns.lottery, classes, classes[-1])


def _categories(columns: Any) -> Iterator[InputError]:
    for name in columns.categories:
        # A draft lists the levels of its features; one that was found to be sensitive keeps them.
        if name not in (*columns.features, *columns.sensitive):
            yield InputError(
                f"categories of columns lists the levels of {name!r}, which is not a feature.",
                hint=did_you_mean(name, columns.features, "add it to features, or remove it."),
            )


def _objective(study: Any) -> Iterator[InputError]:
    objective = study.setting("objective")
    try:
        if study.kind == "regressor":
            goal: Any = task_of(objective, study.setting("spread"), study.setting("reach"))
        else:
            goal = goal_of(objective)
    except InputError as error:
        yield InputError(f"objective of model: {error}")
        return
    if goal.needs_label and study.columns.label is None:
        yield InputError(
            f"objective = {objective!r} of model needs labels, but [columns] names none.",
            hint="name the label, or write an objective that needs none, such as 'E[impact]'.",
        )
    expression = getattr(getattr(goal, "goal", goal), "expression", None)
    if isinstance(expression, Node):
        yield from _names("objective of model", expression, study)


def _entry(where: str, entry: Mapping[str, Any]) -> Iterator[InputError]:
    """Whether an entry names one constraint, and gives what this takes."""
    said = _named(entry)
    if len(said) != 1:
        yield InputError(
            f"{where} must have exactly one of 'text', {listed(RECIPES)}. Got "
            f"{listed(said) or 'none'}.",
            hint="one [[constraints]] entry for each constraint.",
        )
        return
    given = [key for key in RECIPE_KEYS if key in entry]
    takes = {} if said == ["text"] else _takes(said[0])
    for key in given:
        if key not in takes:
            yield InputError(
                f"{where}: '{said[0]}' takes {listed(takes) or 'nothing else'}. "
                f"Got {key!r} instead.",
                hint=did_you_mean(key, takes, "remove it."),
            )
    for key, parameter in takes.items():
        if parameter.default is inspect.Parameter.empty and key not in given:
            yield InputError(
                f"{where}: '{said[0]}' needs {key!r}.",
                hint=f"for example: {example_of(key, RECIPE_KEYS[key])}",
            )


def _constraint(where: str, entry: Mapping[str, Any], study: Any) -> Iterator[InputError]:
    """Whether a constraint can be read, and names columns that exist."""
    try:
        constraint = constraint_of(entry, study.columns.impact)
        if isinstance(constraint, str):
            read_constraints(constraint, study.setting("delta"))
            yield from _names(where, parse(constraint), study)
        else:
            impacts = [constraint.impact] if constraint.impact else []
            yield from _unknown(where, constraint.by, impacts, study)
    except ElfairError as error:
        yield InputError(f"{where}: {error}")


def _names(where: str, node: Node, study: Any) -> Iterator[InputError]:
    if uses_label(node) and study.columns.label is None:
        yield InputError(
            f"{where} uses the label, but [columns] names none.",
            hint="for example: label = 'repaid'",
        )
    yield from _unknown(where, sorted(columns_used(node)), sorted(impacts_used(node)), study)


def _unknown(
    where: str, names: Sequence[str], impacts: Sequence[str], study: Any
) -> Iterator[InputError]:
    """Columns and impacts that are named, and that the study does not have."""
    columns = study.columns
    known = dict.fromkeys([*columns.sensitive, *columns.features, *study.encoding.names])
    # As in LoggedData: the only impact is also called that.
    also = ["impact"] if len(columns.impact) == 1 else []
    costs = ["cost"] if "cost" in study.model or columns.costs else []
    measured = [*columns.impact, *also, *costs]
    for kind, asked, there, key in (
        ("feature", names, known, "features or sensitive"),
        ("impact", impacts, measured, "impact"),
    ):
        for name in asked:
            if name not in there:
                yield InputError(
                    f"{where} names the {kind} {name!r}; {kind}s are {listed(there) or 'none'}.",
                    hint=did_you_mean(name, there, f"name it in {key} of columns."),
                )

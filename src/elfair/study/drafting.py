"""A first study file for a table: guesses are marked, and what is not known is left open."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from elfair.language import Column
from elfair.study.file import TODO
from elfair.study.guessing import Look, Roles, guess_roles
from elfair.study.secrets import with_variables
from elfair.study.sources import is_address, read_table

#: The settings of a study, each with a line about it; in the file they are commented out.
MODEL = (
    ('kind = "classifier"', 'or "regressor", where decisions are numbers such as a dose'),
    ("positive = 1", "the class that PR, TPR and so on count; the largest unless given"),
    ("classes = [0, 1]", "all decisions that exist, if the label does not show them"),
    ('cost = { "0" = { "0" = 0, "1" = 1 }, "1" = { "0" = 5, "1" = 0 } }',
     "for E[cost]: label -> decision -> cost"),
    ("exploration = 0.1", "the share of decisions taken blindly; the next round learns from them"),
    ("spread = [0.2, 0.9]", "a regressor's: spread of new decisions, in shares of the old ones'"),
)  # fmt: skip
TEST = (
    ('estimator = "paired"', 'or "is" (the paper\'s), "dr" (doubly robust)'),
    ('bound = "ttest"', 'or finite-sample: "betting", "anderson", "bernstein", "hoeffding"'),
    ("impact_range = [0, 1]", "what impacts cannot leave; finite-sample bounds need it"),
    ("propensity_floor = 0.05", "the smallest probability that the old model could give"),
    ('search = "gradient"', 'or "cmaes" (the paper\'s)'),
    ("power = 0.95", "the wanted probability that each constraint passes"),
    ("candidates = 20", "how many models may be tested, one after the other"),
    ("candidate_fraction = 0.6", "the share of rows for the search; the others are held out"),
    ('split = "random"', 'or "stratified" (the paper\'s), "crossfit" (all rows do both)'),
    ("folds = 5", "of the crossfit split"),
    ('center = "auto"', 'or "range", "mean": the constant of the paired form'),
)


def draft_study(
    source: str | Path, *, query: str | None = None, folder: str | Path | None = None
) -> str:
    """Look at a table, and write a study file for it, to be corrected by a person.

    Guesses are marked ``# guess``. What could not be guessed says ``TODO``, and `StudyFile.load`
    refuses the file until it is filled in. Nothing is written to disk. A password in an address
    becomes ``${DB_PASSWORD}``, to be filled in from the environment.

    Parameters
    ----------
    source : str or Path
        A file, or the address of a database.
    query : str, optional
        What to ask a database.
    folder : str or Path, optional
        Where the study file will lie; the working directory unless given.

    Returns
    -------
    str
        TOML.

    Examples
    --------
    >>> print(draft_study("duckdb://", query="select range as age, range % 2 as approved from "
    ...                   "range(9)")[:42])
    # A study file of elfair, drafted from ...
    """
    read = read_table(source, query=query)
    roles = guess_roles(read.table)
    return "\n".join(
        [
            *_head(source, query, read.table, Path.cwd() if folder is None else Path(folder)),
            *_columns(roles),
            *_settings(roles),
            *_constraints(roles),
            "",
        ]
    )


def _head(source: str | Path, query: str | None, table: Any, folder: Path) -> list[str]:
    where = str(source)
    if is_address(source):
        where = with_variables(where)
    else:
        relative = os.path.relpath(Path(source).resolve(), folder.resolve())
        where = Path(relative).as_posix()
    return [
        "# A study file of elfair, drafted from the table below.",
        "# Lines marked 'guess' were guessed from names and values: check each of them.",
        f"# Lines with {TODO} are for you to fill in.",
        f"title = {_toml(Path(where).stem if query is None else 'A study')}",
        "",
        "[data]",
        f"source = {_toml(where)}  # {table.num_rows:,} rows, {table.num_columns} columns",
        f"query = {_toml(query)}"
        if query is not None
        else '# query = "select ..."  # with source = "duckdb://" or another address of a database',
    ]


def _columns(roles: Roles) -> list[str]:
    lines = [
        "",
        "[columns]",
        "# What the new model sees. Take out what is known only after the decision.",
        _listed("features", [look.name for look in roles.features], "what the new model may see"),
        "# What the best decision would have been; accuracy is measured by it.",
        _optional("label", roles.label, "repaid"),
        "# Columns that name groups of people.",
        _listed("sensitive", [look.name for look in roles.sensitive], "columns that name groups"),
        "# The decision that was taken.",
        _needed("decision", roles.decision, "the decision that was taken"),
        "# The probability with which the old model took *that* decision (not: of a yes).",
    ]
    if roles.behavior:
        lines.append('# propensity = "..."  # not needed beside [columns.behavior]')
    else:
        maybe = [name for name, why in roles.left.items() if why.startswith("a probability")]
        lines.append(
            _needed("propensity", roles.propensity, "probability of the decision taken", maybe)
        )
    lines += [
        "# What came of it later; more is better.",
        _listed("impact", [roles.impact] if roles.impact else [], "what was seen later"),
        "# One identifier for each person: the split then does not depend on the order of rows.",
        _optional("row_id", roles.row_id, "person"),
        "# behavior_spread = \"sd\"  # a regressor's: the spread of the old model's decisions",
    ]
    if roles.left:
        lines.append("# Not used:")
        lines += [f"#   {_toml(name)}: {why}" for name, why in roles.left.items()]
    if roles.behavior:
        lines += ["", "[columns.behavior]  # guess: the probability of each decision"]
        lines += [f"{_toml(key)} = {_toml(name)}" for key, name in roles.behavior.items()]
    else:
        lines += [
            "# Or, instead of a propensity, the probability of every decision:",
            '# behavior = { "0" = "p(no)", "1" = "p(yes)" }',
        ]
    texts = [look for look in roles.features if look.kind == "text"]
    lines += ["", "# The levels of text features; others are refused, here and for new people."]
    lines.append(
        "[columns.categories]" if texts else '# categories = { housing = ["own", "rent"] }'
    )
    lines += [f"{_toml(look.name)} = {_toml(sorted(look.counts))}" for look in texts]
    return lines


def _settings(roles: Roles) -> list[str]:
    if roles.label is None:
        impact = str(Column(roles.impact)) if roles.impact else "impact"
        objective = f"objective = {_toml(f'E[{impact}]')}  # guess: there is no label"
    else:
        objective = 'objective = "accuracy"  # or "log_loss", or an expression such as "E[impact]"'
    return [
        "",
        "[rows]",
        'missing_impact = "refuse"  # or "drop": leave such rows out, and count them by group',
        "",
        "[model]",
        objective,
        *_commented(MODEL),
        "",
        "[test]",
        "delta = 0.1  # the probability of an error: 0.1 asks for 90 % confidence",
        "seed = 0  # of the split and of the search",
        *_commented(TEST),
    ]


def _constraints(roles: Roles) -> list[str]:
    lines = [
        "",
        "# What must hold: one entry for each constraint, as text, such as",
        "#   text = \"E[impact | race == 'A'] >= E_logged[impact | race == 'A']\"",
        "# or by name: no_worse, improvement (margin), decline (at_most), stagnation, parity,",
        "# equalized_odds, equal_opportunity, predictive_equality, accuracy_parity (tolerance),",
        "# disparate_impact (ratio).",
    ]
    nobody = [f'no_worse = "{TODO}: a column that names groups"']
    for asked in [_no_worse(look) for look in roles.sensitive] or [nobody]:
        lines += [
            "",
            "[[constraints]]",
            *asked,
            "# slack = 0.1  # by how much a group's expected impact may fall; 0 unless given",
            "# delta = 0.05  # instead of that of [test]",
            'chosen_by = ""  # who chose tolerance and delta',
            'why = ""',
        ]
    return lines


def _no_worse(look: Look) -> list[str]:
    small = [each for each in look.counts if each not in look.groups]
    lines = [
        f"no_worse = {_toml(look.name)}  # guess: no group worse off than under the old model",
        f"groups = {_toml(look.groups)}",
    ]
    if small:
        lines.append(f"# too few rows for a statement of their own: {_toml(small)}")
    return lines


def _needed(key: str, name: str | None, what: str, maybe: Sequence[str] = ()) -> str:
    if name is not None:
        return f"{key} = {_toml(name)}  # guess"
    also = f"; maybe {' or '.join(map(repr, maybe))}" if maybe else ""
    return f"{key} = {_toml(f'{TODO}: {what}{also}')}"


def _optional(key: str, name: str | None, example: str) -> str:
    return f'# {key} = "{example}"' if name is None else f"{key} = {_toml(name)}  # guess"


def _listed(key: str, names: Sequence[str], what: str) -> str:
    return f"{key} = {_toml(names)}  # guess" if names else f'{key} = ["{TODO}: {what}"]'


def _commented(settings: Iterable[tuple[str, str]]) -> list[str]:
    return [f"# {setting}  # {about}" for setting, about in settings]


def _toml(value: Any) -> str:
    """Text, a number, true or false, or a list of them, as TOML writes it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # JSON's escapes are TOML's, but for one character that TOML wants escaped as well.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

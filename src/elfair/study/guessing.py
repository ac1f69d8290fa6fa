"""Which column of a table is what, guessed from names and values; for a person to correct.

Of an impact no more is looked at than whether it is there and is a number: what it says about a
decision belongs to rows that may be held out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elfair.behavior import TOLERANCE
from elfair.columns import as_floats, table_columns
from elfair.study.encoding import MOST_LEVELS
from elfair.study.looks import Look, look_at, matches
from elfair.study.misfits import covers, misfit


@dataclass
class Roles:
    """Which column is what; what is not known is left empty.

    Parameters
    ----------
    row_id, propensity, decision, label, impact : str or None
        Columns.
    behavior : dict of str to str
        Columns of the probabilities of all classes, instead of a propensity.
    sensitive : list of Look
        Columns that name groups.
    features : list of Look
        What a model could see.
    left : dict of str to str
        Columns that have no role, and why.

    Examples
    --------
    >>> guess_roles({"branch": ["north", "north"]}).left
    {'branch': 'the same in every row'}
    """

    row_id: str | None = None
    propensity: str | None = None
    decision: str | None = None
    label: str | None = None
    impact: str | None = None
    behavior: dict[str, str] = field(default_factory=dict)
    sensitive: list[Look] = field(default_factory=list)
    features: list[Look] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def guess_roles(table: Any) -> Roles:
    """Guess which column of a table is what.

    Parameters
    ----------
    table : pyarrow table, data frame or mapping
        The table.

    Examples
    --------
    >>> roles = guess_roles({
    ...     "age": [31, 45, 28, 60] * 2, "sex": ["f", "m"] * 4, "approved": [1, 0, 0, 1] * 2,
    ...     "prob": [0.5, 0.75, 0.25, 0.5] * 2, "savings later": [1.5, 0.0, 2.25, 3.0] * 2})
    >>> roles.decision, roles.propensity, roles.impact, roles.row_id
    ('approved', 'prob', 'savings later', None)
    >>> [each.name for each in roles.sensitive], [each.name for each in roles.features]
    (['sex'], ['age'])
    """
    looks = [look_at(name, column) for name, column in (table_columns(table, "X") or {}).items()]
    roles, pool = Roles(), []
    for look in looks:
        reason = _useless(look)
        if reason is None:
            pool.append(look)
        else:
            roles.left[look.name] = reason

    def take(role: str, fits: Callable[[Look], bool]) -> Look | None:
        found = next(iter(matches(role, [look for look in pool if fits(look)])), None)
        if found is not None:
            pool.remove(found)
        return found

    row_id = take("row_id", lambda look: look.different == look.n and not look.is_measured)
    probabilities = matches("propensity", [look for look in pool if look.is_probability])
    pool = [look for look in pool if look not in probabilities]
    decision = take("decision", lambda look: look.is_class)
    roles.decision = None if decision is None else decision.name
    roles.row_id = None if row_id is None else row_id.name
    _share_out(roles, probabilities, decision)
    label = take("label", lambda look: look.is_class and covers(look, decision))
    if label is None and (label := _speaks_alike(decision, pool)) is not None:
        pool.remove(label)
    roles.label = None if label is None else label.name
    # Before sensitive features are looked for: an impact may be 'change of group'.
    impact = take("impact", lambda look: look.kind in ("number", "truth"))
    roles.impact = None if impact is None else impact.name
    for look in matches("sensitive", pool):
        if 2 <= look.different <= MOST_LEVELS and look.groups:
            roles.sensitive.append(look)
            pool.remove(look)
    for look in pool:
        reason = misfit(look, vars(roles), decision) or _no_feature(look)
        if reason is None:
            roles.features.append(look)
        else:
            roles.left[look.name] = reason
    return roles


def _useless(look: Look) -> str | None:
    if look.missing == look.n:
        return "empty"
    if look.kind == "other":
        return "neither numbers nor text"
    if look.has_decimal_commas:
        return "looks like numbers with a decimal comma: write 1.5, not 1,5"
    if look.different == 1 and not look.missing:
        # But for an experiment, where all decisions have the same chance.
        chance = look.is_probability and matches("propensity", [look])
        return None if chance else "the same in every row"
    return None


def _no_feature(look: Look) -> str | None:
    if look.missing:
        return f"missing in {look.missing} of {look.n} rows"
    if look.kind == "text" and look.different == look.n:
        return "different in every row"
    if look.kind == "text" and look.different > MOST_LEVELS:
        return f"free text ({look.different} different values)"
    return None


def _share_out(roles: Roles, probabilities: Sequence[Look], decision: Look | None) -> None:
    """Decide what columns of probabilities are: that of the decision, or those of all classes."""
    total = sum((as_floats(look.values, look.name) for look in probabilities), np.zeros(1))
    whole = len(probabilities) > 1 and bool((np.abs(total - 1) < TOLERANCE).all())
    if not whole:
        best = next(iter(probabilities), None)
        roles.propensity = None if best is None else best.name
        roles.left |= {
            look.name: "a probability, but of what?" for look in probabilities if look is not best
        }
        return
    classes = [] if decision is None else [_as_key(value) for value in sorted(decision.counts)]
    owners = {
        each: [look.name for look in probabilities if each.lower() in look.words]
        for each in classes
    }
    if len(classes) == len(probabilities) and all(len(names) == 1 for names in owners.values()):
        roles.behavior = {each: names[0] for each, names in owners.items()}
    else:
        roles.left |= {look.name: "a probability, but of which class?" for look in probabilities}


def _as_key(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _speaks_alike(decision: Look | None, pool: Sequence[Look]) -> Look | None:
    """The only column that says in the same words what was decided: a label, whatever its name.
    (Of numbers this says nothing: half the features may be 0 or 1.)
    """
    if decision is None or decision.kind != "text":
        return None
    alike = [look for look in pool if set(look.counts) == set(decision.counts) and not look.missing]
    return alike[0] if len(alike) == 1 and not matches("sensitive", alike) else None

"""Columns whose names tell a role that their values do not fit, or that another column has taken.

None of them may pass for a feature without a word: an outcome that the model sees before it is
known would make any model look good.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from elfair.columns import listed
from elfair.study.encoding import MOST_LEVELS
from elfair.study.looks import CLEARLY_ROWS, MOST_CLASSES, Look, matches

#: What a column with a name of that role looks like.
_LIKE = {
    "row_id": "an identifier",
    "propensity": "a propensity",
    "decision": "a decision",
    "label": "a label",
    "impact": "an impact",
    "sensitive": "groups",
}


def misfit(look: Look, taken: Mapping[str, str | None], decision: Look | None) -> str | None:
    """Why a column is not what its name says; None for a name that says nothing.

    Parameters
    ----------
    look : Look
        The column, which was not chosen for any role.
    taken : mapping
        The columns that were, by role.
    decision : Look or None
        The decision.

    Examples
    --------
    >>> from elfair.study.looks import look_at
    >>> misfit(look_at("id", np.array([1, 2, 2])), {}, None)
    'looks like an identifier, but 1 value is repeated'
    """
    role = next((role for role in _LIKE if _is_called(role, look)), None)
    if role is None:
        return None
    why = _obstacle(role, look, decision) or f"{taken.get(role)!r} was taken for it"
    return f"looks like {_LIKE[role]}, but {why}"


def covers(label: Look, decision: Look | None) -> bool:
    """Whether a label's classes hold all decisions, as they must.

    Parameters
    ----------
    label, decision : Look
        The columns; a decision that is not known is covered.
    """
    return decision is None or set(decision.counts) <= set(label.counts)


def _is_called(role: str, look: Look) -> bool:
    """Whether a name tells the role; 'student', with few values, may be a yes or no."""
    few = look.different <= look.n / 2
    clear = role != "row_id" or not few or not CLEARLY_ROWS.isdisjoint(look.words)
    return clear and bool(matches(role, [look]))


def _obstacle(role: str, look: Look, decision: Look | None) -> str | None:
    """What keeps a column from its role, if anything does."""
    if look.missing and role not in ("impact", "sensitive"):
        return f"it is missing in {look.missing} of {look.n} rows"
    if role == "row_id":
        return _repeated(look)
    if role == "propensity":
        return _improbable(look)
    if role == "impact":
        return None if look.kind in ("number", "truth") else "it holds no numbers"
    if role == "sensitive":
        few = look.different <= MOST_LEVELS
        return "no group has enough rows" if few else f"it has {look.different} different values"
    if look.different > MOST_CLASSES:
        return f"it has {look.different} different values"
    if role == "label" and decision is not None and not covers(look, decision):
        its, others = (listed(sorted(each.counts)) for each in (look, decision))
        return f"its values are {its}, and those of the decision {others}"
    return None


def _repeated(look: Look) -> str | None:
    repeated = sum(count > 1 for count in look.counts.values())
    if repeated:
        return "1 value is repeated" if repeated == 1 else f"{repeated} values are repeated"
    return "it holds measurements" if look.is_measured else None


def _improbable(look: Look) -> str | None:
    if look.kind != "number":
        return "it holds no numbers"
    values = np.array(list(look.counts.elements()))
    wrong = int(((values <= 0) | (values > 1)).sum())
    if wrong > len(values) / 2 and values.min() >= 0 and values.max() <= 100:
        return "it is in per cent: it must be above 0 and at most 1"
    return f"in {wrong} of {look.n} rows it is not above 0 and at most 1" if wrong else None

"""Why a column was taken for what it is, for a person to judge at a glance."""

from __future__ import annotations

from collections.abc import Iterable

from elfair.records.names import words_of
from elfair.study.guessing import ROLES, Guess
from elfair.study.profiles import Profile

#: Where no word of the name tells the role: what else did.
_ELSE = {
    "row_id": "its values are those of an identifier",
    "unit": "an identifier whose values are repeated, as those of people with several rows are",
    "decision": "the only column whose values are as frequent as one another, as a lottery's are",
    "label": "the only column that has the values of the decision",
    "impact": "the only column of numbers behind the decision",
}
_SINGLE = ("row_id", "unit", "propensity", "decision", "label", "impact")


def reasons(guess: Guess, profiles: Iterable[Profile]) -> dict[str, str]:
    """Why each column was taken for what it is, and why each other column is not used.

    Parameters
    ----------
    guess : Guess
        What the columns were taken for.
    profiles : iterable of Profile
        The columns.

    Examples
    --------
    >>> import numpy as np
    >>> from elfair.study.guessing import guess_columns
    >>> columns = {"age": [31, 45, 28, 60], "approved": [1, 0, 0, 1], "town": ["X"] * 4}
    >>> profiles = [Profile(name, np.array(values)) for name, values in columns.items()]
    >>> for name, why in reasons(guess_columns(columns), profiles).items():
    ...     print(f"{name}: {why}")
    age: its name and values tell no other role
    approved: its name says 'approved'
    town: the same in every row
    """
    taken = {name: role for role in _SINGLE if (name := getattr(guess, role)) is not None}
    taken |= {each.name: "sensitive" for each in guess.sensitive}
    found = {}
    for each in profiles:
        if each.name in guess.left:
            found[each.name] = guess.left[each.name]
        elif (role := taken.get(each.name)) is not None:
            found[each.name] = _told(role, each.name)
        elif each.name in guess.behavior.values():
            found[each.name] = "the probabilities of all decisions add up to 1"
        else:
            found[each.name] = "its name and values tell no other role"
    return found


def beside_its_name(role: str, name: str) -> str:
    """What tells the role of a column whose name does not; empty if its name does.

    Parameters
    ----------
    role : str
        A key of `ROLES`, or "unit".
    name : str
        The column.

    Examples
    --------
    >>> beside_its_name("decision", "approved"), beside_its_name("label", "answer")
    ('', 'the only column that has the values of the decision')
    """
    if role != "unit" and not set(ROLES[role][1]).isdisjoint(words_of(name)):
        return ""
    if role == "decision" and words_of(name) == ["group"]:
        return "called 'group' beside another column of groups, as the arms of a trial are"
    return _ELSE.get(role, "its values fit")


def _told(role: str, name: str) -> str:
    said = beside_its_name(role, name)
    return said or f"its name says {next(w for w in ROLES[role][1] if w in words_of(name))!r}"

"""Names: what a study calls its columns, groups, units and decisions when it speaks to people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from elfair.errors import InputError
from elfair.records.allowed import Allowed
from elfair.records.reading import key
from elfair.records.toml import shaped, together

#: Nobody reads a sentence whose words are longer.
MOST_LETTERS = 120


def _are_words(value: Any) -> bool:
    return isinstance(value, str) and "\n" not in value and len(value) <= MOST_LETTERS


_WORDS = Allowed(f"one line of text, of at most {MOST_LETTERS} characters", _are_words)
_TABLE = Allowed("a table of texts", lambda value: True)
_GROUPS = Allowed("a table that has, for each column, a table of texts", lambda value: True)

Words: TypeAlias = Annotated[str, _WORDS]


@dataclass(frozen=True)
class Names:
    """``[names]``: how a study says its columns, groups, units and decisions in words.

    They change no result: they only make sentences easier to read.

    Parameters
    ----------
    people : str
        What the people are called, such as "applicants".
    before : str
        What new decisions are compared with; empty for "today's decisions".
    columns : mapping of str to str
        What a column is called.
    units : mapping of str to str
        The unit of an impact.
    decisions : mapping of str to str
        What people get by a decision, such as "a loan".
    labels : mapping of str to str
        What is said of people with a label, such as "who repay".
    groups : mapping of str to (mapping of str to str)
        For each column, what stands before the people of a group, such as "Black".

    Examples
    --------
    >>> Names(people="applicants", groups={"race": {"B": "Black"}}).groups["race"]["B"]
    'Black'
    """

    people: str = key(_WORDS, "applicants", "what the people are called", default="people")
    before: str = key(
        _WORDS, "today's decisions", default="",
        about="what the new decisions are compared with: those in the table",
    )  # fmt: skip
    columns: Mapping[str, Words] = key(
        _TABLE, {"dscore": "score change"}, "what a column is called", default=dict
    )
    units: Mapping[str, Words] = key(
        _TABLE, {"dscore": "points"}, "the unit of an impact", default=dict
    )
    decisions: Mapping[str, Words] = key(
        _TABLE, {"1": "a loan"}, "what people get by a decision", default=dict
    )
    labels: Mapping[str, Words] = key(
        _TABLE, {"1": "who repay"}, "what is said of people with a label", default=dict
    )
    groups: Mapping[str, Mapping[str, Words]] = key(
        _GROUPS, {"race": {"B": "Black"}}, default=dict,
        about="for each column, what stands before the people of a group: Black applicants",
    )  # fmt: skip


def read_names(given: Names | Mapping[str, Any]) -> Names:
    """Names from a mapping, as ``[names]`` of a study file has them.

    Parameters
    ----------
    given : Names or mapping
        The names.

    Examples
    --------
    >>> read_names({"people": "applicants", "units": {"savings": "EUR"}}).units["savings"]
    'EUR'
    >>> read_names({"peple": "applicants"})
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: names: a key of names must be one of ['people', ...
    """
    if isinstance(given, Names):
        return given
    if not isinstance(given, Mapping):
        raise InputError(
            f"names must be a table. Got {given!r} instead.",
            hint='for example: {"people": "applicants"}',
        )
    names, mistakes = shaped(given, Names, whole="names")
    if mistakes:
        raise together("names", mistakes)
    found: Names = names
    return found

"""Change single values of a TOML file, and leave everything else as its author wrote it.

The text is scanned for where each value stands, and only these characters are replaced: comments,
order and spacing survive. Whatever the scan makes of a file, the new text must read as the old one
with these values changed, or nothing is changed at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from elfair.errors import InputError
from elfair.records.toml import parsed, toml

#: Where a value is: the names of tables and keys; of a list of tables, the place in it.
Path: TypeAlias = tuple[str | int, ...]
#: Stands for a key, or an entry of a list of tables, that is to be taken away.
REMOVED: Any = object()

_PART = r"""[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'"""
_NAME = re.compile(rf"[ \t]*({_PART})[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.S
)
_GUESS = re.compile(r"[ \t]*#[ \t]*guess\b.*")


@dataclass(frozen=True)
class _Found:
    """A key with its value, or the head of a table."""

    path: Path
    start: int
    end: int
    value: tuple[int, int] | None = None


def edited(text: str, changes: Mapping[Path, Any], name: str = "the study file") -> str:
    r"""A file with some values changed, added or taken away.

    Parameters
    ----------
    text : str
        TOML.
    changes : mapping of tuple to object
        The new value of each path, or `REMOVED`. A path whose number is just beyond the end of a
        list of tables adds an entry. An entry is removed after all other changes.
    name : str
        What messages call the file.

    Examples
    --------
    >>> text = '# ours\n[test]\ndelta = 0.1  # the board\n'
    >>> print(edited(text, {("test", "delta"): 0.05}), end="")
    # ours
    [test]
    delta = 0.05  # the board
    """
    try:
        return _edited(text, changes, name)
    except (TypeError, KeyError, IndexError):  # a value stands where a table belongs
        raise _unfit(name) from None


def _unfit(name: str) -> InputError:
    return InputError(
        f"{name} is written in a way that a form cannot change.", hint="change the text itself."
    )


def _edited(text: str, changes: Mapping[Path, Any], name: str) -> str:
    wanted = parsed(text, name)
    whole = {path for path, value in changes.items() if value is REMOVED and _is_entry(path)}
    for path, value in changes.items():
        if path in whole or _at(wanted, path, REMOVED) == value:
            continue
        text = _removed(text, path) if value is REMOVED else _with(text, path, value)
        _put(wanted, path, value)
    for path in sorted(whole, key=str, reverse=True):
        text = _without_entry(text, path)
        _put(wanted, path, REMOVED)
    if parsed(text, name) != wanted:
        raise _unfit(name)
    return text


def guessed(text: str) -> frozenset[Path]:
    r"""The paths whose lines are marked as guesses.

    Parameters
    ----------
    text : str
        TOML.

    Examples
    --------
    >>> sorted(guessed('[columns]\nlabel = "y"  # guess\nimpact = ["z"]  # ours\n'))
    [('columns', 'label')]
    """
    found = (each for each in _scanned(text) if each.value is not None)
    return frozenset(
        each.path for each in found if each.value and _GUESS.match(text, each.value[1])
    )


def _is_entry(path: Path) -> bool:
    return isinstance(path[-1], int)


def _at(tables: Any, path: Path, otherwise: Any) -> Any:
    for step in path:
        try:
            tables = tables[step]
        except (KeyError, IndexError, TypeError):
            return otherwise
    return tables


def _put(tables: dict[str, Any], path: Path, value: Any) -> None:
    """Change what was read, as the text is to be changed."""
    at: Any = tables
    for step, after in pairwise(path):
        if isinstance(at, list) and step == len(at):
            at.append({})
        elif isinstance(at, dict) and step not in at:
            at[step] = [] if isinstance(after, int) else {}
        at = at[step]
    if value is REMOVED:
        listed = isinstance(at, list)
        if listed or path[-1] in at:
            del at[path[-1]]
        if listed and not at:
            _put(tables, path[:-1], REMOVED)  # TOML has no empty list of tables
    else:
        at[path[-1]] = deepcopy(value)


def _scanned(text: str) -> Iterator[_Found]:
    """Every key and every head of a table, in order."""
    table: Path = ()
    entries: Counter[Path] = Counter()
    at = 0
    while at < len(text):
        line = re.compile(r"[ \t]*(#[^\n]*)?(\r?\n|$)").match(text, at)
        if line is not None and line.end() > at:
            at = line.end()
            continue
        start, several = at, re.compile(r"[ \t]*\[\[").match(text, at)
        head = several or re.compile(r"[ \t]*\[").match(text, at)
        names, after = _names(text, head.end() if head else at)
        if head is None:
            equals = re.compile(r"=[ \t]*").match(text, after)
            if equals is None or not names:
                return  # no TOML that is known here: the last check of `edited` decides
            end = _value_end(text, equals.end())
            yield _Found((*table, *names), start, _line_end(text, end), (equals.end(), end))
            at = _line_end(text, end)
            continue
        table = _placed(names, entries)
        if several:
            entries[table] += 1
            table = (*table, entries[table] - 1)
        at = _line_end(text, after)
        yield _Found(table, start, at)


def _placed(names: Sequence[str], entries: Mapping[Path, int]) -> Path:
    """The path of a head: a name of a list of tables on the way means its last entry."""
    path: Path = ()
    for k, name in enumerate(names):
        path = (*path, name)
        if k + 1 < len(names) and path in entries:
            path = (*path, entries[path] - 1)
    return path


def _names(text: str, at: int) -> tuple[list[str], int]:
    names = []
    while (part := _NAME.match(text, at)) is not None:
        quoted = part[1][0] in "\"'"
        names.append(next(iter(parsed(f"{part[1]} = 0", "a key"))) if quoted else part[1])
        at = part.end()
        if text[at : at + 1] != ".":
            break
        at += 1
    return names, at


def _value_end(text: str, at: int) -> int:
    """Where a value ends, which may go over several lines inside brackets and quotes."""
    depth, last = 0, at
    while at < len(text):
        char = text[at]
        if char in "\"'":
            string = _STRING.match(text, at)
            at = last = string.end() if string else len(text)
        elif char == "#":
            at = _line_end(text, at) - 1 if depth else len(text)
            if not depth:
                break
            at += 1
        elif char == "\n" and not depth:
            break
        else:
            depth += (char in "[{") - (char in "]}")
            at += 1
            last = last if char.isspace() else at
    return last


def _line_end(text: str, at: int) -> int:
    return end + 1 if (end := text.find("\n", at)) >= 0 else len(text)


def _removed(text: str, path: Path) -> str:
    """The text without a key, or without it in the inline table that holds it."""
    for each in _scanned(text):
        if each.value is None or path[: len(each.path)] != each.path:
            continue
        if each.path == path:
            return text[: each.start] + text[each.end :]
        inside = parsed(f"value = {text[slice(*each.value)]}", "a value")
        _put(inside, ("value", *path[len(each.path) :]), REMOVED)
        return _replaced(text, each, inside["value"])
    return text


def _with(text: str, path: Path, value: Any) -> str:
    """The text with another value, or with a key more."""
    found = list(_scanned(text))
    for each in found:
        if each.value is None or path[: len(each.path)] != each.path:
            continue
        if each.path == path:
            return _replaced(text, each, value)
        inside = parsed(f"value = {text[slice(*each.value)]}", "a value")
        _put(inside, ("value", *path[len(each.path) :]), value)
        return _replaced(text, each, inside["value"])
    table, key = path[:-1], str(path[-1])
    line = f"{_key(key)} = {toml(value)}\n"
    heads = [each for each in found if each.value is None]
    if table and all(each.path != table for each in heads):
        text = text if not text or text.endswith("\n") else f"{text}\n"
        return f"{text}\n{_head(table)}\n{line}"
    at = _place(text, found, table, key)
    before = text[:at] if at == 0 or text[at - 1] == "\n" else f"{text[:at]}\n"
    return before + line + text[at:]


def _replaced(text: str, found: _Found, value: Any) -> str:
    """Another value in the same place. A value that somebody chose is no guess any more."""
    assert found.value is not None
    start, end = found.value
    guess = _GUESS.match(text, end)
    return text[:start] + toml(value) + text[guess.end() if guess else end :]


def _place(text: str, found: Sequence[_Found], table: Path, key: str) -> int:
    """Where a new key of a table goes: below its example in a comment, or below the last key."""
    start, end, last = 0, len(text), 0
    for each in found:
        if each.value is None:
            if each.path == table:
                start = last = each.end
                end = len(text)
            elif each.start >= start and end == len(text):
                end = each.start
        elif start <= each.start < end and each.path[: len(table)] == table:
            last = each.end
    example = re.compile(rf"^#[ \t]*{re.escape(_key(key))}[ \t]*=.*(?:\n|$)", re.M)
    shown = example.search(text, start, end)
    return shown.end() if shown else last


def _without_entry(text: str, path: Path) -> str:
    """The text without an entry of a list of tables; comments behind its last key stay."""
    inside = [each for each in _scanned(text) if each.path[: len(path)] == path]
    start, end = inside[0].start, inside[-1].end
    return text[:start] + text[end:]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)


def _head(table: Path) -> str:
    names = ".".join(_key(str(each)) for each in table if not isinstance(each, int))
    return f"[[{names}]]" if isinstance(table[-1], int) else f"[{names}]"

"""Read TOML files that people write into records, and report all mistakes of a file at once."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_origin

import numpy as np

from elfair.errors import InputError, did_you_mean
from elfair.records.reading import Key, Mistake, Reader, keys_inside

#: A key of a hundred parts, which Python reads in time that grows with the square of their number.
_PART = r"""(?:[\w-]{1,100}|"[^"\n]{0,100}"|'[^'\n]{0,100}')[ \t]*\.[ \t]*"""
_DEEP = re.compile(rf"(?<![\w-])(?:{_PART}){{100}}")


def parsed(text: str, name: str) -> dict[str, Any]:
    """The tables of a TOML file; `InputError` with the line where reading ended if it is not TOML.

    Parameters
    ----------
    text : str
        The file.
    name : str
        What messages call it.

    Examples
    --------
    >>> parsed("n = [256, 512]", "mine.toml")
    {'n': [256, 512]}
    """
    try:
        text.encode()  # half a character cannot be written down again
        if _DEEP.search(text):
            raise RecursionError
        tables = tomllib.loads(text)
        _check_integers(tables)
        return tables
    except RecursionError:
        raise InputError(
            f"{name} must be TOML. It is nested too deep to be read.",
            hint="no table or list of it needs more than a few levels.",
        ) from None
    except tomllib.TOMLDecodeError as error:
        lines = text.splitlines() or [""]
        place = re.search(r"line (\d+)", str(error))
        line = int(place[1]) if place else len(lines)
        raise InputError(
            f"{name} must be TOML. Line {line} is not: {error}.\n"
            f"    {lines[min(line, len(lines)) - 1].strip()[:200]}",
            hint="put text in quotes, lists in [brackets], and each key on its own line.",
        ) from None
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} must be text. Got {error.object[error.start : error.end]!r}, which is half a "
            "character.",
            hint="save it in UTF-8.",
        ) from None
    except ValueError:
        raise InputError(
            f"{name} holds a whole number beyond 64 bits.",
            hint="write it as text, in quotes, or as a number with an exponent: 1e30.",
        ) from None


def _check_integers(tables: Mapping[str, Any]) -> None:
    """Raise if a whole number has more digits than TOML promises to keep.

    Python reads any number, but can neither compute with one of thousands of digits nor print it.
    """
    left: list[Any] = [tables]
    while left:
        each = left.pop()
        if isinstance(each, Mapping):
            left += each.values()
        elif isinstance(each, list):
            left += each
        elif isinstance(each, int) and not -(2**63) <= each < 2**63:
            raise ValueError(f"a whole number has {each.bit_length():,} bits")


def shaped(
    tables: Mapping[str, Any], kind: Any, *, whole: str = "a study"
) -> tuple[Any, list[InputError]]:
    r"""The record that a file describes (None with mistakes), and all mistakes of keys and values.

    Parameters
    ----------
    tables : mapping
        From `parsed`.
    kind : type
        A dataclass whose fields are declared with `elfair.records.reading.key`.
    whole : str
        What a key at the top of the file is a key of.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from elfair.records.allowed import number
    >>> from elfair.records.reading import key
    >>> @dataclass(frozen=True)
    ... class Study:
    ...     delta: float = key(number("(0, 0.5]"), 0.1, default=0.1)
    >>> shaped({}, Study)
    (Study(delta=0.1), [])
    >>> print(*shaped({"delta": 2, "seed": 0}, Study)[1], sep="\n")
    a key of a study must be one of ['delta']. Got 'seed' instead.
    Hint: remove it.
    delta must be a number in (0, 0.5]. Got 2 instead.
    Hint: for example: delta = 0.1
    """
    reader = Reader(complete=False)
    record = reader.record(tables, kind)
    return record, [_mistake(each, whole) for each in reader.mistakes]


def _mistake(mistake: Mistake, whole: str) -> InputError:
    name, inside = mistake.name, f" of {mistake.table}" if mistake.table else ""
    if mistake.code == "unknown":
        return InputError(
            f"a key{inside or f' of {whole}'} must be one of {list(mistake.keys)}. "
            f"Got {name!r} instead.",
            hint=did_you_mean(name, mistake.keys, "remove it."),
        )
    known = mistake.keys[name]
    hint = f"for example: {example_of(name, known)}"
    words = words_of(known) or mistake.words
    if mistake.code == "missing":
        return InputError(f"the key {name!r}{inside} is missing; it must be {words}.", hint=hint)
    at = f" at {_steps(mistake.inside)}" if mistake.inside else ""
    return InputError(
        f"{name}{inside} must be {words}. Got {mistake.got!r}{at} instead.", hint=hint
    )


def words_of(known: Key) -> str:
    """What the value of a key must be, in words.

    Parameters
    ----------
    known : Key
        The key.
    """
    if known.allowed is not None:
        return known.allowed.words
    several = get_origin(known.kind) is tuple
    return "a list of tables" if several else "a table"


def example_of(name: str, known: Key) -> str:
    """How a key is written, such as ``delta = 0.1``.

    Parameters
    ----------
    name : str
        The key.
    known : Key
        What it may be.
    """
    if keys_inside(known) is None:
        return f"{name} = {toml(known.example)}"
    return f"[[{name}]]" if get_origin(known.kind) is tuple else f"[{name}]"


def together(name: str, mistakes: Sequence[InputError]) -> InputError:
    """One error that lists all mistakes.

    Parameters
    ----------
    name : str
        What the file is called.
    mistakes : sequence of InputError
        At least one.

    Examples
    --------
    >>> print(together("mine.toml", [InputError("n must be 1.", hint="n = 1")]))
    mine.toml: n must be 1.
    Hint: n = 1
    """
    said = list(dict.fromkeys(str(each) for each in mistakes))
    if len(said) == 1:
        return InputError(f"{name}: {said[0]}")
    points = "\n".join("  - " + each.replace("\n", "\n    ") for each in said)
    return InputError(f"{name} has {len(said)} mistakes:\n{points}")


def repeated(what: str, values: Sequence[Any]) -> Iterator[InputError]:
    """What stands more than once in a list of different things.

    Parameters
    ----------
    what : str
        What the values are.
    values : sequence
        The values.
    """
    for value, count in Counter(values).items():
        if count > 1:
            yield InputError(
                f"{what} must be different from each other. Got {value!r} {count} times.",
                hint="keep one of them, or rename the others.",
            )


def toml(value: Any) -> str:
    """Text, a number, true or false, or a list or a table of them, as TOML writes it.

    Parameters
    ----------
    value : object
        The value.

    Examples
    --------
    >>> print(toml({"0": ["own", 1.0, True]}))
    { "0" = ["own", 1, true] }
    """
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{toml(key)} = {toml(each)}' for key, each in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # JSON's escapes are TOML's, but for one character that TOML wants escaped as well.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def class_text(value: object) -> str:
    """A value of a table as a TOML key names it.

    Parameters
    ----------
    value : object
        The value.

    Examples
    --------
    >>> class_text(True), class_text(1), class_text(1.0), class_text("yes")
    ('true', '1', '1', 'yes')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def _steps(inside: Sequence[str | int]) -> str:
    """Where inside a value, such as ``position 1``, or ``'housing', position 1``."""
    return ", ".join(f"position {k}" if isinstance(k, int) else repr(k) for k in inside)

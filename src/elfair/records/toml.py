"""What can be wrong with a TOML file of ours, whatever it describes: all of it, said at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from elfair.errors import InputError, did_you_mean


def together(name: str, mistakes: Sequence[InputError]) -> InputError:
    """One error that says them all.

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


def malformed(name: str, text: str, error: ValueError) -> InputError:
    """What is no TOML at all, with the line where reading ended."""
    place = re.search(r"line (\d+)", str(error))
    line = int(place[1]) if place else len(text.splitlines())
    shown = (text.splitlines() or [""])[min(line, len(text.splitlines()) or 1) - 1]
    return InputError(
        f"{name} must be TOML. Line {line} is not: {error}.\n    {shown.strip()}",
        hint="text stands in quotes, lists in [brackets], and each key on a line of its own.",
    )


def of_shape(model: Any, error: Any, *, whole: str = "a study") -> InputError:
    """A wrong type, a missing or an unknown key: what pydantic found, in our words.

    Parameters
    ----------
    model : pydantic model
        What the file should have been. Each of its fields has a description and an example.
    error : mapping
        One of ``ValidationError.errors()``.
    whole : str
        What a key at the top of the file is a key of.
    """
    owner, where, key, inner = _place(model, error["loc"])
    fields = owner.model_fields
    inside = f" of {where}" if where else ""
    if error["type"] == "extra_forbidden":
        return InputError(
            f"a key{inside or f' of {whole}'} must be one of {list(fields)}. Got {key!r} instead.",
            hint=did_you_mean(key, fields, "remove it."),
        )
    example = f"for example: {fields[key].examples[0]}"
    if error["type"] == "missing":
        return InputError(
            f"the key {key!r}{inside} is missing; it must be {fields[key].description}.",
            hint=example,
        )
    at = f" at {_steps(inner)}" if inner else ""
    return InputError(
        f"{key}{inside} must be {fields[key].description}. Got {error['input']!r}{at} instead.",
        hint=example,
    )


def repeated(what: str, values: Sequence[Any]) -> Iterator[InputError]:
    """What stands more than once in a list of different things."""
    for value, count in Counter(values).items():
        if count > 1:
            yield InputError(
                f"{what} must be different from each other. Got {value!r} {count} times.",
                hint="keep one of them.",
            )


def _place(model: Any, steps: Sequence[str | int]) -> tuple[Any, str, str, Sequence[str | int]]:
    """The table that a path leads to, what to call it, the key in it, and the steps inside that."""
    where, key, inner = "", str(steps[0]), steps[1:]
    while inner:
        field = model.model_fields.get(key)
        kind = None if field is None else field.annotation
        table = next((k for k in (kind, *get_args(kind)) if hasattr(k, "model_fields")), None)
        position = inner[0] if isinstance(inner[0], int) else None
        rest = inner if position is None else inner[1:]
        if table is None or not rest:
            break
        where += ("." if where else "") + key + ("" if position is None else f"[{position}]")
        model, key, inner = table, str(rest[0]), rest[1:]
    return model, where, key, inner


def _steps(inner: Sequence[str | int]) -> str:
    """Where inside a value, such as ``position 1``, or ``'housing', position 1``."""
    return ", ".join(f"position {k}" if isinstance(k, int) else repr(k) for k in inner)

"""What can be wrong with a study of methods beside the shape of its file: names and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import isfinite
from typing import Any

from elfair.errors import InputError, did_you_mean
from elfair.toml_mistakes import repeated

Raw = dict[str, Any]


def of_meaning(raw: Raw, *, runnable: bool = True) -> list[InputError]:
    """Unknown names, repetitions, settings that the population refuses.

    It looks at the file as read, so that a wrong type elsewhere hides none of these. Unless it is
    to be runnable, modules of the user's own methods need not be there.
    """
    settings = raw.get("settings", {})
    settings = settings if isinstance(settings, dict) else {}
    methods = [each for each in _list(raw.get("methods")) if isinstance(each, str)]
    tables = [each for each in _list(raw.get("sizes")) if isinstance(each, dict)]
    sizes = [n for each in tables for n in _list(each.get("n"))]
    mistakes = [*_methods(methods, runnable), *_sizes(tables, sizes)]
    wrong = list(_settings(settings))
    mistakes += wrong
    if isinstance(raw.get("population"), str) and not wrong:
        mistakes += _population(raw["population"], settings)
    for position, each in enumerate(_list(raw.get("efficiency"))):
        if isinstance(each, dict):
            mistakes += _efficiency(f"efficiency[{position}]", each, methods, sizes, settings)
    return mistakes


def _methods(names: Sequence[str], runnable: bool) -> Iterator[InputError]:
    from elfair.baselines import METHODS, get_method

    yield from repeated("methods", names)
    for name in dict.fromkeys(names):
        # One that is known but not installed is no mistake of the file: figures can be drawn.
        if name not in METHODS and (runnable or ":" not in name):
            try:
                get_method(name)
            except InputError as error:
                yield error
            except Exception as error:
                yield InputError(
                    f"the method {name!r} must be importable. Importing it raised "
                    f"{type(error).__name__}: {error}.",
                    hint="import its module in Python to see where.",
                )


def _sizes(tables: Sequence[Raw], sizes: Sequence[Any]) -> Iterator[InputError]:
    example = "for example: n = [256, 512]"
    for position, each in enumerate(tables):
        if each.get("n") == []:
            yield InputError(
                f"n of sizes[{position}] must have at least one number. Got [] instead.",
                hint=example,
            )
    whole = [n for n in sizes if isinstance(n, int) and not isinstance(n, bool)]
    for n in whole:
        if n < 1:
            yield InputError(
                f"n of sizes must be whole numbers of at least 1. Got {n} instead.", hint=example
            )
    yield from repeated("sizes", whole)


def _settings(settings: Raw) -> Iterator[InputError]:
    for key, value in settings.items():
        swept = value if isinstance(value, list) else [value]
        fine = swept and all(isinstance(each, bool | int | float | str) for each in swept)
        if not fine or any(isinstance(each, float) and not isfinite(each) for each in swept):
            yield InputError(
                f"the setting {key!r} must be a number, true, false, text, or a list of these with "
                f"at least one. Got {value!r} instead.",
                hint=f"for example: {key} = 0.9, or {key} = [0.5, 0.9] to sweep it.",
            )
        else:
            yield from repeated(f"the setting {key!r}", swept)


def _population(name: str, settings: Raw) -> Iterator[InputError]:
    from elfair.experiments.populations import make_population

    swept = [each if isinstance(each, list) else [each] for each in settings.values()]
    for values in product(*swept):
        try:
            make_population(name, dict(zip(settings, values, strict=True)))
        except InputError as error:
            yield error
        except TypeError as error:
            yield InputError(
                f"the population {name!r} must accept its settings. Got {error} instead.",
                hint="`elfair experiment list` shows what it has.",
            )


def _efficiency(
    where: str, table: Raw, methods: Sequence[str], sizes: Sequence[Any], settings: Raw
) -> Iterator[InputError]:
    if "method" in table and table.get("method") == table.get("against"):
        yield InputError(
            f"method and against of {where} must be different methods. Got {table['method']!r} "
            "for both.",
            hint="name the method that may need fewer rows, and the one it is held against.",
        )
    named = [("method", methods), ("against", methods), ("n", sizes)]
    asked = table.get("settings", {})
    for key, value in asked.items() if isinstance(asked, dict) else ():
        table = {**table, f"settings.{key}": value}
        named.append((f"settings.{key}", _list(settings.get(key), alone=True)))
    for key, allowed in named:
        if key in table and table[key] not in allowed:
            yield InputError(
                f"{key} of {where} must be one of {list(allowed)}, as the study has it. Got "
                f"{table[key]!r} instead.",
                hint=did_you_mean(table[key], allowed, "add it to the study, or remove this."),
            )


def _list(value: Any, *, alone: bool = False) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value] if alone and value is not None else []

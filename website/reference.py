"""Reference text generated from the code, so it is never out of date.

A page asks for it with a comment, which readers of the repository do not see::

    <!-- commands: elfair.cli:main -->
    <!-- keys: elfair.experiments.experiment:Experiment -->
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any

import click

from elfair.records.reading import REQUIRED, Key, keys_inside, keys_of
from elfair.records.toml import example_of, toml, words_of

MARK = re.compile(r"^<!-- (\w+): ([\w.]+):(\w+) -->$", re.MULTILINE)


def filled_in(page: str) -> str:
    """Replace each comment of a page by the reference text it asks for."""

    def made(mark: re.Match[str]) -> str:
        writer, module, name = mark.groups()
        return "\n".join(WRITERS[writer](getattr(import_module(module), name)))

    return MARK.sub(made, page)


def commands(root: click.Command) -> Iterator[str]:
    """A command and its subcommands: help text, usage, arguments and options."""
    return _commands(click.Context(root, info_name="elfair"))


def _commands(context: click.Context) -> Iterator[str]:
    command = context.command
    yield f"\n## `{context.command_path}`\n"
    yield inspect.cleandoc(command.help or "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"\n```sh\n{context.command_path} {usage}\n```\n"
    records = [
        record
        for parameter in command.get_params(context)
        if "--help" not in parameter.opts
        if (record := parameter.get_help_record(context)) and record[1]
    ]
    if records:
        yield from _table(
            "Option", "What it does", rows=[(f"`{option}`", text) for option, text in records]
        )
    if isinstance(command, click.Group):
        inner = [command.get_command(context, name) for name in command.list_commands(context)]
        for each in filter(None, inner):
            yield from _commands(click.Context(each, info_name=each.name, parent=context))


def keys(model: Any) -> Iterator[str]:
    """The keys of a TOML file, with a section for each table, as its record declares them."""
    return _tables(keys_of(model), "The file itself", "")


def _tables(known: Mapping[str, Key], title: str, about: str) -> Iterator[str]:
    yield f"\n## {title}\n\n{about[:1].upper()}{about[1:]}{'.' if about else ''}\n"
    rows = [
        (f"`{name}`", each.about, words_of(each), _without(each), f"`{example_of(name, each)}`")
        for name, each in known.items()
    ]
    yield from _table("Key", "What it is", "What it must be", "Without it", "Example", rows=rows)
    for name, each in known.items():
        if (inner := keys_inside(each)) is not None:
            yield from _tables(inner, f"`{example_of(name, each)}`", each.about)


def _without(known: Key) -> str:
    if known.default is REQUIRED:
        return "must be given"
    nothing = known.default in (None, "", (), {}) or is_dataclass(known.default)
    return "" if nothing else f"`{toml(known.default)}`"


def _table(*head: str, rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


WRITERS: dict[str, Callable[[Any], Iterator[str]]] = {"commands": commands, "keys": keys}

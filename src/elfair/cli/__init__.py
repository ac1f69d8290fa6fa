"""The command line: ``elfair``.

Commands import what they need when they run, so that ``--help`` comes at once.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from elfair.cli.experiment import experiment
from elfair.cli.results import decide, explain, predict, verify
from elfair.cli.studies import check, demo, fit, init, plan
from elfair.errors import ElfairError
from elfair.records.text import visible


class _Main(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are used."""
        return list(self.commands)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command. What it prints may meet a full disk; a pipe that closes is click's."""
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.filename is not None:  # a file's, and no stream's
                raise
            click.echo(
                f"Error: what the command says could not be printed: {error.strerror or error}.\n"
                "Hint: files that it wrote are whole; print to a place with room.",
                err=True,
            )
            # What waits to be printed would fail once more at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(2)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ElfairError as error:
            click.echo(visible(f"Error: {error}"), err=True)
            # 2 is what click itself says of a command that makes no sense.
            ctx.exit(1 if isinstance(error, RuntimeError) else 2)
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            # What a shell says of a command ended by Ctrl-C.
            ctx.exit(130)


@click.group(cls=_Main)
@click.version_option(package_name="elfair")
def main() -> None:
    """Models whose delayed impact on every group is bounded with stated confidence.

    A study begins with a table of past decisions: init writes its study file, check and plan look
    at it before anything is spent, fit searches for a model and tests it, verify recomputes what
    came of it.
    """


for command in (init, check, plan, fit, explain, verify, predict, decide, demo, experiment):
    main.add_command(command)

"""The command line: ``elfair``.

Commands import what they need when they run, so that ``--help`` comes at once.
"""

from __future__ import annotations

from typing import Any

import click

from elfair.cli.certificates import explain, verify
from elfair.cli.demonstration import demo
from elfair.cli.experiment import experiment
from elfair.cli.models import decide, predict
from elfair.cli.studies import check, fit, init, plan
from elfair.errors import ElfairError
from elfair.visible import visible


class _Main(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are used."""
        return list(self.commands)

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

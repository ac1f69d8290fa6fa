"""The command line: ``elfair``.

Commands import what they need when they run, so that ``--help`` comes at once.
"""

from __future__ import annotations

from typing import Any

import click

from elfair.cli.experiment import experiment
from elfair.errors import ElfairError


class _Main(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ElfairError as error:
            click.echo(f"Error: {error}", err=True)
            # 2 is what click itself says of a command that makes no sense.
            ctx.exit(1 if isinstance(error, RuntimeError) else 2)
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            # What a shell says of a command ended by Ctrl-C.
            ctx.exit(130)


@click.group(cls=_Main)
@click.version_option(package_name="elfair")
def main() -> None:
    """Models whose delayed impact on every group is bounded with stated confidence."""


main.add_command(experiment)

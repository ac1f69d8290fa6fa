"""The command line: ``elfair``.

Commands import what they need when they run, so ``--help`` is fast.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from elfair.cli.completion import completion
from elfair.cli.experiment import experiment
from elfair.cli.results import decide, explain, predict, verify
from elfair.cli.serving import serve
from elfair.cli.signing import keygen, sign
from elfair.cli.studies import check, demo, fit, init, ledger, plan
from elfair.cli.watching import monitor
from elfair.errors import ElfairError
from elfair.records.text import visible

#: Who calls these has a study file: hints name its keys.
OF_STUDIES = frozenset({"check", "plan", "fit"})


class _Main(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """List commands in the order in which people use them."""
        return list(self.commands)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command. Printing may fail on a full disk; click handles a closed pipe."""
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.filename is not None:  # the error of a file, not of a stream
                raise
            click.echo(
                f"Error: the output could not be printed: {error.strerror or error}.\n"
                "Hint: all files were written; print to a disk with free space.",
                err=True,
            )
            # Output that is still buffered would fail again at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(2)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ElfairError as error:
            told = str(error)
            if ctx.invoked_subcommand in OF_STUDIES:
                from elfair.study.terms import in_study_terms

                told = in_study_terms(told)
            click.echo(visible(f"Error: {told}"), err=True)
            # click itself exits with 2 for wrong arguments.
            ctx.exit(1 if isinstance(error, RuntimeError) else 2)
        except MemoryError:
            click.echo(
                "Error: there was not enough memory.\n"
                "Hint: give the process more memory (ulimit -v limits it), or use fewer rows or "
                "columns at once.",
                err=True,
            )
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            # The exit code of a command that was stopped by Ctrl-C.
            ctx.exit(130)


@click.group(cls=_Main)
@click.version_option(package_name="elfair")
def main() -> None:
    """Models whose delayed impact on every group you name is bounded with stated confidence.

    A study begins with a table of past decisions. init writes its study file, check and plan look
    at it before any data is used up, fit searches for a model and tests it, and verify recomputes
    the result.
    """


for command in (
    *(init, check, plan, fit, explain, verify, sign, keygen),
    *(predict, decide, monitor, ledger, demo),
    *(serve, experiment, completion),
):
    main.add_command(command)

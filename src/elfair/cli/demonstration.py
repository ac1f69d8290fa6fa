"""``elfair demo``: two fits of a built-in population, with their reports."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Fit a built-in population.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="The folder of the results.",
)
def demo(output: Path) -> None:
    """Fit a built-in population twice, and write the reports.

    The first fit finds a model; the second asks for more than its data can show.
    """
    from elfair.demo import main

    main(output)

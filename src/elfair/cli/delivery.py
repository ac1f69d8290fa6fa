"""Text that a command prints, or writes to the file that --output names."""

from __future__ import annotations

from pathlib import Path

import click

from elfair.visible import visible


def deliver(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file, whole or not at all.

    Parameters
    ----------
    text : str
        The text.
    output : Path or None
        The file; None prints it.
    """
    from elfair.writing import write_whole

    if output is None:
        click.echo(visible(text))
    else:
        write_whole(output, text.rstrip("\n") + "\n")

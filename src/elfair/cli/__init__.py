"""The command line: ``elfair``."""

from __future__ import annotations

import click


@click.group()
@click.version_option(package_name="elfair")
def main() -> None:
    """Models whose delayed impact on every group is bounded with stated confidence."""

"""``elfair serve``: the workbench in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from elfair.cli.output import json_option, tell
from elfair.cli.studies import reach


@click.command(short_help="Work in the browser.")
@click.argument(
    "folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), required=False
)
@click.option("--write", is_flag=True, help="Pages may change files and run commands.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port.  [default: a free one]"
)
@reach
@json_option
def serve(
    folder: Path,
    write: bool,
    port: int,
    within: tuple[Path, ...],
    servers: tuple[str, ...],
    as_json: bool,
) -> None:
    """Serve FOLDER to a browser on this computer, until Ctrl-C.

    Prints an address that holds a secret: who has it can read the folder and, with --write, change
    it. Every page shows the files that it changes and the commands that it runs.
    """
    from elfair.errors import InputError, install_extra

    try:
        from elfair.serve import serve as start
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise InputError(
            "the workbench needs packages that are not installed.", hint=install_extra("serve")
        ) from None
    start(
        folder,
        port=port,
        write=write,
        within=within,
        servers=servers,
        tell=lambda address: tell(
            f"Open {address}\nStop with Ctrl-C.", {"address": address}, as_json=as_json
        ),
    )

"""``elfair monitor``: whether a released model keeps what its certificate says."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from elfair.cli.output import ALARM, json_option, tell
from elfair.cli.results import path_option


@click.command(short_help="Watch what a released model does.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("log")
@click.option("--query", help="The query, if LOG is the address of a database.")
@click.option(
    "--delay",
    type=click.FloatRange(0),
    required=True,
    metavar="DAYS",
    help="After how many days an impact is measured. A younger row is pending, not missing.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="The chance of a false alarm about any statement, however often you look.",
)
@click.option(
    "--missing",
    type=click.Choice(["at random", "worst case", "drop"]),
    help="What a missing impact is taken for.  [default: as the study says]",
)
@click.option(
    "--follow-up",
    help="The probability with which each person is drawn to be followed up, or its column.",
)
@path_option(
    "--state",
    "The folder of the monitor.  [default: beside the folder of MODEL, with '-monitor' added]",
    folder=True,
)
@click.option(
    "--now",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z"]),
    help="The time of the look, to go through an old log.  [default: the present]",
)
@json_option
def monitor(
    model: Path,
    log: str,
    query: str | None,
    delay: float,
    alpha: float,
    missing: str | None,
    follow_up: str | None,
    state: Path | None,
    now: datetime | None,
    as_json: bool,
) -> None:
    """Look at the log of a released model: does it keep what its certificate says?

    LOG holds what `elfair decide` appended, and the impacts as they come in. Each row counts once.
    Look as often as you like. Writes report.html into the folder of the monitor. Exit code 0: no
    statement is violated; 6: a statement is violated; 2: the input is wrong, or a row has changed.
    """
    from elfair.monitoring import ImpactMonitor
    from elfair.monitoring.page import page
    from elfair.records.files import write_whole
    from elfair.records.json import to_plain

    results = model.resolve().parent
    folder = results.with_name(f"{results.name}-monitor") if state is None else state
    watch = ImpactMonitor(
        model, folder, delay=delay, alpha=alpha, missing=missing, follow_up=_drawn(follow_up)
    )
    status = watch.look(log, query=query, now=now)
    report = folder / "report.html"
    write_whole(report, page(status))
    facts = {**to_plain(status), "alarm": bool(status.violated), "written": [str(report)]}
    tell(f"{status.text()}\n\nWritten: {report}", facts, as_json=as_json)
    if status.violated:
        click.get_current_context().exit(ALARM)


def _drawn(text: str | None) -> float | str | None:
    """A number, or the name of a column."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text

"""``elfair predict`` and ``elfair decide``: what a certified model does with people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from elfair.visible import visible

_model = click.argument("model", type=click.Path(path_type=Path))
_people = click.argument("people")
_query = click.option("--query", help="What to ask the database that PEOPLE is the address of.")
_seed = click.option(
    "--seed", type=click.IntRange(0), help="To reproduce a draw; left out, each draw is fresh."
)


@click.command(short_help="Draw decisions; nothing is logged.")
@_model
@_people
@_query
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The table to write: .csv, .tsv, .parquet, .arrow or .feather.",
)
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@_seed
def predict(
    model: Path, people: str, query: str | None, output: Path, overwrite: bool, seed: int | None
) -> None:
    """Draw a decision for each person, with all probabilities; nothing is logged.

    PEOPLE is a table with the features of the model.
    """
    from elfair.errors import InputError
    from elfair.study.writing import predictions, write_table

    if output.exists() and not overwrite:
        raise InputError(
            f"'{output}' exists already.", hint="name another file, or replace it with --overwrite."
        )
    loaded, table = _read(model, people, query)
    drawn = predictions(loaded, table, random_state=seed)
    write_table(drawn, output)
    click.echo(f"Written: {visible(str(output))}, {drawn.num_rows:,} rows.")


@click.command(short_help="Draw decisions, and log them.")
@_model
@_people
@_query
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The CSV file to append to; made where there is none.",
)
@_seed
def decide(model: Path, people: str, query: str | None, log: Path, seed: int | None) -> None:
    """Decide about each person, and append it to a log.

    The log holds the table's own columns, the decision, the probability with which it was taken,
    the time and the model's digest. With the impact, once it is seen, it is the table of the next
    round.
    """
    from elfair.study.writing import append_decisions, decisions

    loaded, table = _read(model, people, query)
    drawn = decisions(loaded, table, random_state=seed)
    append_decisions(drawn, log, row_id=loaded.encoding_.get("row_id"))
    click.echo(f"{drawn.num_rows:,} decisions appended to {visible(str(log))}.")


def _read(model: Path, people: str, query: str | None) -> tuple[Any, Any]:
    from elfair.persistence import load
    from elfair.study import read_table

    return load(model), read_table(people, query=query).table

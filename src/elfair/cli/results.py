"""Text that a command prints, or writes to the file that --output names.

``elfair explain`` and ``elfair verify``: a certificate shown, and recomputed.

``elfair predict`` and ``elfair decide``: what a certified model does with people.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elfair.records.text import number, plural, visible

if TYPE_CHECKING:
    from rich.console import Group

    from elfair.certificate import Certificate

#: A longer statement would be broken into many short lines of a table.
LONGEST_IN_TABLE = 48
#: More statements than this are shown only with --details.
MOST_IN_TABLE = 10


def deliver(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file, whole or not at all.

    Parameters
    ----------
    text : str
        The text.
    output : Path or None
        The file; None prints it.
    """
    from elfair.records.files import write_whole

    if output is None:
        click.echo(visible(text))
    else:
        write_whole(output, text.rstrip("\n") + "\n")


def verdict_table(certificate: Certificate, *, details: bool = False) -> Group:
    """The verdict as a table for the terminal, the worst statement first.

    Parameters
    ----------
    certificate : Certificate
        The result.
    details : bool, default False
        Show all statements, not only the worst.

    Returns
    -------
    rich.console.Group
        The table; below it the statements, where they are too long for it.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from elfair.certificate.explanation import numbered, verdict

    results = certificate.constraints if details else certificate.constraints[:MOST_IN_TABLE]
    statements = [visible(result.statement) for result in results]
    names = statements
    if max(map(len, statements), default=0) > LONGEST_IN_TABLE:
        names = numbered(results)  # as the report calls them
    table = Table(title=visible(verdict(certificate)), title_justify="left")
    for heading in ("statement", "rows", "ESS", "estimate of g", "bound on g", "delta", ""):
        table.add_column(heading, justify="left" if heading.startswith("st") else "right")
    for name, result in zip(names, results, strict=True):
        table.add_row(
            Text(name),  # not markup: [impact | ...] is no style
            str(result.n),
            "" if result.ess is None else f"{result.ess:.0f}",
            number(result.estimate),
            number(result.upper),
            f"{result.delta:g}",
            "pass" if result.passed else "FAIL",
        )
    pairs = zip(names, statements, strict=True)
    below = [Text(f"{name}: {each}") for name, each in pairs if name != each]
    if more := len(certificate.constraints) - len(results):
        below.append(Text(f"and {plural(more, 'more statement')}: --details shows all."))
    return Group(table, *below)


#: What `verify` says where a check failed, or one that was asked for could not be made.
NOT_VERIFIED = 1

_certificate = click.argument("certificate", type=click.Path(path_type=Path))


@click.command(short_help="Show what a certificate says.")
@_certificate
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "cyclonedx"]),
    default="text",
    show_default=True,
    help="cyclonedx is a bill of materials with a model card.",
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file."
)
@click.option(
    "--details",
    is_flag=True,
    help="Show every statement, assumption and warning, and the promise in full.",
)
def explain(certificate: Path, form: str, output: Path | None, details: bool) -> None:
    """Show a certificate: in short for people, as a report, or for other programs."""
    from elfair.certificate import Certificate
    from elfair.report import Report

    record = Certificate.load(certificate)
    if form == "text":
        text = record.explain(details=details)
    elif form == "cyclonedx":
        text = record.to_cyclonedx()
    else:
        text = getattr(Report(record), form)()
    deliver(text, output)


@click.command(short_help="Recompute a certificate.")
@_certificate
@click.option("--data", help="The table: a file, or the address of a database.")
@click.option("--query", help="What to ask the database that --data is the address of.")
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="The model's file (or rejected.elfair, after no solution).",
)
@click.option("--refit", is_flag=True, help="Search again as well, and compare the models.")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def verify(
    certificate: Path,
    data: str | None,
    query: str | None,
    model: Path | None,
    refit: bool,
    as_json: bool,
) -> None:
    """Recompute a certificate: digests, arithmetic, and with data and model everything.

    The query that a certificate holds is shown, and asked only if --query repeats it. What could
    not be checked is said to be skipped. Exit code 0: no check failed; 1: some did, or the search
    was to be repeated and could not be; 2: the input makes no sense.
    """
    from elfair.study.databases import without_secrets
    from elfair.verification import verify_files

    if data is not None and query is not None:
        click.echo(visible(f"{without_secrets(data)} is asked: {without_secrets(query)}"), err=True)
    checked = verify_files(certificate, data=data, query=query, model=model, refit=refit)
    click.echo(visible(checked.to_json() if as_json else checked.text()))
    if not checked.passed or checked.falls_short:
        click.get_current_context().exit(NOT_VERIFIED)


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
    from elfair.estimators import load
    from elfair.study import read_table

    return load(model), read_table(people, query=query).table

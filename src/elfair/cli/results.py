"""``elfair explain``, ``verify``, ``predict`` and ``decide``: what to do with a result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from elfair.records.tables import ENDINGS
from elfair.records.text import number, plural, visible

if TYPE_CHECKING:
    from rich.console import Group

    from elfair.certificate import Certificate

Command = TypeVar("Command", bound=Callable[..., Any])


#: A table would break a longer statement into many short lines.
LONGEST_IN_TABLE = 48
#: More statements than this are shown only with --details.
MOST_IN_TABLE = 10


def path_option(
    name: str, about: str, *, folder: bool = False, **how: Any
) -> Callable[[Command], Command]:
    """An option that names a file, or a folder.

    Parameters
    ----------
    name : str
        The option.
    about : str
        What its help says.
    folder : bool, default False
        Whether it names a folder.
    **how
        What else `click.option` takes.
    """
    kind = click.Path(file_okay=not folder, dir_okay=folder, path_type=Path)
    return click.option(name, type=kind, help=about, **how)


def format_option(*forms: str, about: str | None = None) -> Callable[[Command], Command]:
    """The option ``--format``, which is the first one unless given.

    Parameters
    ----------
    *forms : str
        The formats.
    about : str, optional
        What its help says.
    """
    kind = click.Choice(forms)
    return click.option(
        "--format", "form", type=kind, default=forms[0], show_default=True, help=about
    )


details_option = click.option(
    "--details",
    is_flag=True,
    help="Show every statement, assumption and warning, and the promise in full.",
)


def deliver(text: str, output: Path | None) -> None:
    """Print a text, or write all of it to a file.

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
        The table, and below it the statements that are too long for it.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from elfair.certificate.explanation import numbered, verdict

    results = certificate.constraints if details else certificate.constraints[:MOST_IN_TABLE]
    long = any(len(visible(result.statement)) > LONGEST_IN_TABLE for result in results)
    table = Table(title=visible(verdict(certificate)), title_justify="left")
    counted = "rows" if certificate.terms.units is None else "units"
    for heading in ("statement", counted, "ESS", "estimate of g", "bound on g", "delta", ""):
        table.add_column(heading, justify="left" if heading == "statement" else "right")
    below = []
    for name, result in numbered(results):
        statement = visible(result.statement)
        table.add_row(
            Text(name if long else statement),  # not markup: [impact | ...] is not a style
            str(result.n),
            "" if result.ess is None else f"{result.ess:.0f}",
            number(result.estimate),
            number(result.upper),
            f"{result.delta:g}",
            "pass" if result.passed else "FAIL",
        )
        if long:
            below.append(Text(f"{name}: {statement}"))
    if more := len(certificate.constraints) - len(results):
        below.append(Text(f"and {plural(more, 'more statement')}: --details shows all."))
    return Group(table, *below)


#: The exit code of `verify` if a check failed, or if one that was asked for could not be made.
NOT_VERIFIED = 1

_certificate = click.argument("certificate", type=click.Path(path_type=Path))


@click.command(short_help="Show what a certificate says.")
@_certificate
@format_option(
    *("text", "markdown", "html", "cyclonedx"),
    about="cyclonedx is a bill of materials with a model card.",
)
@path_option("--output", "Write to this file instead.")
@details_option
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
@click.option(
    "--data",
    help="The table: a file, the address of a database, or the folder of the study's files.",
)
@click.option("--query", help="The query, if --data is the address of a database.")
@path_option("--model", "The model file (after no solution, rejected.elfair).")
@click.option("--refit", is_flag=True, help="Also search again, and compare the models.")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def verify(
    certificate: Path,
    data: str | None,
    query: str | None,
    model: Path | None,
    refit: bool,
    as_json: bool,
) -> None:
    """Recompute a certificate: digests and arithmetic; with data and model, everything.

    The query in a certificate is shown, but runs only if --query repeats it. Checks that cannot be
    made are reported as skipped. Exit code 0: no check failed; 1: a check failed, or the search
    could not be repeated; 2: invalid input.
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
_query = click.option("--query", help="The query, if PEOPLE is the address of a database.")
_seed = click.option(
    "--seed", type=click.IntRange(0), help="Repeat a draw; without it, each draw is new."
)


@click.command(short_help="Draw decisions without logging them.")
@_model
@_people
@_query
@path_option("--output", f"The table to write: a file ({ENDINGS}).", required=True)
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@_seed
def predict(
    model: Path, people: str, query: str | None, output: Path, overwrite: bool, seed: int | None
) -> None:
    """Draw a decision for each person, with all probabilities, and log nothing.

    PEOPLE is a table with the features of the model.
    """
    from elfair.errors import InputError
    from elfair.study.writing import predictions, write_table

    if output.exists() and not overwrite:
        raise InputError(
            f"'{output}' already exists.", hint="name another file, or replace it with --overwrite."
        )
    loaded, table = _read(model, people, query)
    drawn = predictions(loaded, table, random_state=seed)
    write_table(drawn, output)
    click.echo(f"Written: {visible(str(output))}, {plural(drawn.num_rows, 'row')}.")


@click.command(short_help="Draw decisions, and log them.")
@_model
@_people
@_query
@path_option(
    "--log", "The CSV file to append to; it is created if it does not exist.", required=True
)
@_seed
def decide(model: Path, people: str, query: str | None, log: Path, seed: int | None) -> None:
    """Draw a decision for each person, and append it to a log.

    The log has the columns of the table, the decision, its probability, the time and the digest of
    the model. Once you add the measured impact, it is the table of the next round.
    """
    from elfair.study.writing import append_decisions, decisions

    loaded, table = _read(model, people, query)
    drawn = decisions(loaded, table, random_state=seed)
    append_decisions(drawn, log, row_id=loaded.encoding_.get("row_id"))
    click.echo(f"{plural(drawn.num_rows, 'decision')} appended to {visible(str(log))}.")


def _read(model: Path, people: str, query: str | None) -> tuple[Any, Any]:
    from elfair.certificate.explanation import verdict
    from elfair.estimators import load
    from elfair.study.writing import read_people

    loaded = load(model)
    if loaded.certificate_.accepted:
        click.echo(visible(f"Warning: {verdict(loaded.certificate_)}"), err=True)
    return loaded, read_people(loaded, people, query=query)

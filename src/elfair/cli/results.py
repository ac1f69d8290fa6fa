"""``elfair explain``, ``verify``, ``predict`` and ``decide``: what to do with a result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elfair.cli.output import (
    NO_SOLUTION,
    NOT_VERIFIED,
    VIOLATED,
    Command,
    json_option,
    tell,
    tells_progress,
    verdict_facts,
)
from elfair.records.tables import ENDINGS
from elfair.records.text import number, plural, visible

if TYPE_CHECKING:
    from rich.console import Group

    from elfair.certificate import Certificate
    from elfair.study import Batch

#: How the file of a model begins: it is a zip archive.
MODEL_FILE = b"PK"
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


within_option = path_option(
    *("--within", "A folder whose files may be read, beside the study's own. May be repeated."),
    folder=True,
    multiple=True,
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
    """All statements as a table for the terminal, the worst first.

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

    from elfair.certificate.explanation import numbered

    results = certificate.constraints if details else certificate.constraints[:MOST_IN_TABLE]
    long = any(len(visible(result.statement)) > LONGEST_IN_TABLE for result in results)
    table = Table()
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


def print_opening(certificate: Certificate) -> None:
    """Print the verdict in colour, and the promise in words below it.

    Parameters
    ----------
    certificate : Certificate
        The result.
    """
    from elfair.certificate.explanation import opening

    headline, *words = opening(certificate)
    click.secho(headline, fg="green" if certificate.passed else "red", bold=True)
    for each in ("", *words):
        click.echo(f"{each}\n" if each else each)


_certificate = click.argument("certificate", type=click.Path(path_type=Path))


@click.command(short_help="Show what a certificate says.")
@_certificate
@format_option(
    *("text", "markdown", "html", "cyclonedx", "certificate"),
    about="cyclonedx is a bill of materials with a model card.",
)
@click.option(
    "--suppress-below",
    "below",
    type=click.IntRange(2),
    help="Leave out what is about fewer people than this, in every format: to hand it over, also "
    "as a certificate.",
)
@path_option("--output", "Write to this file instead.")
@details_option
@json_option
def explain(
    certificate: Path,
    form: str,
    below: int | None,
    output: Path | None,
    details: bool,
    as_json: bool,
) -> None:
    """Show a certificate, or that of a model file: in short for people, as a report, or for other
    programs.

    One that contradicts itself is refused.
    """
    from elfair.certificate import Certificate
    from elfair.certificate.envelope import Envelope
    from elfair.certificate.explanation import opening, paragraphs
    from elfair.consistency import require_consistent
    from elfair.records.files import read_whole
    from elfair.records.json import to_json
    from elfair.report import Report

    content = read_whole(certificate, hint="name the file of a certificate, or of a model.")
    if content.startswith(MODEL_FILE):
        from elfair.estimators import load

        content = load(certificate).certificate_.to_json().encode()
    whole = require_consistent(Certificate.of_file(content, certificate))
    record = whole if below is None else whole.suppressing(below)
    envelope = Envelope.read(content.decode())
    # A signature is that of the whole certificate.
    signed = envelope is not None and bool(envelope.signatures) and record == whole
    if as_json:
        said = {
            **verdict_facts(record),
            "signed": signed,
            "explanation": paragraphs(record, details=details),
        }
        text = to_json({**said, "certificate": record})
    elif form == "text":
        text = f"{record.explain(details=details)}\n\n{_who(signed)}"
    elif form == "cyclonedx":
        text = record.to_cyclonedx()
    elif form == "certificate":
        text = record.to_json()
    else:
        text = getattr(Report(record), form)()
    if form == "text" and not as_json and output is None:
        print_opening(record)
        rest = paragraphs(record, details=details)[len(opening(record)) :]
        text = "\n\n".join([*rest, _who(signed)])
    deliver(text, output)


def _who(signed: bool) -> str:
    """Who wrote a certificate, as far as the file says."""
    if signed:
        return "It is signed. Whose signature it is, elfair verify --key says."
    return "It holds no signature: anybody could have written it."


@click.command(short_help="Recompute a certificate.")
@_certificate
@click.option(
    "--data",
    help="The table: a file, the address of a database, or the folder of the study's files.",
)
@click.option("--query", help="The query, if --data is the address of a database.")
@path_option("--model", "The model file (after no solution, rejected.elfair).")
@path_option("--report", "The report, to be rendered again and compared.")
@path_option(
    *("--key", "A public key (PEM) that must have signed it. May be given several times."),
    multiple=True,
)
@within_option
@path_option("--earlier", "The certificate of the stage before, if this one continues it.")
@click.option("--refit", is_flag=True, help="Also search again, and compare the models.")
@tells_progress
def verify(
    certificate: Path,
    data: str | None,
    query: str | None,
    model: Path | None,
    report: Path | None,
    key: tuple[Path, ...],
    within: tuple[Path, ...],
    earlier: Path | None,
    refit: bool,
    as_json: bool,
) -> None:
    """Recompute a certificate: digests and arithmetic; with data and model, everything.

    The query in a certificate is shown, but runs only if --query repeats it. Checks that cannot be
    made are reported as skipped. Exit code 0: no check failed, and the certificate releases a
    model; 1: a check failed, or one that was asked for (--refit, --report) could not be made; 2:
    invalid input. If no check failed, 3: the certificate says "no solution found"; 4: an assumption
    is violated, so the stated confidence is not justified, even if that was accepted.
    """
    from elfair.study.secrets import without_secrets
    from elfair.verification import verify_files

    if data is not None and query is not None:
        click.echo(visible(f"{without_secrets(data)} is asked: {without_secrets(query)}"), err=True)
    checked = verify_files(
        certificate,
        data=data,
        query=query,
        model=model,
        report=report,
        keys=key,
        within=within,
        refit=refit,
        earlier=earlier,
    )
    tell(checked.text(), checked.facts(), as_json=as_json)
    code = VIOLATED if checked.doubts else 0 if checked.released else NO_SOLUTION
    if not checked.passed or checked.falls_short:
        code = NOT_VERIFIED
    click.get_current_context().exit(code)


_model = click.argument("model", type=click.Path(path_type=Path))
_people = click.argument("people")
_query = click.option("--query", help="The query, if PEOPLE is the address of a database.")
_seed = click.option(
    "--seed", type=click.IntRange(0), help="Repeat a draw; without it, each draw is new."
)


_skip = click.option(
    "--skip-invalid",
    is_flag=True,
    help="Set rows aside that cannot be decided about, with reasons, instead of stopping.",
)
_rejected = path_option(
    "--rejected", "The CSV file of rows that are set aside.  [default: rejected.csv beside it]"
)


@click.command(short_help="Draw decisions without logging them.")
@_model
@_people
@_query
@path_option("--output", f"The table to write: a file ({ENDINGS}).", required=True)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@_skip
@_rejected
@_seed
@json_option
def predict(
    model: Path,
    people: str,
    query: str | None,
    output: Path,
    overwrite: bool,
    skip_invalid: bool,
    rejected: Path | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Draw a decision for each person, with all probabilities, and log nothing.

    PEOPLE is a table with the features of the model. Exit code 2: a row cannot be decided about
    (with --skip-invalid: no row can), and nothing is written.
    """
    from elfair.errors import InputError
    from elfair.study.writing import predictions, write_table

    aside = output.parent / "rejected.csv" if rejected is None else rejected
    for path in [output, *([aside] if skip_invalid else [])]:
        if (path.exists() and not overwrite) or aside.resolve() == output.resolve():
            raise InputError(
                f"'{path}' already exists.",
                hint="name another file, or replace it with --overwrite.",
            )
    loaded, batch = _read(model, people, query, skip_invalid=skip_invalid, identify=False)
    drawn = predictions(loaded, batch, random_state=seed)
    if batch.reasons:
        write_table(batch.rejected, aside)
    write_table(drawn, output)
    facts = {"written": str(output), "rows": drawn.num_rows}
    text = f"Written: {output}, {plural(drawn.num_rows, 'row')}."
    _tell(text, facts, batch, aside, loaded.certificate_, as_json)


@click.command(short_help="Draw decisions, and log them.")
@_model
@_people
@_query
@path_option(
    "--log", "The CSV file to append to; it is created if it does not exist.", required=True
)
@_skip
@_rejected
@_seed
@json_option
def decide(
    model: Path,
    people: str,
    query: str | None,
    log: Path,
    skip_invalid: bool,
    rejected: Path | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Draw a decision for each person, and append it to a log.

    A model that was released in spite of a violated assumption says so on every run. The log has
    the columns of the table, the decision, its probability, the time and the digest of the model.
    Once you add the measured impact, it is the table of the next round. With --skip-invalid, rows
    that cannot be decided about are appended to another file, with their places and reasons: log
    and file together hold every row. Exit code 2: a row cannot be decided about (with
    --skip-invalid: no row can), and nothing is written.
    """
    from elfair.study.writing import append_decisions, decisions

    loaded, batch = _read(model, people, query, skip_invalid=skip_invalid, log=log)
    drawn = decisions(loaded, batch, random_state=seed)
    aside = log.parent / "rejected.csv" if rejected is None else rejected
    append_decisions(
        drawn,
        log,
        row_id=loaded.encoding_.get("row_id"),
        rejected=batch.rejected,
        reject_file=aside,
    )
    facts = {"written": str(log), "decisions": drawn.num_rows}
    text = f"{plural(drawn.num_rows, 'decision')} appended to {log}."
    _tell(text, facts, batch, aside, loaded.certificate_, as_json)


def _read(
    model: Path, people: str, query: str | None, *, skip_invalid: bool, **how: Any
) -> tuple[Any, Batch]:
    """A model, and the people whom it can decide about."""
    from elfair.certificate.explanation import verdict
    from elfair.estimators import load
    from elfair.study import read_batch

    loaded = load(model)
    if loaded.certificate_.accepted:
        click.echo(visible(f"Warning: {verdict(loaded.certificate_)}"), err=True)
    batch = read_batch(loaded, people, query=query, **how)
    if not skip_invalid:
        batch.require_whole("--skip-invalid")
    return loaded, batch


def _tell(
    text: str, facts: dict[str, Any], batch: Batch, aside: Path, certificate: Any, as_json: bool
) -> None:
    """What was written, what was left to the model's preparation, and who was set aside."""
    lines, summary = [text, *(f"Note: {note}." for note in batch.notes)], list(batch.summary())
    facts |= {"notes": list(batch.notes), "set_aside": len(batch.reasons)}
    if batch.reasons:
        lines.append(f"{plural(len(batch.reasons), 'row')} set aside in {aside}:")
        lines += [f"  {line}" for line in summary]
        facts |= {"set_aside_in": str(aside), "reasons": summary}
    tell("\n".join(lines), facts | verdict_facts(certificate), as_json=as_json)

"""``elfair explain`` and ``elfair verify``: a certificate shown, and recomputed."""

from __future__ import annotations

from pathlib import Path

import click

from elfair.cli.delivery import deliver
from elfair.visible import visible

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
def explain(certificate: Path, form: str, output: Path | None) -> None:
    """Say what a certificate says: for people, as a report, or for other programs."""
    from elfair.certificate import Certificate

    record = Certificate.load(certificate)
    if form == "text":
        text = record.explain()
    elif form == "cyclonedx":
        text = record.to_cyclonedx()
    else:
        text = getattr(record.report(), form)()
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
    from elfair.study.secrets import without_secrets
    from elfair.verification import verify_files

    if data is not None and query is not None:
        click.echo(visible(f"{without_secrets(data)} is asked: {without_secrets(query)}"), err=True)
    checked = verify_files(certificate, data=data, query=query, model=model, refit=refit)
    click.echo(visible(checked.to_json() if as_json else checked.text()))
    if not checked.passed or checked.falls_short:
        click.get_current_context().exit(NOT_VERIFIED)

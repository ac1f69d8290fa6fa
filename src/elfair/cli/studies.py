"""``elfair init``, ``check``, ``plan`` and ``fit``: from a table to a model; and ``demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from elfair.cli.results import details_option, path_option, verdict_table
from elfair.records.tables import ENDINGS
from elfair.records.text import plural, visible

if TYPE_CHECKING:
    from rich.table import Table

    from elfair.estimators.classifier import ELFClassifier
    from elfair.populations import FosterCare

#: The exit codes of `fit` if there is no solution, if that is because of a violated assumption, and
#: if nothing was tested.
NO_SOLUTION, VIOLATED, NOT_TESTED = 3, 4, 5

_study = click.argument("study", type=click.Path(path_type=Path))


@click.command(
    short_help="Draft a study file for a table.",
    help=f"""Look at a table and write a study file for it.

    SOURCE is a file ({ENDINGS}) or the address of a database. Guesses are marked in the file: check
    and correct them.
    """,
)
@click.argument("source")
@click.option("--query", help="The query, if SOURCE is the address of a database.")
@path_option(
    *("--output", "The study file; an existing file is not replaced."),
    default=Path("study.toml"),
    show_default=True,
)
def init(source: str, query: str | None, output: Path) -> None:
    """Look at a table and write a study file for it."""
    from elfair.errors import InputError
    from elfair.records.files import write_whole
    from elfair.study import draft_study
    from elfair.study.file import lines_to_fill_in

    if output.exists():
        raise InputError(
            f"'{output}' exists already, and may hold your work.",
            hint="name another file with --output.",
        )
    text = draft_study(source, query=query, folder=output.parent)
    write_whole(output, text)
    click.echo(
        f"Written: {visible(str(output))}. Guesses are marked '# guess': check and correct them."
    )
    if todo := len(lines_to_fill_in(text)):
        click.echo(f"{plural(todo, 'line')} with TODO: only you can fill in what belongs there.")
    click.echo(f"Next: elfair check {visible(str(output))}")


@click.command(short_help="Check data and settings before a fit.")
@_study
@click.option("--details", is_flag=True, help="Show everything, by statement and by group.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def check(study: Path, details: bool, as_json: bool) -> None:
    """Check data and settings, and forecast the test, before a fit.

    Shows problems, the chance that a model is released, and rows by group. Impacts and labels of
    held-out rows are not used.
    """
    from elfair.planning import check as look
    from elfair.study import StudyFile

    loaded = StudyFile.load(study)
    rows = loaded.read()
    report = look(loaded.estimator(), rows.data, left_out=rows.without_impact)
    text = report.to_json() if as_json else report.text(details=details, more="--details")
    click.echo(visible(text))
    if not report.ok:
        click.get_current_context().exit(2)


@click.command(short_help="Say how many rows would be needed.")
@_study
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="The wanted probability that a model is returned.",
)
@click.option(
    "--improvement",
    type=float,
    default=None,
    help="Plan for this much more than each constraint asks, on the scale of the impact.",
)
@path_option("--output", "Write the curve to this SVG file.")
def plan(study: Path, share: float, improvement: float | None, output: Path | None) -> None:
    """Say how many rows, by group, would be needed, and draw the curve.

    Uses candidate rows only: impacts of held-out rows are not used.
    """
    from elfair.planning import plan_rows
    from elfair.records.files import write_whole
    from elfair.study import StudyFile

    loaded = StudyFile.load(study)
    planned = plan_rows(
        loaded.estimator(), loaded.read().data, share=share, improvement=improvement
    )
    if output is not None:
        write_whole(output, planned.svg())
    click.echo(visible(planned.text()))
    if output is not None:
        click.echo(f"\nWritten: {visible(str(output))}")


@click.command(short_help="Search for a model and test it.")
@_study
@path_option(
    "--output", "The folder of the results.  [default: results, next to STUDY]", folder=True
)
@click.option("--overwrite", is_flag=True, help="Replace the results of an earlier run.")
@click.option(
    "--accept-violated",
    "accepted",
    multiple=True,
    metavar="CODE",
    help="Release the model although this assumption is violated; the certificate says so. May be "
    "given several times, beside what the study accepts.",
)
@click.option(
    "--anyway", is_flag=True, help="Test the model even if it has hardly a chance to pass."
)
@details_option
def fit(
    study: Path,
    output: Path | None,
    overwrite: bool,
    accepted: tuple[str, ...],
    anyway: bool,
    details: bool,
) -> None:
    """Search for a model, test it on held-out rows, and write the results.

    Writes model.elfair, certificate.json and report.html. Held-out rows are tested once, so a model
    that has hardly a chance to pass is not tested. Exit code 0: a model was released; 3: no
    solution found; 4: no solution found, because an assumption is violated; 5: not tested; 2: the
    input is wrong.
    """
    import warnings

    from rich.console import Console

    from elfair.certificate.explanation import paragraphs
    from elfair.data.looks import LEAST_CHANCE
    from elfair.errors import CertificateWarning, UnlikelyError
    from elfair.study import Ledger, StudyFile, fit_study
    from elfair.study.outcome import OPENINGS, check_free

    loaded = StudyFile.load(study)
    folder = study.parent / "results" if output is None else output
    check_free(folder, overwrite=overwrite)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", CertificateWarning)
        least = 0.0 if anyway else LEAST_CHANCE
        ledger = Ledger(study.parent / OPENINGS, least_chance=least)
        try:
            outcome = fit_study(loaded, ledger=ledger, accept_violated=accepted)
        except UnlikelyError as refusal:
            click.echo(visible(str(refusal)))
            click.get_current_context().exit(NOT_TESTED)
    written = outcome.write(folder, overwrite=overwrite)
    certificate = outcome.certificate
    tested = bool(certificate.constraints)
    if tested:
        table = verdict_table(certificate, details=details)
        Console(markup=False, highlight=False).print(table, soft_wrap=True)
        click.echo()
    told = "\n\n".join(paragraphs(certificate, details=details, after_table=tested))
    click.echo(told)
    for warning in (visible(str(each.message)) for each in said):
        if warning[1:] not in told:  # a sentence there may start with a capital
            click.echo(f"\nWarning: {warning}", err=True)
    click.echo("\nWritten: " + ", ".join(visible(str(path)) for path in written))
    if not certificate.passed:
        click.get_current_context().exit(VIOLATED if certificate.objections else NO_SOLUTION)


@click.command(short_help="Fit a built-in population.")
@path_option(
    *("--output", "The folder of the results."),
    folder=True,
    default=Path("demo"),
    show_default=True,
)
def demo(output: Path) -> None:
    """Fit a built-in population twice, and write the reports.

    The first fit finds a model; the second asks for more than its data can show.
    """
    from rich.console import Console

    from elfair.populations import FosterCare
    from elfair.records.files import writing
    from elfair.study.outcome import write_results

    with writing(f"the results in '{output}'"):
        for name in ("solution", "no-solution"):
            (output / name).mkdir(parents=True, exist_ok=True)
    # Statements have square brackets, which markup would read as styles.
    console = Console(markup=False, highlight=False)
    console.print(
        "4,096 simulated young people in foster care. A model predicts who will find work (the "
        "label). Its decision influences who gets support, and how they fare years later is the "
        "impact. Is there a more accurate model that makes neither group T worse off than the old "
        "one?\n"
    )
    population = FosterCare(alpha=0.9)
    found = _fitted(population, n=4096, seed=0)
    console.print(verdict_table(found.certificate_))
    console.print(
        "\nThis population is built in, so the truth is known. In practice you never know it, "
        "which is why the table above bounds it.\n"
    )
    console.print(_truth_table(population, found))
    write_results(found, output / "solution")
    console.print(
        "\nThe same constraints with only 500 people, and with decisions that matter little "
        "compared with everything else in a life:\n"
    )
    missed = _fitted(FosterCare(alpha=0.2), n=500, seed=1)
    console.print(missed.explain(), soft_wrap=True)
    write_results(missed, output / "no-solution")
    console.print(
        f"\nWritten to {output}/solution and {output}/no-solution: the certificate, the report and "
        f"the model. Open {output}/solution/report.html in a browser.",
        soft_wrap=True,
    )


def _fitted(population: FosterCare, *, n: int, seed: int) -> ELFClassifier:
    from elfair.estimators.classifier import ELFClassifier

    draw = population.sample(n, seed=seed)
    return ELFClassifier(population.constraints, delta=0.1).fit(
        draw.features, draw.label, **draw.logged
    )


def _truth_table(population: FosterCare, new: ELFClassifier) -> Table:
    """What the old and the new model truly do: by quadrature, not from the sample."""
    from rich.table import Table

    table = Table("the truth")
    for heading in ("old model", "new model", "change"):
        table.add_column(heading, justify="right")
    both = population.behavior, new
    truth = {
        f"expected impact where T == {group}": [population.impact(each, group) for each in both]
        for group in (0, 1)
    }
    truth["accuracy"] = [population.accuracy(each) for each in both]
    for name, (before, after) in truth.items():
        table.add_row(name, f"{before:.3f}", f"{after:.3f}", f"{after - before:+.3f}")
    return table

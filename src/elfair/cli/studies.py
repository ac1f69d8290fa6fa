"""``elfair init``, ``check``, ``plan`` and ``fit``: from a table to a model; and ``demo``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elfair.cli.output import (
    NO_SOLUTION,
    NOT_TESTED,
    VIOLATED,
    Command,
    json_option,
    tell,
    tells_progress,
    verdict_facts,
)
from elfair.cli.results import (
    details_option,
    path_option,
    print_opening,
    verdict_table,
    within_option,
)
from elfair.records.progress import Progress
from elfair.records.tables import ENDINGS
from elfair.records.text import plural, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from elfair.certificate import Certificate
    from elfair.estimators.classifier import ELFClassifier
    from elfair.populations import FosterCare
    from elfair.study import StudyData, StudyFile
    from elfair.study.outcome import ResultsFolder

_study = click.argument("study", type=click.Path(path_type=Path))
_ledger = path_option(
    "--ledger",
    "The ledger in which looks at rows are counted.  [default: $ELFAIR_LEDGER, or one for each "
    "user]",
)
_server = click.option(
    *("--server", "servers"),
    multiple=True,
    metavar="HOST",
    help="A database server that the study may ask. May be repeated.",
)


def reach(command: Command) -> Command:
    """The options that say what a study may reach, which a stranger may have written."""
    return within_option(_server(command))


@click.command(
    short_help="Draft a study file for a table.",
    help=f"""Look at a table and write a study file for it.

    SOURCE is a file ({ENDINGS}) or the address of a database. Guesses are marked in the file: check
    and correct them.
    """,
)
@click.argument("source")
@click.option("--query", help="The query, if SOURCE is the address of a database.")
@within_option
@path_option(
    *("--output", "The study file; an existing file is not replaced."),
    default=Path("study.toml"),
    show_default=True,
)
@json_option
def init(
    source: str, query: str | None, within: tuple[Path, ...], output: Path, as_json: bool
) -> None:
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
    text = draft_study(source, query=query, folder=output.parent, within=within)
    write_whole(output, text)
    lines = [f"Written: {output}. Guesses are marked '# guess': check and correct them."]
    if todo := lines_to_fill_in(text):
        lines.append(
            f"{plural(len(todo), 'line')} with TODO: only you can fill in what belongs there."
        )
    lines.append(f"Next: elfair check {output}{_leave(source, output.parent)}")
    facts = {"written": str(output), "guesses": text.count("# guess"), "todo": sorted(todo)}
    tell("\n".join(lines), facts, as_json=as_json)


def _leave(source: str, folder: Path) -> str:
    """The options that let a study read what its author named."""
    from elfair.study.databases import is_address, is_server
    from elfair.study.reach import hosts_of

    if is_server(source):
        return "".join(f" --server {host}" for host in hosts_of(source))
    within = Path(source).resolve().parent
    if is_address(source) or within.is_relative_to(folder.resolve()):
        return ""
    return f" --within {shlex.quote(str(within))}"


@click.command(short_help="Check data and settings before a fit.")
@_study
@click.option("--details", is_flag=True, help="Show everything, by statement and by group.")
@reach
@tells_progress
def check(
    study: Path, details: bool, as_json: bool, within: tuple[Path, ...], servers: tuple[str, ...]
) -> None:
    """Check data and settings, and forecast the test, before a fit.

    Shows problems, the chance that a model is released, and rows by group. Impacts and labels of
    held-out rows are not used.
    """
    from elfair.errors import DataError
    from elfair.planning import check as look
    from elfair.records.json import to_plain
    from elfair.study import StudyFile
    from elfair.study.outcome import READ
    from elfair.study.terms import in_study_terms

    loaded = StudyFile.load(study, within=within, servers=servers)
    with Progress("checking"):
        try:
            with Progress("reading the table", end=READ):
                rows = loaded.read()
        except DataError as error:
            raise DataError("\n".join([str(error), *_to_paste(loaded)])) from None
        with Progress(start=READ):
            report = look(loaded.estimator(), rows.in_memory, left_out=rows.without_impact)
    text = in_study_terms(report.text(details=details, more="--details"))
    lines = [text, *_account(rows), *_to_paste(loaded)]
    facts = {"ok": report.ok, **to_plain(report), "outside": rows.outside}
    facts |= {"changes": rows.changes, "proposed": loaded.proposed()}
    tell("\n".join(lines), facts, as_json=as_json)
    if not report.ok:
        click.get_current_context().exit(2)


def _account(rows: StudyData) -> list[str]:
    """How the table was read, and who is outside the study."""
    outside = [f"  {each.reason}: {plural(each.n, 'row')}" for each in rows.outside]
    lines = ["", "Rows outside the study (keep in [rows]):", *outside] if outside else []
    changes = [f"  {each}" for each in rows.changes]
    return lines + (["", "How the table was read:", *changes] if changes else [])


def _to_paste(study: StudyFile) -> list[str]:
    """Lines for the study file that may cure how columns are written."""
    lines = [f"  {line}" for line in study.proposed()]
    return (
        ["", "This may help; check it, and paste it into the study file:", *lines] if lines else []
    )


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
@click.option(
    "--follow-up",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=None,
    help="Propose whom to follow up instead, if this share of people can be, and what it costs.",
)
@path_option("--output", "Write the curve to this SVG file.")
@reach
@tells_progress
def plan(
    study: Path,
    share: float,
    improvement: float | None,
    follow_up: float | None,
    output: Path | None,
    as_json: bool,
    within: tuple[Path, ...],
    servers: tuple[str, ...],
) -> None:
    """Say how many rows, by group, would be needed, and draw the curve.

    Uses candidate rows only: impacts of held-out rows are not used.
    """
    from elfair.planning import plan_follow_up, plan_rows
    from elfair.records.files import write_whole
    from elfair.records.json import to_plain
    from elfair.study import StudyFile
    from elfair.study.outcome import READ
    from elfair.study.terms import in_study_terms

    loaded = StudyFile.load(study, within=within, servers=servers)
    if follow_up is not None:
        followed = plan_follow_up(loaded.estimator(), loaded.read().in_memory, follow_up)
        tell(followed.text(), followed.facts(), as_json=as_json)
        return
    with Progress("planning"):
        with Progress("reading the table", end=READ):
            rows = loaded.read()
        with Progress(start=READ):
            planned = plan_rows(
                loaded.estimator(), rows.in_memory, share=share, improvement=improvement
            )
    if output is not None:
        write_whole(output, planned.svg())
    written = [] if output is None else [str(output)]
    text = "\n\nWritten: ".join([in_study_terms(planned.text()), *written])
    tell(text, {**to_plain(planned), "written": written}, as_json=as_json)


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
@click.option(
    "--continue",
    "earlier",
    type=click.Path(file_okay=False, path_type=Path),
    help="Search for nothing: go on with the models in this folder of results, after 'no solution "
    "found', on the rows that came since. The study must have declared bound = 'growth'.",
)
@_ledger
@details_option
@reach
@tells_progress
def fit(
    study: Path,
    output: Path | None,
    overwrite: bool,
    accepted: tuple[str, ...],
    anyway: bool,
    earlier: Path | None,
    ledger: Path | None,
    details: bool,
    as_json: bool,
    within: tuple[Path, ...],
    servers: tuple[str, ...],
) -> None:
    """Search for a model, test it on held-out rows, and write the results.

    Writes model.elfair, certificate.json and report.html. Held-out rows are tested once, so a model
    that has hardly a chance to pass is not tested. Exit code 0: a model was released; 3: no
    solution found; 4: no solution found, because an assumption is violated; 5: not tested; 2: the
    input is wrong.
    """
    import warnings

    from elfair.data.ledger import Ledger, usual_ledger
    from elfair.data.looks import LEAST_CHANCE
    from elfair.errors import CertificateWarning, SpentError, UnlikelyError
    from elfair.study import StudyFile, continue_study, fit_study
    from elfair.study.outcome import next_folder, results_in

    loaded = StudyFile.load(study, within=within, servers=servers)
    usual = study.parent / "results" if earlier is None else next_folder(earlier)
    with (
        results_in(usual if output is None else output, overwrite=overwrite) as results,
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always", CertificateWarning)
        least = 0.0 if anyway else LEAST_CHANCE
        looks = Ledger(ledger or usual_ledger(), least_chance=least)
        try:
            if earlier is None:
                outcome = fit_study(loaded, ledger=looks, accept_violated=accepted)
            else:
                outcome = continue_study(loaded, earlier, ledger=looks, accept_violated=accepted)
        except (UnlikelyError, SpentError) as refusal:
            tell(str(refusal), {"tested": False, "why": str(refusal)}, as_json=as_json)
            click.get_current_context().exit(NOT_TESTED)
        written = outcome.write_to(results)
    certificate = outcome.certificate
    warned = [visible(str(each.message)) for each in said]
    if as_json:
        facts = _facts_of_fit(certificate, details=details)
        files = [str(path) for path in written]
        tell("", {**facts, "warnings": warned, "written": files}, as_json=True)
    else:
        _print_fit(certificate, warned, details=details)
        click.echo("\nWritten: " + ", ".join(visible(str(path)) for path in written))
    if not certificate.passed:
        click.get_current_context().exit(VIOLATED if certificate.objections else NO_SOLUTION)


def _facts_of_fit(certificate: Certificate, *, details: bool = True) -> dict[str, Any]:
    """What is printed of a fit, for programs."""
    from elfair.certificate.explanation import paragraphs

    results = certificate.constraints
    return {
        **verdict_facts(certificate),
        "tested": bool(results),
        "statements": results,
        "explanation": paragraphs(certificate, details=details, after_table=bool(results)),
    }


def _print_fit(certificate: Certificate, warned: Sequence[str], *, details: bool) -> None:
    """Print the table of the statements, what follows from them, and other warnings."""
    from rich.console import Console

    from elfair.certificate.explanation import paragraphs
    from elfair.study.terms import in_study_terms

    tested = bool(certificate.constraints)
    if tested:
        print_opening(certificate)
        table = verdict_table(certificate, details=details)
        Console(markup=False, highlight=False).print(table, soft_wrap=True)
        click.echo()
    told = in_study_terms("\n\n".join(paragraphs(certificate, details=details, after_table=tested)))
    click.echo(told)
    for warning in warned:
        if in_study_terms(warning)[1:] not in told:  # a sentence there may start with a capital
            click.echo(f"\nWarning: {in_study_terms(warning)}", err=True)


@click.command(short_help="List the looks that were made.")
@_ledger
@json_option
def ledger(ledger: Path | None, as_json: bool) -> None:
    """List the tests that were made: when, of how many rows, and which look each of them was.

    Nothing about anybody can be read from a ledger.
    """
    from elfair.data.ledger import Ledger, usual_ledger

    looks = Ledger(ledger or usual_ledger())
    made = looks.entries()
    lines, facts = [f"{looks.path}: {plural(len(made), 'look')}"], []
    for place, entry in enumerate(made):
        look = entry.look
        number = 1 + len(look.others([each.look for each in made[:place]]))
        which = f"look {number} of {look.declared} declared"
        if look.after:
            which += f", continues {look.after[:12]}"
        rows = plural(entry.people, "row")
        lines.append(f"  {entry.time}  {rows:>14}  {look.test[:12]}  {which}")
        of = {"test": look.test, "look": number, "declared": look.declared, "after": look.after}
        facts.append({"time": entry.time, "rows": entry.people, **of})
    tell("\n".join(lines), {"ledger": str(looks.path), "looks": facts}, as_json=as_json)


@click.command(short_help="Fit a built-in population.")
@path_option(
    *("--output", "The folder of the results."),
    folder=True,
    default=Path("demo"),
    show_default=True,
)
@json_option
def demo(output: Path, as_json: bool) -> None:
    """Fit a built-in population twice, and write the reports.

    The first fit finds a model; the second asks for more than its data can show.
    """
    from elfair.study.outcome import results_in

    with (
        results_in(output / "solution", overwrite=True) as solution,
        results_in(output / "no-solution", overwrite=True) as no_solution,
    ):
        _demonstrate(output, solution, no_solution, as_json)


def _demonstrate(
    output: Path, solution: ResultsFolder, no_solution: ResultsFolder, as_json: bool
) -> None:
    from rich.console import Console

    from elfair.populations import FosterCare

    # Statements have square brackets, which markup would read as styles.
    console = Console(markup=False, highlight=False, quiet=as_json)
    console.print(
        "4,096 simulated young people in foster care. A model predicts who will find work (the "
        "label). Its decision influences who gets support, and how they fare years later is the "
        "impact. Is there a more accurate model that makes neither group T worse off than the old "
        "one?\n"
    )
    population = FosterCare(alpha=0.9)
    found = _fitted(population, n=4096, seed=0)
    if not as_json:
        print_opening(found.certificate_)
    console.print(verdict_table(found.certificate_))
    console.print(
        "\nThis population is built in, so the truth is known. In practice you never know it, "
        "which is why the table above bounds it.\n"
    )
    console.print(_truth_table(population, found))
    solution.write(found)
    console.print(
        "\nThe same constraints with only 500 people, and with decisions that matter little "
        "compared with everything else in a life:\n"
    )
    missed = _fitted(FosterCare(alpha=0.2), n=500, seed=1)
    fits = {"solution": found, "no-solution": missed}
    console.print(missed.explain(), soft_wrap=True)
    no_solution.write(missed)
    console.print(
        f"\nWritten to {output}/solution and {output}/no-solution: the certificate, the report and "
        f"the model. Open {output}/solution/report.html in a browser.",
        soft_wrap=True,
    )
    if as_json:
        facts = {name: _facts_of_fit(each.certificate_) for name, each in fits.items()}
        written = [str(output / name) for name in fits]
        tell("", {**facts, "truth": _truth(population, found), "written": written}, as_json=True)


def _fitted(population: FosterCare, *, n: int, seed: int) -> ELFClassifier:
    from elfair.estimators.classifier import ELFClassifier

    draw = population.sample(n, seed=seed)
    return ELFClassifier(population.constraints, delta=0.1).fit(
        draw.features, draw.label, **draw.logged
    )


def _truth_table(population: FosterCare, new: ELFClassifier) -> Table:
    """What the old and the new model truly do."""
    from rich.table import Table

    table = Table("the truth")
    for heading in ("old model", "new model", "change"):
        table.add_column(heading, justify="right")
    for name, (before, after) in _truth(population, new).items():
        table.add_row(name, f"{before:.3f}", f"{after:.3f}", f"{after - before:+.3f}")
    return table


def _truth(population: FosterCare, new: ELFClassifier) -> dict[str, list[float]]:
    """Impact and accuracy of the old and the new model: by quadrature, not from the sample."""
    both = population.behavior, new
    truth = {
        f"expected impact where T == {group}": [population.impact(each, group) for each in both]
        for group in (0, 1)
    }
    return truth | {"accuracy": [population.accuracy(each) for each in both]}

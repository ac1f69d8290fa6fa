"""``elfair experiment``: run studies, see how far they are, sum them up, draw them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from elfair.experiments.study import Study

_study = click.argument("study")
_store = click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of finished trials.  [default: STUDY.sqlite in this folder]",
)


@click.group()
def experiment() -> None:
    """Compare methods on populations whose truth is known.

    STUDY is a TOML file, or the name of a ready one: see `elfair experiment list`.
    """


@experiment.command()
@_study
@_store
@click.option("--jobs", default=-1, show_default="one for each core", help="Processes.")
@click.option("--dask", metavar="ADDRESS", help="Run on this Dask cluster instead.")
@click.option("--retry-failed", is_flag=True, help="Run trials that failed once more.")
def run(study: str, store: Path | None, jobs: int, dask: str | None, retry_failed: bool) -> None:
    """Run what is missing.

    Each trial is stored as it finishes: stopped at any moment, the same command goes on.
    """
    from elfair.experiments.runner import run as run_study

    loaded, store = _opened(study, store)
    try:
        tally = run_study(loaded, store, jobs=jobs, dask=dask, retry_failed=retry_failed)
    except KeyboardInterrupt:
        click.echo(
            f"Stopped. Every trial that finished is in {store}.\n"
            "Hint: run the same command again to go on.",
            err=True,
        )
        # What a shell says of a command ended by Ctrl-C.
        click.get_current_context().exit(130)
    click.echo(f"{tally.finished:,} trials run, {tally.failed:,} of them failed; all in {store}.")
    if tally.failed:
        click.echo(
            f"Hint: `elfair experiment status {study}` shows which failed and why.", err=True
        )


@experiment.command()
@_study
@_store
def status(study: str, store: Path | None) -> None:
    """Show how far it is, what failed, and where the time goes."""
    from elfair.experiments.status import described
    from elfair.experiments.store import Store

    loaded, store = _opened(study, store)
    trials = Store.read(store, loaded)[1]
    click.echo(described(loaded, trials))
    _warn_of_versions(store)


@experiment.command()
@_study
@_store
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "csv"]),
    default="text",
    show_default=True,
)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it there.")
def summarize(study: str, store: Path | None, form: str, output: Path | None) -> None:
    """Sum it up, with standard errors: solutions, accuracy, failures, data efficiency."""
    text = getattr(_summary(*_opened(study, store)), form)()
    if output is None:
        click.echo(text)
    else:
        output.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


@experiment.command()
@_study
@_store
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="A folder; made where there is none.",
)
def plot(study: str, store: Path | None, output: Path) -> None:
    """Draw its figures, as PNG and SVG."""
    from elfair.experiments.figures import draw

    loaded, store = _opened(study, store)
    for path in draw(loaded, _summary(loaded, store), output):
        click.echo(path)
    _warn_of_versions(store)


@experiment.command("list")
def list_() -> None:
    """List ready studies, populations and methods."""
    from inspect import signature

    from elfair.baselines import METHODS
    from elfair.experiments.populations import POPULATIONS
    from elfair.experiments.study import ready_studies

    _section("Studies", ready_studies())
    settings = {
        name: ", ".join(
            each.name if each.default is each.empty else f"{each.name} = {each.default!r}"
            for each in signature(make).parameters.values()
        )
        or "none"
        for name, make in POPULATIONS.items()
    }
    _section("Populations, with their settings", settings)
    _section("Methods", {name: method.label for name, method in METHODS.items()})


def _section(title: str, entries: dict[str, str]) -> None:
    click.echo(f"{title}:")
    width = max(map(len, entries))
    for name, text in entries.items():
        click.echo(f"  {name.ljust(width)}  {text}")


def _opened(name: str, store: Path | None) -> tuple[Study, Path]:
    """The study, and where its trials are."""
    from elfair.experiments.study import Study

    return Study.load(name), store or Path(f"{Path(name).stem}.sqlite")


def _summary(study: Study, store: Path) -> Any:
    """What the trials so far came to."""
    from elfair.baselines import METHODS, get_method
    from elfair.errors import InputError
    from elfair.experiments.store import Store
    from elfair.experiments.summary import summarize

    trials = Store.read(store, study)[1]
    if not trials:
        raise InputError(
            f"{store} must hold at least one trial. Got none.",
            hint="`elfair experiment run` makes some.",
        )
    # The label of a known method is known even where what it needs is not installed.
    labels = {name: (METHODS.get(name) or get_method(name)).label for name in study.methods}
    return summarize(study, trials, labels, sources=Store.sources(store))


def _warn_of_versions(store: Path) -> None:
    from elfair.experiments.store import Store

    sources = Store.sources(store)
    if len(sources) > 1:
        counts = ", ".join(f"{count:,} by {source}" for source, count in sources.items())
        click.echo(
            f"Warning: these trials were run by {len(sources)} versions of elfair's source "
            f"({counts}).\nHint: for results of one version, run the study in another --store.",
            err=True,
        )

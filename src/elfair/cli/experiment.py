"""``elfair experiment``: run studies, see how far they are, sum them up, draw them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elfair.cli.results import deliver

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
@click.option("--retry-failed", is_flag=True, help="Run trials that crashed once more.")
def run(study: str, store: Path | None, jobs: int, dask: str | None, retry_failed: bool) -> None:
    """Run what is missing.

    Each trial is stored as it finishes: stopped at any moment, the same command goes on.
    """
    from elfair.experiments.runner import run as run_study

    loaded, path = _opened(study, store, runnable=True)
    try:
        tally = run_study(loaded, path, jobs=jobs, dask=dask, retry_failed=retry_failed)
    except KeyboardInterrupt:
        click.echo(
            f"Stopped. Every trial that finished is in {path}.\n"
            "Hint: run the same command again to go on.",
            err=True,
        )
        click.get_current_context().exit(130)
    trials = "trial" if tally.finished == 1 else "trials"
    click.echo(f"{tally.finished:,} {trials} run, {tally.failed:,} of them crashed; all in {path}.")
    if tally.failed:
        asked = [study] if store is None else [study, "--store", str(store)]
        click.echo(
            f"Hint: `elfair experiment status {shlex.join(asked)}` shows which crashed and why.",
            err=True,
        )
    _warn_of_edits(loaded, path)
    _warn_of_versions(path)


@experiment.command()
@_study
@_store
def status(study: str, store: Path | None) -> None:
    """Show how far it is, what crashed, and where the time goes."""
    from elfair.experiments.status import described
    from elfair.experiments.store import Store

    loaded, store = _opened(study, store)
    trials = Store.read(store, loaded)[1]
    click.echo(described(loaded, trials))
    if any(trial.error for trial in trials):
        click.echo(
            "\nWhere each of these happened is in the column 'error' of the table 'trials' of "
            f"{store}."
        )
    _warn_of_edits(loaded, store)
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
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it there; the folder is made where there is none.",
)
def summarize(study: str, store: Path | None, form: str, output: Path | None) -> None:
    """Sum it up, with standard errors: solutions, accuracy, failures, data efficiency."""
    loaded, store = _opened(study, store)
    text = getattr(_summary(loaded, store), form)()
    if output is not None:
        with _writing(output):
            output.parent.mkdir(parents=True, exist_ok=True)
    deliver(text, output)
    _warn_of_edits(loaded, store)


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
    summary = _summary(loaded, store)
    with _writing(output):
        for path in draw(loaded, summary, output):
            click.echo(path)
    _warn_of_edits(loaded, store)
    _warn_of_versions(store)


@experiment.command("list")
def list_() -> None:
    """List ready studies, populations and methods."""
    from inspect import signature

    from elfair.experiments.baselines.registry import METHODS
    from elfair.experiments.study import ready_studies
    from elfair.populations import POPULATIONS

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


@experiment.command()
@_study
def show(study: str) -> None:
    """Print a study's TOML, to be copied: `elfair experiment show figure-3 > mine.toml`."""
    from elfair.experiments.study import study_text

    click.echo(study_text(study), nl=False)


def _section(title: str, entries: dict[str, str]) -> None:
    click.echo(f"{title}:")
    width = max(map(len, entries))
    for name, text in entries.items():
        click.echo(f"  {name.ljust(width)}  {text}")


def _opened(name: str, store: Path | None, *, runnable: bool = False) -> tuple[Study, Path]:
    """The study, and where its trials are."""
    from elfair.experiments.study import Study

    loaded = Study.load(name, runnable=runnable)
    return loaded, store or Path(f"{Path(name).stem}.sqlite")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """What keeps a file or a folder from being written, in one message."""
    from elfair.errors import InputError

    try:
        yield
    except OSError as error:
        raise InputError(
            f"--output must be a place that can be written. Got {str(path)!r} instead "
            f"({error.strerror or error}).",
            hint="may you write there, and is there space on the disk?",
        ) from None


def _summary(study: Study, store: Path) -> Any:
    """What the trials so far came to."""
    from elfair.errors import InputError
    from elfair.experiments.store import Store
    from elfair.experiments.summary import summarize

    trials = Store.read(store, study)[1]
    if not trials:
        raise InputError(
            f"{store} must hold at least one trial. Got none.",
            hint="`elfair experiment run` makes some.",
        )
    return summarize(study, trials, sources=Store.sources(store))


def _warn_of_versions(store: Path) -> None:
    from elfair.experiments.store import Store

    sources = Store.sources(store)
    if len(sources) > 1:
        counts = ", ".join(f"{count:,} by {source}" for source, count in sources.items())
        click.echo(
            f"Warning: these trials were run by {len(sources)} versions of the code "
            f"({counts}).\nHint: for results of one version, run the study in another --store.",
            err=True,
        )


def _warn_of_edits(study: Study, store: Path) -> None:
    """Trials of a method whose module has changed since: they are not run again by themselves."""
    from elfair.experiments.store import Store
    from elfair.experiments.trial import module_digest

    for method, versions in Store.versions(store).items():
        now = module_digest(method) if method in study.methods else ""
        before = {source.partition("+")[2]: count for source, count in versions.items()}
        old = sum(count for module, count in before.items() if module and module != now)
        if now and old:
            click.echo(
                f"Warning: {old:,} {'trial' if old == 1 else 'trials'} of {method} were run before "
                "its module was changed: these are results of the old code.\n"
                "Hint: for those of the new one, run the study in another --store.",
                err=True,
            )

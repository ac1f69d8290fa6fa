"""``elfair experiment``: run experiments, show their progress, summarise and draw them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elfair.cli.results import deliver, format_option, path_option
from elfair.records.files import writing
from elfair.records.text import plural

if TYPE_CHECKING:
    from elfair.experiments.experiment import Experiment

_experiment = click.argument("experiment")
_store = path_option(
    "--store", "The file of finished trials.  [default: EXPERIMENT.sqlite in this folder]"
)


@click.group()
def experiment() -> None:
    """Compare methods on populations whose truth is known.

    EXPERIMENT is a TOML file, or the name of a built-in experiment: see `elfair experiment list`.
    """


@experiment.command()
@_experiment
@_store
@click.option("--jobs", default=-1, show_default="one for each core", help="Processes.")
@click.option("--dask", metavar="ADDRESS", help="Run on this Dask cluster instead.")
@click.option("--retry-failed", is_flag=True, help="Run crashed trials once more.")
def run(
    experiment: str, store: Path | None, jobs: int, dask: str | None, retry_failed: bool
) -> None:
    """Run the missing trials of an experiment.

    Each trial is stored as it finishes. If you stop a run, the same command continues it.
    """
    from elfair.experiments.runner import run as run_experiment

    loaded, path = _opened(experiment, store, runnable=True)
    try:
        tally = run_experiment(loaded, path, jobs=jobs, dask=dask, retry_failed=retry_failed)
    except KeyboardInterrupt:
        click.echo(
            f"Stopped. All finished trials are in {path}.\n"
            "Hint: run the same command again to continue.",
            err=True,
        )
        click.get_current_context().exit(130)
    ran = plural(tally.finished, "trial")
    click.echo(f"{ran} run, {tally.failed:,} crashed; stored in {path}.")
    if tally.failed:
        asked = [experiment] if store is None else [experiment, "--store", str(store)]
        click.echo(
            f"Hint: `elfair experiment status {shlex.join(asked)}` shows which crashed and why.",
            err=True,
        )
    _warn(loaded, path)


@experiment.command()
@_experiment
@_store
def status(experiment: str, store: Path | None) -> None:
    """Show the progress of an experiment, its crashes, and the time of each method."""
    from elfair.experiments.progress import described
    from elfair.experiments.store import Store

    loaded, store = _opened(experiment, store)
    trials = Store.read(store, loaded)[1]
    click.echo(described(loaded, trials))
    if any(trial.error for trial in trials):
        click.echo(
            "\nThe full traceback of each is in the column 'error' of the table 'trials' of "
            f"{store}."
        )
    _warn(loaded, store)


@experiment.command()
@_experiment
@_store
@format_option("text", "markdown", "csv")
@path_option("--output", "Write to this file; its folder is created if necessary.")
def summarize(experiment: str, store: Path | None, form: str, output: Path | None) -> None:
    """Summarise solutions, accuracy, failures and data efficiency, with standard errors."""
    loaded, store = _opened(experiment, store)
    text = getattr(_summary(loaded, store), form)()
    if output is not None:
        with writing(f"'{output}'"):
            output.parent.mkdir(parents=True, exist_ok=True)
    deliver(text, output)
    _warn(loaded, store, of_versions=False)  # the summary names them


@experiment.command()
@_experiment
@_store
@path_option("--output", "A folder; it is created if necessary.", folder=True, required=True)
def plot(experiment: str, store: Path | None, output: Path) -> None:
    """Draw the figures of an experiment, as PNG and SVG."""
    from elfair.experiments.figures import draw

    loaded, store = _opened(experiment, store)
    summary = _summary(loaded, store)
    with writing(f"the figures in '{output}'"):
        for path in draw(loaded, summary, output):
            click.echo(path)
    _warn(loaded, store)


@experiment.command("list")
def list_() -> None:
    """List built-in experiments, populations and methods."""
    from inspect import signature

    from elfair.experiments.baselines import METHODS
    from elfair.experiments.experiment import ready_experiments
    from elfair.populations import POPULATIONS

    _section("Experiments", ready_experiments())
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
@_experiment
def show(experiment: str) -> None:
    """Print an experiment's file, to copy it: `elfair experiment show figure-3 > mine.toml`."""
    from elfair.experiments.experiment import experiment_text

    click.echo(experiment_text(experiment), nl=False)


def _section(title: str, entries: dict[str, str]) -> None:
    click.echo(f"{title}:")
    width = max(map(len, entries))
    for name, text in entries.items():
        click.echo(f"  {name.ljust(width)}  {text}")


def _opened(name: str, store: Path | None, *, runnable: bool = False) -> tuple[Experiment, Path]:
    """The experiment, and the path of its store."""
    from elfair.experiments.experiment import Experiment

    loaded = Experiment.load(name, runnable=runnable)
    return loaded, store or Path(f"{Path(name).stem}.sqlite")


def _summary(experiment: Experiment, store: Path) -> Any:
    """The summary of the trials so far."""
    from elfair.errors import InputError
    from elfair.experiments.store import Store
    from elfair.experiments.summary import summarize

    trials = Store.read(store, experiment)[1]
    if not trials:
        raise InputError(
            f"{store} must contain at least one trial. Got none.",
            hint="`elfair experiment run` runs them.",
        )
    return summarize(experiment, trials, sources=Store.sources(store))


def _warn(experiment: Experiment, store: Path, *, of_versions: bool = True) -> None:
    """Warn about trials that several versions of the code ran, and about trials of a method whose
    module has changed since: they are not run again.
    """
    from elfair.experiments.store import Store
    from elfair.experiments.trial import module_digest

    sources, said = Store.sources(store), []
    if of_versions and len(sources) > 1:
        counts = ", ".join(f"{count:,} by {source}" for source, count in sources.items())
        said.append(
            (f"{len(sources)} versions of the code ran these trials ({counts}).", "one version")
        )
    for method, versions in Store.versions(store).items():
        now = module_digest(method) if method in experiment.methods else ""
        before = {source.partition("+")[2]: count for source, count in versions.items()}
        old = sum(count for module, count in before.items() if module and module != now)
        if now and old:
            ran = f"{plural(old, 'trial')} of {method} ran before its module was changed"
            said.append((f"{ran}: they are results of the old code.", "the new code"))
    for warning, wanted in said:
        click.echo(
            f"Warning: {warning}\n"
            f"Hint: for results of {wanted}, run the experiment with another --store.",
            err=True,
        )

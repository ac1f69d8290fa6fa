"""``elfair experiment``: run experiments, show their progress, summarise and draw them."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elfair.cli.output import json_option, tell, tells_progress
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
@tells_progress
def run(
    experiment: str,
    store: Path | None,
    jobs: int,
    dask: str | None,
    retry_failed: bool,
    as_json: bool,
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
    facts = {"run": tally.finished, "crashed": tally.failed, "store": str(path)}
    tell(f"{ran} run, {tally.failed:,} crashed; stored in {path}.", facts, as_json=as_json)
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
@json_option
def status(experiment: str, store: Path | None, as_json: bool) -> None:
    """Show the progress of an experiment, its crashes, and the time of each method."""
    from elfair.experiments.progress import described, facts_of
    from elfair.experiments.store import Store

    loaded, store = _opened(experiment, store)
    trials = Store.read(store, loaded)[1]
    text = described(loaded, trials)
    if any(trial.error for trial in trials):
        text += (
            "\n\nThe full traceback of each is in the column 'error' of the table 'trials' of "
            f"{store}."
        )
    tell(text, {**facts_of(loaded, trials), "store": str(store)}, as_json=as_json)
    _warn(loaded, store)


@experiment.command()
@_experiment
@_store
@format_option("text", "markdown", "csv")
@path_option("--output", "Write to this file; its folder is created if necessary.")
@json_option
def summarize(
    experiment: str, store: Path | None, form: str, output: Path | None, as_json: bool
) -> None:
    """Summarise solutions, accuracy, failures and data efficiency, with standard errors."""
    loaded, store = _opened(experiment, store)
    summary = _summary(loaded, store)
    text = summary.to_json() if as_json else getattr(summary, form)()
    if output is not None:
        with writing(f"'{output}'"):
            output.parent.mkdir(parents=True, exist_ok=True)
    deliver(text, output)
    _warn(loaded, store, of_versions=False)  # the summary names them


@experiment.command()
@_experiment
@_store
@path_option("--output", "A folder; it is created if necessary.", folder=True, required=True)
@json_option
def plot(experiment: str, store: Path | None, output: Path, as_json: bool) -> None:
    """Draw the figures of an experiment, as PNG and SVG."""
    from elfair.experiments.figures import draw

    loaded, store = _opened(experiment, store)
    summary = _summary(loaded, store)
    with writing(f"the figures in '{output}'"):
        drawn = [str(path) for path in draw(loaded, summary, output)]
    tell("\n".join(drawn), {"written": drawn}, as_json=as_json)
    _warn(loaded, store)


@experiment.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List built-in experiments, populations and methods."""
    from inspect import signature

    from elfair.experiments.baselines import METHODS
    from elfair.experiments.experiment import ready_experiments
    from elfair.populations import POPULATIONS

    settings = {
        name: ", ".join(
            each.name if each.default is each.empty else f"{each.name} = {each.default!r}"
            for each in signature(make).parameters.values()
        )
        or "none"
        for name, make in POPULATIONS.items()
    }
    sections = {
        "Experiments": ready_experiments(),
        "Populations, with their settings": settings,
        "Methods": {name: method.label for name, method in METHODS.items()},
    }
    facts = {title.split(",")[0].lower(): each for title, each in sections.items()}
    lines = [line for title, each in sections.items() for line in _section(title, each)]
    tell("\n".join(lines), facts, as_json=as_json)


@experiment.command()
@_experiment
@json_option
def show(experiment: str, as_json: bool) -> None:
    """Print an experiment's file, to copy it: `elfair experiment show figure-3 > mine.toml`."""
    from elfair.experiments.experiment import experiment_text

    text = experiment_text(experiment)
    if as_json:
        tell("", {"experiment": tomllib.loads(text), "text": text}, as_json=True)
    else:
        click.echo(text, nl=False)


def _section(title: str, entries: dict[str, str]) -> list[str]:
    width = max(map(len, entries))
    return [f"{title}:", *(f"  {name.ljust(width)}  {text}" for name, text in entries.items())]


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

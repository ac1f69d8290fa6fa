"""The paper's experiments: from the trials of `elfair experiment` to docs/results.md.

    python benchmarks/paper.py          # writes from what is there
    python benchmarks/paper.py --run    # runs what is missing first: about 3 hours of 2 cores

The trials lie in studies/, which is not committed: studies/appendix.sqlite is what
`elfair experiment run appendix --store studies/appendix.sqlite` makes. What is committed is small:
a CSV file and the figures of each experiment, and docs/results/runs.json. The page (see
paper_page.py) and the few lines in the README are written from those alone.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from PIL import Image
from sklearn.linear_model import LogisticRegression

import paper_page
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.experiments.baselines import METHODS
from elfair.experiments.experiment import Experiment
from elfair.experiments.figures import draw
from elfair.experiments.runner import run
from elfair.experiments.store import Store
from elfair.experiments.summary import GUARANTEED, PAPER, Summary, summarize
from elfair.experiments.trial import TrialRecord
from elfair.populations import FosterCare, make_population
from elfair.populations.base import GROUPS
from pages import DOCS, machine, write_into
from paper_page import EXPERIMENTS

STORES = Path(__file__).parents[1] / "studies"
RESULTS = DOCS / "results"
LABELS = {name: method.label for name, method in METHODS.items()}
SHOWN_RATES = (
    "logistic-regression",
    "qsa-predictive-equality",
    "qsa-disparate-impact",
    "fairlearn-demographic-parity",
)


def record(name: str) -> None:
    """Write what a finished experiment found: its CSV file, its figures, when and where it ran."""
    experiment, path = Experiment.load(name), STORES / f"{name}.sqlite"
    if not path.exists():
        print(f"{name}: no trials at {path}; what is committed stays.")
        return
    trials = Store.read(path, experiment)[1]
    if len(trials) < experiment.trials:
        print(f"{name}: {len(trials):,} of {experiment.trials:,} trials; what is committed stays.")
        return
    summary = summarize(experiment, trials, LABELS, sources=Store.sources(path))
    table, runs = RESULTS / f"{name}.csv", RESULTS / "runs.json"
    known = json.loads(runs.read_text()) if runs.exists() else {}
    entry = described(experiment, summary, trials, path)
    if name in known and table.exists() and table.read_text() == summary.csv():
        # The same trials were recorded before, perhaps elsewhere.
        entry |= {key: known[name][key] for key in ("date", "machine")}
    known[name] = entry
    table.parent.mkdir(exist_ok=True)
    table.write_text(summary.csv())
    runs.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    illustrate(name, experiment, summary)
    if name == "appendix":
        third = Experiment.load("figure-3")  # its trials are some of these
        own = [trial for trial in trials if trial.method in third.methods]
        illustrate("figure-3", third, summarize(third, own, LABELS))


def described(
    experiment: Experiment, summary: Summary, trials: Iterable[TrialRecord], path: Path
) -> dict[str, Any]:
    """What a CSV file does not hold."""
    return {
        "title": experiment.title,
        "population": experiment.population,
        "delta": experiment.delta,
        "date": date.fromtimestamp(path.stat().st_mtime).isoformat(),
        "machine": machine(),
        "warnings": list(summary.warnings),
        "below_floor": below_floor(experiment, trials),
        "efficiency": [
            {
                "settings": json.loads(each.settings),
                "n": each.n,
                "rate": each.rate,
                "accuracy": each.accuracy,
                "rows": each.rows,
                "ratio": each.ratio,
                "at_least": each.at_least,
                "interval": each.interval,
            }
            for each in summary.efficiency
        ],
    }


def below_floor(experiment: Experiment, trials: Iterable[TrialRecord]) -> dict[str, float]:
    """By ELF method, the largest share over cells of trials whose model is not accurate enough."""
    population = make_population(experiment.population, json.loads(experiment.combinations[0]))
    [floor] = [
        float(found[1])
        for text in population.constraints
        if (found := re.fullmatch(r"accuracy >= ([\d.]+)", text))
    ]
    below: Counter[tuple[str, str, int]] = Counter()
    for trial in trials:
        if trial.method in (*GUARANTEED, PAPER) and trial.accuracy is not None:
            below[trial.method, trial.settings, trial.n] += trial.accuracy < floor
    shares: dict[str, float] = {}
    for (method, _, n), count in below.items():
        shares[method] = max(shares.get(method, 0.0), count / experiment.seeds[n])
    return shares


def illustrate(name: str, experiment: Experiment, summary: Summary) -> None:
    """Draw the figures that the page shows. With 256 colours pictures are a third of the size."""
    for path in draw(experiment, summary, RESULTS / "figures" / name):
        if path.stem == "methods":  # all of it is in the other figures of these experiments
            path.unlink()
        elif path.suffix == ".png":
            with Image.open(path) as picture:
                small = picture.convert("RGB").quantize(256)
            small.save(path, optimize=True)


def rates() -> str:
    """Who gets decisions: why static methods harm whom they harm."""
    population = FosterCare(alpha=1.0)  # the impact is the decision
    log = population.sample(32_768, seed=0)
    models: dict[str, Any] = {"behaviour model": population.behavior}
    for name in SHOWN_RATES:
        with counted_in(LooksOfProcess()):  # each method is a study of its own
            models[LABELS[name]] = METHODS[name].fit(log, [], delta=0.1, seed=0)
    labels = [log.label[log.group == group].mean() for group in GROUPS]
    rows = [["people with label 1", *(f"{share:.2f}" for share in labels), ""]]
    for name, model in models.items():
        truth = population.truth(model)
        shares = [f"{truth.impact[group]:.2f}" for group in GROUPS]
        rows.append([name, *shares, f"{truth.accuracy:.2f}"])
    guess = LogisticRegression().fit(log.features, log.group)
    known = guess.score(log.features, log.group)
    return (
        paper_page.table(["share of decisions 1", "T = 0", "T = 1", "accuracy"], rows)
        + f"\n\n(One data set of 32,768 rows. From the features, the group can be guessed right in "
        f"{100 * known:.0f} % of cases; without looking, in {100 * (1 - log.group.mean()):.0f} %.)"
    )


def main() -> None:
    """Run what is missing if asked to, record it, and write the pages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run what is missing first")
    if parser.parse_args().run:
        STORES.mkdir(exist_ok=True)
        for name in EXPERIMENTS:
            run(Experiment.load(name), STORES / f"{name}.sqlite", jobs=-1)
    for name in EXPERIMENTS:
        record(name)
    paper_page.write()
    write_into("results.md", "rates", rates())


if __name__ == "__main__":
    main()

"""The pictures of docs/plots.md.

python benchmarks/gallery.py      # writes docs/gallery: seconds
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl

from elfair import ELFClassifier, LoggedData, compare, plan_rows
from elfair.populations import FosterCare

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"
NAMES = {
    "people": "young people",
    "columns": {"impact": "well-being"},
    "groups": {"T": {"0": "other", "1": "foster"}},
}


def figures() -> dict[str, mpl.figure.Figure]:
    """Each picture, by its name."""
    population = FosterCare(alpha=0.9)
    log = population.sample(2000, seed=0)
    data = LoggedData(log.features, log.label, **log.logged)
    clf = ELFClassifier(population.constraints, delta=0.1, looks=2)
    certificate = clf.fit(data).certificate_.stating(names=NAMES)
    cautious = ELFClassifier(population.constraints, delta=0.1, candidates=1, looks=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = cautious.fit(data).certificate_
    return {
        "impact": certificate.plot_impact().figure_,
        "constraints": certificate.plot_constraints().figure_,
        "tradeoff": certificate.plot_tradeoff(group="T == 1").figure_,
        "weights": certificate.plot_weights(group="T == 1").figure_,
        "compare": compare({"ladder": certificate, "one model": first}).plot().figure,
        "plan": plan_rows(ELFClassifier(population.constraints), data).plot().figure_,
    }


def main() -> None:
    """Write them."""
    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "elfair"  # the same names in every run
    FOLDER.mkdir(exist_ok=True)
    for name, figure in figures().items():
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Creator": None})
        print(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main()

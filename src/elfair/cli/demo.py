"""``elfair demo``: two fits of the built-in foster-care-like population.

The first finds a model; the second asks for more than its data can show, and finds none.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from elfair.cli.results import verdict_table
from elfair.errors import InputError
from elfair.estimators.classifier import ELFClassifier
from elfair.populations import FosterCare
from elfair.study.outcome import write_results


def main(output: str | Path = "demo") -> None:
    """Fit twice, print the results, and write them to a folder.

    Parameters
    ----------
    output : str or Path, default "demo"
        The folder; it is created if it does not exist.
    """
    # Statements have square brackets, which markup would read as styles.
    console = Console(markup=False, highlight=False)
    folder = Path(output)
    try:
        for name in ("solution", "no-solution"):
            (folder / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder '{folder}' could not be created: {error.strerror}.",
            hint="name another folder with --output.",
        ) from None

    console.print(
        "4,096 simulated young people in foster care. A model predicts who will find work (the "
        "label). Its decision influences who gets support, and how they fare years later is the "
        "impact. Is there a more accurate model that makes neither group T worse off than the old "
        "one?\n"
    )
    population = FosterCare(alpha=0.9)
    found = _fit(population, n=4096, seed=0)
    console.print(verdict_table(found.certificate_))
    console.print(
        "\nThis population is built in, so the truth is known. In practice you never know it, "
        "which is why the table above bounds it.\n"
    )
    console.print(_truth_table(population, found))
    write_results(found, folder / "solution")

    console.print(
        "\nThe same constraints with only 500 people, and with decisions that matter little "
        "compared with everything else in a life:\n"
    )
    missed = _fit(FosterCare(alpha=0.2), n=500, seed=1)
    console.print(missed.explain(), soft_wrap=True)
    write_results(missed, folder / "no-solution")

    console.print(
        f"\nWritten to {folder}/solution and {folder}/no-solution: the certificate, the report and "
        f"the model. Open {folder}/solution/report.html in a browser.",
        soft_wrap=True,
    )


def _fit(population: FosterCare, *, n: int, seed: int) -> ELFClassifier:
    draw = population.sample(n, seed=seed)
    return ELFClassifier(population.constraints, delta=0.1).fit(
        draw.features, draw.label, **draw.logged
    )


def _truth_table(population: FosterCare, new: ELFClassifier) -> Table:
    """What the old and the new model truly do: by quadrature, not from the sample."""
    old = population.behavior
    truth = {
        f"expected impact where T == {group}": (
            population.impact(old, group),
            population.impact(new, group),
        )
        for group in (0, 1)
    }
    truth["accuracy"] = (population.accuracy(old), population.accuracy(new))
    table = Table("the truth")
    for heading in ("old model", "new model", "change"):
        table.add_column(heading, justify="right")
    for name, (before, after) in truth.items():
        table.add_row(name, f"{before:.3f}", f"{after:.3f}", f"{after - before:+.3f}")
    return table

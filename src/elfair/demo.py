"""``python -m elfair.demo``: fit the built-in foster-care-like population and show the verdict."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from elfair.classifier import ELFClassifier
from elfair.experiments import FosterCare
from elfair.report.terminal import verdict_table


def main(output: str = "demo") -> None:
    """Fit, print the verdict table, and write certificate and explanation to a folder."""
    population = FosterCare(alpha=0.9)
    draw = population.sample(4096, seed=0)
    classifier = ELFClassifier(population.constraints, delta=0.1)
    classifier.fit(
        draw.features,
        draw.label,
        sensitive_features={"T": draw.group},
        decision=draw.decision,
        propensity=draw.propensity,
        impact=draw.impact,
    )
    console = Console()
    console.print(
        "4,096 young people leaving foster care (simulated): who gets extra support, so that later "
        "employment of neither group T falls behind what the old model achieved?\n"
    )
    console.print(verdict_table(classifier.certificate_))
    if classifier.solution_found_:
        old, new = population.behavior, classifier
        console.print(
            "\nThis population is built in, so the truth is known (in practice it never is):\n"
            f"  accuracy {population.accuracy(old):.3f} -> {population.accuracy(new):.3f}"
        )
        for group in (0, 1):
            before, after = population.impact(old, group), population.impact(new, group)
            console.print(f"  impact where T == {group}: {before:.3f} -> {after:.3f}")
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "certificate.json").write_text(classifier.certificate_.to_json() + "\n")
    (folder / "explanation.txt").write_text(classifier.explain() + "\n")
    console.print(f"\nWritten to {folder}/: certificate.json, explanation.txt")


if __name__ == "__main__":
    main()

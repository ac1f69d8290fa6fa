"""How long a fit takes, beside scikit-learn's logistic regression on the same features and labels.

Processor time of one thread, the median of several fits after a first one that is not counted, both
in one run: compare the ratio, not the milliseconds.

    python benchmarks/speed.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from elfair import ELFClassifier
from elfair.populations import FosterCare
from pages import stamp, write_into

SIZES = (1_000, 4_096, 100_000)
REPEATS = 15
IMPORTS = 7


def median_ms(fit: Callable[[], object]) -> float:
    """The median processor time of a fit, in milliseconds."""
    fit()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        fit()
        times.append(time.process_time() - start)
    return 1000 * float(np.median(times))


def import_ms(statement: str) -> float:
    """The processor time of an import in a fresh process, in milliseconds."""
    code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return 1000 * float(done.stdout)


def compared_imports(ours: str, theirs: str) -> str:
    """By how much the processor times of two imports differ: the median of pairs."""
    more = float(np.median([import_ms(ours) - import_ms(theirs) for _ in range(IMPORTS)]))
    return (
        f"`{ours}` takes {abs(more):.0f} ms {'more' if more >= 0 else 'less'} than `{theirs}` "
        f"(processor time, median of {IMPORTS} pairs of fresh processes)."
    )


def main() -> None:
    """Measure, print, and put the table into the page."""
    lines = [
        "| n | default | doubly robust | paper (CMA-ES) | LogisticRegression | default / LR |",
        "|---|---|---|---|---|---|",
    ]
    for n in SIZES:
        population = FosterCare(alpha=0.9)
        draw = population.sample(n, seed=3)
        logged = {
            "sensitive_features": {"T": draw.group},
            "decision": draw.decision,
            "propensity": draw.propensity,
            "impact": draw.impact,
        }

        def fit(model: ELFClassifier, draw=draw, logged=logged) -> Callable[[], object]:
            return lambda: model.fit(draw.features, draw.label, **logged)

        constraints = population.constraints
        default = median_ms(fit(ELFClassifier(constraints)))
        robust = median_ms(fit(ELFClassifier(constraints, estimator="dr")))
        paper = "" if n > 4_096 else f"{median_ms(fit(ELFClassifier.paper(constraints))):.0f} ms"
        plain = median_ms(lambda draw=draw: LogisticRegression().fit(draw.features, draw.label))
        lines.append(
            f"| {n:,} | {default:.1f} ms | {robust:.1f} ms | {paper} | {plain:.1f} ms "
            f"| {default / plain:.1f} |"
        )
    # `import elfair` alone reads hardly anything: names are imported when they are asked for.
    imports = compared_imports("from elfair import ELFClassifier", "import sklearn.linear_model")
    text = (
        f"Processor time, one thread, median of {REPEATS} fits; 5 features, 3 constraints. "
        f"{stamp()}.\n\n" + "\n".join(lines) + f"\n\n{imports}"
    )
    print(text)
    write_into("results.md", "speed", text)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()

"""What a fit costs whose rows stay in Parquet files, beside a bare scan of the same columns.

Each fit runs in a process of its own: its processor time and its peak memory (resident, with Python
and all libraries, which are what it takes to fit the fewest rows).

    python benchmarks/any_size.py [rows ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from elfair.populations import FosterCare
from pages import stamp, write_into

SIZES = (10_000, 300_000, 3_000_000)
#: Rows of each file, which are drawn together.
PIECE = 500_000
FEATURES = 10
FIT = """
import json, resource, sys, time
from pyarrow import dataset
from elfair import ELFClassifier, LoggedBatches
folder, features = sys.argv[1], int(sys.argv[2])
names = [f"x{j}" for j in range(features)]
columns = [*names, "T", "y", "d", "p", "i"]
start = time.process_time()
for batch in dataset.dataset(folder).to_batches(columns=columns):
    pass
scan = time.process_time() - start
start = time.process_time()
rows = LoggedBatches(folder, features=names, y="y", sensitive_features="T", decision="d",
                     propensity="p", impact="i")
model = ELFClassifier(
    [*(f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)), "accuracy >= 0.75"],
    bound="guarded",
).fit(rows)
print(json.dumps({
    "scan": scan, "fit": time.process_time() - start, "passed": bool(model.solution_found_),
    "searched": model.certificate_.search.rows,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def write(folder: Path, n: int) -> None:
    """The population's five features, and five more that tell nothing."""
    for k, start in enumerate(range(0, n, PIECE)):
        rows = min(PIECE, n - start)
        draw = FosterCare(alpha=0.9).sample(rows, seed=k)
        noise = np.random.default_rng(k).normal(size=(rows, FEATURES - draw.features.shape[1]))
        X = np.column_stack([draw.features, noise])
        columns = {f"x{j}": X[:, j] for j in range(FEATURES)} | {
            "T": draw.group, "y": draw.label, "d": draw.decision, "p": draw.propensity,
            "i": draw.logged["impact"],
        }  # fmt: skip
        parquet.write_table(pa.table(columns), folder / f"part-{k:04}.parquet")


def line(n: int) -> str:
    """A line of the table."""
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), n)
        done = subprocess.run(
            [sys.executable, "-c", FIT, name, str(FEATURES)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    cost = json.loads(done.stdout)
    return (
        f"| {n:,} | {cost['searched']:,} | {cost['scan']:.1f} s | {cost['fit']:.1f} s "
        f"| {1e6 * cost['fit'] / n:.1f} | {cost['peak']:,.0f} MB |"
    )


def main() -> None:
    """Measure, print, and put the table into the page."""
    sizes = [int(each) for each in sys.argv[1:]] or SIZES
    lines = [
        "| rows | searched | scan | fit | microseconds a row | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    for n in sizes:
        lines.append(line(n))
        print(lines[-1], flush=True)
    text = f"Processor time; {FEATURES} features, 3 statements, Parquet files. {stamp()}.\n\n"
    text += "\n".join(lines)
    print(text)
    if len(sys.argv) == 1:
        write_into("any-size.md", "any-size", text)


if __name__ == "__main__":
    main()

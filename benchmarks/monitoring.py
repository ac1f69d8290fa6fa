"""How often a monitor errs, how soon it finds a fall, and what ten million rows cost.

python benchmarks/monitoring.py           # writes the tables into docs/monitoring.md: an hour
python benchmarks/monitoring.py rows      # one of them: edge, falls or rows
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy.special import stdtrit
from scipy.stats import nct

from elfair import ImpactMonitor, load
from elfair.monitoring.normal import Normal
from elfair.monitoring.pieces import Gathering
from elfair.monitoring.wealth import Wealth
from elfair.study import StudyFile, fit_study
from elfair.study.writing import MODEL, TIME
from pages import stamp, write_into

START, DELAY, FOLLOWED = datetime(2026, 1, 1, tzinfo=UTC), 30, 0.8
STUDY = """title = "Support"
[data]
source = "log.parquet"
[columns]
features = ["x"]
sensitive = ["T"]
decision = "support"
propensity = {no = 0.5, yes = 0.5}
impact = ["savings"]
row_id = "person"
[model]
objective = "E[impact]"
exploration = 0.2
[test]
impact_range = [0, 1]
[[constraints]]
text = "E[impact] >= 0.5"
[[constraints]]
text = "E[impact | T == 0] >= E_logged[impact | T == 0]"
"""

Impacts = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def helps(x, took, rng):
    """The world of the certificate: support helps those with a large x."""
    return np.clip(0.55 + 0.25 * took * np.sign(x) + rng.uniform(-0.2, 0.2, x.size), 0, 1)


def edge(x, took, rng):
    """A world in which both statements are exactly at their edge: nothing has an effect."""
    return 0.5 + rng.uniform(-0.4, 0.4, x.size)


def released(folder: Path, study: str = STUDY) -> Path:
    """The file of a model that was released in the first world."""
    rng = np.random.default_rng(0)
    n = 3000
    x, took = rng.normal(size=n), rng.integers(0, 2, n)
    columns = {
        "person": np.arange(n), "x": x, "T": rng.integers(0, 2, n),
        "support": np.array(["no", "yes"])[took], "savings": helps(x, took, rng),
    }  # fmt: skip
    parquet.write_table(pa.table(columns), folder / "log.parquet")
    (folder / "study.toml").write_text(study, encoding="utf-8")
    outcome = fit_study(StudyFile.load(folder / "study.toml"))
    assert outcome.certificate.passed
    outcome.write(folder / "results")
    return folder / "results" / "model.elfair"


def decided(model, n: int, world: Impacts, rng, *, first: int = 0, day: int = 0) -> pa.Table:
    """Decisions of a model about n new people, with the impact of all of them."""
    x = rng.normal(size=n)
    chance = model.predict_proba(pa.table({"x": x}))
    took = (rng.random(n) < chance[:, 1]).astype(int)
    return pa.table(
        {
            "person": np.arange(first, first + n),
            "x": x,
            "T": rng.integers(0, 2, n),
            "support": np.array(["no", "yes"])[took],
            "propensity": chance[np.arange(n), took],
            TIME: pa.array([START + timedelta(days=day)] * n, pa.timestamp("us", tz="UTC")),
            MODEL: pa.array([model.certificate_.digests.model] * n).dictionary_encode(),
            "savings": world(x, took, rng),
        }
    )


def as_known(table: pa.Table, lost: np.ndarray, day: int) -> pa.Table:
    """A log as it is on some day: a fifth is never known, and bad news come early."""
    times = table[TIME].to_numpy()
    due = times <= np.datetime64((START + timedelta(days=day - DELAY)).replace(tzinfo=None), "us")
    savings = table["savings"].to_numpy()
    known = ~lost & (due | (savings < 0.5))
    place = table.column_names.index("savings")
    return table.set_column(place, "savings", pa.array(savings, mask=~known))


def deployment(model, seed: int, how: str, batches: int = 6, size: int = 60) -> tuple[bool, bool]:
    """Whether anything is falsely called violated, and falsely called holding, in a deployment at
    the edge that is looked at after every batch.
    """
    rng = np.random.default_rng([7, seed])
    table, lost = None, np.zeros(0, dtype=bool)
    with tempfile.TemporaryDirectory() as folder:
        declared = {"missing": how, "follow_up": FOLLOWED if how == "at random" else None}
        monitor = ImpactMonitor(model, Path(folder) / "monitor", delay=DELAY, alpha=0.1, **declared)
        for k in range(batches + 3):
            if k < batches:
                new = decided(model, size, edge, rng, first=k * size, day=15 * k)
                table = new if table is None else pa.concat_tables([table, new])
                lost = np.append(lost, rng.random(size) >= FOLLOWED)
            log = Path(folder) / "log.parquet"
            parquet.write_table(as_known(table, lost, 15 * k + 1), log)
            status = monitor.look(log, now=START + timedelta(days=15 * k + 1))
        assert status.counted == batches * size
        said = [each.state for each in status.statements]
        return "violated" in said, "holding" in said


KINDS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape),
    "yes or no": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "normal, range 8 sd": lambda rng, shape: np.clip(rng.normal(size=shape), -4, 4),
    "normal, range 12 sd": lambda rng, shape: np.clip(rng.normal(size=shape), -6, 6),
    "normal, no range": lambda rng, shape: rng.normal(size=shape),
    "rare losses, no range": lambda rng, shape: 0.05 - (rng.random(shape) < 0.05),
}
SPREADS = dict(zip(KINDS, (3**-0.5, 1.0, 1.0, 1.0, 1.0, (0.05 * 0.95) ** 0.5), strict=True))
WIDTHS = dict(zip(KINDS, (1.0, 1.0, 4.0, 6.0, np.inf, np.inf), strict=True))


def alarms(
    kind: str,
    alpha: float,
    deployments: int,
    *,
    fall: float,
    n: int,
    seed: int,
    size: int = 2,
    good: int = 0,
    gain: float = 0.0,
) -> np.ndarray:
    """After how many rows "violated" is said in each deployment; infinite if never.

    The statement is that the mean impact is at least 0. A fifth of impacts is not seen; the lottery
    that chose whom to follow up is known. There is a look after every ``size`` rows. The first
    ``good`` rows are above the edge by ``gain`` standard deviations.
    """
    rng = np.random.default_rng([seed, *kind.encode()])
    width, shape = WIDTHS[kind], (deployments,)
    # Of h + (M / rho)(I - h) with h = 0, as `elfair.statistics.unseen` makes it.
    high = width + (1 / FOLLOWED - 1) * 2 * width  # as there
    own = Wealth(high, alpha, shape, np.zeros(1)) if np.isfinite(width) else Normal(alpha, shape)
    gathering, found = Gathering(), np.full(deployments, np.inf)
    for rows in range(size, n + 1, size):
        change = gain if rows <= good else -fall
        impact = KINDS[kind](rng, (size, deployments)) + change * SPREADS[kind]
        own.add(gathering.add(np.where(rng.random(impact.shape) < FOLLOWED, impact, 0) / FOLLOWED))
        found = np.where(own.reached & (found == np.inf), rows, found)
    return found


def fixed_size(fall: float, alpha: float, power: float = 0.9) -> int:
    """The rows of a t test of the same rows, once, with some power."""
    # The variance of (M / rho) I with mean -fall and variance 1 of I.
    effect = fall / np.sqrt((1 + fall**2) / FOLLOWED - fall**2)
    for n in range(3, 100_000):
        if 1 - nct.cdf(stdtrit(n - 1, 1 - alpha), n - 1, effect * np.sqrt(n)) >= power:
            return n
    raise AssertionError("no number of rows")


def share_of(found: np.ndarray) -> float:
    """The share of deployments with an alarm."""
    return float(np.mean(np.isfinite(found)))


def edge_table(deployments: int = 1000, whole: int = 1000) -> str:
    """False alarms of whole deployments, and of single statements."""
    lines = ["| deployments at the edge | false 'violated' at any time | false 'holding' |",
             "|---|---|---|"]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        model = load(released(Path(folder)))
        for how, n in (("at random", whole), ("worst case", whole // 4)):
            rates = np.mean([deployment(model, seed, how) for seed in range(n)], axis=0)
            said = f"`ImpactMonitor`, two statements, missing {how}, {n:,} deployments"
            lines.append(f"| {said} | {rates[0]:.3f} | {rates[1]:.3f} |")
            print(lines[-1], flush=True)
    for kind in KINDS:
        found = alarms(kind, 0.1, deployments, fall=0.0, n=1000, seed=1, size=20)
        lines.append(f"| one statement, {kind}, {deployments:,} deployments, 1,000 rows | "
                     f"{share_of(found):.3f} | |")  # fmt: skip
        print(lines[-1], flush=True)
    return "\n".join(lines) + f"\n\nalpha = 0.1, a look after every batch. {stamp()}."


def falls_table(deployments: int = 400) -> str:
    """How soon a fall by half a standard deviation is found."""
    lines = ["| impacts | alpha | rows of a t test, power 0.9 | until the alarm: median, 90 % | "
             "median / t test |", "|---|---|---|---|---|"]  # fmt: skip
    for kind in list(KINDS)[:5]:
        for alpha in (0.1, 0.05, 0.025):
            found = alarms(kind, alpha, deployments, fall=0.5, n=400, seed=2)
            once = fixed_size(0.5, alpha)
            half, most = np.quantile(found, [0.5, 0.9], method="higher")
            lines.append(
                f"| {kind} | {alpha:g} | {once} | {half:.0f}, {most:.0f} | {half / once:.2f} |"
            )
            print(lines[-1], flush=True)
    return "\n".join(lines) + f"\n\n{deployments} deployments each. {stamp()}."


def rows_table(sizes: Sequence[int] = (1_000_000, 10_000_000)) -> str:
    """What long logs cost: each in a process of its own, which tells its memory."""
    lines = ["| rows | first look (of a core) | memory | second look (of a core) | state on disk |",
             "|---|---|---|---|---|"]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        model = load(released(Path(folder)))
        rng, log = np.random.default_rng(0), Path(folder) / "decisions"
        log.mkdir()
        done, part = 0, 500_000
        for n in sizes:
            while done < n:
                table = decided(model, part, helps, rng, first=done)
                lost = rng.random(part) >= FOLLOWED
                parquet.write_table(as_known(table, lost, 99), log / f"{done:09}.parquet")
                done += part
            lines.append(_in_child(partial(_measured, Path(folder), n)))
            print(lines[-1], flush=True)
    return "\n".join(lines) + f"\n\nTwo statements, missing at random. {stamp()}."


def _measured(folder: Path, n: int) -> str:
    model, state = folder / "results" / "model.elfair", folder / f"monitor-{n}"
    times, worked = [], []
    for _ in range(2):
        start, begun = time.perf_counter(), time.process_time()
        monitor = ImpactMonitor(model, state, delay=DELAY, missing="at random", follow_up=FOLLOWED)
        status = monitor.look(folder / "decisions", now=START + timedelta(days=99))
        times.append(time.perf_counter() - start)
        worked.append(time.process_time() - begun)
        assert status.counted == n
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    disk = sum(each.stat().st_size for each in state.iterdir()) / 2**20
    first, second = (f"{one:.0f} s ({two:.0f} s)" for one, two in zip(times, worked, strict=True))
    return f"| {n:,} | {first} | {peak:,.0f} MiB | {second} | {disk:,.0f} MiB |"


def _in_child(work: Callable[[], str]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        line = told.read()
    os.waitpid(child, 0)
    return line


TABLES = {"edge": edge_table, "falls": falls_table, "rows": rows_table}


def main() -> None:
    """Write the tables that are asked for."""
    names = [each for each in sys.argv[1:] if not each.isdigit()]
    for number in (int(each) for each in sys.argv[1:] if each.isdigit()):
        TABLES["edge"] = partial(edge_table, whole=number)
    for name in names or TABLES:
        write_into("monitoring.md", name, TABLES[name]())


if __name__ == "__main__":
    main()

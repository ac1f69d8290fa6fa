"""What the ledger catches, whom it mistakes for others, and what going on costs.

    python benchmarks/ledger.py            # prints the tables of docs/ledger.md: about 15 minutes

tests/guarantees/test_ledger.py checks the same functions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log, sqrt
from typing import Any

import numpy as np

from elfair import LoggedData, certify
from elfair.bounds import Sample, get_bound
from elfair.bounds.growth import Growth
from elfair.data.identity import Identity
from elfair.data.looks import Look, LooksOfProcess, counted_in

NO_WORSE = "E[impact] >= E_logged[impact]"
DELTA = 0.1
SECRET = b"a secret of this script"


# -- populations of people -------------------------------------------------------------------------


def _of(n: int, rng: np.random.Generator, draw: Callable[[], Any], impact: Any) -> dict[str, Any]:
    features = np.column_stack([draw() for _ in range(5)])
    decision = rng.integers(0, 2, n)
    return {"X": features, "decision": decision, "impact": impact, "y": rng.integers(0, 2, n)}


def fine(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Five features and an impact that are measured finely."""
    return _of(n, rng, lambda: rng.normal(size=n), rng.normal(size=n))


def rounded(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """The same, rounded: ages, amounts in hundreds, an impact in whole points."""
    impact = np.round(rng.normal(50, 15, n))
    return _of(n, rng, lambda: np.round(rng.gamma(2.0, 10.0, n)), impact)


def coarse(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Five features with four values each, and an impact with five."""
    return _of(n, rng, lambda: rng.integers(0, 4, n), rng.integers(0, 5, n))


def binary(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Everything is yes or no: 256 kinds of people, most of them common."""
    return _of(n, rng, lambda: rng.random(n) < 0.3, rng.random(n) < 0.4)


def skewed(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Counts with a long tail, most of them 0."""
    return _of(n, rng, lambda: rng.zipf(1.8, n) % 10_000, np.minimum(rng.zipf(2.0, n), 500))


def sorted_days(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """A day for each row, in order, and groups of equal size, as any table may have them."""
    table = coarse(n, rng)
    table["X"] = np.column_stack([table["X"], np.arange(n), np.arange(n) // 10])
    return table


PEOPLE = {each.__name__: each for each in (fine, rounded, coarse, binary, skewed, sorted_days)}


def data_of(table: dict[str, Any]) -> LoggedData:
    """A table of logged decisions."""
    return LoggedData(**table, propensity=np.full(len(table["decision"]), 0.5))


def taken(table: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Some of its rows."""
    return {name: column[rows] for name, column in table.items()}


def _half(table: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return taken(table, rng.permutation(len(table["y"]))[::2])


def _shuffled(table: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return taken(table, rng.permutation(len(table["y"])))


def _rescaled(table: dict[str, Any]) -> dict[str, Any]:
    return table | {"X": 2.5 * table["X"] - 1, "impact": 100 * table["impact"] + 3}


#: What people do to a table between two tests of it.
CHANGES: dict[str, Callable[[dict[str, Any], np.random.Generator], dict[str, Any]]] = {
    "another order": lambda t, rng: taken(t, rng.permutation(len(t["y"]))),
    "a feature dropped": lambda t, rng: t | {"X": t["X"][:, 1:]},
    "a feature added": lambda t, rng: (
        t | {"X": np.column_stack([rng.integers(0, 3, len(t["y"])), t["X"]])}
    ),
    "everything rescaled": lambda t, rng: _rescaled(t),
    "one row more": lambda t, rng: taken(t, np.append(np.arange(len(t["y"])), 0)),
    "a tenth dropped, shuffled": lambda t, rng: taken(
        t, rng.permutation(len(t["y"]))[len(t["y"]) // 10 :]
    ),
    "half of the rows": _half,
    "half of the rows, rescaled": lambda t, rng: _rescaled(_half(t, rng)),
    "features reordered, all rescaled, shuffled": lambda t, rng: _shuffled(
        _rescaled(t | {"X": t["X"][:, ::-1]}), rng
    ),
    "a feature dropped, all rescaled, shuffled": lambda t, rng: _shuffled(
        _rescaled(t | {"X": t["X"][:, 1:]}), rng
    ),
    "decision recoded, all rescaled": lambda t, rng: _rescaled(t) | {"decision": 1 - t["decision"]},
    "label recoded, all rescaled": lambda t, rng: _rescaled(t) | {"y": 1 - t["y"]},
    "impact negated, features rescaled": lambda t, rng: (
        _rescaled(t) | {"impact": -1.0 * t["impact"]}
    ),
    "other features, impact rescaled, shuffled": lambda t, rng: _shuffled(
        _rescaled(t | {"X": rng.normal(size=(len(t["y"]), 2))}), rng
    ),
    "a fifth of the rows": lambda t, rng: taken(t, rng.permutation(len(t["y"]))[::5]),
}


def mistaken(kind: str, n: int, seed: int) -> bool:
    """Whether fresh people are taken for old ones."""
    rng = np.random.default_rng([seed, n, 1])
    one, other = (Identity.of(data_of(PEOPLE[kind](n, rng)), SECRET) for _ in range(2))
    return one.shares_people(other)


def known_again(kind: str, change: str, n: int, seed: int) -> bool:
    """Whether people are known again after a change of their table."""
    rng = np.random.default_rng([seed, n, 2])
    table = PEOPLE[kind](n, rng)
    before = Identity.of(data_of(table), SECRET)
    return before.shares_people(Identity.of(data_of(CHANGES[change](table, rng)), SECRET))


# -- many looks ------------------------------------------------------------------------------------


def looks(count: int, counted: bool, seed: int, *, n: int = 200) -> bool:
    """Whether any of many looks at rows on which decisions do nothing releases a model.

    Each look has another model, seed, order, features or part of the rows. If they are not counted,
    each is taken for the first, as in a process of its own before there was a ledger.
    """
    rng = np.random.default_rng([seed, count])
    table, changes, process = fine(n, rng), [*CHANGES.values()], LooksOfProcess()
    for look in range(count):
        seen = table if look == 0 else changes[look % len(changes)](table, rng)
        data = data_of(seen)
        with counted_in(process if counted else LooksOfProcess()), _silent():
            record = certify(
                rng.uniform(0.05, 0.95, data.n), data, NO_WORSE, delta=DELTA, random_state=look
            )
        if record.passed:
            return True
    return False


def best_of(models: int, counted: bool, seed: int, *, n: int = 200) -> bool:
    """Whether any of some models passes on the rows that it is chosen on."""
    rng = np.random.default_rng([seed, models, 3])
    data, process = data_of(fine(n, rng)), LooksOfProcess()
    passed = []
    for _ in range(models):
        with counted_in(process if counted else LooksOfProcess()), _silent():
            passed.append(certify(rng.uniform(0.05, 0.95, n), data, NO_WORSE, delta=DELTA).passed)
    return any(passed)


@contextmanager
def _silent() -> Iterator[None]:
    """Without the warnings about further looks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# -- going on --------------------------------------------------------------------------------------

#: Rows of g below 1, by their spread and skewness.
ROWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "uniform": lambda rng, n: rng.uniform(-0.6, 0.6, n),
    "rare losses": lambda rng, n: np.where(rng.random(n) < 0.1, 0.81, -0.09),
    "yes or no": lambda rng, n: np.where(rng.random(n) < 0.3, 0.7, -0.3),
    "few rows count": lambda rng, n: np.where(rng.random(n) < 0.2, rng.uniform(-1, 1, n), 0.0),
}
SIZE = 100


def stages(kind: str, g: float, most: int, seed: int, *, bet: str = "growth") -> Iterator[float]:
    """The e-value after each stage of 100 rows, until it is 1 / delta; 150 rows came before.

    With other bets than those for growth, each stage aims at its own end.
    """
    rng = np.random.default_rng([seed, most])
    draw = ROWS[kind]
    earlier, wealth = [g + draw(rng, 3 * SIZE // 2)], 1.0
    for _ in range(most):
        rows, known = g + draw(rng, SIZE), np.concatenate(earlier)
        learnt = {"scale": float(known.std(ddof=1)), "others": known.size}
        sample = Sample(rows, high=1.0, likely=float(known.mean()), **learnt)
        wealth *= _won(bet, sample, min(0.99, DELTA * wealth))
        yield wealth
        if wealth * DELTA >= 1:
            return
        earlier.append(rows)


def _won(bet: str, sample: Sample, delta: float) -> float:
    if bet == "growth":
        return Growth().wealth([sample], delta)
    return _aimed(sample, delta)


def _aimed(sample: Sample, delta: float) -> float:
    """What bets that aim at the end of the stage make of 1, against a mean of 0."""
    from elfair.bounds import betting

    unit = betting.unit_of(sample)
    y, m = (sample.high - sample.values) / unit, sample.high / unit
    bets = np.minimum(betting.Betting()._bets_on(sample, y, delta), betting.STAKE / m)
    path = np.cumsum(np.log1p(bets * (y - m)))
    won = np.flatnonzero(path >= log(1 / delta))
    return float(np.exp(path[won[0] if won.size else -1]))


def released(kind: str, g: float, most: int, seed: int) -> int | None:
    """At which stage a statement passes; None if it does not."""
    path = list(stages(kind, g, most, seed))
    return len(path) if path[-1] * DELTA >= 1 else None


def forked(kind: str, forks: int, counted: bool, seed: int) -> bool:
    """Whether any of several ways to go on from one first stage passes at the edge.

    Each has fresh rows of its own, and so nobody in common with another. If they are counted, all
    ways but the first are further looks, which release nothing.
    """
    first = next(stages(kind, 0.0, 1, seed))
    looks, rng = LooksOfProcess(), np.random.default_rng([seed, forks, 11])
    if first * DELTA >= 1:
        return True

    def entered(test: str, after: str = "") -> int:
        nobody_else = Identity(frozenset({test}), None, False, ())
        return looks.enter(lambda secret: Look(nobody_else, test, 1, after=after))

    entered("first")
    for fork in range(forks):
        rows = ROWS[kind](rng, SIZE)
        won = Growth().wealth([Sample(rows, high=1.0)], min(0.99, DELTA * first))
        number = entered(f"fork {fork}", after="first")
        if first * won * DELTA >= 1 and (number == 1 or not counted):
            return True
    return False


def passes_at_once(kind: str, g: float, most: int, seed: int) -> bool:
    """Whether one fixed test of as many rows passes."""
    rng = np.random.default_rng([seed, most, 7])
    known, rows = g + ROWS[kind](rng, 3 * SIZE // 2), g + ROWS[kind](rng, most * SIZE)
    sample = Sample(rows, high=1.0, scale=float(known.std(ddof=1)))
    return bool(get_bound("betting").upper([sample], DELTA) <= 0)


# -- the page --------------------------------------------------------------------------------------


def _share(trial: Callable[..., Any], draws: int, *given: Any) -> float:
    return float(np.mean([bool(trial(*given, seed)) for seed in range(draws)]))


def main(draws: int = 100) -> None:
    """Print every table of the page."""
    _print_stages(draws)
    _print_looks(draws)
    _print_people(draws)


def _print_people(draws: int) -> None:
    sizes = (60, 300, 1000)
    print("\n| people | " + " | ".join(f"fresh taken for old, n = {n:,}" for n in sizes) + " |")
    for kind in PEOPLE:
        rates = [_share(mistaken, 2 * draws, kind, n) for n in sizes]
        print(f"| {kind} | " + " | ".join(f"{rate:.4f}" for rate in rates) + " |", flush=True)
    print("\n| change | " + " | ".join(PEOPLE) + " |")
    for change in CHANGES:
        rates = [_share(known_again, draws // 5, kind, change, 1000) for kind in PEOPLE]
        print(f"| {change} | " + " | ".join(f"{rate:.2f}" for rate in rates) + " |", flush=True)


def _print_looks(draws: int) -> None:
    for counted in (False, True):
        rate = _share(best_of, 2 * draws, 10, counted)
        print(f"\nbest of ten models, {'counted' if counted else 'not counted'}: {rate:.3f}")
        rate = _share(looks, draws // 4, 100, counted)
        print(f"100 looks, {'counted' if counted else 'not counted'}: {rate:.3f}", flush=True)


def _print_stages(draws: int) -> None:
    print("\n| rows | at the edge, 20 stages | e-value after a failed first stage: growth, aimed |")
    for kind in ROWS:
        rate = _share(lambda seed, kind=kind: released(kind, 0.0, 20, seed), 10 * draws)
        middle = [
            np.median([next(stages(kind, 0.0, 20, seed, bet=bet)) for seed in range(2 * draws)])
            for bet in ("growth", "aimed")
        ]
        print(f"| {kind} | {rate:.3f} | {middle[0]:.2f}, {middle[1]:.2f} |", flush=True)
    for counted in (False, True):
        rate = _share(forked, 10 * draws, "uniform", 20, counted)
        print(f"\n20 ways to go on, {'counted' if counted else 'not counted'}: {rate:.3f}")
    print("\n| rows | g | one test of 2,000 rows | within 20 stages | mean rows used |")
    for kind in ROWS:
        spread = float(ROWS[kind](np.random.default_rng(0), 10**6).std())
        for errors in (2.0, 3.0, 4.0):
            g = -errors * spread / sqrt(20 * SIZE)
            once = _share(passes_at_once, draws, kind, g, 20)
            found = [released(kind, g, 20, seed) for seed in range(draws)]
            rows = np.mean([SIZE * (each or 20) for each in found])
            share = np.mean([each is not None for each in found])
            print(f"| {kind} | {-errors:g} errors | {once:.2f} | {share:.2f} | {rows:,.0f} |")


if __name__ == "__main__":
    main()

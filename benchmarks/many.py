"""How long a fit takes with many constraints, and with many decisions; and what many decisions win.

Many constraints are 25 intersectional groups, 50 statements and more: processor time of one thread,
the median of several fits, with the share of it that reading the constraints takes. The table goes
to docs/fairness-constraints.md.

Many decisions are the items of a shop: a world whose truth is known. Each fit has rows of its own;
the table says how long it took, how often a model was released, and what is true of it on other
people, beside the old model and the best item for everyone. With ten items, all parameters are
searched, too, to compare. The table goes to docs/method.md.

    python benchmarks/many.py [constraints] [decisions]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from elfair import ELFClassifier, LoggedData, Recipe, no_worse, parity
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.search import classification, narrow
from elfair.statistics.claims import read_constraints
from elfair.types import Array, Floats
from pages import stamp, write_into

SIZES = (5_000, 50_000)
REPEATS = 3


def draw(n: int, seed: int) -> dict[str, object]:
    """Logged decisions about people of 5 races and 5 regions, of unequal size."""
    rng = np.random.default_rng(seed)
    race = rng.choice(list("ABCDE"), size=n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    region = rng.integers(0, 5, size=n)
    features = rng.standard_normal((n, 6))
    features[:, 0] += 0.3 * (race == "A")
    label = (rng.random(n) < 1 / (1 + np.exp(-2 * features[:, 0] - features[:, 1]))).astype(int)
    p = 1 / (1 + np.exp(-0.8 * features[:, 0]))
    decision = (rng.random(n) < p).astype(int)
    impact = np.where(decision == label, 1.0, 0.0) + rng.normal(0, 0.5, n)
    return {
        "X": features,
        "y": label,
        "sensitive_features": {"race": race, "region": region},
        "decision": decision,
        "propensity": np.where(decision == 1, p, 1 - p),
        "impact": impact,
    }


CASES: dict[str, Sequence[str | Recipe]] = {
    "3 texts": ["accuracy >= 0.6", "PR <= 0.8", "E[impact] >= E_logged[impact]"],
    "no_worse of 25 intersections": [no_worse(["race", "region"])],
    "the same, and parity of 5 races and 5 regions": [
        no_worse(["race", "region"]),
        parity("race", tolerance=0.2),
        parity("region", tolerance=0.2),
        "accuracy >= 0.6",
    ],
}


def measured(n: int, constraints: Sequence[str | Recipe]) -> tuple[int, float, float, bool]:
    """Statements, the time to read them and to fit (seconds), and whether a solution was found."""
    rows = draw(n, seed=0)
    data = LoggedData(**rows)
    reading, fitting = [], []
    for _ in range(REPEATS):
        start = time.process_time()
        claims = read_constraints(constraints, 0.1, data)
        reading.append(time.process_time() - start)
        start = time.process_time()
        clf = ELFClassifier(constraints).fit(**rows)
        fitting.append(time.process_time() - start)
    return len(claims), float(np.median(reading)), float(np.median(fitting)), clf.solution_found_


def constraints_table() -> None:
    """Fill the page about constraints."""
    lines = [
        f"Processor time, one thread, median of {REPEATS} fits. {stamp()}.\n",
        "| n | constraints | statements | reading | fit | solution found |",
        "|---|---|---|---|---|---|",
    ]
    for n in SIZES:
        for name, constraints in CASES.items():
            count, reading, fitting, found = measured(n, constraints)
            lines.append(
                f"| {n:,} | {name} | {count} | {reading:.2f} s | {fitting:.2f} s "
                f"| {'yes' if found else 'no'} |"
            )
    write_into("fairness-constraints.md", "many", "\n".join(lines))
    print("\n".join(lines))


# -- many decisions -----------------------------------------------------------------------------

ITEMS = (10, 20, 40, 100)
LOGGED = 10_000
FITS = 5
OTHERS = 20_000
FEATURES, TASTES = 25, 3
NO_WORSE = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]


class People(NamedTuple):
    """People, by features and group."""

    features: Floats
    group: Array

    @classmethod
    def drawn(cls, n: int, rng: np.random.Generator) -> People:
        """Draw people of two groups, which one of the features tells apart a little."""
        group = (rng.random(n) < 0.4).astype(int)
        features = rng.standard_normal((n, FEATURES))
        features[:, 0] += 0.5 * group
        return cls(features, group)


@dataclass(frozen=True)
class Shop:
    """A shop that recommends one of its items to each person.

    People have three tastes, hidden in 25 features, and items suit them more or less. Two of the
    tastes are good for everyone. To follow the third, which people like to follow most, does good
    to one group and harm to the other. The old model knows one taste and what is popular, and a
    fifth of its decisions are taken at random.
    """

    items: int

    @cached_property
    def _suits(self) -> tuple[Floats, Floats, Floats, Floats]:
        rng = np.random.default_rng(0)
        axes = np.linalg.qr(rng.standard_normal((FEATURES, TASTES)))[0]
        suits = rng.standard_normal((self.items, TASTES))
        quality = rng.normal(0, 0.4, (2, self.items)) + rng.normal(0, 0.4, self.items)
        return axes, suits, quality, rng.standard_normal(self.items)

    def effect(self, people: People) -> Floats:
        """The expected impact of each item on each person."""
        axes, suits, quality, _ = self._suits
        tastes = people.features @ axes
        tastes[:, 2] *= np.where(people.group == 1, -1, 1)
        return np.asarray(0.3 * tastes @ suits.T + 0.5 * quality[people.group])

    def chosen(self, people: People) -> Floats:
        """The probability that a person would choose each item: the label."""
        axes, suits, quality, _ = self._suits
        liking = (people.features @ axes * [0.5, 0.5, 1.5]) @ suits.T + quality.mean(axis=0)
        return _softmax(liking)

    def old(self, people: People) -> Floats:
        """The probabilities of the old model."""
        axes, suits, _, popular = self._suits
        scores = 0.5 * people.features @ axes[:, :1] @ suits[:, :1].T + 0.7 * popular
        return 0.8 * _softmax(scores) + 0.2 / self.items

    def log(self, n: int, seed: int) -> tuple[dict[str, Any], Floats]:
        """Logged decisions, without what is known about the old model; and its probabilities."""
        rng = np.random.default_rng([self.items, seed])
        people = People.drawn(n, rng)
        old = self.old(people)
        decision, label = _drawn(old, rng), _drawn(self.chosen(people), rng)
        impact = self.effect(people)[np.arange(n), decision] + rng.standard_normal(n)
        log = {
            "X": people.features,
            "y": label,
            "sensitive_features": {"T": people.group},
            "decision": decision,
            "impact": impact,
        }
        return log, old


def _softmax(scores: Floats) -> Floats:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _drawn(probabilities: Floats, rng: np.random.Generator) -> Array:
    ends = probabilities.cumsum(axis=1)[:, :-1]
    return np.asarray((rng.random((len(ends), 1)) > ends).sum(axis=1))


class Tried(NamedTuple):
    """What came of one fit.

    Parameters
    ----------
    seconds : float
        Processor time.
    objective : float or None
        The true objective of the model that was released, if one was.
    harms : bool
        Whether it truly harms a group.
    """

    seconds: float
    objective: float | None
    harms: bool


def tried(shop: Shop, objective: str, known: str, seed: int) -> Tried:
    """One fit, and the truth about it."""
    log, old = shop.log(LOGGED, seed)
    given = {"behavior": old}
    if known == "propensity":
        given = {"propensity": old[np.arange(LOGGED), log["decision"]]}
    if objective != "accuracy":
        log["y"] = None
    start = time.process_time()
    with counted_in(LooksOfProcess()):  # lines of the table are about the same rows
        clf = ELFClassifier(NO_WORSE, objective=objective).fit(**log, **given)
    seconds = time.process_time() - start
    if not clf.solution_found_:
        return Tried(seconds, None, False)
    people = People.drawn(OTHERS, np.random.default_rng(1))
    new = clf.predict_proba(people.features)
    gain = ((new - shop.old(people)) * shop.effect(people)).sum(axis=1)
    harms = any(gain[people.group == t].mean() < 0 for t in (0, 1))
    return Tried(seconds, float((new * worth(shop, objective)(people)).sum(axis=1).mean()), harms)


def worth(shop: Shop, objective: str) -> Callable[[People], Floats]:
    """What an objective makes of each item for each person."""
    return shop.chosen if objective == "accuracy" else shop.effect


def decisions_table() -> None:
    """Fill the page about the method."""
    lines = [
        f"{LOGGED:,} rows, {FEATURES} features, two groups, {FITS} fits a line; medians of "
        f"processor time of one thread, means of the true objective. {stamp()}.\n",
        "| decisions | objective | given | fit | released | harm a group "
        "| old model | best constant | released models |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    whole = 10**6
    for items in ITEMS:
        for many in (narrow.MANY, whole) if items == ITEMS[0] else (narrow.MANY,):
            narrow.MANY, classification.MANY, usual = many, many, narrow.MANY
            for objective in ("accuracy", "E[impact]"):
                for known in ("propensity", "behavior"):
                    name = f"{items}, all parameters" if many == whole else f"{items}"
                    lines.append(f"| {name} {_line(Shop(items), objective, known)}")
                    print(lines[-1], flush=True)
            narrow.MANY, classification.MANY = usual, usual
    write_into("method.md", "decisions", "\n".join(lines))


def _line(shop: Shop, objective: str, known: str) -> str:
    every = [tried(shop, objective, known, seed) for seed in range(FITS)]
    people = People.drawn(OTHERS, np.random.default_rng(1))
    value = worth(shop, objective)(people)
    old, constant = (shop.old(people) * value).sum(axis=1).mean(), value.mean(axis=0).max()
    reached = [each.objective for each in every if each.objective is not None]
    return (
        f"| `{objective}` | `{known}=` | {np.median([each.seconds for each in every]):.0f} s "
        f"| {len(reached)} of {FITS} | {sum(each.harms for each in every)} | {old:.3f} "
        f"| {constant:.3f} | {np.mean(reached) if reached else np.nan:.3f} |"
    )


def main() -> None:
    """Fill both pages, or those that were asked for."""
    tables = {"constraints": constraints_table, "decisions": decisions_table}
    for name in sys.argv[1:] or tables:
        tables[name]()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()

"""How wrong a result is whose propensities were not logged but estimated: docs/no-propensities.md.

Decisions are made with known probabilities, which depend on a feature x and, in some cases, on an
impression u that nobody wrote down. They do group 1 a little harm, so that a model which decides
more often violates "group 1 is no worse off"; the search wants to decide as often as it may. Who is
decided about often fares well anyway. Propensities that do not account for that make decisions look
better than they are.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import special
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from elfair import CertificateWarning, DataError, ELFClassifier
from elfair.data.looks import LooksOfProcess, counted_in
from pages import stamp, write_into

TRIALS, ROWS, TRUTH = 100, 4000, 100_000
DELTA = 0.1
EFFECT = np.array([0.3, -0.1])  # of a decision, by group
CHECKS = ("mean weight near 1", "propensities fit the decisions")


@dataclass(frozen=True)
class World:
    """What decisions depend on beside a constant: x, its square, an impression, the group."""

    x: float = 0.0
    square: float = 0.0
    impression: float = 0.0
    group: float = 0.0

    def draw(self, n: int, rng: Any) -> dict[str, Any]:
        """N people with their decisions."""
        x, u, group = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 2, n)
        score = self.x * x + self.square * (x**2 - 1) + self.impression * u
        p = special.expit(np.clip(score + self.group * (group - 0.5), -3, 3))
        decision = (rng.random(n) < p).astype(int)
        impact = EFFECT[group] * decision + 0.3 * x**2 + 0.3 * u + rng.normal(0, 0.5, n)
        return {"x": x[:, None], "group": group, "p": p, "decision": decision, "impact": impact}


PLAIN = World(x=0.8)
CASES: dict[str, tuple[World, Any, str]] = {
    "logged": (PLAIN, None, "logged"),
    "logistic, of the right form": (PLAIN, LogisticRegression(), "other"),
    "the same, fitted to the tested rows": (PLAIN, LogisticRegression(), "same"),
    "boosted trees": (PLAIN, HistGradientBoostingClassifier(), "other"),
    "boosted trees, fitted to the tested rows": (PLAIN, HistGradientBoostingClassifier(), "same"),
    "logistic; decisions went by the square of x": (
        World(square=1.0), LogisticRegression(), "other",
    ),
    "boosted trees; decisions went by the square of x": (
        World(square=1.0), HistGradientBoostingClassifier(), "other",
    ),
    "logistic; decisions went by the group as well": (
        World(x=0.8, group=1.0), LogisticRegression(), "other",
    ),
    "logistic; decisions went by an impression": (
        World(x=0.8, impression=1.0), LogisticRegression(), "other",
    ),
}  # fmt: skip


def trial(case: str, seed: int) -> tuple[bool, float, bool]:
    """Whether a model was returned, how much more often it decides about group 1 than the old one
    (harm, where it is above 0), and whether a check objected: a violated assumption, or an error.
    """
    world, model, rows = CASES[case]
    rng = np.random.default_rng(seed)
    other, log = world.draw(ROWS, rng), world.draw(ROWS, rng)
    one = log["p"]
    if rows != "logged":
        used = other if rows == "other" else log
        one = model.fit(used["x"], used["decision"]).predict_proba(log["x"])[:, 1]
    one = np.clip(one, 0.01, 0.99)
    clf = ELFClassifier(
        "E[impact | T == 1] >= E_logged[impact | T == 1]",
        objective="P[decision == 1]",
        delta=DELTA,
        random_state=seed,
    )
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore", CertificateWarning)
        try:
            clf.fit(
                log["x"],
                sensitive_features={"T": log["group"]},
                decision=log["decision"],
                behavior=np.column_stack([1 - one, one]),
                impact=log["impact"],
            )
        except DataError:  # the propensities do not fit the decisions
            return False, 0.0, True
    violated = {each.name for each in clf.certificate_.assumptions if each.status == "violated"}
    complained = not violated.isdisjoint(CHECKS)
    if not clf.solution_found_:
        return False, 0.0, complained
    truth = world.draw(TRUTH, rng)
    inside = truth["group"] == 1
    more = clf.predict_proba(truth["x"][inside])[:, 1].mean() - truth["p"][inside].mean()
    return True, float(more), complained


def main() -> None:
    lines = [
        "| propensities | returned | returned, and group 1 worse off | by | a check objected |",
        "|---|---|---|---|---|",
    ]
    for case in CASES:
        ran = Parallel(n_jobs=-1)(delayed(trial)(case, seed) for seed in range(TRIALS))
        returned, more, complained = np.array(ran).T
        harmed = more > 0
        by = f"{100 * more[harmed].mean():.1f}" if harmed.any() else ""
        shown = [f"{each.mean():.0%}" for each in (returned, harmed, complained)]
        lines.append(f"| {case} | {shown[0]} | {shown[1]} | {by} | {shown[2]} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"{TRIALS} trials of {ROWS:,} rows for each line; delta = {DELTA}. *By*: how many more "
        "people of group 1 in a hundred get the harmful decision, on average over the models in "
        f"the column before. {stamp()}.",
    ]
    write_into("no-propensities.md", "propensities", "\n".join(lines))


if __name__ == "__main__":
    main()

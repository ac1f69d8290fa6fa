"""A population in which the label is no linear function of the features: richer models pay.

    python benchmarks/nonlinear.py

The label is (almost) whether two features have the same sign. Group 0 gains from a right decision.
Group 1 gains from every positive one, so that the accurate model, which is positive less often than
the behaviour model, is worse for it: "no worse than before" binds. The table goes to
docs/richer-models.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair import ELFClassifier
from elfair.data.looks import LooksOfProcess, counted_in
from pages import stamp, write_into

Floats = NDArray[np.float64]
CONSTRAINTS = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]


@dataclass(frozen=True)
class People:
    """Some people, with what no data set shows of them."""

    features: Floats
    group: NDArray[np.int64]
    chance: Floats  # of label 1
    behavior: Floats  # probability of decision 1
    effect: Floats  # of decision 1 on the expected impact


def people(n: int, rng: np.random.Generator) -> People:
    group = rng.integers(0, 2, n)
    features = rng.normal(size=(n, 4))
    features[:, 2] = 2 * group + 0.5 * features[:, 2]
    same = features[:, 0] * features[:, 1] > 0
    chance = np.where(same, 0.95, 0.05)
    behavior = np.clip(0.65 + 0.1 * features[:, 3], 0.3, 0.9)
    effect = np.where(group == 0, 2 * chance - 1, 0.5)
    return People(features, group, chance, behavior, effect)


def sample(n: int, seed: int) -> dict[str, Any]:
    """What `ELFClassifier.fit` takes."""
    rng = np.random.default_rng(seed)
    drawn = people(n, rng)
    decision = (rng.random(n) < drawn.behavior).astype(int)
    return {
        "X": drawn.features,
        "y": (rng.random(n) < drawn.chance).astype(int),
        "sensitive_features": {"T": drawn.group},
        "decision": decision,
        "propensity": np.where(decision == 1, drawn.behavior, 1 - drawn.behavior),
        "impact": decision * drawn.effect + rng.normal(0, 0.5, n),
    }


TRUTH = people(100_000, np.random.default_rng(2**32))


def truth(positive: Floats) -> tuple[list[float], float]:
    """How much worse a policy is for each group (no worse: at most 0), and its accuracy, from its
    probability of decision 1 for each of TRUTH; without the noise of decisions and impacts.
    """
    lost = (TRUTH.behavior - positive) * TRUTH.effect
    hit = positive * TRUTH.chance + (1 - positive) * (1 - TRUTH.chance)
    return [float(lost[TRUTH.group == t].mean()) for t in (0, 1)], float(hit.mean())


def small_network(seed: int) -> Any:
    import torch

    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))


def main() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    scorers = {
        "linear": lambda seed: None,
        "boosted trees": lambda seed: HistGradientBoostingClassifier(),
        "small network": small_network,
    }
    lines = [
        f"Means of 20 draws (5 at n = 20,000). {stamp()}.\n",
        "| model | n | returned | returned and violated | accuracy | predicted to pass | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, make in scorers.items():
        for n in (1_000, 4_000, 20_000):
            draws, rows = 20 if n < 20_000 else 5, []
            for seed in range(draws):
                given, began = sample(n, seed), perf_counter()
                # One model each: how well is its chance to pass predicted?
                with counted_in(LooksOfProcess()):  # each model is a study of its own
                    clf = ELFClassifier(CONSTRAINTS, scorer=make(seed), candidates=1).fit(**given)
                seconds = perf_counter() - began
                lost, accuracy = truth(clf.fitted_.probabilities(TRUTH.features, None)[:, 1])
                passed = clf.solution_found_
                predicted = clf.certificate_.search.forecast
                rows.append((passed, passed and max(lost) > 0, accuracy, predicted, seconds))
            means = np.mean(rows, axis=0)
            lines.append(
                f"| {name} | {n:,} | {means[0]:.2f} | {means[1]:.2f} | {means[2]:.3f} "
                f"| {means[3]:.2f} | {means[4]:.2f} |"
            )
    write_into("richer-models.md", "nonlinear", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()

"""Labels seen only for some decisions: how often a statement at the edge passes.

    python benchmarks/selective_labels.py [draws] [rows ...]    # for docs/selective-labels.md

Only decision 1 reveals the label. Each statement holds with equality, so that a test at delta = .1
may pass .1 of the time. In the last two rows of the table, rows without a label are left out, or
decisions depended on the label beyond what their propensities say.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from elfair import LoggedData, certify, cutoff
from elfair.data.looks import LooksOfProcess, counted_in

DELTA = 0.1
HOW = ("declared", "rows without a label left out", "declared, but the label swayed decisions")
#: The probabilities of two groups are the same, so that their rates are equal.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def sigmoid(x):
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


def label_chance(x):
    """P(label = 1 | x)."""
    return sigmoid(1.2 * x)


def decision_chance(x):
    """P(decision = 1 | x) under the old model: between .1 and .95."""
    return np.clip(sigmoid(x), 0.1, 0.95)


def model(x):
    """The new model's P(decision = 1 | x)."""
    return sigmoid(3 * x + 0.5)


def edges():
    """Statements that hold with equality."""
    p, new = label_chance(NODES), model(NODES)

    def mean(values):
        return float(WEIGHTS @ values)

    accuracy = mean(p * new + (1 - p) * (1 - new))
    tpr, fpr = mean(p * new) / mean(p), mean((1 - p) * new) / mean(1 - p)
    return {
        "accuracy, from below": f"accuracy >= {accuracy:.12f}",
        "accuracy, from above": f"accuracy <= {accuracy:.12f}",
        "TPR of a group, from below": f"TPR[T == 1] >= {tpr:.12f}",
        "FPR, from above": f"FPR <= {fpr:.12f}",
        "PPV, from below": f"PPV >= {mean(p * new) / mean(new):.12f}",
        "difference of TPR": "TPR[T == 0] - TPR[T == 1] <= 0",
        "cost, from above": f"E[cost] <= {mean(4 * (1 - p) * new + p * (1 - new)):.12f}",
    }


EDGES = edges()


def table(how, n, seed):
    """The rows as somebody would declare them, and the new model's probabilities."""
    rng = np.random.default_rng([seed, n, 14])
    x, group = rng.normal(size=n), rng.integers(0, 2, n)
    label = (rng.random(n) < label_chance(x)).astype(int)
    chance = decision_chance(x)
    swayed = 1.5 * chance * (1 - chance) * (label - label_chance(x)) if how == HOW[2] else 0.0
    decision = (rng.random(n) < np.clip(chance + swayed, 0.0, 1.0)).astype(int)
    given = {
        "sensitive_features": {"T": group},
        "decision": decision,
        "propensity": np.where(decision == 1, chance, 1 - chance),
    }
    cost = {"cost": [[0, 4], [1, 0]], "classes": [0, 1]}
    if how == HOW[1]:
        kept = decision == 1
        return LoggedData(
            x[kept, None], label[kept], sensitive_features={"T": group[kept]}, **cost
        ), model(x[kept])
    label = np.where(decision == 1, label, np.nan)
    return LoggedData(x[:, None], label, label_seen_for=[1], **given, **cost), model(x)


def passes(how, text, n, bound, seed):
    """Whether a statement that holds with equality passes."""
    data, probabilities = table(how, n, seed)
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return certify(probabilities, data, text, delta=DELTA, bound=bound).passed


def passes_cutoff(which, n, seed):
    """Whether a cut-off at 0 on x passes a statement that holds with equality: about its accuracy,
    or about an impact whose mean is that under the old model.
    """
    rng = np.random.default_rng([seed, n, 15])
    x = rng.normal(size=n)
    label = (rng.random(n) < label_chance(x)).astype(int)
    chance = decision_chance(x)
    decision = (rng.random(n) < chance).astype(int)
    data = LoggedData(
        x[:, None],
        label,
        decision=decision,
        propensity=np.where(decision == 1, chance, 1 - chance),
        # What is decided changes nothing on average, but a decision is a gamble.
        impact=x + decision * rng.normal(size=n),
    )
    chosen = (NODES > 0).astype(float)
    p = label_chance(NODES)
    true = float(WEIGHTS @ (p * chosen + (1 - p) * (1 - chosen)))
    text = "E[impact] >= E_logged[impact]" if which == "impact" else f"accuracy >= {true:.12f}"
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return certify(cutoff(x, 0.0), data, text, delta=DELTA).passed


if __name__ == "__main__":
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for n in [int(size) for size in sys.argv[2:]] or [1_000, 4_000]:
        for how in HOW:
            for name, text in EDGES.items():
                rate = np.mean([passes(how, text, n, "auto", seed) for seed in range(draws)])
                print(f"| {how} | {n:,} | {name} | {rate:.3f} |", flush=True)
        for which in ("accuracy", "impact"):
            rate = np.mean([passes_cutoff(which, n, seed) for seed in range(draws)])
            print(f"| a cut-off, all labels seen | {n:,} | {which} | {rate:.3f} |", flush=True)

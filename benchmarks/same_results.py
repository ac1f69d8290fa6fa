"""Do two versions of elfair give the same models, bounds and verdicts, bit by bit?

    PYTHONPATH=<one tree>/src python benchmarks/same_results.py --write before.json
    PYTHONPATH=<another>/src python benchmarks/same_results.py --compare before.json

The fits use nothing but public names and data made here, so that any version can run them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import elfair
from elfair import ELFClassifier, ELFRegressor, LoggedData, certify
from elfair.bounds import BOUNDS, FINITE_SAMPLE
from elfair.statistics.impact_estimators import ESTIMATORS

#: What a certificate says of each statement, apart from words.
FIELDS = (
    "statement", "delta", "passed", "estimate", "upper", "spread", "kind", "n", "ess",
    "mean_weight", "max_weight", "rows_needed",
)  # fmt: skip
NO_WORSE = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]
Fit = Callable[[], dict[str, Any]]


def people(n: int, seed: int, classes: int = 2, effect: float = 0.8) -> dict[str, Any]:
    """Logged decisions about people of two groups; decision k helps in proportion."""
    rng = np.random.default_rng(seed)
    group = (rng.uniform(size=n) < 0.4).astype(int)
    features = rng.normal(size=(n, 4)) + 0.3 * group[:, None]
    score = features @ [1.2, -0.8, 0.5, 0.0] - 0.4 * group
    label = np.digitize(score + rng.logistic(size=n), np.linspace(-1, 1, classes + 1)[1:-1])
    logits = 0.5 * np.outer(score, np.arange(classes) - (classes - 1) / 2)
    behavior = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    behavior = 0.9 * behavior + 0.1 / classes
    ends = behavior.cumsum(axis=1)
    decision = (rng.uniform(size=(n, 1)) > ends[:, :-1]).sum(axis=1)
    gain = effect * decision / (classes - 1)
    impact = gain + np.clip(rng.normal(size=n), -3, 3) * (0.3 + 0.2 * group)
    return {
        "X": features,
        "y": label,
        "sensitive_features": {"T": group},
        "decision": decision,
        "propensity": behavior[np.arange(n), decision],
        "impact": impact,
    }


def doses(n: int, seed: int) -> dict[str, Any]:
    """Decisions that are numbers, drawn around a linear mean."""
    rng = np.random.default_rng(seed)
    group = (rng.uniform(size=n) < 0.5).astype(int)
    features = rng.normal(size=(n, 2))
    usual = features @ [0.5, -0.25]
    decision = usual + 0.8 * rng.normal(size=n)
    return {
        "X": features,
        "y": features @ [0.8, -0.1] + 0.3 * rng.normal(size=n),
        "sensitive_features": {"T": group},
        "decision": decision,
        "propensity": np.exp(-((decision - usual) ** 2) / 1.28) / np.sqrt(1.28 * np.pi),
        "behavior_spread": 0.8,
        "impact": np.clip(0.3 * decision + 0.5 * rng.normal(size=n), -6, 6),
    }


def of_certificate(certificate: Any) -> dict[str, Any]:
    """What it says of each statement."""
    results = [
        {name: exact(getattr(result, name)) for name in FIELDS}
        for result in certificate.constraints
    ]
    return {
        "passed": certificate.passed,
        "n": [certificate.n, certificate.n_candidate, certificate.n_held_out],
        "results": results,
    }


def exact(value: Any) -> Any:
    """Numbers as text that holds every bit."""
    return value.hex() if isinstance(value, float) else value


def digest(values: Any) -> str:
    """Of an array, every bit of it."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def of_classifier(data: dict[str, Any], **parameters: Any) -> Fit:
    """A classifier, fitted; of what it decides, the probabilities."""

    def fit() -> dict[str, Any]:
        make = ELFClassifier.paper if parameters.pop("paper", False) else ELFClassifier
        model = make(**parameters).fit(**data)
        found = {**of_certificate(model.certificate_), "tuned": str(model.tuned_)}
        if model.solution_found_:
            found["probabilities"] = digest(model.predict_proba(data["X"]))
        return found

    return fit


def of_regressor(data: dict[str, Any], **parameters: Any) -> Fit:
    """A regressor, fitted."""

    def fit() -> dict[str, Any]:
        model = ELFRegressor(**parameters).fit(**data)
        found = of_certificate(model.certificate_)
        if model.solution_found_:
            found["decisions"] = digest(model.predict_distribution(data["X"]))
        return found

    return fit


def of_certify(data: dict[str, Any], constraints: Any, **parameters: Any) -> Fit:
    """A model from elsewhere, certified."""

    def fit() -> dict[str, Any]:
        rows = LoggedData(**data)
        score = np.clip(0.5 + 0.2 * data["X"][:, 0], 0.02, 0.98)
        if rows.classes.size > 2:
            score = np.column_stack([(1 - score) / 2, (1 - score) / 2, score])
        return of_certificate(certify(score, rows, constraints, **parameters))

    return fit


def fits() -> Iterator[tuple[str, Fit]]:
    """Every fit, by name."""
    seeds = iter(range(10_000, 20_000))

    def draw(n: int, **options: Any) -> dict[str, Any]:
        return people(n, next(seeds), **options)

    wide = {"impact_range": (-4.0, 5.0)}
    sure = {**wide, "propensity_floor": 0.05}
    for n in (300, 1000, 4000):
        for bound in ("ttest", *reversed(FINITE_SAMPLE)):
            needs = BOUNDS[bound].needs
            declared = sure if "low" in needs else wide if needs else {}
            for estimator in ESTIMATORS:
                settings = {"bound": bound, "estimator": estimator, **declared}
                yield (
                    f"classifier {n} {bound} {estimator}",
                    of_classifier(draw(n), constraints=[*NO_WORSE, "accuracy >= 0.6"], **settings),
                )
                yield (
                    f"certify {n} {bound} {estimator}",
                    of_certify(draw(n), [*NO_WORSE, "PR <= 0.9"], **settings),
                )
    texts = {
        "parity": "abs(PR[T == 0] - PR[T == 1]) <= 0.2",
        "ratio": "PR[T == 1] / PR[T == 0] >= 0.5",
        "odds": "abs(TPR[T == 0] - TPR[T == 1]) <= 0.3 and abs(FPR[T == 0] - FPR[T == 1]) <= 0.3",
        "product": "E[impact] * PR <= 2",
        "either": "max(E[impact | T == 0], E[impact | T == 1]) >= 0.2",
        "difference": "E[impact | T == 0] - E[impact | T == 1] <= 1",
        "median": "median[impact | T == 1] >= 0",
        "quantile": "quantile[impact, 0.25] >= -0.6",
        "cvar": "CVaR[impact, 0.2 | T == 0] >= -1.5",
        "var": "var[impact] <= 1.5",
        "iqr": "IQR[impact, 0.25, 0.75] <= 3",
        "interval": "0.2 <= PR <= 0.9",
    }
    for name, text in texts.items():
        for bound, declared in (("ttest", {}), ("betting", wide)):
            yield (
                f"classifier 1500 {bound} {name}",
                of_classifier(draw(1500), constraints=text, bound=bound, **declared),
            )
            yield (
                f"certify 900 {bound} {name}",
                of_certify(draw(900), text, bound=bound, **declared),
            )
    for n in (500, 2000):
        for name, more in {
            "crossfit": {"split": "crossfit"},
            "crossfit dr": {"split": "crossfit", "estimator": "dr", "folds": 3},
            "stratified": {"split": "stratified"},
            "one": {"candidates": 1},
            "five": {"candidates": 5},
            "inflation": {"power": None, "inflation": 2.0},
            "log loss": {"objective": "log_loss"},
            "impact": {"objective": "E[impact]"},
            "worse off": {"objective": "min(E[impact | T == 0], E[impact | T == 1])"},
            "profit": {"objective": "E[impact] - 0.5 * PR"},
            "explores": {"exploration": 0.1},
            "third": {"candidate_fraction": 0.3},
            "mean": {"center": "mean", "bound": "bernstein", **sure},
            "auto center": {"bound": "bernstein", **sure},
            "tuned": {"candidate_tuning": {"power": [0.8, 0.95], "estimator": ["paired", "dr"]}},
            "deltas": {"delta": [0.05, 0.1]},
            "seed": {"random_state": 7},
            "cost": {"cost": [[0, 1], [3, 0]], "objective": "1 - E[cost]"},
        }.items():
            yield f"classifier {n} {name}", of_classifier(draw(n), constraints=NO_WORSE, **more)
    yield "cmaes", of_classifier(draw(600), constraints=NO_WORSE, search="cmaes")
    for n in (500, 1500):
        yield f"paper {n}", of_classifier(draw(n), constraints=NO_WORSE, paper=True)
    for n in (800, 3000):
        three = ["P[decision == 2] <= 0.8", *NO_WORSE]
        yield f"three {n}", of_classifier(draw(n, classes=3), constraints=three)
        yield f"three certify {n}", of_certify(draw(n, classes=3), three)
    yield "plain", of_classifier(draw(400), constraints=())
    yield from with_models(draw)
    for n in (400, 1500):
        for estimator in ("dr", "paired"):
            for text in (NO_WORSE, "P[decision >= 1] <= 0.5", "mse <= 3", "E[decision] <= 1"):
                data = doses(n, next(seeds))
                made = of_regressor(data, constraints=text, estimator=estimator)
                yield f"regressor {n} {estimator} {text}", made
        data = doses(n, next(seeds))
        yield f"doses {n}", of_regressor(data, constraints=NO_WORSE, objective="E[impact]")
        data = doses(n, next(seeds))
        bets = {"bound": "betting", "estimator": "paired", "impact_range": (-6.0, 6.0)}
        yield f"regressor {n} betting", of_regressor(data, constraints=NO_WORSE, **bets)
        data = doses(n, next(seeds))
        yield f"regressor {n} crossfit", of_regressor(data, constraints=NO_WORSE, split="crossfit")
    recipes = {
        "parity": elfair.parity("T", tolerance=0.2),
        "no worse": elfair.no_worse("T", slack=0.1),
        "80 %": elfair.disparate_impact("T", ratio=0.5),
        "improvement": elfair.improvement("T", margin=0.01),
    }
    for name, recipe in recipes.items():
        yield f"recipe {name}", of_classifier(draw(1200), constraints=recipe)


def with_models(draw: Callable[..., dict[str, Any]]) -> Iterator[tuple[str, Fit]]:
    """Fits that hold scikit-learn models."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LinearRegression, LogisticRegression

    for n in (600, 2000):
        forest = RandomForestClassifier(10, max_depth=3, random_state=0)
        for name, scorer in {"logistic": LogisticRegression(), "forest": forest}.items():
            yield f"scorer {n} {name}", of_classifier(draw(n), constraints=NO_WORSE, scorer=scorer)
        yield (
            f"outcome {n}",
            of_classifier(
                draw(n), constraints=NO_WORSE, estimator="dr", outcome_model=LinearRegression()
            ),
        )
        data = draw(n)
        model = LogisticRegression().fit(data["X"], data["decision"])
        chance = model.predict_proba(data["X"])[:, 1]
        data["decision"] = (np.random.default_rng(n).uniform(size=n) < chance).astype(int)
        del data["propensity"]
        yield (
            f"behavior {n}",
            of_classifier({**data, "behavior": model}, constraints=NO_WORSE),
        )


def run() -> dict[str, Any]:
    """Every fit's result; of an error, its kind."""
    results: dict[str, Any] = {}
    warnings.simplefilter("ignore")
    for name, fit in fits():
        assert name not in results
        try:
            results[name] = fit()
        except elfair.ElfairError as error:
            results[name] = {"error": type(error).__name__, "words": str(error)}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--compare", type=Path)
    chosen = parser.parse_args()
    results = run()
    counts = {
        "fits": len(results),
        "returned": sum(bool(each.get("passed")) for each in results.values()),
        "refused": sum("error" in each for each in results.values()),
    }
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    if chosen.write:
        chosen.write.write_text(json.dumps(results, indent=1))
    if chosen.compare:
        before = json.loads(chosen.compare.read_text())
        different = [name for name in {**before, **results} if not same(name, before, results)]
        for name in different:
            print(f"{name}:\n  {before.get(name)}\n  {results.get(name)}")
        print(f"{len(different)} of {len(results)} differ")
        raise SystemExit(bool(different))


def same(name: str, before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether one fit came to the same, in words too unless it was refused."""
    first, second = before.get(name, {}), json.loads(json.dumps(after.get(name, {})))
    return {**first, "words": ""} == {**second, "words": ""}


if __name__ == "__main__":
    main()

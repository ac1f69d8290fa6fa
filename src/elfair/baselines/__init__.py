"""The methods that the paper compares with, and ELF itself, behind one small protocol."""

# A stand-in until the real registry arrives: static methods are all the logistic regression.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from elfair.baselines.base import Method
from elfair.errors import InputError, did_you_mean
from elfair.experiments.draw import Draw


class _Elf:
    uses_impact = True

    def __init__(self, label: str, **parameters: Any) -> None:
        self.label, self.parameters = label, parameters

    def fit(self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int) -> Any:
        from elfair import ELFClassifier

        model = ELFClassifier(constraints, delta=delta, random_state=seed, **self.parameters)
        model.fit(draw.features, draw.label, **draw.logged)
        return model if model.solution_found_ else None


class _Logistic:
    label, uses_impact = "logistic regression", False

    def fit(self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression().fit(draw.features, draw.label)


_PAPER = {
    "estimator": "is", "search": "cmaes", "power": None, "inflation": 2.0, "split": "stratified",
}  # fmt: skip
METHODS: Mapping[str, Method] = {
    "elfair": _Elf("elfair"),
    "elfair-dr": _Elf("elfair, doubly robust", estimator="dr"),
    "elfair-crossfit": _Elf("elfair, cross-fitted", split="crossfit"),
    "elf-paper": _Elf("ELF", **_PAPER),
    **{
        name: _Logistic()
        for name in (
            "logistic-regression",
            "qsa-demographic-parity",
            "qsa-equalized-odds",
            "qsa-equal-opportunity",
            "qsa-predictive-equality",
            "qsa-disparate-impact",
            "fairlearn-demographic-parity",
            "fairlearn-equalized-odds",
            "fairness-constraints",
        )
    },
}


def get_method(name: str) -> Method:
    """The method of this name."""
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            found: Method = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"the method {name!r} cannot be imported: {error}.", hint="check the spelling."
            ) from error
        return found
    if name not in METHODS:
        raise InputError(
            f"a method must be one of {list(METHODS)}, or 'module:object'. Got {name!r} instead.",
            hint=did_you_mean(name, METHODS, "check the spelling."),
        )
    return METHODS[name]

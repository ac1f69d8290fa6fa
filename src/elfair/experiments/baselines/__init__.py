"""The methods of an experiment by name: ELF, the methods that the paper compares with, your own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import cast

from elfair.errors import InputError, did_you_mean, install_extra
from elfair.estimators.classifier import ELFClassifier
from elfair.experiments.baselines.covariance import FairnessConstraints
from elfair.experiments.baselines.methods import (
    ELF,
    ExponentiatedGradient,
    Method,
    PlainLogistic,
    QuasiSeldonian,
)
from elfair.language.recipes import (
    disparate_impact,
    equal_opportunity,
    equalized_odds,
    parity,
    predictive_equality,
)

#: The difference of rates that quasi-Seldonian classifiers may leave. On the foster-care-like
#: population, logistic regression has differences of 0.16 (positive), 0.09 (true positive) and 0.14
#: (false positive) rates: 0.1 binds, or nearly, and 1,000 rows are enough to show it.
TOLERANCE = 0.1

#: elfair's methods and all methods of the paper's comparison, by name.
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "elfair": ELF("elfair"),
        "elfair-dr": ELF("elfair, doubly robust", settings={"estimator": "dr"}),
        "elfair-crossfit": ELF("elfair, cross-fitted", settings={"split": "crossfit"}),
        "elf-paper": ELF("ELF (paper)", make=ELFClassifier.paper),
        "logistic-regression": PlainLogistic("Logistic regression"),
        "qsa-demographic-parity": QuasiSeldonian(
            "QSA, demographic parity", parity("T", tolerance=TOLERANCE)
        ),
        "qsa-equalized-odds": QuasiSeldonian(
            "QSA, equalized odds", equalized_odds("T", tolerance=TOLERANCE)
        ),
        "qsa-equal-opportunity": QuasiSeldonian(
            "QSA, equal opportunity", equal_opportunity("T", tolerance=TOLERANCE)
        ),
        "qsa-predictive-equality": QuasiSeldonian(
            "QSA, predictive equality", predictive_equality("T", tolerance=TOLERANCE)
        ),
        "qsa-disparate-impact": QuasiSeldonian("QSA, disparate impact", disparate_impact("T")),
        "fairlearn-demographic-parity": ExponentiatedGradient(
            "Fairlearn, demographic parity", "DemographicParity"
        ),
        "fairlearn-equalized-odds": ExponentiatedGradient(
            "Fairlearn, equalized odds", "EqualizedOdds"
        ),
        "fairness-constraints": FairnessConstraints("Fairness Constraints"),
    }
)

#: Packages of the extra "experiments", by the beginning of the names of methods that need them.
_PACKAGES = {"fairlearn-": "fairlearn", "fairness-constraints": "cvxpy"}


def get_method(name: str) -> Method:
    """Find a method by its name.

    Parameters
    ----------
    name : str
        A key of `METHODS`, or ``"module:object"`` for your own method, which is imported.

    Returns
    -------
    Method

    Raises
    ------
    InputError
        If there is no such method, or if it needs a package that is not installed.

    Examples
    --------
    >>> get_method("elf-paper").label
    'ELF (paper)'
    >>> get_method("logistic-regresion")
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: there is no method 'logistic-regresion'; methods: elfair, ...
    Hint: did you mean 'logistic-regression'?
    """
    if ":" in name:
        return _imported(name)
    if name not in METHODS:
        raise InputError(
            f"there is no method '{name}'; methods: {', '.join(METHODS)}.",
            hint=did_you_mean(name, METHODS, "name your own method as 'module:object'."),
        )
    for start, package in _PACKAGES.items():
        if name.startswith(start) and find_spec(package) is None:
            raise InputError(
                f"the method '{name}' needs {package}, which is not installed.",
                hint=install_extra("experiments"),
            )
    return METHODS[name]


def _imported(name: str) -> Method:
    """A user's own method, checked."""
    module_name, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), attribute]):
        raise InputError(
            f"'{name}' does not have the form 'module:object'.",
            hint="for example: 'my_module:my_method'.",
        )
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        # If the module exists but needs a missing one, its own error says so.
        if not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise InputError(
            f"the method '{name}' cannot be imported: there is no module '{error.name}'.",
            hint="put it beside the experiment file, or in a folder named in PYTHONPATH.",
        ) from None
    except SystemExit as error:
        # Otherwise it would end the command without a message, as if all were well.
        raise InputError(
            f"the method '{name}' cannot be imported: '{module_name}' ends the process "
            f"(SystemExit: {error}).",
            hint="put the code of the script under `if __name__ == '__main__':`.",
        ) from None
    if not hasattr(module, attribute):
        raise InputError(
            f"the method '{name}' does not exist: '{module_name}' has no '{attribute}'.",
            hint=did_you_mean(attribute, vars(module), "check the spelling."),
        )
    method = getattr(module, attribute)
    lacking = [part for part in ("label", "uses_impact", "fit") if not hasattr(method, part)]
    if lacking or isinstance(method, type):
        fault = "is a class" if isinstance(method, type) else f"has no {' and no '.join(lacking)}"
        raise InputError(
            f"'{name}' is not a method: it {fault}.",
            hint="name an object with label, uses_impact and fit(draw, constraints, *, delta, "
            "seed).",
        )
    for part, kind, fine in (
        ("label", "text", isinstance(method.label, str)),
        ("uses_impact", "True or False", isinstance(method.uses_impact, bool)),
        ("fit", "callable", callable(method.fit)),
    ):
        if not fine:
            raise InputError(
                f"{part} of '{name}' must be {kind}. Got {getattr(method, part)!r} instead.",
                hint="for example: label = 'Mine', uses_impact = False.",
            )
    return cast(Method, method)


def label_of(name: str) -> str:
    """The label of a method in tables and figures, or its name if its module cannot be imported.

    So you can look at finished trials without the code that ran them.

    Examples
    --------
    >>> label_of("elf-paper"), label_of("no_module_of_this_name:mine")
    ('ELF (paper)', 'no_module_of_this_name:mine')
    """
    if name in METHODS:  # even if the package that it needs is not installed
        return METHODS[name].label
    try:
        return get_method(name).label
    except Exception:
        return name

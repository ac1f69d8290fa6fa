"""The methods by name, and those of a user by "module:object"."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import cast

from elfair.errors import InputError, did_you_mean
from elfair.estimators.classifier import ELFClassifier
from elfair.experiments.baselines.covariance import FairnessConstraints
from elfair.experiments.baselines.methods import (
    ELF,
    ExponentiatedGradient,
    Method,
    PlainLogistic,
    QuasiSeldonian,
)
from elfair.language.fairness import (
    disparate_impact,
    equal_opportunity,
    equalized_odds,
    parity,
    predictive_equality,
)

#: The difference of rates that quasi-Seldonian classifiers may leave. On the foster-care-like
#: population those of logistic regression are 0.16 (positive), 0.09 (true positive) and 0.14 (false
#: positive): 0.1 binds, or nearly, and is yet wide enough to be shown from 1,000 rows.
TOLERANCE = 0.1

#: All methods of the paper's comparison, and elfair's, by name.
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

#: What the extra "experiments" brings, by the start of the names of methods that need it.
_PACKAGES = {"fairlearn-": "fairlearn", "fairness-constraints": "cvxpy"}


def get_method(name: str) -> Method:
    """The method of a name.

    Parameters
    ----------
    name : str
        A key of `METHODS`, or ``"module:object"`` for a method of your own, which is imported.

    Returns
    -------
    Method

    Raises
    ------
    InputError
        If there is no such method, or a package that it needs is not installed.

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
            hint=did_you_mean(name, METHODS, "a method of your own is named 'module:object'."),
        )
    for start, package in _PACKAGES.items():
        if name.startswith(start) and find_spec(package) is None:
            raise InputError(
                f"the method '{name}' needs {package}, which is not installed.",
                hint="pip install 'elfair[experiments]'.",
            )
    return METHODS[name]


def _imported(name: str) -> Method:
    """A user's own method, looked at before it is relied on."""
    module_name, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), attribute]):
        raise InputError(
            f"'{name}' is not of the form 'module:object'.", hint="write 'my_module:my_method'."
        )
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        # A module that exists, and misses another one, speaks for itself.
        if not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise InputError(
            f"the method '{name}' cannot be imported: there is no module '{error.name}'.",
            hint="it may lie beside the study file, or in any folder that PYTHONPATH names.",
        ) from None
    except SystemExit as error:
        # Left alone, it would end a command with nothing said, and as if all were well.
        raise InputError(
            f"the method '{name}' cannot be imported: '{module_name}' ends the process "
            f"(SystemExit: {error}).",
            hint="put what runs as a script under `if __name__ == '__main__':`.",
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
            f"'{name}' is no method: it {fault}.",
            hint="name an object with label, uses_impact and fit(draw, constraints, *, delta, "
            "seed).",
        )
    for part, kind, fine in (
        ("label", "text", isinstance(method.label, str)),
        ("uses_impact", "True or False", isinstance(method.uses_impact, bool)),
        ("fit", "a method of it", callable(method.fit)),
    ):
        if not fine:
            raise InputError(
                f"{part} of '{name}' must be {kind}. Got {getattr(method, part)!r} instead.",
                hint="for example: label = 'Mine', uses_impact = False.",
            )
    return cast(Method, method)


def label_of(name: str) -> str:
    """What a method is called in tables and figures; its name, where its module is gone.

    Finished trials can be looked at without what ran them.

    Examples
    --------
    >>> label_of("elf-paper"), label_of("no_module_of_this_name:mine")
    ('ELF (paper)', 'no_module_of_this_name:mine')
    """
    if name in METHODS:  # even where what it needs is not installed
        return METHODS[name].label
    try:
        return get_method(name).label
    except Exception:
        return name

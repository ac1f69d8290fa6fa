"""Every name that ``elfair`` gives, in the one place where they are imported."""

from __future__ import annotations

from elfair._version import __version__
from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.errors import (
    BoundError,
    CertificateWarning,
    ConstraintError,
    DataError,
    ElfairError,
    FeatureTypeError,
    InputError,
    MissingPackageError,
    NoSolutionFoundError,
)
from elfair.estimators.certify import certify
from elfair.estimators.classifier import ELFClassifier
from elfair.estimators.regressor import ELFRegressor
from elfair.language import (
    FNR,
    FPR,
    IQR,
    PR,
    TNR,
    TPR,
    CVaR,
    E,
    E_logged,
    P,
    accuracy,
    col,
    decision,
    label,
    maximum,
    median,
    minimum,
    mse,
    quantile,
    var,
)
from elfair.language.fairness import (
    accuracy_parity,
    decline,
    disparate_impact,
    equal_opportunity,
    equalized_odds,
    improvement,
    no_worse,
    parity,
    predictive_equality,
    stagnation,
)
from elfair.language.recipes import Recipe
from elfair.persistence import load
from elfair.planning import RowPlan, check, plan_rows
from elfair.planning.check_report import CheckReport
from elfair.report import Report
from elfair.verification import Check, Verification, verify

__all__ = [
    "FNR",
    "FPR",
    "IQR",
    "PR",
    "TNR",
    "TPR",
    "BoundError",
    "CVaR",
    "Certificate",
    "CertificateWarning",
    "Check",
    "CheckReport",
    "ConstraintError",
    "DataError",
    "E",
    "ELFClassifier",
    "ELFRegressor",
    "E_logged",
    "ElfairError",
    "FeatureTypeError",
    "InputError",
    "LoggedData",
    "MissingPackageError",
    "NoSolutionFoundError",
    "P",
    "Recipe",
    "Report",
    "RowPlan",
    "Verification",
    "__version__",
    "accuracy",
    "accuracy_parity",
    "certify",
    "check",
    "col",
    "decision",
    "decline",
    "disparate_impact",
    "equal_opportunity",
    "equalized_odds",
    "improvement",
    "label",
    "load",
    "maximum",
    "median",
    "minimum",
    "mse",
    "no_worse",
    "parity",
    "plan_rows",
    "predictive_equality",
    "quantile",
    "stagnation",
    "var",
    "verify",
]

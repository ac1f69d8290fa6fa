"""Every name that ``elfair`` gives, in one list."""

from __future__ import annotations

from elfair._version import __version__
from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.errors import *
from elfair.estimators import ELFClassifier, ELFRegressor, certify, load
from elfair.language.build import *
from elfair.language.recipes import *
from elfair.planning import RowPlan, check, plan_rows
from elfair.planning.check_report import CheckReport
from elfair.report import Report
from elfair.verification import Check, Verification, verify

__all__ = [
    "FDR",
    "FNR",
    "FPR",
    "IQR",
    "NPV",
    "PPV",
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
    "PropensityError",
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

"""Every name that ``elfair`` gives, in one list."""

from __future__ import annotations

from typing import Any

from elfair._version import __version__
from elfair.certificate import (
    Certificate,
    Comparison,
    ConstraintsDisplay,
    ImpactDisplay,
    TradeOffDisplay,
    WeightsDisplay,
    compare,
)
from elfair.data import LoggedData
from elfair.data.batches import LoggedBatches
from elfair.data.ledger import Ledger
from elfair.errors import *
from elfair.estimators import ELFClassifier, ELFRegressor, certify, cutoff, load
from elfair.estimators.people import read_with
from elfair.language.build import *
from elfair.language.recipes import *
from elfair.monitoring import ImpactMonitor
from elfair.planning import RowPlan, check, plan_rows
from elfair.planning.check_report import CheckReport
from elfair.planning.display import PlanDisplay
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
    "Comparison",
    "ConstraintError",
    "ConstraintsDisplay",
    "DataError",
    "E",
    "ELFClassifier",
    "ELFRegressor",
    "E_logged",
    "ElfairError",
    "FeatureTypeError",
    "ImpactDisplay",
    "ImpactMonitor",
    "InputError",
    "Ledger",
    "LoggedBatches",
    "LoggedData",
    "MissingPackageError",
    "NoSolutionFoundError",
    "P",
    "PlanDisplay",
    "PropensityError",
    "Recipe",
    "Report",
    "RowPlan",
    "SpentError",
    "TradeOffDisplay",
    "Verification",
    "WeightsDisplay",
    "__version__",
    "accuracy",
    "accuracy_parity",
    "certify",
    "check",
    "col",
    "compare",
    "cutoff",
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


@read_with
def _features_of(model: Any, people: Any) -> Any:
    """Read people as the study of a model did; the room of studies is imported when one asks."""
    from elfair.study.people import features_of

    return features_of(model, people)

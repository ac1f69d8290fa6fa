"""elfair: models whose delayed impact on every group is bounded with stated confidence."""

from elfair._version import __version__
from elfair.certificate import Certificate
from elfair.certification import certify
from elfair.classifier import ELFClassifier
from elfair.data import LoggedData
from elfair.errors import (
    BoundError,
    CertificateWarning,
    ConstraintError,
    DataError,
    ElfairError,
    FeatureTypeError,
    InputError,
    NoSolutionFoundError,
)
from elfair.fairness import (
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
from elfair.language import (
    FNR,
    FPR,
    PR,
    TNR,
    TPR,
    E,
    E_logged,
    P,
    accuracy,
    col,
    decision,
    label,
    maximum,
    minimum,
    mse,
)
from elfair.recipes import Recipe
from elfair.regressor import ELFRegressor

__all__ = [
    "FNR",
    "FPR",
    "PR",
    "TNR",
    "TPR",
    "BoundError",
    "Certificate",
    "CertificateWarning",
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
    "NoSolutionFoundError",
    "P",
    "Recipe",
    "__version__",
    "accuracy",
    "accuracy_parity",
    "certify",
    "col",
    "decision",
    "decline",
    "disparate_impact",
    "equal_opportunity",
    "equalized_odds",
    "improvement",
    "label",
    "maximum",
    "minimum",
    "mse",
    "no_worse",
    "parity",
    "predictive_equality",
    "stagnation",
]

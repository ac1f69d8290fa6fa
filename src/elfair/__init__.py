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
    "__version__",
    "accuracy",
    "certify",
    "col",
    "decision",
    "label",
    "maximum",
    "minimum",
    "mse",
]

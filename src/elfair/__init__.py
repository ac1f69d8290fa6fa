"""elfair: models whose delayed impact on every group is bounded with stated confidence."""

from elfair._version import __version__
from elfair.certificate import Certificate
from elfair.certification import certify
from elfair.classifier import ELFClassifier
from elfair.data import LoggedData
from elfair.errors import ElfairError, NoSolutionFoundError

__all__ = [
    "Certificate",
    "ELFClassifier",
    "ElfairError",
    "LoggedData",
    "NoSolutionFoundError",
    "__version__",
    "certify",
]

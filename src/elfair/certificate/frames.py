"""A certificate as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elfair.errors import MissingPackageError, install_extra

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate


def to_frame(certificate: Certificate) -> Any:
    """A row for each statement, the worst first; see `Certificate.to_frame`."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingPackageError(
            "A data frame needs pandas, which is not installed.", hint=install_extra("plots")
        ) from None
    names = ("statement", "constraint", "passed", "estimate", "upper", "delta", "kind", "n", "ess",
             "mean_weight", "max_weight", "rows_needed", "break_even",
             "break_even_shift")  # fmt: skip
    rows = [{name: getattr(each, name) for name in names} for each in certificate.constraints]
    return pd.DataFrame(rows, columns=list(names))

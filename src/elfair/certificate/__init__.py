"""The certificate: a plain record of a result, from which everything that is shown is read."""

from elfair.certificate.assumptions import Assumption, Status, WarningRecord
from elfair.certificate.record import Certificate, SearchRecord, SplitKind
from elfair.certificate.results import (
    NOT_STATED,
    ClaimRecord,
    ConstraintResult,
    GroupCount,
    GroupRecord,
    Kind,
    LeftOut,
    PartRecord,
    Provenance,
    TailRecord,
    Version,
)

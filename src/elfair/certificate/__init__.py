"""The certificate: a plain record of a result, from which everything that is shown is read."""

from elfair.certificate.codes import Assumption, Status, WarningRecord
from elfair.certificate.parts import (
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
from elfair.certificate.record import Certificate, SearchRecord, SplitKind

"""The certificate: a plain record of a result, from which everything that is shown is read."""

from elfair.certificate.codes import Assumption, Status, WarningRecord
from elfair.certificate.comparison import Comparison, compare
from elfair.certificate.displays import (
    ConstraintsDisplay,
    ImpactDisplay,
    TradeOffDisplay,
    WeightsDisplay,
)
from elfair.certificate.parts import (
    NOT_STATED,
    ClaimRecord,
    ConstraintResult,
    GroupRecord,
    Kind,
    PartRecord,
    Provenance,
    TailRecord,
    Version,
)
from elfair.certificate.people import GroupCount, LeftOut
from elfair.certificate.record import Certificate, SearchRecord, SplitKind

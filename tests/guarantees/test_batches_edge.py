"""At the edge, of rows that are read in batches: a statement that holds with equality passes at
most delta of the time.

The population of test_certify_edge, and a model that is asked about each batch.
ELFAIR_GUARANTEES=full runs 5,000 draws a cell.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_certify_edge import BOTTOM, DELTA, NEW, NO_HIGHER, NO_WORSE, TOP, draw

from counting import check_rare
from elfair import LoggedBatches, certify
from elfair.data import sources
from elfair.errors import CertificateWarning


class New:
    """The new model."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        p = np.array(NEW)[X[:, 0].astype(int)]
        return np.column_stack([1 - p, p])


def passes(text, bound, floor, seed):
    x, data = draw(seed)
    table = pa.table(
        {"x": x, "d": data.decision, "p": data.propensity, "i": data.impacts["impact"]}
    )
    rows = LoggedBatches(
        table, features=["x"], decision="d", propensity="p", impact="i", classes=[0, 1]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)  # 4 standard errors do occur
        return certify(
            New(), rows, text, delta=DELTA, bound=bound, impact_range=(BOTTOM, TOP),
            propensity_floor=floor,
        ).passed  # fmt: skip


@pytest.mark.parametrize(
    ("text", "bound", "floor"),
    [(NO_WORSE, "betting", None), (NO_HIGHER, "ttest", None)],
)
def test_at_the_edge_it_passes_at_most_delta_of_the_time(monkeypatch, text, bound, floor):
    monkeypatch.setattr(sources, "BATCH", 77)
    # The t bound is asymptotic: with a declared range, at most 0.02 more from 200 rows on.
    allowed = DELTA + 0.02 * (bound == "ttest")
    passed = check_rare(passes, text, bound, floor, allowed=allowed, full=5_000, times=2.5)
    if bound == "ttest":
        assert any(passed)

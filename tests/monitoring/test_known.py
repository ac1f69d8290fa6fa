"""Rows that were counted are known again, whatever files they are in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from elfair.monitoring import known
from elfair.monitoring.known import KnownRows, column_keys, row_keys


def test_rows_are_known_again_after_any_merge(tmp_path, monkeypatch):
    monkeypatch.setattr(known, "AT_ONCE", 37)
    rng, rows = np.random.default_rng(0), KnownRows(tmp_path)
    kept = rng.integers(0, 2**63, size=(3, 1000), dtype=np.uint64)
    start = 0
    for size in (1, 300, 5, 5, 5, 84, 600):
        rows.add(*kept[:, start : start + size])
        start += size
        rows.tidy()
        found = KnownRows(tmp_path, rows.runs).find(kept[0])
        assert found.known.tolist() == [True] * start + [False] * (1000 - start)
        assert (found.decided[:start] == kept[1, :start]).all()
        assert (found.later[:start] == kept[2, :start]).all()
    assert len(rows.runs) < 4


@pytest.mark.parametrize(
    "values", [["a", "b", "ab", "ba", "", None, "a" * 70], [1, 2, 3, None, 0], [0.5, -0.5, None]]
)
def test_different_values_have_different_keys(values):
    keys = column_keys(pa.chunked_array([pa.array(values)]))
    assert len(set(keys.tolist())) == len(values)
    for k, value in enumerate(values):  # whatever stands beside it
        alone = column_keys(pa.chunked_array([pa.array([value], pa.array(values).type)]))
        assert alone[0] == keys[k]


def test_a_row_has_a_key_of_all_its_columns():
    one, two = pa.chunked_array([[1, 2]]), pa.chunked_array([["x", "y"]])
    assert (row_keys([one, two], 2) != row_keys([two, one], 2)).all()

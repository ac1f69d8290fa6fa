"""Plain values come back as what they were, with their types."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from elfair import InputError, parity
from elfair.persistence.contents import NotSaved, decode, encode

VALUES = [
    None, True, 0, -(10**25), 0.1, float("inf"), -0.0, "", "ä\n", [], (), {}, [1, (2, [3])],
    {"impact": (0.0, 1.0), 1: None, (1, 2): {}}, np.int8(3), np.float32(0.1), np.str_("a"),
    np.bool_(True), np.datetime64("2024-02-29"), np.timedelta64(3, "h"), np.zeros((2, 0)),
    np.arange(6.0).reshape(2, 3), np.array([1.5, np.nan, -np.inf]), np.array(["a", "bcd"]),
    np.array(["a", None, 2, (1, 2), [3]], dtype=object), np.array([["a"], ["b"]], dtype=object),
    np.array(["2024-01", "NaT"], dtype="M8[M]"), np.array([True]), np.uint64(2**64 - 1),
    parity("race", tolerance=0.1),
    parity(["race", "sex"], groups=[("A", 1), ("B", 2)], tolerance=0.2),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value):
    text = json.dumps(encode(value, strict=True), allow_nan=False)
    again = decode(json.loads(text))
    assert type(again) is type(value)
    assert repr(again) == repr(value)
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype
        assert again.shape == value.shape
    assert json.dumps(encode(again, strict=True)) == text


@pytest.mark.parametrize(
    "value", [DecisionTreeRegressor(), print, datetime.date(2024, 1, 1), np.longdouble(1), 1j, {1}]
)
def test_what_is_not_plain_leaves_a_note(value):
    note = decode(encode([value]))[0]
    assert isinstance(note, NotSaved)
    assert type(value).__name__ in repr(note)
    assert decode(encode(note)) == note
    with pytest.raises(InputError, match="plain values only"):
        encode(value, strict=True)

"""Digests depend on what values are, and not on who made them."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.data.digests import columns_digest


def digest(*values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return columns_digest([("x", column)])


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float32, np.float64])
def test_a_number_of_numpy_is_a_number(kind):
    assert digest(kind(1), "a") == digest(1, "a")


@pytest.mark.parametrize("sign", [1, -1])
def test_long_identifiers_do_not_meet(sign):
    first, second = sign * (2**60), sign * (2**60 + 1)
    assert float(first) == float(second)
    assert digest(first, "a") != digest(second, "a")

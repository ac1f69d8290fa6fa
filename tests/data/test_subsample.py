"""Some of many rows: a simple random sample, and more people of small groups."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData, col
from elfair.data.subsample import drawn, meeting, plain_rows

N = 20_000


def table(share=0.002, unit=None):
    rng = np.random.default_rng(0)
    rare = rng.uniform(size=N) < share
    return LoggedData(
        np.arange(N, dtype=float)[:, None], rng.integers(0, 2, N),
        sensitive_features={"T": rare.astype(int)}, unit=unit,
    )  # fmt: skip


RARE = col("T") == 1


def test_a_larger_sample_holds_the_smaller_one():
    data = table()
    small, large = (drawn(data, count, [RARE], 30, seed=1) for count in (500, 1_000))
    assert set(small.position) < set(large.position)
    assert set(drawn(data, 500, [RARE], 30, seed=2).position) != set(small.position)


def test_a_small_group_is_not_lost_and_counts_as_it_should():
    data = table()
    some = drawn(data, 1_000, [None, RARE], 30, seed=0)
    inside, stands_for = meeting(RARE, some)
    there = int(data.sensitive["T"].sum())
    assert inside.sum() == 30
    assert some.sensitive["T"][inside].all()
    assert stands_for * 30 == pytest.approx(there * 1_000 / N)
    # Of everyone, only the simple random sample counts.
    everyone, one = meeting(None, some)
    assert (everyone.sum(), one, plain_rows(some)) == (1_000, 1.0, 1_000)
    others, one = meeting(col("T") == 0, some)
    assert one == 1.0
    assert others.sum() == (some.sensitive["T"][everyone] == 0).sum()


def test_all_of_a_group_are_drawn_if_it_has_fewer():
    data = table(share=0.0005)
    some = drawn(data, 1_000, [RARE], 10**6, seed=0)
    assert meeting(RARE, some)[0].sum() == data.sensitive["T"].sum()


def test_nothing_is_noted_where_every_group_is_large():
    assert drawn(table(share=0.5), 1_000, [RARE], 30, seed=0).subsample is None


def test_parts_of_a_sample_are_still_one():
    some = drawn(table(), 1_000, [RARE], 30, seed=0)
    part = some.take(np.arange(0, some.n, 2))
    assert plain_rows(part) == some.subsample.plain[::2].sum()
    np.testing.assert_array_equal(meeting(RARE, part)[0], meeting(RARE, some)[0][::2])


def test_no_unit_is_divided():
    data = table(unit=np.arange(N) // 2)
    some = drawn(data, 1_000, [RARE], 30, seed=0)
    plain = some.unit_index[some.subsample.plain]
    assert (np.bincount(plain)[np.unique(plain)] == 2).all()

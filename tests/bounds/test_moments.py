"""A bound from moments is the bound from rows, or it is not given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair.bounds import BOUNDS, Moments, Sample, get_bound
from elfair.bounds.student import joint_variance


def moments(sample):
    of_rows = sample.mean, sample.variance, sample.largest
    known = sample.low, sample.high, sample.least_variance
    return Moments(sample.n, *map(float, of_rows), *known)


def samples(kind):
    rng = np.random.default_rng(0)
    sizes = {"one": [40], "disjoint": [40, 25, 90], "overlapping": [40, 30]}[kind]
    starts = np.cumsum([0, *sizes]) if kind == "disjoint" else np.zeros(3, int)
    return [
        Sample(rng.uniform(-1, 2, n), -1, 2, 0.5, np.arange(start, start + n))
        for n, start in zip(sizes, starts, strict=False)
    ]


def guarded(kind):
    """Rows whose upper end is not known, with more variance, or with a worse row elsewhere."""
    first, *others = (replace(each, high=np.inf) for each in samples(kind))
    return [replace(first, least_variance=500.0), *(replace(o, worst=9.0) for o in others)]


CASES = [*((name, samples) for name in BOUNDS), ("guarded", guarded), ("ttest", guarded)]


@pytest.mark.parametrize("kind", ["one", "disjoint", "overlapping"])
@pytest.mark.parametrize(("name", "made"), CASES)
def test_it_is_the_bound_from_rows_or_none(name, made, kind):
    rows, disjoint = made(kind), kind != "overlapping"
    error = None if disjoint else float(joint_variance(rows)) ** 0.5
    bound = get_bound(name)
    found = bound.upper_of_moments([moments(each) for each in rows], 0.05, shared_error=error)
    needs_rows = name in ("anderson", "betting", "growth") or (name, kind) == (
        "bernstein",
        "disjoint",
    )
    assert (found is None) == needs_rows
    if found is not None:
        assert found == pytest.approx(float(bound.upper(rows, 0.05, disjoint=disjoint)), rel=1e-12)


@pytest.mark.parametrize("n", [7.0, 40.0, 1_000.0])
@pytest.mark.parametrize("name", BOUNDS)
def test_the_factors_of_moments_give_the_predicted_bound(name, n):
    bound, (rows,) = get_bound(name), samples("one")
    factors = bound.moment_factors(rows.high - rows.low, 0.05, n)
    assert (factors is None) == (name in ("anderson", "betting", "growth", "guarded"))
    if factors is not None:
        predicted, *_ = bound.predict([rows], 0.05, [n])
        expected = float(rows.mean) + factors[0] + factors[1] * float(np.sqrt(rows.variance))
        assert predicted == pytest.approx(expected, rel=1e-12)


def test_rows_that_do_not_vary_say_nothing_unless_all_are_0():
    bound = get_bound("ttest")
    assert bound.upper_of_moments([Moments(9, -1.0, 0.0, -1.0)], 0.1) == np.inf
    assert bound.upper_of_moments([Moments(9, 0.0, 0.0, 0.0)], 0.1) == 0
    of = [Moments(9, -1.0, 1.0, 1.0), Moments(9, 0.5, 1.0, 1.0)]
    assert bound.upper_of_moments(of, 0.1, shared_error=0.0) == np.inf  # rows that cancel

"""The interface that all bounds share: names, refusals, equivariance, repetitions."""

from __future__ import annotations

from dataclasses import replace
from inspect import isabstract
from math import inf, nan

import numpy as np
import pytest

from elfair.bounds import BOUNDS, FINITE_SAMPLE, Bound, Sample, get_bound
from elfair.bounds.finite_sample import BlockBound
from elfair.errors import BoundError, DataError, InputError


def rows(shape: int | tuple[int, ...] = 60, seed: int = 0) -> Sample:
    values = np.random.default_rng(seed).beta(2, 5, shape) - 0.5
    return Sample(values, low=-0.5, high=0.5, scale=0.16)


@pytest.mark.parametrize("name", BOUNDS)
def test_get_bound_returns_the_bound_of_that_name(name: str) -> None:
    bound = get_bound(name)
    assert bound.name == name
    # Without a known end, no finite number of rows says anything about a mean.
    assert bool(bound.needs) == (bound.kind == "finite-sample")


def test_every_bound_is_in_the_table() -> None:
    found = [Bound]
    for each in found:
        found += each.__subclasses__()
    ours = {each for each in found if each.__module__.startswith("elfair") and not isabstract(each)}
    assert {type(bound) for bound in BOUNDS.values()} == ours


def test_a_bound_that_does_not_say_what_it_needs_is_refused() -> None:
    with pytest.raises(TypeError, match="Forgetful lacks name, needs"):

        class Forgetful(BlockBound):
            _upper = _predict = None


def test_an_unknown_name_lists_the_names_and_suggests_one() -> None:
    with pytest.raises(InputError, match=r"(?s)'ttest', 'hoeffding'.*did you mean 'betting'"):
        get_bound("beting")


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, nan])
def test_delta_must_be_a_probability(name: str, delta: float) -> None:
    with pytest.raises(InputError, match=r"(?s)delta.*Hint:"):
        get_bound(name).upper([rows()], delta)
    with pytest.raises(InputError, match="delta"):
        get_bound(name).predict([rows()], delta, [50])


@pytest.mark.parametrize("values", [[1.0], [], [[1.0], [2.0]], 3.0])
def test_fewer_than_two_rows_are_refused(values: object) -> None:
    with pytest.raises(DataError, match="at least 2 rows"):
        Sample(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_rows_must_be_finite(bad: float) -> None:
    with pytest.raises(DataError, match="Got some that are NaN or infinite"):
        Sample([0.0, bad, 1.0])  # type: ignore[arg-type]


def test_a_sample_refuses_ends_in_the_wrong_order() -> None:
    with pytest.raises(InputError, match="low <= high"):
        Sample(np.zeros(2), low=1, high=0)


@pytest.mark.parametrize(
    ("name", "low", "high", "word"),
    [
        (name, *case)
        for name, bound in BOUNDS.items()
        for end, *case in [
            ("low", -inf, 1.0, "propensity_floor"),
            ("high", -1.0, inf, "impact_range"),
        ]
        if end in bound.needs
    ],
)
def test_a_bound_refuses_without_the_ends_of_its_proof(
    name: str, low: float, high: float, word: str
) -> None:
    sample = Sample(rows().values, low=low, high=high)
    for call in (
        lambda: get_bound(name).check(sample),
        lambda: get_bound(name).upper([sample], 0.1),
        lambda: get_bound(name).predict([sample], 0.1, [50]),
    ):
        with pytest.raises(BoundError, match=rf"(?s){name}.*Hint: .*{word}"):
            call()


@pytest.mark.parametrize("name", BOUNDS)
def test_other_ends_may_be_unknown(name: str) -> None:
    known = {end: {"low": -0.5, "high": 0.5}[end] for end in get_bound(name).needs}
    assert np.isfinite(get_bound(name).upper([Sample(rows().values, **known)], 0.1))


@pytest.mark.parametrize("name", FINITE_SAMPLE)
def test_rows_outside_their_declared_ends_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="declared ends"):
        get_bound(name).upper([Sample(rows().values, low=-0.5, high=-0.4)], 0.1)
    # Rounding is not a broken declaration.
    get_bound(name).upper([Sample(np.array([0.0, 1.0 + 1e-13]), low=0, high=1)], 0.1)


def test_anderson_is_proved_up_to_one_half() -> None:
    assert np.isfinite(get_bound("anderson").upper([rows()], 0.5))
    with pytest.raises(BoundError, match=r"delta <= 0.5. Got 0.51"):
        get_bound("anderson").upper([rows()], 0.51)
    with pytest.raises(BoundError, match=r"delta <= 0.5"):
        get_bound("anderson").predict([rows()], 0.51, [60])


@pytest.mark.parametrize("name", BOUNDS)
def test_no_samples_and_prediction_shapes_are_refused(name: str) -> None:
    bound = get_bound(name)
    with pytest.raises(InputError, match="at least one sample"):
        bound.upper([], 0.1)
    with pytest.raises(InputError, match="one-dimensional"):
        bound.predict([rows((3, 20))], 0.1, [20])
    with pytest.raises(InputError, match="one-dimensional"):
        bound.predict([rows()], 0.1, [20, 20])


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("disjoint", [True, False])
def test_shifting_and_scaling_rows_shifts_and_scales_the_bound(
    name: str, count: int, disjoint: bool
) -> None:
    bound = get_bound(name)
    places = [np.arange(60), np.arange(30, 180)][:count]
    before = [
        Sample(s.values, s.low, s.high, s.scale, at, expected=0.1)
        for s, at in zip([rows(60, 1), rows(150, 2)], places, strict=False)
    ]
    after = [
        Sample(3 * s.values + 2, 3 * s.low + 2, 3 * s.high + 2, 3 * (s.scale or 1), s.rows, 2.3)
        for s in before
    ]
    expected = 3 * bound.upper(before, 0.1, disjoint=disjoint) + 2 * count
    np.testing.assert_allclose(bound.upper(after, 0.1, disjoint=disjoint), expected, atol=1e-9)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("disjoint", [True, False])
def test_repetitions_give_what_a_loop_gives(name: str, disjoint: bool) -> None:
    bound = get_bound(name)
    left, right = rows((2, 3, 25), 3), rows((2, 3, 60), 4)
    at = [np.arange(25), np.arange(10, 70)]

    def pair(a: np.ndarray, b: np.ndarray) -> list[Sample]:
        return [Sample(v, -0.5, 0.5, 0.16, r) for v, r in zip((a, b), at, strict=True)]

    together = bound.upper(pair(left.values, right.values), 0.1, disjoint=disjoint)
    assert together.shape == (2, 3)
    for i in np.ndindex(2, 3):
        alone = bound.upper(pair(left.values[i], right.values[i]), 0.1, disjoint=disjoint)
        assert alone.shape == ()
        np.testing.assert_allclose(together[i], alone, rtol=1e-12)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_smaller_delta_gives_a_larger_bound(name: str) -> None:
    bound, sample = get_bound(name), rows(200)
    assert sample.values.mean() < bound.upper([sample], 0.1) < bound.upper([sample], 0.01)


@pytest.mark.parametrize("name", BOUNDS)
def test_the_gap_closes(name: str) -> None:
    sample = rows(20_000)
    if name == "growth":  # it bets against 0 alone, unless something else is expected
        sample = replace(sample, expected=float(sample.values.mean()))
    gap = get_bound(name).upper([sample], 0.05) - sample.values.mean()
    assert 0 < gap < 0.012


def test_the_order_on_an_easy_example() -> None:
    # Little spread inside a wide range: what knows the spread wins, and the t bound pays nothing
    # for a proof. On average: in one draw betting may have a lucky way.
    sample = rows((100, 2_000))
    mean = {name: float(get_bound(name).upper([sample], 0.05).mean()) for name in BOUNDS}
    finite = [mean[name] for name in FINITE_SAMPLE]
    assert mean["ttest"] < min(finite)
    # The first and the last stand where BOUNDS says; which of the others is wider varies.
    assert (max(finite), min(finite)) == (finite[0], finite[-1])

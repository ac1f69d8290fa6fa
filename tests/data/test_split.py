"""The split: a simple random sample of fixed size, and the seal on its other half."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtri, ndtri

from elfair.data import LoggedData
from elfair.data.digests import mix
from elfair.data.split import Fold, Split, row_keys
from elfair.errors import DataError

#: Each check below errs with this probability if the split is what it should be.
RARE = 1e-6


def rows(n: int, **columns: Any) -> LoggedData:
    """Rows that the impact ``place`` tells apart."""
    return LoggedData(**{"X": np.zeros((n, 1)), "impact": {"place": np.arange(n)}, **columns})


def partition(data: LoggedData, kind: str = "random", share: float = 0.6, seed: int = 0) -> Fold:
    (fold,) = Split.of(data, kind, share=share, seed=seed).folds
    return fold


def halves(data: LoggedData, **options: Any) -> tuple[list[int], list[int]]:
    """The places of candidate and held-out rows."""
    candidate, sealed = partition(data, **options)
    held_out = sealed.open()
    assert sealed.n == held_out.n
    first, second = (half.impact("place").astype(int).tolist() for half in (candidate, held_out))
    return first, second


# -- what the split depends on ------------------------------------------------------------------


@given(st.integers(2, 60), st.floats(0.05, 0.95), st.integers(0, 2**64))
def test_a_split_of_fixed_size(n: int, fraction: float, seed: int) -> None:
    size = round(fraction * n)
    if not 0 < size < n:
        with pytest.raises(DataError, match=f"{n} rows cannot be split"):
            partition(rows(n), share=fraction, seed=seed)
        return
    candidate, held_out = halves(rows(n), share=fraction, seed=seed)
    assert len(candidate) == size
    assert sorted(candidate + held_out) == list(range(n))
    assert candidate == sorted(candidate)


def test_sixty_to_forty_by_default() -> None:
    candidate, held_out = halves(rows(1000))
    assert (len(candidate), len(held_out)) == (600, 400)


def test_the_split_is_the_same_everywhere_and_always() -> None:
    # Written down: another platform or version must not move held-out rows into the candidate half.
    assert halves(rows(10), seed=0)[1] == [7, 8, 6, 9]
    assert halves(rows(4, row_id=["a", "b", "c", "d"]), share=0.5)[1] == [0, 2]


def test_other_columns_do_not_move_the_split() -> None:
    n, rng = 50, np.random.default_rng(0)
    plain = halves(rows(n), seed=3)
    decision = rng.integers(0, 2, n)
    full = rows(
        n,
        X=rng.normal(size=(n, 4)),
        y=rng.integers(0, 2, n),
        sensitive_features={"T": rng.integers(0, 2, n)},
        decision=decision,
        propensity=rng.uniform(0.1, 0.9, n),
        impact={"other": rng.normal(size=n), "place": np.arange(n)},
    )
    assert halves(full, seed=3) == plain
    assert halves(full, seed=4) != plain


IDS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=30, unique=True),
    st.lists(st.text(max_size=5), min_size=4, max_size=30, unique=True),
)


@settings(max_examples=50)
@given(IDS, st.integers(0, 5), st.randoms())
def test_the_split_goes_with_the_row_ids(ids: list[Any], seed: int, random: Any) -> None:
    moved = list(range(len(ids)))
    random.shuffle(moved)
    before = halves(rows(len(ids), row_id=ids), seed=seed)
    after = halves(rows(len(ids), row_id=[ids[i] for i in moved]), seed=seed)
    assert {ids[i] for i in before[0]} == {ids[moved[i]] for i in after[0]}
    # The order of the test is the same too.
    assert [ids[i] for i in before[1]] == [ids[moved[i]] for i in after[1]]


def test_whole_row_ids_of_any_width_are_the_same_people() -> None:
    narrow = halves(rows(20, row_id=np.arange(20, dtype=np.uint8)))
    assert halves(rows(20, row_id=np.arange(20, dtype=np.int64))) == narrow
    candidate, held_out = halves(rows(20))  # the index is the id of those who have none
    assert (candidate, held_out) == (sorted(narrow[0]), narrow[1])


# -- the split is random ------------------------------------------------------------------------

N, SIZE, SEEDS = 20, 12, 3000


@pytest.fixture(scope="module", params=["index", "text"])
def splits(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """For each seed, who is a candidate; and the order of those who are not."""
    row_id = None if request.param == "index" else [f"person {i}" for i in range(N)]
    data = rows(N, row_id=row_id)
    chosen, order = np.zeros((SEEDS, N), dtype=bool), np.zeros((SEEDS, N - SIZE), dtype=int)
    for seed in range(SEEDS):
        candidate, held_out = halves(data, seed=seed)
        chosen[seed, candidate] = True
        order[seed] = held_out
    return chosen, order


def test_every_row_is_as_likely_a_candidate(splits: tuple[np.ndarray, np.ndarray]) -> None:
    counts, share = splits[0].sum(axis=0), SIZE / N
    # The counts sum to a constant, which takes one degree of freedom and the factor (N - 1) / N.
    statistic = np.sum((counts - SEEDS * share) ** 2) / (SEEDS * share * (1 - share)) * (N - 1) / N
    assert chdtri(N - 1, 1 - RARE) < statistic < chdtri(N - 1, RARE)


def test_every_pair_is_as_likely_a_pair(splits: tuple[np.ndarray, np.ndarray]) -> None:
    chosen = splits[0]
    together = SIZE * (SIZE - 1) / (N * (N - 1))
    pairs = list(combinations(range(N), 2))
    counts = np.array([(chosen[:, i] & chosen[:, j]).sum() for i, j in pairs])
    z = (counts - SEEDS * together) / sqrt(SEEDS * together * (1 - together))
    assert np.abs(z).max() < -ndtri(RARE / 2 / len(pairs))
    assert 0.5 < z.var() < 1.6


def test_one_seed_says_nothing_of_the_next(splits: tuple[np.ndarray, np.ndarray]) -> None:
    chosen = splits[0]
    shared = (chosen[1:] & chosen[:-1]).sum(axis=1)  # hypergeometric
    mean = SIZE * SIZE / N
    variance = mean * (N - SIZE) ** 2 / (N * (N - 1))
    assert abs(shared.mean() - mean) < -ndtri(RARE / 2) * sqrt(variance / len(shared))
    assert 0.85 < shared.var() / variance < 1.15
    assert len(np.unique(chosen, axis=0)) > 0.95 * SEEDS


def test_the_order_of_the_test_is_random(splits: tuple[np.ndarray, np.ndarray]) -> None:
    order = splits[1]
    for place in (0, N - SIZE - 1):
        counts = np.bincount(order[:, place], minlength=N)
        statistic = np.sum((counts - SEEDS / N) ** 2) / (SEEDS / N)
        assert statistic < chdtri(N - 1, RARE)
    rising = (np.diff(order, axis=1) > 0).mean(axis=1)
    # The rises of a random order of m have mean (m - 1) / 2 and variance (m + 1) / 12.
    m = N - SIZE
    error = sqrt((m + 1) / 12) / (m - 1) / sqrt(SEEDS)
    assert abs(rising.mean() - 0.5) < -ndtri(RARE / 2) * error


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_keys_of_many_rows_look_random(seed: int) -> None:
    n = 100_000
    keys = row_keys(rows(n), seed)
    assert len(np.unique(keys)) == n
    limit = -ndtri(RARE / 2 / 64)
    bits = (keys[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < limit * 0.5 / sqrt(n)
    uniform = keys / 2.0**64
    for lag in (1, 2, 7, 64, 1000):  # neighbours, and rows that differ in one bit
        correlation = np.corrcoef(uniform[lag:], uniform[:-lag])[0, 1]
        assert abs(correlation) < limit / sqrt(n - lag)
    # In each run of a thousand rows, about as many candidates as elsewhere.
    inside = (keys < np.sort(keys)[int(0.6 * n)]).reshape(-1, 1000).sum(axis=1)
    assert np.sum((inside - 600) ** 2 / 240) < chdtri(len(inside) - 1, RARE)


@given(st.integers(0, 2**64 - 1), st.integers(0, 63))
def test_each_bit_that_goes_in_moves_half_of_those_that_come_out(key: int, bit: int) -> None:
    first, second = mix(np.array([key, key ^ (1 << bit)], dtype=np.uint64)).tolist()
    assert 8 <= (first ^ second).bit_count() <= 56


# -- the split by time --------------------------------------------------------------------------


def in_time(time: Any, seed: int = 0, **columns: Any) -> tuple[list[int], list[int]]:
    n = len(time)
    data = LoggedData(np.zeros((n, 1)), impact={"place": np.arange(n)}, time=time, **columns)
    candidate, held_out = halves(data, kind="time", seed=seed)
    return candidate, held_out


def test_the_search_has_the_past_and_the_test_the_most_recent_rows() -> None:
    time = np.random.default_rng(0).permutation(50)
    candidate, held_out = in_time(time)
    assert time[candidate].max() < time[held_out].min()
    assert len(candidate) == 30
    assert held_out != sorted(held_out)  # bets depend on an order that has nothing to do with time
    days = np.datetime64("2020-01-01") + time
    assert in_time(days) == (candidate, held_out)


def test_rows_of_one_time_are_divided_at_random() -> None:
    time = np.repeat([1, 2, 3], [10, 30, 10])
    halved = [in_time(time, seed) for seed in range(200)]
    for candidate, held_out in halved:
        assert len(candidate) == 30
        assert set(range(10)) <= set(candidate)
        assert set(range(40, 50)) <= set(held_out)
    often = np.zeros(50)
    for candidate, _ in halved:
        often[candidate] += 1
    assert often[10:40] == pytest.approx(200 * 20 / 30, abs=30)  # 4.5 standard errors


def test_a_unit_counts_by_its_last_row() -> None:
    """Else the search would see what came after rows that are tested."""
    unit = np.arange(40) % 20
    time = np.where(np.arange(40) < 20, unit, 100 - unit)  # who came first comes back last
    candidate, held_out = in_time(time, unit=unit)
    assert set(unit[candidate]) == set(range(8, 20))
    assert set(unit[held_out]) == set(range(8))


def test_the_split_by_time_does_not_depend_on_the_order_of_identified_rows() -> None:
    time, ids, order = (
        np.repeat([1, 2], 25),
        np.arange(50),
        np.random.default_rng(1).permutation(50),
    )
    first, _ = in_time(time, row_id=ids)
    second, _ = in_time(time[order], row_id=ids[order])
    assert sorted(ids[first]) == sorted(ids[order][second])


def test_without_a_time_it_is_refused() -> None:
    with pytest.raises(DataError, match="split='time' needs the time of each row"):
        Split.of(LoggedData(np.zeros((9, 1))), "time", share=0.6)
    with pytest.raises(DataError, match=r"time must hold dates or numbers.*Got 'May'"):
        LoggedData(np.zeros((2, 1)), time=["May", "June"])
    with pytest.raises(DataError, match="time is missing"):
        LoggedData(np.zeros((2, 1)), time=[1.0, np.nan])


# -- the stratified split -----------------------------------------------------------------------


def test_strata_are_split_in_proportion() -> None:
    n, rng = 400, np.random.default_rng(1)
    label, group = rng.integers(0, 2, n), rng.choice(["A", "B", "C"], n, p=[0.7, 0.25, 0.05])
    data = rows(n, y=label, sensitive_features={"race": group})
    for seed in range(20):
        candidate, held_out = halves(data, seed=seed, kind="stratified")
        assert sorted(candidate + held_out) == list(range(n))
        for value in (0, 1):
            for name in "ABC":
                inside = (label == value) & (group == name)
                assert abs(inside[candidate].sum() - 0.6 * inside.sum()) < 1


def test_small_strata_are_not_always_candidates() -> None:
    data = rows(40, sensitive_features={"name": [f"person {i}" for i in range(40)]})
    counts = np.zeros(40)
    for seed in range(1000):
        counts[halves(data, seed=seed, kind="stratified")[0]] += 1
    assert np.abs(counts - 600).max() < -ndtri(RARE / 2 / 40) * sqrt(240)


def test_within_a_stratum_every_row_is_as_likely() -> None:
    data = rows(9, y=[0] * 4 + [1] * 5)
    counts = np.zeros(9)
    for seed in range(2000):
        counts[halves(data, seed=seed, kind="stratified")[0]] += 1
    assert np.abs(counts - 1200).max() < -ndtri(RARE / 2 / 9) * sqrt(480)


def test_a_missing_group_is_a_stratum() -> None:
    data = rows(20, sensitive_features={"race": ["A", None] * 10})
    candidate, _ = halves(data, kind="stratified")
    assert sum(place % 2 for place in candidate) == 6


# -- the seal -----------------------------------------------------------------------------------


def test_only_opening_gives_the_rows() -> None:
    _, sealed = partition(rows(10), seed=71)
    assert {name for name in dir(sealed) if not name.startswith("_")} == {"n", "open"}
    assert sealed.n == 4
    assert isinstance(sealed.open(), LoggedData)
    assert "place" not in repr(sealed)


def test_the_halves_share_no_memory() -> None:
    data = rows(10, X=np.arange(10.0)[:, None])
    candidate, sealed = partition(data)
    candidate.features[:] = data.features[:] = -1
    assert (sealed.open().features >= 0).all()


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.99, 1.0, 1.5])
def test_fractions_that_leave_a_half_empty(fraction: float) -> None:
    with pytest.raises(DataError, match=r"10 rows cannot be split .*\nHint: more rows"):
        partition(rows(10), share=fraction)


def test_one_row_has_no_halves() -> None:
    with pytest.raises(DataError, match=r"1 rows cannot be split .*\nHint: more rows"):
        partition(rows(1))
    with pytest.raises(DataError, match="2 rows cannot be split"):
        partition(rows(2), share=0.9)

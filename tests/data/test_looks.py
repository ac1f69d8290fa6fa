"""Which tests are looks at the same rows, and which look each of them is."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from elfair import LoggedData
from elfair.data import ContinuousData
from elfair.data.looks import Look, LooksOfProcess, counted_in, enter, looking_again, rows_of
from elfair.errors import InputError

N = 60


def table(seed: int = 0, *, coarse: bool = False, order: Any = None, **columns: Any) -> LoggedData:
    rng = np.random.default_rng(seed)
    given = {
        "X": rng.integers(0, 2, (N, 1)) if coarse else rng.normal(size=(N, 1)),
        "y": rng.integers(0, 2, N),
        "decision": rng.integers(0, 2, N),
        "propensity": np.full(N, 0.5),
        "impact": rng.integers(0, 2, N) if coarse else rng.normal(size=N),
    } | columns
    if order is not None:
        given = {name: None if x is None else np.asarray(x)[order] for name, x in given.items()}
    return LoggedData(**given)


def are_the_same(one: LoggedData, other: LoggedData) -> bool:
    return not set(rows_of(one)).isdisjoint(rows_of(other))


def look(test: str, rows: tuple[str, ...] = ("rows",), declared: int = 1) -> Look:
    return Look(rows, test, declared)


# -- the same rows ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "columns",
    [
        {"X": np.zeros((N, 3))},
        {"y": [0, 1] * (N // 2)},
        {"sensitive_features": {"sex": [0, 1] * (N // 2)}},
        {"propensity": np.full(N, 0.4)},
        {"order": np.arange(N)[::-1]},
        {"order": np.arange(N)[::-1], "X": np.ones((N, 1))},
    ],
)
def test_rows_are_known_again_whatever_becomes_of_other_columns(columns):
    assert are_the_same(table(), table(**columns))


def test_one_common_impact_is_enough():
    income, health = (np.random.default_rng(k).normal(size=N) for k in (1, 2))
    both = table(impact={"income": income, "health": health})
    assert are_the_same(both, table(X=np.zeros((N, 1)), impact={"health": health}))
    assert not are_the_same(both, table(X=np.zeros((N, 1)), impact={"health": health + 1}))


def test_other_people_are_other_rows():
    assert not are_the_same(table(0), table(1))
    assert not are_the_same(table(0), table(0, impact=table(1).impact("impact")))


def test_as_many_people_of_each_kind_are_not_the_same_people():
    """Two draws of yes and no often have the same counts; in order they are never the same."""
    one = table(coarse=True)
    shuffled = table(coarse=True, order=np.random.default_rng(3).permutation(N))
    assert not are_the_same(one, shuffled)
    assert are_the_same(one, table(coarse=True))
    # What tells people apart makes them known again in any order.
    fine = {"X": np.random.default_rng(4).normal(size=(N, 1))}
    backwards = np.arange(N)[::-1]
    assert are_the_same(table(coarse=True, **fine), table(coarse=True, order=backwards, **fine))


def test_without_impacts_features_and_labels_are_the_rows():
    plain = {"decision": None, "propensity": None, "impact": None}
    assert are_the_same(table(**plain), table(order=np.arange(N)[::-1], **plain))
    assert not are_the_same(table(**plain), table(X=np.zeros((N, 1)), **plain))


def test_numbers_are_rows_too():
    rng = np.random.default_rng(5)
    dose, impact = rng.normal(size=N), rng.normal(size=N)

    def doses(**columns):
        given = {"decision": dose, "propensity": np.full(N, 0.3), "impact": impact} | columns
        return ContinuousData(rng.normal(size=(N, 1)), rng.normal(size=N), **given)

    assert are_the_same(doses(), doses())
    assert not are_the_same(doses(), doses(decision=dose + 1))


# -- which look ---------------------------------------------------------------------------------


def test_the_same_test_again_is_the_same_look():
    looks = LooksOfProcess()
    tests = ["one", "two", "one", "three", "two"]
    assert [looks.enter(look(test)) for test in tests] == [1, 2, 1, 3, 2]
    assert looks.enter(look("one", rows=("others",))) == 1


def test_looks_at_several_impacts_are_counted_in_their_order():
    looks = LooksOfProcess()
    assert looks.enter(look("one", rows=("health",), declared=2)) == 1
    assert looks.enter(look("two", rows=("income",), declared=3)) == 1
    assert looks.enter(look("three", rows=("health", "wealth"), declared=2)) == 2
    with pytest.raises(InputError, match="looks=2 was declared before the first"):
        looks.enter(look("four", rows=("income", "health"), declared=3))


@pytest.mark.parametrize("later", [1, 3])
def test_the_number_of_looks_is_declared_before_the_first(later):
    looks = LooksOfProcess()
    assert looks.enter(look("one", declared=2)) == 1
    said = rf"looks=2 was declared before the first look.*Got looks={later} instead"
    with pytest.raises(InputError, match=said) as caught:
        looks.enter(look("two", declared=later))
    assert str(caught.value).count("Hint:") == 1
    assert looks.enter(look("three", declared=2)) == 2  # what was refused is no look


def test_a_list_counts_where_it_is_in_use_and_a_test_that_is_checked_is_not_counted():
    first = look("first")
    with counted_in(LooksOfProcess()):
        assert enter(first) == 1
        assert enter(look("second")) == 2
        with counted_in(LooksOfProcess()):
            assert enter(look("third")) == 1
        with looking_again(7):
            assert enter(look("fourth")) == 7
        assert enter(look("fifth")) == 3


def test_of_many_tests_at_once_each_has_its_own_number():
    looks, numbers = LooksOfProcess(), []
    threads = [
        threading.Thread(target=lambda k=k: numbers.append(looks.enter(look(str(k)))))
        for k in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == [*range(1, 51)]

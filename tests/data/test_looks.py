"""Which tests are looks at the same rows, and which look each of them is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from elfair import Ledger, LoggedData
from elfair.data import ContinuousData
from elfair.data.identity import Identity
from elfair.data.looks import (
    Look,
    LooksOfProcess,
    chain,
    counted_in,
    enter,
    lines_of,
    looking_again,
)
from elfair.data.session import LooksOfSession, _folder
from elfair.errors import InputError, SpentError

N = 60
SECRET = b"a secret"


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
    return Identity.of(one, SECRET).shares_people(Identity.of(other, SECRET))


def look(test: str, rows: tuple[str, ...] = ("rows",), declared: int = 1, after: str = "") -> Look:
    return Look(Identity(frozenset(rows), None, False, ()), test, declared, after=after)


def given(look: Look):
    """A look as a list of looks asks for it."""
    return lambda secret: look


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
    other = {"health": np.random.default_rng(3).normal(size=N)}
    assert not are_the_same(both, table(X=np.zeros((N, 1)), impact=other))


def test_other_people_are_other_rows():
    assert not are_the_same(table(0), table(1))
    others = table(1)
    assert are_the_same(table(0), table(0, impact=others.impact("impact")))  # their features
    assert are_the_same(table(0), table(1, impact=table(0).impact("impact")))  # their impact


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
    assert not are_the_same(doses(), doses(impact=rng.normal(size=N)))


def people(n: int = 1000, seed: int = 0, *, coarse: bool = False) -> dict[str, Any]:
    """A table as a dictionary: five features, two groups, one impact."""
    rng = np.random.default_rng([seed, n])
    draw = (lambda: rng.integers(0, 4, n)) if coarse else (lambda: rng.normal(size=n))
    return {f"x{k}": draw() for k in range(5)} | {
        "label": rng.integers(0, 2, n),
        "group": rng.integers(0, 2, n),
        "decision": rng.integers(0, 2, n),
        "impact": rng.integers(0, 5, n) if coarse else rng.normal(size=n),
    }


def logged(columns: dict[str, Any], **more: Any) -> LoggedData:
    return LoggedData(
        np.column_stack([columns[name] for name in columns if name[0] == "x"]),
        columns["label"],
        sensitive_features={"T": columns["group"]},
        decision=columns["decision"],
        propensity=np.full(len(columns["label"]), 0.5),
        impact=columns["impact"],
        **more,
    )


def kept(columns: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: column[rows] for name, column in columns.items()}


def without(columns: dict[str, Any], name: str) -> dict[str, Any]:
    return {each: column for each, column in columns.items() if each != name}


def _combined(columns: dict[str, Any], rng: Any) -> dict[str, Any]:
    return BETWEEN["another order"](BETWEEN["another scale of everything"](columns, rng), rng)


#: What people do to a table between two tests of it.
BETWEEN = {
    "nothing": lambda t, rng: t,
    "another order": lambda t, rng: kept(t, rng.permutation(len(t["label"]))),
    "a feature less": lambda t, rng: without(t, "x1"),
    "a feature more": lambda t, rng: {"x": rng.integers(0, 3, len(t["label"])), **t},
    "another scale of the impact": lambda t, rng: t | {"impact": 1000 * t["impact"] + 7},
    "another scale of everything": lambda t, rng: {
        name: 3.7 * column - 1 if name[0] in "xi" else column for name, column in t.items()
    },
    "logarithms": lambda t, rng: t | {"impact": np.exp(t["impact"] / 3), "x0": np.exp(t["x0"])},
    "one row less": lambda t, rng: kept(t, np.arange(1, len(t["label"]))),
    "one row more": lambda t, rng: {
        name: np.append(column, column[:1]) for name, column in t.items()
    },
    "half of the rows": lambda t, rng: kept(t, rng.permutation(len(t["label"]))[::2]),
    "half of the rows, scaled": lambda t, rng: BETWEEN["another scale of everything"](
        BETWEEN["half of the rows"](t, rng), rng
    ),
    "a fifth of the rows": lambda t, rng: kept(t, rng.permutation(len(t["label"]))[::5]),
    "single precision": lambda t, rng: {
        name: np.asarray(column, dtype=np.float32) for name, column in t.items()
    },
    "another label": lambda t, rng: t | {"label": rng.integers(0, 2, len(t["label"]))},
    "other groups": lambda t, rng: t | {"group": rng.integers(0, 3, len(t["label"]))},
    "features reordered, all scaled, another order": lambda t, rng: _combined(
        {name: t[name] for name in reversed(t)}, rng
    ),
    "a feature less, all scaled, another order": lambda t, rng: _combined(without(t, "x1"), rng),
    "decisions recoded, all scaled, another order": lambda t, rng: _combined(
        t | {"decision": 1 - t["decision"]}, rng
    ),
    "labels recoded, all scaled, another order": lambda t, rng: _combined(
        t | {"label": 1 - t["label"]}, rng
    ),
    "impact negated, all scaled, another order": lambda t, rng: _combined(
        t | {"impact": -1.0 * t["impact"]}, rng
    ),
    "other features, impact scaled, another order": lambda t, rng: _combined(
        {name: rng.normal(size=1000) if name[0] == "x" else t[name] for name in t}, rng
    ),
    "twice the rows": lambda t, rng: {
        name: np.concatenate([column, people(seed=99)[name]]) for name, column in t.items()
    },
}
#: A small part of people who are alike in many columns is not known again, and whole numbers from
#: 0 to 4 have no logarithms.
TOO_COARSE = ("a fifth of the rows", "half of the rows, scaled", "half of the rows", "logarithms")
TOO_COARSE += ("twice the rows",)


@pytest.mark.parametrize("what", BETWEEN)
def test_people_are_known_again_whatever_was_done_to_their_table(what):
    for seed in range(3):
        before = people(seed=seed)
        after = BETWEEN[what](before, np.random.default_rng(seed))
        assert are_the_same(logged(before), logged(after)), seed


@pytest.mark.parametrize("what", [each for each in BETWEEN if each not in TOO_COARSE])
def test_so_are_people_who_are_alike_in_every_single_column(what):
    for seed in range(3):
        before = people(seed=seed, coarse=True)
        after = BETWEEN[what](before, np.random.default_rng(seed))
        assert are_the_same(logged(before), logged(after)), seed


def test_repeated_people_who_are_removed_are_known_again():
    once = people()
    rows = np.concatenate([np.arange(1000), np.arange(300)])
    assert are_the_same(logged(kept(once, rows), unit=rows), logged(once))


@pytest.mark.parametrize("coarse", [False, True])
def test_fresh_people_are_not_taken_for_old_ones(coarse):
    """Not even of the same population, with the same row numbers, days and ranks."""
    for seed in range(20):
        tables = [people(400, seed=2 * seed + k, coarse=coarse) for k in range(2)]
        for each in tables:
            each |= {"x day": np.arange(400), "x rank": np.argsort(np.argsort(each["x0"])) / 399}
        one, other = (logged(each, row_id=np.arange(400)) for each in tables)
        assert not are_the_same(one, other), seed


def test_columns_that_follow_from_each_other_or_from_a_design_identify_nobody():
    """Whatever is the same in every table of a kind says nothing of the people in it."""
    for seed in range(10):
        tables = []
        for each in range(2):
            rng = np.random.default_rng([seed, each])
            impact = rng.normal(size=200)
            columns = people(200, seed=2 * seed + each, coarse=True)
            columns |= {"impact": impact, "x0": np.exp(impact), "x1": -impact, "x2": impact > 0}
            columns |= {"x3": np.arange(200) % 4, "x4": np.zeros(200)}
            columns |= {"label": np.arange(200) % 2, "decision": np.arange(200) // 2 % 2}
            columns["group"] = np.arange(200) // 4 % 2
            tables.append(kept(columns, rng.permutation(200)))
        assert not are_the_same(*(logged(each) for each in tables)), seed


def test_identifiers_make_people_known_again_whatever_else_there_is():
    names = np.random.default_rng(5).integers(10**9, size=1000)
    one, other = (logged(people(seed=seed), row_id=names) for seed in (1, 2))
    assert are_the_same(one, other)
    assert not are_the_same(one, logged(people(seed=2), row_id=names + 1))


def test_whoever_lacks_the_secret_learns_nothing():
    data = logged(people(), row_id=np.random.default_rng(5).integers(10**9, size=1000))
    assert not Identity.of(data, SECRET).shares_people(Identity.of(data, b"another secret"))


# -- which look ---------------------------------------------------------------------------------


def test_the_same_test_again_is_the_same_look():
    looks = LooksOfProcess()
    tests = ["one", "two", "one", "three", "two"]
    assert [looks.enter(given(look(test))) for test in tests] == [1, 2, 1, 3, 2]
    assert looks.enter(given(look("one", rows=("others",)))) == 1


def test_looks_at_several_impacts_are_counted_in_their_order():
    looks = LooksOfProcess()
    assert looks.enter(given(look("one", rows=("health",), declared=2))) == 1
    assert looks.enter(given(look("two", rows=("income",), declared=3))) == 1
    assert looks.enter(given(look("three", rows=("health", "wealth"), declared=2))) == 2
    with pytest.raises(InputError, match="looks=2 was declared before the first"):
        looks.enter(given(look("four", rows=("income", "health"), declared=3)))


@pytest.mark.parametrize("later", [1, 3])
def test_the_number_of_looks_is_declared_before_the_first(later):
    looks = LooksOfProcess()
    assert looks.enter(given(look("one", declared=2))) == 1
    said = rf"looks=2 was declared before the first look.*Got looks={later} instead"
    with pytest.raises(InputError, match=said) as caught:
        looks.enter(given(look("two", declared=later)))
    assert str(caught.value).count("Hint:") == 1
    assert looks.enter(given(look("three", declared=2))) == 2  # what was refused is no look


def test_looks_beyond_those_declared_are_refused():
    looks = LooksOfProcess()
    assert [looks.enter(given(look(test, declared=2))) for test in "ab"] == [1, 2]
    with pytest.raises(SpentError, match="2 looks at these rows were declared, and all") as caught:
        looks.enter(given(look("c", declared=2)))
    assert str(caught.value).count("Hint:") == 1
    assert [looks.enter(given(look(test, declared=2))) for test in "ab"] == [1, 2]


def test_a_test_that_goes_on_with_fresh_rows_does_not_count_those_before_it():
    looks = LooksOfProcess()
    assert looks.enter(given(look("a", rows=("old",)))) == 1
    assert looks.enter(given(look("b", rows=("new",), after="a"))) == 1
    assert looks.enter(given(look("c", rows=("newer",), after="b"))) == 1
    assert looks.enter(given(look("d", rows=("new",)))) == 2  # another test of those people
    made = [look("a"), look("b", after="a"), look("c", after="b")]
    assert [each.test for each in chain(made, "c")] == ["c", "b", "a"]


def test_another_way_to_go_on_is_a_further_look_whoever_it_is_about():
    looks = LooksOfProcess()
    tests = [("a", ""), ("b", "a"), ("b2", "a"), ("c", "b"), ("c2", "b2"), ("c3", "b"), ("b3", "a")]
    made = [look(test, rows=(f"of {test}",), after=after) for test, after in tests]
    # Who goes on with the first way, or with the second, stays in its line; a third one is new.
    assert [looks.enter(given(each)) for each in made] == [1, 1, 2, 1, 2, 3, 4]
    assert [looks.enter(given(each)) for each in made] == [1, 1, 2, 1, 2, 3, 4]
    lines = lines_of(made)
    assert [lines[test] for test, _ in tests] == ["a", "a", "b2", "a", "b2", "c3", "b3"]


def test_a_stage_is_as_late_a_look_as_the_one_it_continues_and_looks_elsewhere_count():
    looks = LooksOfProcess()
    assert looks.enter(given(look("other", rows=("old",)))) == 1
    assert looks.enter(given(look("a", rows=("old",)))) == 2
    assert looks.enter(given(look("b", rows=("new",), after="a"))) == 2
    assert looks.enter(given(look("later", rows=("old",)))) == 3
    assert looks.enter(given(look("c", rows=("newer",), after="b"))) == 2
    assert looks.enter(given(look("elsewhere", rows=("newest",)))) == 1
    assert looks.enter(given(look("d", rows=("newest",), after="c"))) == 3
    declared = LooksOfProcess()
    for test, after, which in (("a", "", 1), ("b", "a", 1), ("b2", "a", 2), ("c2", "b2", 2)):
        made = look(test, rows=(f"of {test}",), declared=2, after=after)
        assert declared.enter(given(made)) == which
    with pytest.raises(SpentError):
        declared.enter(given(look("b3", rows=("of b3",), declared=2, after="a")))


@pytest.mark.parametrize("again", ["old", "new"])
def test_rows_that_a_stage_saw_are_not_fresh(again):
    looks = LooksOfProcess()
    for test, after, rows in (("a", "", "old"), ("b", "a", "new")):
        looks.enter(given(look(test, rows=(rows,), after=after)))
    with pytest.raises(InputError, match="whom an earlier stage saw") as caught:
        looks.enter(given(look("c", rows=(again, "newer"), after="b")))
    assert str(caught.value).count("Hint:") == 1
    assert looks.enter(given(look("c", rows=("newer",), after="b"))) == 1


def test_a_list_counts_where_it_is_in_use_and_a_test_that_is_checked_is_not_counted():
    first = look("first")
    with counted_in(LooksOfProcess()):
        assert enter(given(first)) == 1
        assert enter(given(look("second"))) == 2
        with counted_in(LooksOfProcess()):
            assert enter(given(look("third"))) == 1
        with looking_again(7):
            assert enter(given(look("fourth"))) == 7
        assert enter(given(look("fifth"))) == 3


def test_of_many_tests_at_once_each_has_its_own_number():
    looks, numbers = LooksOfProcess(), []
    threads = [
        threading.Thread(target=lambda k=k: numbers.append(looks.enter(given(look(str(k))))))
        for k in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == [*range(1, 51)]


SEARCH = """
import sys, warnings
import numpy as np
from joblib import Parallel, delayed, parallel_config
from elfair.data.looks import Look, enter
from elfair.data.identity import Identity

def look(test, people="rows"):
    made = Look(Identity(frozenset([people]), None, False, ()), str(test), 1)
    return enter(lambda secret: made)

if __name__ == "__main__":
    with parallel_config(backend=sys.argv[1]):
        numbers = [look("mine"), *Parallel(n_jobs=2)(delayed(look)(test) for test in range(4))]
    print(sorted(numbers), look("after"), look("elsewhere", "others"))
"""


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_workers_count_with_the_process_that_started_them(backend, tmp_path, monkeypatch):
    monkeypatch.delenv("ELFAIR_LEDGER")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "search.py").write_text(SEARCH, encoding="utf-8")
    for _ in range(2):  # another process is another session
        done = subprocess.run(
            [sys.executable, str(tmp_path / "search.py"), backend],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == "[1, 2, 3, 4, 5] 6 1\n"
    (base,) = tmp_path.glob("elfair-*")
    assert [*base.iterdir()] == []  # nothing is left of a session that is over


def test_a_session_counts_in_the_ledger_that_a_variable_names(tmp_path, monkeypatch):
    monkeypatch.setenv("ELFAIR_LEDGER", str(tmp_path / "named.db"))
    assert [LooksOfSession().enter(given(look(test))) for test in "aba"] == [1, 2, 1]
    assert len(Ledger(tmp_path / "named.db").entries()) == 2


def test_a_folder_that_others_can_write_to_is_refused_and_old_sessions_are_removed(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("ELFAIR_LEDGER")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    base = tmp_path / f"elfair-{os.getuid()}"
    (base / "4000000-77").mkdir(parents=True)
    base.chmod(0o777)
    with pytest.raises(InputError, match="others can write there") as caught:
        _folder.__wrapped__(os.getpid())
    assert str(caught.value).count("Hint:") == 1
    base.chmod(0o700)
    mine = _folder.__wrapped__(os.getpid())
    assert mine.parent == base
    assert not (base / "4000000-77").exists()

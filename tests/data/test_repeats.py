"""Copies of rows are refused; people who are alike are not."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, certify, check
from elfair.data.repeats import copies
from elfair.errors import DataError
from elfair.study.sources import read_table

TEXT = "E[impact | T == 1] >= E_logged[impact | T == 1]"


def columns(n=400, times=1, digits=9, seed=0):
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, n)
    known = {
        "x": rng.normal(size=n).round(digits),
        "decision": decision,
        "impact": (decision + rng.normal(size=n)).round(digits),
        "T": rng.integers(0, 2, n),
    }
    return {name: np.repeat(column, times) for name, column in known.items()}


def logged(of, **more):
    return LoggedData(
        of["x"][:, None], decision=of["decision"], propensity=np.full(of["x"].size, 0.5),
        impact=of["impact"], sensitive_features={"T": of["T"]}, **more,
    )  # fmt: skip


@pytest.mark.parametrize("digits", [9, 1, 0])
@pytest.mark.parametrize("times", [2, 6])
def test_copies_are_counted_however_coarse_the_columns(times, digits):
    of = columns(times=times, digits=digits)
    different = len(set(zip(*(column.tolist() for column in of.values()), strict=True)))
    assert copies(logged(of)) == 400 * times - different


def indexed(of, index):
    return LoggedData(
        {"x": of["x"], "index": index}, decision=of["decision"],
        propensity=np.full(of["x"].size, 0.5), impact=of["impact"],
        sensitive_features={"T": of["T"]},
    )  # fmt: skip


INDICES = {
    "counts": np.arange,
    "counts with gaps": lambda n: 7 + np.arange(n) * 3 + (np.arange(n) > 9),
    "counts down": lambda n: np.arange(n)[::-1],
    "a shuffled count": lambda n: np.random.default_rng(1).permutation(n),
    "names": lambda n: np.array([f"row {i}" for i in range(n)], dtype=object),
}


@pytest.mark.parametrize("times", [2, 6])
@pytest.mark.parametrize("digits", [9, 1])
@pytest.mark.parametrize("kind", INDICES)
def test_an_index_among_the_features_hides_no_copies(kind, digits, times):
    of = columns(times=times, digits=digits)
    data = indexed(of, INDICES[kind](400 * times))
    assert copies(data) == copies(logged(of)) > 0
    with pytest.raises(DataError, match="rows are copies"):
        certify(np.full((400 * times, 2), 0.5), data, TEXT)


@pytest.mark.parametrize("digits", [9, 2, 1, 0])
@pytest.mark.parametrize("n", [60, 400, 4_000])
def test_an_index_of_people_who_are_alike_makes_no_copies(n, digits):
    data = indexed(columns(n, digits=digits), np.arange(n))
    assert copies(data) <= 0.05 * n


@pytest.mark.parametrize("digits", [9, 2, 1, 0])
@pytest.mark.parametrize("n", [60, 400, 4_000])
def test_people_who_are_alike_are_no_copies(n, digits):
    worst = max(copies(logged(columns(n, digits=digits, seed=seed))) / n for seed in range(20))
    assert worst <= 0.05


def test_fit_certify_and_check_refuse_copies_and_unit_cures():
    data = logged(columns(times=6))
    model = ELFClassifier(TEXT, objective="E[impact]", candidates=2)
    with pytest.raises(DataError, match="2,000 of 2,400 rows are copies") as caught:
        model.fit(data)
    assert "as unit" in str(caught.value)
    with pytest.raises(DataError, match="2,000 of 2,400 rows are copies"):
        certify(np.full((2_400, 2), 0.5), data, TEXT)
    report = check(model, data)
    assert not report.ok
    assert "copies" in report.findings[0].evidence
    cured = logged(columns(times=6), unit=np.repeat(np.arange(400), 6))
    assert model.fit(cured).certificate_.terms.units.n == 400
    assert check(model, cured).ok
    # Of 7 in 100 copies, check says something, and fit goes on.
    few = columns()
    few = {name: np.append(column, column[:28]) for name, column in few.items()}
    assert copies(logged(few)) == 28
    assert "repeated_rows" in {finding.code for finding in check(model, logged(few)).findings}


@pytest.mark.skipif("ELFAIR_DATA" not in os.environ, reason="ELFAIR_DATA, with trials, is not set")
@pytest.mark.parametrize(
    ("name", "features", "decision", "impact", "group"),
    [
        ("mturk/mturk_old.csv", ["gender"], "tutorial", "quizScore", "gender"),
        ("stroke/ist.csv", ["AGE"], "RXHEP", "ID14", "SEX"),
        ("stroke/ist.csv", ["AGE", "RSBP", "RDELAY"], "RXHEP", "ID14", "SEX"),
        ("jobcorps/jobcorps.csv", ["age"], "assignment", "health48", "female"),
        ("jobcorps/jobcorps.csv", ["age", "educ"], "assignment", "earny4", "female"),
        ("actg175/actg175.csv", ["wtkg"], "arms", "offtrt", "race"),
        ("actg175/actg175.csv", ["age", "karnof"], "arms", "cd420", "race"),
    ],
)
def test_real_people_who_are_alike_are_no_copies(name, features, decision, impact, group):
    """Up to 99 % of these rows equal another one; at most 5 in 1,000 look like copies."""
    wanted = [*dict.fromkeys([*features, decision, impact, group])]
    read = read_table(Path(os.environ["ELFAIR_DATA"]) / name, columns=wanted)
    table = read.table.to_pandas().dropna()
    for times in (1, 2):
        rows = table.loc[table.index.repeat(times)]
        data = LoggedData(
            rows[features], decision=rows[decision], propensity=np.full(len(rows), 0.3),
            impact=rows[impact].to_numpy(float), sensitive_features={"group": rows[group]},
        )  # fmt: skip
        equal = len(rows) - len(rows.drop_duplicates())
        assert (copies(data) <= 0.005 * len(rows)) if times == 1 else (copies(data) == equal)

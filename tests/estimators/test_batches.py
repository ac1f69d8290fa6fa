"""Rows that are read in batches give the certificate that rows in memory give."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from sklearn.linear_model import LogisticRegression

from elfair import (
    BoundError,
    DataError,
    ELFClassifier,
    InputError,
    LoggedBatches,
    LoggedData,
    certify,
    verify,
)
from elfair.certificate import Certificate
from elfair.data import batches, sources
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.data.split import Split
from elfair.populations import FosterCare
from elfair.statistics import plan

N = 5_000
ROLES: dict[str, Any] = {
    "features": [f"x{j}" for j in range(5)], "y": "y", "sensitive_features": "T", "decision": "d",
    "propensity": "p", "impact": "i",
}  # fmt: skip
CONSTRAINTS = [
    "E[impact | T == 'rare'] >= E_logged[impact | T == 'rare'] - 1",
    "E[impact | T == 'often'] >= E_logged[impact | T == 'often']",
    "E[impact | T == 'often'] - E[impact | x0 == 1] <= 1",
    "accuracy >= 0.7",
]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(sources, "BATCH", 777)


def table_of(n: int = N, seed: int = 3) -> pa.Table:
    draw = FosterCare(alpha=0.9).sample(n, seed=seed)
    group = np.where(np.arange(n) % 40 == 7, "rare", np.where(np.arange(n) % 40, "often", "none"))
    X = {f"x{j}": draw.features[:, j] for j in range(5)}
    ids = np.array([f"person {k}" for k in range(n)])
    return pa.table(
        {"unused": ids, "id": ids, **X, "T": group, "y": draw.label, "d": draw.decision,
         "p": draw.propensity, "i": draw.impact}
    )  # fmt: skip


def in_memory(table: pa.Table, *, ids: bool = False) -> LoggedData:
    return LoggedData(
        table.select(ROLES["features"]), table["y"], sensitive_features=table.select(["T"]),
        decision=table["d"], propensity=table["p"], impact=table.select(["i"]),
        row_id=table["id"] if ids else None,
    )  # fmt: skip


def fitted(rows: Any, **parameters: Any) -> ELFClassifier:
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ELFClassifier(CONSTRAINTS, **{"bound": "guarded", **parameters}).fit(rows)


@pytest.fixture(scope="module")
def at_once() -> dict[bool, ELFClassifier]:
    return {ids: fitted(in_memory(table_of(), ids=ids)) for ids in (False, True)}


def files(folder: Path, table: pa.Table, *, pieces: int, row_group: int) -> Path:
    ends = [round(k * table.num_rows / pieces) for k in range(pieces + 1)]
    for k, (start, end) in enumerate(pairwise(ends)):
        name = folder / f"part-{k:03}.parquet"
        parquet.write_table(table.slice(start, end - start), name, row_group_size=row_group)
    return folder


def shuffled(table: pa.Table) -> pa.Table:
    return table.take(np.random.default_rng(0).permutation(table.num_rows))


def usual(folder: Path, pieces: int = 3, row_group: int = 99) -> Path:
    return files(folder, table_of(), pieces=pieces, row_group=row_group)


SOURCES = {
    "a table": lambda folder: table_of(),
    "pandas": lambda folder: table_of().to_pandas(),
    "one file": lambda folder: usual(folder, 1, 9_999) / "part-000.parquet",
    "many files": lambda folder: str(usual(folder, 9, 100) / "*.parquet"),
    "a folder": lambda folder: usual(folder, 2, 501),
    "a data set": lambda folder: dataset.dataset(usual(folder)),
    "polars, lazy": lambda folder: pl.scan_parquet(usual(folder)),
}
IN_ANY_ORDER = {
    "a relation": lambda folder: duckdb.read_parquet(str(usual(folder) / "*.parquet")),
    "files in another order": lambda folder: files(
        folder, shuffled(table_of()), pieces=4, row_group=300
    ),
}


def check_same(one: Certificate, other: Certificate) -> None:
    """Equal but for the digests of rows, which depend on how they are read."""
    assert one.digests.candidate == other.digests.candidate
    assert (one.digests.model, one.digests.ladder) == (other.digests.model, other.digests.ladder)
    kept = {name: getattr(one.digests, name) for name in ("data", "held_out", "split")}
    same = replace(other, digests=replace(other.digests, **kept))
    assert_close(json.loads(one.to_json()), json.loads(same.to_json()))


def assert_close(one: Any, other: Any, where: str = "") -> None:
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for name in one:
            if name != "digest":  # of all of it
                assert_close(one[name], other[name], f"{where}/{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for k, pair in enumerate(zip(one, other, strict=True)):
            assert_close(*pair, f"{where}/{k}")
    elif isinstance(one, float):
        assert other == pytest.approx(one, rel=1e-9, abs=1e-12), where
    else:
        assert one == other, where


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_the_same_study_whatever_holds_the_rows(make, tmp_path, at_once):
    found = fitted(LoggedBatches(make(tmp_path), **ROLES))
    assert found.certificate_.passed
    check_same(at_once[False].certificate_, found.certificate_)


@pytest.mark.parametrize("ids", [False, True])
def test_bets_are_the_same_bets(tmp_path, ids):
    """Whose bound depends on the order of rows: that of their keys."""
    given = {"bound": "auto", "impact_range": (-9.0, 9.0), "candidates": 3}
    rows = LoggedBatches(usual(tmp_path), **ROLES, row_id="id" if ids else None)
    found, expected = fitted(rows, **given), fitted(in_memory(table_of(), ids=ids), **given)
    bounds = {tail.bound for result in found.certificate_.constraints for tail in result.tails}
    assert bounds == {"betting"}
    check_same(expected.certificate_, found.certificate_)


@pytest.mark.parametrize("make", IN_ANY_ORDER.values(), ids=IN_ANY_ORDER)
def test_rows_with_identifiers_may_come_in_any_order(make, tmp_path, at_once):
    found = fitted(LoggedBatches(make(tmp_path), **ROLES, row_id="id"))
    check_same(at_once[True].certificate_, found.certificate_)


def test_digests_do_not_depend_on_the_source(tmp_path):
    digests = set()
    for name, make in IN_ANY_ORDER.items():
        (tmp_path / name).mkdir()
        found = fitted(LoggedBatches(make(tmp_path / name), **ROLES, row_id="id"))
        digests.add(found.certificate_.digests)
    assert len(digests) == 1


def test_the_certificate_can_be_verified_with_the_rows_in_memory(tmp_path):
    model = fitted(LoggedBatches(table_of(), **ROLES))
    path = tmp_path / "model.elfair"
    model.save(path)
    checked = verify(model.certificate_, data=in_memory(table_of()), model=model)
    assert checked.passed, str(checked)
    moved = table_of().set_column(
        2, "x0", pa.array(np.append(table_of()["x0"].to_numpy()[:-1], 0.5))
    )
    wrong = verify(model.certificate_, data=in_memory(moved), model=model)
    assert not wrong.passed


def test_certify_asks_a_classifier_about_each_batch():
    table = table_of()
    X = table.select(ROLES["features"]).to_pandas().to_numpy()
    model = LogisticRegression().fit(X, table["y"].to_numpy())
    statements = [CONSTRAINTS[1].replace(">= E", ">= -1 + E"), "accuracy >= 0.6"]
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_batches = certify(model, LoggedBatches(table, **ROLES), statements, bound="guarded")
        at_once = certify(model.predict_proba(X), in_memory(table), statements, bound="guarded")
    assert in_batches.passed
    for one, other in zip(in_batches.constraints, at_once.constraints, strict=True):
        assert one.upper == pytest.approx(other.upper, rel=1e-9)
        assert_close([each.n for each in one.groups], [each.n for each in other.groups])


def test_looks_are_counted_whatever_holds_the_rows(tmp_path):
    text = "E[impact | T == 'often'] >= -5"
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            ELFClassifier(text, bound="guarded").fit(LoggedBatches(usual(tmp_path), **ROLES)),
            ELFClassifier(text, bound="ttest").fit(in_memory(table_of())),
            ELFClassifier(text, bound="hoeffding", impact_range=(-99, 99), propensity_floor=0.01)
            .fit(LoggedBatches(shuffled(table_of()), **ROLES)),
            ELFClassifier(text, bound="guarded").fit(LoggedBatches(table_of(seed=8), **ROLES)),
        ]  # fmt: skip
    assert [model.certificate_.openings for model in models] == [1, 2, 3, 1]


def test_more_candidate_rows_than_memory_should_hold(monkeypatch):
    monkeypatch.setattr(batches, "MOST_CANDIDATES", 1_000)
    found = fitted(LoggedBatches(table_of(), **ROLES)).certificate_
    assert (found.n, found.n_candidate, found.n_held_out) == (N, 3_000, 2_000)
    assert found.search.rows == 1_000
    everyone = Split.of(in_memory(table_of()), "random", share=0.6, seed=0)
    assert found.digests.split != ""
    assert found.constraints[0].n <= everyone.n_tested


def test_appended_rows_move_next_to_no_one():
    """The split has a fixed size: of old rows, those near the threshold may change sides."""
    small, large = (
        batches.Divided(LoggedBatches(table_of(n), **ROLES), 0.6, 0) for n in (4_500, N)
    )
    sides = []
    for divided in (small, large):
        parts = [divided.held_out(data) for data in divided.rows.batches()]
        sides.append(np.concatenate(parts)[:4_500])
    assert (sides[0] != sides[1]).mean() < 0.02


# -- what goes wrong ------------------------------------------------------------------------------


def test_files_that_differ_are_named(tmp_path):
    folder = files(tmp_path, table_of(), pieces=3, row_group=500)
    last = folder / "part-002.parquet"
    other = parquet.read_table(last)
    parquet.write_table(other.drop_columns(["p"]), last)
    with pytest.raises(DataError, match=r"part-002.parquet differs .* lacks 'p'"):
        LoggedBatches(folder, **ROLES)
    parquet.write_table(other.set_column(9, "d", other["d"].cast(pa.float32())), last)
    with pytest.raises(DataError, match=r"part-002.parquet differs .* holds float in 'd'"):
        LoggedBatches(folder, **ROLES)


def test_a_damaged_row_group_is_named_and_nothing_is_certified(tmp_path):
    folder = files(tmp_path, table_of(), pieces=3, row_group=500)
    path = folder / "part-001.parquet"
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 20_000] = bytes(20_000)
    path.write_bytes(content)
    model = ELFClassifier(CONSTRAINTS, bound="guarded")
    with pytest.raises(DataError, match=r"part-001.parquet"):
        model.fit(LoggedBatches(folder, **ROLES))
    assert not hasattr(model, "certificate_")


def test_a_file_that_changes_between_search_and_test_is_named(tmp_path, monkeypatch):
    folder = files(tmp_path, table_of(), pieces=3, row_group=500)
    path = folder / "part-001.parquet"
    opened = batches.SealedBatches.batches

    def changed(self):
        os.utime(path, ns=(1, 1))
        return opened(self)

    monkeypatch.setattr(batches.SealedBatches, "batches", changed)
    model = ELFClassifier(CONSTRAINTS, bound="guarded")
    with (
        counted_in(LooksOfProcess()),
        pytest.raises(DataError, match=r"part-001.parquet was changed"),
    ):
        model.fit(LoggedBatches(folder, **ROLES))
    assert not hasattr(model, "certificate_")


def test_a_group_that_only_one_file_has_is_no_mistake(tmp_path):
    table = table_of()
    group = np.where(np.arange(N) < 400, "rare", "often")
    table = table.set_column(table.column_names.index("T"), "T", pa.array(group))
    folder = files(tmp_path, table, pieces=5, row_group=300)
    found, expected = fitted(LoggedBatches(folder, **ROLES)), fitted(in_memory(table))
    check_same(expected.certificate_, found.certificate_)


def test_too_many_rows_for_a_bound_that_needs_all_of_them(monkeypatch):
    monkeypatch.setattr(plan, "MOST_KEPT", 30_000)
    with pytest.raises(BoundError, match=r"bound='betting' needs every row of .*2,000 rows of up"):
        ELFClassifier(CONSTRAINTS).fit(LoggedBatches(table_of(), **ROLES))


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"estimator": "is"}, InputError, "estimator='is' needs all rows in memory"),
        ({"bound": "growth"}, InputError, "bound='growth' needs all rows in memory"),
        ({"split": "crossfit"}, InputError, "split='crossfit' needs all rows in memory"),
        ({"constraints": "median[impact] >= 0"}, DataError, "cannot be tested in batches"),
        ({"constraints": ()}, InputError, "without constraints nothing is tested"),
        ({"impact_range": (0, 1)}, DataError, "leaves its declared range"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_in_batches_is_refused(changes, error, words):
    parameters = {"constraints": CONSTRAINTS, "bound": "guarded", **changes}
    with counted_in(LooksOfProcess()), pytest.raises((error, ValueError), match=words):
        ELFClassifier(**parameters).fit(LoggedBatches(table_of(), **ROLES))


def test_sources_that_cannot_be_read_in_batches():
    with pytest.raises(InputError, match="cannot be read in batches from a list"):
        LoggedBatches([1, 2], **ROLES)
    with pytest.raises(InputError, match="row_id= names"):
        LoggedBatches(duckdb.sql("select 1 as x"), features=["x"])
    with pytest.raises(DataError, match="has no column 'salary'"):
        LoggedBatches(table_of(), **{**ROLES, "features": ["salary"]})
    with pytest.raises(InputError, match="no Parquet file 'nowhere"):
        LoggedBatches("nowhere/*.parquet", **ROLES)
    gaps = table_of().set_column(2, "x0", pa.array([None, *np.ones(N - 1)]))
    with pytest.raises(DataError, match="must be numbers without gaps"):
        fitted(LoggedBatches(gaps, **ROLES))
    twice = table_of().set_column(1, "id", pa.array(["ann"] * N))
    with pytest.raises(DataError, match="some occur twice"):
        fitted(LoggedBatches(twice, **ROLES, row_id="id"))


# -- other logs -----------------------------------------------------------------------------------


def three_decisions(n: int = 4_000) -> pa.Table:
    rng = np.random.default_rng(5)
    x = rng.normal(size=n)
    behavior = rng.dirichlet([3.0, 2.0, 1.0], size=n) * 0.7 + 0.1
    decision = (rng.random((n, 1)) > behavior.cumsum(axis=1)).sum(axis=1)
    names = np.array(["high", "low", "none"])
    columns = {f"b{k}": behavior[:, k] for k in range(3)}
    return pa.table(
        {"x": x, "d": names[decision], "i": decision * 0.2 + x + rng.normal(size=n),
         "p": behavior[np.arange(n), decision], **columns}
    )  # fmt: skip


def test_more_than_two_decisions_need_the_probability_of_each():
    table, roles = three_decisions(), {"features": ["x"], "decision": "d", "impact": "i"}
    names = dict(zip(["none", "high", "low"], ["b2", "b0", "b1"], strict=True))
    request = {"objective": "E[impact]", "bound": "guarded", "candidates": 4}
    text = "E[impact] >= E_logged[impact] - 0.2"
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ELFClassifier(text, **request).fit(LoggedBatches(table, **roles, behavior=names))
    behavior = np.column_stack([table[f"b{k}"].to_numpy() for k in range(3)])
    data = LoggedData(
        table.select(["x"]), decision=table["d"], behavior=behavior, impact=table.select(["i"])
    )
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ELFClassifier(text, **request).fit(data)
    check_same(expected.certificate_, found.certificate_)
    with pytest.raises(InputError, match="more than two decisions"):
        ELFClassifier(text, **request).fit(LoggedBatches(table, **roles, propensity="p"))


def test_statements_about_decisions_alone_need_no_log():
    table = table_of()
    roles = {"features": ROLES["features"], "y": "y", "sensitive_features": "T"}
    text = ["accuracy >= 0.6", "PR[T == 'often'] >= 0.1"]
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ELFClassifier(text).fit(LoggedBatches(table, **roles))
    data = LoggedData(
        table.select(roles["features"]), table["y"], sensitive_features=table.select(["T"])
    )
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_same(ELFClassifier(text).fit(data).certificate_, found.certificate_)


def test_a_filter_is_pushed_down_to_the_files(tmp_path):
    from pyarrow import compute

    folder, table = usual(tmp_path), table_of()
    some = dataset.dataset(folder).filter(compute.field("x1") == 1)
    found = fitted(LoggedBatches(some, **ROLES))
    expected = fitted(in_memory(table.filter(compute.equal(table["x1"], 1))))
    check_same(expected.certificate_, found.certificate_)


def test_a_decision_that_is_missing_is_refused_as_in_memory():
    table = table_of()
    decision = pa.array([None, *table["d"].to_pylist()[1:]])
    gaps = table.set_column(table.column_names.index("d"), "d", decision)
    with pytest.raises(DataError) as in_batches:
        fitted(LoggedBatches(gaps, **ROLES))
    with pytest.raises(DataError) as at_once:
        in_memory(gaps)
    assert str(in_batches.value).split(" of ")[0] == str(at_once.value).split(" of ")[0]


@pytest.mark.parametrize("text", ["TPR >= 0.1", "PR[T == 'often' and x0 == 1] <= 0.99"])
def test_whom_no_statement_names(text):
    found = []
    for rows in (LoggedBatches(table_of(), **ROLES), in_memory(table_of())):
        with counted_in(LooksOfProcess()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(ELFClassifier(text, bound="guarded").fit(rows).certificate_)
    assert bool(found[0].people.groups) == ("often" in text)
    check_same(found[1], found[0])

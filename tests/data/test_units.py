"""Units: no split divides them, and a unit for each row changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, certify, verify
from elfair.data.split import Split
from elfair.errors import BoundError, DataError
from elfair.search.judging import in_folds
from elfair.statistics.units import Units


def columns(n: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    decision = rng.integers(0, 2, n)
    return {
        "X": x,
        "y": (x[:, 0] > 0).astype(int),
        "decision": decision,
        "propensity": np.full(n, 0.5),
        "impact": decision + rng.normal(size=n),
        "sensitive_features": {"T": rng.integers(0, 2, n)},
    }


@pytest.mark.parametrize("kind", ["random", "time", "stratified", "crossfit"])
def test_no_split_divides_a_unit(kind: Any) -> None:
    unit = np.random.default_rng(1).integers(0, 60, 300)
    data = LoggedData(**columns(300), unit=unit, time=np.arange(300))
    for fold in Split.of(data, kind, share=0.6, seed=3, folds=5).folds:
        assert not set(fold.candidate.unit) & set(fold.sealed.open().unit)
    for seen, unseen in in_folds(data, 0):
        assert not set(unit[seen]) & set(unit[unseen])


def test_the_order_of_rows_does_not_matter_to_units() -> None:
    unit, order = np.arange(300) // 3, np.random.default_rng(2).permutation(300)
    halves = []
    for rows in (np.arange(300), order):
        data = LoggedData(np.zeros((300, 1)), unit=unit).take(rows)
        halves.append(set(Split.of(data, "random", share=0.6, seed=3).candidate.unit))
    assert halves[0] == halves[1]


def test_a_unit_for_each_row_changes_nothing() -> None:
    model = ELFClassifier("E[impact | T == 1] >= E_logged[impact | T == 1]", candidates=3)
    plain = model.fit(**columns(400)).certificate_
    alone = model.fit(**columns(400), unit=np.arange(400)).certificate_
    assert alone.constraints == plain.constraints
    assert alone.digests.ladder == plain.digests.ladder
    assert alone.terms.units is None


@pytest.mark.parametrize("average", ["unit", "row"])
def test_values_are_linear_and_average_as_they_say(average: Any) -> None:
    rng = np.random.default_rng(0)
    unit, z = rng.integers(0, 9, 40), rng.normal(size=40)
    data = LoggedData(np.zeros((40, 1)), unit=unit).changed(average=average)
    units = Units.of(data, np.arange(40))
    assert units is not None
    values = units.gather(units.share * z)
    means = [z[unit == u].mean() for u in np.unique(unit)]
    assert np.isclose(values.mean(), np.mean(means) if average == "unit" else z.mean())
    by = rng.normal(size=units.count)
    step = 1e-6 * np.eye(40)
    numeric = [(by @ units.gather(units.share * z + s) - by @ values) / 1e-6 for s in step]
    assert np.allclose(units.back(by), numeric, atol=1e-6)


@pytest.mark.parametrize("average", ["unit", "row"])
@pytest.mark.parametrize("split", ["random", "crossfit"])
def test_a_fit_with_units_is_verified(average: str, split: str) -> None:
    known = columns(600)
    data = LoggedData(known.pop("X"), known.pop("y"), **known, unit=np.arange(600) // 2)
    text = "E[impact | T == 1] >= E_logged[impact | T == 1]"
    model = ELFClassifier(text, candidates=3, average=average, split=split).fit(data)
    record = model.certificate_
    assert record.terms.units.average == average
    assert record.terms.units.n == 300
    assert record.constraints[0].n <= 300
    assert verify(record, data=data, model=model).passed


def test_a_proof_needs_units_that_count_the_same() -> None:
    known = columns(300)
    data = LoggedData(known.pop("X"), known.pop("y"), **known, unit=np.arange(300) // 2)
    coin, text = np.full((300, 2), 0.5), "accuracy >= 0.1"
    assert certify(coin, data, text, bound="betting").constraints[0].kind == "finite-sample"
    assert certify(coin, data, text, average="row").constraints[0].kind == "asymptotic"
    with pytest.raises(BoundError, match="average='unit'"):
        certify(coin, data, text, bound="betting", average="row")


def test_weights_that_make_no_sense_are_refused() -> None:
    with pytest.raises(DataError, match="sample_weight must be above zero"):
        LoggedData(np.zeros((3, 1)), sample_weight=[1.0, 0.0, 2.0])

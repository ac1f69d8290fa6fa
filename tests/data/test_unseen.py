"""Impacts that were not seen for everyone: what is declared, refused and counted."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData
from elfair.data.unseen import missing_counts
from elfair.errors import ElfairError

N = 40
DECISION = np.arange(N) % 2
IMPACT = np.where(np.arange(N) < 10, np.nan, np.arange(N, dtype=float))


def make(**changes):
    given = {
        "sensitive_features": {"T": ["a", "b"] * (N // 4) + ["a"] * (N // 2)},
        "decision": DECISION,
        "propensity": np.full(N, 0.5),
        "impact": IMPACT,
        "missing_impact": "at random",
    }
    return LoggedData(np.arange(N, dtype=float)[:, None], **{**given, **changes})


def test_without_a_declaration_a_missing_impact_is_refused_and_the_parameter_named():
    with pytest.raises(ElfairError, match="in 10 of 40 rows") as caught:
        make(missing_impact=None)
    assert "missing_impact='at random'" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"missing_impact": "worst"}, "missing_impact must be"),
        ({"missing_impact": None, "early": np.zeros(N)}, "early was given"),
        ({"missing_impact": "worst case", "follow_up": 0.5}, "follow_up was given"),
        ({"early": {"x0": np.zeros(N)}}, "also a feature"),
        ({"early": {"s": np.where(DECISION == 1, np.nan, 0.0)}}, "in 20 of 40 rows"),
        ({"follow_up": 1.5}, r"follow_up must be in \(0, 1\]"),
        ({"follow_up": 0.2}, "8 of 40 rows"),
        ({"impact": np.where(DECISION == 1, np.nan, 1.0)}, "missing in all 20 rows"),
    ],
)
def test_what_does_not_fit_is_refused(changes, words):
    with pytest.raises(ElfairError, match=words):
        make(**changes)


def test_the_mask_is_divided_with_its_rows_and_enters_the_fingerprint():
    data = make(early={"s": np.arange(N)}, follow_up=np.full(N, 0.75))
    some = data.take(np.array([9, 10]))
    assert some.unseen.seen["impact"].tolist() == [False, True]
    assert some.unseen.early["s"].tolist() == [9.0, 10.0]
    assert some.unseen.follow_up.tolist() == [0.75, 0.75]
    joined = LoggedData.joined([some, data.take(np.array([0]))])
    assert joined.unseen.seen["impact"].tolist() == [False, True, False]
    prints = {
        make().fingerprint(),
        make(missing_impact="worst case").fingerprint(),
        make(early={"s": np.arange(N)}).fingerprint(),
        make(follow_up=np.full(N, 0.75)).fingerprint(),
    }
    assert len(prints) == 4


def test_nothing_is_declared_of_a_complete_impact():
    assert make(impact=np.arange(N, dtype=float)).unseen is None


def test_missing_impacts_are_counted_by_group_and_decision():
    counts = {each[:2]: each[2:] for each in missing_counts(make(), "impact")}
    assert counts["T = a", "0"] == (20, 5)
    assert counts["T = b", "1"] == (10, 5)
    assert sum(missing for _, missing in counts.values()) == 10

"""A change between the early and the late part of a log is found, and the ratio shown is one that
rows prove.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from counting import check_rare
from elfair import ELFClassifier, LoggedData, check
from elfair.language.parsing import parse_condition
from elfair.planning.changes import FALSE_ALARM, _least_ratio, largest_change

N = 1200
ALL = [None, parse_condition("T == 1")]


def log(seed=0, n=N, share=None, **columns):
    """A log in which nothing changes, except what is given; a share of T = 1 in the late half."""
    rng = np.random.default_rng(seed)
    time = rng.permutation(n)
    decision = rng.integers(0, 2, n)
    group = (rng.random(n) < np.where((time >= n // 2) & (share is not None), share or 0, 0.3)) * 1
    given = {
        "sensitive_features": {"T": group},
        "decision": decision,
        "propensity": np.full(n, 0.5),
        "impact": decision + rng.normal(size=n),
        "time": time,
        "row_id": np.arange(n),
    }
    x = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n)])
    return LoggedData(x, **given | columns)


def test_if_nothing_changes_there_is_hardly_ever_an_alarm():
    found = check_rare(
        lambda seed: largest_change(log(seed), ALL), allowed=FALSE_ALARM, full=2_000,
        bad=lambda change: change is not None,
    )  # fmt: skip
    assert len(found) >= 20


def test_an_alarm_would_be_frequent_without_sharing_its_chance(monkeypatch):
    """Else the test above would show nothing."""
    monkeypatch.setattr("elfair.planning.changes.FALSE_ALARM", 20.0)
    assert np.mean([largest_change(log(seed), ALL) is not None for seed in range(30)]) > 0.3


def test_the_column_behind_a_change_is_named_and_the_ratio_is_at_most_the_true_one():
    ratios = []
    for seed in range(20):
        change = largest_change(log(seed, share=0.6), ALL)
        assert (change.kind, change.among) == ("T = 1", "everyone")
        assert change.late > change.early
        ratios.append(change.ratio)
    assert 1.2 < np.median(ratios) < 2.0
    assert max(ratios) <= 2.0


def test_a_change_within_a_group_is_found_there():
    rng = np.random.default_rng(1)
    data = log(1)
    late = (data.time >= N // 2) & (data.sensitive["T"] == 1)
    x = data.features.copy()
    x[late, 0] = rng.normal(2.0, 1.0, late.sum())
    change = largest_change(data.changed(matrix=x), ALL)
    assert change.among == "T == 1"
    assert change.kind.startswith("x0 ")


@pytest.mark.parametrize("what", ["decision", "propensity", "missing"])
def test_decisions_overlap_and_gaps_count_too(what):
    rng, plain = np.random.default_rng(2), log(2)
    late = plain.time >= N // 2
    if what == "decision":
        taken = np.where(late, rng.random(N) < 0.8, rng.random(N) < 0.4).astype(int)
        data, kind = log(2, decision=taken), "decision = "
    elif what == "propensity":
        data = log(2, propensity=np.where(late, rng.uniform(0.1, 0.5, N), rng.uniform(0.4, 0.9, N)))
        kind = "propensity "
    else:
        home = np.where(late & (rng.random(N) < 0.4), None, "own").astype(object)
        data, kind = log(2, sensitive_features={"T": plain.sensitive["T"], "home": home}), "home is"
    assert largest_change(data, ALL).kind.startswith(kind)


def test_units_count_once_and_without_time_nothing_is_said():
    """A hundred rows of each of twelve people are no evidence."""
    n = 1200
    unit = np.arange(n) % 12
    many = log(3, unit=unit, row_id=None, time=unit, sensitive_features={"T": (unit >= 6) * 1})
    assert largest_change(many, [None]) is None
    assert largest_change(log(3, share=0.9, time=None), ALL) is None


def test_rows_of_one_time_stay_together():
    for first in (N // 4, 3 * N // 4):  # the middle is inside the second day, or inside the first
        day = (np.arange(N) >= first) * 1
        change = largest_change(log(4, time=day, sensitive_features={"T": day}), [None])
        assert sorted((change.early, change.late)) == [0.0, 1.0]


def test_limits_are_those_of_clopper_and_pearson():
    first, last = np.arange(100) < 20, np.arange(80) < 40
    alpha = 0.02
    most = beta.ppf(1 - alpha / 2, 21, 80)
    least = beta.ppf(alpha / 2, 40, 41)
    assert _least_ratio(first, last, alpha) == pytest.approx(least / most)
    assert _least_ratio(last, first, alpha) == pytest.approx(least / most)


def test_check_tells_of_it():
    def found(data):
        report = check(ELFClassifier("E[impact | T == 1] >= -9", objective="E[impact]"), data)
        return [each for each in report.findings if each.code == "people_changed"]

    (finding,) = found(log(5, share=0.6))
    assert finding.about == "T = 1"
    assert finding.severity == "warning"
    assert "times as frequent as before" in finding.evidence
    assert "shift" in finding.hint
    assert found(log(5)) == []

"""Each finding shows where it should, and not where all is well."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, check, col, no_worse
from elfair.planning.check_report import TEXTS, Severity
from elfair.planning.findings import of_missing_impact
from elfair.populations import FosterCare

NO_WORSE = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]


def findings(table, constraints=NO_WORSE, left_out=None, **settings):
    report = check(ELFClassifier(constraints, **settings), LoggedData(**table), left_out=left_out)
    return report, {finding.code: finding for finding in report.findings}


def test_a_good_log_has_no_findings(log):
    for seed in range(3):
        report, found = findings(log(600, seed), impact_range=(-0.25, 1.35))
        assert report.ok
        assert not found
        assert "no problems found" in report.text()


def test_a_range_that_is_not_declared_is_a_note(log):
    report, found = findings(log(600))
    assert report.ok
    assert {code: finding.severity for code, finding in found.items()} == {
        "range_not_declared": "note"
    }


def test_a_group_with_no_rows_is_an_error(log):
    report, found = findings(log(), "E[impact | T == 2] >= 0")
    assert not report.ok
    nobody = found["empty_group"]
    assert (nobody.severity, nobody.about) == ("error", "T == 2")
    assert nobody.evidence == "it holds in none of 400 rows. 'T' holds 0, 1"
    assert report.statements[0].reach == "no_forecast"
    assert report.text().startswith("NOT ready to fit: 1 error")


def test_a_condition_with_quotes_is_not_quoted_once_more(log):
    sex = np.where(np.arange(400) < 380, "f", "m")
    report, found = findings(log(sensitive_features={"sex": sex}), ["E[impact | sex == 'm'] >= 9"])
    assert found["small_group"].what == "group sex == 'm' is small"
    assert "''" not in report.text()


def test_a_small_group_is_a_warning(log):
    group = np.zeros(400, dtype=int)
    group[:16] = 1
    report, found = findings(log(sensitive_features={"T": group}))
    assert report.ok
    assert found["small_group"].about == "T == 1"
    assert "below 10" in found["small_group"].evidence


def test_a_group_of_one_is_an_error(log):
    report, found = findings(log(sensitive_features={"T": np.arange(400) // 399}))
    assert not report.ok
    assert found["group_too_small"].about == "T == 1"
    assert "below 2" in found["group_too_small"].evidence


def test_a_few_people_who_decide_the_result_are_a_warning(log):
    """The decision that helps was seldom taken, and the constraint asks for it."""
    rng = np.random.default_rng(0)
    seldom = rng.random(600) < 0.03
    table = log(600) | {"decision": seldom.astype(int), "impact": 1.0 * seldom}
    table["propensity"] = np.where(seldom, 0.03, 0.97)
    _, found = findings(table, "E[impact] >= 0.9")
    assert found["few_effective_rows"].severity == "warning"
    assert "held-out rows under the first model" in found["few_effective_rows"].evidence


def test_propensities_of_the_wrong_class_are_an_error(log):
    table = log(1000)
    wrong = np.where(table["decision"] == 1, table["propensity"], 1 - table["propensity"])
    report, found = findings(table | {"propensity": wrong})
    assert not report.ok
    assert found["propensities_misfit"].severity == "error"
    assert report.text().startswith("NOT ready to fit: 1 error")
    # What needs no propensities is forecast whatever they are.
    assert findings(table | {"propensity": wrong}, "accuracy >= 0.6")[0].chance is not None


def test_a_tiny_propensity_is_a_warning(log):
    table = log(1000)
    table["propensity"] = table["propensity"].copy()
    table["propensity"][5] = 0.001
    report, _ = findings(table)
    group = table["sensitive_features"]["T"][5]
    everyone, one = (each for each in report.findings if each.code == "tiny_propensities")
    assert (everyone.about, one.about) == ("everyone", f"T == {group}")
    assert "as much as 1,000" in one.evidence


def test_estimated_propensities_are_a_note_and_little_overlap_a_warning():
    rng = np.random.default_rng(0)
    x, group = rng.normal(size=(1500, 1)), rng.integers(0, 2, 1500)

    def found(steep):
        decision = (rng.random(1500) < 1 / (1 + np.exp(-steep * x[:, 0]))).astype(int)
        table = {
            "X": x,
            "sensitive_features": {"T": group},
            "decision": decision,
            "propensity": "estimated",
            "impact": decision + x[:, 0] + rng.normal(size=1500),
        }
        return findings(table, objective="E[impact]")

    report, codes = found(0.5)
    assert codes["propensities_estimated"].severity == "note"
    assert "little_overlap" not in codes
    assert "expected by estimated propensities: 0: " in report.text(details=True)
    assert found(9.0)[1]["little_overlap"].severity == "warning"


def test_certain_decisions_are_a_note(log):
    class Old:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            one = np.where(np.asarray(X)[:, 3] > 0.8, 1.0, 0.5)
            return np.column_stack([1 - one, one])

    table = log(600)
    chance = Old().predict_proba(table["X"])[:, 1]
    table["decision"] = (np.random.default_rng(0).random(600) < chance).astype(int)
    del table["propensity"]
    _, found = findings(table | {"behavior": Old()})
    assert found["certain_decisions"].severity == "note"


def test_a_decision_that_was_never_taken_is_an_error(log):
    table = log(400)
    table |= {"decision": np.ones(400, dtype=int), "propensity": np.full(400, 0.5)}
    report, found = findings(table)
    assert not report.ok
    assert "decision 0 was never taken" in found["refused"].evidence


def test_a_finite_sample_bound_without_a_range_is_an_error(log):
    report, found = findings(log(), bound="betting")
    assert not report.ok
    assert "impact_range" in found["refused"].hint


def test_labels_that_are_needed_and_not_there_are_an_error(log):
    report, found = findings(log(y=None, classes=[0, 1]))
    assert not report.ok
    assert "needs labels" in found["refused"].evidence


def test_a_constant_impact_is_an_error(log):
    report, found = findings(log(impact=np.ones(400)))
    assert not report.ok
    assert found["constant_impact"].severity == "error"


def test_an_impact_that_one_group_lacks_is_a_warning(log):
    table = log()
    table["impact"] = np.where(table["sensitive_features"]["T"] == 1, 0.0, table["impact"])
    _, found = findings(table)
    constant = found["constant_impact_in_group"]
    assert (constant.severity, constant.about) == ("warning", "T == 1")


def test_the_t_bound_needs_rows_that_vary(log):
    table = log(1000)
    table["impact"] = np.where(table["sensitive_features"]["T"] == 1, 2.0, table["impact"])
    text = "E[impact | T == 1] >= E_logged[impact | T == 1]"
    report, found = findings(table, text)
    assert "needs rows that vary" in found["no_bound"].evidence
    (statement,) = report.statements
    assert statement.alone.upper == np.inf
    assert report.chance == 0
    clf = ELFClassifier(text).fit(**table)
    assert clf.certificate_.constraints[0].upper == np.inf  # as forecast
    assert "its rows do not vary" in clf.explain()


def test_a_range_that_is_too_narrow_is_told_by_candidate_rows(log):
    table = log()
    table["impact"] = np.where(np.arange(400) % 7 == 0, 50.0, table["impact"])
    _, found = findings(table, bound="betting", impact_range=(-9.0, 9.0))
    evidence = found["refused"].evidence
    assert "of 240 candidate rows (it goes from " in evidence
    assert "to 50)" in evidence
    assert "nan" not in evidence


def test_a_torch_module_has_no_forecast_and_check_says_so(log):
    torch = pytest.importorskip("torch")
    report, found = findings(log(), scorer=torch.nn.Linear(5, 2))
    assert found["module_not_forecast"].severity == "note"
    assert {statement.reach for statement in report.statements} == {"no_forecast"}


@pytest.mark.parametrize(
    ("name", "what"),
    [("y", "label"), ("decision", "decision"), ("impact", "impact 'impact'")],
)
def test_leaks_are_warnings(log, name, what):
    table = log(600)
    leak = table[name] + np.random.default_rng(0).normal(0, 1e-3, 600)
    table["X"] = np.column_stack([table["X"], leak])
    report, found = findings(table)
    assert (found["leak"].severity, found["leak"].about) == ("warning", "x5")
    assert any(what in each.evidence for each in report.findings if each.code == "leak")


def test_a_sensitive_feature_among_the_features_is_a_note(log):
    table = log()
    table["X"] = np.column_stack([table["X"], table["sensitive_features"]["T"]])
    _, found = findings(table)
    assert found["sensitive_feature_seen"].severity == "note"
    assert found["sensitive_feature_seen"].about == "T"


def test_a_constant_feature_is_a_note(log):
    table = log()
    table["X"] = np.column_stack([table["X"], np.full(400, 7.0)])
    _, found = findings(table)
    assert found["constant_feature"].about == "x5"
    assert "7 in all rows" in found["constant_feature"].evidence


def test_repeated_people_are_a_warning(log):
    table = log(400)
    twice = np.arange(400) // 2
    double = {
        name: np.asarray(table[name])[twice] for name in table if name != "sensitive_features"
    }
    double["sensitive_features"] = {"T": table["sensitive_features"]["T"][twice]}
    _, found = findings(double)
    assert found["repeated_rows"].evidence.startswith("200 of 400 rows")
    _, found = findings(double | {"row_id": np.arange(400)})
    assert "repeated_rows" not in found


def test_labels_of_the_accepted_alone_are_a_warning(log):
    table = log()
    table["y"] = np.where(table["decision"] == 1, table["y"], 0)
    _, found = findings(table)
    assert found["label_only_for_some"].severity == "warning"
    assert found["label_only_for_some"].about == "0"
    _, found = findings(log(y=log()["decision"]))
    assert "label_is_decision" in found


def test_a_decision_that_is_never_the_label_is_a_warning(log):
    table = log()
    words = np.array(["deny", "approve"], dtype=object)
    y, decision = words[table["y"]], words[table["decision"]]
    assert "decision_never_label" not in findings(table | {"y": y, "decision": decision})[1]
    decision[:5] = "accept"
    _, found = findings(table | {"y": y, "decision": decision})
    assert found["decision_never_label"].severity == "warning"
    assert found["decision_never_label"].what == "decision 'accept' is never the label"
    assert found["decision_never_label"].evidence.endswith("labels are 'approve', 'deny'")
    assert "values of decision and label together" in found["decision_never_label"].hint


def test_people_whom_no_statement_names_are_a_note(log):
    group = np.array(["a", "b", None, "c"] * 100, dtype=object)
    text = "E[impact | T == 'a'] >= E_logged[impact | T == 'a']"
    _, found = findings(log(sensitive_features={"T": group}), text)
    named = found["people_not_named"]
    assert named.severity == "note"
    assert named.evidence == "300 of 400 rows: T is 'b' (100), T is 'c' (100), T is missing (100)"
    assert "group_mistaken" not in found


def test_groups_that_look_like_a_mistake_are_a_warning(log):
    group = np.array(["a", "b", "a ", "b"] * 100, dtype=object)
    report, found = findings(log(sensitive_features={"T": group}), no_worse("T"))
    odd = found["group_mistaken"]
    assert (odd.severity, odd.evidence) == ("warning", "T is 'a ' (100, perhaps meant 'a')")
    assert "people_not_named" not in found
    assert "groups look like a mistake" in report.text()


def test_impacts_missing_at_random_are_a_note(log, people):
    table = log(2000)
    gone = np.random.default_rng(99).random(2000) < 0.1
    kept = {n: v[~gone] for n, v in table.items() if n != "sensitive_features"}
    kept["sensitive_features"] = {"T": table["sensitive_features"]["T"][~gone]}
    report, found = findings(kept, left_out=people(table, gone))
    assert set(found) == {"impact_missing", "range_not_declared"}
    assert report.n_left_out == gone.sum()
    inside = table["sensitive_features"]["T"] == 1
    assert report.groups[2].left_out == (gone & inside).sum()


def test_missing_impacts_that_something_stands_for_are_counted_in_a_note(log):
    table = log(600)
    gone = np.random.default_rng(99).random(600) < 0.3
    impact = np.where(gone, np.nan, table["impact"])
    _, found = findings({**table, "impact": impact, "missing_impact": "at random"})
    assert f"{gone.sum()} of 600 rows" in found["impact_unseen"].evidence
    assert "T = 1 with decision 0: " in found["impact_unseen"].evidence


def test_labels_that_only_some_decisions_reveal_are_a_note(log):
    table = log(600)
    label = np.where(table["decision"] == 1, table["y"], np.nan)
    _, found = findings({**table, "y": label, "label_seen_for": [1]})
    assert "candidate rows have a label" in found["label_revealed"].evidence


@pytest.mark.parametrize("by", ["group", "decision"])
def test_impacts_missing_for_a_reason_are_a_warning(log, people, by):
    table = log(2000)
    group = table["sensitive_features"]["T"]
    high = group == 1 if by == "group" else table["decision"] == 1
    gone = np.random.default_rng(99).random(2000) < np.where(high, 0.2, 0.05)
    kept = {n: v[~gone] for n, v in table.items() if n != "sensitive_features"}
    kept["sensitive_features"] = {"T": group[~gone]}
    report, found = findings(kept, left_out=people(table, gone))
    reasons = {f.about for f in report.findings if f.code == "impact_missing_unevenly"}
    assert ("T == 1" if by == "group" else "the decision") in reasons
    assert found["impact_missing_unevenly"].severity == "warning"


def test_impacts_missing_at_random_are_seldom_said_not_to_be(log, people):
    """The chance is 1 in 100; of 60 draws 4 are hardly by chance."""
    alarms = 0
    table = log(800, 0, FosterCare())
    for seed in range(60):
        gone = np.random.default_rng(100 + seed).random(800) < 0.2
        kept = {n: v[~gone] for n, v in table.items() if n != "sensitive_features"}
        kept["sensitive_features"] = {"T": table["sensitive_features"]["T"][~gone]}
        conditions = [None, col("T") == 0, col("T") == 1]
        found = of_missing_impact(LoggedData(**kept), people(table, gone), conditions)
        alarms += any(finding.severity == "warning" for finding in found)
    assert alarms < 4


def test_every_code_is_found_and_only_refusals_bring_their_own_hint():
    source = inspect.getsource(sys.modules[of_missing_impact.__module__])
    codes = [code for texts in TEXTS.values() for code in texts]
    assert len(set(codes)) == len(codes)
    tests = Path(__file__).parent.glob("test_*.py")
    shown = "".join(path.read_text(encoding="utf-8") for path in tests)
    for code in codes:  # a reach is a code, too
        assert f'"{code}"' in source, code
        assert f'"{code}"' in shown, f"show a table with {code}"
    calls = inspect.getsource(sys.modules[check.__module__])
    for name in re.findall(r"(?m)^def (of_\w+)", source):
        assert f"findings.{name}(" in calls, name
    hints = {code: hint for texts in TEXTS.values() for code, (_, hint) in texts.items()}
    assert [code for code, hint in hints.items() if not hint] == ["refused"]
    assert set(TEXTS) == set(get_args(Severity))


def test_sensitive_columns_and_identifiers_among_features_are_named_in_the_short_text():
    rng = np.random.default_rng(0)
    n = 400
    X = {
        "age": rng.integers(18, 70, n),
        "sex": rng.integers(0, 2, n),
        "number": rng.permutation(n) + 10_000,
        "cents": rng.choice(10**7, n, replace=False),
    }
    log = {"decision": rng.integers(0, 2, n), "propensity": np.full(n, 0.5)}
    data = LoggedData(X, **log, impact=rng.normal(size=n))
    asks = ELFClassifier("E[impact] >= -2", objective="E[impact]")
    report = check(asks, data)
    told = {(each.code, each.about) for each in report.findings}
    assert ("sensitive_feature_seen", "sex") in told
    assert [about for code, about in told if code == "identifier_seen"] == ["number"]
    assert "the new model sees the sensitive feature 'sex'" in report.text()
    assert "sees 'number', which tells people apart" in report.text()
    fitted = ELFClassifier("E[impact] >= -2", objective="E[impact]").fit(data)
    assert "The model sees 'sex', which speaks of groups." in fitted.certificate_.explain()

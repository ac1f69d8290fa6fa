"""Which decision counts as positive is asked for, and said wherever it matters."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import elfair
from elfair import Certificate, ELFClassifier, LoggedData, certify, check, plan_rows
from elfair.errors import ConstraintError
from elfair.planning.check_report import CheckReport
from elfair.report import Report

N = 1200
USES = {
    "80 % rule": elfair.disparate_impact("T"),
    "parity": elfair.parity("T", tolerance=0.9),
    "opportunity": elfair.equal_opportunity("T", tolerance=0.9),
    "odds": elfair.equalized_odds("T", tolerance=0.9),
    "false positives": elfair.predictive_equality("T", tolerance=0.9),
    **{rate: f"{rate} <= 0.99" for rate in ("PR", "TPR", "FPR", "TNR", "FNR", "PPV", "NPV", "FDR")},
    "group": "P[decision == 'approve' | label == positive] >= 0.01",
    "a tree": elfair.PR(elfair.col("T") == 1) >= 0.01,
}
DOES_NOT = {
    "accuracy": "accuracy >= 0.1",
    "accuracy by group": elfair.accuracy_parity("T", tolerance=0.9),
    "impact": elfair.no_worse("T", slack=5.0),
    "a decision": "P[decision == 'approve'] >= 0.01",
}


def table(words: Any = ("deny", "approve"), **more: Any) -> LoggedData:
    """Group 1 is approved a fifth as often as group 0."""
    rng = np.random.default_rng(0)
    group = np.arange(N) % 2
    chance = np.where(group == 1, 0.15, 0.75)
    taken = (rng.random(N) < chance).astype(int)
    words = np.array(words, dtype=object if isinstance(words[0], str) else None)
    return LoggedData(
        rng.normal(size=(N, 1)),
        words[rng.integers(0, 2, N)],
        sensitive_features={"T": group},
        decision=words[taken],
        propensity=np.where(taken == 1, chance, 1 - chance),
        impact=rng.normal(size=N),
        **more,
    )


def asked(call: Any) -> str:
    with pytest.raises(ConstraintError, match="you must say which decision counts as posi") as info:
        call()
    return str(info.value)


def test_the_80_percent_rule_is_never_silently_about_refusals():
    """Refusal rates of 85 % and 25 % fail it one way round only; approvals are what it is for."""
    data = table()
    said = asked(lambda: certify(data.behavior, data, elfair.disparate_impact("T")))
    assert "Classes: 'approve', 'deny'." in said
    assert said.count("Hint: ") == 1
    hint = said.partition("Hint: ")[2]
    assert "positive='approve' or positive='deny'" in hint
    assert "in a study file, positive is a key of [model]" in hint
    rule = "PR[T == 1] >= 0.8 * PR[T == 0]"
    verdicts = {}
    for word in ("approve", "deny"):
        data = table(positive=word)
        certificate = certify(data.behavior, data, rule)
        assert certificate.terms.positive == word
        verdicts[word] = certificate.passed
    assert verdicts == {
        "approve": False,
        "deny": True,
    }  # it matters which one


@pytest.mark.parametrize("name", USES)
def test_whatever_counts_it_asks_for_it(name):
    data = table()
    asked(lambda: certify(data.behavior, data, USES[name]))
    asked(lambda: ELFClassifier(USES[name]).fit(data))
    asked(lambda: check(ELFClassifier(USES[name]), data))
    asked(lambda: plan_rows(ELFClassifier(USES[name]), data))
    assert certify(data.behavior, table(positive="approve"), USES[name]).terms.positive


@pytest.mark.parametrize("name", DOES_NOT)
def test_nothing_else_asks(name):
    data = table()
    certificate = certify(data.behavior, data, DOES_NOT[name])
    assert certificate.terms.positive is None
    assert "Positive decision" not in certificate.explain(details=True)
    assert "ositive decision" not in Report(certificate).html()
    named = certify(data.behavior, table(positive="approve"), DOES_NOT[name])
    assert named.terms.positive is None  # nothing depends on it


@pytest.mark.parametrize("words", [(0, 1), (0.0, 1.0), (-1, 1), (False, True)])
def test_by_convention_it_is_1_or_true(words):
    data = table(words)
    certificate = certify(data.behavior, data, "PR[T == 0] >= 0.5")
    assert certificate.passed
    assert certificate.terms.positive == str(data.classes[-1])


@pytest.mark.parametrize("words", [("0", "1"), (1, 2)])
def test_no_other_values_have_a_convention(words):
    data = table(words)
    assert f"positive={words[0]!r} or positive={words[1]!r}" in asked(
        lambda: certify(data.behavior, data, "PR >= 0.1")
    )


def test_of_three_classes_the_hint_names_no_choice_as_complete():
    data = LoggedData(np.zeros((6, 1)), ["a", "b", "c"] * 2)
    assert "positive='a' or positive='b' or positive=..." in asked(
        lambda: certify(np.full((6, 3), 1 / 3), data, "PR >= 0.1")
    )


def test_an_objective_asks_and_is_recorded():
    given = table()
    asked(lambda: ELFClassifier(objective="E[impact] - PR").fit(given))
    clf = ELFClassifier(objective="E[impact] - PR", positive="deny", search="gradient")
    clf.fit(table(positive="deny"))
    assert clf.certificate_.terms.positive == "deny"


def test_certificate_report_and_check_say_it():
    data = table(positive="approve")
    certificate = certify(data.behavior, data, "PR[T == 0] >= 0.5")
    said = "Positive decision: 'approve'. PR, TPR and the other rates count it."
    assert said in certificate.explain(details=True)
    assert said in Report(certificate).markdown()
    assert "Positive decision: &#39;approve&#39;." in Report(certificate).html()
    assert "| positive decision | `approve` |" in Report(certificate).markdown()
    assert Certificate.from_json(certificate.to_json()).terms.positive == "approve"
    report = check(ELFClassifier("PR[T == 0] >= 0.1", positive="approve"), data)
    assert said in report.text()
    assert said in report.text(details=True)
    assert json.loads(report.to_json())["positive"] == "approve"
    assert CheckReport.from_json(report.to_json()) == report
    unused = check(ELFClassifier("accuracy >= 0.1", positive="approve"), data)
    assert unused.positive is None
    assert "Positive decision" not in unused.text(details=True)


def test_labels_that_were_never_decided_are_shown_beside_the_decisions():
    data = table()
    label = np.where(data.label == "deny", "refuse", data.label)
    more = {"decision": data.decision, "propensity": data.propensity, "impact": np.zeros(N)}
    mixed = LoggedData(data.features, label, **more)
    assert mixed.classes.tolist() == ["approve", "deny", "refuse"]
    with pytest.raises(elfair.errors.DataError) as info:
        ELFClassifier("E[impact] >= E_logged[impact]").fit(mixed)
    assert (
        "'refuse' was never taken in 1,200 rows, so nothing is known about its impact. The classes "
        "are the values of y and decision together: y holds 'approve', 'refuse'; decision holds "
        "'approve', 'deny'."
    ) in str(info.value)
    assert "correct the labels" in str(info.value)

"""What people read of a certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair import LoggedData, certify
from elfair.certificate import Assumption
from elfair.certificate.explanation import verdict


def draw(n=200, seed=0, of_group=20):
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, n)
    group = np.zeros(n, int)
    group[:of_group] = 1
    return LoggedData(
        rng.normal(size=(n, 2)),
        rng.integers(0, 2, n),
        sensitive_features={"T": group},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=0.1 * decision + rng.normal(size=n),
    )


TEXTS = [
    "E[impact | T == 0] >= E_logged[impact | T == 0]",
    "abs(PR[T == 0] - PR[T == 1]) <= 0.5",
]


@pytest.fixture(scope="module")
def failed():
    p = np.random.default_rng(1).uniform(0.7, 0.95, 200)
    accepted = {"estimator": "is", "accept_violated": ["tau_known"]}
    record = certify(p, draw(), TEXTS, delta=[0.1, 0.05], **accepted)
    assert [result.passed for result in record.constraints] == [False, True, True]
    return record


@pytest.fixture(scope="module")
def passed():
    return certify(np.random.default_rng(1).uniform(0.7, 0.95, 200), draw(seed=2), TEXTS[1])


def test_a_failure_in_short_says_what_to_do(failed):
    worst = failed.constraints[0]
    headline, words, statement, violated, promise, more = failed.explain().split("\n\n")
    assert words.startswith("No model is released, and nothing is promised.\nNot shown: ")
    assert headline.startswith(
        "Model did not pass: 1 of 3 statements did not pass the test on 200 held-out rows"
    )
    assert statement.startswith(f"FAILED: {TEXTS[0]}\n")
    assert f"estimate {worst.estimate:.4g}, upper bound {worst.upper:.4g} with 90 %" in statement
    assert "likely cause: " in statement
    assert "what to do: " in statement
    assert "tau is known: " in violated
    assert promise.count(". ") == 0
    assert "is released and violates some constraint is at most 0.1 in the limit" in promise
    assert more.startswith("Details (")
    assert "explain(details=True)" in more


def test_a_success_in_short_shows_the_statement_closest_to_failing(passed):
    text = passed.explain()
    assert text.startswith("Model passed: both statements passed the test on 200 held-out rows")
    assert f"Closest to failing: {passed.constraints[0].statement}\n" in text
    assert passed.constraints[1].statement not in text
    assert len(text.splitlines()) < 15


def test_several_failures_are_counted(failed):
    worst = failed.constraints[0]
    two = replace(failed, constraints=(worst, worst)).explain()
    assert "1 more statement failed, by less." in two
    three = replace(failed, constraints=(worst, worst, worst)).explain()
    assert "2 more statements failed, by less." in three
    assert "more statement" not in failed.explain()


def test_a_finite_sample_promise_has_no_limit(failed):
    exact = replace(failed.constraints[0], kind="finite-sample")
    assert "in the limit" not in replace(failed, constraints=(exact,)).explain()


def test_details_have_all_that_one_can_act_on(failed):
    worst = failed.constraints[0]
    text = failed.explain(details=True)
    assert text.startswith("Model did not pass: 1 of 3 statements did not pass")
    assert f"FAILED: {TEXTS[0]}" in text
    assert "(asymptotic); the upper bound must be at most 0" in text
    assert "rows: 180 where T == 0" in text
    assert f"effective sample size {worst.ess:.0f}, mean {worst.mean_weight:.3f}" in text
    assert f"largest {worst.max_weight:.2f}" in text
    assert "what to do: " in text
    assert "passed: " not in text  # what passed is not in the way
    assert f"Promise: {failed.joint_statement}" in text


def test_statements_beyond_the_first_ten_get_a_line_each(failed):
    worst = failed.constraints[0]
    text = replace(failed, constraints=(worst,) * 12).explain(details=True)
    assert text.count("\nFAILED: ") == 10
    assert "2 more statements FAILED:\n  - E[impact" in text
    assert f"(g at most {worst.upper:.4g}, {worst.n} rows)" in text


def test_the_rows_needed_are_named(failed):
    short = replace(failed.constraints[0], estimate=-0.1, rows_needed=4321)
    assert "collect about 4,400 rows in all" in replace(failed, constraints=(short,)).explain()
    never = replace(short, rows_needed=None)
    assert "no number of rows" in replace(failed, constraints=(never,)).explain()
    wrong = replace(short, estimate=1.0, upper=2.0, rows_needed=None)
    assert "more rows would not help" in replace(failed, constraints=(wrong,)).explain()


def test_a_failure_beside_a_violated_assumption_has_both_in_its_headline(failed):
    assert verdict(failed) == (
        "Model did not pass: 1 of 3 statements did not pass the test on 200 held-out rows. "
        "Besides, an assumption is violated (tau is known), which was accepted."
    )
    objected = replace(failed, terms=replace(failed.terms, accept_violated=()))
    assert verdict(objected) == (
        "Model did not pass: an assumption is violated (tau is known). Besides, 1 of 3 statements "
        "did not pass the test on 200 held-out rows."
    )


def test_violated_and_assumed_assumptions_are_told_apart(failed, passed):
    text = failed.explain(details=True)
    assert "The stated confidence is NOT justified" in text
    assert "  - tau is known: " in text
    (assumed,) = (line for line in text.splitlines() if line.startswith("Assumed, not checked"))
    assert "tau is known" not in assumed
    assert "no interference" in assumed
    assert passed.violated == ()
    assert "NOT justified" not in passed.explain(details=True)


def test_every_warning_is_in_the_details_once(failed):
    text = failed.explain(details=True)
    assert failed.warnings
    for warning in failed.warnings:
        if warning.code != "assumption_violated":
            assert text.count(warning.text) == 1


def test_warnings_about_what_passed_are_in_the_details_only():
    p = np.random.default_rng(1).uniform(0.7, 0.95, 200)
    texts = [TEXTS[0], "PR[T == 1] >= 0.01"]
    record = certify(p, draw(of_group=8), texts, estimator="is", accept_violated=["tau_known"])
    assert [result.passed for result in record.constraints] == [False, True]
    few = "only 8 held-out rows meet 'T == 1' (below 10)"
    assert few in record.explain(details=True).split("Other warnings:")[1]
    assert few not in record.explain()


def test_details_of_a_success_show_every_statement_with_its_constraint(passed):
    text = passed.explain(details=True)
    for result in passed.constraints:
        assert f"passed: {result.statement}\n  part of: {TEXTS[1]}" in text
    assert "rows: 180 where T == 0, 20 where T == 1" in text
    assert "weights:" not in text  # none enter a rate


def test_everyone_needs_no_condition():
    text = certify(np.full(200, 0.5), draw(), "PR <= 0.5").explain(details=True)
    assert "rows: 200 (everyone)" in text


def test_where_nothing_was_tested_nothing_is_promised(passed):
    empty = replace(passed, constraints=(), assumptions=(), warnings=())
    assert empty.explain().startswith(
        "No constraint was given, so nothing was tested.\n\nNothing is promised about this model."
    )


def test_a_verdict_names_the_assumptions_that_do_not_hold(passed):
    wrong = (Assumption.of("tau_known", "violated", "it is not"),)
    shaken = replace(passed, passed=False, assumptions=wrong)
    assert verdict(shaken) == (
        "Model did not pass: an assumption is violated (tau is known), although both statements "
        "passed the test on 200 held-out rows."
    )
    assert "No model is released, because of what does not hold:\n  - tau is known: it is not." in (
        shaken.explain()
    )
    assert 'accept_violated=["tau_known"]' in shaken.explain()
    accepting = replace(passed.terms, accept_violated=("tau_known",))
    assert verdict(replace(shaken, passed=True, terms=accepting)) == (
        "Model passed, although an assumption is violated (tau is known), which was accepted: "
        "both statements passed the test on 200 held-out rows."
    )
    sound = replace(passed, assumptions=())
    assert sound.explain().splitlines()[0].endswith("200 held-out rows.")

"""What people read of a certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair import LoggedData, certify
from elfair.certificate import Assumption
from elfair.certificate.explanation import explain


def draw(n=200, seed=0):
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, n)
    group = np.zeros(n, int)
    group[:20] = 1
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
    record = certify(p, draw(), TEXTS, delta=[0.1, 0.05], estimator="is")
    assert [result.passed for result in record.constraints] == [False, True, True]
    return record


@pytest.fixture(scope="module")
def passed():
    return certify(np.random.default_rng(1).uniform(0.7, 0.95, 200), draw(seed=2), TEXTS[1])


def test_a_failure_is_explained_with_all_that_one_can_act_on(failed):
    worst = failed.constraints[0]
    text = explain(failed)
    assert text.startswith(
        "No solution found: 1 of 3 statements did not pass the test on 200 held-out rows"
    )
    assert f"FAILED: {TEXTS[0]}" in text
    assert f"g = {worst.estimate:.4g} estimated, at most {worst.upper:.4g} with 90 %" in text
    assert "(asymptotic); must be at most 0" in text
    assert "rows: 180 where T == 0" in text
    assert f"effective sample size {worst.ess:.0f}, mean {worst.mean_weight:.3f}" in text
    assert f"largest {worst.max_weight:.2f}" in text
    assert "passed: " not in text  # what passed is not in the way
    assert failed.joint_statement in text


def test_the_rows_needed_are_named(failed):
    short = replace(failed.constraints[0], estimate=-0.1, rows_needed=4321)
    text = explain(replace(failed, constraints=(short,)))
    assert "about 4,400 rows in all would be needed to pass at this effect size" in text
    never = replace(short, rows_needed=None)
    assert "no number of rows" in explain(replace(failed, constraints=(never,)))
    wrong = replace(short, estimate=0.1, rows_needed=None)
    assert "on the wrong side" in explain(replace(failed, constraints=(wrong,)))


def test_violated_and_unchecked_assumptions_are_told_apart(failed, passed):
    text = explain(failed)
    assert "Assumptions that do NOT hold" in text
    assert "  - tau is known: " in text
    assumed = next(line for line in text.splitlines() if line.startswith("Assumed, not checked"))
    assert "tau is known" not in assumed
    assert "no interference" in assumed
    if all(a.status != "violated" for a in passed.assumptions):
        assert "do NOT hold" not in explain(passed)


def test_warnings_of_what_is_not_shown_in_full_are_shown_too(failed):
    few = "only 20 held-out rows meet 'T == 1' (below 30)"
    assert explain(failed).count(few) == 1
    assert few in explain(failed).split("Of the statements that passed:")[1]


def test_a_success_shows_every_statement_with_its_parent(passed):
    text = explain(passed)
    assert text.startswith("Solution found: both statements passed the test on 200 held-out rows")
    for result in passed.constraints:
        assert f"passed: {result.statement}\n  part of: {TEXTS[1]}" in text
    assert "rows: 180 where T == 0, 20 where T == 1" in text
    assert "weights:" not in text  # none enter a rate


def test_everyone_needs_no_condition():
    text = explain(certify(np.full(200, 0.5), draw(), "PR <= 0.5"))
    assert "rows: 200 (everyone)" in text


def test_the_certificate_explains_itself(failed):
    assert failed.explain() == explain(failed)


def test_a_verdict_names_what_it_rests_on_and_does_not_hold(passed):
    shaken = replace(passed, assumptions=(Assumption.of("tau_known", "violated", "it is not"),))
    assert explain(shaken).startswith(
        "Solution found, but not all that it rests on holds (tau is known): both statements passed"
    )
    # "But" would comfort: that no solution was found is no better for it.
    wrong = replace(shaken, passed=False)
    assert (
        explain(wrong)
        .splitlines()[0]
        .endswith("held-out rows. Moreover, not all that the test rests on holds (tau is known).")
    )
    sound = replace(passed, assumptions=())
    assert explain(sound).splitlines()[0].endswith("200 held-out rows.")

"""What if everybody got the same decision: estimates and bounds from candidate rows alone."""

from __future__ import annotations

import os

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, check
from elfair.planning.check_report import CheckReport
from elfair.planning.constants import MOST_DECISIONS, constant_decisions
from elfair.planning.visible import VisibleRows

DELTA = 0.1
DRAWS = 500 if os.environ.get("ELFAIR_GUARANTEES") == "full" else 40
#: The expected impact of each decision, by group: what everybody would get.
TRUTH = {0: {"everyone": 0.25, "g == 'a'": 0.0, "g == 'b'": 0.5}, 1: {"everyone": 0.75}}
NO_WORSE = [f"E[impact | g == '{g}'] >= E_logged[impact | g == '{g}']" for g in "ab"]


def drawn(n, seed, *, kind="plain"):
    """People of two groups; decision 1 adds 1 to the impact of group a, and nothing in group b."""
    rng = np.random.default_rng(seed)
    of = np.arange(n) // 3 if kind == "units" else np.arange(n)
    group = np.where(rng.random(n) < 0.5, "a", "b")[of]
    x = rng.normal(size=n)
    p = 1 / (1 + np.exp(-x))
    decision = (rng.random(n) < p).astype(int)
    shared = rng.normal(size=n)[of]  # what the rows of one unit have in common
    impact = np.where(group == "a", decision, 0.5) + 0.5 * x + shared
    more = {}
    if kind == "units":
        more["unit"] = of
    if kind == "missing":
        seen = rng.random(n) < np.where(decision == 1, 0.9, 0.6)
        impact = np.where(seen, impact, np.nan)
        more["missing_impact"] = "at random"
    return LoggedData(
        x[:, None], sensitive_features={"g": group}, decision=decision,
        propensity=np.where(decision == 1, p, 1 - p), impact=impact, classes=[0, 1], **more,
    )  # fmt: skip


def constants(data, **how):
    request = ELFClassifier(NO_WORSE, delta=DELTA, objective="E[impact]", **how).request(data)
    visible = VisibleRows.of(data, request)
    plan = visible.prepare(visible.candidate, request)[1]
    shown = constant_decisions(visible.candidate, plan, request.seed)
    return {each.decision: each for each in shown}


@pytest.mark.parametrize("kind", ["plain", "units", "missing"])
def test_lower_bounds_are_too_high_as_rarely_as_they_say(kind):
    """At the edge by construction: each bound is compared with the truth itself."""
    draws, wrong, estimates = DRAWS, [], []
    for seed in range(draws):
        for of in constants(drawn(800, seed, kind=kind), estimator="paired")["0"].impacts:
            truth = TRUTH[0][of.condition]
            logged = {"everyone": 0.5, "g == 'a'": 0.5, "g == 'b'": 0.5}[of.condition]
            wrong.append([of.lower > truth, of.least > truth - logged])
            estimates.append([of.estimate - truth, of.difference - (truth - logged)])
    by_group = np.array(wrong).reshape(draws, 3, 2).mean(axis=0)
    assert np.all(by_group <= DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / draws)), by_group
    errors = np.array(estimates).reshape(draws, 3, 2)
    z = errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(draws))
    assert np.all(np.abs(z) < 4.5), z


def test_held_out_impacts_have_no_part():
    data = drawn(600, 0)
    request = ELFClassifier(NO_WORSE, objective="E[impact]").request(data)
    candidate = VisibleRows.of(data, request).candidate.position
    other = data.changed(impacts={"impact": np.where(
        np.isin(np.arange(data.n), candidate), data.impacts["impact"], 7.0)})  # fmt: skip
    assert constants(data) == constants(other)


def test_lambda_lowers_every_bound():
    data = drawn(2000, 1)
    plain, robust = constants(data)["0"], constants(data, Lambda=1.5)["0"]
    for at_one, at_more in zip(plain.impacts, robust.impacts, strict=True):
        assert at_more.lower < at_one.lower
        assert at_more.least < at_one.least


def test_they_are_about_the_people_in_the_log_whatever_shift_is_declared():
    data = drawn(2000, 1)
    plain, shifted = constants(data)["0"], constants(data, shift=1.5)["0"]
    assert shifted.impacts == plain.impacts
    assert plain.passes
    assert shifted.passes == ()


def test_check_shows_them_in_text_and_json():
    report = check(ELFClassifier(NO_WORSE, objective="E[impact]"), drawn(2000, 2))
    assert CheckReport.from_json(report.to_json()) == report
    one, zero = sorted(report.constants, key=lambda each: -int(each.decision))
    for each in (one, zero):
        assert each.passes == tuple(of.least >= 0 for of in each.impacts[1:])
    assert (one.passes[0], zero.passes[0]) == (True, False)  # what helps group a, and what does not
    assert "If everybody got the same decision" in report.text()
    assert "would fail" in report.text()
    assert "impact of g == 'b'" in report.text(details=True)


def test_of_many_decisions_those_taken_most_often_are_shown():
    rng = np.random.default_rng(0)
    decision = np.minimum(rng.geometric(0.3, 900) - 1, 11)
    data = LoggedData(
        rng.normal(size=(900, 1)), sensitive_features={"g": np.where(decision % 2, "a", "b")},
        decision=decision, propensity=np.full(900, 0.3), impact=rng.normal(size=900),
    )  # fmt: skip
    shown = list(constants(data))
    assert shown == [str(k) for k in range(MOST_DECISIONS)]


def test_where_nothing_is_known_nothing_is_shown():
    data = LoggedData([[0.0], [1.0]] * 200, [0, 1] * 200)
    assert check(ELFClassifier("accuracy >= 0.9"), data).constants == ()

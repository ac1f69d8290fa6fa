"""The fairness test: the only reader of the sealed half, and what it writes down."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import elfair
from elfair import ELFClassifier, LoggedData, certify
from elfair.bounds.student import StudentT
from elfair.data.split import SealedHalf
from elfair.fairness_test.ladder import Rung, learn_from
from elfair.fairness_test.test import run_in_turn
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan

NO_WORSE = "E[impact] >= E_logged[impact]"
SOURCE = Path(elfair.__file__).parent


def draw(n, seed, effect=0.1):
    """Impacts of 0 or 1, more often 1 where the fair coin said 1."""
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, n)
    impact = (rng.random(n) < 0.5 + effect * (decision - 0.5)).astype(float)
    return LoggedData(
        rng.normal(size=(n, 1)),
        sensitive_features={"T": rng.integers(0, 2, n)},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=impact,
    )


def opens_something(tree):
    """Calls of `open` on anything, with nothing said: what breaks a seal looks like this."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "open"
        and not (node.args or node.keywords)
    ]


def test_only_the_fairness_test_breaks_the_seal():
    callers = {
        path.name
        for path in SOURCE.rglob("*.py")
        if opens_something(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert callers == {"opened.py"}


def test_nothing_reaches_around_the_seal():
    # The rows of a SealedHalf are under a private, mangled name.
    for path in SOURCE.rglob("*.py"):
        assert "_SealedHalf__" not in path.read_text(encoding="utf-8")
    sealed = SealedHalf(draw(10, 0))
    assert {name for name in vars(sealed) if not name.startswith("_SealedHalf__")} == {"n"}


def test_a_bound_of_exactly_zero_passes_and_anything_above_does_not():
    plan_of = {}
    for text in (NO_WORSE, "PR <= 0.5", "PR <= 0.499999"):
        data = draw(50, 1)
        plan = Plan.make(
            read_constraints(text, 0.1),
            "ttest",
            Baselines(Estimation(ranges={"impact": (0, 1)}), data),
            data,
        )
        rung = Rung(plan, SealedHalf(data), lambda rows: np.full((1, rows.n), 0.5))
        outcome = run_in_turn([[rung]])
        plan_of[text] = outcome
    # Rows that are 0 by construction, since the policy is the behaviour model.
    assert plan_of[NO_WORSE].results[0].upper == 0
    assert plan_of[NO_WORSE].passed
    assert plan_of["PR <= 0.5"].results[0].upper == 0
    assert plan_of["PR <= 0.5"].passed
    # Rows that do not vary but are not 0 say nothing of their spread.
    assert plan_of["PR <= 0.499999"].results[0].upper == np.inf
    assert not plan_of["PR <= 0.499999"].passed


def test_every_statement_must_pass():
    data = draw(2_000, 2, effect=0.5)
    p = np.random.default_rng(0).uniform(0.7, 0.95, 2_000)
    assert certify(p, data, NO_WORSE).passed
    record = certify(p, data, [NO_WORSE, "PR <= 0.8"])
    assert not record.passed
    assert [result.passed for result in record.constraints] == [False, True]
    assert record.constraints[0].statement == "PR <= 0.8"


def test_what_is_learnt_comes_from_other_rows():
    data, others = draw(400, 3), draw(200, 4)
    plan = Plan.make(
        read_constraints("E[impact | T == 1] >= 0.2", 0.1),
        "betting",
        Baselines(Estimation(ranges={"impact": (0, 1)}, finite_sample=True), others),
        data,
    )
    learnt = learn_from(plan, others, np.full((1, others.n), 0.9))
    inside = others.column("T") == 1
    chance = np.where(others.decision == 1, 0.9, 0.1)[inside]
    impact = others.impact("impact")[inside]
    capped = [min(p * impact.mean(), 0.5) for p in (0.9, 0.1)]
    taken = np.where(others.decision == 1, *capped)[inside]
    rows = 0.2 - (chance * impact / 0.5 + sum(capped) - taken / 0.5)
    assert learnt.n == 200
    assert learnt.sizes == [[inside.sum()]]
    assert learnt.rows[0][0][:2] == pytest.approx((rows.mean(), rows.std(ddof=1)))


@pytest.mark.parametrize(
    ("bound", "given"),
    [
        ("ttest", {}),  # a fifth of the rows is set aside, and counted
        ("auto", {}),
        ("ttest", {"estimator": "dr"}),
        ("betting", {"impact_range": (0, 1)}),
        ("bernstein", {"impact_range": (0, 1), "propensity_floor": 0.5}),
        ("hoeffding", {"impact_range": (0, 1), "propensity_floor": 0.5}),
    ],
)
def test_at_the_rows_it_names_the_test_passes_about_19_times_in_20(bound, given):
    def test(n, seed):
        data = draw(n, seed, effect=0.4)
        return certify(np.full(n, 0.9), data, NO_WORSE, bound=bound, **given)

    # Many rows, so that effect and spread are known; what is asked is about fewer.
    needed = test(40_000, 5).constraints[0].rows_needed
    assert needed < 10_000
    rate = np.mean([test(needed, 100 + seed).passed for seed in range(300)])
    assert 0.85 <= rate <= 1
    # And it is not a mere overstatement: with a third of the rows it fails noticeably often.
    assert np.mean([test(needed // 3, 500 + seed).passed for seed in range(100)]) < rate - 0.1


def test_no_number_of_rows_helps_an_estimate_on_the_wrong_side():
    data = draw(500, 6, effect=0.5)
    (result,) = certify(np.full(500, 0.1), data, NO_WORSE).constraints
    assert result.estimate > 0
    assert result.rows_needed is None


def test_rows_that_do_not_vary_need_another_bound():
    data = draw(500, 6)
    (result,) = certify(np.full(500, 0.5), data, "PR <= 0.6", bound="ttest").constraints
    assert result.upper == np.inf
    assert result.rows_needed is None
    for bound in ("auto", "hoeffding"):
        assert certify(np.full(500, 0.5), data, "PR <= 0.6", bound=bound).passed


def test_a_rare_decision_that_is_to_become_common_leaves_no_normal_average():
    """Decision 1 was taken twice in a thousand rows; what comes of it is not known, and is bad."""
    rng = np.random.default_rng(9)
    decision = (rng.random(600) < 0.002).astype(int)
    data = LoggedData(
        rng.normal(size=(600, 1)),
        decision=decision,
        propensity=np.where(decision == 1, 0.002, 0.998),
        impact=rng.normal(size=600) - 5 * decision,
        classes=[0, 1],
    )

    def normal(p, bound="ttest", **options):
        record = certify(
            np.full(600, p), data, "E[impact] >= E_logged[impact] - 0.3", impact_range=(-20, 9),
            bound=bound, **options,
        )  # fmt: skip
        return {a.name: a for a in record.assumptions}.get("normal average")

    rare = normal(0.9, accept_violated=["normal_average"])
    assert rare.status == "violated"
    assert "almost absent from the log" in rare.evidence
    assert normal(0.002).status == "assumed"
    for bound in ("auto", "betting"):
        assert normal(0.9, bound) is None


def test_few_rows_beyond_a_point_are_a_warning_under_the_t_bound_only():
    data = draw(800, 10)
    few = certify(np.full(800, 0.5), data, "quantile[impact, 0.02] >= -1", bound="ttest")
    assert any("lie beyond the point of 'impact < -1'" in w.text for w in few.warnings)
    for bound in ("auto", "betting"):
        finite = certify(np.full(800, 0.5), data, "quantile[impact, 0.02] >= -1", bound=bound)
        assert not any(warning.code == "few_beyond_point" for warning in finite.warnings)
    many = certify(np.full(800, 0.5), data, "median[impact] >= 0.1", bound="ttest")
    assert not any(warning.code == "few_beyond_point" for warning in many.warnings)


def test_a_bound_is_ten_calls_away_from_fit(monkeypatch):
    """The way through the house stays short enough to be read."""
    ways = []
    upper = StudentT.upper_of_moments

    def watched(self, *arguments, **options):
        house = [frame for frame in inspect.stack() if frame.filename.startswith(str(SOURCE))]
        names = [frame.function for frame in house if frame.function != "<listcomp>"]
        ways.append(names[: names.index("fit") + 1][::-1])
        return upper(self, *arguments, **options)

    monkeypatch.setattr(StudentT, "upper_of_moments", watched)
    data = draw(400, 7)
    ELFClassifier(NO_WORSE, objective="E[impact]", bound="ttest", candidates=1).fit(data)
    way = ["fit", "_fit", "fit_model", "run", "run_in_turn", "bounds", "bounded", "by_sums"]
    assert [*way, "_tested", "upper_of"] in ways

"""What to do after "no solution found"."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest

from elfair.certificate import Assumption, WarningRecord
from elfair.report.advice import advise, advise_on_all


@pytest.fixture
def failed(of_kind):
    result = of_kind("none").constraints[0]
    group = replace(result.groups[0], n=100, ess=90.0)
    return replace(result, estimate=-0.1, upper=0.1, rows_needed=4321, groups=(group,))


def causes(result):
    return [advice.cause for advice in advise(result)]


def test_too_few_rows(failed):
    (advice,) = advise(failed)
    assert advice.cause == "too few rows for this effect"
    assert "about 4,400 rows in all" in advice.steps


def test_the_wrong_side(failed):
    (advice,) = advise(replace(failed, estimate=0.05))
    assert "wrong side" in advice.seen
    assert "rows in all" not in advice.steps


def test_no_number_of_rows(failed):
    (advice,) = advise(replace(failed, rows_needed=None))
    assert "no number of rows" in advice.steps


@pytest.mark.parametrize(
    "changed", [{"upper": inf}, {"upper": nan}, {"upper": inf, "estimate": nan}]
)
def test_no_bound(failed, changed):
    (advice,) = advise(replace(failed, **changed))
    assert "rows that do not vary" in advice.cause


def test_decisions_almost_absent_from_the_log(failed):
    warning = WarningRecord("decisions_unseen", "the weights average 0.3", "T == 1")
    (advice,) = advise(replace(failed, upper=inf, warnings=(warning,)))
    assert advice.seen == warning.text
    assert "log more exploration" in advice.steps


def test_what_else_may_be_the_matter(failed):
    thin = replace(failed, groups=(replace(failed.groups[0], ess=20.0),))
    assert causes(thin)[1:] == ["old and new model differ much"]
    small = replace(failed, warnings=(WarningRecord("few_held_out_rows", "only 12", "T == 1"),))
    assert causes(small)[1:] == ["a small group"]
    shared = replace(failed, tails=failed.tails * 2)
    assert causes(shared)[1:] == ["a product, or an either/or"]
    cautious = replace(failed, kind="finite-sample")
    assert causes(cautious)[1:] == ["such bounds are more cautious than the t bound"]


def test_wrong_propensities_are_about_all_statements(of_kind):
    none = of_kind("none")
    assert advise_on_all(none) == ()
    wrong = Assumption.of("mean_weight", "violated", "it is not")
    (advice,) = advise_on_all(replace(none, assumptions=(wrong,)))
    assert advice.cause == "wrong propensities"
    (advice,) = advise_on_all(of_kind("many"))
    assert "many statements" in advice.cause

"""What to do after "no solution found"."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from elfair import LoggedData, Report, certify
from elfair.certificate import Assumption, SearchRecord, WarningRecord
from elfair.certificate.advice import advise, advise_on_all, more_from_the_same_rows


@pytest.fixture(scope="module")
def given():
    """Of a model from elsewhere."""
    rng = np.random.default_rng(0)
    decision = rng.integers(0, 2, 200)
    data = LoggedData(
        rng.normal(size=(200, 2)),
        decision=decision,
        propensity=np.full(200, 0.5),
        impact=0.1 * decision + rng.normal(size=200),
    )
    texts = ["E[impact] >= E_logged[impact] + 1", "E[impact] >= E_logged[impact] - 5"]
    found = certify(np.full(200, 0.6), data, texts)
    assert [result.passed for result in found.constraints] == [False, True]
    return found


@pytest.fixture(scope="module")
def certificate(given):
    """The same, of a model that fit found."""
    search = SearchRecord("gradient", "accuracy", 1, 0.25, 0.5, False, 17, 20, 1, 1, 60)
    return replace(given, search=search)


@pytest.fixture
def failed(certificate):
    result = certificate.constraints[0]
    group = replace(result.groups[0], n=100, ess=90.0)
    return replace(result, estimate=-0.1, upper=0.1, rows_needed=4321, groups=(group,))


def causes(result, certificate):
    return [advice.cause for advice in advise(result, certificate)]


def test_too_few_rows(certificate, failed):
    (advice,) = advise(failed, certificate)
    assert advice.cause == "too few rows for this effect"
    assert "about 4,400 rows in all" in advice.steps
    # With a standard error of 0.02, g is between -0.133 and -0.067.
    wide = replace(failed, spread=0.2, n=100)
    assert "2,500 at best, and at worst 9,600" in advise(wide, certificate)[0].steps
    wider = replace(failed, spread=1.0, n=100)
    assert "at worst no number is enough" in advise(wider, certificate)[0].steps


def test_the_wrong_side(certificate, failed):
    beyond = replace(failed, estimate=0.05, spread=0.2, n=100)
    (advice,) = advise(beyond, certificate)
    assert "wrong side of 0, beyond doubt" in advice.seen
    assert "more rows would not help" in advice.cause
    assert "rows in all" not in advice.steps
    (advice,) = advise(replace(beyond, spread=0.5), certificate)
    assert "may be chance (90 % interval: -0.03225 to 0.1323)" in advice.seen
    assert "more rows would not help" not in advice.cause


def test_no_number_of_rows(certificate, failed):
    (advice,) = advise(replace(failed, rows_needed=None), certificate)
    assert "no number of rows" in advice.cause


@pytest.mark.parametrize(
    "changed", [{"upper": inf}, {"upper": nan}, {"upper": inf, "estimate": nan}]
)
def test_no_bound(certificate, failed, changed):
    (advice,) = advise(replace(failed, **changed), certificate)
    assert "rows that do not vary" in advice.cause


def test_decisions_almost_absent_from_the_log(certificate, failed):
    warning = WarningRecord("decisions_unseen", "the weights average 0.3", "T == 1")
    (advice,) = advise(replace(failed, upper=inf, warnings=(warning,)), certificate)
    assert advice.seen == warning.text
    assert "log more exploration" in advice.steps


def test_what_else_may_be_the_matter(certificate, failed):
    thin = replace(failed, groups=(replace(failed.groups[0], ess=20.0),))
    assert causes(thin, certificate)[1:] == ["the new model differs much from the old one"]
    small = replace(failed, warnings=(WarningRecord("few_held_out_rows", "only 12", "T == 1"),))
    assert causes(small, certificate)[1:] == ["a small group"]
    shared = replace(failed, tails=failed.tails * 2)
    assert causes(shared, certificate)[1:] == ["a product, or an either/or"]
    for bound, known in (
        ("hoeffding", ["other finite-sample bounds are tighter"]),
        ("betting", []),
    ):
        tails = tuple(replace(tail, bound=bound) for tail in failed.tails)
        cautious = replace(failed, kind="finite-sample", tails=tails)
        assert causes(cautious, certificate)[1:] == known


def test_wrong_propensities_are_about_all_statements(certificate):
    assert advise_on_all(certificate) == ()
    wrong = Assumption.of("mean_weight", "violated", "it is not")
    (advice,) = advise_on_all(replace(certificate, assumptions=(wrong,)))
    assert advice.cause.startswith("wrong propensities")


def test_many_statements_must_pass_at_once(certificate):
    (advice,) = advise_on_all(replace(certificate, constraints=certificate.constraints * 5))
    assert "5 of 10 statements passed" in advice.seen
    assert "many statements" in advice.cause


def test_certify_is_not_advised_to_use_what_only_fit_takes(given, certificate, failed):
    warning = WarningRecord("decisions_unseen", "the weights average 0.3", "T == 1")
    thin = replace(failed.groups[0], ess=20.0)
    for result in (
        replace(failed, estimate=0.05, groups=(thin,)),
        replace(failed, upper=inf, warnings=(warning,)),
    ):
        said = [advice.steps for advice in advise(result, given)]
        told = " ".join([*said, *more_from_the_same_rows(given)])
        for only_fit in ("scorer=", "behavior=", "split=", "candidate_tuning="):
            assert only_fit not in told
    assert "scorer=" in advise(replace(failed, estimate=0.05), certificate)[0].steps
    assert len(more_from_the_same_rows(certificate)) == 2
    assert not more_from_the_same_rows(given)
    for text in (given.explain(), Report(given).markdown()):
        assert "ELFClassifier searches for one" in text
        assert "scorer" not in text.partition("## Data")[0]

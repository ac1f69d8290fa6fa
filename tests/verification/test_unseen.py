"""A log of nearly certain decisions: the variance that its rows do not show is in the record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair import LoggedData, certify, verify
from elfair.data.split import row_keys


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    n = 1_000
    sure = np.where(rng.random(n) < 0.5, 0.9995, 0.0005)
    decision = (rng.random(n) < sure).astype(int)
    data = LoggedData(
        rng.normal(size=(n, 1)),
        decision=decision,
        propensity=np.where(decision == 1, sure, 1 - sure),
        impact=decision + rng.normal(size=n),
    )
    # Three people in a hundred are decided about the other way round.
    model = np.where(rng.random(n) < 0.03, 1 - sure, sure)
    accepted = {"accept_violated": ["normal_average"]}
    return certify(model, data, "E[impact] >= E_logged[impact] - 0.5", **accepted), data, model


def failed(certificate, data=None, model=None):
    checks = verify(certificate, data=data, model=model).checks
    return {check.level for check in checks if check.status == "failed"}


def test_the_bound_allows_for_it_and_says_so(case):
    certificate, data, model = case
    (result,) = certificate.constraints
    (tail,) = result.tails
    assert tail.unseen > tail.error**2
    assert result.upper == pytest.approx(
        result.estimate + 1.2828 * np.sqrt(tail.error**2 + tail.unseen), abs=2e-3
    )
    assert any(warning.code == "variance_hidden" for warning in result.warnings)
    assert failed(certificate, data, model) == set()


def test_it_is_what_is_missing_of_the_known_variance_around_impacts_like_theirs(case):
    """By its definition, from the rows that were tested."""
    certificate, data, model = case
    (tail,) = certificate.constraints[0].tails
    order = np.argsort(row_keys(data, 0), kind="stable")
    tested = data.take(order[round(0.2 * data.n) :])
    assert tested.n == certificate.n_held_out
    new = np.column_stack([1 - model, model])[tested.position]
    known = (new**2 / tested.behavior).sum(axis=1).mean() - 1
    taken = new[np.arange(tested.n), tested.decision_index]
    seen = np.mean((taken / tested.propensity - 1) ** 2)
    impact = tested.impacts["impact"]
    assert tail.unseen == pytest.approx((known - seen) * impact.var() / tested.n)


def test_it_cannot_be_left_out(case):
    certificate, data, model = case
    (result,) = certificate.constraints
    (tail,) = result.tails
    width = (tail.upper - tail.estimate) / np.sqrt(1 + tail.unseen / tail.error**2)
    upper = float(tail.estimate + width)
    better = replace(tail, unseen=0.0, upper=upper)
    forged = replace(
        certificate,
        constraints=(replace(result, tails=(better,), upper=upper, passed=upper <= 0),),
        passed=upper <= 0,
    )
    assert "arithmetic" in failed(forged)
    assert failed(forged, data, model) == {"arithmetic", "recomputation"}

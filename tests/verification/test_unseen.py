"""A log of nearly certain decisions: the variance that its rows do not show is in the record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair import LoggedData, certify, verify
from elfair.data.split import row_keys
from elfair.fairness_test.diagnostics import allowing
from elfair.fairness_test.evidence import upper_of
from elfair.statistics import Baselines, Estimation, Impact


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
    (part,) = tail.parts
    assert tail.bound == "guarded"
    assert part.least_variance > 2 * part.variance
    assert result.upper > result.estimate + 1.28 * np.sqrt(part.least_variance / part.n)
    assert any(warning.code == "variance_hidden" for warning in result.warnings)
    assert failed(certificate, data, model) == set()


def test_it_is_the_known_variance_of_weights_around_what_to_expect(case):
    """By its definition, from the rows that were tested."""
    certificate, data, model = case
    ((part,),) = (tail.parts for tail in certificate.constraints[0].tails)
    order = np.argsort(row_keys(data, 0), kind="stable")
    others, tested = np.split(order, [round(0.2 * data.n)])
    others, tested = data.take(others), data.take(tested)
    assert tested.n == certificate.n_held_out
    new = np.column_stack([1 - model, model])[tested.position]
    known = (new**2 / tested.behavior).sum(axis=1) - 1
    level = Baselines(Estimation(), others).level(Impact("impact"), None)
    away = tested.impacts["impact"] - level.of(tested)
    assert part.least_variance == pytest.approx(np.mean(known * away**2))
    assert part.worst == pytest.approx(max(-away))


def test_it_cannot_be_left_out(case):
    certificate, data, model = case
    (result,) = certificate.constraints
    (tail,) = result.tails
    better = replace(tail, parts=(replace(tail.parts[0], least_variance=0.0),))
    better = replace(better, upper=upper_of(better))
    better = replace(better, upper=allowing(better, result.groups, 1.0))
    assert better.upper < tail.upper
    forged = replace(
        certificate,
        constraints=(
            replace(result, tails=(better,), upper=better.upper, passed=better.upper <= 0),
        ),
        passed=better.upper <= 0,
    )
    assert "arithmetic" in failed(forged)  # the warning is still there
    assert failed(forged, data, model) == {"arithmetic", "recomputation"}

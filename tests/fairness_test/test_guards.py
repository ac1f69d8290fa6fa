"""What the guarded t bound allows for: each rule by its definition, in the certificate."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log

import numpy as np
import pytest

from elfair import LoggedData, certify, verify
from elfair.certificate import GroupRecord
from elfair.fairness_test.diagnostics import FEW_ROWS, unseen_cost, unseen_share
from elfair.fairness_test.evidence import bounded
from elfair.search import Target
from elfair.search.requirements import Requirement
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.hidden import Hidden, worst_row
from elfair.statistics.plan import Plan
from elfair.statistics.rows import Learnt

pytestmark = pytest.mark.filterwarnings("ignore::elfair.errors.CertificateWarning")
NO_WORSE = "E[impact] >= E_logged[impact]"
KNOWN = GroupRecord("everyone", 400, 350.0, 0.97, 0.05, 1.1, 0.05, 0.0025)


def log_of(n, behavior, rng, known=True):
    """Decisions drawn as given, without effect."""
    decision = (rng.random(n)[:, None] > np.cumsum(behavior, axis=1)[:, :-1]).sum(axis=1)
    return LoggedData(
        rng.normal(size=(n, 1)),
        decision=decision,
        propensity=behavior[np.arange(n), decision],
        behavior=behavior if known else None,
        impact=rng.normal(size=n),
        classes=list(range(behavior.shape[1])),
    )


def result_of(model, data, text=NO_WORSE, **options):
    certificate = certify(model, data, text, **{"bound": "guarded"} | options)
    assert verify(certificate, data=data, model=model).passed
    (result,) = certificate.constraints
    return result


def codes(result):
    return {warning.code for warning in result.warnings}


@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_rare_decisions_count_while_their_rows_may_all_be_absent(delta):
    enough = log(1 / delta) / KNOWN.rare_logged
    assert unseen_share(replace(KNOWN, n=int(enough)), delta) == KNOWN.rare_new
    assert unseen_share(replace(KNOWN, n=int(enough) + 1), delta) == 0


def test_weights_that_are_not_used_say_nothing():
    assert unseen_share(GroupRecord("everyone", 400, None, None, None, None), 0.1) == 0


def rare_log(rng, known=True):
    """A decision that 1 person in 100 got, and that the new model takes for 1 in 10."""
    n = 100
    behavior = np.tile([0.495, 0.495, 0.01], (n, 1))
    return np.tile([0.45, 0.45, 0.1], (n, 1)), log_of(n, behavior, rng, known)


def test_they_count_with_the_worst_residual_seen():
    model, data = rare_log(np.random.default_rng(0))
    result = result_of(model, data)
    ((part,),), (group,) = (tail.parts for tail in result.tails), result.groups
    assert (group.rare_new, group.rare_logged) == pytest.approx((0.1, 0.01))
    # The weights of the others are known: with them, the worst residual of 10 % is what is missing.
    assert unseen_cost([part], [group], 0.1) == pytest.approx(0.1 * part.worst)
    assert part.worst > 1
    without = replace(group, rare_logged=1.0)
    assert unseen_cost([part], [without], 0.1) == 0
    assert "decisions_unseen" in codes(result)


def test_without_the_other_probabilities_the_mean_weight_tells():
    for seed in range(100):  # a log whose one such row is not among the tested ones
        model, data = rare_log(np.random.default_rng(seed), known=False)
        if (data.decision == 2).sum() == 1:
            result = result_of(model, data)
            (group,) = result.groups
            if group.max_weight < 1:
                break
    assert group.rare_new is None
    assert unseen_share(group, 0.1) == pytest.approx(0.09, abs=0.01)  # weights of 0.45 / 0.495
    assert "decisions_unseen" in codes(result)


@pytest.mark.parametrize("common", [0.1, 0.001])
@pytest.mark.parametrize("text", [NO_WORSE, "E[impact] >= -0.5"])
def test_the_search_foresees_all_that_the_test_allows_for(text, common):
    """On the same rows, with as many others like them, its prediction is the bound."""
    n, rng = 300, np.random.default_rng(4)
    behavior = two(np.where(np.arange(n) % 10 == 0, common, 0.5))
    data = log_of(n, behavior, rng)
    data.impacts["impact"][3] = -9.0  # a loss that the model leaves alone
    new = np.where(np.arange(n) % 10 == 0, 0.9, 0.5)
    new[3] = behavior[3, 1]
    free = new[None, :]
    estimation = Estimation()
    claims = read_constraints(text, 0.1)
    plan = Plan.make(claims, "guarded", Baselines(estimation, data), data)
    (compiled,) = plan.compile(data)
    (rows,) = (part.rows for part in compiled.parts)
    values = rows.values(free)
    learnt = Learnt(float(values.mean()), float(values.std()), worst_row(rows, free), n)
    test = bounded(compiled, data, free, [learnt], 1.0)
    prediction = Requirement(compiled, Target(power=0.5), 1.0).predict(free)
    assert prediction.levels.upper == pytest.approx(test.upper, rel=1e-9)
    ((record,),) = ((tail.record for tail in test.tails),)
    (part,) = record.parts
    if text == NO_WORSE:
        assert part.largest > values.max()  # it is the loss that counts
    if common < 0.1:
        assert part.least_variance > part.variance
        assert unseen_cost(record.parts, test.groups, 0.1) > 0


def untold(n):
    """A log of such decisions that tells only the probability of those taken, and its test."""
    behavior, new = np.tile([0.495, 0.495, 0.01], (n, 1)), np.tile([[0.45], [0.1]], n)
    data = log_of(n, behavior, np.random.default_rng(5), known=False)
    plan = Plan.make(
        read_constraints(NO_WORSE, 0.1), "guarded", Baselines(Estimation(), data), data
    )
    return data, plan, new


def test_without_the_other_probabilities_the_search_foresees_what_tests_charge_on_average():
    """A test of 100 rows may hold a row of the rare decision, or none: a forecast expects both."""
    everyone, plan, new = untold(30_000)
    foreseen, charged = [], []
    for start in range(0, everyone.n, 100):
        data, free = everyone.take(np.arange(start, start + 100)), new[:, :100]
        (compiled,) = plan.compile(data)
        (rows,) = (part.rows for part in compiled.parts)
        cost = Hidden.under(rows.guessed, free).rare_cost(data.n, 0.1)
        foreseen.append(cost / rows.weighted.worst)
        (group,) = bounded(compiled, data, free, [None], 1.0).groups
        charged.append(unseen_share(group, 0.1))
    assert np.mean(charged) > 0.02
    assert np.mean(foreseen) == pytest.approx(np.mean(charged), rel=0.25)
    assert Hidden.under(rows, free).rare_cost(data.n, 0.1) == 0  # a test does not guess


def test_the_slope_of_what_is_foreseen():
    data, plan, free = untold(300)
    (compiled,) = plan.compile(data)
    (rows,) = (part.rows.guessed for part in compiled.parts)

    def cost(free):
        return Hidden.under(rows, free).rare_cost(data.n, 0.1)

    more = np.zeros((2, data.n))
    more[1] = 1e-6  # more of the rare decision, at the cost of the first
    expected = (cost(free + more) - cost(free - more)) / 2
    found = (Hidden.under(rows, free).rare_cost_slope(cost(free)) * more).sum()
    assert found == pytest.approx(expected, rel=1e-4)
    assert expected > 0


def two(one):
    return np.column_stack([1 - one, one])


@pytest.mark.parametrize("n", [FEW_ROWS - 1, FEW_ROWS])
def test_a_condition_of_few_rows_cannot_pass(n):
    rng = np.random.default_rng(1)
    data = log_of(round(n / 0.8), two(np.full(round(n / 0.8), 0.5)), rng)
    model = np.tile([0.4, 0.6], (data.n, 1))
    result = result_of(model, data, "E[impact] >= -100")
    assert result.n == n
    assert (result.upper == inf) == (n < FEW_ROWS)
    assert ("few_held_out_rows" in codes(result)) == (n < FEW_ROWS)
    # More rows like these are all that it lacks.
    assert (result.rows_needed > data.n) == (n < FEW_ROWS)


def test_a_rate_has_known_ends_and_needs_no_more_rows():
    data = LoggedData([[0.0], [1.0]] * 6, [0, 1] * 6)
    result = result_of([0.1, 0.3] * 6, data, "P[decision == 1] <= 0.9")
    assert result.passed


@pytest.mark.parametrize("n", [8, 20, 1_000])
def test_the_behaviour_model_passes_with_enough_rows(n):
    rng = np.random.default_rng(2)
    behavior = two(rng.uniform(0.01, 0.99, n))
    result = result_of(behavior, log_of(n, behavior, rng))
    assert result.upper == (0 if n > FEW_ROWS else inf)
    assert result.passed == (n > FEW_ROWS)


def test_a_finite_sample_bound_needs_none_of_this():
    model, data = rare_log(np.random.default_rng(0))
    data = data.changed(impacts={"impact": np.clip(data.impacts["impact"], -3, 3)})
    result = result_of(model, data, bound="betting", impact_range=(-3, 3))
    assert not {"decisions_unseen", "variance_hidden", "few_held_out_rows"} & codes(result)


def test_the_least_variance_is_that_of_rows_if_decisions_change_nothing():
    """Every decision that might have been taken, with its probability."""
    rng = np.random.default_rng(3)
    n = 400
    old, new = (rng.dirichlet([2.0, 2.0, 2.0], n) for _ in range(2))
    data = log_of(n, old, rng)
    ((pair,),) = (tail.parts for tail in result_of(new, data, estimator="is", text=NO_WORSE).tails)
    ((fixed,),) = (
        tail.parts for tail in result_of(new, data, estimator="is", text="E[impact] >= 0.5").tails
    )
    weights, impact = new / old, data.impacts["impact"]
    # Plain importance sampling subtracts nothing, and tests every row.
    assert pair.n == fixed.n == n
    for part, rows in (
        (fixed, 0.5 - weights * impact[:, None]),
        (pair, -weights * impact[:, None]),  # the paper's tau is a number
    ):
        mean = np.sum(old * rows) / n
        total = np.sum(old * (rows - mean) ** 2) / n
        assert part.least_variance == pytest.approx(total, rel=0.01)

"""A log must be what its propensities say."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, certify
from elfair.data import ContinuousData
from elfair.data.propensities import misfit, require_taken
from elfair.errors import DataError

NO_WORSE = "E[impact] >= E_logged[impact]"


def draw(n, seed):
    """A behaviour model that decides by the feature."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    p = 0.15 + 0.7 / (1 + np.exp(-x))
    decision = (rng.random(n) < p).astype(int)
    return x, p, decision, decision + rng.normal(size=n)


def logged(x, p, decision, impact, **changed):
    propensity = np.where(decision == 1, p, 1 - p)
    known = {"decision": decision, "propensity": propensity, "impact": impact, **changed}
    return LoggedData(x[:, None], classes=[0, 1], **known)


def test_right_propensities_are_hardly_ever_said_not_to_fit():
    found = np.array([misfit(logged(*draw(400, seed)))[:2] for seed in range(300)])
    assert (found[:, 0] <= found[:, 1]).all()
    # In standard errors: of four of them (two decisions, which say the same) the largest.
    assert 0.8 < np.median(found[:, 0]) < 1.6


def test_rare_decisions_and_wild_features_are_no_misfit():
    rng = np.random.default_rng(5)
    for seed in range(200):
        n = 300
        p = np.full(n, 0.004)
        x = rng.standard_cauchy(n) ** 3
        decision = (rng.random(n) < p).astype(int)
        data = logged(x, p, decision, rng.normal(size=n))
        assert misfit(data).is_chance, seed


@pytest.mark.parametrize("mistake", ["constant", "of decision 1", "halved"])
def test_wrong_propensities_do_not_fit(mistake):
    x, p, decision, impact = draw(3_000, 1)
    propensity = {"constant": np.full(3_000, 0.5), "of decision 1": p, "halved": p / 2}[mistake]
    data = logged(x, p, decision, impact, propensity=propensity)
    assert not misfit(data).is_chance
    with pytest.raises(DataError, match="the propensities do not fit the decisions"):
        certify(np.full(3_000, 0.5), data, NO_WORSE)


def test_a_group_that_decided_and_is_not_in_the_propensities_is_noticed():
    rng = np.random.default_rng(6)
    group = rng.integers(0, 2, 2_000)
    decision = (rng.random(2_000) < np.where(group == 1, 0.7, 0.3)).astype(int)
    data = LoggedData(
        rng.normal(size=(2_000, 1)),
        sensitive_features={"T": group},
        decision=decision,
        propensity=np.full(2_000, 0.5),
    )
    largest, limit, where = misfit(data)
    assert largest > limit
    assert where in ("how often 0 was decided, by T == 1", "how often 1 was decided, by T == 1")


def doses(n=600, seed=0, mean=0.0, spread=1.0, tilt=0.0, jump=0.0):
    """Doses that the log says were drawn from N(x, 1)."""
    rng = np.random.default_rng(seed)
    x, group = rng.normal(size=n), rng.integers(0, 2, n)
    dose = x + mean + tilt * x + jump * group + spread * rng.normal(size=n)
    given = {"decision": dose, "behavior_mean": x, "behavior_spread": 1.0}
    return ContinuousData(x[:, None], sensitive_features={"T": group}, **given)


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"mean": 0.5}, "the mean decision"),
        ({"tilt": 0.4}, "the mean decision, by 'x0'"),
        ({"jump": 0.7}, "the mean decision"),
        ({"spread": 1.5}, "how far decisions spread"),
        ({"spread": 0.6}, "how far decisions spread"),
    ],
    ids=str,
)
def test_numbers_that_were_not_drawn_as_the_log_says(wrong, where):
    found = misfit(doses(**wrong))
    assert not found.is_chance
    assert found.where.startswith(where)


def test_numbers_drawn_as_the_log_says_are_no_misfit():
    found = np.array([misfit(doses(200, seed))[:2] for seed in range(300)])
    assert (found[:, 0] / found[:, 1]).max() < 0.9
    assert misfit(doses().changed(behavior_mean=None)) is None


def test_where_not_all_probabilities_are_known_nothing_is_said():
    rng = np.random.default_rng(2)
    decision = rng.integers(0, 3, 60)
    data = LoggedData(np.zeros((60, 1)), decision=decision, propensity=np.full(60, 1 / 3))
    assert misfit(data) is None


def test_a_log_of_those_who_were_approved_is_an_error():
    x, p, decision, impact = (column[draw(2_000, 3)[2] == 1] for column in draw(2_000, 3))
    data = logged(x, p, decision, impact)
    with pytest.raises(DataError, match=r"(?s)decision 0 was never taken.*about.*times.*Hint"):
        certify(np.full(data.n, 0.5), data, NO_WORSE)
    label = (x > 0).astype(int)
    for how in ({}, {"objective": "E[impact]"}):
        constraints = () if how else NO_WORSE
        with pytest.raises(DataError, match="decision 0 was never taken"):
            ELFClassifier(constraints, **how).fit(
                x[:, None], label, decision=decision, propensity=p, impact=impact
            )
    # Nothing is weighted: then it does not matter what was never taken.
    assert certify(np.full(data.n, 0.5), data, "PR <= 0.8").constraints


def test_bad_luck_and_impossible_decisions_are_no_errors():
    x, p, decision, impact = (column[:40] for column in draw(40, 4))
    rare = np.full(40, 0.99)
    require_taken(logged(x, p, np.ones(40, dtype=int), impact, propensity=rare))
    with pytest.raises(DataError, match=r"(?s)'c' was never taken in 40 rows, so nothing"):
        require_taken(
            LoggedData(
                x[:, None],
                decision=np.array(["a", "b"])[decision],
                propensity=np.full(40, 0.5),
                classes=["a", "b", "c"],
            )
        )


def test_what_the_new_model_never_decides_need_not_have_been_taken():
    x, _, decision, impact = draw(600, 6)
    label = np.arange(600) % 3  # a label that nobody ever decided
    known = {"decision": decision, "propensity": np.full(600, 0.5), "impact": impact}
    data = LoggedData(x[:, None], label, **known)
    never, always = (np.tile(of, (600, 1)) for of in ([0.3, 0.7, 0.0], [0.3, 0.6, 0.1]))
    loose = "E[impact] >= E_logged[impact] - 5"
    assert certify(never, data, loose).passed
    with pytest.raises(DataError, match=r"(?s)decision 2 was never taken.*Hint.*behavior"):
        certify(always, data, loose)


def test_features_of_any_size_say_whether_propensities_fit():
    x, p, decision, impact = draw(2_000, 7)
    sizes = [
        np.array(misfit(logged(x * size, p, decision, impact))[:2]) for size in (1, 1e-300, 1e49)
    ]
    np.testing.assert_allclose(sizes, np.tile(sizes[0], (3, 1)))
    assert misfit(logged(np.full(2_000, 1e50), p, decision, impact)) is not None

"""Declared chances of a lottery: how they are read, and that wrong ones are refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, certify, verify
from elfair.data import ContinuousData
from elfair.data.propensities import misfit
from elfair.errors import DataError, PropensityError

NO_WORSE = "E[impact] >= E_logged[impact]"


def trial(propensity: Any, arms: Any = (0, 1), n: int = 6, **changes: Any) -> LoggedData:
    """A table in which decisions take turns."""
    given = {
        "sensitive_features": {"sex": np.array(["f", "m", "m"])[np.arange(n) % 3]},
        "decision": np.array(arms)[np.arange(n) % len(arms)],
        **changes,
    }
    return LoggedData(np.arange(2.0 * n).reshape(n, 2), **given, propensity=propensity)


def refused(*words: str, **given: Any) -> None:
    with pytest.raises(DataError) as caught:
        trial(**given)
    said = str(caught.value)
    assert said.count("Hint: ") == 1
    assert said.splitlines()[-1].startswith("Hint: ")
    for each in words:
        assert each in said


@pytest.mark.parametrize(
    ("propensity", "arms", "changes", "behavior"),
    [
        (0.75, (0, 1), {}, [0.25, 0.75]),  # of 1, not of the logged decision
        (0.75, (False, True), {}, [0.25, 0.75]),
        (0.75, (0.0, 1.0), {}, [0.25, 0.75]),
        (0.75, (0, 1), {"positive": 0}, [0.75, 0.25]),
        (0.75, ("drug", "placebo"), {"positive": "drug"}, [0.75, 0.25]),
        (0.5, ("drug", "placebo"), {}, [0.5, 0.5]),
        (np.float32(0.5), (0, 1), {}, [0.5, 0.5]),
        (Fraction(1, 3), (0, 1, 2), {}, [1 / 3] * 3),
        (0.333, (0, 1, 2), {}, [1 / 3] * 3),
        ({"placebo": 0.25, "drug": 0.75}, ("drug", "placebo"), {}, [0.75, 0.25]),
        ({2: 0.5, 0: 0.25, 1: 0.25}, (0, 1, 2), {}, [0.25, 0.25, 0.5]),
        ({"by": 0.75, "car": 0.25}, ("by", "car"), {}, [0.75, 0.25]),  # a decision called so
        ({"a": 0.667, "b": 0.334}, ("a", "b"), {}, [0.667 / 1.001, 0.334 / 1.001]),
        (0.25, (0, 1, 2), {"classes": [0, 1, 2, 3]}, [0.25] * 4),
    ],
)
def test_everyone_has_the_same_chances(propensity, arms, changes, behavior):
    data = trial(propensity, arms, **changes)
    np.testing.assert_allclose(data.behavior, np.tile(behavior, (6, 1)), rtol=1e-12)
    taken = [sorted(data.classes).index(each) for each in data.decision]
    np.testing.assert_array_equal(data.propensity, data.behavior[np.arange(6), taken])


def test_of_two_decisions_the_other_has_the_rest_exactly():
    data = trial(0.6667)
    assert data.behavior[0].tolist() == [1 - 0.6667, 0.6667]


def test_chances_by_stratum():
    declared = {"by": "sex", "m": {0: 0.9, 1: 0.1}, "f": 0.6}
    data = trial(declared)
    expected = [[0.4, 0.6] if sex == "f" else [0.9, 0.1] for sex in data.sensitive["sex"]]
    np.testing.assert_allclose(data.behavior, expected)
    assert data.lottery.conditions == ("sex == 'f'", "sex == 'm'")
    # A stratum that nobody is in does no harm, and a feature names strata as well.
    assert trial({**declared, "x": 0.5}).behavior.tolist() == data.behavior.tolist()
    by_feature = trial({"by": "x0", **{2 * k: 0.1 + k / 10 for k in range(6)}})
    np.testing.assert_allclose(by_feature.behavior[:, 1], 0.1 + np.arange(6) / 10)


def test_a_column_is_a_column_still():
    column = [0.5, 0.25, 0.5, 0.25, 0.5, 0.25]
    for given in (column, {"p": column}):
        assert trial(given).propensity.tolist() == column
        assert trial(given).lottery is None


def test_it_stays_with_parts_of_the_table():
    data = trial({"by": "sex", "f": 0.6, "m": 0.1})
    part = data.take(np.array([3, 0]))
    assert part.lottery is data.lottery
    assert part.behavior.tolist() == data.behavior[[3, 0]].tolist()


ARMS = ("drug", "placebo")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["must be a number in (0, 1). Got 1.5"], {"propensity": 1.5}),
        (["must be a number in (0, 1). Got 0"], {"propensity": 0}),
        (["must be a number in (0, 1). Got 1"], {"propensity": {0: 1, 1: 0}}),
        (
            ["must say which decision has the probability 0.6667", "'drug', 'placebo'", "positive"],
            {"propensity": 0.6667, "arms": ARMS},
        ),
        (["must say which decision", "are 1, 2"], {"propensity": 0.6667, "arms": (1, 2)}),
        (["Got 0.3 for 3 (0, 1, 2)", "name each"], {"propensity": 0.3, "arms": (0, 1, 2)}),
        (["Got 0.33 for 3"], {"propensity": 0.33, "arms": (0, 1, 2)}),  # two digits are too few
        (["Got 0.5 for 1 (1)", "classes="], {"propensity": 0.5, "arms": (1,)}),
        (
            ["must name every decision ('drug', 'placebo')", "Got 'drug'."],
            {"propensity": {"drug": 0.5}, "arms": ARMS},
        ),
        (
            ["must name every decision (0, 1), and nothing else. Got 0, 1, 2"],
            {"propensity": {0: 0.5, 1: 0.25, 2: 0.25}},
        ),
        (["'0' is not 0"], {"propensity": {"0": 0.5, "1": 0.5}}),
        (["must sum to 1", "a sum of 0.99"], {"propensity": {0: 0.5, 1: 0.49}}),
        (["must sum to 1", "a sum of 1.002"], {"propensity": {0: 0.668, 1: 0.334}}),
        (["of decision 1 must be a number in (0, 1). Got 'x'"], {"propensity": {0: 0.5, 1: "x"}}),
        (
            ["where sex == 'm' must sum to 1"],
            {"propensity": {"by": "sex", "f": 0.5, "m": {0: 0.5, 1: 0.6}}},
        ),
        (["where sex == 'm' must be a number"], {"propensity": {"by": "sex", "f": 0.5, "m": [1]}}),
        (["declares the chances of none of its values"], {"propensity": {"by": "sex"}}),
        (
            ["differs by 'sxe'", "'sex', 'x0', 'x1'", "did you mean 'sex'"],
            {"propensity": {"by": "sxe", "f": 0.5, "m": 0.5}},
        ),
        (
            ["about 'sex' being 'm', which it is in 4 of 6 rows (the first is row 1)", "'M', 'f'"],
            {"propensity": {"by": "sex", "f": 0.5, "M": 0.5}},
        ),
        (
            ["'sex', by which propensity differs, is missing in 1 of 6 rows"],
            {
                "propensity": {"by": "sex", "f": 0.5, "m": 0.5},
                "sensitive_features": {"sex": ["f", "m", None, "f", "m", "m"]},
            },
        ),
        (
            ["behavior was given beside a propensity"],
            {"propensity": 0.5, "behavior": np.full((6, 2), 0.5)},
        ),
        (["propensity was given without the decision"], {"propensity": 0.5, "decision": None}),
    ],
)
def test_what_makes_no_lottery_is_refused(words, given):
    refused(*words, **given)


def test_a_density_cannot_be_declared_so():
    drawn = {"decision": np.linspace(0, 1, 30), "propensity": 0.5}
    with pytest.raises(DataError, match="propensity must be one column"):
        ContinuousData(np.zeros((30, 1)), **drawn)


def drawn(n: int, seed: int, chance: Any = (0.5, 0.6)) -> dict[str, Any]:
    """A trial that treats one group more often."""
    rng = np.random.default_rng(seed)
    x, group = rng.normal(size=n), rng.integers(0, 2, n)
    decision = (rng.random(n) < np.array(chance)[group]).astype(int)
    impact = decision * (x > 0) + rng.normal(size=n)
    return {
        "X": x[:, None], "sensitive_features": {"T": group}, "decision": decision, "impact": impact
    }  # fmt: skip


RIGHT = {"by": "T", 0: 0.5, 1: 0.6}


def test_the_check_of_propensities_is_for_declared_ones_too():
    """Right chances are not refused; swapped ones, and those without the stratum, are."""
    for seed in range(50):
        assert misfit(LoggedData(**drawn(500, seed), propensity=RIGHT)).is_chance, seed
    table = drawn(12_000, 0)
    for wrong in ({"by": "T", 0: 0.6, 1: 0.5}, 0.55, {0: 0.6, 1: 0.4}):
        assert not misfit(LoggedData(**table, propensity=wrong)).is_chance
        with pytest.raises(PropensityError, match="the propensities do not fit the decisions"):
            ELFClassifier(NO_WORSE, objective="E[impact]").fit(**table, propensity=wrong)


def test_the_wrong_one_of_two_decisions_is_found_out():
    """Two thirds for the wrong arm: no small table of a trial gets past the check."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        decision = (rng.random(300) < 2 / 3).astype(int)
        swapped = LoggedData(np.zeros((300, 1)), decision=decision, propensity={0: 0.667, 1: 0.333})
        assert not misfit(swapped).is_chance


def test_declared_chances_are_those_of_the_column():
    """Same weights, same model, same bounds as with a column that says the same."""
    table = drawn(1_500, 3)
    chance = np.where(table["sensitive_features"]["T"] == 1, 0.6, 0.5)
    column = np.where(table["decision"] == 1, chance, 1 - chance)
    settings = {"objective": "E[impact]", "candidates": 3}
    one, other = (
        ELFClassifier(NO_WORSE, **settings).fit(**table, propensity=propensity).certificate_
        for propensity in (RIGHT, column)
    )
    assert one.constraints == other.constraints
    assert other.terms.lottery == ()
    assert [(each.condition, each.decision, each.probability) for each in one.terms.lottery] == [
        ("T == 0", "0", 0.5),
        ("T == 0", "1", 0.5),
        ("T == 1", "0", 0.4),
        ("T == 1", "1", 0.6),
    ]


def test_chances_of_many_decisions_are_the_whole_behaviour_model():
    """A column of propensities says nothing about the other decisions; a lottery does."""
    rng = np.random.default_rng(0)
    table = {"X": rng.normal(size=(900, 1)), "decision": rng.integers(0, 3, 900)}
    assert LoggedData(**table, propensity=np.full(900, 1 / 3)).behavior is None
    assert LoggedData(**table, propensity=0.3333).behavior.shape == (900, 3)


def test_certify_records_it_and_verifies():
    table = LoggedData(**drawn(800, 5), propensity=RIGHT)
    model = np.tile([0.3, 0.7], (800, 1))
    certificate = certify(model, table, NO_WORSE)
    assert verify(certificate, data=table, model=model).passed
    assert len(certificate.terms.lottery) == 4
    # The order in which chances are declared means nothing; another chance does.
    again = LoggedData(**drawn(800, 5), propensity={1: {1: 0.6, 0: 0.4}, "by": "T", 0: 0.5})
    assert verify(certificate, data=again, model=model).passed
    other = LoggedData(**drawn(800, 5), propensity={**RIGHT, 1: 0.59})
    assert not verify(certificate, data=other, model=model).passed

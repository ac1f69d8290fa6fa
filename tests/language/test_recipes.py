"""Fairness by name: what the helpers say, that it is what they mean, and that it can be met."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from itertools import combinations, permutations

import numpy as np
import pytest
from sklearn.base import clone

import elfair
from elfair import ELFClassifier, InputError, LoggedData, certify
from elfair.data.split import Split
from elfair.errors import DataError
from elfair.language.conjunction import conjuncts

GAPS = ("parity", "equalized_odds", "equal_opportunity", "predictive_equality", "accuracy_parity")


HELPERS = (
    *GAPS, "disparate_impact", "no_worse", "improvement", "decline", "stagnation",
)  # fmt: skip


def people(classes=2, n=240, seed=0):
    """Everyone twice, once with each of two decisions, so that weights average to 1 exactly."""
    rng = np.random.default_rng(seed)
    group = np.array(list("ABC"), dtype=object)[np.arange(n) % 3]
    sex = rng.choice(["F", "M"], n)
    label = rng.integers(0, classes, n)
    model = rng.dirichlet(np.ones(classes), n)
    decisions = np.repeat(np.arange(classes), n)
    impact = rng.random(classes * n)
    data = LoggedData(
        np.zeros((classes * n, 1)), np.tile(label, classes), classes=range(classes),
        sensitive_features={"race": np.tile(group, classes), "sex": np.tile(sex, classes)},
        decision=decisions, propensity=np.full(classes * n, 1 / classes), impact=impact,
    )  # fmt: skip
    return data, np.tile(model, (classes, 1))


def estimates(recipe, data, model):
    """The estimates of g of all the statements of a recipe."""
    # Rows around an end of the range: the plain weighted average, of all rows.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certificate = certify(model, data, recipe, estimator="is", impact_range=(0, 1), delta=0.2)
    assert {result.delta for result in certificate.constraints} == {0.2}
    assert {result.constraint for result in certificate.constraints} == set(recipe.expand(data))
    return sorted(result.estimate for result in certificate.constraints)


def gaps(values, tolerance):
    return [one - other - tolerance for one, other in permutations(values, 2)]


def within(column, inside, data):
    """The average of a column for each race, among some rows."""
    return [column[inside & (data.column("race") == race)].mean() for race in "ABC"]


def test_two_classes_mean_what_their_names_say():
    data, model = people()
    p, y = model[:, 1], data.label == 1
    everyone = np.ones(data.n, dtype=bool)
    expected = {
        "parity": gaps(within(p, everyone, data), 0.1),
        "equal_opportunity": gaps(within(p, y, data), 0.1),
        "predictive_equality": gaps(within(p, ~y, data), 0.1),
        "accuracy_parity": gaps(within(np.where(y, p, 1 - p), everyone, data), 0.1),
    }
    expected["equalized_odds"] = expected["equal_opportunity"] + expected["predictive_equality"]
    for name in GAPS:
        recipe = getattr(elfair, name)("race", tolerance=0.1)
        assert estimates(recipe, data, model) == pytest.approx(sorted(expected[name])), name


def test_the_eighty_percent_rule_is_about_every_ordered_pair():
    data, model = people()
    rates = within(model[:, 1], np.ones(data.n, dtype=bool), data)
    expected = [0.8 * other - one for one, other in permutations(rates, 2)]
    found = estimates(elfair.disparate_impact("race"), data, model)
    assert found == pytest.approx(sorted(expected))


def test_three_classes_are_told_apart():
    data, model = people(classes=3)
    everyone = np.ones(data.n, dtype=bool)
    expected = [g for k in range(3) for g in gaps(within(model[:, k], everyone, data), 0.3)]
    found = estimates(elfair.parity("race", tolerance=0.3), data, model)
    assert found == pytest.approx(sorted(expected))
    expected = [
        g
        for j in range(3)
        for k in range(3)
        for g in gaps(within(model[:, k], data.label == j, data), 0.3)
    ]
    found = estimates(elfair.equalized_odds("race", tolerance=0.3), data, model)
    assert found == pytest.approx(sorted(expected))
    # The opportunity is the positive class, which somebody must name.
    data = data.changed(positive=2)
    expected = gaps(within(model[:, 2], data.label == 2, data), 0.3)
    found = estimates(elfair.equal_opportunity("race", tolerance=0.3), data, model)
    assert found == pytest.approx(sorted(expected))


def test_impacts_of_groups_and_intersections():
    data, model = people()
    (impact,) = data.impacts.values()
    p = model[np.arange(data.n), data.decision_index]
    race, sex = data.column("race"), data.column("sex")
    changes = {
        group: (2 * p * impact)[race == group].mean() - impact[race == group].mean()
        for group in "ABC"
    }
    for recipe, slack in (
        (elfair.no_worse("race"), 0.0),
        (elfair.no_worse("race", slack=0.2), 0.2),
        (elfair.decline("race", at_most=0.3), 0.3),
        (elfair.improvement("race", margin=0.4), -0.4),
    ):
        expected = sorted(-change - slack for change in changes.values())
        assert estimates(recipe, data, model) == pytest.approx(expected)
    both = [s * change - 0.5 for change in changes.values() for s in (-1, 1)]
    found = estimates(elfair.stagnation("race", tolerance=0.5), data, model)
    assert found == pytest.approx(sorted(both))
    cells = [(race == r) & (sex == s) for r in "ABC" for s in "FM"]
    expected = sorted(impact[c].mean() - (2 * p * impact)[c].mean() for c in cells)
    assert estimates(elfair.no_worse(["race", "sex"]), data, model) == pytest.approx(expected)


def test_texts_are_plain_and_read_back():
    recipe = elfair.no_worse(["zip code", "T"], [("it's", True), ("b", False)], impact="net gain")
    first, _ = recipe.expand()
    where = "`zip code` == 'it\\'s' and T == true"
    assert first == f"E[`net gain` | {where}] >= E_logged[`net gain` | {where}]"
    for name in HELPERS:
        helper = getattr(elfair, name)
        amount = list(inspect.signature(helper).parameters)[-1]
        for text in helper("race", ["A", "B"], **{amount: 0.5}).expand():
            assert conjuncts(text), text


def test_a_recipe_says_what_it_is():
    recipe = elfair.parity("race", tolerance=0.1)
    assert str(recipe) == "parity of all groups of 'race'"
    assert recipe == elfair.parity(["race"], tolerance=0.1)
    assert copy.deepcopy(recipe) == pickle.loads(pickle.dumps(recipe)) == recipe
    clf = ELFClassifier([recipe, "accuracy >= 0.6"])
    assert clone(clf).constraints == clf.constraints


def test_a_missing_value_is_no_group():
    race = ["A", "B", None, "A"] * 5
    data = LoggedData(np.zeros((20, 1)), [0, 1] * 10, sensitive_features={"race": race})
    assert elfair.parity("race", tolerance=0.1).expand(data) == [
        "abs(PR[race == 'A'] - PR[race == 'B']) <= 0.1"
    ]
    number = LoggedData(
        np.zeros((20, 1)), [0, 1] * 10, sensitive_features={"T": [0.0, 1.0, np.nan, 2.0] * 5}
    )
    assert len(elfair.parity("T", tolerance=0.1).expand(number)) == len([*combinations("abc", 2)])


def test_small_groups_are_named():
    race = ["A"] * 10 + ["B"] * 10 + ["C"] * 3 + ["D"]
    data = LoggedData(np.zeros((24, 1)), [0, 1] * 12, sensitive_features={"race": race})
    with pytest.raises(DataError, match=r"2 of the 4 groups of 'race' .*: 'C' \(3\), 'D' \(1\)"):
        elfair.no_worse("race").expand(data)
    with pytest.raises(DataError, match=r"Hint: .*groups=\['A', 'B'\]"):
        elfair.no_worse("race").expand(data)
    assert len(elfair.no_worse("race", ["A", "B"]).expand(data)) == 2


def test_a_group_too_small_for_the_sealed_half_is_an_error_before_it_is_opened():
    rng = np.random.default_rng(0)
    race = np.array(["A"] * 96 + ["B"] * 4, dtype=object)
    X, y, groups = rng.normal(size=(100, 1)), rng.integers(0, 2, 100), {"race": race}
    data = LoggedData(X, y, sensitive_features=groups)
    candidates = (
        Split.of(data, "random", share=0.6, seed=seed).candidate.column("race")
        for seed in range(50)
    )
    seed = next(k for k, column in enumerate(candidates) if (column == "B").sum() == 3)
    clf = ELFClassifier(elfair.parity("race", tolerance=0.5), random_state=seed)
    with pytest.raises(DataError, match=r"'race == 'B'' is met by 1 of the 40 rows(.|\n)*groups="):
        clf.fit(X, y, sensitive_features=groups)
    clf.set_params(constraints="accuracy >= 0.1").fit(X, y, sensitive_features=groups)
    assert clf.certificate_.openings == 1  # the refused fit opened nothing


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: elfair.stagnation("T", tolerance=0), "exact equality, which no data can"),
        (lambda: elfair.parity("T", tolerance=0), "exact equality"),
        (lambda: elfair.parity("T", tolerance=1), "must be above 0 and below 1. Got 1"),
        (lambda: elfair.parity("T", tolerance="0.1"), "Got '0.1'"),
        (lambda: elfair.parity("T", tolerance=True), "Got True"),
        (lambda: elfair.parity("T", tolerance=float("nan")), "Got nan"),
        (lambda: elfair.disparate_impact("T", ratio=1), "ratio .* below 1. Got 1"),
        (lambda: elfair.no_worse("T", slack=-1), "slack .* at least 0. Got -1"),
        (lambda: elfair.improvement("T", margin=0), "margin .* above 0. Got 0"),
        (lambda: elfair.decline("T", at_most=float("inf")), "Got inf"),
        (lambda: elfair.parity([], tolerance=0.1), r"one or more column names. Got \[\]"),
        (lambda: elfair.parity("T", "AB", tolerance=0.1), "must be a list. Got 'AB'"),
        (
            lambda: elfair.parity("T", ["A"], tolerance=0.1),
            "2 or more different groups. Got 'A'",
        ),
        (lambda: elfair.parity("T", ["A", "A"], tolerance=0.1), "different groups"),
        (lambda: elfair.no_worse("T", []), "must be 1 or more different groups. Got none"),
        (lambda: elfair.no_worse(["T", "S"], ["A"]), "one value for each of T, S"),
        (lambda: elfair.parity("T", tolerance=0.1).expand(), "needs data to know its groups"),
        (lambda: elfair.parity(3, tolerance=0.1), "one or more column names. Got 3"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\nHint: " in str(caught.value)


def test_columns_that_are_no_groups_are_refused():
    rng = np.random.default_rng(0)
    groups = {"T": [1] * 300, "mixed": [0, "a", 1] * 100}
    data = LoggedData(rng.normal(size=(300, 1)), [0, 1] * 150, sensitive_features=groups)
    for name, message in [
        ("x0", "300 different values; 'parity' accepts at most 100"),
        ("T", "too few groups for 'parity'. Got 1"),
        ("mixed", "values of one kind"),
        ("t", "no column 't'(.|\n)*Hint: "),
    ]:
        with pytest.raises(DataError, match=message):
            elfair.parity(name, tolerance=0.1).expand(data)


# -- end to end -----------------------------------------------------------------------------------


def draw(n, seed):
    rng = np.random.default_rng(seed)
    race = rng.choice(["A", "B"], n, p=[0.6, 0.4]).astype(object)
    X = np.column_stack([rng.normal(size=n) + 0.7 * (race == "A"), rng.normal(size=n)])
    label = (rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))).astype(int)
    p = 1 / (1 + np.exp(-0.3 * X[:, 1]))
    decision = (rng.random(n) < p).astype(int)
    impact = (decision == label) + rng.normal(0, 0.3, n)
    logged = {
        "sensitive_features": {"race": race}, "decision": decision, "impact": impact,
        "propensity": np.where(decision == 1, p, 1 - p),
    }  # fmt: skip
    return X, label, logged, p


@pytest.mark.parametrize(
    "recipe",
    [
        elfair.parity("race", tolerance=0.15),
        elfair.equalized_odds("race", tolerance=0.15),
        elfair.equal_opportunity("race", tolerance=0.15),
        elfair.predictive_equality("race", tolerance=0.15),
        elfair.accuracy_parity("race", tolerance=0.1),
        elfair.disparate_impact("race", ratio=0.75),
        elfair.no_worse("race"),
        elfair.improvement("race", margin=0.1),
        elfair.decline("race", at_most=0.1),
        elfair.stagnation("race", tolerance=0.2),
    ],
    ids=lambda recipe: recipe.name,
)
def test_a_classifier_meets_each_of_them(recipe):
    X, label, logged, _ = draw(4_000, seed=3)
    clf = ELFClassifier([recipe, "accuracy >= 0.55"], delta=[0.1, 0.05]).fit(X, label, **logged)
    assert clf.solution_found_, clf.explain()
    texts = {result.constraint for result in clf.certificate_.constraints}
    assert texts == {*recipe.expand(LoggedData(X, label, **logged)), "accuracy >= 0.55"}
    # The truth, on many fresh rows. (The expected impact is 1 where decision and label agree.)
    X, label, logged, old = draw(200_000, seed=4)
    new = clf.predict_proba(X)[:, 1]
    race = logged["sensitive_features"]["race"]

    def rates(values, inside=True):
        return [values[inside & (race == group)].mean() for group in "AB"]

    right = np.where(label == 1, new, 1 - new)
    changes = rates(right - np.where(label == 1, old, 1 - old))
    gap = {
        "parity": abs(np.subtract(*rates(new))),
        "equalized_odds": max(abs(np.subtract(*rates(new, label == y))) for y in (0, 1)),
        "equal_opportunity": abs(np.subtract(*rates(new, label == 1))),
        "predictive_equality": abs(np.subtract(*rates(new, label == 0))),
        "accuracy_parity": abs(np.subtract(*rates(right))),
        "disparate_impact": 1.5 - min(rates(new)) / max(rates(new)),  # at most 0.75
        "no_worse": -min(changes),
        "improvement": 0.2 - min(changes),  # at most 0.1
        "decline": -min(changes),
        "stagnation": np.max(np.abs(changes)),
    }
    assert gap[recipe.name] <= recipe.amount


def test_the_plain_classifier_violates_what_the_constraints_ask_for():
    # Else the test above would say nothing.
    X, label, logged, _ = draw(20_000, seed=5)
    new = ELFClassifier().fit(X, label).predict_proba(X)[:, 1]
    race = logged["sensitive_features"]["race"]
    assert new[race == "A"].mean() - new[race == "B"].mean() > 0.15
    assert new[race == "B"].mean() < 0.75 * new[race == "A"].mean()


def test_many_constraints_come_worst_first():
    rng = np.random.default_rng(6)
    X, label, logged, _ = draw(3_000, seed=6)
    logged["sensitive_features"]["region"] = rng.integers(0, 5, 3_000)
    recipes = [elfair.no_worse(["race", "region"]), elfair.parity("region", tolerance=0.1)]
    clf = ELFClassifier(recipes).fit(X, label, **logged)
    results = clf.certificate_.constraints
    assert len(results) == 10 + 20
    badness = [result.upper / result.spread for result in results]
    assert badness == sorted(badness, reverse=True)
    details = clf.explain(details=True).splitlines()
    assert sum(line.startswith(("FAILED", "passed")) for line in details) == 10

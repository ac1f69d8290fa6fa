"""ELFClassifier with an expression as its objective, with and without labels."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone

import elfair
from elfair import Certificate, ELFClassifier
from elfair.errors import ConstraintError, DataError, InputError

B_NO_WORSE = "E[health | race == 'B'] >= E_logged[health | race == 'B']"


def mean_profit(outreach, clf):
    return outreach.value("profit", clf.predict_proba(outreach.X))


def test_without_labels_the_best_arm_is_found(outreach):
    sample = outreach.sample(1_500, 0)
    for objective, arm in (("E[profit]", "visit"), ("E[health]", "call"), ("-E[profit]", "none")):
        clf = ELFClassifier(objective=objective).fit(**sample)
        assert clf.solution_found_
        assert clf.classes_.tolist() == outreach.arms.tolist()
        every = clf.predict_proba(outreach.X)
        column = clf.classes_.tolist().index(arm)
        assert (outreach.share @ every)[column] > 0.9, objective
        assert set(clf.predict(outreach.X)) <= set(outreach.arms)


def test_text_and_tree_are_one_and_the_certificate_keeps_the_text(outreach):
    sample = outreach.sample(800, 1)
    text = "E[profit] - 0.5 * P[decision == 'visit' | race == 'B']"
    tree = elfair.E("profit") - 0.5 * elfair.P(
        elfair.decision == "visit", given=elfair.col("race") == "B"
    )
    first, second = (ELFClassifier(B_NO_WORSE, objective=o).fit(**sample) for o in (text, tree))
    np.testing.assert_array_equal(first.fitted_.models[0].theta, second.fitted_.models[0].theta)
    for clf in (first, second):
        assert clf.certificate_.search.objective == text
        assert Certificate.from_json(clf.certificate_.to_json()) == clf.certificate_


def test_what_is_maximised_is_weighed(outreach):
    """The dearer a visit, the fewer visits."""
    sample, visits = outreach.sample(2_000, 2), []
    for price in (0.0, 0.4, 2.0):
        text = f"E[profit] - {price} * P[decision == 'visit']"
        clf = ELFClassifier(objective=text).fit(**sample)
        visits.append(float(outreach.share @ clf.predict_proba(outreach.X)[:, 2]))
    assert visits[0] > 0.9
    assert 0.2 < visits[1] < 0.9
    assert visits[2] < 0.05


@pytest.mark.parametrize(
    "options",
    [
        {"split": "crossfit", "folds": 3},
        {"search": "cmaes", "power": None, "inflation": 2.0},
        {"estimator": "dr"},
        {
            "estimator": "is",
            "power": None,
            "inflation": 2.0,
            "accept_violated": ["tau_known"],
        },
        {"candidate_tuning": {"power": [0.8, 0.95]}},
        {"impact_range": (-6.0, 6.0), "propensity_floor": 0.2, "bound": "bernstein"},
    ],
    ids=lambda options: next(iter(options.values())) if "split" in options else str(options)[:30],
)
def test_every_way_of_fitting_takes_an_expression(outreach, options):
    n = 60_000 if "bound" in options else 2_500
    clf = ELFClassifier(B_NO_WORSE, objective="E[profit]", **options).fit(**outreach.sample(n, 3))
    assert clf.solution_found_
    assert mean_profit(outreach, clf) > outreach.value("profit", outreach.behavior) + 0.05
    if "candidate_tuning" in options:
        assert clf.tuned_["power"] in (0.8, 0.95)


def test_labels_may_stand_beside_an_expression():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1_500, 2))
    label = (X[:, 0] + rng.normal(0, 0.5, 1_500) > 0).astype(int)
    decision = rng.integers(0, 2, 1_500)
    group = rng.integers(0, 2, 1_500)
    profit = decision * X[:, 1] + rng.normal(0, 0.3, 1_500)
    given = {
        "sensitive_features": {"T": group},
        "decision": decision,
        "propensity": np.full(1_500, 0.5),
        "impact": {"profit": profit},
    }
    profitable = ELFClassifier("accuracy >= 0.4", objective="E[profit]").fit(X, label, **given)
    balanced = ELFClassifier(objective="0.5 * TPR + 0.5 * TNR").fit(X, label, **given)
    careful = ELFClassifier("accuracy >= 0.75", objective="E[profit]").fit(X, label, **given)
    by_profit, by_label, both = (
        [clf.predict_proba(X)[:, 1] @ score for score in (X[:, 1], X[:, 0])]
        for clf in (profitable, balanced, careful)
    )
    assert by_profit[0] > both[0] > by_label[0]
    assert by_profit[1] < both[1] < by_label[1]
    assert balanced.score(X, label) > 0.85


def test_two_impacts_two_columns_an_intersection_and_a_delta_for_each(outreach):
    """Profit is made large; health is kept by race and, more strictly, of women of race B."""
    women_b = "race == 'B' and sex == 'F'"
    constraints = [
        "E[health | race == 'A'] >= E_logged[health | race == 'A'] - 0.1",
        B_NO_WORSE,
        f"E[health | {women_b}] >= E_logged[health | {women_b}]",
        "E[profit | sex == 'F'] >= E_logged[profit | sex == 'F']",
    ]
    deltas = [0.2, 0.1, 0.05, 0.15]
    groups = [
        ("health", outreach.race == "A", 0.1),
        ("health", outreach.race == "B", 0.0),
        ("health", (outreach.race == "B") & (outreach.sex == "F"), 0.0),
        ("profit", outreach.sex == "F", 0.0),
    ]
    found = failures = 0
    for seed in range(20):
        sample = outreach.sample(3_000, seed, known=True)
        clf = ELFClassifier(constraints, delta=deltas, objective="E[profit]", random_state=seed)
        clf.fit(**sample)
        results = {result.constraint: result for result in clf.certificate_.constraints}
        assert [results[text].delta for text in constraints] == deltas
        assert clf.certificate_.joint_delta == 0.2
        race, sex = (sample["sensitive_features"][name] for name in ("race", "sex"))
        tested = (results[constraints[2]].n, results[constraints[3]].n)
        expected = ((race == "B") & (sex == "F")).sum(), (sex == "F").sum()
        np.testing.assert_allclose(tested, 0.4 * np.array(expected), rtol=0.15)
        every = clf.fitted_.probabilities(outreach.X, None)
        for (impact, inside, margin), text in zip(groups, constraints, strict=True):
            truth = outreach.value(impact, outreach.behavior, inside) - margin
            truth -= outreach.value(impact, every, inside)
            error = results[text].spread / np.sqrt(results[text].n)
            assert results[text].estimate == pytest.approx(truth, abs=4.5 * error)
            failures += clf.solution_found_ and truth > 0
        found += clf.solution_found_
        if clf.solution_found_:
            assert outreach.value("profit", every) > outreach.value("profit", outreach.behavior)
    assert found >= 12
    assert failures <= 4  # at most .2 of 20, were every candidate at the edge


def test_the_worse_off_group_comes_first(outreach):
    """Race A gains from visits alone and race B from calls alone; x2 says something of race."""
    outreach.means["health"][:, 0] = np.where(outreach.race == "A", 0.0, 0.4)
    sample = outreach.sample(3_000, 5)
    health = {}
    for name, text in (
        ("one", "E[health | race == 'A']"),
        ("worst", "min(E[health | race == 'A'], E[health | race == 'B'])"),
    ):
        every = ELFClassifier(objective=text).fit(**sample).predict_proba(outreach.X)
        health[name] = [outreach.value("health", every, outreach.race == r) for r in "AB"]
    assert min(health["worst"]) > min(health["one"]) + 0.5
    grid = [[a, 1 - a - b, b] for a in np.linspace(0, 1, 21) for b in np.linspace(0, 1 - a, 21)]
    best = max(
        min(outreach.value("health", np.where(outreach.X[:, 1:] > 0, p, q), outreach.race == r)
            for r in "AB")
        for p in grid[::7] for q in grid[::7]
    )  # fmt: skip
    assert min(health["worst"]) > best - 0.05


def test_labels_and_decisions_that_are_missing(outreach):
    sample = outreach.sample(200, 6)
    for objective in ("accuracy", "log_loss", "TPR", "E[profit] + accuracy"):
        with pytest.raises(DataError, match=r"(?s)requires y to be passed.*Hint: .*E\[impact\]"):
            ELFClassifier(objective=objective).fit(**sample)
    with pytest.raises(DataError, match="neither y nor decision"):
        ELFClassifier(objective="E[profit]").fit(sample["X"], impact=sample["impact"])
    only = {**sample, "decision": np.full(200, "call")}
    with pytest.raises(DataError, match=r"decision holds only one class: .*'call'"):
        ELFClassifier(objective="E[profit]").fit(**only)
    with pytest.raises(elfair.ElfairError, match="needs propensity"):
        ELFClassifier(objective="E[profit]").fit(**{**sample, "propensity": None})
    with pytest.raises(elfair.ElfairError, match="no impact 'profits'"):
        ELFClassifier(objective="E[profits]").fit(**sample)
    with pytest.raises(elfair.ElfairError, match="the label is needed"):
        ELFClassifier("accuracy >= 0.5", objective="E[profit]").fit(**sample)


def test_a_class_that_never_occurs(outreach):
    sample = outreach.sample(400, 7)
    every = ["call", "none", "sms", "visit"]
    with pytest.raises(DataError, match="'sms' was never taken in 400 rows"):
        ELFClassifier(objective="E[profit]", classes=every).fit(**sample)
    # Where nothing but the decision is asked for, it may be taken.
    clf = ELFClassifier(objective="P[decision == 'sms']", classes=every).fit(**sample)
    assert clf.classes_.tolist() == every
    assert clf.predict_proba(outreach.X)[:, 2].min() > 0.9
    # Labels that show fewer classes than there are decisions.
    labels = np.where(sample["X"][:, 0] > 0, "call", "none")
    clf = ELFClassifier(objective="E[profit]").fit(y=labels, **sample)
    assert clf.classes_.tolist() == outreach.arms.tolist()


def test_a_tree_is_a_parameter_like_any_other(outreach):
    clf = ELFClassifier(objective=elfair.minimum(elfair.E("profit"), elfair.E("health")))
    again = clone(clf)
    assert again.objective == clf.objective
    assert "profit" in repr(again)
    sample = outreach.sample(300, 8)
    probabilities = again.fit(**sample).predict_proba(outreach.X)
    copied = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(copied.predict_proba(outreach.X), probabilities)
    with pytest.raises(DataError, match="y"):
        again.score(outreach.X, None)


@pytest.mark.parametrize(
    ("objective", "measure"),
    [
        ("quantile[profit, 0.1]", lambda p: np.quantile(p, 0.1)),
        ("CVaR[profit, 0.2]", lambda p: np.sort(p)[: p.size // 5].mean()),
        ("-var[profit]", lambda p: -p.var()),
        ("median[profit]", np.median),
        ("P[profit >= 0.9]", lambda p: (p >= 0.9).mean()),
        ("E[profit] - var[profit]", lambda p: p.mean() - p.var()),
        ("E[profit] * P[profit >= 0.2]", lambda p: p.mean() * (p >= 0.2).mean()),
    ],
)
def test_what_is_beyond_the_mean_can_be_made_large(objective, measure):
    """Arm 0 is safe, arm 1 pays more on average and varies more, the more so where x is large."""
    rng = np.random.default_rng(3)

    def profits(x, arm):
        noise = rng.normal(size=arm.shape)
        return np.where(arm == 1, 1 + 0.3 * x + (1 + 0.5 * x) * noise, 0.7 + 0.2 * noise)

    n = 3_000
    x, arm = rng.choice([-1.0, 1.0], size=n), rng.integers(0, 2, n)
    sample = {
        "X": x[:, None],
        "decision": arm,
        "propensity": np.full(n, 0.5),
        "impact": {"profit": profits(x, arm)},
    }
    clf = ELFClassifier(objective=objective).fit(**sample)
    people = np.tile([-1.0, 1.0], 20_000)

    def reached(shares):
        return measure(profits(people, (rng.random(people.size) < shares).astype(int)))

    best = max(
        reached(np.where(people < 0, low, high)) for low in (0, 0.5, 1) for high in (0, 0.5, 1)
    )
    worst = min(reached(np.full(people.size, share)) for share in (0, 1))
    found = reached(clf.predict_proba(people[:, None])[:, 1])
    assert found >= best - 0.1 * (best - worst) - 0.01


def test_something_must_depend_on_decisions(outreach):
    sample = outreach.sample(100, 8)
    for objective in ("P[race == 'A']", "P[race == 'A'] - E_logged[profit]"):
        with pytest.raises(elfair.ConstraintError, match="does not depend on the new model"):
            ELFClassifier(objective=objective).fit(**sample)
    assert ELFClassifier(objective="P[profit >= 1]").fit(**sample).solution_found_


@pytest.mark.parametrize(
    ("objective", "left_out", "message"),
    [
        ("median[profit | race == 'X']", (), "'race == 'X'' is met by 0 of"),
        ("var[profit]", ("propensity",), "'E[profit]' needs propensity"),
        ("var[profit]", ("propensity", "decision"), "'E[profit]' needs decision"),
    ],
)
def test_an_objective_beyond_the_mean_says_what_it_lacks(outreach, objective, left_out, message):
    sample = outreach.sample(400, 0)
    sample |= {"y": sample["decision"]} | dict.fromkeys(left_out)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        ELFClassifier(objective=objective).fit(**sample)
    assert "Hint:" in str(caught.value)


def test_the_distribution_of_a_cost_is_no_objective(outreach):
    sample = outreach.sample(400, 0)
    sample |= {"y": sample["decision"]}
    with pytest.raises(ConstraintError, match="only its mean is available"):
        ELFClassifier(objective="CVaR[cost, 0.1]", cost=np.eye(3)).fit(**sample)

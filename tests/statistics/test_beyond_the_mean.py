"""Statistics beyond the mean, brought back to averages: what is claimed then implies what was."""

from __future__ import annotations

from inspect import isabstract

import numpy as np
import pytest

from elfair import LoggedData, certify
from elfair.bounds import FINITE_SAMPLE
from elfair.errors import ConstraintError, DataError
from elfair.language.build import BEYOND_THE_MEAN
from elfair.language.conditions import Column, Compare, Decision
from elfair.language.distribution import (
    ConditionalValueAtRisk,
    Derived,
    Quantile,
    Squared,
    StandIn,
    Statistic,
    Variance,
    _OfShare,
    statistics_in,
)
from elfair.language.expressions import (
    Abs,
    All,
    AnyOf,
    AtMost,
    Max,
    Mean,
    Min,
    Number,
    Product,
    Quotient,
    Scaled,
    Sum,
)
from elfair.language.parsing import parse
from elfair.language.tree import walk
from elfair.search.objective import linearised
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan
from elfair.statistics.settling import settle


class World:
    """Two groups, two decisions, and an impact with a few values: everything can be computed."""

    def __init__(self, seed, atoms=7, spread=1.0):
        rng = np.random.default_rng(seed)
        self.values = np.sort(rng.normal(1.0, spread, atoms).round(3))
        self.share = np.array([0.6, 0.4])  # of the groups
        self.behavior = rng.uniform(0.3, 0.7, 2)  # of decision 1, by group
        self.policy = rng.uniform(0.1, 0.9, 2)
        # Decision 1 has the larger impacts.
        tilt = np.exp(np.array([-0.5, 0.5])[:, None] * (self.values - 1) / spread)
        table = rng.dirichlet(np.full(atoms, 2.0), (2, 2)) * tilt
        self.table = table / table.sum(axis=-1, keepdims=True)  # by group, decision and value

    def draw(self, n, seed):
        """Rows that the behaviour model has logged, and the policy's free probabilities."""
        rng = np.random.default_rng(seed)
        group = (rng.random(n) < self.share[1]).astype(int)
        decision = (rng.random(n) < self.behavior[group]).astype(int)
        below = rng.random(n)[:, None] > self.table[group, decision].cumsum(axis=1)
        p = self.behavior[group]
        data = LoggedData(
            rng.normal(size=(n, 1)),
            sensitive_features={"T": group},
            decision=decision,
            propensity=np.where(decision == 1, p, 1 - p),
            impact=self.values[np.minimum(below.sum(axis=1), self.values.size - 1)],
        )
        return data, self.policy[group][None]

    def law(self, given):
        """The probability of each value of the impact under the policy, and of decision 1."""
        share = self.share.copy()
        if given is not None:
            assert isinstance(given, Compare)
            share[1 - given.right.value] = 0
            share /= share.sum()
        by_decision = np.stack([1 - self.policy, self.policy], axis=1)
        law = np.einsum("g,gd,gdv->v", share, by_decision, self.table)
        return law, float(share @ self.policy)

    def of(self, node):
        """An expression's true value."""
        match node:
            case Number(number):
                return number
            case Sum(parts):
                return sum(map(self.of, parts))
            case Scaled(factor, part):
                return factor * self.of(part)
            case Product(left, right):
                return self.of(left) * self.of(right)
            case Quotient(top, bottom):
                return self.of(top) / self.of(bottom)
            case Abs(part):
                return abs(self.of(part))
            case Max(parts):
                return max(map(self.of, parts))
            case Min(parts):
                return min(map(self.of, parts))
        law, chosen = self.law(node.given)
        match node:
            case Mean(Column()):
                return float(law @ self.values)
            case Mean(Derived() as derived):
                return float(law @ derived.of(self.values))
            case Mean(Compare(Decision())):
                return chosen
            case Quantile(share=a):
                return self.values[np.searchsorted(law.cumsum(), a - 1e-12)]
            case ConditionalValueAtRisk(share=a):
                reached = np.minimum(law.cumsum(), a)
                return float(np.diff(reached, prepend=0.0) @ self.values) / a
            case Variance():
                return float(law @ self.values**2 - (law @ self.values) ** 2)
        raise AssertionError(node)

    def holds(self, statement):
        match statement:
            case AtMost(left, right):
                return self.of(left) <= self.of(right) + 1e-9
            case All(parts):
                return all(map(self.holds, parts))
            case AnyOf(parts):
                return any(map(self.holds, parts))
        raise AssertionError(statement)


def settled(text, data, free, n_test, delta=0.1, estimator="paired"):
    baselines = Baselines(Estimation(estimator), data)
    plan = Plan.make(read_constraints(text, delta), "ttest", baselines, data)
    return settle(plan, data, free, n_test)


def says(world, plan):
    """Whether everything that would be tested is true."""
    forms = [claim.conjunct.form for claim in plan.claims]
    return all(world.of(form.expression) <= 1e-12 for form in forms)


SINGLE = ["quantile[impact, 0.2]", "median[impact]", "quantile[impact, 0.85 | T == 1]",
          "CVaR[impact, 0.1]", "CVaR[impact, 0.6 | T == 0]", "var[impact]", "var[impact | T == 1]",
          "IQR[impact]", "IQR[impact, 0.1, 0.6 | T == 0]"]  # fmt: skip
DIFFERENCES = [
    "median[impact | T == 0] - median[impact | T == 1]",
    "CVaR[impact, 0.3 | T == 0] - 0.8 * CVaR[impact, 0.3 | T == 1]",
    "var[impact | T == 0] - 1.5 * var[impact | T == 1]",
    "E[impact] - median[impact]",
    "2 * median[impact | T == 1] - E[impact | T == 0] - PR",
    "CVaR[impact, 0.3] - quantile[impact, 0.1]",
    "var[impact] - IQR[impact]",
    "median[impact] * PR",
    "var[impact] * PR - CVaR[impact, 0.5]",
    "max(median[impact | T == 0], median[impact | T == 1])",
    "min(CVaR[impact, 0.3 | T == 0], median[impact | T == 1], E[impact])",
]


@pytest.mark.parametrize("relation", ["<=", ">="])
@pytest.mark.parametrize("what", [*SINGLE, *DIFFERENCES])
def test_what_is_claimed_of_averages_implies_what_was_claimed(what, relation):
    outcomes = []
    for seed, away in enumerate([-0.3, -0.01, 0.01, 1.0, -1.0, -0.1, 0.1, 0.3]):
        rng = np.random.default_rng(1_000 + seed)
        world = World(seed)
        data, free = world.draw(300 if seed < 4 else 40, seed)
        if seed >= 4:  # any points will do: also those of another policy
            free = np.full_like(free, rng.random())
        truth = world.of(parse(f"{what} <= 0").left)
        text = f"{what} {relation} {round(truth + away, 6)}"
        holds = says(world, settled(text, data, free, rng.choice([50, 100_000])))
        if holds:
            assert world.holds(parse(text)), (text, seed)
        outcomes.append((world.holds(parse(text)), holds))
    # It was put to the test: true and false statements, and some of the true ones were shown.
    assert {true for true, _ in outcomes} == {True, False}
    assert (True, True) in outcomes


EITHER = [
    "median[impact] {r} {0} or E[impact] {r} {1}",
    "median[impact | T == 0] {r} {0} or median[impact | T == 1] {r} {1}",
    "CVaR[impact, 0.3] {r} {0} or var[impact] {r} {1}",
    "median[impact] {r} {0} and PR <= {2} or quantile[impact, 0.2] {r} {1}",
    "min(median[impact], {0} + 1) {r} {0}",
    "max(median[impact], {0} - 1) {r} {0}",
]


@pytest.mark.parametrize("relation", ["<=", ">="])
@pytest.mark.parametrize("form", EITHER)
def test_an_either_or_of_statistics_is_implied_as_well(form, relation):
    outcomes = []
    for seed in range(10):
        rng = np.random.default_rng(2_000 + seed)
        world = World(seed)
        data, free = world.draw(rng.choice([40, 300]), seed)
        numbers = rng.normal(0.5, 1.2, 2).round(3)
        text = form.format(*numbers, round(rng.random(), 3), r=relation)
        holds = says(world, settled(text, data, free, 500))
        if holds:
            assert world.holds(parse(text)), (text, seed)
        outcomes.append((world.holds(parse(text)), holds))
    assert {true for true, _ in outcomes} == {True, False}
    assert (True, True) in outcomes


@pytest.mark.parametrize(
    "text",
    [
        "median[impact] <= 3 or quantile[impact, 0.2] <= 2",
        "median[impact] >= 9 or quantile[impact, 0.2] >= 8",
        "min(median[impact], 4) <= 3",
        "max(median[impact], quantile[impact, 0.2]) >= 9",
    ],
)
def test_numbers_out_of_reach_are_no_way_round_a_claim(text):
    # Everyone's impact is 5: no point of the data says what is claimed, and nothing may pass.
    n = 100
    data = LoggedData(np.zeros((n, 1)), decision=np.arange(n) % 2, propensity=np.full(n, 0.5),
                      impact=np.full(n, 5.0))  # fmt: skip
    plan = settled(text, data, np.full((1, n), 0.5), 200)
    wrong = [claim.conjunct.form for claim in plan.claims if not claim.conjunct.form.terms]
    assert [form.constant > 0.5 for form in wrong] == [True]
    assert {claim.conjunct.parent for claim in plan.claims} == {text}


# -- a statistic that somebody adds ---------------------------------------------------------------


def test_every_statistic_is_tested_here():
    for name in {make.__name__ for make in BEYOND_THE_MEAN.values()}:
        assert any(each.startswith(f"{name}[") for each in SINGLE), name
    made = {node for each in SINGLE for node in statistics_in(parse(f"{each} <= 0"))}
    concrete = {kind for kind in [*Statistic.__subclasses__(), *_OfShare.__subclasses__()]
                if kind.__module__ == Statistic.__module__ and not isabstract(kind)}  # fmt: skip
    assert {type(node) for node in made} == concrete


class HalfStatistic(Statistic):
    """It says what a search climbs, and not what is tested."""

    def first_order(self, rows):
        return Mean(self.of, self.given)


class OtherHalf(Statistic):
    """It says what is tested, and not what a search climbs."""

    def stand_in(self, rows, margin, number, above):
        return StandIn(Mean(self.of, self.given))


def settled_statistic(statistic, data, free):
    claims = read_constraints(statistic <= 1, 0.1)
    plan = Plan.make(claims, "ttest", Baselines(Estimation(), data), data)
    return settle(plan, data, free, 100)


@pytest.mark.parametrize("half", [HalfStatistic, OtherHalf])
def test_half_a_statistic_is_an_error(half):
    with pytest.raises(TypeError, match="abstract"):
        half(Column("impact"))


class Distance(Derived):
    """How far the impact is from a point."""

    sign = 1

    def of(self, values):
        return np.abs(values - self.point)

    def ends(self, low, high):
        return 0.0, max(abs(low - self.point), abs(high - self.point))

    def __str__(self):
        return f"abs({self.impact} - {self.point})"


class Deviation(Statistic):
    """The mean distance from the median: the smallest, over a point, of the mean distance from it.
    Only a test from above exists.
    """

    def stand_in(self, rows, margin, number, above):
        if not above:
            raise ConstraintError("not from below")
        return StandIn(self.first_order(rows))

    def first_order(self, rows):
        return self._mean(Distance(self.of, rows.quantile(0.5)))

    def __str__(self):
        return f"deviation[{self.of}]"


def test_a_whole_statistic_is_one_class():
    world = World(5, atoms=400)
    data, free = world.draw(20_000, 0)
    statistic = Deviation(Column("impact"))
    law, _ = world.law(None)
    median = world.of(Quantile(Column("impact")))
    truth = float(law @ np.abs(world.values - median))
    (claim,) = settled_statistic(statistic, data, free).claims
    assert world.of(claim.conjunct.form.expression) == pytest.approx(truth - 1, abs=1e-3)
    assert world.of(linearised(statistic, data, free)) == pytest.approx(truth, abs=1e-3)
    with pytest.raises(ConstraintError, match="not from below"):
        settled_statistic(-statistic, data, free)


# -- how near ------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["<=", ">="])
@pytest.mark.parametrize("what", [*SINGLE, *DIFFERENCES[:7]])
def test_with_many_rows_little_is_lost(what, relation):
    world = World(5, atoms=400)
    data, free = world.draw(20_000, 0)
    truth = world.of(parse(f"{what} <= 0").left)
    spread = np.sqrt(world.of(parse("var[impact] <= 0").left))
    slack = 0.08 * spread * (1 if relation == "<=" else -1)
    plan = settled(f"{what} {relation} {truth + slack:.9f}", data, free, 10**6)
    assert says(world, plan)
    # And beyond the truth nothing is claimed that would be true.
    plan = settled(f"{what} {relation} {truth - slack / 2:.9f}", data, free, 10**6)
    assert not says(world, plan)


def points(plan):
    found = (node for claim in plan.claims for _, term in claim.conjunct.form.terms
             for node in walk(term))  # fmt: skip
    return [node.point for node in found if isinstance(node, Derived)]


def test_points_are_those_of_the_policy_and_not_of_the_behaviour_model():
    world = World(7, atoms=300)
    world.behavior, world.policy = np.array([0.1, 0.1]), np.array([0.95, 0.95])
    data, free = world.draw(40_000, 1)
    (point,) = points(settled("CVaR[impact, 0.2] >= 0", data, free, 1_000))
    assert point == pytest.approx(world.of(parse("quantile[impact, 0.2] <= 0").left), abs=0.1)
    (other,) = points(settled("CVaR[impact, 0.2] >= 0", data, free * 0 + 0.1, 1_000))
    assert other == pytest.approx(np.quantile(data.impacts["impact"], 0.2), abs=0.1)
    assert abs(point - other) > 0.2
    (mean,) = points(settled("var[impact] <= 1", data, free, 1_000))
    assert mean == pytest.approx(world.of(parse("E[impact] <= 0").left), abs=0.1)
    assert abs(mean - data.impacts["impact"].mean()) > 0.2


def test_a_bound_on_a_quantile_takes_the_constraints_own_number():
    world = World(1)
    data, free = world.draw(200, 0)
    for text, expected in {
        "quantile[impact, 0.1] >= 0.3": "P[impact < 0.3] <= 0.1",
        "0.3 >= median[impact | T == 1]": "P[impact > 0.3 | T == 1] <= 0.5",
        "2 * quantile[impact, 0.1] >= 14.2": "P[impact < 7.1] <= 0.1",
    }.items():
        (claim,) = settled(text, data, free, 100).claims
        assert claim.conjunct.text == expected
        assert claim.conjunct.parent == text
        assert claim.delta == 0.1


def test_an_inter_quantile_range_is_shared_out_to_the_last_digit():
    for scale in (1e-6, 1.0, 1e9):
        world = World(2, atoms=50)
        world.values = world.values * scale
        data, free = world.draw(3_000, 0)
        limit = 1.5 * float(world.of(parse("IQR[impact] <= 0").left))
        plan = settled(f"IQR[impact] <= {limit!r}", data, free, 2_000)
        assert len(plan.claims) == 2
        low, high = sorted(points(plan))
        assert high - low == pytest.approx(limit, rel=1e-10)
        assert [claim.delta for claim in plan.claims] == [0.1, 0.1]


def test_each_part_keeps_the_full_delta_and_the_place_of_its_constraint():
    world = World(3)
    data, free = world.draw(500, 0)
    text = "accuracy >= 0.1 and CVaR[impact, 0.2] <= 4"
    plan = settled(["PR <= 1", text], data, free, 500, delta=[0.2, 0.05])
    assert [claim.delta for claim in plan.claims] == [0.2, 0.05, 0.05, 0.05]
    first, second = plan.claims[2:]
    assert first.conjunct.parent == second.conjunct.parent == text
    assert first.conjunct.source.excerpt == "CVaR[impact, 0.2] <= 4"
    assert first.conjunct.text.endswith("<= 0.8")
    assert first.conjunct.text.startswith("P[impact > ")
    assert not plan.statistics


def test_without_statistics_the_plan_is_the_same_plan():
    world = World(4)
    data, free = world.draw(50, 0)
    claims = read_constraints(["E[impact] * PR <= 1", "PR <= 0.5 or PR >= 0.6"], 0.1)
    plan = Plan.make(claims, "ttest", Baselines(Estimation(), data), data)
    assert settle(plan, data, free, 100) is plan


def test_a_smaller_test_wants_a_larger_distance():
    # Beside an average, the number that stands for the median lies where the test can show it.
    world = World(5, atoms=400)
    data, free = world.draw(5_000, 0)
    numbers = [
        points(settled("median[impact] >= E[impact] - 2", data, free, n_test))[0]
        for n_test in (50, 500, 50_000)
    ]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[2] - 0.02


def test_one_policy_one_data_set_one_set_of_points():
    world = World(6, atoms=400)
    data, free = world.draw(300, 0)
    text = "IQR[impact] <= 2 and CVaR[impact, 0.2] >= 0.8 * CVaR[impact, 0.2 | T == 1]"
    first, second = (settled(text, data, free, 100) for _ in range(2))
    assert first.claims == second.claims
    some = data.take(np.arange(150))
    again = settled(text, some, free[:, :150], 100)
    assert again.claims != first.claims


@pytest.mark.parametrize(
    "text",
    ["abs(median[impact] - 1) >= 0.1", "median[impact] * E[impact] <= 3", "CVaR[impact, 0.2] * "
     "(PR - 1) <= 3", "var[impact] - var[impact] * PR <= 3",
     "E[impact] / median[impact] - PR <= 1"],
)  # fmt: skip
def test_a_statistic_that_is_needed_from_both_sides_is_refused_with_its_place(text):
    data, free = World(8).draw(60, 0)
    with pytest.raises(ConstraintError, match="both from above and from below") as caught:
        settled(text, data, free, 100)
    _, line, carets, hint = str(caught.value).splitlines()
    place = line[carets.index("^") : carets.rindex("^") + 1]
    assert place in ("median[impact]", "CVaR[impact, 0.2]", "var[impact]")
    assert "split the constraint" in hint


@pytest.mark.parametrize("text", ["median[impact | T == 7] >= 0", "CVaR[impact, 0.1 | T == 7] <= 9",
                                  "var[impact | T == 7] <= 1"])  # fmt: skip
def test_a_group_without_rows_is_named(text):
    data, free = World(8).draw(60, 0)
    with pytest.raises(DataError, match="'T == 7' is met by 0 of the 60 rows"):
        settled(text, data, free, 100)


def test_what_the_data_lack_is_named():
    data, free = World(8).draw(60, 0)
    bare = LoggedData(data.features, impact=data.impacts["impact"], classes=[0, 1])
    with pytest.raises(ConstraintError, match="needs decision, which was not given"):
        settled("median[impact] >= 0", bare, free, 100)
    with pytest.raises(ConstraintError, match=r"(?s)no impact 'gain'; impacts: impact.*\^\^\^\^"):
        settled("median[gain] >= 0", data, free, 100)
    with pytest.raises(ConstraintError, match="'decision' cannot come after"):
        settled("median[impact | decision == 1] >= 0", data, free, 100)


def test_the_square_of_the_distance_is_taken_from_a_variance_below():
    world = World(9)
    data, free = world.draw(400, 0)
    (claim,) = settled("var[impact] >= 0.1", data, free, 100).claims
    (square,) = [node for _, node in claim.conjunct.form.means if isinstance(node.of, Squared)]
    assert not claim.conjunct.form.is_linear
    assert world.of(claim.conjunct.form.expression) == pytest.approx(
        0.1 - world.of(parse("var[impact] <= 0").left)
    )
    assert world.of(square) > world.of(parse("var[impact] <= 0").left)


@pytest.mark.parametrize("bound", FINITE_SAMPLE)
def test_a_point_that_is_out_of_reach_is_a_failed_test_and_no_error(bound):
    rng = np.random.default_rng(0)
    decision = rng.integers(0, 2, 400)
    known = {"decision": decision, "propensity": np.full(400, 0.5)}
    data = LoggedData(np.zeros((400, 1)), impact=rng.uniform(-1, 1, 400), **known)
    declared = {"bound": bound, "impact_range": (-2, 2), "propensity_floor": 0.5}
    policy = np.full(400, 0.6)
    # It is in reach of other impacts: only where the candidate rows put the point, it is not.
    assert not certify(policy, data, "CVaR[impact, 0.1] >= 1", **declared).passed
    with pytest.raises(ConstraintError, match="can never hold"):
        certify(policy, data, "E[impact] >= E_logged[impact] + 4.5", **declared)

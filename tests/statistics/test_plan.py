"""Constraints: from text or trees to claims, and to rows that a bound may or may not cover."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData
from elfair.bounds import BOUNDS, FINITE_SAMPLE
from elfair.errors import BoundError, ConstraintError, InputError
from elfair.language.build import PR, accuracy, col
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.impact_estimators import ESTIMATORS
from elfair.statistics.plan import Plan


def texts(claims):
    return [(claim.delta, claim.conjunct.text) for claim in claims]


def test_one_text_a_list_and_a_tree_say_the_same():
    tree = accuracy >= 0.75
    expected = [(0.1, "accuracy >= 0.75")]
    assert texts(read_constraints("accuracy >= 0.75", 0.1)) == expected
    assert texts(read_constraints(["accuracy >= 0.75"], 0.1)) == expected
    assert texts(read_constraints(("accuracy >= 0.75",), (0.1,))) == expected
    assert texts(read_constraints(np.array(["accuracy >= 0.75"]), np.array([0.1]))) == expected
    assert texts(read_constraints(tree, 0.1)) == expected
    assert texts(read_constraints([tree], [0.1])) == expected


def test_each_conjunct_inherits_the_delta_and_the_text_of_its_constraint():
    gap = "abs(PR[T == 0] - PR[T == 1]) <= 0.1"
    both = "accuracy >= 0.7 and PR <= 0.9"
    claims = read_constraints([gap, both], [0.2, 0.05])
    assert [claim.delta for claim in claims] == [0.2, 0.2, 0.05, 0.05]
    assert [claim.conjunct.parent for claim in claims] == [gap, gap, both, both]
    assert len({claim.conjunct.text for claim in claims}) == 4


def test_a_tree_with_several_conditions():
    gap = abs(PR(col("T") == 0) - PR(col("T") == 1)) <= 0.2
    first, second = read_constraints(gap, 0.1)
    assert {first.conjunct.text, second.conjunct.text} == {
        "PR[T == 0] - PR[T == 1] <= 0.2",
        "PR[T == 1] - PR[T == 0] <= 0.2",
    }


@pytest.mark.parametrize("delta", [[], [0.1, 0.1], (0.1, 0.2, 0.3)])
def test_one_delta_for_each_constraint_or_one_for_all(delta):
    with pytest.raises(InputError, match=f"Got {len(delta)} for 1 constraints"):
        read_constraints("accuracy >= 0.75 and PR <= 0.9", delta)


@pytest.mark.parametrize("constraint", [None, 0.75, accuracy, True])
def test_what_is_no_constraint_is_refused(constraint):
    for given in (constraint, [constraint]):
        with pytest.raises(ConstraintError, match=r"text or a statement\. Got .*\nHint: "):
            read_constraints(given, 0.1)


def test_a_constraint_without_an_inequality_is_refused():
    with pytest.raises(ConstraintError, match="Hint: "):
        read_constraints("accuracy", 0.1)


TWO_SIDED = [name for name in FINITE_SAMPLE if "low" in BOUNDS[name].needs]


def data(n=12, n_classes=2):
    return LoggedData(
        np.arange(n)[:, None],
        np.arange(n) % n_classes,
        sensitive_features={"T": np.arange(n) // 2 % 2},
        decision=np.arange(n) // 4 % n_classes,
        propensity=np.full(n, 0.5),
        impact=np.arange(n) / n,
    )


def compiled(text, bound="ttest", claim=0, rows=None, **estimation):
    rows = rows or data()
    plan = Plan.make(
        read_constraints(text, 0.1),
        bound,
        Baselines(Estimation(finite_sample=bound in ("auto", *FINITE_SAMPLE), **estimation), rows),
        rows,
    )
    return plan.compile(rows)[claim]


def test_conditions_that_exclude_each_other_are_disjoint():
    assert compiled("PR[T == 0] - PR[T == 1] <= 0.2").tails[0].disjoint
    assert not compiled("PR[T == 0] - PR <= 0.2").tails[0].disjoint
    assert compiled("PR <= 0.2").tails[0].disjoint


@pytest.mark.parametrize("bound", FINITE_SAMPLE)
def test_finite_sample_bounds_refuse_weighted_rows_without_a_range(bound):
    with pytest.raises(BoundError, match=r"impact_range=\(lowest, highest\)"):
        compiled("E[impact] >= E_logged[impact]", bound)


@pytest.mark.parametrize("bound", TWO_SIDED)
def test_two_sided_bounds_also_need_the_largest_weight(bound):
    text, ranges = "E[impact] >= E_logged[impact]", {"impact": (0.0, 1.0)}
    with pytest.raises(BoundError, match="propensity_floor"):
        compiled(text, bound, ranges=ranges)
    assert compiled(text, bound, ranges=ranges, largest_weight=2.0)
    assert compiled(text, "betting", ranges=ranges)


@pytest.mark.parametrize("bound", FINITE_SAMPLE)
def test_doubly_robust_rows_have_ends_where_all_behaviour_probabilities_are_known(bound):
    text = "E[impact] >= E_logged[impact]"
    known = {"estimator": "dr", "ranges": {"impact": (0.0, 1.0)}, "largest_weight": 2.0}
    assert compiled(text, bound, **known)
    with pytest.raises(BoundError, match=r"(?s)every decision are known.*pass behavior="):
        compiled(text, bound, rows=data(n_classes=3), **known)
    assert compiled("accuracy >= 0.5", bound, rows=data(n_classes=3), **known)


def test_auto_takes_the_finite_sample_bound_where_ends_are_known():
    def shown(text, **estimation):
        claim = compiled(text, "auto", **estimation)
        return [tail.bound.name for tail in claim.tails], claim.kind

    declared, no_worse = {"ranges": {"impact": (0.0, 1.0)}}, "E[impact] >= E_logged[impact]"
    for text in ("PR <= 0.5", "P[impact < 0.3] <= 0.5"):
        assert shown(text) == (["betting"], "finite-sample")
    assert shown(no_worse, **declared) == (["betting"], "finite-sample")
    assert shown(no_worse) == (["guarded"], "asymptotic")
    assert shown("PR <= 0.5 or E[impact] >= 0", **declared)[1] == "finite-sample"
    assert shown("PR <= 0.5 or E[impact] >= 0") == (["betting", "guarded"], "asymptotic")
    unknown = {"rows": data(n_classes=3), "estimator": "dr", **declared}
    assert shown(no_worse, **unknown) == (["guarded"], "asymptotic")


@pytest.mark.parametrize(
    ("text", "tails"),
    [
        ("PR * PR[T == 0] <= 0.5", ["PR", "PR[T == 0]"]),
        ("E[impact] * PR <= 0.5", ["E[impact]", "PR", "-PR"]),
        ("max(PR[T == 0], PR[T == 1]) >= 0.1", ["-PR[T == 0]", "-PR[T == 1]"]),
        ("PR <= 0.1 or E[impact] >= 0.2 or accuracy >= 0.5",
         ["PR - 0.1", "-E[impact] + 0.2", "-accuracy + 0.5"]),
        ("PR[T == 0] / PR[T == 1] >= 0.8", ["0.8 * PR[T == 1] - PR[T == 0]"]),
        ("abs(PR - accuracy) >= 0.3", ["PR - accuracy", "accuracy - PR"]),
    ],
)  # fmt: skip
def test_delta_is_shared_among_the_tails_of_one_statement_and_no_others(text, tails):
    found = compiled(f"accuracy >= 0.1 and ({text})", claim=1)
    assert sorted(str(tail.form) for tail in found.tails) == sorted(tails)
    assert [tail.delta for tail in found.tails] == pytest.approx([0.1 / len(tails)] * len(tails))
    assert sum(tail.delta for tail in found.tails) <= 0.1 + 1e-12
    assert found.claim.delta == 0.1
    assert (found.formula is None) == (len(tails) == 1)
    assert len(found.parts) == sum(len(tail.parts) for tail in found.tails)
    assert compiled(f"accuracy >= 0.1 and ({text})").tails[0].delta == 0.1


def test_each_tail_is_held_against_the_bound():
    ranges = {"impact": (0.0, 1.0)}
    with pytest.raises(BoundError, match=r"impact_range=\(lowest, highest\)"):
        compiled("E[impact] * PR <= 0.5", "betting")
    assert compiled("E[impact] * PR <= 0.5", "betting", ranges=ranges)
    assert compiled("PR * accuracy <= 0.5", "hoeffding")
    # What is asked of the impact's distribution has ends of its own.
    assert compiled("P[impact < 0.3] <= 0.5", "betting")
    with pytest.raises(BoundError, match="propensity_floor"):
        compiled("P[impact < 0.3] <= 0.5", "hoeffding")
    assert compiled("P[impact < 0.3] <= 0.5", "hoeffding", largest_weight=2.0)


@pytest.mark.parametrize(
    "text", ["PR - PR <= 1 or accuracy - accuracy <= 1", "max(0 * PR, 3) >= 2"]
)
def test_an_either_or_that_speaks_of_nothing_is_refused(text):
    with pytest.raises(ConstraintError, match=r"cancel out; nothing is left to test") as caught:
        compiled(text)
    assert str(caught.value).splitlines()[2] == "    " + "^" * len(text)


def test_statistics_and_averages_of_a_claim_are_told_apart():
    text = "median[impact] - 2 * E[impact | T == 1] * var[impact] <= median[impact] * 3"
    (claim,) = read_constraints(text, 0.1)
    assert [str(mean) for mean in claim.means] == ["E[impact | T == 1]"]
    assert sorted(map(str, claim.statistics)) == ["median[impact]", "var[impact]"]


def test_only_plain_importance_sampling_takes_an_average_for_the_truth():
    rows = data()
    claims = read_constraints("E[impact | T == 1] >= E_logged[impact | T == 1]", 0.1)
    for estimator in ESTIMATORS:
        baselines = Baselines(Estimation(estimator), rows)
        averages = Plan.make(claims, "ttest", baselines, rows).logged_averages
        if ESTIMATORS[estimator].replaces_logged:
            assert list(averages.values()) == [rows.impact("impact")[rows.column("T") == 1].mean()]
        else:
            assert not averages


@pytest.mark.parametrize(
    "text",
    [
        "accuracy >= 0.5 and E_logged[impact | T == 1] >= 0.1",
        "E_logged[impact] * E_logged[impact | T == 1] >= 0.1",
        "E_logged[impact] >= 0.1 or E_logged[impact | T == 1] >= 0.1",
    ],
)
def test_a_statement_about_the_behaviour_model_alone_is_refused(text):
    with pytest.raises(ConstraintError, match="no new model changes it") as caught:
        read_constraints(text, 0.1)
    assert "Hint:" in str(caught.value)
    assert read_constraints("median[impact] >= E_logged[impact]", 0.1)

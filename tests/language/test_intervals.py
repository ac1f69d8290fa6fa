"""Bounds by interval arithmetic: sound, exact at corners, and no more tails than needed."""

from __future__ import annotations

from itertools import product
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elfair.errors import ConstraintError
from elfair.language.build import PR, TPR, E, accuracy, maximum, median, minimum
from elfair.language.conjunction import Linear, conjuncts, linear_form
from elfair.language.expressions import Abs, Max, Mean, Min, Number, Product, Quotient, Scaled, Sum
from elfair.language.intervals import Formula

A, B = E("a"), E("b")
P, T = PR(), TPR()
LEAVES = (A, B, P, T)
numbers = st.sampled_from([-2.0, -0.5, 0.5, 2.0])
trees = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner | numbers),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda k, a: k * a, numbers, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, b: a / b, inner, inner),
        st.builds(lambda a, b: a / (b + 0.5), inner, inner),
        st.builds(abs, inner),
        st.builds(maximum, inner, inner | numbers),
        st.builds(minimum, inner, inner | numbers),
    ),
    max_leaves=7,
)


def value(node, at):
    match node:
        case Number(number):
            return number
        case Sum(parts):
            return sum(value(part, at) for part in parts)
        case Scaled(factor, part):
            return factor * value(part, at)
        case Product(left, right):
            return value(left, at) * value(right, at)
        case Quotient(top, bottom):
            below = value(bottom, at)
            return value(top, at) / below if below else nan
        case Abs(part):
            return abs(value(part, at))
        case Max(parts) | Min(parts):
            inner = [value(part, at) for part in parts]
            pick = max if isinstance(node, Max) else min
            return nan if any(map(isnan, inner)) else pick(inner)
        case Mean():
            return at[node]
    raise AssertionError(node)


def random_box(rng, lowest=-0.3):
    """Ends of each leaf; a bound on a rate need not know that rates are not negative."""
    box = {leaf: np.sort(rng.uniform(-2, 2, 2)) for leaf in (A, B)}
    return box | {leaf: (rng.uniform(lowest, 0.4), rng.uniform(0.4, 1.2)) for leaf in (P, T)}


def highest(form: Linear, box):
    """The supremum of a linear form over a box: what a bound on a tail says at best."""
    ends = (w * box[mean][1 if w > 0 else 0] for w, mean in form.means)
    return form.constant + sum(ends)


def bound(formula, box):
    return formula.upper([highest(tail, box) for tail in formula.tails])[0]


def points(rng, box, count):
    """Points of the box that can occur: rates are not negative."""
    for _ in range(count):
        at = {leaf: rng.choice([low, high, rng.uniform(low, high)]) for leaf, (low, high)
              in box.items()}  # fmt: skip
        if at[P] >= 0 and at[T] >= 0:
            yield at


@settings(max_examples=250, deadline=None)
@given(trees, st.integers(0, 2**32 - 1))
def test_no_point_of_the_box_is_above_the_bound(node, seed):
    rng = np.random.default_rng(seed)
    formula = Formula(linear_form(node))
    for _ in range(4):
        box = random_box(rng)
        upper = bound(formula, box)
        assert not isnan(upper)
        for at in points(rng, box, 10):
            found = value(node, at)
            assert isnan(found) or found <= upper + 1e-9 * (1 + abs(found))


@settings(max_examples=100, deadline=None)
@given(trees, st.integers(0, 2**32 - 1))
def test_where_nothing_is_uncertain_the_bound_is_the_value(node, seed):
    rng = np.random.default_rng(seed)
    formula = Formula(linear_form(node))
    at = {A: rng.uniform(-2, 2), B: rng.uniform(-2, 2), P: rng.random(), T: rng.random()}
    found = value(node, at)
    if isnan(found):
        return
    uppers = [highest(tail, {leaf: (x, x) for leaf, x in at.items()}) for tail in formula.tails]
    assert formula.upper(uppers)[0] == pytest.approx(found, rel=1e-6, abs=1e-9)
    assert formula.value(uppers)[0] == pytest.approx(found, rel=1e-6, abs=1e-9)


def exact(node, box):
    """The largest value at the corners."""
    corners = product(*(box[leaf] for leaf in LEAVES))
    return max(value(node, dict(zip(LEAVES, corner, strict=True))) for corner in corners)


@pytest.mark.parametrize(
    "node",
    [
        A * B, -(A * B), A * P, -(A * P), P * T, -(P * T), 3 - 2 * (A * B), A * (P * T), A * P * B,
        A / (P + 0.5), -(A / (P + 0.5)), P / (T + 0.5), -(P / (T + 0.5)), A / (B - 3),
        A / (B + 3), 1 / (B + 3), (A - 1) * (B + 2), (A + P) * (B - T), A * B - P * T,
        maximum(A, B), minimum(A, B), -maximum(A, B), -minimum(A, B), maximum(A * P, B - T),
        minimum(A / (T + 1), B, 0.25), maximum(A, P) * T, A - B * P,
        (-P - T) * A, A * (-P - T), minimum(-P, -T) * A, -(minimum(-P, -T) * A), A / (-P - 0.5),
        (-P - T) / (B + 3),
    ],
    ids=str,
)  # fmt: skip
def test_it_is_exact_where_each_variable_occurs_once(node):
    formula, rng = Formula(linear_form(node)), np.random.default_rng(0)
    for _ in range(200):
        box = random_box(rng, lowest=0.0)
        assert bound(formula, box) == pytest.approx(exact(node, box), abs=1e-12)


def test_a_rate_is_never_taken_for_negative():
    rng = np.random.default_rng(3)
    for node in (P * T, A * P, -(A * P), maximum(A, P) * T):
        formula = Formula(linear_form(node))
        for _ in range(200):
            box = random_box(rng)
            known = box | {leaf: (max(box[leaf][0], 0.0), box[leaf][1]) for leaf in (P, T)}
            assert bound(formula, box) == bound(formula, known)


def test_absolute_values_are_exact_inside_the_box_too():
    rng = np.random.default_rng(1)
    for _ in range(200):
        box = random_box(rng)
        low, high = box[A][0] - box[B][1], box[A][1] - box[B][0]
        assert bound(Formula(linear_form(abs(A - B))), box) == pytest.approx(max(-low, high))
        nearest = 0.0 if low < 0 < high else min(abs(low), abs(high))
        assert bound(Formula(linear_form(-abs(A - B))), box) == pytest.approx(-nearest)


@pytest.mark.parametrize(
    ("text", "tails"),
    [
        ("PR * TPR <= 0.5", ["PR", "TPR"]),
        ("PR * TPR >= 0.5", ["-PR", "-TPR"]),
        ("E[a] * PR <= 0.5", ["E[a]", "PR", "-PR"]),
        ("E[a] * PR >= 0.5", ["-E[a]", "PR", "-PR"]),
        ("E[a] * E[b] <= 0.5", ["E[a]", "E[b]", "-E[a]", "-E[b]"]),
        ("E[a] * E[b] >= 0.5", ["E[a]", "E[b]", "-E[a]", "-E[b]"]),
        ("E[a] * E[a] <= 0.5", ["E[a]", "-E[a]"]),
        ("PR * PR <= 0.5", ["PR"]),
        ("PR / TPR - accuracy * PR <= 0.5", ["PR", "-TPR", "-accuracy", "-PR"]),
        ("PR / TPR - PR[x == 1] / TPR <= 0.5", ["PR", "-TPR", "-PR[x == 1]", "TPR"]),
        ("accuracy - PR / TPR <= 0.5", ["accuracy - 0.5", "-PR", "TPR"]),
        ("PR / TPR - accuracy <= 0.5", ["-accuracy - 0.5", "PR", "-TPR"]),
        ("max(PR, TPR, accuracy) >= 0.5", ["-PR", "-TPR", "-accuracy"]),
        ("min(PR, TPR, accuracy) <= 0.5", ["PR", "TPR", "accuracy"]),
        ("abs(E[a] - E[b]) >= 0.5", ["E[a] - E[b]", "E[b] - E[a]"]),
        ("E[a] >= 0.5 or E[b] <= 0.5", ["-E[a] + 0.5", "E[b] - 0.5"]),
        ("E[a] >= 0.5 and PR <= 1 or E[b] <= 0.5", ["-E[a] + 0.5", "PR - 1", "E[b] - 0.5"]),
        (
            "E[a] >= 0.5 and PR <= 1 or E[a] >= 0.5 and TPR <= 1",
            ["-E[a] + 0.5", "PR - 1", "TPR - 1"],
        ),
        ("max(E[a] - PR, TPR) >= 0.5", ["PR - E[a]", "-TPR"]),
        ("PR * TPR + PR * accuracy <= 0.5", ["PR", "TPR", "accuracy"]),
        ("abs(E[a]) * PR <= 0.5", ["E[a]", "-E[a]", "PR"]),
        ("E[a] * max(PR, TPR) <= 0.5", ["E[a]", "PR", "TPR", "-PR", "-TPR"]),
    ],
)
def test_the_tails_are_those_that_are_needed(text, tails):
    (conjunct,) = conjuncts(text)
    formula = Formula(conjunct.form)
    assert sorted(map(str, formula.tails)) == sorted(tails)
    # Each of them matters somewhere: without it the bound is worse, or there is none.
    rng = np.random.default_rng(2)
    matters = np.zeros(len(tails), dtype=bool)
    others = [mean for tail in formula.tails for _, mean in tail.means if mean not in LEAVES]
    for _ in range(100):
        box = random_box(rng) | {leaf: np.sort(rng.uniform(0, 1, 2)) for leaf in others}
        uppers = [highest(tail, box) for tail in formula.tails]
        best = formula.upper(uppers)[0]
        for k in range(len(tails)):
            without = formula.upper([*uppers[:k], inf, *uppers[k + 1 :]])[0]
            assert without >= best
            matters[k] |= without > best
    assert matters.all()


@settings(max_examples=100, deadline=None)
@given(trees, st.integers(0, 2**32 - 1))
def test_derivatives_against_finite_differences(node, seed):
    rng = np.random.default_rng(seed)
    formula = Formula(linear_form(node))
    uppers = np.array([highest(tail, random_box(rng)) for tail in formula.tails])
    for of in (formula.upper, formula.value):
        middle, slopes = of(uppers)
        if not np.isfinite(middle) or abs(middle) > 1e3:
            continue
        for k in range(len(uppers)):
            step = 1e-6 * np.eye(len(uppers))[k]
            ahead, behind = of(uppers + step), of(uppers - step)
            # Away from kinks, and from where a denominator is nearly 0.
            if not np.allclose(ahead[1], behind[1], rtol=1e-3, atol=1e-3):
                continue
            expected = (ahead[0] - behind[0]) / 2e-6
            assert slopes[k] == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_a_variable_that_occurs_twice_is_one_variable():
    formula = Formula(linear_form(A * P - A * T))
    assert [[str(formula.tails[k]) for k, _ in tails] for tails in formula.variables] == [
        ["E[a]", "-E[a]"],
        ["PR", "-PR"],
        ["TPR", "-TPR"],
    ]
    assert [[side for _, side in tails] for tails in formula.variables] == [[1, -1]] * 3
    (only,) = Formula(linear_form(-(A * A))).variables
    assert len(only) == 2
    # The first tail's mean counts, on whichever side it is.
    for node in (A * P, -(A * P), A * B, -maximum(A, B)):
        formula = Formula(linear_form(node))
        at = {A: -0.7, B: 0.4, P: 0.3, T: 0.2}
        means = [tail.constant + sum(w * at[m] for w, m in tail.means) for tail in formula.tails]
        assert formula.value(means)[0] == pytest.approx(value(node, at))


def test_a_denominator_that_may_be_zero_says_nothing():
    formula = Formula(linear_form(A / B + P))
    box = {A: (1.0, 2.0), B: (-0.1, 0.1), P: (0.0, 1.0), T: (0.0, 1.0)}
    assert bound(formula, box) == inf
    box[B] = np.array([0.5, 1.0])
    assert bound(formula, box) == pytest.approx(5.0)
    box[B] = np.array([-1.0, -0.5])
    assert bound(formula, box) == pytest.approx(0.0)
    box[B] = np.array([0.0, 0.5])
    assert bound(formula, box) == inf


def test_statistics_must_be_settled_first():
    with pytest.raises(ConstraintError, match=r"'median\[i\]' is not an average; .*\nHint: "):
        _ = Formula(linear_form(median("i") * P)).tails
    assert len(Formula(linear_form(accuracy() * P)).tails) == 2

"""What batches of rows say of a test adds up to what all of them say."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from elfair import LoggedData
from elfair.bounds import Sample
from elfair.bounds.student import joint_variance
from elfair.fairness_test.batch import rare_of, sums_of
from elfair.fairness_test.evidence import bounded, by_sums
from elfair.fairness_test.ladder import learn_from
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan
from elfair.statistics.sums import PartSums, Spread, TailSums, Together, merge

GROUPS = ["common", "rare", "absent in most batches"]
STATEMENTS = {
    "a group": "E[impact | g == 'common'] >= E_logged[impact | g == 'common']",
    "two groups": "E[impact | g == 'rare'] - E[impact | g == 'common'] <= 1",
    "groups that share people": "E[impact | g == 'common'] - E[impact | x > 0] <= 1",
    "no more than": "abs(PR[g == 'rare'] - PR[g == 'common']) <= 0.9",
    "a few people": "E[impact | g == 'absent in most batches'] >= -9",
    "a label": "TPR >= 0.1",
}


def log(n: int, classes: int = 2, *, known: bool = True, seed: int = 0) -> LoggedData:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    behavior = rng.dirichlet([2.0] * (classes - 1) + [0.3], size=n) * 0.9 + 0.1 / classes
    decision = (rng.random((n, 1)) > behavior.cumsum(axis=1)).sum(axis=1)
    group = np.array(GROUPS)[np.searchsorted([0.8, 0.99], rng.random(n))]
    given = {"behavior": behavior} if known else {
        "propensity": behavior[np.arange(n), decision]
    }  # fmt: skip
    return LoggedData(
        {"x": x}, (x + rng.normal(size=n) > 0).astype(int), sensitive_features={"g": group},
        decision=decision, impact=decision + x + rng.standard_t(3, n), classes=range(classes),
        positive=1, **given,
    )  # fmt: skip


def policy(data: LoggedData) -> np.ndarray:
    share = 0.1 + 0.8 / (1 + np.exp(-2 * data.features[:, 0]))
    rest = data.classes.size - 1
    return np.tile(share / rest, (rest, 1))


def cut(data: LoggedData, rng: np.random.Generator, pieces: int) -> list[LoggedData]:
    """Batches of any size, some of them empty, in any order."""
    places = np.array_split(rng.permutation(data.n), np.sort(rng.integers(0, data.n, pieces - 1)))
    return [data.take(each).changed(whole=False) for each in places]


@pytest.mark.parametrize("text", STATEMENTS.values(), ids=STATEMENTS)
@pytest.mark.parametrize("bound", ["guarded", "ttest"])
@pytest.mark.parametrize(("classes", "known"), [(2, True), (3, True), (3, False)])
@pytest.mark.parametrize(("estimator", "shift"), [("paired", 1.0), ("dr", 1.0), ("dr", 1.5)])
def test_bounds_do_not_depend_on_how_rows_are_cut(text, bound, classes, known, estimator, shift):
    data, others = log(3_000, classes, known=known), log(2_000, classes, known=known, seed=1)
    if classes > 2 and "PR" in text:
        text = text.replace("PR[", "P[decision == 1 | ").replace("TPR", "accuracy[label == 1]")
    baselines = Baselines(Estimation(estimator, shift=shift), others)
    plan = Plan(read_constraints(text, 0.1, data), bound, baselines, {})
    claims, learnt = plan.compile(data), learn_from(plan, others, policy(others))
    assert learnt is not None
    batches = cut(data, np.random.default_rng(2), 7)
    for k, claim in enumerate(claims):
        at_once = bounded(claim, data, policy(data), learnt.rows[k], 1.0)
        each = [(plan.compile(batch)[k], batch, policy(batch)) for batch in batches]
        sums = merge([sums_of(*of, learnt.rows[k]) for of in each])
        rare = [rare_of(sums, of, free) for of, _, free in each]
        added = {name: tuple(np.sum([one[name] for one in rare], axis=0)) for name in rare[0]}
        in_batches = by_sums(each[0][0], sums.with_rare(added), learnt.rows[k], 1.0)
        assert in_batches.upper == pytest.approx(at_once.upper, rel=1e-9, abs=1e-12)
        for one, other in zip(in_batches.tails, at_once.tails, strict=True):
            for name, value in asdict(other.record).items():
                if isinstance(value, float):
                    assert getattr(one.record, name) == pytest.approx(value, rel=1e-9), name
        for group, expected in zip(in_batches.groups, at_once.groups, strict=True):
            for name, value in asdict(expected).items():
                alike = isinstance(value, float)
                wanted = pytest.approx(value, rel=1e-9) if alike else value
                assert getattr(group, name) == wanted, name
        mine = in_batches.result(learnt.sizes[k], 5_000, None, None)
        theirs = at_once.result(learnt.sizes[k], 5_000, None, None)
        assert (mine.n, mine.warnings) == (theirs.n, theirs.warnings)
        assert mine.rows_needed == theirs.rows_needed


def test_numbers_far_from_zero_lose_no_digits():
    values = 1e6 + np.random.default_rng(0).normal(size=10_000)
    found = merge([Spread.of(each) for each in np.array_split(values, 13)])
    assert found.mean == pytest.approx(values.mean(), rel=1e-15)
    assert found.variance == pytest.approx(values.var(ddof=1), rel=1e-9)


def test_covariance_of_samples_that_share_rows():
    rng = np.random.default_rng(0)
    a, b = np.arange(0, 700), np.arange(300, 1_000)
    u, v = rng.normal(3, 1, 700), rng.normal(-5, 2, 700)
    found = []
    for rows in np.array_split(rng.permutation(1_000), 5):
        one, other = np.isin(a, rows), np.isin(b, rows)
        found.append(Together.of((a[one], b[other]), (u[one], v[other])))
    whole = Together.of((a, b), (u, v))
    both = merge(found)
    assert (both.n, both.means) == (400, pytest.approx(whole.means))
    expected = np.sum((u[300:] - u.mean()) * (v[:400] - v.mean())) / (700 * 699)
    for each in (both, whole):
        assert each.covariance(Spread.of(u), Spread.of(v)) == pytest.approx(expected)
        assert part_sums([u, v], each).variance == pytest.approx(
            float(joint_variance([Sample(u, rows=a), Sample(v, rows=b)]))
        )


def part_sums(samples: list[np.ndarray], together: Together) -> TailSums:
    parts = (PartSums(Spread.of(each), each.min(), each.max(), silent=False) for each in samples)
    return TailSums(tuple(parts), (together,))


def test_rows_that_cancel_tell_nothing_of_their_spread():
    """Each row of one sample is the same as in the other, but for its sign."""
    u, rows = np.random.default_rng(0).normal(size=50), np.arange(50)
    assert part_sums([u, -u], Together.of((rows, rows), (u, -u))).variance == 0

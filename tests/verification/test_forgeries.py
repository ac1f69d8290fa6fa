"""Certificates that were changed with care: every digest of the record itself is right again.

The table in docs/verification.md says which level catches what; it is held against what is found.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import partial
from math import sqrt
from pathlib import Path

from attacker import keeping

from elfair import verify
from elfair.certificate import Certificate
from elfair.certificate.codes import hardly_new
from elfair.certificate.pictures import Histogram
from elfair.certificate.promise import in_words
from elfair.fairness_test.diagnostics import allowing
from elfair.fairness_test.evidence import upper_of
from elfair.verification.checks import CHECKS

DOCS = Path(__file__).parents[2] / "docs" / "verification.md"


def nth(values, place, **changes):
    """A tuple with one of its records changed."""
    return tuple(replace(each, **changes) if k == place else each for k, each in enumerate(values))


def result(certificate, place=0, **changes):
    return replace(certificate, constraints=nth(certificate.constraints, place, **changes))


def tail(certificate, **changes):
    (first, *rest) = certificate.constraints[0].tails
    return result(certificate, tails=(replace(first, **changes), *rest))


def part(certificate, **changes):
    first = certificate.constraints[0].tails[0]
    return tail(certificate, parts=nth(first.parts, 0, **changes))


def terms(certificate, **changes):
    return replace(certificate, terms=replace(certificate.terms, **changes))


def better(certificate):
    """All statements pass, and everything that says so agrees."""
    changed = tuple(
        replace(r, upper=-abs(r.upper) - 1, passed=True) for r in certificate.constraints
    )
    return replace(certificate, constraints=changed, passed=True)


def better_to_the_bottom(certificate, *, means=True):
    """The means are moved as well, so that bounds follow from them."""
    done = []
    for r in certificate.constraints:
        shift = max(0.0, r.upper)
        (t,) = r.tails
        moved = replace(t, upper=t.upper - shift)
        r = replace(r, upper=r.upper - shift, passed=True)
        if means:
            part = t.parts[0]
            parts = nth(t.parts, 0, mean=part.mean - shift, largest=part.largest - shift)
            moved = replace(moved, estimate=t.estimate - shift, parts=parts)
            r = replace(r, estimate=r.estimate - shift)
        done.append(replace(r, tails=(moved,)))
    done.sort(key=lambda r: -r.upper / r.spread)
    return replace(certificate, constraints=tuple(done), passed=True)


def better_alone(certificate):
    return better_to_the_bottom(certificate, means=False)


def smaller_variance(certificate):
    """The bound follows from the variance, and the error too."""
    r = certificate.constraints[0]
    (t,) = r.tails
    part = t.parts[0]
    smaller = {"variance": part.variance / 4, "least_variance": part.least_variance / 4}
    moved = replace(t, parts=nth(t.parts, 0, **smaller), error=t.error / 2)
    moved = replace(moved, upper=upper_of(moved))
    moved = replace(moved, upper=allowing(moved, r.groups, 1.0))
    passed = bool(moved.upper <= 0)
    done = result(
        certificate, tails=(moved,), spread=r.spread / 2, upper=moved.upper, passed=passed
    )
    worst = sorted(done.constraints, key=lambda r: -r.upper / r.spread)
    return replace(done, constraints=tuple(worst), passed=all(r.passed for r in worst))


def without_assumption(certificate):
    gone = next(a for a in certificate.assumptions if a.status == "violated")
    return replace(
        certificate,
        assumptions=tuple(a for a in certificate.assumptions if a is not gone),
        warnings=tuple(w for w in certificate.warnings if gone.name not in w.text),
    )


def excused(certificate):
    done = [
        replace(a, status="assumed") if a.status == "violated" else a
        for a in certificate.assumptions
    ]
    kept = [w for w in certificate.warnings if w.code != "assumption_violated"]
    return replace(certificate, assumptions=tuple(done), warnings=tuple(kept))


def another_place(certificate):
    """One further, as if it had passed; or one back, as if the last had failed."""
    of = certificate.search
    place = of.place + (1 if of.place < of.on_ladder else -1)
    models = []
    for m in certificate.trade_off.models:
        fate = "passed" if m.place < place else "released" if m.place == place else m.fate
        models.append(replace(m, fate="failed" if m.place == place + 1 else fate))
    loss = models[place - 1].loss
    return replace(
        certificate,
        search=replace(of, place=place, tested=min(place + 1, of.on_ladder), loss=loss),
        trade_off=replace(certificate.trade_off, models=tuple(models)),
    )


def disjoint(certificate):
    """Parts that share rows treated as if they did not, with the bound that follows."""
    done = []
    for r in certificate.constraints:
        (t, *rest) = r.tails
        if not t.disjoint:
            assert not rest
            error = sqrt(sum(p.variance / p.n for p in t.parts))
            t = replace(t, disjoint=True, error=error)
            t = replace(t, upper=upper_of(t))
            r = replace(r, tails=(t,), upper=t.upper)
        done.append(r)
    assert tuple(done) != certificate.constraints
    done.sort(key=lambda r: -r.upper / r.spread)
    return replace(certificate, constraints=tuple(done))


def one_more(certificate):
    group = certificate.groups[0]
    first, *rest = group.weights.counts
    weights = Histogram(group.weights.edges, (first + 1, *rest))
    return replace(certificate, groups=nth(certificate.groups, 0, weights=weights))


def counts(certificate):
    group = certificate.groups[0]
    # From the fullest bar to the next: none becomes negative.
    at = max(range(len(group.weights.counts) - 1), key=group.weights.counts.__getitem__)
    moved = [*group.weights.counts]
    moved[at], moved[at + 1] = moved[at] - 1, moved[at + 1] + 1
    weights = Histogram(group.weights.edges, tuple(moved))
    return replace(certificate, groups=nth(certificate.groups, 0, weights=weights))


def edited(certificate, old, new):
    """A text changed wherever it stands."""
    text = certificate.to_json()
    assert old in text
    return resealed(text.replace(old, new))


def resealed(text):
    """The record of a changed text, whatever digests it says."""
    import json

    from elfair.records.json import from_plain

    predicate = json.loads(text)["predicate"]
    del predicate["digest"], predicate["how_to_verify"]
    return from_plain(predicate, Certificate)


def digest(certificate, **changes):
    return replace(certificate, digests=replace(certificate.digests, **changes))


def candidate(certificate, **changes):
    return replace(certificate, search=replace(certificate.search, **changes))


#: What was changed; of which certificate; how; and the levels that see it.
FORGERIES = {
    "verdict on a statement": ("no solution", lambda c: result(c, passed=True), "2, 3"),
    "verdict on the model": ("no solution", lambda c: replace(c, passed=True), "2, 3"),
    "all bounds": ("no solution", better, "2, 3"),
    "bound of a linear form": ("default", lambda c: tail(c, upper=-1.0), "2, 3"),
    "bound that needs all rows": ("certify, betting", better_alone, "3"),
    "means, with what follows from them": ("certify", better_to_the_bottom, "3"),
    "variance, with what follows from it": ("certify", smaller_variance, "3"),
    "variance": ("default", lambda c: part(c, variance=0.25), "2, 3"),
    "estimate": ("default", lambda c: result(c, estimate=-1.0), "2, 3"),
    "estimate of a linear form": ("products", lambda c: tail(c, estimate=-1.0), "2, 3"),
    "number of rows of a condition": (
        "default", lambda c: part(c, n=c.constraints[0].tails[0].parts[0].n - 1), "2, 3",
    ),
    "number of rows of a statement": ("default", lambda c: result(c, n=10), "2, 3"),
    "total number of rows": ("default", lambda c: replace(c, n=c.n + 1), "2, 3"),
    "whether parts share rows": (
        "products",
        lambda c: replace(
            c,
            constraints=tuple(
                replace(r, tails=tuple(replace(t, disjoint=True) for t in r.tails))
                for r in c.constraints
            ),
        ),
        "2, 3",
    ),
    "whether parts share rows, with what follows from it": ("products, t", disjoint, "2, 3"),
    "delta": ("default", lambda c: result(c, delta=0.01), "2, 3"),
    "delta, in every place": (
        "default", lambda c: edited(c, '"delta": 0.1', '"delta": 0.05'), "2, 3",
    ),
    "joint delta": ("default", lambda c: replace(c, joint_delta=0.01), "2, 3"),
    "promise": (
        "crossfit",
        lambda c: replace(c, joint_statement=c.joint_statement.replace(" if the search", "")),
        "2, 3",
    ),
    "result left out": (
        "no solution",
        lambda c: replace(
            c,
            constraints=tuple(r for r in c.constraints if r.passed),
            passed=True,
        ),
        "2, 3",
    ),
    "statement left out of its constraint": (
        "products",
        lambda c: terms(c, claims=c.terms.claims[:-1]),
        "2, 3",
    ),
    "text of a statement": (
        "default", lambda c: terms(c, claims=nth(c.terms.claims, 2, statement="PR >= 0")), "2, 3",
    ),
    "number in a constraint, in every place": (
        "no solution", lambda c: edited(c, "accuracy >= 0.999", "accuracy >= 0.998"), "2, 3",
    ),
    "order of results": (
        "default", lambda c: replace(c, constraints=c.constraints[::-1]), "2, 3",
    ),
    "promise in words": (
        "default", lambda c: replace(c, in_words=("Nobody will lose anything.",)), "2",
    ),
    "rows needed": ("no solution", lambda c: result(c, 1, rows_needed=1), "3"),
    "break-even value": ("default", lambda c: result(c, 0, break_even=1.37), "2, 3"),
    "larger break-even value": ("default", lambda c: result(c, 0, break_even=5.0), "3"),
    "break-even shift": ("default", lambda c: result(c, 0, break_even_shift=1.37), "2, 3"),
    "larger break-even shift": ("default", lambda c: result(c, 0, break_even_shift=5.0), "3"),
    "Lambda": ("default", lambda c: terms(c, Lambda=1.05), "2, 3"),
    "shift": ("default", lambda c: terms(c, shift=1.02), "2, 3"),
    "kind of bound": ("default", lambda c: result(c, 1, kind="finite-sample"), "2, 3"),
    "name of the bound": ("hoeffding", lambda c: replace(c, bound="bernstein"), "2, 3"),
    "estimator": ("dr", lambda c: replace(c, estimator="paired"), "3"),
    "declared range": (
        "betting", lambda c: edited(c, '"high": 20.0', '"high": 19.0'), "2, 3",
    ),
    "propensity floor": ("hoeffding", lambda c: terms(c, propensity_floor=0.05), "2, 3"),
    "declared chances": (
        "lottery",
        lambda c: terms(c, lottery=nth(c.terms.lottery, 0, probability=0.3)),
        "3",
    ),
    "weights of a group": (
        "default",
        lambda c: result(c, groups=nth(c.constraints[0].groups, 0, mean_weight=1.0)),
        "2, 3",
    ),
    "release in spite of a violated assumption": (
        "paper", lambda c: terms(c, accept_violated=("tau_known",)), "2, 3",
    ),
    "looks that were declared": ("default", lambda c: terms(c, looks=2), "2, 3"),
    "violated assumption left out": ("paper", without_assumption, "2, 3"),
    "violated assumption shown as assumed": ("stratified", excused, "2, 3"),
    "warning left out": ("paper", lambda c: replace(c, warnings=()), "2, 3"),
    "invented warning": (
        "default", lambda c: replace(c, warnings=(*c.warnings, hardly_new(0.0))), "2, 3",
    ),
    "number of openings": ("default", lambda c: replace(c, openings=7), "2, 3"),
    "seed": ("default", lambda c: replace(c, seed=c.seed + 1), "1, 3"),
    "split by time said to be random": (
        "by time", lambda c: replace(c, split="random"), "1, 2, 3",
    ),
    "share of candidate rows": ("stratified", lambda c: terms(c, candidate_share=0.5), "1, 3"),
    "folds": ("crossfit", lambda c: terms(c, folds=4), "1, 2, 3"),
    "kind of split": (
        "stratified", lambda c: replace(c, split="random", trade_off=c.trade_off), "1, 2, 3",
    ),
    "place on the ladder": ("three classes", another_place, "1, 3"),
    "models tested": (
        "no solution", lambda c: replace(c, search=replace(c.search, tested=0)), "2, 3",
    ),
    "digest of the model": ("default", lambda c: digest(c, model="0" * 64), "1"),
    "digest of the ladder": ("default", lambda c: digest(c, ladder="0" * 64), "1"),
    "digest of the split": ("default", lambda c: digest(c, split="0" * 64), "1"),
    "digest of held-out rows": ("default", lambda c: digest(c, held_out="0" * 64), "1"),
    "share of a leaf": (
        "tree",
        lambda c: replace(
            c, rules=nth(c.rules, 0, leaves=nth(c.rules[0].leaves, 0, shares=(0.5, 0.5, 0.5)))
        ),
        "3",
    ),
    "effect of a feature": (
        "default", lambda c: replace(c, effects=nth(c.effects, 0, effect=0.9)), "3",
    ),
    "counts of a histogram": ("default", counts, "3"),
    "rows of a histogram": ("default", one_more, "2, 3"),
    "rows of a picture": ("default", lambda c: replace(c, groups=nth(c.groups, 1, n=5)), "2, 3"),
    "impact in the trade-off": (
        "default",
        lambda c: replace(
            c,
            trade_off=replace(
                c.trade_off, models=nth(c.trade_off.models, 0, impacts=(9.0,) * 3)
            ),
        ),
        "3",
    ),
    "forecast above 1": ("default", lambda c: candidate(c, forecast=1.5), "2"),
    "number of evaluations below 0": ("default", lambda c: candidate(c, evaluations=-1), "2"),
    "more rows searched than there are": ("default", lambda c: candidate(c, rows=10**9), "2"),
    "loss that is not a number": ("crossfit", lambda c: candidate(c, loss=float("nan")), "2"),
    "infinite loss on the ladder": (
        "default",
        lambda c: replace(
            c,
            trade_off=replace(
                c.trade_off,
                models=nth(c.trade_off.models, c.search.place - 1, loss=float("inf")),
            ),
        ),
        "2, 3",
    ),
    "positive decision": ("words", lambda c: terms(c, positive="deny"), "3"),
    "positive decision left out": ("words", lambda c: terms(c, positive=None), "2, 3"),
    "positive decision that does not exist": ("static", lambda c: terms(c, positive="2"), "2, 3"),
    "classes": ("default", lambda c: replace(c, classes=("yes", "no")), "2, 3"),
    "people whom no statement names": (
        "default",
        lambda c: replace(c, people=replace(c.people, unnamed=3)),
        "3",
    ),
    "labels that only some decisions reveal": (
        "labels revealed", lambda c: terms(c, revealed=None), "2, 3",
    ),
    "how many labels are seen": (
        "labels revealed",
        lambda c: terms(c, revealed=replace(c.terms.revealed, seen=c.terms.revealed.seen + 1)),
        "3",
    ),
    "rule of a cut-off": ("certify, a cut-off", lambda c: terms(c, deployed="by lot"), "2, 3"),
    "rule of a cut-off left out": (
        "certify, a cut-off", lambda c: terms(c, deployed=""), "2, 3",
    ),
    "warning about what was fitted outside left out": (
        "in a Pipeline", lambda c: replace(c, warnings=()), "2, 3",
    ),
    "roles of columns": ("default", lambda c: replace(c, roles=replace(c.roles, label=False)), "3"),
}  # fmt: skip
LEVELS = {"1": "digests", "2": "arithmetic", "3": "recomputation"}


#: The checks that none of these fail. Other tests show that they can; openings never fail.
ELSEWHERE = {
    "source file", "data", "features of the model", "certificate in the model", "report",
    "study file", "rows left out", "e-values", "stage before", "behaviour model",
    "search", "openings", "signature",
}  # fmt: skip


def test_a_careful_change_is_seen_at_these_levels(case):
    seen = set()
    for name, (kind, change, levels) in FORGERIES.items():
        certificate, data, model = case(kind)
        forged = change(certificate)
        assert forged != certificate, name
        if name != "promise in words":  # who takes care says in words what the record says
            forged = replace(forged, in_words=in_words(forged))
        verification = verify(forged.to_json(), data=data, model=keeping(model, forged))
        assert verification.checks[0].status == "passed", name  # the record's own digest is right
        failed = [check for check in verification.checks if check.status == "failed"]
        found = {check.level for check in failed}
        assert found == {LEVELS[k] for k in levels.split(", ")}, (name, failed)
        seen |= {(check.level, check.name) for check in failed}
        for check in failed:
            assert check.detail, (name, check)
            assert "Error: " not in check.detail[:20], (name, check)
    listed = {(level, each) for level, of_level in CHECKS.items() for each in of_level}
    assert {name for _, name in listed - seen} == ELSEWHERE


def test_every_part_of_a_certificate_is_compared_or_cannot_be():
    looks = CHECKS["recomputation"].values()
    compared = {part for look in looks if isinstance(look, partial) for part in look.args[0]}
    parts = {each.name for each in fields(Certificate)}
    # Digests are level 1. Openings, source and versions are not what the test gives.
    # The words follow from the rest, at level 2; names are what people say. What was left out to
    # hand it over is left out of everything that it is compared with.
    others = {"digests", "openings", "provenance", "versions", "names", "in_words"}
    others |= {"suppressed_below"}
    assert parts - compared == others


def test_numbers_of_which_nothing_else_speaks_must_be_equal(case):
    """A comparison that allows anything would not see this."""
    certificate, data, model = case("default")
    for change in ({"joint_delta": 0.1 + 1e-7}, {"seed": 1}, {"estimator": "is"}):
        forged = replace(certificate, **change)
        verification = verify(forged, data=data, model=model)
        failed = {c.level for c in verification.checks if c.status == "failed"}
        assert "recomputation" in failed


def test_the_documentation_says_which_level_sees_what():
    page = DOCS.read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| (.+) \| ([\d, ]+) \|$", page, re.MULTILINE))
    assert told == {name: levels for name, (_, _, levels) in FORGERIES.items()}


def test_a_constraint_that_was_never_asked_for_is_not_missed(case):
    """What is left then is true: each model in line was tested for what the certificate says."""
    certificate, data, model = case("static")
    gone = certificate.terms.claims[-1].constraint
    forged = replace(
        terms(certificate, claims=certificate.terms.claims[:-1]),
        constraints=tuple(r for r in certificate.constraints if r.constraint != gone),
    )
    forged = replace(forged, in_words=in_words(forged))
    verification = verify(forged, data=data, model=keeping(model, forged))
    failed = {
        (check.level, check.name) for check in verification.checks if check.status == "failed"
    }
    # Pictures and assumptions still speak of it; whoever mends them, too, says less and no lie.
    assert failed <= {
        ("arithmetic", "assumptions"), ("arithmetic", "warnings"), ("arithmetic", "pictures"),
        ("recomputation", "assumptions"), ("recomputation", "warnings"),
        ("recomputation", "results"), ("recomputation", "pictures of groups"),
        ("recomputation", "trade-off"), ("recomputation", "order of the test"),
    }  # fmt: skip


def test_another_model_in_the_place_of_the_tested_one_is_seen(case):
    certificate, data, model = case("three classes")
    other = type(model)(**model.get_params(deep=False))
    line = model.fitted_.ladder
    other.fitted_ = replace(model.fitted_, ladder=(*line[1:], line[0]))
    failed = [c for c in verify(certificate, data=data, model=other).checks if c.status == "failed"]
    assert {"model", "ladder", "trade-off"} <= {c.name for c in failed}


def test_other_rows_are_seen_whatever_is_changed(case):
    certificate, data, model = case("three classes")
    for name in ("matrix", "propensity"):
        other = data.take(data.position)
        changed = getattr(other, name).copy()
        changed.flat[17] *= 1 + 1e-15
        setattr(other, name, changed)
        verification = verify(certificate, data=other, model=model)
        assert "data" in {c.name for c in verification.checks if c.status == "failed"}

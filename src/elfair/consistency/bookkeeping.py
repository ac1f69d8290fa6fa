"""Numbers that must add up, and assumptions and warnings that follow from them."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from math import isfinite

from elfair.bounds import Kind, weakest
from elfair.certificate import Assumption, Certificate, SearchRecord
from elfair.certificate.codes import (
    fitted_outside,
    left_out_alike,
    outside_warning,
    violation,
)
from elfair.certificate.people import UnitsRecord
from elfair.certificate.pictures import GroupPicture, TradeOff
from elfair.certificate.promise import in_words
from elfair.certificate.suppression import without_few
from elfair.consistency.comparison import agree, close, require
from elfair.consistency.stated import Stated
from elfair.data.costs import COST
from elfair.fairness_test.assumptions import Facts, assumed_of_unseen, list_assumptions
from elfair.fairness_test.diagnostics import record_warnings
from elfair.fairness_test.evidence import badness
from elfair.fairness_test.issue import (
    all_guarded,
    joint_delta,
    joint_statement,
    practically_the_old,
)
from elfair.fairness_test.ladder import fate_of
from elfair.language.conditions import EVERYONE, Column, uses_label, who
from elfair.records.text import plural
from elfair.statistics.claims import conditions_of
from elfair.statistics.impact_estimators import get_impact_estimator

#: The warnings of a statement that only the rows can show.
NEED_ROWS = ("few_beyond_point", "few_candidate_rows")


def check_promise(context: Stated) -> str:
    """The order of statements, and what is promised about all of them."""
    record = context.record
    worst = [badness(result) for result in record.constraints]
    require(worst == sorted(worst, reverse=True), "the worst statement does not come first")
    looks = record.terms.looks
    delta = joint_delta([result.delta for result in record.constraints], record.split, looks)
    agree("the joint delta", record.joint_delta, delta)
    estimated = any(each.code == "behavior_estimated" for each in record.assumptions)
    promise = joint_statement(
        _kind(record), delta, record.split, record.search, looks, estimated=estimated
    )
    require(record.joint_statement == promise, f"the promise should read: {promise}")
    return f"delta {delta:g}"


def check_words(context: Stated) -> str:
    """The promise in words, made again from the constraints."""
    record = context.record
    words = in_words(record)
    wrong = [
        f"{said!r} should read {found!r}"
        for said, found in zip_longest(record.in_words, words)
        if said != found
    ]
    require(not wrong, f"in words, {'; '.join(wrong)}")
    return plural(len(words), "sentence")


def _kind(record: Certificate) -> Kind | None:
    kinds = [result.kind for result in record.constraints]
    return weakest(kinds) if kinds else None


# -- rows and models -----------------------------------------------------------------------------


def check_sizes(context: Stated) -> str:
    """The numbers of rows, by their use."""
    record = context.record
    n, aside, tested = record.n, record.n_candidate, record.n_held_out
    share, folds = record.terms.candidate_share, record.terms.folds
    require(min(n, aside, tested) >= 0, f"rows: {n:,}, {aside}, {tested:,}")
    said = f"{n:,} rows, {aside:,} for the search and {tested:,} for the test"
    units = record.terms.units
    if record.split == "crossfit":
        require(2 <= folds <= n and tested == n, f"{said}, {folds} folds")
        if units is None:  # else the units of a fold are known, and not their rows
            require(aside == n - n // folds, f"{said}, {folds} folds")
        agree("the share of candidate rows", share, 1 - 1 / folds)
    else:
        require(n == aside + tested and folds == 1, f"{said}, {folds} folds")
        trimmed = record.terms.behavior is not None and record.terms.behavior.left
        # There each stratum is rounded; and units may be trimmed in part.
        if record.split != "stratified" and not (trimmed and units is not None):
            every, candidate = (
                (n, aside) if units is None else (units.n, units.n - units.n_held_out)
            )
            if trimmed and record.terms.behavior is not None:
                everyone = record.terms.behavior.trimmed[0]
                every, candidate = every + trimmed, candidate + everyone.candidates_trimmed
            # To hand a certificate over, totals that tell of a few people were rounded.
            if not record.suppressed_below:
                require(candidate == round(share * every), f"{said}, at a share of {share}")
        require(0 <= share <= 1, f"a share of {share}")
    if units is not None:
        _check_units(units, n, tested)
    if not record.terms.claims:
        require(tested == 0 and record.openings == 0, f"{said}, and nothing to test")
    else:
        require(record.openings >= 1, f"{record.openings} looks at rows that were tested")
    require(record.terms.looks >= 1, f"{record.terms.looks} looks were declared")
    read = record.provenance.rows_read
    left_out = (*record.provenance.left_out, *record.provenance.outside)
    if read:  # not every table was read by elfair
        missing = sum(each.n for each in left_out)
        missing += 0 if record.terms.behavior is None else record.terms.behavior.left
        require(read == n + missing, f"{read:,} rows read, {missing} left out, {n:,} used")
    return said


def _check_units(units: UnitsRecord, n: int, tested: int) -> None:
    """The numbers of units, which no number of rows may contradict."""
    held_out, most = units.n_held_out, units.most_rows
    said = f"{units.n:,} units, {held_out:,} of them held out, with up to {most:,} rows"
    require(0 <= held_out <= units.n <= n and most >= min(1, n), said)
    require(held_out <= tested <= held_out * most, f"{said}, and {tested:,} held-out rows")
    require(n <= units.n * most, f"{said}, and {n:,} rows")


def check_ladder(context: Stated) -> str:
    """A model is released if all before it passed, and the next one failed or there is none."""
    record, of = context.record, context.record.search
    if of is None:
        require(record.trade_off is None, "there is a ladder of models, and none was searched for")
        require(record.split == "none", f"split is '{record.split}' for a model from elsewhere")
        return "a model from elsewhere"
    said = f"{of.on_ladder} on the ladder, {of.tested} tested, place {of.place}"
    require(1 <= of.place <= of.tested <= of.on_ladder, said)
    chance = of.forecast
    require(0 <= chance <= 1, f"a predicted probability of {chance} to pass")
    require(of.evaluations >= 0, f"{of.evaluations} policies were tried")
    require(isfinite(of.loss), f"the loss is {of.loss}")
    require(0 < of.rows <= record.n_candidate, f"{of.rows} rows of {record.n_candidate} searched")
    if not record.failed:
        last = of.place == of.tested == of.on_ladder
        require(last or of.tested == of.place + 1, f"{said}: the test went on or stopped early")
    else:
        require(of.place == of.tested == 1, f"{said}, although the first failed")
    agree("the number of models, one a fold,", of.models, record.terms.folds)
    halves = record.split in ("random", "time", "stratified", "continued")
    agree("whether there is a trade-off", record.trade_off is not None, halves)
    if record.trade_off is not None:
        _check_trade_off(record.trade_off, of, record)
    return said


def _check_trade_off(trade_off: TradeOff, of: SearchRecord, record: Certificate) -> None:
    models, passed, released = trade_off.models, not record.failed, record.passed
    agree("the places on the ladder", [m.place for m in models], [*range(1, of.on_ladder + 1)])
    fates = [
        fate_of(m.place, of.tested, of.place, passed=passed, released=released) for m in models
    ]
    agree("the fates on the ladder", [m.fate for m in models], fates)
    losses = [model.loss for model in models]
    require(all(map(isfinite, losses)), f"the losses on the ladder are {losses}")
    require(losses[of.place - 1] == of.loss, f"the loss of place {of.place} is not {of.loss}")
    for model in models:
        agree("the number of impacts", len(model.impacts), len(trade_off.series))


# -- pictures ------------------------------------------------------------------------------------


def check_pictures(context: Stated) -> str:
    """Groups that were asked for, and histograms that hold each of their rows once."""
    record = context.record
    sizes = {group.condition: group.n for group in context.groups}
    sizes[EVERYONE] = record.n_held_out
    named = conditions_of(context.claims, revealed=record.terms.revealed is not None)
    asked = {EVERYONE, *map(who, named)}
    shown = [picture.condition for picture in record.groups]
    agree("the first picture", shown[:1], [EVERYONE])
    agree("the pictures", sorted(shown), sorted(asked))
    for picture in record.groups:
        n = sizes.get(picture.condition, picture.n)
        if context.record.terms.units is None:
            agree(f"the number of rows of '{picture.condition}'", picture.n, n)
        require(picture.n >= n, f"{picture.n:,} rows of '{picture.condition}', and {n:,} units")
        _check_picture(picture, record.classes)
    return plural(len(shown), "group")


def _check_picture(picture: GroupPicture, classes: tuple[str, ...]) -> None:
    where = f"the picture of '{picture.condition}'"
    for name in ("weights", "propensities", "probabilities"):
        histogram = getattr(picture, name)
        if histogram is not None:
            counts, edges = histogram.counts, histogram.edges
            fits = len(edges) == len(counts) + 1 and list(edges) == sorted(edges)
            require(fits and min(counts) >= 0, f"{where}: {name} are not a histogram")
            agree(f"{where}: the number of {name}", sum(counts), picture.n)
    for impact in picture.impacts:
        for interval in (impact.logged, impact.new):
            ordered = interval.low <= interval.estimate <= interval.high
            middle = close(
                interval.high - interval.estimate,
                interval.estimate - interval.low,
                abs(interval.estimate),
            )
            require(ordered and middle, f"{where}: {interval} of '{impact.impact}'")
    if picture.decisions and classes:
        agree(f"{where}: decisions", tuple(each.decision for each in picture.decisions), classes)
        for side in ("logged", "new"):
            total = sum(getattr(decision, side) for decision in picture.decisions)
            agree(f"{where}: the sum of {side} decisions", total, 1.0)


# -- assumptions and warnings --------------------------------------------------------------------


def check_assumptions(context: Stated) -> str:
    """The list of assumptions, made again from what the record says."""
    record = context.record
    expected = list_assumptions(_facts_of_record(context))
    if record.provenance.left_out and record.constraints:
        expected += (left_out_alike(record.provenance),)
    for said, found in zip_longest(record.assumptions, expected):
        if found is not None:
            found = replace(found, evidence=without_few(found.evidence, record.suppressed_below))
        require(said == found, f"{_shown(said)} should be {_shown(found)}")
    return plural(len(expected), "assumption")


def _shown(assumption: Assumption | None) -> str:
    if assumption is None:
        return "nothing"
    return f"'{assumption.name}', {assumption.status} ({assumption.evidence})"


def _facts_of_record(context: Stated) -> Facts:
    """The facts of a test that was made before, as its certificate states them."""
    record, terms = context.record, context.record.terms
    means = [mean for claim in context.claims for mean in claim.means]
    estimator = get_impact_estimator(record.estimator)
    costs = COST not in record.roles.impacts and any(mean.of == Column(COST) for mean in means)
    return Facts(
        kind=_kind(record),
        guarded=all_guarded(record.constraints),
        split=record.split,
        openings=record.openings,
        looks=terms.looks,
        groups=context.groups,
        behavior_known=context.behavior_known,
        logged_averages=estimator.replaces_logged and any(mean.logged for mean in means),
        label=any(map(uses_label, means)),
        costs=costs,
        row_id=record.roles.row_id,
        units=terms.units,
        ranges={each.impact: (each.low, each.high) for each in terms.impact_ranges},
        floor=terms.propensity_floor,
        Lambda=terms.Lambda,
        shift=terms.shift,
        shown={each.code: each.evidence for each in record.assumptions},
        unseen=assumed_of_unseen(terms.unseen),
        behavior=terms.behavior,
        revealed=terms.revealed is not None,
        deployed=terms.deployed,
        person_cost=record.roles.person_cost,
    )


def check_warnings(context: Stated) -> str:
    """The warnings that follow from the record; others need the rows."""
    record = context.record
    violated = [violation(each) for each in record.violated]
    said = [each for each in record.warnings if each.code == "assumption_violated"]
    require(said == violated, f"the warnings should say {[each.text for each in violated]}")
    hardly_new = practically_the_old(record.constraints) if record.passed else None
    named = [each for each in record.warnings if each.code == "behavior_model"]
    right = named == ([hardly_new] if hardly_new else [])
    require(right, "the warnings should say whether the model is practically the old one")
    outside = [each for each in record.warnings if each.code == "fitted_outside"]
    agree(
        "the warning about what was fitted outside",
        outside,
        [*map(outside_warning, fitted_outside(record.assumptions))],
    )
    told = [each.text for each in record.warnings if each.code == "people_not_named"]
    agree("the warning about people", told, record.people.said(record.n))
    for result in record.constraints:
        missing = [each.text for each in result.warnings if each not in record.warnings]
        require(not missing, f"the certificate lacks {missing}")
        found = [each for each in result.warnings if each.code not in NEED_ROWS]
        expected = [
            replace(each, text=without_few(each.text, record.suppressed_below))
            for each in record_warnings(result.tails, result.groups)
        ]
        texts = [each.text for each in expected]
        require(found == expected, f"the warnings of '{result.statement}' should be {texts}")
    return plural(len(record.warnings), "warning")

"""Level 2: whether the study file inside a certificate asks for what was tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from elfair.bounds import AUTO, bound_in_folds
from elfair.certificate import NOT_STATED, ClaimRecord
from elfair.consistency.comparison import SkippedError, agree, require, require_same
from elfair.fairness_test.issue import revealed_record, unseen_records
from elfair.language.conjunction import conjuncts
from elfair.language.recipes import Recipe
from elfair.records.text import plural
from elfair.statistics.impact_estimators import declared_estimation
from elfair.verification.context import Context

if TYPE_CHECKING:
    from elfair.study import StudyFile


def check_study(context: Context) -> str | None:
    """Whether the study file asks for what was tested."""
    if not context.record.provenance.study:
        return None
    study = context.study
    asked = study.estimator().get_params(deep=False)
    _check_settings(context, study.title, asked)
    agree("the names", context.record.names, study.names)
    names = [each for each in asked["constraints"] if isinstance(each, Recipe)]
    if context.data is None and names:
        raise SkippedError(f"'{names[0]}' is about the groups in the data, which were not given")
    _check_claims(context, study)
    if context.data is not None:
        _check_declared(context, asked)
    return f"{plural(len(study.constraints), 'constraint')}, as tested"


def _check_settings(context: Context, title: str, asked: Mapping[str, Any]) -> None:
    record, terms = context.record, context.record.terms
    said: dict[str, Any] = {
        "random_state": record.seed,
        "bound": record.bound,
        "looks": terms.looks,
    }
    if asked["estimator"] != AUTO:
        said["estimator"] = record.estimator
    # The command line may accept more than the study does.
    unsaid = set(asked["accept_violated"]) - set(terms.accept_violated)
    require(not unsaid, f"the study accepts {sorted(unsaid)}, and the terms do not say so")
    if terms.claims and record.stage is None:
        said["split"] = record.split
    if record.split == "crossfit":
        said["folds"] = terms.folds
        asked = {**asked, "bound": bound_in_folds(asked["bound"])}
    elif terms.claims and record.stage is None:
        said["candidate_fraction"] = terms.candidate_share
    if record.search is not None:
        said |= {"search": record.search.method, "objective": record.search.objective}
    if terms.positive is not None:
        _check_named(terms.positive, asked["positive"], record.classes)
    agree("the title", record.provenance.title, title)
    for name, value in said.items():
        agree(name, value, asked[name])


def _check_named(positive: str, asked: Any, classes: Sequence[str]) -> None:
    """The positive decision is the one that the study names; without a name, the larger one (see
    `elfair.data.classes.read_positive`). A study may write 1 for 1.0 and for True.
    """
    names = {str(asked)}
    if asked is None:
        names = {classes[-1]}
    elif not isinstance(asked, str):
        names |= {str(kind(asked)) for kind in (bool, int, float) if kind(asked) == asked}
    require(positive in names, f"the positive decision is {positive!r}, and should be {asked!r}")


def _check_claims(context: Context, study: StudyFile) -> None:
    looks = context.record.terms.looks
    meant = tuple(
        ClaimRecord(
            each.text,
            part.text,
            each.delta / looks,
            each.chosen_by or NOT_STATED,
            each.why or NOT_STATED,
        )
        for each in study.stated(context.data)
        for part in conjuncts(each.text)
    )
    require_same(context.record.terms.claims, meant, "terms.claims, which the study asks for,")


def _check_declared(context: Context, asked: Mapping[str, Any]) -> None:
    """Whether the study declares the same ranges of impacts, propensity floor and chances."""
    terms = context.record.terms
    declared = declared_estimation(context.rows, asked)
    ranges = {each.impact: (each.low, each.high) for each in terms.impact_ranges}
    agree("the declared ranges", ranges, declared.ranges)
    agree("the propensity floor", terms.propensity_floor, declared.propensity_floor)
    agree("Lambda", terms.Lambda, declared.Lambda)
    agree("shift", terms.shift, declared.shift)
    lottery = context.rows.lottery
    chances = lottery.records(context.rows.classes) if lottery is not None else ()
    require_same(terms.lottery, chances, "terms.lottery, which the study declares,")
    unlogged = context.rows.unlogged
    agree("whether propensities are estimated", terms.behavior is not None, unlogged is not None)
    if unlogged is not None and terms.behavior is not None:
        agree("how propensities are estimated", terms.behavior.asked, unlogged.described)
        agree("trim", terms.behavior.trim, unlogged.trim)
    unseen = unseen_records(context.rows)
    require_same(terms.unseen, unseen, "terms.unseen, which the study declares,")
    revealed = revealed_record(context.rows)
    require_same(terms.revealed, revealed, "terms.revealed, which the study declares,")

"""Level 3: the test run again, and every number compared; on request, the search run again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from elfair.certificate import Assumption, Certificate
from elfair.consistency.comparison import RELATIVE, SkippedError, agree, require, require_same
from elfair.data import LoggedData
from elfair.data.behavior import behavior_probabilities
from elfair.data.digests import content_digest
from elfair.data.looks import looking_again
from elfair.data.preparation import pandas_frame
from elfair.data.setting import Setting
from elfair.data.split import in_order
from elfair.data.stages import fresh_rows
from elfair.estimators.certify import GivenModel, fairness_test_of
from elfair.estimators.continuing import stage_test, wealth_of
from elfair.estimators.fit import fit_model
from elfair.estimators.parameters import check_parameters
from elfair.fairness_test.issue import this_version
from elfair.fairness_test.ladder import Ladder
from elfair.fairness_test.test import FairnessTest
from elfair.records.text import plural
from elfair.search.classification import family_behind
from elfair.search.problem import Plain
from elfair.statistics import Baselines
from elfair.statistics.impact_estimators import declared_estimation
from elfair.statistics.plan import Plan
from elfair.verification.context import Context, Look

#: The parts that the search gives again.
SEARCHED = ("split", "digests", "terms", "search", "trade_off")


def same(*parts: str) -> Look:
    """The check that the test, run again, gives the same parts of the certificate."""
    return partial(_check_parts, parts)


def _check_parts(parts: Sequence[str], context: Context) -> str | None:
    if all(getattr(context.record, part) is None for part in parts):
        return None
    if context.again is None:
        context.again = shown_as(context.record, recomputed(context))
    return _same_parts(parts, context.record, context.again)


def _same_parts(parts: Sequence[str], record: Certificate, again: Certificate) -> str:
    people_say = frozenset({"chosen_by", "why"})
    for part in parts:
        require_same(getattr(record, part), getattr(again, part), part, people_say)
    return ""


def shown_as(record: Certificate, other: Certificate) -> Certificate:
    """A certificate without what was left out of another, to hand that over."""
    below = record.suppressed_below
    return other.suppressing(below) if below else other


def check_left_out(context: Context) -> str | None:
    """Whether as many rows were read and left out as the certificate says."""
    said, table = context.record.provenance, context.table
    if table is None:  # as without a study
        return None
    if context.record.suppressed_below:
        raise SkippedError("counts of few people were left out, to hand the certificate over")
    agree("the number of rows read", said.rows_read, table.n_read)
    for part in ("left_out", "outside", "changes"):
        require_same(getattr(said, part), getattr(table, part), part)
    missing = sum(each.n for each in (*table.left_out, *table.outside))
    return f"{plural(table.n_read, 'row')} read, {missing} left out"


def check_openings(context: Context) -> str | None:
    """How often the held-out rows were opened, which nothing can show."""
    if not context.record.terms.claims:
        return None
    raise SkippedError(
        "nothing can show how often the held-out rows were opened before; this verification was "
        "not counted"
    )


def check_what_decides(context: Context) -> str | None:
    """Whether the estimator decides with the tested model, and by the same names.

    The file of an estimator holds a certificate of its own, and all models on the ladder: the
    tested model may be among them without being in use.
    """
    if context.record.search is None:
        return None
    record, fitted, model = context.record, context.fitted, context.given
    used = fitted.digest()
    require(used == context.tested_model, f"the estimator decides with another model, {used}")
    agree("passed", record.passed, bool(model.solution_found_))
    agree("classes", record.classes, tuple(str(name) for name in getattr(model, "classes_", ())))
    names = tuple(str(n) for n in getattr(model, "feature_names_in_", record.roles.features))
    agree("features", record.roles.features, names)
    agree("the shares of its models", fitted.shares, context.split.shares)
    of_data = Setting.of(context.split.everyone, fitted.ladder[0].policy)
    require(
        content_digest(of_data) == content_digest(fitted.setting),
        "its features, classes, behaviour model or encoding are not those of the data",
    )
    return ""


def check_behavior(context: Context) -> str | None:
    """Whether the behaviour model that the estimator keeps decides as the data say.

    The test looks at the probabilities in the data, and decisions depend on the model.
    """
    if context.record.search is None:
        return None
    kept, data = context.fitted.setting.behavior, context.rows
    if kept is None:
        return None
    require(data.behavior is not None, "the data say nothing of the behaviour model")
    assert data.behavior is not None
    columns = {name: data.feature(name) for name in data.feature_names}
    people = data.features if data.raw is None and not data.has_names else pandas_frame(columns)
    found = behavior_probabilities(kept, people, data.classes)
    away = float(np.abs(found - data.behavior).max())
    require(away <= RELATIVE, f"its probabilities differ from those in the data by up to {away:g}")
    return f"{plural(data.n, 'row')}, as in the data"


# -- the search ----------------------------------------------------------------------------------


def check_search(context: Context) -> str | None:
    """Fit again, and compare the models that are found, and what is said about them."""
    record = context.record
    if record.search is None:
        return None
    if record.stage is not None:
        raise SkippedError("the search came before the first stage, whose certificate shows it")
    if not context.refit:
        raise SkippedError(
            "only fitting again (refit) shows how the ladder was found, with its losses and "
            "chances to pass"
        )
    model = context.given
    others = [each for each in record.versions if each not in this_version()]
    if others:
        names = ", ".join(f"{each.name} {each.version}" for each in others)
        raise SkippedError(f"only the same versions search in the same way: {names}")
    parameters = model.get_params(deep=False)
    lost = [name for name, value in parameters.items() if type(value).__name__ == "NotSaved"]
    if lost:
        raise SkippedError(f"{', '.join(lost)} of the estimator was not saved with it")
    everyone = context.split.everyone
    if everyone.unlogged is not None:  # the fit estimates, and trims, by itself
        everyone = context.split.table
    request = replace(model.request(everyone), claims=context.claims, seed=record.seed)
    with looking_again(record.openings):
        again = fit_model(everyone, request).certificate
    require(again.digests.ladder == record.digests.ladder, "the search found other models")
    # The search is the estimator's, by its own parameters: what it says must be what the record
    # says, or the models may have been found on rows that are called held out.
    _same_parts(SEARCHED, record, shown_as(record, again))
    again = again.stating(provenance=record.provenance)
    # Only the estimator knows whether a scorer came fitted.
    said, found = ({each.code for each in of.assumptions} for of in (record, again))
    require(said == found, f"the assumptions are {sorted(said)}, and {sorted(found)} were found")
    return "the search found the same models"


# -- the test ------------------------------------------------------------------------------------


def recomputed(context: Context) -> Certificate:
    """The certificate of the same test, run again."""
    record, split, model = context.record, context.split, context.given
    claims, bound, declared = context.claims, record.bound, _declared(context)
    estimation = declared_estimation(split.everyone, declared)
    if record.stage is not None:
        test = stage_test(
            replace(context.fitted, certificate=record),
            in_order(context.rows),
            fresh_rows(record.stage, context.rows.n),
            declared,
        )
        before = replace(record, wealth=tuple(replace(e, after=e.before) for e in record.wealth))
        test = replace(test, stage=record.stage, before=wealth_of(before))
    elif record.search is None:
        given = GivenModel.read(model, split.everyone)
        given = replace(given, rule=given.rule or record.terms.deployed)  # the words are no part
        test = fairness_test_of(given, split, claims, bound, estimation)
    else:
        ladders = _ladders(context)

        def plan(rows: LoggedData) -> Plan:
            return Plan.make(claims, bound, Baselines(estimation, rows), split.everyone)

        test = FairnessTest(
            split,
            tuple(plan(ladder.candidate) for ladder in ladders),
            ladders,
            search=record.search,
            losses=_losses(context),
            declared=(*_family(ladders[0].policy, context).assumptions(), *_outside(record)),
        )
    terms = record.terms
    test = replace(test, looks=terms.looks, accept_violated=terms.accept_violated)
    with looking_again(record.openings):
        again = test.run()
    return again.stating(provenance=record.provenance)


def _outside(record: Certificate) -> list[Assumption]:
    """What was fitted outside the seal: only the fit saw it."""
    return [each for each in record.assumptions if each.code == "nothing_else" and each.evidence]


def _ladders(context: Context) -> tuple[Ladder, ...]:
    """The models of the estimator, one ladder for each fold."""
    models, split = context.fitted.ladder, context.split
    candidates = [fold.candidate for fold in split.folds] or [split.everyone]
    folds = len(candidates)
    if folds > 1:
        require(len(models) == folds, f"{len(models)} models for {folds} folds")
    ladders = []
    for fold, rows in enumerate(candidates):
        of_fold = models[fold::folds]
        policy = of_fold[0].policy
        same = all(each.policy is policy for each in of_fold)
        require(same, "the models on the ladder differ in kind")
        seen = _family(policy, context).rows(rows)
        ladders.append(Ladder.on(seen, policy, [each.theta for each in of_fold]))
    return tuple(ladders)


def _losses(context: Context) -> list[float]:
    """The loss of each model, which only the search knows."""
    if len(context.split.folds) != 1:
        return []
    trade_off, count = context.record.trade_off, len(context.fitted.ladder)
    losses = [each.loss for each in trade_off.models] if trade_off else []
    require(len(losses) == count, f"{count} models on the ladder, and {len(losses)} losses")
    return losses


def _declared(context: Context) -> dict[str, Any]:
    """What was declared of impacts, propensities and their estimator."""
    record, terms = context.record, context.record.terms
    declared: dict[str, Any] = {
        "bound": record.bound,
        "estimator": record.estimator,
        "impact_range": {each.impact: (each.low, each.high) for each in terms.impact_ranges},
        "propensity_floor": terms.propensity_floor,
        "Lambda": terms.Lambda,
        "shift": terms.shift,
    }
    check_parameters("certify", declared)  # no test was run with what no user could have declared
    declared["outcome_model"] = _outcome_model(context)
    return declared


def _outcome_model(context: Context) -> Any:
    """The outcome model of the doubly robust form: the estimator's own, if it is the same."""
    said = context.record.terms.outcome_model
    if said in ("", "ridge regression"):
        return None
    tuned = getattr(context.model, "tuned_", {})
    known = tuned.get("outcome_model", getattr(context.model, "outcome_model", None))
    if repr(known) != said:
        raise SkippedError(f"the model that was given does not hold the outcome model ({said})")
    return known


def _family(policy: Any, context: Context) -> Plain:
    """Where a policy comes from: how it saw candidate rows, and what it assumes."""
    record = context.record
    if not record.classes:
        return Plain()
    fitted = any(each.code == "scorer_not_fitted" for each in record.assumptions)
    return family_behind(policy, record.seed, fitted=fitted)

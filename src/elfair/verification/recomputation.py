"""Level 3: the test run again, and every number compared; on request, the search run again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.data.looks import looking_again
from elfair.estimators.certify import GivenModel, fairness_test_of
from elfair.estimators.fit import fit_model
from elfair.estimators.parameters import check_parameters
from elfair.fairness_test.issue import this_version
from elfair.fairness_test.ladder import Ladder
from elfair.fairness_test.test import FairnessTest
from elfair.policies.models import digests, mixture_digest
from elfair.records.text import plural
from elfair.search.classification import family_behind
from elfair.search.problem import Plain
from elfair.statistics import Baselines, Estimation
from elfair.statistics.impact_estimators import declared_estimation
from elfair.statistics.plan import Plan
from elfair.verification.comparison import SkippedError, agree, require, require_same
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
        context.again = recomputed(context)
    return _same_parts(parts, context.record, context.again)


def _same_parts(parts: Sequence[str], record: Certificate, again: Certificate) -> str:
    people_say = frozenset({"chosen_by", "why"})
    for part in parts:
        require_same(getattr(record, part), getattr(again, part), part, people_say)
    return ""


def check_left_out(context: Context) -> str | None:
    """Whether as many rows were read and left out as the certificate says."""
    said, table = context.record.provenance, context.table
    if table is None:  # as without a study
        return None
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
    used = mixture_digest(digests(fitted.models))
    require(used == context.tested_model, f"the estimator decides with another model, {used}")
    agree("passed", record.passed, fitted.certificate.passed)
    agree("classes", record.classes, tuple(str(name) for name in getattr(model, "classes_", ())))
    names = tuple(str(n) for n in getattr(model, "feature_names_in_", record.roles.features))
    agree("features", record.roles.features, names)
    n, folds = record.n, len(fitted.models)
    shares = [len(range(fold, n, folds)) / n for fold in range(folds)]
    if record.terms.units is not None:
        tested = context.split.n_tested
        shares = [fold.sealed.n / tested for fold in context.split.folds] or [1.0]
    require(np.allclose(fitted.shares, shares, rtol=0, atol=1e-9), f"shares {fitted.shares}")
    return ""


# -- the search ----------------------------------------------------------------------------------


def check_search(context: Context) -> str | None:
    """Fit again, and compare the models that are found, and what is said about them."""
    record = context.record
    if record.search is None:
        return None
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
    request = replace(model.request(everyone), claims=context.claims, seed=record.seed)
    with looking_again(record.openings):
        again = fit_model(everyone, request).certificate
    require(again.digests.ladder == record.digests.ladder, "the search found other models")
    # The search is the estimator's, by its own parameters: what it says must be what the record
    # says, or the models may have been found on rows that are called held out.
    _same_parts(SEARCHED, record, again)
    again = again.stating(provenance=record.provenance)
    # Only the estimator knows whether a scorer came fitted.
    said, found = ({each.code for each in of.assumptions} for of in (record, again))
    require(said == found, f"the assumptions are {sorted(said)}, and {sorted(found)} were found")
    return "the search found the same models"


# -- the test ------------------------------------------------------------------------------------


def recomputed(context: Context) -> Certificate:
    """The certificate of the same test, run again."""
    record, split, model = context.record, context.split, context.given
    claims, bound, estimation = context.claims, record.bound, _estimation(context)
    if record.search is None:
        given = GivenModel.read(model, split.everyone)
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
            declared=_family(ladders[0].policy, context).assumptions(),
        )
    terms = record.terms
    test = replace(test, looks=terms.looks, accept_violated=terms.accept_violated)
    with looking_again(record.openings):
        again = test.run()
    return again.stating(provenance=record.provenance)


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
        ladders.append(Ladder(policy, [each.theta for each in of_fold], seen, rows.preparation))
    return tuple(ladders)


def _losses(context: Context) -> list[float]:
    """The loss of each model, which only the search knows."""
    if len(context.split.folds) != 1:
        return []
    trade_off, count = context.record.trade_off, len(context.fitted.ladder)
    losses = [each.loss for each in trade_off.models] if trade_off else []
    require(len(losses) == count, f"{count} models on the ladder, and {len(losses)} losses")
    return losses


def _estimation(context: Context) -> Estimation:
    record, terms = context.record, context.record.terms
    declared: dict[str, Any] = {
        "bound": record.bound,
        "estimator": record.estimator,
        "impact_range": {each.impact: (each.low, each.high) for each in terms.impact_ranges},
        "propensity_floor": terms.propensity_floor,
        "Lambda": terms.Lambda,
    }
    check_parameters("certify", declared)  # no test was run with what no user could have declared
    declared["outcome_model"] = _outcome_model(context)
    return declared_estimation(context.split.everyone, declared)


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

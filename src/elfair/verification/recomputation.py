"""The search made again: the only check of how the line of models came about.

Level 3: the test made again, and every number compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from elfair.bounds import Bound, get_bound
from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.data.split import Split, looking_again
from elfair.estimators.certify import GivenModel, test_of_given
from elfair.estimators.fit import fit_model
from elfair.estimators.parameters import check_parameters
from elfair.fairness_test.issue import this_version
from elfair.fairness_test.ladder import Ladder
from elfair.fairness_test.test import FairnessTest
from elfair.policies.models import Fitted, Model
from elfair.policies.scored import ScoredPolicy
from elfair.search.families import ModuleFamily, ScoredFamily
from elfair.search.task import Family, LinearFamily
from elfair.statistics import Baselines, Estimation
from elfair.statistics.declared import declared_estimation
from elfair.statistics.plan import Claim, Plan
from elfair.verification.checks import Check, SkippedError, differences, make, require, require_none
from elfair.verification.digests import check_what_decides, ladder_of, split_of
from elfair.verification.premises import claims_of


def check_search(record: Certificate, data: Any, model: Any, refit: bool) -> str:
    """Fit again, and compare the models that are found, and what was said of them.

    Parameters
    ----------
    record : Certificate
        What is checked.
    data, model, refit
        See `elfair.verify`.
    """
    if not refit:
        raise SkippedError(
            "how the line of models came about, with losses and chances to pass, is seen only by "
            "fitting again (refit)"
        )
    if model is None:
        raise SkippedError("there is no model to check it with")
    others = [each for each in record.versions if each not in this_version()]
    if others:
        names = ", ".join(f"{each.name} {each.version}" for each in others)
        raise SkippedError(f"searches are the same in the same versions only: {names}")
    again = _refitted(record, data, model).certificate
    require(
        again.digests.lineup == record.digests.lineup,
        "other models were found than those that were lined up",
    )
    # The search is the estimator's, by its own parameters: what it says must be what the record
    # says, or the models may have been found on rows that are called held out.
    wrong = [
        text
        for part in ("split", "digests", "terms", "candidate", "trade_off")
        for text in differences(
            getattr(record, part), getattr(again, part), part, but=frozenset({"chosen_by", "why"})
        )
    ]
    require_none(wrong)
    said, found = _premises(record), _premises(again.stating(provenance=record.provenance))
    require(said == found, f"the assumptions are {sorted(said)}, and {sorted(found)} were found")
    return "the same models were found"


def _premises(record: Certificate) -> set[str]:
    """What is assumed: that a scorer came fitted is known to the estimator alone."""
    return {each.code for each in record.assumptions}


def _refitted(record: Certificate, data: Any, model: Any) -> Fitted:
    """As `fit` does, from rows that were read already."""
    parameters = model.get_params(deep=False)
    lost = [name for name, value in parameters.items() if type(value).__name__ == "NotSaved"]
    if lost:
        raise SkippedError(f"{', '.join(lost)} of the estimator was not saved with it")
    everyone, claims = split_of(record, data).everyone, claims_of(record.terms)
    with looking_again():
        request = replace(model.request(everyone), claims=claims, seed=record.seed)
        return fit_model(everyone, request)


#: The parts of a certificate that a test made again gives again, and what each is called.
COMPARED = {
    "results": ("passed", "constraints", "joint_delta", "joint_statement"),
    "conditions of the test": (
        "estimator", "bound", "classes", "n", "n_candidate", "n_fairness", "split", "seed",
        "terms", "roles",
    ),
    "pictures of groups": ("groups",),
    "order of the test": ("candidate",),
    "trade-off": ("trade_off",),
    "assumptions": ("assumptions",),
    "warnings": ("warnings",),
}  # fmt: skip
#: What only people can say, and what only a search knows.
NOT_COMPARED = frozenset({"chosen_by", "why"})


def recomputation_checks(
    record: Certificate, data: Any, model: Any, *, refit: bool = False
) -> list[Check]:
    """The checks that need rows and models.

    Parameters
    ----------
    record : Certificate
        What is checked.
    data, model, refit
        See `elfair.verify`.
    """
    again = cache(lambda: recomputed(record, data, model))
    checks = [
        make("recomputation", name, partial(_check_parts, record, parts, again))
        for name, parts in COMPARED.items()
        if any(getattr(record, part) is not None for part in parts)
    ]
    if record.candidate is not None:
        decides = partial(check_what_decides, record, model)
        checks.append(make("recomputation", "what decides", decides))
        search = partial(check_search, record, data, model, refit)
        checks.append(make("recomputation", "search", search))
    if record.terms.claims:
        checks.append(make("recomputation", "openings", _openings))
    return checks


def _openings() -> str:
    raise SkippedError(
        "no recomputation can tell how often the held-out rows were opened before; this one was "
        "not counted"
    )


def _check_parts(record: Certificate, parts: Sequence[str], again: Any) -> str:
    found: Certificate = again()
    wrong = [
        text
        for part in parts
        for text in differences(getattr(record, part), getattr(found, part), part, but=NOT_COMPARED)
    ]
    require_none(wrong)
    return ""


def recomputed(record: Certificate, data: Any, model: Any) -> Certificate:
    """The certificate of the same test, made again.

    Parameters
    ----------
    record : Certificate
        What says which test it was.
    data, model
        See `elfair.verify`.
    """
    if model is None:
        raise SkippedError("there is no model to check it with")
    split = split_of(record, data)
    estimation = _estimation(record, split.everyone, model)
    claims, bound = claims_of(record.terms), get_bound(record.bound)
    if record.candidate is None:
        given = GivenModel.read(model, split.everyone)
        test = test_of_given(given, split, claims, bound, estimation)
    else:
        plan = partial(_plan, claims, bound, estimation, split.everyone)
        test = _test_of_ladder(record, split, plan, ladder_of(model))
    with looking_again():
        again = test.run(openings=record.openings)
    return again.stating(provenance=record.provenance)


def _plan(
    claims: tuple[Claim, ...],
    bound: Bound,
    estimation: Estimation,
    everyone: LoggedData,
    rows: LoggedData,
) -> Plan:
    return Plan.make(claims, bound, Baselines(estimation, rows), everyone)


def _test_of_ladder(
    record: Certificate,
    split: Split,
    plan: Callable[[LoggedData], Plan],
    models: Sequence[Model],
) -> FairnessTest:
    """The test of models that a search put forward."""
    candidates = [fold.candidate for fold in split.folds] or [split.everyone]
    folds = len(candidates)
    if folds > 1:
        require(len(models) == folds, f"{len(models)} models for {folds}")
    ladders = []
    for fold, rows in enumerate(candidates):
        of_fold = models[fold::folds]
        require(len({id(each.policy) for each in of_fold}) == 1, "models in line differ in kind")
        family = _family(of_fold[0].policy, record)
        thetas = [each.theta for each in of_fold]
        ladders.append(Ladder(of_fold[0].policy, thetas, family.rows(rows)))
    losses: list[float] = []
    if len(split.folds) == 1:
        losses = [each.loss for each in record.trade_off.models] if record.trade_off else []
        require(len(losses) == len(models), f"{len(models)} models in line, not {len(losses)}")
    return FairnessTest(
        split,
        tuple(plan(ladder.candidate) for ladder in ladders),
        tuple(ladders),
        search=record.candidate,
        losses=losses,
        declared=_family(models[0].policy, record).assumptions(),
    )


def _estimation(record: Certificate, everyone: LoggedData, model: Any) -> Estimation:
    terms = record.terms
    declared: dict[str, Any] = {
        "bound": record.bound,
        "estimator": record.estimator,
        "center": terms.center,
        "impact_range": {each.impact: (each.low, each.high) for each in terms.impact_ranges},
        "propensity_floor": terms.propensity_floor,
    }
    check_parameters("certify", declared)  # what no user could have declared, no test was made with
    return declared_estimation(everyone, **declared, outcome_model=_outcome_model(record, model))


def _outcome_model(record: Certificate, model: Any) -> Any:
    """What the doubly robust form was fitted with: the estimator's own, if it is the same."""
    said = record.terms.outcome_model
    if said in ("", "ridge regression"):
        return None
    tuned = getattr(model, "tuned_", {})
    known = tuned.get("outcome_model", getattr(model, "outcome_model", None))
    if repr(known) != said:
        raise SkippedError(f"the outcome model ({said}) is not part of the model that was given")
    return known


def _family(policy: Any, record: Certificate) -> Family:
    """Where a policy comes from: how it saw candidate rows, and what its maker answers for."""
    came_fitted = any(each.code == "scorer_not_fitted" for each in record.assumptions)
    if isinstance(policy, ScoredPolicy):
        from sklearn.base import clone

        return ScoredFamily(policy.scorer if came_fitted else clone(policy.scorer), record.seed)
    if hasattr(policy, "module"):
        return ModuleFamily(policy.module)
    return LinearFamily()

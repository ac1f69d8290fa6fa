"""After "no solution found": the same models, in the same order, on rows that came since.

See `elfair.bounds.growth` for why this costs no confidence. Whatever is learnt from rows for the
test, such as the scale of a row, may be learnt from all earlier ones: they are the past.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from elfair.certificate import Certificate
from elfair.certificate.parts import StageRecord
from elfair.data import LoggedData
from elfair.data.ledger import Ledger
from elfair.data.repeats import check_not_seen
from elfair.data.split import Split, in_order
from elfair.data.stages import fresh_text
from elfair.errors import InputError
from elfair.fairness_test.issue import identity_of_record
from elfair.fairness_test.ladder import Ladder
from elfair.fairness_test.test import FairnessTest
from elfair.language.conjunction import conjuncts
from elfair.policies.models import Fitted, digests
from elfair.search.classification import family_behind
from elfair.search.problem import Plain
from elfair.search.threads import one_thread
from elfair.statistics import Baselines
from elfair.statistics.claims import Claim
from elfair.statistics.impact_estimators import declared_estimation
from elfair.statistics.plan import Plan
from elfair.types import Booleans

#: Fewer fresh units than this are no stage: a bound needs two rows in every group.
FEWEST_FRESH = 2


@one_thread()
def go_on(
    fitted: Fitted, data: LoggedData, parameters: dict[str, Any], ledger: Ledger,
    accept_violated: Sequence[Any],
) -> Fitted:  # fmt: skip
    """Test the models of an earlier fit further; `ELFEstimator.go_on` is its public name."""
    earlier = fitted.certificate
    _check_open(earlier)
    if data.unit is None and data.row_id is None:
        raise InputError(
            "to go on, elfair must know which rows are fresh: the table has no identifier.",
            hint="name the column that identifies people as row_id, or as unit, before the first "
            "test.",
        )
    if data.unlogged is not None:
        raise InputError(
            "a test with estimated propensities cannot go on: they would be estimated anew.",
            hint="log propensities; or fit again, on new rows alone.",
        )
    data, after = in_order(data), identity_of_record(earlier)
    fresh = ledger.fresh(data, after)
    _check_fresh(data, fresh)
    if data.take(np.flatnonzero(~fresh)).fingerprint() != earlier.digests.data:
        raise InputError(
            "the rows of the earlier stages are not in the table as they were, in the same order.",
            hint="add fresh rows to the table, and leave the earlier ones alone.",
        )
    check_not_seen(data, fresh)
    number = 2 if earlier.stage is None else earlier.stage.number + 1
    test = stage_test(
        fitted, data, fresh, {**parameters, "estimator": earlier.estimator}
    )  # fmt: skip
    test = replace(
        test,
        stage=StageRecord(number, digest_of(earlier), fresh_text(fresh)),
        before=wealth_of(earlier),
        after=after,
        looks=earlier.terms.looks,
        accept_violated=tuple(dict.fromkeys([*earlier.terms.accept_violated, *accept_violated])),
    )
    if test.ladders[0].digests != digests(fitted.ladder):
        raise InputError(
            "the models would decide otherwise with this table: its features, classes or behaviour "
            "model are not those of the first stage.",
            hint="pass the table as it was passed then, with more rows.",
        )
    certificate = test.run()
    assert certificate.search is not None
    released = fitted.ladder[certificate.search.place - 1]
    return replace(fitted, models=(released,), shares=(1.0,), certificate=certificate)


def stage_test(
    fitted: Fitted, data: LoggedData, fresh: Booleans, parameters: dict[str, Any]
) -> FairnessTest:
    """The test of the models on the fresh rows of a table.

    Parameters
    ----------
    fitted : Fitted
        The models, and the certificate of an earlier or of this stage.
    data : LoggedData
        All rows.
    fresh : ndarray of bool
        Which rows are fresh.
    parameters : dict
        Those of the estimator, with the estimator of impact of the first test.
    """
    record, models = fitted.certificate, fitted.ladder
    units = record.terms.units
    data = data.changed(
        thresholds=record.terms.thresholds, average="unit" if units is None else units.average
    )
    preparation, policy = models[0].preparation, models[0].policy
    split = Split.continued(data, fresh, record.seed, preparation)
    family = Plain()
    if record.classes:
        scored = any(each.code == "scorer_not_fitted" for each in record.assumptions)
        family = family_behind(policy, record.seed, fitted=scored)
    seen = family.rows(split.candidate)
    estimation = declared_estimation(split.everyone, {**parameters, "bound": "growth"})
    plan = Plan.make(_claims(record), "growth", Baselines(estimation, seen), split.everyone)
    trade_off = record.trade_off
    return FairnessTest(
        split,
        (plan,),
        (Ladder.on(seen, policy, [each.theta for each in models]),),
        search=record.search,
        losses=[each.loss for each in trade_off.models] if trade_off else (),
        declared=family.assumptions(),
    )


def digest_of(certificate: Certificate) -> str:
    """SHA-256 of a certificate as its JSON, by which the next stage names it."""
    return hashlib.sha256(certificate.to_json().encode()).hexdigest()


def wealth_of(certificate: Certificate) -> tuple[tuple[float, ...], ...]:
    """The e-values after a test, by model and statement."""
    by_place = groupby(certificate.wealth, key=lambda each: each.place)
    return tuple(tuple(each.after for each in of_model) for _, of_model in by_place)


def _claims(record: Certificate) -> tuple[Claim, ...]:
    """What was asked for, with the groups of the first test."""
    return tuple(
        Claim(each, claim.delta)
        for claim in record.terms.claims
        for each in conjuncts(claim.constraint)
        if each.text == claim.statement
    )


def _check_open(earlier: Certificate) -> None:
    """Raise unless a test may be continued."""
    if earlier.bound != "growth" or not earlier.wealth:
        raise InputError(
            f"only a test that bets for growth can go on. This one was made with "
            f"bound='{earlier.bound}', whose bets aim at the end of the test.",
            hint="declare bound='growth' before the first test of other rows.",
        )
    if earlier.passed:
        raise InputError(
            "a model was released: there is nothing to go on with.",
            hint="use the model; a new fit, on new rows, may find a better one.",
        )
    if earlier.objections:
        raise InputError(
            "an assumption is violated, and more rows would not change that: "
            f"{'; '.join(each.name for each in earlier.objections)}.",
            hint="elfair explain says what to do about it.",
        )


def _check_fresh(data: LoggedData, fresh: Booleans) -> None:
    count = int(np.count_nonzero(fresh))
    if count < FEWEST_FRESH:
        raise InputError(
            f"{count:,} of {data.n:,} rows are fresh: everybody else took part in an earlier "
            "stage.",
            hint="go on when more rows have come; the earlier ones stay in the table.",
        )
    if count > data.n - FEWEST_FRESH:
        raise InputError(
            "the table must hold the rows of the earlier stages as well. Got fresh rows alone.",
            hint="add the fresh rows to the table: constants of the test are learnt from the "
            "earlier ones.",
        )

"""The search made again: the only check of how the line of models came about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from elfair.certificate import Certificate
from elfair.certification import this_version
from elfair.models import Trained
from elfair.partition import looking_again
from elfair.training import train
from elfair.verification.checks import SkippedError, require, require_none
from elfair.verification.claims import claims_of
from elfair.verification.comparing import differences
from elfair.verification.halves import halves_of


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
    return {each.name for each in record.assumptions}


def _refitted(record: Certificate, data: Any, model: Any) -> Trained:
    """As `fit` does, from rows that were read already."""
    parameters = model.get_params(deep=False)
    lost = [name for name, value in parameters.items() if type(value).__name__ == "NotSaved"]
    if lost:
        raise SkippedError(f"{', '.join(lost)} of the estimator was not saved with it")
    everyone, claims = halves_of(record, data).everyone, claims_of(record.terms)
    with looking_again():
        return train(everyone, replace(model.fitting(everyone), claims=claims, seed=record.seed))

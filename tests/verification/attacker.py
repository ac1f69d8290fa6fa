"""Somebody who rewrites files with care: each digest that can be computed without rows is right
again. What digests say of rows that the attacker does not have stays as it was.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from elfair import Certificate
from elfair.fairness_test.issue import ladder_digest
from elfair.policies.models import Fitted, digests


def keeping(model: Any, certificate: Certificate) -> Any:
    """The same estimator with another certificate inside; one without models is as it was."""
    if not hasattr(model, "fitted_"):
        return model
    return rewritten(model, replace(model.fitted_, certificate=certificate))


def rewritten(model: Any, fitted: Fitted) -> Any:
    """The same estimator with other contents, as `load` would make it of a file that holds them."""
    other = copy.copy(model)
    if fitted.setting.encoding is None and hasattr(other, "encoding_"):
        del other.encoding_
    other._keep(fitted)
    return other


def with_models(model: Any, **changes: Any) -> Fitted:
    """Every model of an estimator changed in the same way, such as in its setting."""
    fitted = model.fitted_
    made = {id(each): replace(each, **changes) for each in (*fitted.ladder, *fitted.models)}
    return replace(
        fitted,
        ladder=tuple(made[id(each)] for each in fitted.ladder),
        models=tuple(made[id(each)] for each in fitted.models),
    )


def repaired(fitted: Fitted) -> Fitted:
    """With a certificate that names what is there: its digests, classes and features."""
    said, setting = fitted.certificate, fitted.setting
    named = replace(
        said.digests, model=fitted.digest(), ladder=ladder_digest(digests(fitted.ladder))
    )
    classes = tuple(str(name) for name in setting.classes)
    roles = replace(said.roles, features=setting.features)
    return replace(fitted, certificate=replace(said, digests=named, classes=classes, roles=roles))

"""From a fitted estimator to the bytes of its file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from elfair.classifier import ELFClassifier
from elfair.errors import InputError
from elfair.estimator import ELFEstimator
from elfair.models import digests
from elfair.persistence.arrays import to_npy
from elfair.persistence.container import pack
from elfair.persistence.document import FORMAT, BehaviorKind, MemberRecord, ModelDocument
from elfair.persistence.objects import to_skops
from elfair.persistence.plain import encode
from elfair.persistence.policies import Members, write_policy
from elfair.regressor import ELFRegressor


def to_bytes(estimator: ELFEstimator, encoding: Mapping[str, Any] | None = None) -> bytes:
    """The file of a fitted estimator.

    Parameters
    ----------
    estimator : ELFClassifier or ELFRegressor
        Fitted, also to "no solution found".
    encoding : mapping, optional
        See `ELFEstimator.save`.
    """
    if type(estimator) not in (ELFClassifier, ELFRegressor):
        raise InputError(
            f"only an ELFClassifier or ELFRegressor itself can be saved. Got "
            f"{type(estimator).__name__}.",
            hint="what a class of your own adds would be lost.",
        )
    check_is_fitted(estimator)
    trained = estimator._trained
    members: Members = {"certificate.json": trained.certificate.to_json().encode()}
    members["thetas.npy"] = to_npy(np.array([model.theta for model in trained.lineup]))
    policies = {id(model.policy): model.policy for model in trained.lineup}
    records = []
    for place, policy in enumerate(policies.values()):
        record, parts = write_policy(policy, f"policies/{place}")
        records.append(record)
        members.update(parts)
    behavior, parts = _behavior(getattr(estimator, "_behavior_model", None))
    members.update(parts)
    names = getattr(estimator, "feature_names_in_", None)
    classes = getattr(estimator, "classes_", None)
    keys, line = list(policies), [id(model) for model in trained.lineup]
    document = ModelDocument(
        format=FORMAT,
        kind="classifier" if isinstance(estimator, ELFClassifier) else "regressor",
        parameters={
            name: encode(value) for name, value in sorted(estimator.get_params(deep=False).items())
        },
        n_features=int(estimator.n_features_in_),
        feature_names=None if names is None else tuple(str(name) for name in names),
        classes=encode(classes, strict=True),
        policies=tuple(records),
        lineup=tuple(keys.index(id(model.policy)) for model in trained.lineup),
        digests=digests(trained.lineup),
        let_out=tuple(line.index(id(model)) + 1 for model in trained.models),
        shares=tuple(map(float, trained.shares)),
        tuned=encode(trained.tuned),
        behavior=behavior,
        encoding=_json(getattr(estimator, "encoding_", None) if encoding is None else encoding),
        members=tuple(
            MemberRecord(name, hashlib.sha256(data).hexdigest()) for name, data in members.items()
        ),
    )
    return pack({"model.json": document.to_bytes(), **members})


def _behavior(model: Any) -> tuple[BehaviorKind, Members]:
    if model is None:
        return "none", {}
    if type(model) is ELFClassifier:
        return "elfair", {"behavior.elfair": to_bytes(model)}
    return "object", {"behavior.skops": to_skops(model)}


def _json(encoding: Mapping[str, Any] | None) -> Any:
    """The encoding as it will be read again; whatever JSON would change is refused."""
    if encoding is None:
        return None
    try:
        again = json.loads(json.dumps(encoding, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        again, reason = None, f" ({error})"
    else:
        reason = ""
    if not isinstance(again, dict) or again != encoding:
        raise InputError(
            "encoding must be a dict of text, numbers, lists and dicts, with text as keys. Got "
            f"{encoding!r} instead{reason}.",
            hint="use lists instead of tuples, and numbers of Python instead of numpy's.",
        )
    return again

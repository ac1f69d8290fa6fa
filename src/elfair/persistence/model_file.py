"""From a fitted estimator to the bytes of its file.

From the bytes of a file to an estimator, after every check that the bytes allow.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from elfair.certificate import Certificate
from elfair.errors import InputError
from elfair.estimators.base import ELFEstimator
from elfair.estimators.classifier import ELFClassifier
from elfair.estimators.regressor import ELFRegressor
from elfair.persistence.contents import check_written, decode, encode, members_of, pack, to_npy
from elfair.persistence.document import FORMAT, BehaviorKind, MemberRecord, ModelDocument
from elfair.persistence.objects import from_skops, to_skops
from elfair.persistence.policies import (
    Members,
    Wanted,
    check_model,
    member,
    read_floats,
    read_policy,
    write_policy,
)
from elfair.policies.models import Model, Trained, digests, mixture_digest
from elfair.types import Array


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
    behavior, parts = _behavior_record(getattr(estimator, "_behavior_model", None))
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


def _behavior_record(model: Any) -> tuple[BehaviorKind, Members]:
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


#: Behaviour models inside behaviour models: one for each round of logged decisions.
MOST_ROUNDS = 50
_CHANGED = "it was changed after it was saved."


def from_bytes(
    data: bytes, *, trusted: Sequence[str], module: Any, rounds: int = 0
) -> ELFEstimator:
    """The estimator of a file.

    Parameters
    ----------
    data : bytes
        The whole file.
    trusted, module
        See `load`.
    rounds : int, default 0
        How many files it is inside of.
    """
    if rounds > MOST_ROUNDS:
        raise InputError(
            f"its behaviour models are nested deeper than {MOST_ROUNDS} rounds.",
            hint="save it with probabilities instead of a behaviour model.",
        )
    members = members_of(data)
    if "model.json" not in members:
        raise InputError("it is not an elfair model.", hint="models are files that save() wrote.")
    document = ModelDocument.from_bytes(members["model.json"])
    check_written(data, members)
    if document.to_bytes() != members["model.json"]:
        raise InputError("model.json is not written as elfair writes it.", hint=_CHANGED)
    _check_manifest(members, document.members)
    estimator = _estimator(document)
    classes = _classes(document)
    wanted = Wanted(document.n_features, classes, trusted, module)
    trained = _trained(document, members, wanted)
    if isinstance(estimator, ELFClassifier):
        behavior = _behavior(document, members, wanted, rounds)
        estimator.classes_, estimator._behavior_model = classes, behavior
    else:
        spreads = [model.policy.spread(model.theta) for model in trained.models]
        estimator.spread_ = max(spreads)
    estimator.n_features_in_ = document.n_features
    if document.feature_names is not None:
        estimator.feature_names_in_ = np.array(document.feature_names, dtype=object)
    if document.encoding is not None:
        estimator.encoding_ = document.encoding
    estimator._trained, estimator.tuned_ = trained, trained.tuned
    estimator.certificate_ = trained.certificate
    estimator.solution_found_ = trained.certificate.passed
    return estimator


def _check_manifest(members: Mapping[str, bytes], records: Sequence[MemberRecord]) -> None:
    found = [
        MemberRecord(name, hashlib.sha256(data).hexdigest())
        for name, data in members.items()
        if name != "model.json"
    ]
    if found != list(records):
        wrong = {record.name for record in {*found} ^ {*records}} or {"their order"}
        raise InputError(
            f"its parts are not those that model.json lists: {', '.join(sorted(wrong))}.",
            hint=_CHANGED,
        )


def _estimator(document: ModelDocument) -> ELFEstimator:
    kind = ELFClassifier if document.kind == "classifier" else ELFRegressor
    estimator: ELFEstimator = kind()
    known = estimator.get_params(deep=False)
    if not isinstance(document.parameters, dict) or document.parameters.keys() != known.keys():
        raise InputError("its parameters are not those of the estimator.", hint=_CHANGED)
    parameters = {name: decode(value) for name, value in document.parameters.items()}
    estimator.set_params(**parameters)
    return estimator


def _classes(document: ModelDocument) -> Array:
    """The decisions; a regressor has none."""
    classes = decode(document.classes)
    if document.kind == "regressor":
        right = classes is None
        classes = np.empty(0)
    else:
        right = isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size >= 2
    names, kinds = document.feature_names, {record.kind for record in document.policies}
    right &= (kinds == {"gaussian"}) == (document.kind == "regressor")
    right &= document.n_features > 0 and (names is None or len(names) == document.n_features)
    if not right:
        raise InputError("its classes, features and policies do not fit together.", hint=_CHANGED)
    return np.asarray(classes)


def _trained(document: ModelDocument, members: Mapping[str, bytes], wanted: Wanted) -> Trained:
    places = set(range(len(document.policies)))
    models, tuned = len(document.lineup), decode(document.tuned)
    fits = set(document.lineup) == places and set(document.let_out) <= set(range(1, models + 1))
    fits &= 0 < len(document.let_out) == len(document.shares) and isinstance(tuned, dict)
    fits &= all(share > 0 for share in document.shares) and abs(sum(document.shares) - 1) < 1e-9
    if not fits:
        raise InputError("its line-up makes no sense.", hint=_CHANGED)
    policies = [
        read_policy(record, members, f"policies/{place}", wanted)
        for place, record in enumerate(document.policies)
    ]
    thetas = read_floats(members, "thetas.npy", (models, policies[0].n_parameters))
    lineup = tuple(
        Model(policies[place], theta) for place, theta in zip(document.lineup, thetas, strict=True)
    )
    if digests(lineup) != document.digests:
        raise InputError(
            "what was read is not what was saved: the digests of its models differ.",
            hint="install the versions of scikit-learn and skops that it was saved with.",
        )
    certificate = Certificate.from_json(_text(member(members, "certificate.json")))
    let_out = tuple(lineup[place - 1] for place in document.let_out)
    line = [document.digests[place - 1] for place in document.let_out]
    if certificate.digests.model != mixture_digest(line):
        raise InputError(
            f"its certificate is about another model, {certificate.digests.model}.",
            hint=_CHANGED,
        )
    return Trained(let_out, document.shares, lineup, certificate, tuned)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"its certificate is not text ({error}).", hint=_CHANGED) from None


def _behavior(
    document: ModelDocument, members: Mapping[str, bytes], wanted: Wanted, rounds: int
) -> Any:
    if any(record.mixed for record in document.policies) != (document.behavior != "none"):
        raise InputError("its behaviour model does not fit its policy.", hint=_CHANGED)
    if document.behavior == "none":
        return None
    if document.behavior == "elfair":
        nested = member(members, "behavior.elfair")
        model: Any = from_bytes(
            nested, trusted=wanted.trusted, module=wanted.module, rounds=rounds + 1
        )
    else:
        model = from_skops(member(members, "behavior.skops"), wanted.trusted)
    check_model(model, "behaviour model")
    return model

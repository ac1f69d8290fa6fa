"""From the bytes of a file to an estimator, after every check that the bytes allow."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from elfair.certificate import Certificate
from elfair.classifier import ELFClassifier
from elfair.columns import Array
from elfair.errors import InputError
from elfair.estimator import ELFEstimator
from elfair.models import Model, Trained, digests, mixture_digest
from elfair.persistence.container import check_written, members_of
from elfair.persistence.document import MemberRecord, ModelDocument
from elfair.persistence.objects import from_skops
from elfair.persistence.plain import decode
from elfair.persistence.policies import (
    Wanted,
    check_model,
    member,
    read_floats,
    read_policy,
)
from elfair.regressor import ELFRegressor

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

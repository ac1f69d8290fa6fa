"""From a fitted estimator to its file, and back after every check that the bytes allow.

This module knows no class of estimator: the caller of `load` passes them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from elfair.certificate import Certificate
from elfair.consistency import require_consistent
from elfair.data.setting import Setting, read_encoding
from elfair.errors import InputError
from elfair.fairness_test.issue import ladder_digest
from elfair.persistence import contents, policies
from elfair.persistence.contents import damaged, decode, encode, members_of, pack
from elfair.persistence.document import FORMAT, ModelDocument
from elfair.persistence.objects import from_skops, to_skops
from elfair.persistence.policies import Members, Reading, member
from elfair.persistence.preparations import read_preparation
from elfair.policies.models import Fitted, Model, digests
from elfair.records.files import decoded, read_whole, write_whole
from elfair.types import Array

SUFFIX = ".elfair"
#: The largest file that is read: forests of many trees have gigabytes.
MOST_BYTES = 8_000_000_000
#: Behaviour models inside behaviour models: one for each round of logged decisions.
MOST_ROUNDS = 50

#: The classes of estimators by their ``digest_tag``.
Kinds = Mapping[str, type[Any]]


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file; `ELFEstimator.save` is its public name."""
    if Path(path).suffix != SUFFIX:
        raise InputError(
            f"the name of a model file must end with {SUFFIX}. Got '{path}' instead.",
            hint=f"write '{Path(path).with_suffix('')}{SUFFIX}'.",
        )
    write_whole(path, to_bytes(estimator))


def load(
    path: str | os.PathLike[str], kinds: Kinds, *, trusted: Sequence[str] = (), module: Any = None
) -> Any:
    """Read the estimator that `save` wrote to a file; `elfair.load` is its public name."""
    if isinstance(trusted, str):
        raise InputError(
            f"trusted must be a list of names. Got {trusted!r} instead.",
            hint=f"write trusted=[{trusted!r}].",
        )
    data = read_whole(path, hint="is this the right name?", most=MOST_BYTES)
    try:
        return from_bytes(data, kinds, trusted=trusted, module=module)
    except InputError as error:
        raise InputError(f"'{path}' cannot be loaded: {error.message}", hint=error.hint) from None


def to_bytes(estimator: Any) -> bytes:
    """The file of a fitted estimator.

    Parameters
    ----------
    estimator : ELFClassifier or ELFRegressor
        Fitted, also to "no solution found".
    """
    kind = _kind(estimator)
    if kind is None:
        raise InputError(
            "only an ELFClassifier or an ELFRegressor itself can be saved. Got "
            f"{type(estimator).__name__}.",
            hint="anything that your own class adds would be lost.",
        )
    check_is_fitted(estimator)
    fitted: Fitted = estimator.fitted_
    members: Members = {"certificate.json": fitted.certificate.to_json().encode()}
    members["thetas.npy"] = contents.to_npy(np.concatenate([m.theta for m in fitted.ladder]))
    kept = {id(model.policy): model for model in fitted.ladder}
    records = [
        policies.write_policy(model, f"policies/{place}", members)
        for place, model in enumerate(kept.values())
    ]
    setting = fitted.setting
    if _kind(setting.behavior) == "classifier":
        members["behavior.elfair"] = to_bytes(setting.behavior)
    elif setting.behavior is not None:
        members["behavior.skops"] = to_skops(setting.behavior)
    names = getattr(estimator, "feature_names_in_", None)
    keys, rungs = list(kept), [id(model) for model in fitted.ladder]
    document = ModelDocument(
        format=FORMAT,
        kind=kind,
        parameters={
            name: encode(value) for name, value in sorted(estimator.get_params(deep=False).items())
        },
        n_features=int(estimator.n_features_in_),
        features=setting.features,
        feature_names=None if names is None else tuple(str(name) for name in names),
        classes=encode(setting.classes if kind == "classifier" else None, strict=True),
        policies=tuple(records),
        ladder=tuple(keys.index(id(model.policy)) for model in fitted.ladder),
        digests=digests(fitted.ladder),
        released=tuple(rungs.index(id(model)) + 1 for model in fitted.models),
        shares=tuple(map(float, fitted.shares)),
        tuned=encode(fitted.tuned),
        encoding=setting.encoding,
        members=_manifest(members),
    )
    return pack({"model.json": document.to_bytes(), **members})


def _kind(estimator: Any) -> Any:
    """The tag of a class of elfair's own; None for a subclass, which declares none."""
    return vars(type(estimator)).get("digest_tag")


def _manifest(members: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}


def from_bytes(
    data: bytes, kinds: Kinds, *, trusted: Sequence[str] = (), module: Any = None, rounds: int = 0
) -> Any:
    """The estimator of a file.

    Parameters
    ----------
    data : bytes
        The whole file.
    kinds : mapping of str to type
        The classes of estimators by their ``digest_tag``.
    trusted, module
        See `elfair.load`.
    rounds : int, default 0
        How many files this one is inside of.
    """
    if rounds > MOST_ROUNDS:
        raise InputError(
            f"its behaviour models are nested deeper than {MOST_ROUNDS} rounds.",
            hint="save it with probabilities instead of a behaviour model.",
        )
    members = members_of(data)
    document = ModelDocument.from_bytes(members.get("model.json", b"null"))
    contents.check_written(data, members)
    if document.to_bytes() != members.pop("model.json"):
        raise damaged("model.json is not written as elfair writes it.")
    _check_manifest(members, document.members)
    estimator = _estimator(document, kinds)
    reading = Reading(document.n_features, _classes(document), trusted, module)
    behavior = _behavior(document, members, reading, kinds, rounds)
    encoding = read_encoding(document.encoding)
    setting = Setting(document.features, reading.classes, behavior, encoding)
    estimator._keep(_fitted(document, members, reading, setting))
    estimator.n_features_in_ = document.n_features
    if document.feature_names is not None:
        estimator.feature_names_in_ = np.array(document.feature_names, dtype=object)
    return estimator


def _check_manifest(members: Mapping[str, bytes], said: Mapping[str, str]) -> None:
    found = _manifest(members)
    if list(found.items()) != list(said.items()):
        wrong = {name for name, _ in found.items() ^ said.items()} or {"their order"}
        raise damaged(f"its parts are not those that model.json lists: {', '.join(sorted(wrong))}.")


def _estimator(document: ModelDocument, kinds: Kinds) -> Any:
    estimator = kinds[document.kind]()
    known = estimator.get_params(deep=False)
    if not isinstance(document.parameters, dict) or document.parameters.keys() != known.keys():
        raise damaged("its parameters are not those of the estimator.")
    parameters = {name: decode(value) for name, value in document.parameters.items()}
    return estimator.set_params(**parameters)


def _classes(document: ModelDocument) -> Array:
    """The decisions; a regressor has none."""
    classes = decode(document.classes)
    if document.kind == "regressor":
        right = classes is None
        classes = np.empty(0)
    else:
        right = isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size >= 2
    names, kinds = document.feature_names, {record.kind for record in document.policies}
    right &= kinds <= set(policies.FORMATS)
    right &= all(policies.FORMATS[kind].estimator == document.kind for kind in kinds if right)
    right &= 0 < document.n_features == len(document.features)
    right &= names == document.features or (names is None and _are_numbered(document.features))
    if not right:
        raise damaged("its classes, features and policies do not fit together.")
    return np.asarray(classes)


def _are_numbered(features: Sequence[str]) -> bool:
    """Whether features may have come without names of their own."""
    return all(name.removeprefix("x").removeprefix("-").isdigit() for name in features)


def _fitted(
    document: ModelDocument, members: Mapping[str, bytes], reading: Reading, setting: Setting
) -> Fitted:
    rungs, shares, tuned = len(document.ladder), document.shares, decode(document.tuned)
    fits = set(document.ladder) == set(range(len(document.policies)))
    fits &= set(document.released) <= set(range(1, rungs + 1))
    fits &= 0 < len(document.released) == len(shares) and isinstance(tuned, dict)
    fits &= all(share > 0 for share in shares) and abs(sum(shares) - 1) < 1e-9
    if not fits:
        raise damaged("its ladder of models makes no sense.")
    read = []
    for place, record in enumerate(document.policies):
        folder = f"policies/{place}"
        prepared = read_preparation(record.preparation, folder, members, reading.trusted)
        seen = reading.n_features if prepared is None else len(prepared.names)
        fitting = replace(reading, n_features=seen)
        read.append((policies.read_policy(record, members, folder, fitting), prepared))
    families = [read[place] for place in document.ladder]
    ends = np.cumsum([policy.n_parameters for policy, _ in families])
    numbers = policies.read_floats(members, "thetas.npy", (int(ends[-1]),))
    ladder = tuple(
        Model(policy, theta, prepared, setting)
        for (policy, prepared), theta in zip(families, np.split(numbers, ends[:-1]), strict=True)
    )
    if digests(ladder) != document.digests:
        raise InputError(
            "what was read is not what was saved: the digests of its models differ.",
            hint="install the versions of scikit-learn and skops that it was saved with.",
        )
    written = member(members, name := "certificate.json")
    certificate = Certificate.from_json(decoded(written, name, hint=contents.DAMAGED))
    released = tuple(ladder[place - 1] for place in document.released)
    fitted = Fitted(released, shares, ladder, certificate, tuned)
    _check_certificate(fitted)
    return fitted


def _check_certificate(fitted: Fitted) -> None:
    """Raise unless the certificate agrees with itself, and is about these models."""
    certificate, setting = fitted.certificate, fitted.setting
    said = certificate.digests
    pairs = {
        "model": (said.model, fitted.digest()),
        "ladder": (said.ladder, ladder_digest(digests(fitted.ladder))),
        "classes": (certificate.classes, tuple(str(name) for name in setting.classes)),
        "features": (certificate.roles.features, setting.features),
    }
    for what, (named, found) in pairs.items():
        if named != found:
            raise damaged(f"its certificate is about another {what}: {named}, and not {found}.")
    require_consistent(certificate)


def _behavior(
    document: ModelDocument,
    members: Mapping[str, bytes],
    reading: Reading,
    kinds: Kinds,
    rounds: int,
) -> Any:
    """The behaviour model that a classifier keeps, if any."""
    kept = [name for name in ("behavior.elfair", "behavior.skops") if name in members]
    if len(kept) != any(record.mixed for record in document.policies):
        raise damaged("its behaviour model does not fit its policy.")
    if not kept:
        return None
    if kept == ["behavior.elfair"]:
        given = {"trusted": reading.trusted, "module": reading.module}
        model = from_bytes(members[kept[0]], kinds, rounds=rounds + 1, **given)
    else:
        model = from_skops(members[kept[0]], reading.trusted)
    policies.check_model(model, "behaviour model")
    return model

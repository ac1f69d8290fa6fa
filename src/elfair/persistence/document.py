"""The records in ``model.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from elfair.errors import InputError
from elfair.persistence.contents import text_of
from elfair.records.json import from_json, to_json

FORMAT = "elfair.model/1"
_FAMILY = "elfair.model/"

Kind = Literal["classifier", "regressor"]
PolicyKind = Literal["softmax", "scored", "module", "gaussian"]
BehaviorKind = Literal["none", "elfair", "object"]


@dataclass(frozen=True)
class MemberRecord:
    """Another member of the file.

    Parameters
    ----------
    name : str
        Its name.
    sha256 : str
        The digest of its bytes.
    """

    name: str
    sha256: str


@dataclass(frozen=True)
class TensorRecord:
    """A tensor of a torch module.

    Parameters
    ----------
    name : str
        Its name in the module's state.
    trained : bool
        Whether theta replaces it.
    """

    name: str
    trained: bool


@dataclass(frozen=True)
class PolicyRecord:
    """A policy. Its arrays and its scorer are members of their own.

    Parameters
    ----------
    kind : {"softmax", "scored", "module", "gaussian"}
        Its family: the ``digest_tag`` of its class.
    mixed : bool
        Whether it is mixed with the behaviour model.
    numbers : tuple of float
        For a Gaussian policy: level, unit, smallest and largest. For any other: the exploration.
    tensors : tuple of TensorRecord
        The state of a module.
    """

    kind: PolicyKind
    mixed: bool
    numbers: tuple[float, ...]
    tensors: tuple[TensorRecord, ...]


@dataclass(frozen=True)
class ModelDocument:
    """Everything about a saved estimator except arrays, objects and the certificate.

    Parameters
    ----------
    format : str
        The version of this record.
    kind : {"classifier", "regressor"}
        The estimator: the ``digest_tag`` of its class.
    parameters : dict
        The estimator's parameters, each as `encode` writes it.
    n_features : int
        The number of features it was fitted to.
    feature_names : tuple of str, optional
        Their names, if they had any.
    classes : object
        The decisions, as `encode` writes them; None for a regressor.
    policies : tuple of PolicyRecord
        One, or one for each fold.
    ladder : tuple of int
        For each model of the ladder, in order, the policy it belongs to.
    digests : tuple of str
        The digest of each of these models.
    released : tuple of int
        The places on the ladder, from 1, of the models that the certificate is about.
    shares : tuple of float
        How often each of these is picked.
    tuned : object
        What ``candidate_tuning`` chose, as `encode` writes it.
    behavior : {"none", "elfair", "object"}
        Whether a behaviour model is kept, and how.
    encoding : dict, optional
        How a table becomes features, as the caller of ``save`` described it.
    members : tuple of MemberRecord
        The other members of the file, in order.
    """

    format: str
    kind: Kind
    parameters: Any
    n_features: int
    feature_names: tuple[str, ...] | None
    classes: Any
    policies: tuple[PolicyRecord, ...]
    ladder: tuple[int, ...]
    digests: tuple[str, ...]
    released: tuple[int, ...]
    shares: tuple[float, ...]
    tuned: Any
    behavior: BehaviorKind
    encoding: Any
    members: tuple[MemberRecord, ...]

    def to_bytes(self) -> bytes:
        """The JSON text."""
        try:
            return to_json(self).encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"the names of features and classes must be valid text. Got {error}.",
                hint="read the table with the encoding in which it was written.",
            ) from None

    @classmethod
    def from_bytes(cls, data: bytes) -> ModelDocument:
        """The record; other versions are refused."""
        text = text_of(data, "model.json")
        _check_format(text)
        return from_json(text, cls)


def _check_format(text: str) -> None:
    """Refuse another version by its name alone, whatever else the record says."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return  # the strict reader will say what is wrong
    said = document.get("format") if isinstance(document, dict) else None
    if said == FORMAT:
        return
    if isinstance(said, str) and said.startswith(_FAMILY):
        raise InputError(
            f"it has the format {said!r}; this version of elfair reads {FORMAT!r}.",
            hint="pip install --upgrade elfair.",
        )
    raise InputError(
        "it is not an elfair model.", hint="only files that save() wrote can be loaded."
    )

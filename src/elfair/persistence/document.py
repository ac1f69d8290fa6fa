"""What ``model.json`` says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from elfair.errors import InputError
from elfair.records.json import from_json, to_json

FORMAT = "elfair.model/1"
_FAMILY = "elfair.model/"

Kind = Literal["classifier", "regressor"]
PolicyKind = Literal["softmax", "scored", "module", "gaussian"]
BehaviorKind = Literal["none", "elfair", "object"]


@dataclass(frozen=True)
class MemberRecord:
    """Another part of the file.

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
        Whether theta takes its place.
    """

    name: str
    trained: bool


@dataclass(frozen=True)
class PolicyRecord:
    """A family of models; its arrays, and its scorer, are parts of their own.

    Parameters
    ----------
    kind : {"softmax", "scored", "module", "gaussian"}
        Which family.
    mixed : bool
        Whether it is mixed with the behaviour model.
    numbers : tuple of float
        level, unit, smallest and largest of a Gaussian policy; of any other, the exploration.
    tensors : tuple of TensorRecord
        The state of a module.
    """

    kind: PolicyKind
    mixed: bool
    numbers: tuple[float, ...]
    tensors: tuple[TensorRecord, ...]


@dataclass(frozen=True)
class ModelDocument:
    """All of a saved estimator but its arrays, its objects and its certificate.

    Parameters
    ----------
    format : str
        The version of this record.
    kind : {"classifier", "regressor"}
        Which estimator.
    parameters : dict
        Those of the estimator, each as `encode` writes it.
    n_features : int
        How many features it was fitted to.
    feature_names : tuple of str, optional
        Their names, where they had any.
    classes : object
        The decisions, as `encode` writes them; None of a regressor.
    policies : tuple of PolicyRecord
        One, or one for each fold.
    ladder : tuple of int
        For each model of the ladder, in order, the policy it belongs to.
    digests : tuple of str
        The digest of each of these models.
    released : tuple of int
        The places on the ladder, from 1, of the models that the certificate is about.
    shares : tuple of float
        How often each of those is picked.
    tuned : object
        What ``candidate_tuning`` chose, as `encode` writes it.
    behavior : {"none", "elfair", "object"}
        Whether a behaviour model is kept, and how.
    encoding : dict, optional
        How a table becomes features, for whoever saved it.
    members : tuple of MemberRecord
        The other parts of the file, in order.
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
                f"the names of features and classes must be text that can be written. Got {error}.",
                hint="read the table with the encoding that it was written in.",
            ) from None

    @classmethod
    def from_bytes(cls, data: bytes) -> ModelDocument:
        """The record; one of another version is refused."""
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"model.json is not text ({error}).", hint="it was changed after it was saved."
            ) from None
        _check_format(text)
        return from_json(text, cls)


def _check_format(text: str) -> None:
    """A version that is not this one is told from the record alone, whatever else it says."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return  # the strict reader says what is wrong
    said = document.get("format") if isinstance(document, dict) else None
    if said == FORMAT:
        return
    if isinstance(said, str) and said.startswith(_FAMILY):
        raise InputError(
            f"it has the format {said!r}; this version of elfair reads {FORMAT!r}.",
            hint="pip install --upgrade elfair.",
        )
    raise InputError("it is not an elfair model.", hint="models are files that save() wrote.")

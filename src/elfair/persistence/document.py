"""The records in ``model.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from elfair.errors import InputError
from elfair.persistence.contents import DAMAGED
from elfair.records.files import decoded
from elfair.records.json import from_plain, parse, to_json

FORMAT = "elfair.model/2"

Kind = Literal["classifier", "regressor"]


@dataclass(frozen=True)
class PolicyRecord:
    """A policy. Its arrays and its scorer are members of their own.

    Parameters
    ----------
    kind : str
        Its family: the ``digest_tag`` of its class, in `FORMATS`.
    mixed : bool
        Whether it is mixed with the behaviour model.
    numbers : tuple of float
        Its numbers, in the order of `FORMATS`.
    tensors : mapping of str to bool
        The names of a module's tensors, in order, and whether theta replaces each.
    preparation : object
        How its models prepare features; None if these came as plain numbers.
    sees : object
        What its scorer sees of features; None if that is what its models see.
    """

    kind: str
    mixed: bool
    numbers: tuple[float, ...]
    tensors: Mapping[str, bool]
    preparation: Any
    sees: Any


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
    features : tuple of str
        What they are called in the table of logged decisions.
    feature_names : tuple of str, optional
        The same, if scikit-learn knows them by names.
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
    encoding : dict, optional
        How a table becomes features; see `elfair.LoggedData`.
    members : mapping of str to str
        The other members of the file, in order, each with the SHA-256 of its bytes.
    """

    format: str
    kind: Kind
    parameters: Any
    n_features: int
    features: tuple[str, ...]
    feature_names: tuple[str, ...] | None
    classes: Any
    policies: tuple[PolicyRecord, ...]
    ladder: tuple[int, ...]
    digests: tuple[str, ...]
    released: tuple[int, ...]
    shares: tuple[float, ...]
    tuned: Any
    encoding: Any
    members: Mapping[str, str]

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
        plain = parse(decoded(data, "model.json", hint=DAMAGED))
        said = plain.get("format") if isinstance(plain, dict) else None
        if isinstance(said, str) and said != FORMAT and said.startswith("elfair.model/"):
            raise InputError(
                f"it has the format {said!r}; this version of elfair reads {FORMAT!r}.",
                hint="load it with the version of elfair that saved it.",
            )
        if said != FORMAT:
            raise InputError(
                "it is not an elfair model.", hint="only files that save() wrote can be loaded."
            )
        return from_plain(plain, cls)

"""Preparations as a record, and a fitted transformer as an object; and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elfair.data.preparation import (
    ColumnPreparation,
    DefaultPreparation,
    FittedTransformer,
    Preparation,
)
from elfair.errors import InputError
from elfair.persistence.contents import damaged, decode, encode
from elfair.persistence.objects import from_skops, to_skops

PREPROCESSOR = "preprocessor.skops"


def write_preparation(
    preparation: Preparation | None, folder: str, members: dict[str, bytes]
) -> Any:
    """The record of a preparation; a fitted transformer becomes a member of the file.

    Parameters
    ----------
    preparation : Preparation or None
        That of a model; None if its features came as plain numbers.
    folder : str
        Where its member goes.
    members : dict
        The members of the file.

    Examples
    --------
    >>> import numpy as np
    >>> learnt = DefaultPreparation.learn({"age": np.array([30.0, np.nan])})
    >>> read_preparation(write_preparation(learnt, "", {}), "", {}) == learnt
    True
    """
    if preparation is None:
        return None
    if isinstance(preparation, FittedTransformer):
        members[f"{folder}/{PREPROCESSOR}"] = to_skops(preparation.transformer)
        known = (preparation.columns, preparation.frame, preparation.names)
        return {"transformer": encode(known, strict=True)}
    assert isinstance(preparation, DefaultPreparation)
    columns = [tuple(vars(column).values()) for column in preparation.columns]
    return {"default": encode(columns, strict=True)}


def read_preparation(
    record: Any, folder: str, members: Mapping[str, bytes], trusted: Sequence[str] = ()
) -> Preparation | None:
    """The preparation of a record."""
    if record is None:
        return None
    try:
        ((kind, content),) = record.items()
        known = decode(content)
        if kind == "default":
            return DefaultPreparation(tuple(ColumnPreparation(*each) for each in known))
        columns, frame, names = known
        transformer = from_skops(members[f"{folder}/{PREPROCESSOR}"], trusted)
        return FittedTransformer(transformer, tuple(columns), bool(frame), list(names))
    except InputError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damaged(f"its preparation cannot be read ({error}).") from None

"""Preparations as a record, a fitted transformer as an object, and what a scorer sees; and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elfair.data.as_they_are import AsTheyAre
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
    return {"default": _write_columns(preparation.columns)}


def read_preparation(
    record: Any, folder: str, members: Mapping[str, bytes], trusted: Sequence[str] = ()
) -> Preparation | None:
    """The preparation of a record."""
    if record is None:
        return None
    try:
        ((kind, content),) = record.items()
        if kind == "default":
            return DefaultPreparation(_read_columns(content))
        known = decode(content)
        columns, frame, names = known
        transformer = from_skops(members[f"{folder}/{PREPROCESSOR}"], trusted)
        return FittedTransformer(transformer, tuple(columns), bool(frame), list(names))
    except InputError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damaged(f"its preparation cannot be read ({error}).") from None


def write_sees(sees: AsTheyAre | None) -> Any:
    """The record of what a scorer sees; None if that is what its policy sees.

    Parameters
    ----------
    sees : AsTheyAre, optional
        What it sees.

    Examples
    --------
    >>> import numpy as np
    >>> sees = AsTheyAre.learn({"age": np.array([30.0, np.nan])}, categories=False)
    >>> read_sees(write_sees(sees)) == sees
    True
    """
    if sees is None:
        return None
    return {"columns": _write_columns(sees.columns), "categories": sees.categories}


def read_sees(record: Any) -> AsTheyAre | None:
    """What a scorer sees, from its record."""
    if record is None:
        return None
    try:
        return AsTheyAre(_read_columns(record["columns"]), bool(record["categories"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damaged(f"what its scorer sees cannot be read ({error}).") from None


def _write_columns(columns: Sequence[ColumnPreparation]) -> Any:
    return encode([tuple(vars(column).values()) for column in columns], strict=True)


def _read_columns(record: Any) -> tuple[ColumnPreparation, ...]:
    return tuple(ColumnPreparation(*each) for each in decode(record))

"""Fitted scikit-learn objects through skops: only data, rebuilt from trusted types.

skops writes memory addresses as names and numbers, and the padding of a compiled tree's records as
memory held it. This module brings the file into one form, so the same object gives the same bytes.
Before it reads anything, it checks that the parts are as small as they claim.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from elfair.data.digests import content_digest
from elfair.errors import InputError, MissingPackageError, install_extra
from elfair.persistence.contents import check_written, from_npy, members_of, pack, to_npy

_SCHEMA = "schema.json"
#: Types that skops does not know to be harmless: a fitted imputer remembers the kind of its column,
#: and gradient boosting with categories checks its columns by a function with its arguments. (What
#: is inside them is examined all the same.)
HARMLESS = ("numpy.dtype", "functools.partial", "sklearn.utils.validation.check_array")


def to_skops(value: Any) -> bytes:
    """An object as skops writes it, in one form.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [1]], [0, 1])
    >>> from_skops(to_skops(model)).predict_proba([[0]])
    array([[0.5, 0.5]])
    """
    skops, name = _skops(), type(value).__name__
    try:
        data = _canonical(skops.dumps(value))
        again = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
        if content_digest(again) != content_digest(value):
            raise ValueError("it would not be the same after loading")
    except Exception as error:  # the object's own methods may raise anything
        raise InputError(
            f"{name} cannot be saved without pickle: {error}.",
            hint="use a classifier of scikit-learn, with parameters that are plain values.",
        ) from error
    return data


def from_skops(data: bytes, trusted: Sequence[str] = ()) -> Any:
    """The object; types that are neither known to be harmless nor trusted are refused.

    Parameters
    ----------
    data : bytes
        From `to_skops`.
    trusted : sequence of str
        Full names of further types that may be built.
    """
    skops, trusted = _skops(), [*HARMLESS, *trusted]
    members = members_of(data)
    check_written(data, members)
    for name, member in members.items():
        if name.endswith(".npy"):
            from_npy(member)  # before skops trusts its header
        elif name != _SCHEMA and not name.endswith(".bin"):
            raise InputError(
                f"it holds {name!r}, which elfair does not read.",
                hint="it was made by another tool.",
            )
    try:
        strange = sorted(set(skops.get_untrusted_types(data=data)) - set(trusted))
        if not strange:
            return skops.loads(data, trusted=trusted)
    except Exception as error:  # a damaged schema can fail anywhere
        raise InputError(
            f"an object in it cannot be read ({type(error).__name__}: {error}).",
            hint="install the versions of scikit-learn and skops that it was saved with.",
        ) from None
    raise InputError(
        f"it holds objects of types that are not trusted: {', '.join(strange)}.",
        hint=f"if you trust its author and these types, pass trusted={strange!r}.",
    )


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise MissingPackageError(
            "saving or loading a scikit-learn object needs skops, which cannot be imported.",
            hint=install_extra("skops"),
        ) from None
    return skops.io


def _canonical(data: bytes) -> bytes:
    """The same object, written in one form."""
    members = members_of(data)
    schema = json.loads(members.pop(_SCHEMA))
    named: dict[str, tuple[str, bytes]] = {}
    for name, member in members.items():
        if name.endswith(".npz"):
            raise ValueError("it holds a sparse matrix")
        tidy = to_npy(from_npy(member)) if name.endswith(".npy") else member
        # Named by its contents: whether two equal arrays are one object in memory is chance.
        named[name] = (f"{hashlib.sha256(tidy).hexdigest()[:32]}{name[-4:]}", tidy)
    text = json.dumps(_node({**schema, "_skops_version": None}, named), ensure_ascii=True)
    return pack({_SCHEMA: text.encode(), **dict(sorted(named.values()))})


def _node(part: Any, named: dict[str, tuple[str, bytes]]) -> Any:
    """A part of the schema, without addresses and with the new file names."""
    if isinstance(part, list):
        return [_node(each, named) for each in part]
    if not isinstance(part, dict):
        return part
    tidy = {key: _node(value, named) for key, value in part.items()}
    loader = part.get("__loader__")
    if isinstance(loader, str):  # otherwise it is a mapping whose values are nodes
        tidy.pop("__id__", None)
        if "file" in tidy:
            tidy["file"] = named[tidy["file"]][0]
        if loader == "SetNode":  # sets are in hash order, which differs between processes
            tidy["content"].sort(key=json.dumps)
    return tidy

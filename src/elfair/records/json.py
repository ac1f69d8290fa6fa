"""Plain records (frozen dataclasses) to JSON and back, strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import cleandoc
from math import isfinite
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from elfair.errors import InputError
from elfair.records.reading import Reader

Record = TypeVar("Record")


def to_json(record: Any, *, indent: int | None = 2) -> str:
    """A record as JSON text that any reader understands: infinities and NaN become strings.

    Parameters
    ----------
    record : dataclass
        Numbers, text, truth values, None, tuples of these and records of these.
    indent : int or None, default 2
        How far to indent; None writes one line.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Bound:
    ...     upper: float
    >>> to_json(Bound(float("inf")), indent=None)
    '{"upper": "inf"}'
    """
    return json.dumps(to_plain(record), indent=indent, ensure_ascii=False, allow_nan=False)


def from_json(text: str, kind: type[Record]) -> Record:
    """A record from JSON text; a missing, unknown, repeated or ill-typed field is an error.

    Parameters
    ----------
    text : str
        What `to_json` wrote.
    kind : type
        The dataclass to read.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Bound:
    ...     upper: float
    >>> from_json('{"upper": 0.5}', Bound).upper
    0.5
    """
    return from_plain(parse(text), kind)


def from_plain(document: Any, kind: type[Record]) -> Record:
    """A record from parsed JSON; see `from_json`."""
    name = kind.__name__.lower()
    if not isinstance(document, dict):
        raise _wrong(f"{name} must be an object. Got {document!r} instead.")
    reader = Reader(complete=True)
    result: Record = reader.record(document, kind, name)
    for mistake in reader.mistakes:
        path = f"{mistake.table}.{mistake.name}"
        if mistake.code == "unknown":
            only = f"an object with only the fields {', '.join(mistake.keys)}"
            raise _wrong(f"{mistake.table} must be {only}. Got {mistake.got!r} instead.")
        path += "".join(f"[{step}]" for step in mistake.inside)
        raise _wrong(f"{path} must be {mistake.words}. Got {mistake.got!r} instead.")
    return result


def _wrong(message: str) -> InputError:
    return InputError(
        message, hint="the record was changed, cut short, or written by another version."
    )


def parse(text: str) -> Any:
    """JSON text as plain values, without what readers may understand differently.

    Parameters
    ----------
    text : str
        The text; a name that comes twice in an object, and a bare NaN or Infinity, are refused.

    Examples
    --------
    >>> parse('{"upper": [0.5]}')
    {'upper': [0.5]}
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except InputError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"this is not JSON: {error}.", hint="pass the text that to_json() wrote, whole."
        ) from None


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of what `to_json` writes of a record.

    What a field means is taken from the record's docstring. Records inside stand under ``$defs``.

    Parameters
    ----------
    kind : type
        A dataclass.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Bound:
    ...     upper: float
    >>> schema = json_schema(Bound)
    >>> schema["$ref"], schema["$defs"]["Bound"]["properties"]["upper"]
    ('#/$defs/Bound', {'anyOf': [{'type': 'number'}, {'enum': ['inf', '-inf', 'nan']}]})
    """
    known: dict[str, Any] = {}
    return {**_schema(kind, known), "$defs": dict(sorted(known.items()))}


_PLAIN = {bool: "boolean", int: "integer", str: "string"}


def _schema(kind: Any, known: dict[str, Any]) -> dict[str, Any]:
    origin = get_origin(kind)
    if is_dataclass(kind):
        name = getattr(kind, "__name__", "")
        if name not in known:
            known[name] = {}  # a record that holds itself would end here
            known[name] |= _record_schema(kind, known)
        return {"$ref": f"#/$defs/{name}"}
    if origin is Literal:
        return {"enum": list(get_args(kind))}
    if origin in (Union, UnionType):
        (inner,) = (argument for argument in get_args(kind) if argument is not NoneType)
        return {"anyOf": [_schema(inner, known), {"type": "null"}]}
    if origin is Annotated:
        return _schema(get_args(kind)[0], known)
    if origin is tuple:
        return {"type": "array", "items": _schema(get_args(kind)[0], known)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(get_args(kind)[1], known)}
    if kind is float:
        return {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}]}
    return {"type": _PLAIN[kind]}


def _record_schema(kind: Any, known: dict[str, Any]) -> dict[str, Any]:
    hints, told = get_type_hints(kind, include_extras=True), _told(kind.__doc__ or "")
    properties = {}
    for field in fields(kind):
        described = {"description": told[field.name]} if field.name in told else {}
        properties[field.name] = {**_schema(hints[field.name], known), **described}
    summary = (kind.__doc__ or "").strip().partition("\n\n")[0]
    described = {} if summary.startswith(f"{kind.__name__}(") else {"description": summary}
    return object_schema(properties, **described)


def object_schema(properties: dict[str, Any], **described: str) -> dict[str, Any]:
    """The JSON schema of an object with exactly these properties."""
    return {
        "type": "object",
        **described,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _told(doc: str) -> dict[str, str]:
    """What the parameters of a numpydoc docstring are, by name."""
    section = cleandoc(doc).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    told: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section.splitlines():
        if not line.startswith(" "):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        for name in names:
            told.setdefault(name, []).extend([line.strip()] if line.startswith(" ") else [])
    return {name: " ".join(lines) for name, lines in told.items()}


def to_plain(value: Any) -> Any:
    """A record as objects, lists, numbers and text; infinities and NaN as text."""
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: to_plain(item) for name, item in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of some pairs; of a name that comes twice, readers would see different values."""
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for name in names if names.count(name) > 1)
        raise _wrong(f"a field must be written once. Got {again!r} instead.")
    return document


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} must be written as text, in quotes")

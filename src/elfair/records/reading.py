"""Plain records (frozen dataclasses) read strictly from parsed JSON or TOML, with every problem.

A record's fields and types say what a document may hold. A field of a file that people write is
declared with `key`, which adds what the value must be, what it is for, and an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from elfair.records.allowed import Allowed, is_number

#: Stands for the default of what must be given.
REQUIRED: Any = MISSING

Code: TypeAlias = Literal["unknown", "missing", "wrong"]
#: From a value to an item inside it.
Steps: TypeAlias = tuple[str | int, ...]


Keys: TypeAlias = Mapping[str, "Key"]


@dataclass(frozen=True)
class Key:
    """A key of a table: what its value may be, and what people are told about it.

    Parameters
    ----------
    kind : type
        The type of the value.
    allowed : Allowed, optional
        What the value may be, if the type does not say all of it.
    default : object
        What holds without it; REQUIRED if it must be given.
    example : object
        A value to show.
    about : str
        What it is for.
    keys : mapping of str to Key, optional
        The keys of a table (or of each in a list of tables) that is read into a mapping.
    """

    kind: Any
    allowed: Allowed | None = None
    default: Any = field(default_factory=lambda: REQUIRED)
    example: Any = None
    about: str = ""
    keys: Keys | None = None


def key(
    allowed: Allowed | None = None,
    example: Any = None,
    about: str = "",
    *,
    default: Any = REQUIRED,
    keys: Keys | None = None,
) -> Any:
    """A field of a record that people write; given by name, so one with a default may come first.

    Parameters
    ----------
    allowed, example, about, keys
        See `Key`.
    default : object, optional
        What holds without it; a class, such as dict, is called.

    Examples
    --------
    >>> from elfair.records.allowed import whole
    >>> @dataclass(frozen=True)
    ... class Sizes:
    ...     seeds: int = key(whole(1), 100, "how often each size is drawn")
    >>> keys_of(Sizes)["seeds"].allowed.words
    'a whole number of at least 1'
    """
    told = {"key": Key(None, allowed, default, example, about, keys)}
    if isinstance(default, type):
        return field(default_factory=default, kw_only=True, metadata=told)
    return field(default=default, kw_only=True, metadata=told)


@cache
def keys_of(record: Any) -> Keys:
    """The keys of a record, by name, in their order.

    Parameters
    ----------
    record : type
        A dataclass.
    """
    hints = get_type_hints(record, include_extras=True)
    keys = {}
    for each in fields(record):
        known = each.metadata.get("key", Key(None))
        made = each.default if each.default_factory is MISSING else each.default_factory()
        keys[each.name] = replace(known, kind=hints[each.name], default=made)
    return keys


def record_inside(kind: Any) -> Any:
    """The record that a type holds: alone, or in a tuple or a union; None if there is none.

    Parameters
    ----------
    kind : type
        The type of a field.
    """
    if isinstance(kind, type) and is_dataclass(kind):
        return kind
    return next(filter(None, map(record_inside, get_args(kind))), None)


def keys_inside(known: Key) -> Keys | None:
    """The keys of the table, or of each table of the list, that a key holds; None without one.

    Parameters
    ----------
    known : Key
        The key.
    """
    record = record_inside(known.kind)
    return known.keys if record is None else keys_of(record)


@dataclass(frozen=True)
class Mistake:
    """Something that is not as a record describes it.

    Parameters
    ----------
    code : {"unknown", "missing", "wrong"}
        A key that does not exist, one that is not there, or a value that is not allowed.
    table : str
        The table that it is in, such as ``constraints[0]``; empty at the top.
    name : str
        The key.
    words : str
        What the value must be.
    got : object
        What is there instead.
    inside : tuple of str or int
        The steps to it inside the value of the key.
    keys : mapping of str to Key
        All keys of the table.
    """

    code: Code
    table: str
    name: str
    words: str
    got: Any
    inside: Steps
    keys: Keys


class Reader:
    """Reads documents, and collects all mistakes.

    Parameters
    ----------
    complete : bool
        Whether a key that is not there is a problem even if it has a default, and numbers that are
        not finite are spelt as text: as a program wrote it.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Bound:
    ...     upper: float
    ...     lower: float = 0.0
    >>> reader = Reader(complete=False)
    >>> reader.record({"upper": 1}, Bound)
    Bound(upper=1.0, lower=0.0)
    >>> reader.record({"upper": "low", "n": 3}, Bound)
    >>> [(each.code, each.name) for each in reader.mistakes]
    [('unknown', 'n'), ('wrong', 'upper')]
    """

    def __init__(self, *, complete: bool) -> None:
        self.mistakes: list[Mistake] = []
        self._complete = complete

    def record(self, document: Mapping[str, Any], kind: Any, table: str = "") -> Any:
        """The record that a table describes; None if there is a problem with it.

        Parameters
        ----------
        document : mapping
            The table.
        kind : type
            A dataclass.
        table : str
            What mistakes call the table.
        """
        before = len(self.mistakes)
        found = self._table(document, keys_of(kind), table)
        return kind(**found) if len(self.mistakes) == before else None

    def _table(self, document: Mapping[str, Any], keys: Keys, table: str) -> dict[str, Any]:
        found = {}
        for name in document:
            if name not in keys:
                self._note("unknown", _Place(table, name, keys), "", name)
        for name, known in keys.items():
            at = _Place(table, name, keys)
            if name in document:
                # Of its type, and then whatever else it must be.
                kind = Annotated[known.kind, known.allowed] if known.allowed else known.kind
                found[name] = self._typed(document[name], kind, at)
            elif self._complete or known.default is REQUIRED:
                self._note("missing", at, "a value", "nothing")
        return found

    def _typed(self, value: Any, kind: Any, at: _Place) -> Any:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            if value is None and NoneType in arguments:
                return None
            (inner,) = (each for each in arguments if each is not NoneType)
            return self._typed(value, inner, at)
        if origin is Annotated:
            before, read = len(self.mistakes), self._typed(value, arguments[0], at)
            if value is None and NoneType in get_args(
                arguments[0]
            ):  # a program wrote down that it is not given
                return read
            if len(self.mistakes) == before and not arguments[1].fits(value):
                self._note("wrong", at, "", value)
            return read
        if is_dataclass(kind) or origin is Mapping:
            return self._mapping(value, kind, at)
        if origin is tuple:
            if isinstance(value, list):
                return tuple(
                    self._typed(each, arguments[0], at.down(k)) for k, each in enumerate(value)
                )
            return self._note("wrong", at, "a list", value)
        return self._plain(value, kind, at)

    def _mapping(self, value: Any, kind: Any, at: _Place) -> Any:
        keys = at.keys[at.name].keys
        if not isinstance(value, Mapping):
            return self._note("wrong", at, "an object" if self._complete else "a table", value)
        if is_dataclass(kind):
            return self.record(value, kind, at.path)
        if keys is not None:
            return self._table(value, keys, at.path)
        inner = get_args(kind)[1]
        return {name: self._typed(each, inner, at.down(name)) for name, each in value.items()}

    def _plain(self, value: Any, kind: Any, at: _Place) -> Any:
        if kind is Any:
            return value
        if get_origin(kind) is Literal:
            right, words = value in get_args(kind), f"one of {get_args(kind)}"
        elif kind is float:
            if self._complete and value in ("inf", "-inf", "nan"):
                return float(value)
            right, words = is_number(value), "a number"
        else:
            right = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
            words = f"a value of type {kind.__name__}"
        if not right:
            return self._note("wrong", at, words, value)
        return float(value) if kind is float else value

    def _note(self, code: Code, at: _Place, words: str, got: Any) -> None:
        known = at.keys.get(at.name)
        words = known.allowed.words if known and known.allowed else words
        self.mistakes.append(Mistake(code, at.table, at.name, words, got, at.steps, at.keys))


class _Place(NamedTuple):
    """The key that is being read, and the steps to an item inside its value."""

    table: str
    name: str
    keys: Keys
    steps: Steps = ()

    def down(self, step: str | int) -> _Place:
        """An item of the value."""
        return self._replace(steps=(*self.steps, step))

    @property
    def path(self) -> str:
        """What a table inside the value is called."""
        path = f"{self.table}.{self.name}" if self.table else self.name
        return path + "".join(f"[{step}]" for step in self.steps)

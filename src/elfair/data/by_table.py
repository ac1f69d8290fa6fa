"""What was computed of a table, kept as long as the table is."""

from __future__ import annotations

from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Value = TypeVar("Value")


class ByTable(WeakKeyDictionary[Any, Value]):
    """A cache by table. A copy, and another process, start with an empty one."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

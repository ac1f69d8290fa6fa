"""The setting of a model: what its decisions depend on beside the policy and its parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from elfair.errors import InputError
from elfair.types import Array

if TYPE_CHECKING:
    from elfair.data.table import LoggedData


@dataclass(frozen=True, eq=False)
class Setting:
    """What stands between people and a model, and between the model and its decisions.

    Parameters
    ----------
    features : tuple of str
        The features that it is asked about, in their order.
    classes : ndarray
        The decisions, in the order of its probabilities; empty if decisions are numbers.
    behavior : object, optional
        The behaviour model that it is mixed with.
    encoding : mapping, optional
        How a table becomes features; see `LoggedData`.

    Examples
    --------
    >>> from elfair.data import LoggedData
    >>> from elfair.data.digests import content_digest
    >>> one, other = (LoggedData([[0.0], [1.0]], classes=names) for names in (["a", "b"], [0, 1]))
    >>> content_digest(Setting.of(one, "policy")) == content_digest(Setting.of(other, "policy"))
    False
    """

    digest_tag: ClassVar[str] = "setting"

    features: tuple[str, ...]
    classes: Array
    behavior: Any = None
    encoding: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, data: LoggedData, policy: Any) -> Setting:
        """The setting of a policy that was found on these rows."""
        mixed = getattr(policy, "mixed", False)
        behavior = data.behavior_model if mixed else None
        return cls(tuple(data.feature_names), data.classes, behavior, data.encoding)

    def digest_content(self) -> Any:
        """All of it; whether decisions are kept as numpy's or Python's values does not count."""
        kind = self.classes.dtype.str if self.classes.dtype.kind in "Mm" else ""
        return self.features, kind, self.classes.tolist(), self.behavior, self.encoding


def read_encoding(encoding: Any) -> dict[str, Any] | None:
    """An encoding as a model file will hold it; anything that JSON would change is refused.

    Examples
    --------
    >>> read_encoding({"columns": ["a", "b"]})
    {'columns': ['a', 'b']}
    """
    if encoding is None:
        return None
    try:
        again, reason = json.loads(json.dumps(encoding, allow_nan=False)), ""
    except (TypeError, ValueError, RecursionError) as error:
        again, reason = None, f" ({error})"
    if not isinstance(again, dict) or again != encoding:
        raise InputError(
            "encoding must be a dict of text, numbers, lists and dicts, with text as keys. Got "
            f"{encoding!r} instead{reason}.",
            hint="use lists instead of tuples, and Python numbers instead of numpy's.",
        )
    return again

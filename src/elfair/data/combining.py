"""Parts of a table, and tables of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from elfair.data.revealed import Revealed
from elfair.data.subsample import Subsample
from elfair.data.unseen import Unseen
from elfair.types import Array

if TYPE_CHECKING:
    from elfair.data.table import LoggedData

#: The attributes of LoggedData that have one entry for each row.
BY_ROW = (
    "matrix", "label", "label_index", "decision", "decision_index", "propensity", "behavior",
    "row_id", "unit", "unit_index", "sample_weight", "scores", "behavior_mean", "behavior_spread",
    "doubts", "position", "person_cost", "time",
)  # fmt: skip


def combined(parts: Sequence[LoggedData], combine: Callable[[list[Array]], Array]) -> LoggedData:
    """A table whose columns combine those of some parts."""
    every = [vars(part) for part in parts]
    apart = any(part.preparation is not parts[0].preparation for part in parts)
    known = [name for name in BY_ROW if every[0].get(name) is not None]
    known = [name for name in known if name != "matrix" or not apart]
    made: dict[str, Any] = {name: combine([of[name] for of in every]) for name in known}
    for name in ("sensitive", "impacts", "raw"):
        if every[0][name] is not None:
            made[name] = {key: combine([of[name][key] for of in every]) for key in every[0][name]}
    if apart:  # each fold has a preparation of its own; together, they are seen by the first
        made["matrix"] = parts[0].preparation.of(made["raw"]) if parts[0].preparation else None
    unseen = [part.unseen for part in parts if part.unseen is not None]
    made["unseen"] = Unseen.combined(unseen, combine) if unseen else None
    revealed = [part.revealed for part in parts if part.revealed is not None]
    made["revealed"] = Revealed.combined(revealed, combine) if revealed else None
    drawn = [part.subsample for part in parts if part.subsample is not None]
    made["subsample"] = Subsample.combined(drawn, combine) if drawn else None
    return parts[0].changed(**made, n=len(made["position"]))

"""What all rows so far say of one side of a statement."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, sqrt
from typing import Any

import numpy as np

from elfair.language.conditions import Condition
from elfair.language.conjunction import Linear
from elfair.monitoring.normal import Normal
from elfair.monitoring.pieces import Gathering, Pairing
from elfair.monitoring.statements import NewRows, Shown, are_apart, conditions_in
from elfair.monitoring.wealth import STAKES, Wealth

#: The smallest end that is bet with: of rows that are never above 0, the mean is not either.
SMALLEST = 1e-9


class Stream:
    """Rows of a sum of averages over groups that share nobody, in order.

    Parameters
    ----------
    given : tuple of Condition or None
        The groups.
    alpha : float
        The level.
    """

    def __init__(self, given: tuple[Condition | None, ...], alpha: float) -> None:
        self.given, self._alpha = given, alpha
        self.pairing, self.gathering = Pairing(len(given)), Gathering()
        #: The ends of rows, as far as they were seen.
        self.highs: list[float | None] = [None] * len(given)
        self.evidence: Wealth | Normal | None = None
        #: The number, the sum and the sum of squares of all values; and how many rows there were.
        self.n, self.total, self.squares, self.rows = 0, 0.0, 0.0, 0

    def add(self, shown: list[Shown | None]) -> None:
        """Add what some rows show, by group."""
        some = [(k, each) for k, each in enumerate(shown) if each is not None]
        for k, each in some:
            self.highs[k] = each.high
        if not some:
            return
        index = np.concatenate([each.places for _, each in some])
        group = np.concatenate([np.full(each.places.size, k) for k, each in some])
        rows = np.concatenate([each.rows for _, each in some])
        order = np.argsort(index, kind="stable")
        self.rows += index.size
        values = self.pairing.add(group[order], rows[order])
        if not values.size:
            return
        self.n += values.size
        self.total += float(values.sum())
        self.squares += float(np.square(values).sum())
        self._evidence().add(self.gathering.add(values))

    def _evidence(self) -> Wealth | Normal:
        if self.evidence is None:
            high = sum(each for each in self.highs if each is not None)
            self.evidence = (
                Wealth(max(high, SMALLEST), self._alpha) if isfinite(high) else Normal(self._alpha)
            )
        return self.evidence

    @property
    def upper(self) -> float:
        """The upper end of the confidence sequence."""
        return np.inf if self.evidence is None else float(self.evidence.upper)

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return self.total / self.n if self.n else np.nan

    def more(self) -> float:
        """How many more values would take the evidence to its level, if they are like those so far;
        infinite if none would.
        """
        if self.evidence is None or self.n < 2:
            return np.inf
        square = self.squares / self.n
        high = sum(each or 0.0 for each in self.highs)
        if isfinite(high):
            m = max(high, SMALLEST)
            r, r2 = -self.mean / m, square / m**2
            growth = float(np.max(STAKES * r - STAKES**2 * r2 / 2))
        else:
            growth = max(-self.mean, 0.0) ** 2 / (2 * (square - self.mean**2 or np.inf))
        return float(self.evidence.lacking) / growth if growth > 0 else np.inf

    def to_dict(self) -> dict[str, Any]:
        """All that must be kept, as JSON can say it."""
        open_count, open_total, open_squares = self.gathering.open
        return {
            "pairing": [self.pairing.n, self.pairing.count.tolist(), self.pairing.total.tolist()],
            "gathering": [self.gathering.n, open_count, float(open_total), float(open_squares)],
            "highs": [None if each is None or not isfinite(each) else each for each in self.highs],
            "seen": [each is not None for each in self.highs],
            "sums": [self.n, self.total, self.squares, self.rows],
            "evidence": None if self.evidence is None else _kept(self.evidence),
        }

    def restore(self, record: Mapping[str, Any]) -> None:
        """Go on from what was kept."""
        n, count, total = record["pairing"]
        self.pairing.n, self.pairing.count[:], self.pairing.total[:] = n, count, total
        self.gathering.n, *kept = record["gathering"]
        self.gathering.open = (kept[0], kept[1], kept[2])
        ends = zip(record["highs"], record["seen"], strict=True)
        self.highs = [(np.inf if high is None else high) if seen else None for high, seen in ends]
        self.n, self.total, self.squares, self.rows = record["sums"]
        if record["evidence"] is not None:
            for name, value in record["evidence"].items():
                old = getattr(self._evidence(), name)
                new = np.array(value, dtype=np.float64) if isinstance(old, np.ndarray) else value
                setattr(self._evidence(), name, new)


def _kept(evidence: Wealth | Normal) -> dict[str, Any]:
    kept = {name: getattr(evidence, name) for name in evidence.kept}
    return {
        name: np.asarray(each).tolist() if isinstance(each, np.ndarray | np.generic) else each
        for name, each in kept.items()
    }


class Side:
    """One side of a statement: g <= 0, or -g <= 0.

    Groups that share people cannot be paired: then each has its own share of alpha, and what is
    known of the sum is the sum of what is known.

    Parameters
    ----------
    form : Linear
        Its rows.
    alpha : float
        The level.
    learns : bool
        Whether something must be learnt from other rows first.
    """

    def __init__(self, form: Linear, alpha: float, *, learns: bool) -> None:
        self._form, self._learns = form, learns
        given = conditions_in(form)
        apart = [given] if are_apart(form) else [(each,) for each in given]
        self.streams = [Stream(each, alpha / len(apart)) for each in apart]

    def add(self, rows: NewRows) -> None:
        """Add some rows, in order."""
        for stream in self.streams:
            if self._learns and not all(map(rows.can_teach, stream.given)):
                continue
            stream.add([rows.shows(self._form, each) for each in stream.given])

    @property
    def reached(self) -> bool:
        """Whether the mean is below 0, by all that was seen at any time."""
        (first, *others) = self.streams
        if others:
            return self.upper <= 0
        return first.evidence is not None and bool(first.evidence.reached)

    @property
    def upper(self) -> float:
        """The upper end of the confidence sequence."""
        return sum(stream.upper for stream in self.streams)

    @property
    def mean(self) -> float:
        """The estimate."""
        return sum(stream.mean for stream in self.streams)

    @property
    def spread(self) -> float:
        """The standard error of the estimate."""
        variances = [
            max(each.squares / each.n - each.mean**2, 0.0) / each.n if each.n else np.inf
            for each in self.streams
        ]
        return sqrt(sum(variances))

    @property
    def rows(self) -> int:
        """How many rows took part."""
        return max(stream.rows for stream in self.streams)

    @property
    def kind(self) -> str:
        """What the level holds for."""
        kinds = [each.evidence.kind for each in self.streams if each.evidence is not None]
        return "asymptotic" if "asymptotic" in kinds else "finite-sample"

    def more(self) -> float:
        """About how many more rows would decide, if they are like those so far."""
        needed = [each.more() * each.rows / each.n if each.n else np.inf for each in self.streams]
        return max(needed)

    def to_list(self) -> list[dict[str, Any]]:
        """All that must be kept."""
        return [stream.to_dict() for stream in self.streams]

    def restore(self, record: list[Mapping[str, Any]]) -> None:
        """Go on from what was kept."""
        for stream, each in zip(self.streams, record, strict=True):
            stream.restore(each)

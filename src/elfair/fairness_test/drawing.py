"""Pictures of groups and of the ladder, for the certificate; no promise rests on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from elfair.certificate import pictures
from elfair.certificate.pictures import DecisionPicture, GroupPicture
from elfair.data import LoggedData
from elfair.language.conditions import Column, Condition, who
from elfair.language.evaluation import holds
from elfair.language.expressions import Mean
from elfair.statistics import Impact, Rows, mean_part
from elfair.statistics.claims import conditions_of
from elfair.statistics.decisions import decisions_of
from elfair.statistics.plan import Plan
from elfair.statistics.sums import Spread
from elfair.statistics.units import Units
from elfair.types import Floats

#: What each interval alone holds with, if averages are normal.
CONFIDENCE = 0.9
#: Weights are drawn on a logarithmic scale; probabilities are not.
WEIGHT_EDGES = (0.0, *(2.0**k for k in range(-6, 7)), np.inf)
PROBABILITY_EDGES = tuple(k / 20 for k in range(21))


@dataclass(frozen=True)
class Shown:
    """What a certificate shows of the tested rows, beside what was found.

    Parameters
    ----------
    like : LoggedData
        These rows, or some like them.
    n : int
        How many there are.
    pictures : tuple of GroupPicture
        Everyone, and each group that the plan speaks of, under the tested model.
    """

    like: LoggedData
    n: int
    pictures: tuple[GroupPicture, ...]

    @classmethod
    def of(cls, plan: Plan, data: LoggedData, free: Floats) -> Shown:
        """Of rows in memory.

        Parameters
        ----------
        plan : Plan
            What was tested.
        data : LoggedData
            The rows.
        free : ndarray of shape (channels, n)
            The policy on them.
        """
        return cls.of_batches(plan, data, [(data, free)], data.n)

    @classmethod
    def of_batches(
        cls, plan: Plan, like: LoggedData, batches: Iterable[tuple[LoggedData, Floats]], n: int
    ) -> Shown:
        """Of batches of rows, each with the policy on them."""
        groups = groups_of(plan, like)
        sums: list[PictureSums] = []
        for data, free in batches:
            found = [_sums(given, plan, data, free) for given in groups]
            sums = [a.merged(b) for a, b in zip(sums, found, strict=True)] if sums else found
        return cls(like, n, tuple(each.picture for each in sums))


def groups_of(plan: Plan, data: LoggedData) -> tuple[Condition | None, ...]:
    """Everyone, and each group that a plan speaks of."""
    named = conditions_of(plan.claims, revealed=data.revealed is not None)
    return tuple(dict.fromkeys([None, *named]))


def impact_series(plan: Plan, data: LoggedData) -> tuple[list[pictures.SeriesPicture], list[Rows]]:
    """Each impact of each group, and the rows whose mean estimates it under a policy.

    Parameters
    ----------
    plan : Plan
        What is tested.
    data : LoggedData
        Rows that are not.
    """
    series: list[pictures.SeriesPicture] = []
    estimates: list[Rows] = []
    if data.propensity is None:
        return series, estimates
    for given in groups_of(plan, data):
        rows = _inside(given, data)
        if rows.size < 2:
            continue
        for name in data.impacts:
            logged = float(_observed(plan.baselines.values(Impact(name), data), rows, data).mean())
            series.append(pictures.SeriesPicture(name, who(given), logged))
            estimates.append(_rows(name, given, plan, data))
    return series, estimates


def _rows(name: str, given: Condition | None, plan: Plan, data: LoggedData) -> Rows:
    """The rows whose mean estimates an impact of a group under a policy, without confounding."""
    return mean_part(Mean(Column(name), given), data, plan.baselines.at("Lambda", 1.0)).rows


@dataclass(frozen=True)
class PictureSums:
    """What the picture of a group is drawn from: sums over its rows.

    Parameters
    ----------
    condition : str
        The group.
    n : int
        How many rows it has.
    decisions : tuple of (str, float, float)
        Each decision; how often it was taken, and how often under the policy, times ``n``.
    impacts : tuple of (str, Spread, Spread)
        Each impact as it was observed, and under the policy.
    counts : tuple of ndarray or None
        Those of weights, propensities and probabilities by bin; None where they are not known.
    """

    condition: str
    n: int
    decisions: tuple[tuple[str, float, float], ...]
    impacts: tuple[tuple[str, Spread, Spread], ...]
    counts: tuple[Floats | None, ...]

    def merged(self, other: PictureSums) -> PictureSums:
        """That of the rows of both."""
        if not self.n or not other.n:
            return self if self.n else other
        decisions = zip(self.decisions, other.decisions, strict=True)
        impacts = zip(self.impacts, other.impacts, strict=True)
        counts = zip(self.counts, other.counts, strict=True)
        return PictureSums(
            self.condition,
            self.n + other.n,
            tuple((name, a + c, b + d) for (name, a, b), (_, c, d) in decisions),
            tuple((name, a.merged(c), b.merged(d)) for (name, a, b), (_, c, d) in impacts),
            tuple(None if a is None or b is None else a + b for a, b in counts),
        )

    @property
    def picture(self) -> GroupPicture:
        """The picture; of a single row, nothing but its decision."""
        n = self.n
        weights, propensities, probabilities = (
            None if of is None or n < 2 else pictures.Histogram(edges, tuple(map(int, of)))
            for of, edges in zip(
                self.counts, (WEIGHT_EDGES, PROBABILITY_EDGES, PROBABILITY_EDGES), strict=True
            )
        )
        return GroupPicture(
            condition=self.condition,
            n=n,
            decisions=tuple(DecisionPicture(name, a / n, b / n) for name, a, b in self.decisions),
            impacts=tuple(
                pictures.ImpactPicture(name, _interval(seen), _interval(new))
                for name, seen, new in self.impacts
                if n > 1
            ),
            weights=weights,
            propensities=propensities,
            probabilities=probabilities,
        )


def _sums(given: Condition | None, plan: Plan, data: LoggedData, free: Floats) -> PictureSums:
    rows = _inside(given, data)
    n, counts = rows.size, list[Floats | None]([None, None, None])
    impacts: tuple[tuple[str, Spread, Spread], ...] = ()
    if data.propensity is not None and n > (1 if data.whole else 0):
        weight = decisions_of(data).weights(free, rows).values
        counts[0] = _counts(weight, WEIGHT_EDGES)
        if data.probability is not None:  # a density has no scale of its own
            propensity = data.probability[rows]
            counts[1] = _counts(propensity, PROBABILITY_EDGES)
            counts[2] = _counts(weight * propensity, PROBABILITY_EDGES)
        impacts = tuple(
            (
                name,
                Spread.of(_observed(plan.baselines.values(Impact(name), data), rows, data)),
                Spread.of(_rows(name, given, plan, data).values(free)),
            )
            for name in (data.impacts if _can_estimate(plan, data) else ())
        )
    decisions = decisions_of(data).compared(free, rows) if data.decision is not None and n else ()
    return PictureSums(
        who(given), n, tuple((name, a * n, b * n) for name, a, b in decisions), impacts,
        tuple(counts),
    )  # fmt: skip


def _can_estimate(plan: Plan, data: LoggedData) -> bool:
    """Whether rows were set aside for what estimates of impact learn, if they learn anything; where
    no statement is about impacts, none are.
    """
    learns = plan.baselines.estimation.impact_estimator.learns != "nothing"
    learns |= data.unseen is not None and data.unseen.how == "at random"
    return bool(plan.baselines.candidate.n) or not learns


def _inside(given: Condition | None, data: LoggedData) -> NDArray[np.intp]:
    return np.flatnonzero(holds(given, data))


def _observed(impact: Floats, rows: NDArray[np.intp], data: LoggedData) -> Floats:
    """The impacts of some rows, or of their units."""
    units = Units.of(data, rows)
    return impact[rows] if units is None else units.gather(units.share * impact[rows])


def _interval(of: Spread) -> pictures.Interval:
    error = sqrt(of.variance / of.n)
    half = float(stdtrit(of.n - 1, (1 + CONFIDENCE) / 2)) * error
    return pictures.Interval(of.mean, of.mean - half, of.mean + half)


def _counts(values: Floats, edges: Sequence[float]) -> Floats:
    """Counts by bin; what lies beyond the edges counts in the outermost bins."""
    # numpy wants finite edges; the last one is then as large as needed.
    finite = [edge if isfinite(edge) else max(float(values.max()), edges[-2]) + 1 for edge in edges]
    return np.histogram(np.clip(values, finite[0], finite[-1]), bins=finite)[0]

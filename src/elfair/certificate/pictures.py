"""What a report draws of people and models. It is descriptive: no promise rests on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fate = Literal["released", "passed", "failed", "not tested"]


@dataclass(frozen=True)
class Interval:
    """An estimate with a two-sided Student's t interval, for this number alone.

    Parameters
    ----------
    estimate, low, high : float
        The estimate and the ends of the interval.
    """

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class ImpactPicture:
    """An impact in a group, on held-out rows.

    Parameters
    ----------
    impact : str
        Its name.
    logged, new : Interval
        Its mean under the behaviour model, and under the tested model.
    """

    impact: str
    logged: Interval
    new: Interval


@dataclass(frozen=True)
class DecisionPicture:
    """How often a decision is taken; for decisions that are numbers, their mean.

    Parameters
    ----------
    decision : str
        Its name; "mean" for numbers.
    logged, new : float
        Its share of held-out rows, and its share under the tested model.
    """

    decision: str
    logged: float
    new: float


@dataclass(frozen=True)
class Histogram:
    """How many rows lie between each edge and the next; the last bin includes its upper edge.

    Parameters
    ----------
    edges : tuple of float
        The edges, one more than there are counts.
    counts : tuple of int
        The numbers of rows.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class GroupPicture:
    """The held-out rows of a group.

    Parameters
    ----------
    condition : str
        The condition that they meet.
    n : int
        The number of rows.
    decisions : tuple of DecisionPicture
        The decisions about them; empty if no decisions were logged.
    impacts : tuple of ImpactPicture
        Their impacts; empty if these cannot be estimated.
    weights : Histogram or None
        Their importance weights.
    propensities, probabilities : Histogram or None
        The probability of the logged decision under the behaviour model, and under the tested
        model: they must overlap.
    """

    condition: str
    n: int
    decisions: tuple[DecisionPicture, ...]
    impacts: tuple[ImpactPicture, ...]
    weights: Histogram | None
    propensities: Histogram | None
    probabilities: Histogram | None


@dataclass(frozen=True)
class SeriesPicture:
    """An impact in a group, which each model on the ladder changes.

    Parameters
    ----------
    impact, condition : str
        The impact, and the condition of the group.
    logged : float
        Its mean under the behaviour model.
    """

    impact: str
    condition: str
    logged: float


@dataclass(frozen=True)
class ModelPicture:
    """A model on the ladder, on candidate rows.

    Parameters
    ----------
    place : int
        Its place on the ladder, from 1.
    loss : float
        What the search minimises.
    fate : {"released", "passed", "failed", "not tested"}
        The result of its test.
    impacts : tuple of float
        The estimated mean of each series.
    """

    place: int
    loss: float
    fate: Fate
    impacts: tuple[float, ...]


@dataclass(frozen=True)
class TradeOff:
    """The objective beside the impact, for each model on the ladder.

    Parameters
    ----------
    series : tuple of SeriesPicture
        The impacts.
    models : tuple of ModelPicture
        The models, in their order.
    """

    series: tuple[SeriesPicture, ...]
    models: tuple[ModelPicture, ...]

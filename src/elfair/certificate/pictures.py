"""What a report draws of people and models. Descriptive: no promise rests on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fate = Literal["released", "passed", "failed", "not tested"]


@dataclass(frozen=True)
class Interval:
    """An estimate with a two-sided interval, by Student's t, for this number alone.

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
        Which.
    logged, new : Interval
        Under the model that decided, and under the model that was tested.
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
        Which; "mean" of numbers.
    logged, new : float
        The share of held-out rows, and what the tested model would do.
    """

    decision: str
    logged: float
    new: float


@dataclass(frozen=True)
class Histogram:
    """How many rows lie between each edge and the next; the last edge belongs to its bin.

    Parameters
    ----------
    edges : tuple of float
        One more than there are counts.
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
        Who they are.
    n : int
        How many.
    decisions : tuple of DecisionPicture
        What is decided about them; empty where no decisions were logged.
    impacts : tuple of ImpactPicture
        What becomes of them; empty where nothing can be said.
    weights : Histogram or None
        Their importance weights.
    propensities, probabilities : Histogram or None
        The probability of the logged decision under the model that took it, and under the tested
        one: they must overlap.
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
    """An impact in a group, of which each model in line has its own.

    Parameters
    ----------
    impact, condition : str
        Which impact of whom.
    logged : float
        Its mean under the model that decided.
    """

    impact: str
    condition: str
    logged: float


@dataclass(frozen=True)
class ModelPicture:
    """A model in line, on candidate rows.

    Parameters
    ----------
    place : int
        Its place in line, from 1.
    loss : float
        What the search makes small.
    fate : {"released", "passed", "failed", "not tested"}
        What the test made of it.
    impacts : tuple of float
        The estimated mean of each series.
    """

    place: int
    loss: float
    fate: Fate
    impacts: tuple[float, ...]


@dataclass(frozen=True)
class TradeOff:
    """The objective beside the impact, for the models that were lined up.

    Parameters
    ----------
    series : tuple of SeriesPicture
        The impacts.
    models : tuple of ModelPicture
        The models, in line.
    """

    series: tuple[SeriesPicture, ...]
    models: tuple[ModelPicture, ...]

"""What candidate rows predict of the fairness test, and what the search asks of it.

A *target* says how far inside its constraints a candidate must be. A *requirement* is one claim on
the candidate rows (`elfair.search.requirements`). Its *prediction* under a policy is a smooth
function of the policy, with a derivative.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri

from elfair.types import Floats

#: The default xi, as a share of the standard deviation of a row of g.
XI_SHARE = 0.01
#: The powers of less cautious models, tested after the first one. The last is the least cautious
#: that candidate rows support: they put its g below 0 by about half a standard error.
LOWER_POWERS = (0.6, 0.25)


class Factors(NamedTuple):
    """The factors of a weighted sum of predicted levels, and a constant.

    Parameters
    ----------
    upper, mean, error, spread : float
        The factors of these fields of `Levels`.
    constant : float
        Added to the sum.
    """

    upper: float
    mean: float = 0.0
    error: float = 0.0
    spread: float = 0.0
    constant: float = 0.0


@dataclass(frozen=True)
class Target:
    """How far inside its constraints a candidate must be.

    Parameters
    ----------
    power : float, optional
        The wanted probability that each claim passes the test.
    inflation : float, optional
        The paper's way instead: the factor by which the predicted width of the bound is stretched.
    xi : float, optional
        The margin that makes the solution rate tend to 1; by default a share of the spread.

    Examples
    --------
    >>> Target(power=0.5, xi=0.25).factors
    Factors(upper=1.0, mean=0.0, error=0.0, spread=0.0, constant=0.25)
    """

    power: float | None = None
    inflation: float | None = None
    xi: float | None = None

    @property
    def less_cautious(self) -> tuple[Target, ...]:
        """Targets that ask for less and less.

        Examples
        --------
        >>> [target.power for target in Target(power=0.95).less_cautious]
        [0.6, 0.25]
        """
        own = self.power or 0.0
        return tuple(replace(self, power=power) for power in LOWER_POWERS if power < own)

    @property
    def factors(self) -> Factors:
        """The factors of the excess, which is at most 0 if a candidate meets its target."""
        share, margin = (XI_SHARE, 0.0) if self.xi is None else (0.0, self.xi)
        if self.inflation is None:
            assert self.power is not None
            return Factors(1.0, 0.0, float(ndtri(self.power)), share, margin)
        return Factors(self.inflation, 1 - self.inflation, 0.0, share / 4, margin / 4)


class Levels(NamedTuple):
    """What is predicted of a bound.

    Parameters
    ----------
    upper : float
        The bound; infinite if the rows say nothing about their spread.
    mean : float
        The mean of g.
    error : float
        The standard error of the predicted bound.
    spread : float
        The standard deviation of a row, all parts together.
    """

    upper: float
    mean: float
    error: float
    spread: float


@dataclass
class Prediction(ABC):
    """What is predicted of one claim's test under one policy.

    Parameters
    ----------
    factors : Factors
        What the target asks for.
    """

    factors: Factors

    @cached_property
    @abstractmethod
    def levels(self) -> Levels:
        """The bound, the mean, the error and the spread."""

    @abstractmethod
    def pull_back(self, by: Factors, n: int) -> Floats:
        """The derivative of a weighted sum of the levels by the free numbers, of shape
        (channels, n); that of the excess if the factors are its own.
        """

    @property
    def spread(self) -> float:
        """The standard deviation of a row, all parts together."""
        return self.levels.spread

    @property
    def excess(self) -> float:
        """How far the claim misses its target; at most 0 if it meets it."""
        upper, mean, error, spread = self.levels
        if not isfinite(upper):  # never good enough, but the mean still shows a direction
            return abs(mean) + 1.0
        factors = self.factors
        level = factors.upper * upper + factors.mean * mean + factors.constant
        return level + factors.error * error + factors.spread * spread

    @property
    def score(self) -> float:
        """How many standard errors the bound is below 0: the test passes with Phi(score)."""
        if self.levels.error == 0:
            return inf if self.levels.upper <= 0 else -inf
        return -self.levels.upper / self.levels.error

    @property
    def log_pass(self) -> float:
        """The logarithm of the predicted probability that the test passes."""
        return float(log_ndtr(self.score))

    def log_pass_gradient(self, n: int) -> Floats:
        """The derivative of `log_pass` by the free numbers, where the score is finite."""
        # d log Phi(s) / ds = phi(s) / Phi(s), which grows like -s on the far left.
        slope = np.exp(-0.5 * self.score**2 - self.log_pass) / np.sqrt(2 * np.pi)
        upper, error = self.levels.upper, self.levels.error
        return np.asarray(slope * self.pull_back(Factors(-1 / error, error=upper / error**2), n))

"""How far inside its constraints a candidate is to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from scipy.special import ndtri

#: xi, where none is given, as a share of the standard deviation of a row of g.
XI_SHARE = 0.01
#: The chances to pass of models that are tested after one that is likely to. The last is as daring
#: as candidate rows themselves allow: they put its g below 0 by about half a standard error.
DARING = (0.6, 0.25)


class Terms(NamedTuple):
    """The excess as a sum: a factor for each thing that is predicted, and a constant.

    Parameters
    ----------
    upper, mean, error, spread : float
        The factors of these attributes of a `Prediction`.
    constant : float
        What is added to them.
    """

    upper: float
    mean: float = 0.0
    error: float = 0.0
    spread: float = 0.0
    constant: float = 0.0


@dataclass(frozen=True)
class Target:
    """How far inside the constraints a candidate is to be.

    Parameters
    ----------
    power : float, optional
        The wanted probability that each claim passes the test.
    inflation : float, optional
        The paper's way instead: the factor by which the predicted width of the bound is stretched.
    xi : float, optional
        The margin that makes the solution rate tend to 1; a share of the spread unless given.

    Examples
    --------
    >>> Target(power=0.5, xi=0.25).terms
    Terms(upper=1.0, mean=0.0, error=0.0, spread=0.0, constant=0.25)
    """

    power: float | None = None
    inflation: float | None = None
    xi: float | None = None

    @property
    def daring(self) -> tuple[Target, ...]:
        """Targets that ask for less and less.

        Examples
        --------
        >>> [target.power for target in Target(power=0.95).daring]
        [0.6, 0.25]
        """
        known = self.power or 0.0
        return tuple(replace(self, power=power) for power in DARING if power < known)

    @property
    def terms(self) -> Terms:
        """What must be at most 0 for a candidate that meets its target."""
        share, margin = (XI_SHARE, 0.0) if self.xi is None else (0.0, self.xi)
        if self.inflation is None:
            assert self.power is not None
            return Terms(1.0, 0.0, float(ndtri(self.power)), share, margin)
        return Terms(self.inflation, 1 - self.inflation, 0.0, share / 4, margin / 4)

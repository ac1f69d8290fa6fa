"""The record of a plan; everything that is shown of a plan is read from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["measured", "extrapolated", "too uncertain", "infeasible"]


@dataclass(frozen=True)
class CurvePoint:
    """The probability of a solution at one number of rows.

    Parameters
    ----------
    rows : int
        The number of rows, candidate and held-out together.
    probability : float
        That ``fit`` returns a model, averaged over what the pilot leaves open.
    low, high : float
        Where the probability lies with 80 % confidence.
    fits, solutions : int
        How many models were searched for and tested on parts of the pilot of this size, and how
        many of them passed; 0 of 0 beyond the sizes that were tried.
    """

    rows: int
    probability: float
    low: float
    high: float
    fits: int = 0
    solutions: int = 0

    @property
    def measured(self) -> bool:
        """Whether models were tested on so many rows, or else the curve alone says so."""
        return self.fits > 0


@dataclass(frozen=True)
class RowPlan:
    """How many rows a fit would need.

    Parameters
    ----------
    share : float
        The wanted probability of a solution.
    improvement : float or None
        By how much every impact is to be certified better than its constraint asks.
    verdict : {"measured", "extrapolated", "too uncertain", "infeasible"}
        Whether ``rows`` is a number that was tried on parts of the pilot, lies beyond them, or is
        not named: since the pilot is too small to tell, or since no number of rows would do.
    rows : int or None
        The number of rows in all, candidate and held-out together.
    low, high : int or None
        Where the needed number lies with 80 % confidence; None where it has no end.
    groups : mapping of str to int
        How many of ``rows`` meet each condition of the constraints, if groups stay as large as they
        are; empty where ``rows`` is None.
    curve : tuple of CurvePoint
        The probability of a solution by the number of rows.
    binding : str
        The statement that kept most models back: the one that needs the rows.
    pilot : int
        Rows at hand.
    looked_at : int
        Those of them whose impacts were looked at: the candidate half.
    notes : tuple of str
        What a reader must not overlook.

    Examples
    --------
    >>> plan = RowPlan(0.9, None, "measured", 520, 400, 800, {"T == 1": 234},
    ...                (CurvePoint(250, 0.8, 0.7, 0.9, 12, 9), CurvePoint(500, 0.9, 0.8, 1.0)),
    ...                "E[impact | T == 1] >= 0", 2000, 1200)
    >>> print(plan.text())
    About 520 rows give a solution with probability 0.9 (between 400 and 800, with 80 % confidence).
    Of them with T == 1: 234.
    What needs them: E[impact | T == 1] >= 0
    <BLANKLINE>
      rows  probability of a solution                          low to high   fits
       250  0.80  [################################    |   ]  0.70 to 0.90  9 of 12
       500  0.90  [####################################|   ]  0.80 to 1.00  extrapolated
    """

    share: float
    improvement: float | None
    verdict: Verdict
    rows: int | None
    low: int | None
    high: int | None
    groups: Mapping[str, int]
    curve: tuple[CurvePoint, ...]
    binding: str
    pilot: int
    looked_at: int
    notes: tuple[str, ...] = field(default=())

    def text(self) -> str:
        """The plan for a terminal, with the curve drawn in characters."""
        from elfair.planning.text import text

        return text(self)

    def svg(self) -> str:
        """The curve as an SVG picture that stands for itself, in light and in dark."""
        from elfair.planning.picture import svg

        return svg(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return (
            f"RowPlan(verdict={self.verdict!r}, rows={self.rows}, low={self.low}, "
            f"high={self.high}, share={self.share:g}, improvement={self.improvement})"
        )

    def _repr_html_(self) -> str:
        from elfair.planning.picture import html

        return html(self)

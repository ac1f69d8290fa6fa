"""A plan on matplotlib's axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from elfair.planning.row_plan import RowPlan
from elfair.records.drawing import NEW, OLD, axes_for


@dataclass
class PlanDisplay:
    """The probability of a solution by the number of rows, with 80 % intervals.

    Parameters
    ----------
    plan : RowPlan
        The plan.

    Examples
    --------
    >>> from elfair.planning.row_plan import CurvePoint
    >>> plan = RowPlan(0.9, None, "measured", 520, 400, 800, {},
    ...                (CurvePoint(250, 0.8, 0.7, 0.9, 12), CurvePoint(500, 0.9, 0.8, 1.0)),
    ...                "E[impact | T == 1] >= 0", 2000, 1200)
    >>> PlanDisplay.from_plan(plan).ax_.get_xlabel()
    'rows'
    """

    plan: RowPlan

    @classmethod
    def from_plan(cls, plan: RowPlan, *, ax: Any = None) -> Self:
        """Draw a plan.

        Parameters
        ----------
        plan : RowPlan
            The plan.
        ax : matplotlib.axes.Axes, optional
            Axes of your own.
        """
        return cls(plan).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on these axes or on new ones, which are then ``ax_``; their figure is ``figure_``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of your own.
        """
        self.ax_ = ax = axes_for(ax)
        self.figure_ = ax.figure
        for measured, style in ((True, "-o"), (False, "--o")):
            points = [each for each in self.plan.curve if each.measured == measured]
            if points:
                rows, words = [p.rows for p in points], "measured" if measured else "extrapolated"
                ax.plot(rows, [p.probability for p in points], style, color=NEW, label=words)
                ends = [p.low for p in points], [p.high for p in points]
                ax.fill_between(rows, *ends, color=NEW, alpha=0.15, linewidth=0)
        ax.axhline(self.plan.share, color=OLD, linewidth=0.8, label="wanted")
        if self.plan.rows is not None:
            ax.axvline(self.plan.rows, color=OLD, linestyle=":", label=f"{self.plan.rows:,} rows")
        ax.set_xscale("log")
        sizes = [each.rows for each in self.plan.curve]
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.set_xticks([], minor=True)
        ax.set_ylim(0.0, 1.02)
        ax.set_xlabel("rows")
        ax.set_ylabel("probability of a solution")
        ax.legend(frameon=False)
        return self

"""How many rows a fit would need, told from a pilot."""

from elfair.planning.plan import plan_rows
from elfair.planning.record import CurvePoint, RowPlan

__all__ = ["CurvePoint", "RowPlan", "plan_rows"]

"""Leaves of an expression, compiled to rows that are affine in the policy."""

from elfair.statistics.baseline import Baselines, Estimation, Estimator
from elfair.statistics.compiled import Part, compile_conjunct, logged_average, mean_part
from elfair.statistics.rows import Rows

__all__ = [
    "Baselines",
    "Estimation",
    "Estimator",
    "Part",
    "Rows",
    "compile_conjunct",
    "logged_average",
    "mean_part",
]

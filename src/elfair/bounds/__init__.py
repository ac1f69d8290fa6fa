"""One-sided upper confidence bounds on means, from rows.

`get_bound` finds a bound by the name that a user writes.
"""

from __future__ import annotations

from elfair.bounds.base import Bound, Moments, Sample
from elfair.bounds.betting import Betting
from elfair.bounds.finite_sample import Anderson, EmpiricalBernstein, Hoeffding
from elfair.bounds.student import StudentT
from elfair.errors import chosen

#: By the names that users write; finite-sample bounds from the most to the least cautious.
BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (StudentT(), Hoeffding(), EmpiricalBernstein(), Anderson(), Betting())
}
#: The names of those that hold for every number of rows.
FINITE_SAMPLE = tuple(name for name, bound in BOUNDS.items() if bound.kind == "finite-sample")


def get_bound(name: str) -> Bound:
    """The bound with the name that a user writes.

    Parameters
    ----------
    name : str
        The value of ``bound=``: a key of `BOUNDS`.

    Returns
    -------
    Bound
        It has no state and is shared.

    Examples
    --------
    >>> get_bound("ttest").kind
    'asymptotic'
    """
    return chosen(BOUNDS, "bound", name, "'ttest' needs no declared range.")

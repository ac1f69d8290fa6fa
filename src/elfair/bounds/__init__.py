"""One-sided upper confidence bounds on means, from rows.

`get_bound` finds a bound by the name that a user writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import get_args

from elfair.bounds.base import Bound, Kind, Moments, Sample
from elfair.bounds.betting import Betting
from elfair.bounds.finite_sample import Anderson, EmpiricalBernstein, Hoeffding
from elfair.bounds.growth import Growth
from elfair.bounds.guarded import GuardedT
from elfair.bounds.student import StudentT
from elfair.errors import chosen

#: By the names that users write; finite-sample bounds from the most to the least cautious.
BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (
        GuardedT(),
        StudentT(),
        Hoeffding(),
        EmpiricalBernstein(),
        Anderson(),
        Growth(),
        Betting(),
    )
}
#: The names of those that hold for every number of rows.
FINITE_SAMPLE = tuple(name for name, bound in BOUNDS.items() if bound.kind == "finite-sample")
#: The name of the choice between them: finite-sample wherever the ends of rows are known.
AUTO = "auto"


def bound_for(highs: Sequence[float]) -> Bound:
    """The bound that "auto" chooses for rows with these upper ends.

    Examples
    --------
    >>> from math import inf
    >>> bound_for([1.0]).name, bound_for([1.0, inf]).name
    ('betting', 'guarded')
    """
    return BOUNDS["betting" if all(map(isfinite, highs)) else "guarded"]


def bound_in_folds(name: str) -> str:
    """The bound that a name stands for if folds share rows: "auto" has no finite-sample proof.

    Examples
    --------
    >>> bound_in_folds("auto"), bound_in_folds("ttest")
    ('guarded', 'ttest')
    """
    return "guarded" if name == AUTO else name


def weakest(kinds: Iterable[Kind]) -> Kind:
    """The weakest of some kinds of bounds: what their combination holds for.

    Examples
    --------
    >>> weakest(["finite-sample", "asymptotic"])
    'asymptotic'
    """
    return max(kinds, key=get_args(Kind).index)


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
    return chosen(BOUNDS, "bound", name, "'guarded' needs no declared range.")

"""A statement about people of whom hardly anyone's impact was seen is refused, before any test.

The test keeps its promise about them, too: what is missing counts at its worst (see
`elfair.statistics.unseen`). But then it nearly always fails, and says nothing of the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.language import conditions
from elfair.language.conditions import Condition
from elfair.language.evaluation import holds
from elfair.language.expressions import Mean
from elfair.statistics.claims import Claim
from elfair.statistics.impacts import Impact, impact_of
from elfair.statistics.seen import LEAST_SEEN
from elfair.statistics.unseen import is_unseen, seen_of
from elfair.types import Booleans

#: Of fewer people with some decision, all may be missing by chance.
FEWEST = 10


def require_seen(
    claims: Sequence[Claim], data: LoggedData, possible: Booleans | None = None
) -> None:
    """Raise if hardly anyone was seen of those whom a statement is about, with some decision.

    Parameters
    ----------
    claims : sequence of Claim
        The statements.
    data : LoggedData
        All rows: of whom an impact is missing is no secret.
    possible : ndarray of bool, optional
        The decisions that the new model takes; by default, it may take any.
    """
    if data.unseen is None or data.unseen.how == "worst case":
        return
    for impact, given, every in _asked(claims, data):
        seen, inside = seen_of(impact, data), holds(given, data)
        who = conditions.who(given)
        _check(impact, who, inside, seen, fewest=1)
        if data.decision_index is None:
            continue
        for a, name in enumerate(data.classes.tolist()):
            if every or possible is None or possible[a]:
                decided = inside & (data.decision_index == a)
                _check(impact, f"{who}, with decision {name!r}", decided, seen, fewest=FEWEST)


def _asked(
    claims: Sequence[Claim], data: LoggedData
) -> Iterator[tuple[Impact, Condition | None, bool]]:
    """Each impact that statements ask for, of whom, and whether the logged decisions matter."""
    means = [mean for claim in claims for mean in claim.means]
    beyond = [each for claim in claims for each in claim.statistics]
    means += [Mean(each.of, each.given, span=each.span) for each in beyond]
    found: dict[tuple[Impact, Condition | None], bool] = {}
    for mean in means:
        impact = impact_of(mean, data)
        if impact is not None and is_unseen(impact, data):
            key = impact, mean.given
            found[key] = found.get(key, False) or mean.logged
    return ((impact, given, logged) for (impact, given), logged in found.items())


def _check(impact: Impact, who: str, rows: Booleans, seen: Booleans, fewest: int) -> None:
    n, known = int(rows.sum()), int(np.sum(rows & seen))
    if n >= fewest and known < max(1.0, LEAST_SEEN * n):
        raise DataError(
            f"impact '{impact.name}' was seen in {known} of {n} rows ({who}): hardly anything says "
            "how such people fare, and nothing how those fare who were not seen.",
            hint="take statements about them out; follow some of them up; or declare "
            "missing_impact='worst case' with impact_range.",
        )

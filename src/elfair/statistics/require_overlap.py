"""With estimated propensities, a statement about people whom a rule decided about is refused.

Where a rule decides, nobody alike was decided about otherwise: an estimate gives other decisions a
small probability, and only a guess says what they would do. `elfair.data.unlogged` refuses tables
in which that is so for most people. Here it is asked of each group in each statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from elfair.data import LoggedData
from elfair.data.features import MOST_GROUPS, Encoding
from elfair.data.unlogged import CERTAIN
from elfair.errors import DataError
from elfair.language import conditions
from elfair.language.evaluation import holds
from elfair.statistics.claims import Claim
from elfair.types import Booleans, Floats, Index

#: Of fewer people, most may get the same decision by chance.
FEWEST = 50
#: A cut-off on a linear score may use one column for so many people.
ROWS_PER_COLUMN = 10


def require_overlap(claims: Sequence[Claim], candidate: LoggedData) -> None:
    """Raise if decisions about a group that a statement is about follow a rule.

    Parameters
    ----------
    claims : sequence of Claim
        The statements.
    candidate : LoggedData
        Rows that are not tested, with estimated propensities.
    """
    if candidate.unlogged is None or candidate.decision_index is None:
        return
    inputs, taken = Encoding.learn(candidate).of(candidate), candidate.decision_index
    asked = (each for claim in claims for each in claim.impact_conditions(candidate))
    for given in dict.fromkeys(asked):
        for who, rows in _groups(candidate, conditions.who(given), holds(given, candidate)):
            n = int(rows.sum())
            if n < FEWEST:
                continue
            wrong = _misses(inputs[rows], taken[rows])
            if wrong < CERTAIN * n:
                raise DataError(
                    f"decisions about {who} follow a rule: of {n} candidate rows, all but {wrong} "
                    "were decided as a cut-off on features decides. Nobody like them was decided "
                    "about otherwise, so nothing shows what another decision would do.",
                    hint="ask nothing about their impact: leave the statement, or these people, "
                    "out. Constraints on rates and accuracy need no experiment; or let a coin "
                    "decide near the cut-off from now on, and log its probability.",
                )


def _groups(data: LoggedData, who: str, inside: Booleans) -> Iterator[tuple[str, Booleans]]:
    """Those whom a statement is about, and each group among them."""
    yield who, inside
    for name, column in data.sensitive.items():
        values = list(dict.fromkeys(column[inside].tolist()))
        if 1 < len(values) <= MOST_GROUPS:
            for value in values:
                yield f"{who}, {name} == {value!r}", inside & (column == value)


def _misses(inputs: Floats, taken: Index) -> int:
    """How many decisions the best of a few simple rules does not reproduce: one decision for all,
    two questions, or a cut-off on a linear score.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    best = int(np.sum(taken != np.bincount(taken).argmax()))
    if not best or not inputs.shape[1]:
        return best
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(inputs, taken)
    best = min(best, int(np.sum(tree.predict(inputs) != taken)))
    if len(taken) >= ROWS_PER_COLUMN * inputs.shape[1]:
        scaled = StandardScaler().fit_transform(inputs)
        linear = LogisticRegression(C=1e3, solver="newton-cholesky").fit(scaled, taken)
        best = min(best, int(np.sum(linear.predict(scaled) != taken)))
    return best

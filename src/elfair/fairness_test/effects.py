"""What a model decides on, by features and groups, on candidate rows: for the certificate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from elfair.certificate.effects import BandRecord, CellRecord, EffectRecord
from elfair.data import LoggedData
from elfair.data.columns import is_missing
from elfair.data.features import kind_of
from elfair.fairness_test.ladder import Ladder
from elfair.language.conditions import Condition, who
from elfair.language.evaluation import holds
from elfair.policies.coefficients import coefficients
from elfair.records.text import number
from elfair.statistics.decisions import decisions_of
from elfair.types import Array, Floats, Index

#: Of so many features, those whose bands are decided about most differently, it is computed what
#: changes if everybody had another value; so many are kept.
MOST_TRIED, MOST_KEPT = 12, 6
#: A smaller effect is none.
NONE = 1e-6
#: Decisions by group, too, are kept for so many.
MOST_CROSSED = 3
#: On so many rows: a scorer may take long.
ROWS = 300
#: A number with no more values has a band for each, a category for so many of its levels.
MOST_VALUES, MOST_LEVELS = 4, 5
#: More groups than this would not be read.
MOST_GROUPS = 12


class Band(NamedTuple):
    """Some values of a feature.

    Parameters
    ----------
    words : str
        The values.
    rows : ndarray
        Who has them.
    typical : int
        The row that has a typical one.
    """

    words: str
    rows: Index
    typical: int


def effects_of(
    ladder: Ladder, place: int, groups: Sequence[Condition | None]
) -> tuple[EffectRecord, ...]:
    """What one model decides on, the feature that changes most first.

    Parameters
    ----------
    ladder : Ladder
        The models.
    place : int
        The place of the model, from 1.
    groups : sequence of Condition or None
        Whose decisions to tell, everyone first.
    """
    rows, theta = ladder.candidate, ladder.thetas[place - 1]
    if not rows.n or not rows.feature_names:
        return ()
    if getattr(rows, "scores", None) is not None:  # out-of-fold ones, of other scorers
        rows = rows.changed(scores=None)
    shares = _shares(rows, ladder.free(theta, rows))
    tried = [(name, list(bands(rows.feature(name)))) for name in rows.feature_names]
    tried = [(name, of) for name, of in tried if len(of) > 1]
    tried.sort(key=lambda each: -_apart([shares[:, band.rows].mean(axis=1) for band in each[1]]))
    some = rows.take(np.unique(np.linspace(0, rows.n - 1, min(rows.n, ROWS)).astype(int)))
    inside = [np.flatnonzero(_met(given, rows)) for given in groups[: MOST_GROUPS + 1]]
    found = []
    for name, of in tried[:MOST_TRIED]:
        partial = [_partial(ladder, theta, some, rows, name, band) for band in of]
        made = [
            BandRecord(
                band.words,
                tuple(map(float, each)),
                tuple(
                    _cell(who(given), np.intersect1d(band.rows, members), rows, ladder, theta)
                    for given, members in zip(groups, inside, strict=False)
                ),
            )
            for band, each in zip(of, partial, strict=True)
        ]
        standardised = _standardised(ladder, place, name)
        found.append(EffectRecord(name, _apart(partial), standardised, tuple(made)))
    found = sorted((e for e in found if e.effect > NONE), key=lambda each: -each.effect)
    crossed, others = found[:MOST_CROSSED], found[MOST_CROSSED:MOST_KEPT]
    return (*crossed, *map(_of_everyone, others))


def _of_everyone(effect: EffectRecord) -> EffectRecord:
    """A feature, without decisions by group."""
    alone = (replace(band, cells=band.cells[:1]) for band in effect.bands)
    return replace(effect, bands=tuple(alone))


def _met(given: Condition | None, rows: LoggedData) -> Any:
    return np.ones(rows.n, dtype=bool) if given is None else holds(given, rows)


def _shares(rows: LoggedData, free: Floats) -> Floats:
    """What a policy decides about each row: the probability of each class, or the mean."""
    if not rows.classes.size:
        from elfair.policies.gaussian import MEAN

        return np.asarray(free[MEAN][None])
    return np.vstack([1 - free.sum(axis=0), free])


def _apart(of_bands: Sequence[Floats]) -> float:
    """How far bands are apart, in the decision in which that is most."""
    return float(np.ptp(np.array(of_bands), axis=0).max())


def _partial(
    ladder: Ladder, theta: Floats, some: LoggedData, rows: LoggedData, name: str, band: Band
) -> Floats:
    """What is decided on average if everybody had the typical value of a band."""
    if some.raw is None:
        matrix = some.features.copy()
        place = some.feature_names.index(name)
        matrix[:, place] = rows.features[band.typical, place]
        other = some.changed(matrix=matrix, scores=None)
    else:
        typical = rows.feature(name)[band.typical :][:1]  # still of the same type
        raw = {**some.raw, name: np.repeat(typical, some.n)}
        assert some.preparation is not None
        other = some.changed(raw=raw, matrix=some.preparation.of(raw), scores=None)
    free = ladder.policy.free(theta, ladder.policy.logged(other))
    return np.asarray(_shares(some, free).mean(axis=1))


def _cell(
    condition: str, index: Index, rows: LoggedData, ladder: Ladder, theta: Floats
) -> CellRecord:
    """What is decided about some rows."""
    free = ladder.free(theta, rows)
    if not index.size:
        return CellRecord(condition, 0, (), (), None)
    if rows.decision is None or rows.propensity is None:
        new = _shares(rows, free)[:, index].mean(axis=1)
        return CellRecord(condition, index.size, (), tuple(map(float, new)), None)
    decided = decisions_of(rows)
    compared = decided.compared(free, index)
    return CellRecord(
        condition,
        int(index.size),
        tuple(old for _, old, _ in compared),
        tuple(new for _, _, new in compared),
        float(decided.weights(free, index).moved),
    )


def _standardised(ladder: Ladder, place: int, name: str) -> tuple[float, ...]:
    """What a standard deviation of a number adds, if the model is linear."""
    found = coefficients((ladder.models[place - 1],), list(ladder.candidate.feature_names))
    if found is None or name not in found.names:
        return ()
    k = found.names.index(name)
    spread = float(ladder.candidate.features[:, k].std())
    return tuple(float(weight * spread) for weight in found.weights[:, k])


def bands(column: Array) -> Iterator[Band]:
    """The bands of a column: quarters of a number, or the levels of a category.

    Examples
    --------
    >>> [(band.words, band.rows.size) for band in bands(np.arange(100.0))]
    [('under 25', 25), ('25 to under 50', 25), ('50 to under 74', 24), ('74 or more', 26)]
    >>> [band.words for band in bands(np.array(["rent", "own", None, "own"], dtype=object))]
    ['own', 'rent', 'missing']
    """
    missing = is_missing(column)
    known = np.flatnonzero(~missing)
    kind = kind_of(column)
    if known.size:
        yield from _levels(column, known) if kind == "levels" else _numbers(column, known)
    if missing.any():
        rows = np.flatnonzero(missing)
        yield Band("missing", rows, int(rows[0]))


def _levels(column: Array, known: Index) -> Iterator[Band]:
    counts = Counter(column[known].tolist())
    common = sorted(counts, key=lambda level: (-counts[level], str(level)))
    for level in common[:MOST_LEVELS]:
        rows = known[np.array([value == level for value in column[known]])]
        yield Band(str(level), rows, int(rows[0]))
    if others := set(common[MOST_LEVELS:]):
        rows = known[np.array([value in others for value in column[known]])]
        yield Band("other", rows, int(rows[0]))


def _numbers(column: Array, known: Index) -> Iterator[Band]:
    values = column[known]
    distinct = np.unique(values)
    if distinct.size <= MOST_VALUES:
        for value in distinct:
            rows = known[values == value]
            yield Band(_words(value), rows, int(rows[0]))
        return
    order = np.sort(values)
    cuts = np.unique([order[round(k * (values.size - 1) / 4)] for k in (1, 2, 3)])
    inner = [cut for cut in cuts if cut > distinct[0]] or [distinct[1]]
    edges = [None, *inner, None]
    for low, high in pairwise(edges):
        within = np.ones(values.size, dtype=bool)
        within &= True if low is None else values >= low
        within &= True if high is None else values < high
        rows = known[within]
        middle = rows[np.argsort(column[rows], kind="stable")[rows.size // 2]]
        yield Band(_between(low, high), rows, int(middle))


def _between(low: Any, high: Any) -> str:
    if low is None:
        return f"under {_words(high)}"
    return f"{_words(low)} or more" if high is None else f"{_words(low)} to under {_words(high)}"


def _words(value: Any) -> str:
    return str(value) if isinstance(value, np.datetime64) else number(float(value))

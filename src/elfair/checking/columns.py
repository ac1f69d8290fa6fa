"""What columns give away: leaks, constants, people who appear twice, labels that are no labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from elfair.checking.record import Finding
from elfair.continuous import ContinuousData
from elfair.data import LoggedData
from elfair.remarks import FEW_ROWS

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

#: A feature that tells a class in so many rows, or correlates so much, is that class or number.
NEARLY, CORRELATED = 0.995, 0.99
#: Propensities above this say that decisions can be told from features anyway.
NEARLY_CERTAIN = 0.98
#: A column with values in so large a share of rows tells people apart.
TELLING = 0.3


def of_columns(everyone: LoggedData, candidate: LoggedData) -> Iterator[Finding]:
    """Findings about single columns, and about rows that are the same."""
    yield from _of_features(everyone, candidate)
    yield from _of_impacts(candidate)
    yield from _of_labels(candidate)
    yield from _repeated(everyone)


def _of_features(everyone: LoggedData, candidate: LoggedData) -> Iterator[Finding]:
    for name, column in zip(everyone.feature_names, everyone.features.T, strict=True):
        if column.size and (column == column[0]).all():
            yield Finding(
                "note", f"feature '{name}' is the same everywhere", f"{column[0]:g} in all rows",
                "leave it out.",
            )  # fmt: skip
        group = _group_of(everyone, name, column)
        if group is not None:
            yield Finding(
                "note",
                f"the new model sees the sensitive attribute '{group}'",
                f"feature '{name}' holds it",
                "leave it out of the features, if decisions must not depend on it.",
            )
    if candidate.n < FEW_ROWS:
        return
    for name, column in zip(candidate.feature_names, candidate.features.T, strict=True):
        for what, shown in _told_by(column, candidate):
            yield Finding(
                "warning",
                f"feature '{name}' gives {what} away",
                f"{shown} in {candidate.n} candidate rows",
                "is it known when a decision is to be taken? If not, leave it out.",
            )


def _group_of(data: LoggedData, name: str, column: Floats) -> str | None:
    """The sensitive attribute that a feature is."""
    if name in data.sensitive:
        return name
    for group, values in data.sensitive.items():
        varies = column.size > 1 and column.min() < column.max()
        if varies and values.dtype.kind in "biuf" and np.array_equal(values, column):
            return group
    return None


def _told_by(column: Floats, data: LoggedData) -> Iterator[tuple[str, str]]:
    """What a feature tells nearly exactly, and how well."""
    if not column.size or column.min() == column.max():
        return
    numbers = {f"impact '{name}'": values for name, values in data.impacts.items()}
    classes = {"the label": data.label_index, "the decision": data.decision_index}
    if isinstance(data, ContinuousData):
        numbers |= {"the label": data.label} if data.label is not None else {}
        numbers |= {"the decision": data.decision} if data.decision is not None else {}
    for what, values in numbers.items():
        if values.min() < values.max():
            scaled = [each / np.abs(each).max() for each in (column, values)]
            correlation = abs(float(np.corrcoef(*scaled)[0, 1]))
            if correlation > CORRELATED:
                yield what, f"their correlation is {correlation:.3f}"
    by_chance = 0.0 if data.propensity is None else float(data.propensity.mean())
    for what, index in classes.items():
        if index is None or (what == "the decision" and by_chance > NEARLY_CERTAIN):
            continue
        for a, name in enumerate(data.classes):
            is_a = index == a
            usual = max(is_a.mean(), 1 - is_a.mean())
            right = _by_threshold(column, is_a)
            if right > NEARLY and usual < 1 - 2 * (1 - NEARLY):
                yield what, f"a threshold of it tells '{name}' rightly in {right:.1%}"
                break


def _by_threshold(column: Floats, is_a: NDArray[np.bool_]) -> float:
    """The share of rows in which the best threshold of a column is right about a class."""
    order = np.argsort(column, kind="stable")
    ordered, met = column[order], is_a[order]
    below = np.concatenate([[0], np.cumsum(met)])
    cut = np.flatnonzero(np.concatenate([[True], ordered[1:] > ordered[:-1], [True]]))
    right = below[cut] + (cut.size and (is_a.size - cut) - (below[-1] - below[cut]))
    return float(max(right.max(), is_a.size - right.min()) / is_a.size)


def _of_impacts(candidate: LoggedData) -> Iterator[Finding]:
    for name, values in candidate.impacts.items():
        if candidate.n > 1 and values.min() == values.max():
            yield Finding(
                "error",
                f"impact '{name}' is the same for everyone",
                f"{values[0]:g} in all {candidate.n} candidate rows",
                "was the right column read? What does not vary says nothing of any model.",
            )
            continue
        for group, column in candidate.sensitive.items():
            for value in dict.fromkeys(column.tolist()):
                inside = values[column == value]
                if inside.size >= FEW_ROWS and inside.min() == inside.max():
                    yield Finding(
                        "warning",
                        f"impact '{name}' is the same for all of {group} == {value!r}",
                        f"{inside[0]:g} in {inside.size} candidate rows",
                        "was it measured for them at all?",
                    )


def _of_labels(candidate: LoggedData) -> Iterator[Finding]:
    label, decision = candidate.label_index, candidate.decision_index
    if label is None or decision is None or candidate.n < FEW_ROWS:
        return
    if (label == decision).all():
        yield Finding(
            "warning",
            "the label is the decision",
            f"they are equal in all {candidate.n} candidate rows",
            "a label says what the best decision would have been; leave y out if it is not known.",
        )
        return
    for a, name in enumerate(candidate.classes):
        inside, outside = label[decision == a], label[decision != a]
        if inside.size >= FEW_ROWS and np.unique(inside).size == 1 < np.unique(outside).size:
            yield Finding(
                "warning",
                f"the label is the same for everyone who was decided about as '{name}'",
                f"'{candidate.classes[inside[0]]}' in {inside.size} candidate rows",
                "is it known only for those who were decided about otherwise? Then accuracy and "
                "all that speaks of labels is about them alone.",
            )


def _repeated(data: LoggedData) -> Iterator[Finding]:
    """Rows that are the same, where nothing says that they are different people."""
    if data.row_id is not None or data.n < 2:
        return
    columns = [*data.features.T, *(_codes(values) for values in data.sensitive.values())]
    for known in (data.decision, data.propensity):
        if known is not None:
            columns.append(known if known.dtype.kind == "f" else _codes(known))
    table = np.column_stack(columns).astype(np.float64)
    rows = np.sort(np.ascontiguousarray(table).view([("", np.float64)] * table.shape[1])[:, 0])
    again = int(np.sum(rows[1:] == rows[:-1]))
    if not again:
        return
    different = max(np.unique(column).size for column in data.features.T)
    telling = different >= TELLING * data.n
    yield Finding(
        "warning" if telling else "note",
        "rows are repeated" if telling else "people cannot be told apart",
        f"{again} of {data.n} rows have the features, groups, decision and propensity of another",
        "bounds need one row a person: pass row_id, which finds repeated people.",
    )


def _codes(values: NDArray[np.generic]) -> Floats:
    return np.unique(values.astype(str), return_inverse=True)[1].astype(np.float64)

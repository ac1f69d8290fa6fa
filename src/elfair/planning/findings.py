"""What columns give away: leaks, constants, people who appear twice, labels that are no labels.

What somebody should look at: group sizes, propensities, missing impacts, assumptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isinf

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.data.columns import is_missing
from elfair.data.propensities import MISFIT, misfit
from elfair.errors import ElfairError
from elfair.fairness_test.diagnostics import FEW_ROWS
from elfair.language import Condition, holds, uses_label
from elfair.planning.check_report import Finding, GroupCheck, StatementCheck
from elfair.statistics import values_of
from elfair.types import Floats

OUT_OF_REACH = ("out of reach at this number of rows", "out of reach at any number of rows")
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
    classes = {"the label": data.label_index, "the decision": data.decision_index}
    for what, values in data.measured.items():
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


#: A logged decision less probable than this weighs more than a hundred people.
TINY = 0.01
#: The chance with which impacts that are missing at random are said not to be, in all tests.
FALSE_ALARM = 0.01
#: Expected counts below this are too small for a chi-squared test.
FEWEST_EXPECTED = 5.0


def refusal(error: ElfairError) -> Finding:
    """What ``fit`` would refuse."""
    return Finding("error", "fit would refuse these data", error.message, error.hint or "")


def of_sizes(
    conditions: Sequence[Condition | None],
    groups: Sequence[GroupCheck],
    data: LoggedData,
    crossfit: bool,
) -> Iterator[Finding]:
    """Groups that nobody is in, or too small for the test, or for what it promises."""
    hint = "merge groups, check how the condition spells its values, or collect more of them."
    for given, group in zip(conditions, groups, strict=True):
        if group.candidate == group.held_out == 0 and not group.expected:
            yield Finding(
                "error",
                f"nobody is in group {group.condition}",
                f"none of {data.n} rows meets it.{values_of(given, data)}".removesuffix("."),
                "check how the condition spells its values.",
            )
            continue
        halves = [("held-out", group.held_out)]
        if not crossfit:
            halves.append(("candidate", group.candidate))
        for half, size in halves:
            if size is not None and size < FEW_ROWS:
                yield Finding(
                    "error" if size < 2 else "warning",
                    f"group {group.condition} is {'too small' if size < 2 else 'small'}",
                    f"{size} {half} rows meet it (below {2 if size < 2 else FEW_ROWS})",
                    hint,
                )


def of_propensities(data: LoggedData, groups: Sequence[GroupCheck]) -> Iterator[Finding]:
    """Propensities that do not fit the decisions, or leave hardly anything to compare with."""
    if data.probability is None:
        return
    fit = misfit(data)
    if fit is not None and not fit.is_chance:
        yield Finding(
            "error",
            "the propensities do not fit the decisions: no bound computed with them means anything",
            f"{fit.where}, is {fit.off:.1f} standard errors off (chance: at most {fit.limit:.1f})",
            MISFIT,
        )
    certain = data.probability >= 1
    if certain.any():
        yield Finding(
            "note",
            "some decisions were certain",
            f"propensity is exactly 1 in {certain.sum()} of {data.n} rows; the new model keeps to "
            "what the behaviour model could do there",
            "sample decisions wherever that can be answered for.",
        )
    for group in groups:
        if group.overlap is not None and group.overlap.smallest < TINY:
            few = int(
                sum(
                    c
                    for e, c in zip(group.overlap.edges[1:], group.overlap.counts, strict=True)
                    if e <= TINY
                )
            )
            yield Finding(
                "warning",
                f"group {group.condition} got decisions that were next to impossible",
                f"the smallest propensity is {group.overlap.smallest:.2g} ({few} rows are below "
                f"{TINY:g}): one person may weigh as much as {group.overlap.largest_weight:,.0f}",
                "log more exploration, or pass the fitted model as behavior, so that the new model "
                "can stay near it.",
            )
        for first in group.weights[:1]:
            if group.held_out is not None and first.ess < FEW_ROWS <= group.held_out:
                yield Finding(
                    "warning",
                    f"a few people of group {group.condition} would decide the result",
                    f"effective sample size {first.ess:.0f} of {group.held_out} held-out rows under"
                    " the first model",
                    "log more exploration, or a model nearer to the old one.",
                )


def of_missing_impact(
    data: LoggedData, left_out: LoggedData | None, conditions: Sequence[Condition | None]
) -> Iterator[Finding]:
    """Whether those whose impact is missing are like the others."""
    if left_out is None or not left_out.n:
        return
    total = data.n + left_out.n
    yield Finding(
        "note",
        "rows without impact were left out",
        f"{left_out.n} of {total} rows ({left_out.n / total:.1%})",
        "that is harmless only if, in each group, they are missing for reasons that have nothing "
        "to do with decision and impact.",
    )
    tables: list[tuple[str, list[str], list[list[int]]]] = []
    for given in conditions:
        if given is not None and not uses_label(given):
            here, gone = holds(given, data), holds(given, left_out)
            counts = [[int(x.sum()) for x in (here, gone)], [int((~x).sum()) for x in (here, gone)]]
            tables.append((f"between group {given} and the others", ["inside", "others"], counts))
    if data.decision_index is not None and left_out.decision is not None:
        names = [str(name) for name in data.classes]
        counts = [
            [int(np.sum(of == name)) for of in (data.decision, left_out.decision)]
            for name in data.classes
        ]
        tables.append(("between decisions", names, counts))
    for where, names, counts in tables:
        table = np.array(counts, dtype=np.float64)
        table, kept = table[table.sum(axis=1) > 0], table.sum(axis=1) > 0
        chance = _independent(table)
        if chance < FALSE_ALARM / len(tables):
            shown = [name for name, keep in zip(names, kept, strict=True) if keep]
            rates = ", ".join(
                f"{name}: {row[1] / row.sum():.1%}" for name, row in zip(shown, table, strict=True)
            )
            yield Finding(
                "warning",
                f"missing impact differs {where}",
                f"missing in {rates} (by chance once in {1 / max(chance, 1e-12):,.0f} times)",
                "find out why: if those whose impact is missing fared differently, what remains "
                "says nothing of them.",
            )


def _independent(table: NDArray[np.float64]) -> float:
    """The chance of such a table if rows and columns are independent (Pearson's chi-squared)."""
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    if len(table) < 2 or expected.min() < FEWEST_EXPECTED:
        return 1.0
    return float(chdtrc(len(table) - 1, ((table - expected) ** 2 / expected).sum()))


def of_people(data: LoggedData, impact_conditions: Sequence[Condition | None]) -> Iterator[Finding]:
    """People whom no statement about an impact speaks of."""
    for name, column in data.sensitive.items():
        missing = int(is_missing(column).sum())
        if missing:
            yield Finding(
                "note",
                f"'{name}' is not known of everyone",
                f"missing in {missing} of {data.n} rows, which meet no condition on it",
                "name them a group of their own, if they are to be protected.",
            )
    named = [given for given in impact_conditions if given is not None]
    if not named or len(named) < len(impact_conditions) or any(map(uses_label, named)):
        return
    covered = np.any([holds(given, data) for given in named], axis=0)
    if not covered.all():
        yield Finding(
            "note",
            "no statement about an impact speaks of some people",
            f"{(~covered).sum()} of {data.n} rows",
            "a group that is not named is not protected.",
        )


def of_statements(statements: Sequence[StatementCheck]) -> Iterator[Finding]:
    """Statements that even a model made for them alone would hardly pass."""
    for statement in statements:
        if statement.alone is not None and isinf(statement.alone.upper):
            yield Finding(
                "warning",
                f"no bound is foreseen: {statement.statement}",
                "its candidate rows do not vary, whatever the model; the t bound needs rows that "
                "vary",
                "was the right column read, and measured? A finite-sample bound does without.",
            )
        elif statement.alone is not None and statement.reach in OUT_OF_REACH:
            at_any = statement.reach == "out of reach at any number of rows"
            yield Finding(
                "warning",
                f"{statement.reach}: {statement.statement}",
                f"a model made for it alone is foreseen to have g = {statement.alone.estimate:.4g} "
                f"and to pass with probability {statement.alone.chance:.2g}",
                "loosen it, or give the model more features or a scorer."
                if at_any
                else "plan says how many rows it may take; or loosen it.",
            )


def of_assumptions(assumptions: Sequence[Assumption]) -> Iterator[Finding]:
    """Assumptions that are known not to hold."""
    for assumption in assumptions:
        if assumption.status == "violated" and assumption.code != "propensities_fit":
            yield Finding(
                "warning",
                f"assumption violated: {assumption.name}",
                assumption.evidence,
                "the stated confidence is not backed while it does not hold.",
            )

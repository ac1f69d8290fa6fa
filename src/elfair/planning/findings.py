"""What check finds in data and settings: problems that you should look at before a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isinf

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from elfair.bounds import AUTO
from elfair.certificate import Assumption
from elfair.certificate.people import UnseenRecord
from elfair.data import LoggedData
from elfair.data.columns import is_missing
from elfair.data.digests import is_module
from elfair.data.features import kind_of, same_values
from elfair.data.propensities import misfit
from elfair.data.revealed import Revealed
from elfair.errors import ElfairError, listed
from elfair.estimators.fit import Request
from elfair.fairness_test.diagnostics import FEW_ROWS
from elfair.fairness_test.estimated import groups_in
from elfair.language.conditions import Condition, uses_label, who
from elfair.language.evaluation import holds
from elfair.planning.changes import FALSE_ALARM as CHANGED
from elfair.planning.changes import largest_change
from elfair.planning.check_report import Finding
from elfair.planning.forecast import Forecaster, StatementCheck
from elfair.planning.visible import TINY, GroupCheck, VisibleRows, not_forecast
from elfair.records.names import names_a_row, speaks_of_groups
from elfair.statistics.claims import Claim
from elfair.statistics.compiled import shown_values
from elfair.statistics.people import people_of
from elfair.types import Array, Booleans, Floats

#: If more than this share of people could get some decision only with less than this estimated
#: probability, weights rest on few of them.
UNLIKELY = 0.05
#: A feature gives away a class that it predicts in this share of rows, and a number that it
#: correlates this much with.
PREDICTED, CORRELATED = 0.995, 0.99
#: If propensities are above this on average, features predict decisions anyway.
NEARLY_CERTAIN = 0.98
#: A column with this many different values, as a share of rows, tells people apart.
TELLING = 0.3
#: With more decisions than this, no statement is forecast alone: each takes searches of its own.
MOST_ALONE = 30


def of_columns(everyone: LoggedData, candidate: LoggedData) -> Iterator[Finding]:
    """Findings about single columns, and about rows that are equal."""
    yield from _of_features(everyone, candidate)
    yield from _of_impacts(candidate)
    yield from _of_labels(candidate)
    yield from _repeated(everyone)


def _of_features(everyone: LoggedData, candidate: LoggedData) -> Iterator[Finding]:
    for name in everyone.feature_names:
        column = everyone.feature(name)
        different = dict.fromkeys(column[~is_missing(column)].tolist())
        if len(different) < 2 and not is_missing(column).any() and column.size:
            shown = f"{column[0]:g}" if kind_of(column) == "number" else repr(column[0])
            yield Finding.of("constant_feature", f"it is {shown} in all rows", about=name)
        group = _group_of(everyone, name, column)
        if group is not None:
            yield Finding.of(
                "sensitive_feature_seen", f"feature '{name}' is the same column", about=group
            )
        elif speaks_of_groups(name):
            evidence = "its name says so; it is a feature, and not named as sensitive"
            yield Finding.of("sensitive_feature_seen", evidence, about=name)
        if tells_apart(name, column):
            evidence = f"it has {len(different):,} different values in {everyone.n:,} rows"
            yield Finding.of("identifier_seen", evidence, about=name)
    if candidate.n < FEW_ROWS:
        return
    for name, column in zip(candidate.prepared_names, candidate.features.T, strict=True):
        for shown in _leaks(column, candidate):
            yield Finding.of("leak", f"{shown} in {candidate.n:,} candidate rows", about=name)


def tells_apart(name: str, column: Array) -> bool:
    """Whether a feature is an identifier: by its name, a number of nearly every row; or texts, or
    whole numbers close together, of which no two rows share one.

    Examples
    --------
    >>> tells_apart("n", np.arange(500) + 7), tells_apart("cents", np.arange(500) ** 2)
    (True, False)
    """
    known = column[~is_missing(column)]
    different = len(dict.fromkeys(known.tolist()))
    if column.size < FEW_ROWS or different < TELLING * column.size or known.dtype.kind in "mM":
        return False
    if names_a_row(name):
        return True
    if different < column.size:
        return False
    if kind_of(column) != "number":
        return True
    numbers = known.astype(np.float64)
    whole = bool(np.all(numbers == np.floor(numbers)))
    return whole and float(numbers.max() - numbers.min()) < 2 * column.size


def _group_of(data: LoggedData, name: str, column: Array) -> str | None:
    """The sensitive feature that a feature is equal to."""
    if name in data.sensitive:
        return name
    varies = len(dict.fromkeys(column[~is_missing(column)].tolist())) > 1
    for group, values in data.sensitive.items():
        if varies and same_values(values, column):
            return group
    return None


def _leaks(column: Floats, data: LoggedData) -> Iterator[str]:
    """What a feature predicts almost perfectly, and how well."""
    if not column.size or column.min() == column.max():
        return
    for what, measured in data.measured.items():
        seen = ~np.isnan(measured)
        values, beside = measured[seen], column[seen]
        if values.size and values.min() < values.max() and beside.min() < beside.max():
            scaled = [each / np.abs(each).max() for each in (beside, values)]
            correlation = abs(float(np.corrcoef(*scaled)[0, 1]))
            if correlation > CORRELATED:
                yield f"its correlation with {what} is {correlation:.3f}"
    classes = {"label": data.label_index, "decision": data.decision_index}
    if data.propensity is not None and data.propensity.mean() > NEARLY_CERTAIN:
        del classes["decision"]
    known = {what: index for what, index in classes.items() if index is not None}
    for what, index in known.items():
        for a, name in enumerate(data.classes):
            is_a = index == a
            usual = max(is_a.mean(), 1 - is_a.mean())
            right = _by_threshold(column, is_a)
            if right > PREDICTED and usual < 1 - 2 * (1 - PREDICTED):
                yield f"a threshold on it tells whether the {what} is '{name}' in {right:.1%}"
                break


def _by_threshold(column: Floats, is_a: Booleans) -> float:
    """The share of rows in which the best threshold of a column is right about a class."""
    order = np.argsort(column, kind="stable")
    ordered, met = column[order], is_a[order]
    below = np.concatenate([[0], np.cumsum(met)])
    cut = np.flatnonzero(np.concatenate([[True], ordered[1:] > ordered[:-1], [True]]))
    right = below[cut] + (cut.size and (is_a.size - cut) - (below[-1] - below[cut]))
    return float(max(right.max(), is_a.size - right.min()) / is_a.size)


def _of_impacts(candidate: LoggedData) -> Iterator[Finding]:
    for name, measured in candidate.impacts.items():
        seen = ~np.isnan(measured)
        values = measured[seen]
        if values.size > 1 and values.min() == values.max():
            evidence = f"it is {values[0]:g} in all {values.size:,} candidate rows"
            yield Finding.of("constant_impact", evidence, about=name)
            continue
        for group, column in candidate.sensitive.items():
            for value in dict.fromkeys(column.tolist()):
                inside = values[column[seen] == value]
                if inside.size >= FEW_ROWS and inside.min() == inside.max():
                    evidence = f"'{name}' is {inside[0]:g} in {inside.size:,} candidate rows"
                    about = f"{group} == {value!r}"
                    yield Finding.of("constant_impact_in_group", evidence, about=about)


def _of_labels(candidate: LoggedData) -> Iterator[Finding]:
    label, decision = candidate.label_index, candidate.decision_index
    if label is None or decision is None or candidate.n < FEW_ROWS:
        return
    if candidate.revealed is not None:
        yield _of_revealed(candidate.revealed)
        return
    seen = np.unique(label)
    for a in np.setdiff1d(np.unique(decision), seen):
        holds_only = listed(candidate.classes[seen])
        evidence = f"in {candidate.n:,} candidate rows, labels are {holds_only}"
        yield Finding.of("decision_never_label", evidence, about=f"'{candidate.classes[a]}'")
    if (label == decision).all():
        yield Finding.of(
            "label_is_decision", f"they are equal in all {candidate.n:,} candidate rows"
        )
        return
    for a, name in enumerate(candidate.classes):
        inside, outside = label[decision == a], label[decision != a]
        if inside.size >= FEW_ROWS and np.unique(inside).size == 1 < np.unique(outside).size:
            evidence = f"it is '{candidate.classes[inside[0]]}' in {inside.size:,} candidate rows"
            yield Finding.of("label_only_for_some", evidence, about=str(name))


def _of_revealed(revealed: Revealed) -> Finding:
    """How many labels are seen, and how much the rarest of them count."""
    n, seen = revealed.seen.size, revealed.seen
    evidence = (
        f"{int(seen.sum()):,} of {n:,} candidate rows have a label; one of them counts for up to "
        f"{revealed.weight.max():.3g} people"
    )
    return Finding.of("label_revealed", evidence, about=listed(revealed.decisions))


def _repeated(data: LoggedData) -> Iterator[Finding]:
    """Rows that are equal, if nothing says that they are different people."""
    if data.row_id is not None or data.unit is not None or data.n < 2:
        return
    features = [np.nan_to_num(column, nan=-np.inf) for column in data.comparable]
    columns = [*features, *(_codes(values) for values in data.sensitive.values())]
    for known in (data.decision, data.propensity):
        if known is not None:
            columns.append(known if known.dtype.kind == "f" else _codes(known))
    table = np.column_stack(columns).astype(np.float64)
    again = data.n - len(np.unique(table, axis=0))
    if not again:
        return
    different = max(np.unique(column).size for column in features)
    yield Finding.of(
        "repeated_rows" if different >= TELLING * data.n else "identical_rows",
        f"{again:,} of {data.n:,} rows have the same features, groups, decision and propensity as "
        "another row",
    )


def _codes(values: NDArray[np.generic]) -> Floats:
    return np.unique(values.astype(str), return_inverse=True)[1].astype(np.float64)


def of_changes(visible: VisibleRows, conditions: Sequence[Condition | None]) -> Iterator[Finding]:
    """People, decisions or overlap that changed over time."""
    known = [given for given in conditions if visible.deciding(given) is visible.everyone]
    change = largest_change(visible.everyone, known)
    if change is not None:
        more = change.late > change.early
        times = f"at least {change.ratio:.3g}" if more else f"at most 1/{change.ratio:.3g}"
        evidence = (
            f"among {change.among}, {change.kind}: {change.early:.1%} of the early half and "
            f"{change.late:.1%} of the late half, {times} times as frequent as before (the chance "
            f"of a false alarm is at most {CHANGED:.0%})"
        )
        yield Finding.of("people_changed", evidence, about=change.kind)


#: The probability of a false alarm, over all tests, if impacts are missing at random.
FALSE_ALARM = 0.01
#: Expected counts below this are too small for a chi-squared test.
FEWEST_EXPECTED = 5.0


def refusal(error: ElfairError) -> Finding:
    """The finding about data that ``fit`` would refuse."""
    return Finding.of("refused", error.message, hint=error.hint or "")


def of_sizes(
    conditions: Sequence[Condition | None], visible: VisibleRows, crossfit: bool
) -> Iterator[Finding]:
    """Groups that are empty, too small for the test, or too small to trust it."""
    for given in conditions:
        about, data = who(given), visible.deciding(given)
        if data is visible.everyone and not holds(given, data).any():
            evidence = f"it holds in none of {data.n:,} rows.{shown_values(given, data)}"
            yield Finding.of("empty_group", evidence.removesuffix("."), about=about)
            continue
        halves = {"held-out": visible.held_out(given)}
        if not crossfit:
            halves["candidate"] = int(holds(given, visible.candidate).sum())
        for half, size in halves.items():
            if size is not None and size < FEW_ROWS:
                rows = "row meets" if size == 1 else "rows meet"
                evidence = f"{size:,} {half} {rows} it (below {2 if size < 2 else FEW_ROWS})"
                code = "group_too_small" if size < 2 else "small_group"
                yield Finding.of(code, evidence, about=about)


def of_propensities(data: LoggedData, groups: Sequence[GroupCheck]) -> Iterator[Finding]:
    """Propensities that do not fit the decisions, or leave too few rows to compare with."""
    fit = misfit(data)
    if fit is not None and not fit.is_chance:
        off = f"is {fit.off:.1f} standard errors off (by chance at most {fit.limit:.1f})"
        yield Finding.of("propensities_misfit", f"{fit.where}, {off}")
    if data.probability is None:
        return
    certain = data.probability >= 1
    if certain.any():
        yield Finding.of(
            "certain_decisions",
            f"propensity is exactly 1 in {certain.sum():,} of {data.n:,} rows; there the new model "
            "can only do what the behaviour model could do",
        )
    for group in groups:
        overlap, about = group.overlap, group.condition
        if overlap is not None and overlap.smallest < TINY:
            few = overlap.counts[f"{TINY:g}"]
            evidence = (
                f"the smallest propensity is {overlap.smallest:.2g} (rows up to {TINY:g}: {few}): "
                f"one person may weigh as much as {overlap.largest_weight:,.0f}"
            )
            yield Finding.of("tiny_propensities", evidence, about=about)
        for first in group.weights[:1]:
            if first.ess is not None and first.ess < FEW_ROWS <= first.n:
                evidence = (
                    f"effective sample size {first.ess:.0f} of {first.n:,} held-out rows under the "
                    "first model"
                )
                yield Finding.of("few_effective_rows", evidence, about=about)


def of_estimated(data: LoggedData) -> Iterator[Finding]:
    """How propensities were estimated, and who could hardly get some decision."""
    if data.learnt is None or data.behavior is None:
        return
    others = [f"{form} {likelihood:.4f}" for form, likelihood in data.learnt.tried]
    evidence = f"{data.learnt.form}; log-likelihood by other folds: {', '.join(others)}"
    yield Finding.of("propensities_estimated", evidence)
    unlikely = data.behavior.min(axis=1) < UNLIKELY
    for condition, inside in groups_in(data):
        share = float(unlikely[inside].mean()) if inside.any() else 0.0
        if share > UNLIKELY:
            evidence = (
                f"{share:.0%} have an estimated probability below {UNLIKELY:g} of some decision"
            )
            yield Finding.of("little_overlap", evidence, about=condition)


def of_missing_impact(
    data: LoggedData, left_out: LoggedData | None, conditions: Sequence[Condition | None]
) -> Iterator[Finding]:
    """Whether people without an impact are like the others."""
    if left_out is None or not left_out.n:
        return
    total = data.n + left_out.n
    yield Finding.of(
        "impact_missing", f"{left_out.n:,} of {total:,} rows ({left_out.n / total:.1%})"
    )
    tables: dict[str, dict[str, list[int]]] = {}
    for given in conditions:
        if given is not None and not uses_label(given):
            met = [holds(given, rows) for rows in (data, left_out)]
            inside = [int(rows.sum()) for rows in met]
            others = [int((~rows).sum()) for rows in met]
            tables[str(given)] = {"inside": inside, "others": others}
    if data.decision_index is not None and left_out.decision is not None:
        taken = data.decision, left_out.decision
        tables["the decision"] = {
            str(name): [int(np.sum(of == name)) for of in taken] for name in data.classes
        }
    for about, counts in tables.items():
        seen = {name: both for name, both in counts.items() if sum(both)}
        chance = _independent(np.array(list(seen.values()), dtype=np.float64))
        if chance < FALSE_ALARM / len(tables):
            rates = [f"{name}: {gone / (here + gone):.1%}" for name, (here, gone) in seen.items()]
            rarely = f"by chance once in {1 / max(chance, 1e-12):,.0f} times"
            evidence = f"missing in {', '.join(rates)} ({rarely})"
            yield Finding.of("impact_missing_unevenly", evidence, about=about)


def of_unseen(unseen: Sequence[UnseenRecord]) -> Iterator[Finding]:
    """Of whom impacts are missing that something stands for."""
    for each in unseen:
        rates = [
            f"{' with decision '.join(filter(None, (by.group, by.decision)))}: "
            f"{by.missing:,} of {by.n:,}"
            for by in each.by
        ]
        evidence = f"{each.missing:,} of {each.n:,} rows ({each.missing / each.n:.1%})"
        yield Finding.of(
            "impact_unseen", f"{evidence}; {'; '.join(rates)}", about=f"{each.impact}, {each.how}"
        )


def _independent(table: NDArray[np.float64]) -> float:
    """The p-value of independent rows and columns (Pearson's chi-squared)."""
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    if len(table) < 2 or expected.min() < FEWEST_EXPECTED:
        return 1.0
    return float(chdtrc(len(table) - 1, ((table - expected) ** 2 / expected).sum()))


def of_people(data: LoggedData, claims: Sequence[Claim]) -> Iterator[Finding]:
    """People in no group that a statement names, and groups that look like a mistake."""
    people = people_of(claims, data)
    if people.unnamed:
        who = ", ".join(str(each) for each in people.groups if not each.named)
        yield Finding.of("people_not_named", f"{people.unnamed:,} of {data.n:,} rows: {who}")
    if odd := [str(each) for each in people.groups if each.perhaps]:
        yield Finding.of("group_mistaken", ", ".join(odd))


def of_statements(statements: Sequence[StatementCheck]) -> Iterator[Finding]:
    """Statements that even a model made for them alone would hardly pass."""
    for each in statements:
        if each.alone is None:
            continue
        if isinf(each.alone.upper):
            evidence = (
                "its candidate rows do not vary, whatever the model; the t bound needs rows that "
                "vary"
            )
            yield Finding.of("no_bound", evidence, about=each.statement)
        elif each.reach in ("too_few_rows", "out_of_reach"):
            evidence = (
                f"forecast for a model made for it alone: g = {each.alone.estimate:.4g}; it passes "
                f"with probability {each.alone.chance:.2g}"
            )
            yield Finding.of(each.reach, evidence, about=each.statement)


def of_assumptions(assumptions: Sequence[Assumption], accepted: Sequence[str]) -> Iterator[Finding]:
    """Assumptions that are known not to hold."""
    for assumption in assumptions:
        if assumption.status == "violated":
            known = assumption.code in accepted
            code = "assumption_accepted" if known else "assumption_violated"
            yield Finding.of(code, assumption.evidence, about=assumption.name)


def of_ranges(forecaster: Forecaster | None) -> Iterator[Finding]:
    """Impacts whose promise is asymptotic only because their range is not declared."""
    if forecaster is None or forecaster.plan.bound != AUTO:
        return
    plan, candidate = forecaster.plan, forecaster.visible.candidate
    parts = [part for claim in plan.compile(candidate) for part in claim.parts]
    for name in dict.fromkeys(impact.name for part in parts for impact in part.impacts):
        if name not in plan.baselines.estimation.ranges:
            low, high = (float(end(candidate.impacts[name])) for end in (np.nanmin, np.nanmax))
            growth = forecaster.with_range(name, (low, high))
            if growth is not None:
                yield Finding.of(
                    "range_not_declared",
                    f"candidate rows show {low:g} to {high:g}; with that as the range, bounds as "
                    f"tight as these need about {growth:.2g} times as many held-out rows",
                    about=name,
                )


def of_many_decisions(forecaster: Forecaster | None) -> Iterator[Finding]:
    """What was left out because it would take long."""
    if forecaster is None or forecaster.visible.candidate.classes.size <= MOST_ALONE:
        return
    yield Finding.of(
        "alone_not_forecast",
        f"more than {MOST_ALONE} decisions: each statement would need searches of its own",
        about=str(forecaster.visible.candidate.classes.size),
    )


def of_settings(request: Request) -> Iterator[Finding]:
    """What the settings keep out of the forecast."""
    if not request.claims:
        yield Finding.of("no_constraints", "there is no constraint")
    elif request.crossfit:
        yield Finding.of(
            "crossfit_not_forecast", "every row is tested, so none may be used before the test"
        )
    elif is_module(request.parameters.get("scorer")):
        yield Finding.of(
            "module_not_forecast",
            "it would have to be trained many times; rows and columns were checked",
        )
    elif replaced := not_forecast(request):
        yield Finding.of(
            "search_not_forecast", "it would take a search many times as long", about=replaced
        )

"""The statements of a certificate, as new rows show them, which the certified model decided about.

What is the new model's in a certificate is what these rows show as they are; and what was the old
model's must be estimated by weighting, if its probabilities for these people are known. So the
rows of a statement are those of a test in which both models have changed places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from elfair.certificate import Certificate
from elfair.certificate.pictures import Interval
from elfair.data import LoggedData
from elfair.fairness_test.drawing import CONFIDENCE
from elfair.language import conditions
from elfair.language.conditions import Condition, uses_label
from elfair.language.conjunction import Linear, conjuncts
from elfair.language.evaluation import are_disjoint, holds
from elfair.language.expressions import Mean
from elfair.statistics import Baselines, compile_form
from elfair.statistics.impact_estimators import Estimation
from elfair.statistics.impacts import impact_of
from elfair.statistics.labels import asks_for_label
from elfair.types import Booleans, Floats, Index

#: What a missing impact is taken for, if its row is left out.
DROP = "drop"
#: The share of alpha that the error of a certified average of the old model gets.
OF_BASELINE = 0.5
#: Before so many rows of each condition, there is nothing to learn from.
FEWEST_LEARNT = 10


@dataclass(frozen=True)
class Watched:
    """A statement that is watched.

    Parameters
    ----------
    text : str
        The one-sided statement, g <= 0.
    form : Linear
        The rows of g, with both models in the places of the module.
    opposite : Linear
        Those of -g.
    alpha : float
        The probability of a false alarm, over all time.
    compared : str
        How it is compared with the old model; empty if it is not.
    kind : {"", "asymptotic"}
        "asymptotic" if a certified average has an asymptotic interval.
    """

    text: str
    form: Linear
    opposite: Linear
    alpha: float
    compared: str
    kind: str = ""


class Unwatched(NamedTuple):
    """A statement that cannot be watched, and why."""

    text: str
    why: str


WEIGHTED = "by weighting to its probabilities"
CERTIFIED = "with the certified average of the old model, whose error is counted"


def watched_statements(
    record: Certificate, data: LoggedData, alpha: float, *, old_known: bool
) -> tuple[list[Watched], list[Unwatched]]:
    """What can be watched of a certificate; alpha is divided among its statements.

    Parameters
    ----------
    record : Certificate
        The certificate.
    data : LoggedData
        Some rows, with the columns of all.
    alpha : float
        The probability of a false alarm about any statement, over all time.
    old_known : bool
        Whether the old model can be estimated by weighting.
    """
    share = alpha / max(1, len(record.terms.claims))
    found: list[Watched] = []
    left: list[Unwatched] = []
    for claim in record.terms.claims:
        (conjunct,) = (each for each in conjuncts(claim.constraint) if each.text == claim.statement)
        why = _why_not(conjunct.form, data)
        watched = (
            None
            if why
            else _watched(claim.statement, conjunct.form, record, data, share, old_known)
        )
        if watched is None:
            left.append(Unwatched(claim.statement, why or _NO_BASELINE))
        else:
            found.append(watched)
    return found, left


_NO_BASELINE = (
    "it compares with the old model, which these rows hardly show, or whose probabilities are not "
    "known; and the certificate does not show its average"
)


def _why_not(form: Linear, data: LoggedData) -> str:
    """Why a form cannot be watched; empty if it can."""
    if not form.is_linear:
        return "it is no sum of averages"
    for _, mean in form.means:
        if asks_for_label(mean, data) and data.label is None:
            return "it asks for the label, and the study names no column for it"
        if mean.given is not None and uses_label(mean.given):
            return "it asks who people are by a label that is known only later"
        if mean.of == conditions.Column("cost") and impact_of(mean, data) is None:
            return "it is about a cost"
    return ""


def _watched(
    text: str, form: Linear, record: Certificate, data: LoggedData, share: float, old_known: bool
) -> Watched | None:
    logged = [mean for _, mean in form.means if mean.logged]
    if not logged:
        return Watched(text, _exchanged(form), _exchanged(-form), share, "")
    if old_known:
        return Watched(text, _exchanged(form), _exchanged(-form), share, WEIGHTED)
    intervals = [_certified(mean, record, share * OF_BASELINE / len(logged)) for mean in logged]
    if None in intervals:
        return None
    known = dict(zip(logged, intervals, strict=True))
    kind = "asymptotic" if any(each and each[1] for each in intervals) else ""
    ends = {mean: each[0] for mean, each in known.items() if each}
    own = share * (1 - OF_BASELINE)
    return Watched(
        text, _exchanged(_at_worst(form, ends)), _exchanged(_at_worst(-form, ends)), own,
        CERTIFIED, kind,
    )  # fmt: skip


def _exchanged(form: Linear) -> Linear:
    return Linear(
        form.constant,
        tuple(
            (weight, replace(node, logged=not node.logged))
            for weight, node in form.terms
            if isinstance(node, Mean)
        ),
    )


def _at_worst(form: Linear, ends: Mapping[Mean, Interval]) -> Linear:
    """A form with the end of each interval at which it is the largest."""
    constant, terms = form.constant, []
    for weight, node in form.terms:
        if isinstance(node, Mean) and node in ends:
            constant += weight * (ends[node].high if weight > 0 else ends[node].low)
        else:
            terms.append((weight, node))
    return Linear(constant, tuple(terms))


def _certified(mean: Mean, record: Certificate, alpha: float) -> tuple[Interval, bool] | None:
    """An interval for the old model's average of an impact, from what the certificate shows of it;
    and whether it is asymptotic. None if it shows nothing.

    With a declared range it is that of Maurer and Pontil (2009), else Student's t.
    """
    who = conditions.who(mean.given)
    name = mean.of.name if isinstance(mean.of, conditions.Column) else None
    ranges = {each.impact: each.high - each.low for each in record.terms.impact_ranges}
    for group in record.groups:
        shown = {each.impact: each.logged for each in group.impacts}
        if len(shown) == 1:  # a single impact is also called "impact"
            shown["impact"] = next(iter(shown.values()))
        if group.condition != who or name not in shown or group.n < 2:
            continue
        said, n = shown[name], group.n
        error = (said.high - said.estimate) / float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
        width = ranges.get(name, ranges.get(next(iter(shown)), inf))
        if isfinite(width) and not record.terms.unseen:
            level = log(4 / alpha)
            half = error * sqrt(2 * level) + 7 * width * level / (3 * (n - 1))
            return Interval(said.estimate, said.estimate - half, said.estimate + half), False
        half = error * float(stdtrit(n - 1, 1 - alpha / 2))
        return Interval(said.estimate, said.estimate - half, said.estimate + half), True
    return None


def conditions_in(form: Linear) -> tuple[Condition | None, ...]:
    """The conditions of a form, each once."""
    return tuple(dict.fromkeys(mean.given for _, mean in form.means)) or (None,)


def are_apart(form: Linear) -> bool:
    """Whether nobody can meet two conditions of a form."""
    given = conditions_in(form)
    return all(are_disjoint(a, b) for i, a in enumerate(given) for b in given[:i])


class Shown(NamedTuple):
    """What new rows show of one side of a statement, inside one condition.

    Parameters
    ----------
    places : ndarray of shape (m,)
        The rows that meet the condition.
    rows : ndarray of shape (m,)
        The rows of the statement.
    high : float
        Their known upper end.
    """

    places: Index
    rows: Floats
    high: float


@dataclass(frozen=True)
class NewRows:
    """Rows that the certified model decided about, behind those to learn from.

    Parameters
    ----------
    data : LoggedData
        All of them.
    learnt : int
        How many of them, the first ones, are there to learn from.
    old : ndarray of shape (n, classes), optional
        The old model's probabilities.
    ranges : mapping of str to (float, float)
        The declared ranges of impacts.
    label_missing : ndarray of bool
        The rows whose label is not known: they count as badly as they could.
    """

    data: LoggedData
    learnt: int
    old: Floats | None
    ranges: Mapping[str, tuple[float, float]]
    label_missing: Booleans

    @property
    def overlap(self) -> float:
        """The mean square of a weight of the old model; infinite if it could not be more."""
        assert self.data.behavior is not None
        if self.old is None:
            return inf
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(self.old > 0, self.old**2 / self.data.behavior, 0.0)
        return float(squares.sum(axis=1).mean())

    def can_teach(self, given: Condition | None) -> bool:
        """Whether enough rows meet a condition to learn from."""
        return int(holds(given, self.data)[: self.learnt].sum()) >= FEWEST_LEARNT

    @cached_property
    def _baselines(self) -> Baselines:
        estimation = Estimation("paired", self.ranges, finite_sample=bool(self.ranges))
        return Baselines(estimation, self.data.take(np.arange(max(self.learnt, 1))))

    def shows(self, form: Linear, given: Condition | None) -> Shown | None:
        """What the new rows show of the part of a form that is about one condition."""
        constant = form.constant if given == conditions_in(form)[0] else 0.0
        terms = [
            (weight, node)
            for weight, node in form.terms
            if isinstance(node, Mean) and node.given == given
        ]
        index = np.flatnonzero(holds(given, self.data))
        if not np.any(index >= self.learnt):
            return None
        data, old = self.data, self.old
        if index.size == 1:  # an average has at least two rows; the second is left out below
            twice = np.append(np.arange(data.n), index)
            data, old = data.take(twice), None if old is None else old[twice]
        (part,) = compile_form(Linear(constant, tuple(terms)), data, self._baselines, {})
        free = np.zeros((data.classes.size - 1, data.n)) if old is None else old.T[1:]
        rows = part.rows.exact_values(free)[: index.size]
        if any(asks_for_label(node, data) for _, node in terms):
            rows = np.where(self.label_missing[index], part.rows.high, rows)
        new = index >= self.learnt
        return Shown(index[new], rows[new], part.rows.high)

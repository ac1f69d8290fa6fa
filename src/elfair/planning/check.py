"""check: what can be known before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import NoReturn

import numpy as np

from elfair._version import __version__
from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.errors import ConstraintError, DataError, ElfairError
from elfair.estimators.base import ELFEstimator
from elfair.estimators.fit import Request
from elfair.fairness_test.assumptions import facts_of_test, list_assumptions
from elfair.language import Condition
from elfair.planning import findings
from elfair.planning.check_report import SCHEMA, CheckReport
from elfair.planning.codes import SEVERITIES, Finding
from elfair.planning.forecast import FOLDS, Foreseen, StatementCheck, foresee
from elfair.planning.visible import (
    GroupCheck,
    VisibleRows,
    as_record,
    describe,
    require_plannable,
)
from elfair.search import Selection
from elfair.search.families import ModuleFamily, is_module
from elfair.statistics import impact_of
from elfair.statistics.beyond_the_mean import settle
from elfair.statistics.plan import Claim, Plan, conditions_of, read_constraints
from elfair.types import Floats


def check(
    estimator: ELFEstimator, data: LoggedData, *, left_out: LoggedData | None = None
) -> CheckReport:
    """Say what can be known of data and assumptions before anything is spent.

    Of the held-out rows impacts and labels are never looked at, so that ``fit`` may follow, with
    the constraints changed or not, at no cost in validity.

    Parameters
    ----------
    estimator : ELFClassifier or ELFRegressor
        What ``fit`` would be called on; it is not changed. Its ``random_state`` must be a whole
        number, or else ``fit`` would make another split.
    data : LoggedData
        All rows. (For a regressor, a ContinuousData.)
    left_out : LoggedData, optional
        People who are not among them since their impact is missing; without ``impact``.

    Returns
    -------
    CheckReport
        With ``ok``, ``text()`` and ``to_json()``.

    Examples
    --------
    >>> from elfair import ELFClassifier, LoggedData
    >>> from elfair.populations import FosterCare
    >>> population = FosterCare()
    >>> log = population.sample(1000, seed=0)
    >>> data = LoggedData(log.features, log.label, sensitive_features={"T": log.group},
    ...                   decision=log.decision, propensity=log.propensity, impact=log.impact)
    >>> report = check(ELFClassifier(population.constraints), data)
    >>> report.ok, [statement.reach for statement in report.statements]
    (True, ['likely', 'likely', 'likely'])
    """
    require_plannable(estimator, data)
    refused: list[Finding] = []
    try:
        request = estimator.request(data)
    except ConstraintError:
        raise  # what was asked for makes no sense, whatever the data are
    except DataError as error:
        refused = [findings.refusal(error)]
        claims = read_constraints(estimator.constraints, estimator.delta, data)
        parameters, seed = estimator.get_params(deep=False), int(estimator.random_state)
        request = Request(claims, parameters, seed, _no_search)
    data = data.with_thresholds(request.thresholds)
    return _Check(request, VisibleRows.of(data, request), left_out).report(refused)


def _no_search(*_: object) -> NoReturn:
    """Where ``fit`` would refuse the rows, nothing is searched for."""
    raise AssertionError


@dataclass(frozen=True)
class _Prepared:
    """The search on all candidate rows, and what it puts forward."""

    selection: Selection
    plan: Plan
    rows: LoggedData
    models: list[Floats]


@dataclass(frozen=True)
class _Check:
    """One check."""

    request: Request
    visible: VisibleRows
    left_out: LoggedData | None

    def report(self, refused: list[Finding]) -> CheckReport:
        """Everything, with what ``fit`` would refuse."""
        visible, prepared = self.visible, None
        conditions = list(dict.fromkeys([None, *conditions_of(self.claims)]))
        groups = [describe(given, visible, self.left_out, []) for given in conditions]
        found = [*refused]
        if self.claims:
            found += findings.of_sizes(conditions, groups, visible.everyone, self.request.crossfit)
        if not any(finding.severity == "error" for finding in found):
            try:
                prepared = self._prepared()
            except ElfairError as error:
                found.append(findings.refusal(error))
        if prepared is not None:
            models = prepared.models
            groups = [describe(given, visible, self.left_out, models) for given in conditions]
        statements = self._statements(prepared)
        assumptions = self._assumptions(prepared, groups)
        found += [
            *findings.of_propensities(visible.everyone, groups),
            *findings.of_missing_impact(visible.everyone, self.left_out, conditions),
            *findings.of_columns(visible.everyone, visible.candidate),
            *findings.of_people(visible.everyone, self._impact_conditions),
            *findings.of_statements(statements),
            *findings.of_assumptions(assumptions),
            *self._settings(),
        ]
        together = [s.together.chance for s in statements if s.together is not None]
        return CheckReport(
            schema=SCHEMA,
            elfair_version=__version__,
            n=visible.everyone.n,
            n_candidate=visible.candidate.n,
            n_held_out=visible.n_held_out,
            n_left_out=0 if self.left_out is None else self.left_out.n,
            split=self.request.parameters["split"] if self.claims else "none",
            seed=self.request.seed,
            groups=tuple(groups),
            statements=statements,
            chance=prod(together) if together and len(together) == len(statements) else None,
            findings=tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))),
            assumptions=tuple(a for a in assumptions if a.status == "assumed"),
        )

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What must hold."""
        return self.request.claims

    @property
    def _impact_conditions(self) -> list[Condition | None]:
        """Whom statements about an impact under the new model speak of."""
        data = self.visible.everyone
        means = [mean for claim in self.claims for mean in claim.means if not mean.logged]
        found = [mean.given for mean in means if impact_of(mean, data) is not None]
        return [*found, *(each.given for claim in self.claims for each in claim.statistics)]

    def _prepared(self) -> _Prepared | None:
        """The line-up that ``fit`` would test, where it can be foreseen."""
        visible = self.visible
        if not visible.candidate.n or not self.claims:
            return None
        selection, plan = visible.prepare(visible.candidate, self.request)
        if isinstance(getattr(selection.task, "family", None), ModuleFamily):
            plan.compile(visible.candidate)  # what cannot be tested is said now
            return None
        rows = selection.task.rows(visible.candidate)
        line = selection.line_up(
            rows, plan, visible.n_held_out, self.request.parameters["candidates"]
        )
        logged = line.policy.logged(rows)
        ends = [line.thetas[0], *line.thetas[1:][-1:]]
        free = [line.policy.free(theta, logged) for theta in ends]
        settled = settle(plan, rows, free[0], visible.n_held_out)
        weighted = any(part.weighted for claim in settled.compile(rows) for part in claim.parts)
        return _Prepared(selection, settled, rows, free if weighted else [])

    def _statements(self, prepared: _Prepared | None) -> tuple[StatementCheck, ...]:
        foreseen: list[Foreseen] | list[None] = [None] * len(self.claims)
        claims = self.claims
        if prepared is not None:
            claims = prepared.plan.claims
            foreseen = self._foreseen(prepared) or [None] * len(claims)
        return tuple(
            StatementCheck(
                constraint=claim.conjunct.parent,
                statement=claim.conjunct.text,
                delta=claim.delta,
                rows=self._rows(claim),
                alone=None if seen is None else seen.alone,
                together=None if seen is None else seen.together,
                reach="no_forecast" if seen is None else seen.reach,
            )
            for claim, seen in zip(claims, foreseen, strict=True)
        )

    def _rows(self, claim: Claim) -> int | None:
        sizes = [self.visible.size(given).held_out for given in claim.conditions]
        known = [size for size in sizes if size is not None]
        return min(known) if known and len(known) == len(sizes) else None

    def _foreseen(self, prepared: _Prepared) -> list[Foreseen] | None:
        """None where a group is too small to be divided once more."""
        candidate = self.visible.candidate
        fold = np.random.default_rng(self.request.seed).permutation(candidate.n) % FOLDS
        searches = []
        try:
            for k in range(FOLDS):
                seen, unseen = (
                    candidate.take(np.flatnonzero(rows)) for rows in (fold != k, fold == k)
                )
                selection, plan = self.visible.prepare(seen, self.request)
                # Points and centres are those of the whole half: every fold tests the same.
                settled = replace(plan, claims=prepared.plan.claims)
                if plan.baselines.estimation.may_center:
                    center = prepared.plan.baselines.estimation.center
                    settled = settled.centred_at("mean" if center == "mean" else "range")
                searches.append((selection, settled, selection.task.rows(seen), unseen))
            whole = (prepared.selection, prepared.plan, prepared.rows)
            return foresee(searches, whole, self.visible.n_held_out)
        except DataError:
            return None

    def _assumptions(
        self, prepared: _Prepared | None, groups: list[GroupCheck]
    ) -> tuple[Assumption, ...]:
        if prepared is None:
            return ()
        return list_assumptions(
            facts_of_test(
                prepared.plan,
                [as_record(group) for group in groups],
                self.visible.everyone,
                split=self.request.parameters["split"],
                openings=1,
                of_models=prepared.selection.task.assumptions(),
            )
        )

    def _settings(self) -> Iterator[Finding]:
        """What the settings keep out of the forecast."""
        parameters = self.request.parameters
        if not self.claims:
            yield Finding.of("no_constraints", "there is no constraint")
        elif self.request.crossfit:
            yield Finding.of(
                "crossfit_not_forecast", "every row is tested, so none may be used before the test"
            )
        elif is_module(parameters.get("scorer")):
            yield Finding.of(
                "module_not_forecast",
                "it would have to be trained many times; rows and columns were checked",
            )
        elif parameters["candidate_tuning"]:
            yield Finding.of(
                "tuning_not_forecast", "the forecast is for the settings without tuning"
            )

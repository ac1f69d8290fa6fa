"""check: what data and settings show before a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from elfair._version import __version__
from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.data.digests import is_module
from elfair.errors import ConstraintError, DataError, ElfairError
from elfair.estimators.base import ELFEstimator
from elfair.estimators.fit import Request
from elfair.fairness_test.assumptions import facts_of_test, list_assumptions
from elfair.language import Condition
from elfair.planning import findings
from elfair.planning.check_report import SCHEMA, CheckReport
from elfair.planning.codes import SEVERITIES, Finding
from elfair.planning.forecast import Forecaster, Searched, StatementCheck, search_all
from elfair.planning.visible import (
    GroupCheck,
    VisibleRows,
    as_record,
    describe,
    require_plannable,
)
from elfair.search import SearchProgress
from elfair.statistics import impact_of
from elfair.statistics.plan import Claim, conditions_of, read_constraints
from elfair.types import Floats


def check(
    estimator: ELFEstimator, data: LoggedData, *, left_out: LoggedData | None = None
) -> CheckReport:
    """Check data and settings, and forecast the test, before a fit.

    The impacts and labels of held-out rows are never used. So ``fit`` may follow, with the same
    constraints or others, at no cost in validity.

    Parameters
    ----------
    estimator : ELFClassifier or ELFRegressor
        What ``fit`` would be called on; it is not changed. Its ``random_state`` must be a whole
        number, or ``fit`` would make a different split.
    data : LoggedData
        All rows. (For a regressor, a ContinuousData.)
    left_out : LoggedData, optional
        People who are not among them because their impact is missing; without ``impact``.

    Returns
    -------
    CheckReport
        With ``ok``, ``chance``, ``text()`` and ``to_json()``.

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
        raise  # the constraints make no sense, whatever the data are
    except DataError as error:
        refused = [findings.refusal(error)]
        claims = read_constraints(estimator.constraints, estimator.delta, data)
        parameters, seed = estimator.get_params(deep=False), int(estimator.random_state)
        request = Request(claims, parameters, seed, _no_search)
    data = data.with_thresholds(request.thresholds)
    return _Check(request, VisibleRows.of(data, request), left_out).report(refused)


def _no_search(*_: object) -> NoReturn:
    """If ``fit`` would refuse the rows, nothing is searched for."""
    raise AssertionError


@dataclass(frozen=True)
class _Check:
    """One check."""

    request: Request
    visible: VisibleRows
    left_out: LoggedData | None

    def report(self, refused: list[Finding]) -> CheckReport:
        """Everything, starting with what ``fit`` would refuse."""
        visible, searched = self.visible, None
        conditions = list(dict.fromkeys([None, *conditions_of(self.claims)]))
        groups = self._groups(conditions, [])
        found = [*refused]
        if self.claims:
            found += findings.of_sizes(conditions, groups, visible.everyone, self.request.crossfit)
        if not any(finding.severity == "error" for finding in found):
            try:
                searched = self._searched()
            except ElfairError as error:
                found.append(findings.refusal(error))
        if searched is not None and _is_weighted(searched):
            groups = self._groups(conditions, searched.ends)
        statements, chance = self._forecast(searched)
        assumptions = self._assumptions(searched, groups)
        found += [
            *findings.of_propensities(visible.everyone, groups),
            *findings.of_missing_impact(visible.everyone, self.left_out, conditions),
            *findings.of_columns(visible.everyone, visible.candidate),
            *findings.of_people(visible.everyone, self._impact_conditions),
            *findings.of_statements(statements),
            *findings.of_assumptions(assumptions),
            *self._settings(),
        ]
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
            chance=chance,
            findings=tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))),
            assumptions=tuple(a for a in assumptions if a.status == "assumed"),
        )

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What must hold."""
        return self.request.claims

    def _groups(self, conditions: list[Condition | None], models: list[Floats]) -> list[GroupCheck]:
        return [describe(given, self.visible, self.left_out, models) for given in conditions]

    @property
    def _impact_conditions(self) -> list[Condition | None]:
        """The groups in statements about an impact under the new model."""
        data = self.visible.everyone
        means = [mean for claim in self.claims for mean in claim.means if not mean.logged]
        found = [mean.given for mean in means if impact_of(mean, data) is not None]
        return [*found, *(each.given for claim in self.claims for each in claim.statistics)]

    def _searched(self) -> Searched | None:
        """The search on all candidate rows; None if check makes no forecast."""
        visible = self.visible
        if not visible.candidate.n or not self.claims:
            return None
        if is_module(self.request.parameters.get("scorer")):
            _, plan = visible.prepare(visible.candidate, self.request)
            plan.compile(visible.candidate)  # say now what cannot be tested
            return None
        return search_all(visible, self.request, visible.n_held_out)

    def _forecast(
        self, searched: Searched | None
    ) -> tuple[tuple[StatementCheck, ...], float | None]:
        """What to expect of each statement, and the chance that a model is released."""
        claims, seen, chance = self.claims, None, None
        if searched is not None:
            claims = searched.plan.claims
            forecaster = Forecaster.of(self.visible, self.request, searched)
            try:
                with SearchProgress("making a forecast") as progress:
                    trials = forecaster.today(progress)
            except DataError:  # a group is too small to be divided once more
                trials = []
            if trials:
                n = self.visible.everyone.n
                chance = forecaster.curve([forecaster.scores(n, trials)]).chance(n)
                seen = forecaster.statements(trials)
        statements = tuple(
            StatementCheck(
                constraint=claim.conjunct.parent,
                statement=claim.conjunct.text,
                delta=claim.delta,
                rows=self._rows(claim),
                alone=None if seen is None else seen[j].alone,
                together=None if seen is None else seen[j].together,
                reach="no_forecast" if seen is None else seen[j].reach,
            )
            for j, claim in enumerate(claims)
        )
        return statements, chance

    def _rows(self, claim: Claim) -> int | None:
        sizes = [self.visible.size(given).held_out for given in claim.conditions]
        known = [size for size in sizes if size is not None]
        return min(known) if known and len(known) == len(sizes) else None

    def _assumptions(
        self, searched: Searched | None, groups: list[GroupCheck]
    ) -> tuple[Assumption, ...]:
        if searched is None:
            return ()
        return list_assumptions(
            facts_of_test(
                searched.plan,
                [as_record(group) for group in groups],
                self.visible.everyone,
                split=self.request.parameters["split"],
                openings=1,
                of_models=searched.selection.task.assumptions(),
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


def _is_weighted(searched: Searched) -> bool:
    """Whether importance weights enter any statement."""
    compiled = searched.plan.compile(searched.rows)
    return any(part.weighted for claim in compiled for part in claim.parts)

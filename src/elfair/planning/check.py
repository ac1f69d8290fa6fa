"""check: what data and settings show before a fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from elfair._version import __version__
from elfair.bounds import weakest
from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.data.digests import is_module
from elfair.data.repeats import check_not_repeated
from elfair.errors import ConstraintError, DataError, ElfairError, PropensityError
from elfair.estimators.base import ELFEstimator
from elfair.estimators.fit import Request
from elfair.fairness_test.assumptions import BY_SETTINGS, facts_of_test, list_assumptions
from elfair.fairness_test.evidence import group_record
from elfair.fairness_test.issue import positive_decision, revealed_record, units_of, unseen_records
from elfair.planning import findings
from elfair.planning.check_report import SCHEMA, SEVERITIES, CheckReport, Finding
from elfair.planning.constants import ConstantPolicy, constant_decisions
from elfair.planning.forecast import Forecaster, StatementCheck
from elfair.planning.visible import GroupCheck, VisibleRows, describe, require_plannable
from elfair.records.progress import Progress
from elfair.statistics.claims import Claim, conditions_of, read_constraints
from elfair.statistics.require_seen import require_seen


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
    with Progress("checking"):
        return _check(estimator, data, left_out)


def _check(estimator: ELFEstimator, data: LoggedData, left_out: LoggedData | None) -> CheckReport:
    """See `check`."""
    require_plannable(estimator, data)
    refused: list[Finding] = []
    try:
        request = estimator.request(data)
    except ConstraintError:
        raise  # the constraints make no sense, whatever the data are
    except DataError as error:
        refused = [findings.refusal(error)]
        claims = read_constraints(
            estimator.constraints, estimator.delta, data, looks=estimator.looks
        )
        parameters, seed = estimator.get_params(deep=False), int(estimator.random_state)
        request = Request(claims, parameters, seed, _no_search)
    if request.claims:
        for look in (check_not_repeated, partial(require_seen, request.claims)):
            try:
                look(data)
            except DataError as error:
                refused.append(findings.refusal(error))
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
        visible, claims, forecaster = self.visible, self.request.claims, None
        conditions = list(dict.fromkeys([None, *conditions_of(claims)]))
        found = [*refused]
        if claims:
            found += findings.of_sizes(conditions, visible, self.request.crossfit)
        if not any(finding.severity == "error" for finding in found):
            try:
                forecaster = self._forecaster()
            except PropensityError:
                pass  # a finding of its own, with what it would be like by chance
            except ElfairError as error:
                found.append(findings.refusal(error))
        ends = [] if forecaster is None else forecaster.ends
        groups = [describe(given, visible, self.left_out, ends) for given in conditions]
        statements, chance = self._forecast(forecaster)
        assumptions = self._assumptions(forecaster, groups)
        accepted = self.request.parameters["accept_violated"]
        if chance is not None and any(
            each.status == "violated" and each.code in BY_SETTINGS and each.code not in accepted
            for each in assumptions
        ):
            chance = 0.0  # whatever the rows are
        found += [
            *findings.of_propensities(visible.everyone, groups),
            *findings.of_estimated(visible.everyone),
            *findings.of_missing_impact(visible.everyone, self.left_out, conditions),
            *findings.of_unseen(unseen_records(visible.everyone)),
            *findings.of_columns(visible.everyone, visible.candidate),
            *findings.of_people(visible.everyone, claims),
            *findings.of_changes(visible, conditions),
            *findings.of_statements(statements),
            *findings.of_assumptions(assumptions, accepted),
            *findings.of_ranges(forecaster),
            *findings.of_settings(self.request),
            *findings.of_many_decisions(forecaster),
        ]
        return CheckReport(
            schema=SCHEMA,
            elfair_version=__version__,
            n=visible.everyone.n,
            n_candidate=visible.candidate.n,
            n_held_out=visible.n_held_out,
            n_left_out=0 if self.left_out is None else self.left_out.n,
            split=self.request.parameters["split"] if claims else "none",
            seed=self.request.seed,
            counted="rows" if visible.everyone.unit_index is None else "units",
            groups=tuple(groups),
            statements=statements,
            chance=chance,
            constants=self._constants(forecaster),
            positive=positive_decision(
                claims, self.request.parameters["objective"], visible.everyone
            ),
            findings=tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))),
            assumptions=tuple(a for a in assumptions if a.status == "assumed"),
        )

    def _forecaster(self) -> Forecaster | None:
        """The search on all candidate rows; None if check makes no forecast."""
        visible = self.visible
        if not visible.candidate.n or not self.request.claims:
            return None
        if is_module(self.request.parameters.get("scorer")):
            _, plan = visible.prepare(visible.candidate, self.request)
            plan.compile(visible.candidate)  # say now what cannot be tested
            return None
        return Forecaster.of(visible, self.request)

    def _forecast(
        self, forecaster: Forecaster | None
    ) -> tuple[tuple[StatementCheck, ...], float | None]:
        """What to expect of each statement, and the chance that a model is released."""
        claims = self.request.claims if forecaster is None else forecaster.plan.claims
        statements = tuple(
            StatementCheck(
                claim.conjunct.parent, claim.conjunct.text, claim.delta, self._rows(claim)
            )
            for claim in claims
        )
        if forecaster is None:
            return statements, None
        try:
            alone = [] if self._many else forecaster.alone()
        except DataError:  # a group is too small to be divided once more
            alone = []
        return forecaster.statements(statements, alone), forecaster.chance

    @property
    def _many(self) -> bool:
        """Whether decisions are so many that a search for each statement alone takes long."""
        return bool(self.visible.candidate.classes.size > findings.MOST_ALONE)

    def _constants(self, forecaster: Forecaster | None) -> tuple[ConstantPolicy, ...]:
        """What if everybody got the same decision?"""
        if forecaster is None:
            return ()
        return constant_decisions(self.visible.candidate, forecaster.plan, self.request.seed)

    def _rows(self, claim: Claim) -> int | None:
        sizes = [self.visible.held_out(given) for given in claim.conditions]
        known = [size for size in sizes if size is not None]
        return min(known) if known and len(known) == len(sizes) else None

    def _assumptions(
        self, forecaster: Forecaster | None, groups: list[GroupCheck]
    ) -> tuple[Assumption, ...]:
        if forecaster is None:
            return ()
        records = [
            group.weights[0]
            if group.weights
            else group_record(group.condition, group.held_out or 0, None)
            for group in groups
        ]
        plan, candidate = forecaster.plan, self.visible.candidate
        return list_assumptions(
            facts_of_test(
                plan,
                records,
                self.visible.everyone,
                kind=weakest(claim.kind for claim in plan.compile(candidate)),
                guarded=plan.bound != "ttest",
                split=self.request.parameters["split"],
                openings=1,
                units=units_of(self.request.split(self.visible.everyone)),
                looks=self.request.parameters["looks"],
                of_models=self.request.selection().task.assumptions(),
                unseen=unseen_records(self.visible.everyone),
                revealed=revealed_record(self.visible.everyone),
            )
        )

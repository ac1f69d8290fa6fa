"""check: sealed rows stay sealed, forecasts hold against the truth, settings are respected."""

from __future__ import annotations

import time

import numpy as np
import pytest

from elfair import CheckReport, ELFClassifier, ELFRegressor, LoggedData, certify, check
from elfair.data import ContinuousData
from elfair.data.split import row_keys
from elfair.errors import ConstraintError, InputError
from elfair.planning import plan_rows
from elfair.planning.forecast import Forecaster
from elfair.planning.visible import VisibleRows
from elfair.populations import Dosage, FosterCare, Lending

NO_WORSE = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]
CONSTRAINTS = [*NO_WORSE, "accuracy >= 0.75"]


def held_out(data: LoggedData, seed: int = 0) -> np.ndarray:
    """The rows that fit will hold out, told from the keys and not by the checked code."""
    chosen = np.argsort(row_keys(data, seed))[: round(0.6 * data.n)]
    return np.setdiff1d(np.arange(data.n), chosen)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"estimator": "is"},
        {"estimator": "dr"},
        {"bound": "betting", "impact_range": (-9.0, 9.0), "constraints": NO_WORSE[1]},
        {"constraints": ["TPR[T == 1] >= 0.6", "quantile[impact, 0.2 | T == 1] >= 0.2"]},
        {"split": "crossfit"},
    ],
    ids=str,
)
def test_held_out_impacts_and_labels_are_never_looked_at(log, settings):
    table = log(200, population=FosterCare(clipped=True))
    settings = {"constraints": CONSTRAINTS} | settings
    report = check(ELFClassifier(**settings), LoggedData(**table))
    sealed = held_out(LoggedData(**table))
    if settings.get("split") == "crossfit":
        sealed = np.arange(200)
    changed = log(200, population=FosterCare(clipped=True))
    changed["impact"] = changed["impact"].copy()
    changed["impact"][sealed] = np.linspace(-5, 5, sealed.size)
    changed["y"] = changed["y"].copy()
    changed["y"][sealed] = np.arange(sealed.size) % 2
    assert check(ELFClassifier(**settings), LoggedData(**changed)).to_json() == report.to_json()


@pytest.mark.parametrize("split", ["random", "crossfit"])
@pytest.mark.parametrize(
    "texts", [["accuracy >= 0.6", "TPR[T == 1] >= 0.4"], ["abs(TPR[T == 0] - TPR[T == 1]) <= 0.9"]]
)
def test_held_out_labels_that_only_some_decisions_reveal_are_never_looked_at(log, texts, split):
    table = log(200)
    label = np.where(table["decision"] == 1, table["y"], np.nan)
    rows = {**table, "y": label, "label_seen_for": [1]}
    sealed = np.arange(200) if split == "crossfit" else held_out(LoggedData(**rows))
    other = label.copy()
    other[sealed] = np.where(np.isnan(label[sealed]), np.nan, 1 - label[sealed])
    assert np.nansum(other) != np.nansum(label)
    settings = ELFClassifier(texts, split=split)
    report = check(settings, LoggedData(**rows))
    assert check(settings, LoggedData(**{**rows, "y": other})).to_json() == report.to_json()


def test_rows_that_a_forecast_sees_have_no_held_out_label_that_some_decisions_reveal(log):
    """Nothing that reads these rows can tell, even if no forecast of today asks for labels."""
    table = log(200)
    label = np.where(table["decision"] == 1, table["y"], np.nan)
    data = LoggedData(**{**table, "y": label, "label_seen_for": [1]})
    visible = VisibleRows.of(data, ELFClassifier("accuracy >= 0.6").request(data)).everyone
    sealed = held_out(data)
    told = np.isfinite(label[sealed])
    assert np.unique(label[sealed][told]).size == 2
    assert set(visible.label_index[sealed][told]) == {0}
    assert set(visible.label[sealed][told]) == {0}
    assert set(visible.label_index[sealed][~told]) == {-1}  # nobody has these


def test_candidate_labels_that_some_decisions_reveal_are_looked_at(log):
    table = log(300)
    label = np.where(table["decision"] == 1, table["y"], np.nan)
    rows = {**table, "y": label, "label_seen_for": [1]}
    seen = np.setdiff1d(np.arange(300), held_out(LoggedData(**rows)))
    other = label.copy()
    other[seen[::2]] = 1 - label[seen[::2]]
    settings = ELFClassifier("accuracy >= 0.6")
    first = check(settings, LoggedData(**rows))
    assert check(settings, LoggedData(**{**rows, "y": other})) != first


def test_candidate_impacts_are_looked_at(log):
    table = log(300)
    first = check(ELFClassifier(CONSTRAINTS), LoggedData(**table))
    seen = np.setdiff1d(np.arange(300), held_out(LoggedData(**table)))
    table["impact"] = table["impact"].copy()
    table["impact"][seen] += np.linspace(-1, 1, seen.size)
    assert check(ELFClassifier(CONSTRAINTS), LoggedData(**table)) != first


def test_nothing_is_spent(log, counted):
    data = LoggedData(**log(300, seed=77))
    check(ELFClassifier(CONSTRAINTS), data)
    assert ELFClassifier(CONSTRAINTS).fit(data).certificate_.openings == 1


def test_groups_are_those_of_the_constraints_and_of_the_split(log):
    table = log(500, seed=3)
    report = check(ELFClassifier(CONSTRAINTS), LoggedData(**table))
    sealed = held_out(LoggedData(**table))
    assert [group.condition for group in report.groups] == ["everyone", "T == 0", "T == 1"]
    one = report.groups[2]
    inside = table["sensitive_features"]["T"] == 1
    assert one.held_out == inside[sealed].sum()
    assert one.candidate == inside.sum() - inside[sealed].sum()
    assert one.share == pytest.approx(inside.mean())
    assert one.decisions["1"] == pytest.approx(table["decision"][inside].mean())
    assert one.overlap.smallest == table["propensity"][inside].min()
    assert one.overlap.largest_weight == pytest.approx(1 / one.overlap.smallest)
    assert sum(one.overlap.counts.values()) == inside.sum()
    below = (table["propensity"][inside] <= 0.1).sum()
    assert sum(one.overlap.counts[edge] for edge in ("0.01", "0.02", "0.05", "0.1")) == below


def test_weights_are_those_that_the_certificate_will_show(log):
    table = log(4000, seed=1)
    report = check(ELFClassifier(CONSTRAINTS, candidates=1), LoggedData(**table))
    clf = ELFClassifier(CONSTRAINTS, candidates=1).fit(table.pop("X"), table.pop("y"), **table)
    shown = {g.condition: g for r in clf.certificate_.constraints for g in r.groups if g.ess}
    for group in report.groups[1:]:
        (first,) = group.weights
        assert first.ess == pytest.approx(shown[group.condition].ess, rel=0.1)
        assert group.held_out == shown[group.condition].n


def test_a_condition_on_the_label_is_counted_among_candidates_alone(log):
    report = check(ELFClassifier("TPR[T == 1] >= 0.2"), LoggedData(**log(500)))
    group = report.groups[-1]
    assert group.expected
    assert group.held_out == round(group.candidate * 200 / 300)


def test_the_forecast_of_one_model_asks_rows_that_had_no_part_in_it(log):
    """The best of many models looks better, on the rows that it was found on, than it is."""
    forecast, returned = [], []
    for seed in range(12):
        table = log(500, seed, FosterCare(alpha=0.2))
        clf = ELFClassifier(NO_WORSE[1], candidates=1)
        forecast.append(check(clf, LoggedData(**table)).chance)
        returned.append(clf.fit(**table).solution_found_)
    assert np.mean(forecast) == pytest.approx(np.mean(returned), abs=0.2)


def test_what_is_out_of_reach_is_not_returned(log):
    """The largest gain that there is, of the model that always decides 1, is 0.098."""
    text = f"{NO_WORSE[1]} + 0.3"
    for seed in range(4):
        table = log(1000, seed, FosterCare(alpha=0.2))
        (statement,) = check(ELFClassifier(text), LoggedData(**table)).statements
        assert statement.reach == "out_of_reach"
        assert statement.alone.chance < 0.01
        assert not ELFClassifier(text).fit(table.pop("X"), table.pop("y"), **table).solution_found_


def test_what_more_rows_could_reach_is_not_called_out_of_reach_for_ever(log):
    """The largest gain that there is, 0.098, is more than is asked for."""
    found = []
    for seed in range(5):
        table = log(400, seed, FosterCare(alpha=0.2))
        (statement,) = check(ELFClassifier(f"{NO_WORSE[1]} + 0.09"), LoggedData(**table)).statements
        found.append(statement.reach)
    assert "too_few_rows" in found
    assert "out_of_reach" not in found


def test_a_model_that_is_sure_to_pass_has_such_a_forecast(log):
    report = check(ELFClassifier(CONSTRAINTS), LoggedData(**log(1000)))
    assert report.ok
    assert [statement.reach for statement in report.statements] == ["likely"] * 3
    truth = FosterCare().truth(lambda X: np.ones(len(X)))
    for t, statement in enumerate(report.statements[:2]):
        assert statement.alone.estimate == pytest.approx(truth.violation[t], abs=0.08)
        assert statement.alone.upper < statement.together.upper < 0
    assert report.chance > 0.8


def test_lending_is_checked(log):
    population = Lending()
    report = check(ELFClassifier(population.constraints), LoggedData(**log(2000, 0, population)))
    assert report.ok
    codes = [finding.code for finding in report.findings]
    assert codes == ["identical_rows", "range_not_declared"]
    assert all(statement.alone is not None for statement in report.statements)


def test_numbers_are_checked():
    population = Dosage()
    draw = population.sample(600, seed=1)
    data = ContinuousData(
        draw.features,
        draw.label,
        sensitive_features={"T": draw.group},
        decision=draw.decision,
        propensity=draw.propensity,
        behavior_spread=population.spread,
        impact=draw.impact,
    )
    report = check(ELFRegressor(population.constraints), data)
    assert report.ok
    assert report.groups[0].overlap is None
    assert report.groups[1].weights[0].ess > 0
    assert all(statement.alone is not None for statement in report.statements)


@pytest.mark.parametrize(
    ("settings", "code", "about"),
    [
        ({"split": "crossfit"}, "crossfit_not_forecast", ""),
        ({"candidate_tuning": {"power": [0.8, 0.95]}}, "search_not_forecast", "candidate_tuning"),
        ({"search": "cmaes"}, "search_not_forecast", "search='cmaes'"),
        ({"split": "stratified"}, "assumption_violated", "halves independent"),
        ({"estimator": "is"}, "assumption_violated", "tau is known"),
    ],
    ids=str,
)
def test_settings_that_matter_are_named(log, settings, code, about):
    report = check(ELFClassifier(CONSTRAINTS, **settings), LoggedData(**log(300)))
    assert (code, about) in [(finding.code, finding.about) for finding in report.findings]


@pytest.mark.parametrize(
    ("settings", "code"),
    [({"split": "stratified"}, "halves_independent"), ({"estimator": "is"}, "tau_known")],
)
def test_settings_that_violate_an_assumption_leave_no_chance_unless_accepted(log, settings, code):
    data = LoggedData(**log(300))
    refused = check(ELFClassifier(CONSTRAINTS, **settings), data)
    assert refused.chance == 0
    assert "unless accept_violated names it" in refused.text(details=True)
    accepted = check(ELFClassifier(CONSTRAINTS, **settings, accept_violated=[code]), data)
    assert accepted.chance > 0
    codes = {finding.code for finding in accepted.findings}
    assert "assumption_accepted" in codes
    assert "assumption_violated" not in codes


def test_without_constraints_nothing_is_tested(log):
    report = check(ELFClassifier(), LoggedData(**log(100)))
    assert report.ok
    assert (report.n_candidate, report.n_held_out, report.split) == (100, 0, "none")
    assert report.findings[0].code == "no_constraints"


def test_the_papers_mode_has_a_forecast_without_its_search(log):
    report = check(ELFClassifier.paper(CONSTRAINTS), LoggedData(**log(400)))
    assert report.chance is not None


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (ELFClassifier(NO_WORSE, random_state=None), "must be a whole number"),
        (ELFClassifier(NO_WORSE, positive=0), "positive=0, the data"),
        (ELFRegressor("E[impact] >= 0"), "data must be a ContinuousData"),
        ("a model", "must be an ELFClassifier"),
    ],
)
def test_what_cannot_be_checked_is_refused(log, estimator, message):
    with pytest.raises(InputError, match=message):
        check(estimator, LoggedData(**log(100)))


def test_a_constraint_that_makes_no_sense_is_refused(log):
    with pytest.raises(ConstraintError, match="no column 'race'"):
        check(ELFClassifier("E[impact | race == 1] >= 0"), LoggedData(**log(100)))


def test_the_estimator_is_left_as_it_was(log):
    clf = ELFClassifier(CONSTRAINTS)
    check(clf, LoggedData(**log(200)))
    assert not hasattr(clf, "certificate_")


def test_the_record_and_its_text(log):
    report = check(ELFClassifier(CONSTRAINTS), LoggedData(**log(400)))
    assert CheckReport.from_json(report.to_json()) == report
    shown = report.text(details=True)
    assert shown.startswith("Ready to fit: ")
    for statement in report.statements:
        assert statement.statement in shown
    for group in report.groups:
        assert f"group: {group.condition}" in shown
    for assumption in report.assumptions:
        assert assumption.statement in shown
        assert assumption.status == "assumed"
    assert f"{report.groups[1].weights[0].ess:,.0f}" in shown
    counts = report.groups[0].overlap.counts
    assert f"0.2 to 0.5: {counts['0.5']}, 0.5 to 1: {counts['1']}" in shown
    assert ", 5th percentile 0." in shown
    assert str(report) == report.text()
    assert report.text().endswith(" More: text(details=True).")
    assert report.text(more="--details").endswith(" More: --details.")
    assert repr(report).startswith(f"CheckReport(ok=True, n=400, chance={report.chance}, 0 errors")
    assert len(repr(report)) < 120


def test_the_text_is_short_unless_details_are_asked_for(log):
    report = check(ELFClassifier(CONSTRAINTS), LoggedData(**log(400)))
    lines = report.text().splitlines()
    assert len(lines) <= 12
    assert lines[0] == "Ready to fit: no problems found, 1 note."
    assert f"released with probability {report.chance:.2f}" in lines[1]
    chances = [float(line.split()[0]) for line in lines[2:5]]
    assert chances == sorted(chances)  # the least likely first
    one = report.groups[2]
    assert f"T == 1: {one.candidate} + {one.held_out}" in report.text()
    assert len(report.text(details=True).splitlines()) > 30


def test_many_statements_groups_and_findings_stay_short(log):
    table = log(2000, seed=1)
    group = np.arange(2000) % 40
    table["sensitive_features"] = {"T": group}
    texts = [f"E[impact | T == {t}] >= -9" for t in range(12)]
    report = check(ELFClassifier(texts), LoggedData(**table))
    assert report.findings
    shown = report.text()
    assert len(shown.splitlines()) <= 20
    assert "and 7 more, all of them more likely to pass" in shown
    assert "; 8 more." in shown


def test_it_is_fast(log):
    data = LoggedData(**log(5000, 0, FosterCare(alpha=0.2)))
    start = time.process_time()  # of this process: others have no part in it
    check(ELFClassifier(CONSTRAINTS), data)
    assert time.process_time() - start < 12  # about 3 s here, more on a busy machine


@pytest.mark.parametrize("alpha", [0.2, 0.9])
@pytest.mark.parametrize("given", [{}, {"objective": "E[impact]"}, {"estimator": "dr"}])
def test_check_and_plan_show_the_forecast_of_fit(log, alpha, given):
    rows = log(1000, 2, FosterCare(alpha=alpha))
    estimator = ELFClassifier(CONSTRAINTS, **given)
    seen = check(estimator, LoggedData(**rows))
    forecast = estimator.fit(**rows).certificate_.search.forecast
    assert seen.chance == forecast
    assert np.prod([each.together.chance for each in seen.statements]) == pytest.approx(forecast)
    planned = {point.rows: point for point in plan_rows(estimator, LoggedData(**rows)).curve}
    assert planned[1000].probability == pytest.approx(forecast, abs=0.005)


def test_a_range_that_is_not_declared_is_named_with_what_it_would_buy(log):
    data = LoggedData(**log(600, seed=3))
    (found,) = [
        each
        for each in check(ELFClassifier(CONSTRAINTS), data).findings
        if each.code == "range_not_declared"
    ]
    assert found.severity == "note"
    assert "any number of rows" in found.hint
    assert "candidate rows show" in found.evidence
    assert "times as many held-out rows" in found.evidence
    quiet = (
        ELFClassifier(CONSTRAINTS, impact_range=(-50, 50)),
        ELFClassifier(CONSTRAINTS, bound="ttest"),
        ELFClassifier("accuracy >= 0.7"),
    )
    for settled in quiet:
        codes = [each.code for each in check(settled, data).findings]
        assert "range_not_declared" not in codes


@pytest.mark.parametrize(("alpha", "n"), [(0.9, 1000), (0.5, 4000)])
def test_with_so_many_times_the_rows_a_proof_is_as_tight(log, alpha, n):
    population = FosterCare(alpha=alpha)
    data = LoggedData(**log(n, 3, population))
    estimator = ELFClassifier(NO_WORSE, estimator="paired")  # as certify does by default
    ends = float(data.impact("impact").min()) - 0.1, float(data.impact("impact").max()) + 0.1
    request = estimator.request(data)
    forecaster = Forecaster.of(VisibleRows.of(data, request), request)
    growth = forecaster.with_range("impact", ends)
    assert 1.1 < growth < 2
    last = estimator.fit(**log(n, 3, population)).fitted_.ladder[-1]

    def width(declared, rows):
        """The average width, over many new tests of the same model."""
        widths = []
        for seed in range(20):
            test = log(round(rows), 100 + seed, population)
            test["impact"] = np.clip(test["impact"], *ends)
            found = certify(
                last.policy.probabilities(last.theta, test["X"], None),
                LoggedData(**test),
                NO_WORSE,
                nuisance_fraction=0.5,
                impact_range=declared,
            )
            widths.append([each.upper - each.estimate for each in found.constraints])
        return np.mean(widths, axis=0).max()

    assert width(ends, 2 * growth * 0.4 * n) == pytest.approx(width(None, 2 * 0.4 * n), rel=0.15)


def test_many_decisions_are_forecast_together_alone():
    rng, n, k = np.random.default_rng(0), 620, 31
    decision = np.arange(n) % k
    data = LoggedData(
        rng.normal(size=(n, 2)), decision=decision, propensity=np.full(n, 1 / k),
        impact=rng.normal(size=n),
    )  # fmt: skip
    report = check(ELFClassifier("E[impact] >= E_logged[impact] - 5", objective="E[impact]"), data)
    assert "alone_not_forecast" in {each.code for each in report.findings}
    assert all(each.together and not each.alone for each in report.statements)


def test_people_with_several_rows_are_counted_as_people_in_both_halves():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(500), 3)
    group, decision = rng.integers(0, 2, 500)[unit], rng.integers(0, 2, unit.size)
    data = LoggedData(
        rng.normal(size=(unit.size, 2)), sensitive_features={"T": group}, unit=unit,
        decision=decision, propensity=np.full(unit.size, 0.5), impact=rng.normal(size=unit.size),
    )  # fmt: skip
    report = check(ELFClassifier(NO_WORSE, objective="E[impact]"), data)
    assert report.counted == "units"
    everyone = report.groups[0]
    assert (everyone.candidate, everyone.held_out) == (300, 200)
    assert "Units, candidate + held out: everyone: 300 + 200" in report.text()
    assert "units, candidate + held out: 300 + 200 (100.0% of all)" in report.text(details=True)

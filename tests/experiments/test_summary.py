"""Summaries: every number against one counted by hand, and nothing odd passes for "not failed"."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import bdtrc

from elfair.errors import InputError
from elfair.experiments.experiment import Experiment
from elfair.experiments.progress import MOST_NAMED
from elfair.experiments.summary import LEAST_TRIALS, Average, Proportion, summarize
from elfair.experiments.trial import TrialRecord

LABELS = {"elfair": "ELF", "elf-paper": "ELF (paper)", "logistic-regression": "LR"}
AT = '{"alpha": 0.9, "strict": false}'


def an_experiment(methods=tuple(LABELS), efficiency=(), delta=0.1):
    return SimpleNamespace(
        title="An experiment of experiments",
        population="foster-care",
        methods=methods,
        delta=delta,
        efficiency=efficiency,
        combinations=(AT,),
        seeds={},
        trials=0,  # all of them were run
    )


def returned(method="elfair", n=256, seed=0, accuracy=0.8, first=-0.1, second=-0.1, settings=AT):
    violations = {"0": first, "1": second}
    return TrialRecord(method, settings, n, seed, "returned", accuracy, violations, 0.5, None)


def nothing(method="elfair", n=256, seed=0, settings=AT):
    return TrialRecord(method, settings, n, seed, "no solution", None, {}, 0.25, None)


def crash(method="elfair", n=256, seed=0, settings=AT, error="ValueError: no\nHint: try"):
    return TrialRecord(method, settings, n, seed, "failed", None, {}, 2.0, error)


def many(failed, trials, method="elfair", n=256, settings=AT):
    """Trials that all return a model, of which the first ones fail group 1."""
    return [
        returned(method, n, seed, second=0.1 if seed < failed else -0.1, settings=settings)
        for seed in range(trials)
    ]


def test_a_cell_counts_by_hand():
    records = [
        returned(seed=0, accuracy=0.8, first=0.2, second=0.3),
        returned(seed=1, accuracy=0.9, first=-0.2, second=0.3),
        returned(seed=2, accuracy=0.7, first=1e-10, second=0.0),  # rounding is no failure
        nothing(seed=3),
        nothing(seed=4),
        crash(seed=6, error="second"),
        crash(seed=5, error="first"),
    ]
    [cell] = summarize(an_experiment(), records, LABELS).cells
    assert (cell.trials, cell.crashed) == (5, 2)
    assert cell.returned == Proportion(3, 5)  # of all that did not crash
    assert cell.failures == {"0": Proportion(1, 5), "1": Proportion(2, 5)}
    assert cell.any_failure == Proportion(2, 5)
    assert cell.accuracy.value == pytest.approx(0.8)
    assert cell.accuracy.standard_error == pytest.approx(0.1 / math.sqrt(3))
    assert cell.median_seconds == 0.5
    assert cell.total_seconds == pytest.approx(3 * 0.5 + 2 * 0.25 + 2 * 2.0)
    assert cell.first_error == "first"


def test_cells_are_ordered_by_the_numbers_of_settings_then_method_then_n():
    records = [
        nothing(method, n, settings=json.dumps({"alpha": alpha}))
        for alpha in (1.0, 0.2, 10.0)
        for method in ("logistic-regression", "elfair")
        for n in (1024, 256)
    ]
    summary = summarize(an_experiment(), records, LABELS)
    order = [(json.loads(c.settings)["alpha"], c.method, c.n) for c in summary.cells]
    assert order == [
        (alpha, method, n)
        for alpha in (0.2, 1.0, 10.0)
        for method in ("elfair", "logistic-regression")
        for n in (256, 1024)
    ]
    assert summary.methods == ("elfair", "logistic-regression")
    assert summary.sizes == (256, 1024)


@pytest.mark.parametrize(("count", "trials"), [(0, 500), (3, 10), (50, 100), (500, 500)])
def test_wilsons_interval_holds_where_its_test_does_not_reject(count, trials):
    # By its definition: the p with |p_hat - p| <= 1.96 sqrt(p (1 - p) / m).
    low, high = Proportion(count, trials).interval
    p = np.linspace(0, 1, 200_001)
    inside = p[np.abs(count / trials - p) <= 1.959964 * np.sqrt(p * (1 - p) / trials) + 1e-15]
    assert low == pytest.approx(inside.min(), abs=1e-5)
    assert high == pytest.approx(inside.max(), abs=1e-5)


@pytest.mark.parametrize(("count", "trials"), [(0, 500), (3, 10), (500, 500), (1, 1)])
def test_the_band_of_a_figure_is_wilsons_at_one_standard_error(count, trials):
    low, high = Proportion(count, trials).band
    p = np.linspace(0, 1, 200_001)
    inside = p[np.abs(count / trials - p) <= np.sqrt(p * (1 - p) / trials) + 1e-15]
    assert low == pytest.approx(inside.min(), abs=1e-5)
    assert high == pytest.approx(inside.max(), abs=1e-5)
    assert low < high


def test_standard_errors_are_the_spread_over_repeated_experiments():
    random = np.random.default_rng(2)
    counts = random.binomial(400, 0.3, size=20_000)
    assert Proportion(120, 400).standard_error == pytest.approx(np.std(counts / 400), rel=0.03)
    draws = random.normal(0.85, 0.02, size=(20_000, 50))
    assert np.mean([Average.of(list(row)).standard_error for row in draws[:500]]) == pytest.approx(
        np.std(draws.mean(axis=1)), rel=0.03
    )


def test_the_promise_names_the_worst_cell():
    records = many(3, 100) + many(20, 100, n=512) + many(9, 100, n=1024)
    [promise] = summarize(an_experiment(), records, LABELS).promises
    assert (promise.cell.n, promise.group, promise.rate) == (512, "1", Proportion(20, 100))
    assert promise.limit == pytest.approx(0.1 + 4 * math.sqrt(0.1 * 0.9 / 100))
    assert promise.kept
    assert promise.guaranteed


@pytest.mark.parametrize(("least", "chance"), [(500, 1.2e-4), (100, 3e-4)])
def test_a_promise_that_is_just_kept_is_hardly_ever_called_broken(least, chance):
    for trials in range(least, 1001):
        limit = 0.1 + 4 * math.sqrt(0.1 * 0.9 / trials)
        assert bdtrc(math.floor(limit * trials + 1e-9), trials, 0.1) < chance


def test_a_broken_promise_is_not_hidden_by_a_larger_rate_of_few_trials():
    records = many(2, 5) + many(160, 1000, n=512)  # 0.4 within 0.64; 0.16 beyond 0.138
    summary = summarize(an_experiment(), records, LABELS)
    [promise] = summary.promises
    assert promise.cell.n == 512
    assert not promise.kept
    assert "BROKEN" in summary.text()
    assert "BROKEN" in summary.markdown()


@pytest.mark.parametrize("trials", [1, 10, LEAST_TRIALS - 1])
def test_few_trials_do_not_tell_that_a_promise_is_kept(trials):
    summary = summarize(an_experiment(), many(0, trials), LABELS)
    assert summary.promises[0].verdict == "too few trials to tell"
    assert "kept" not in summary.text()
    enough = summarize(an_experiment(), many(0, LEAST_TRIALS), LABELS)
    assert enough.promises[0].verdict == "kept"


def test_a_cell_of_few_trials_neither_keeps_nor_hides_a_promise():
    few = many(2, 10, n=512)  # a rate of 20 %, which says nothing
    [promise] = summarize(an_experiment(), many(3, 100) + few, LABELS).promises
    assert (promise.cell.n, promise.verdict) == (256, "kept")
    [promise] = summarize(an_experiment(), many(3, 100) + many(10, 10, n=512), LABELS).promises
    assert (promise.cell.n, promise.verdict) == (512, "BROKEN")


def test_where_nobody_is_failed_no_group_and_size_stands_out():
    summary = summarize(an_experiment(), many(0, 500) + many(0, 100, n=512), LABELS)
    lines = [" ".join(line.split()) for line in summary.text().splitlines()]
    assert "ELF all all 0 (<3.7) of 100 or more 22.0 kept" in lines


def test_the_papers_method_is_reported_without_a_verdict_and_others_not_at_all():
    records = many(90, 100, "elf-paper") + many(100, 100, "logistic-regression")
    summary = summarize(an_experiment(), records, LABELS)
    [promise] = summary.promises
    assert promise.method == "elf-paper"
    assert not promise.guaranteed
    assert "no guarantee" in summary.text()
    assert "BROKEN" not in summary.text()


def test_each_group_has_its_own_delta():
    # 15 % each for two groups, 30 % for either: within the limit of 22 % for each.
    records = [
        returned(seed=seed, first=0.1 if seed < 15 else -1, second=0.1 if 15 <= seed < 30 else -1)
        for seed in range(100)
    ]
    summary = summarize(an_experiment(), records, LABELS)
    assert summary.cells[0].any_failure == Proportion(30, 100)
    assert summary.promises[0].rate == Proportion(15, 100)
    assert summary.promises[0].kept


def full_experiment():
    records = []
    for alpha in (0.5, 0.9):
        settings = json.dumps({"alpha": alpha, "strict": False})
        for n in (256, 65_536):
            records += many(20, 200, "elfair", n, settings)
            records += [nothing("elf-paper", n, seed, settings) for seed in range(150)]
            records += [
                dataclasses.replace(returned("elf-paper", n, seed, 0.75, settings=settings))
                for seed in range(150, 200)
            ]
            records += many(200, 200, "logistic-regression", n, settings)
    records[0] = crash(seed=0, settings='{"alpha": 0.5, "strict": false}')
    questions = (
        SimpleNamespace(method="elfair", against="elf-paper", n=65_536, settings={"alpha": 0.9}),
        SimpleNamespace(method="elfair", against="elf-paper", n=999, settings={"alpha": 0.9}),
    )
    return an_experiment(efficiency=questions), records


def test_text_says_it_all_within_100_columns():
    text = summarize(*full_experiment(), LABELS, sources=["0.2 abc", "0.1 def", "0.1 def"]).text()
    assert max(map(len, text.splitlines())) <= 100
    assert "Population foster-care (strict = false), delta = 0.1" in text
    assert "2,400 trials in 12 cells, 1 of them crashed." in text
    assert "not finished" not in text
    assert "warning: these trials were run by 2 versions of the code: 0.1 def, 0.2 abc." in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "alpha = 0.5" in lines
    row = "256 199+1! 100 (>98.1) 80.0 ±0.0 0 (<1.9) 9.5 ±2.1 9.5 ±2.1 0.500"
    assert lines[lines.index("ELF") + 1] == row
    row = "256 200 25.0 ±3.1 75.0 ±0.0 0 (<1.9) 0 (<1.9) 0 (<1.9) 0.250"
    assert lines[lines.index("ELF (paper)") + 1] == row
    assert "at least 256.0 times" not in text
    assert "ELF reaches the 25.0% solution rate and 75.0% accuracy that ELF (paper) has" in text
    assert "256 or fewer rows: at least 256 times fewer" in text
    assert "n = 999 is not known" in text
    assert "ELF, n = 256, alpha = 0.5: 1 of 200; the first: ValueError: no" in text
    assert "Hint: try" not in text


def test_the_columns_of_groups_stand_under_what_they_are():
    summary = summarize(*full_experiment(), LABELS)
    lines = summary.text().splitlines()
    above, heading = next(
        (lines[i - 1], line) for i, line in enumerate(lines) if "any group" in line
    )
    assert above.strip().strip("-") == " failure rate "
    assert above.index("-") == heading.index("group 0")
    assert len(above) == heading.index("any group") + len("any group")
    assert "| failure rate, group 0 | failure rate, group 1 | failure rate, any group |" in (
        summary.markdown()
    )
    assert "failed" not in summary.text() + summary.markdown()


def test_the_same_crash_in_many_cells_is_one_line():
    records = [
        crash("elfair", n, seed, settings=json.dumps({"alpha": alpha}), error=error)
        for error, n, alphas in [("E: one", 256, (0.1, 0.5, 0.9)), ("E: one", 512, (0.5, 0.9))]
        for alpha in alphas
        for seed in range(2)
    ]
    records += [crash("elfair", 512, settings='{"alpha": 0.1}', error="E: two")]
    records += many(0, 5, "elf-paper", settings='{"alpha": 0.1}')
    text = summarize(an_experiment(), records, LABELS).text()
    crashes = [line for line in text.splitlines() if line.startswith("- ")]
    assert crashes == [
        "- ELF, n = 256 to 512, 3 of 3 settings: 10 of 10; the first: E: one",
        "- ELF, n = 512, alpha = 0.1: 1 of 1; the first: E: two",
    ]


PLANNED = Experiment.parse("""
title = "An experiment"
population = "foster-care"
methods = ["elfair", "elf-paper", "logistic-regression"]
settings = { alpha = [0.5, 0.9] }
sizes = [{ n = [256, 512, 1024], seeds = 2 }]
""")


def planned(method, n, alpha, seeds=2):
    settings = json.dumps({"alpha": alpha})
    return [nothing(method, n, seed, settings) for seed in range(seeds)]


def test_a_experiment_that_is_not_finished_looks_like_one():
    records = [record for alpha in (0.5, 0.9) for record in planned("elfair", 256, alpha)]
    records += planned("elfair", 512, 0.9, seeds=1) + planned("logistic-regression", 256, 0.5)
    summary = summarize(PLANNED, records, LABELS)
    assert summary.warnings == (
        "this experiment is not finished: 7 of 36 trials were run. No trials yet of ELF (paper); "
        "ELF at n = 1,024; ELF at n = 512, alpha = 0.5; LR at n = 512, 1,024; "
        "LR at n = 256, alpha = 0.9.",
    )
    for shown in (summary.text(), summary.markdown()):
        assert "7 of 36 trials in 4 cells." in shown
        assert "this experiment is not finished" in " ".join(shown.split())


def test_sizes_that_no_method_has_begun_are_named_once():
    both = [planned(method, 256, alpha) for method in LABELS for alpha in (0.5, 0.9)]
    records = [record for each in both for record in each]
    [warning] = summarize(PLANNED, records, LABELS).warnings
    assert warning.endswith("were run. No trials yet of any method at n = 512, 1,024.")
    [warning] = summarize(PLANNED, records[:-4], LABELS).warnings
    assert warning.endswith("No trials yet of LR; the others at n = 512, 1,024.")


def test_a_finished_experiment_is_not_called_unfinished():
    records = [
        record
        for method in PLANNED.methods
        for n in PLANNED.seeds
        for alpha in (0.5, 0.9)
        for record in planned(method, n, alpha)
    ]
    last = crash("logistic-regression", 1024, 1, '{"alpha": 0.9}')
    summary = summarize(PLANNED, [*records[:-1], last], LABELS)  # a crash was run, too
    assert summary.warnings == ()
    assert "36 trials in 18 cells, 1 of them crashed." in summary.text()
    begun = summarize(PLANNED, records[:-1], LABELS)  # nothing to name: every cell is begun
    assert begun.warnings == ("this experiment is not finished: 35 of 36 trials were run.",)


def test_only_so_many_missing_cells_are_named():
    alphas = [round(0.1 * k, 1) for k in range(11)]
    experiment = replace(PLANNED, settings={"alpha": alphas}, methods=("elfair",))
    records = [record for n in experiment.seeds for record in planned("elfair", n, 0.5)]
    [warning] = summarize(experiment, records, LABELS).warnings
    assert warning.count("ELF at") == MOST_NAMED
    assert warning.endswith(f"; and {3 * 10 - MOST_NAMED} more.")


def test_labels_are_what_methods_call_themselves():
    methods = ("elf-paper", "fairlearn-equalized-odds", "gone_by_now:method")
    summary = summarize(an_experiment(methods), [nothing("elf-paper")])
    assert summary.labels == {
        "elf-paper": "ELF (paper)",
        "fairlearn-equalized-odds": "Fairlearn, equalized odds",
        "gone_by_now:method": "gone_by_now:method",
    }


def test_where_the_time_went():
    summary = summarize(*full_experiment(), LABELS)
    assert summary.seconds == {
        "elfair": pytest.approx(799 * 0.5 + 2.0),
        "elf-paper": pytest.approx(600 * 0.25 + 200 * 0.5),
        "logistic-regression": pytest.approx(400.0),
    }
    after = summary.text().partition("Where the time went")[2].split("\n\n")[0]
    assert [line.split()[0] for line in after.splitlines()[2:]] == ["ELF", "LR", "ELF", "all"]
    assert "17.5 min" in after  # of all


def test_one_warning_less_where_one_version_ran_everything():
    assert "versions" not in summarize(*full_experiment(), LABELS, sources=["1", "1"]).text()


def test_markdown_holds_the_same_numbers():
    summary = summarize(*full_experiment(), LABELS)
    markdown = summary.markdown()
    cells = "256 | 199+1! | 100 (>98.1) | 80.0 ±0.0 | 0 (<1.9) | 9.5 ±2.1 | 9.5 ±2.1 | 0.500 |"
    assert f"| ELF | {cells}" in markdown
    tables = [block for block in markdown.split("\n\n") if block.startswith("|")]
    assert len(tables) == 4  # two settings, the promise, the time
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_csv_gives_every_number_back_exactly():
    summary = summarize(*full_experiment(), LABELS)
    rows = list(csv.DictReader(io.StringIO(summary.csv())))
    assert len(rows) == len(summary.cells)
    for row, cell in zip(rows, summary.cells, strict=True):
        assert float(row["setting_alpha"]) == json.loads(cell.settings)["alpha"]
        assert (row["method"], int(row["n"])) == (cell.method, cell.n)
        assert (int(row["trials"]), int(row["crashed"])) == (cell.trials, cell.crashed)
        rates = {"returned": cell.returned, "failed_any": cell.any_failure}
        rates |= {f"failed_{group}": rate for group, rate in cell.failures.items()}
        for name, rate in rates.items():
            assert float(row[name]) == rate.value
            assert float(row[f"{name}_se"]) == rate.standard_error
            bounds = (float(row[f"{name}_wilson_low"]), float(row[f"{name}_wilson_high"]))
            assert bounds == rate.interval
        assert float(row["accuracy"]) == cell.accuracy.value
        assert float(row["median_seconds"]) == cell.median_seconds
        assert float(row["total_seconds"]) == cell.total_seconds


def test_what_is_not_known_is_shown_as_such():
    records = [nothing(seed=0), crash("elf-paper"), returned("logistic-regression")]
    summary = summarize(an_experiment(), records, LABELS)
    rows = list(csv.DictReader(io.StringIO(summary.csv())))
    assert (rows[0]["accuracy"], rows[0]["returned"]) == ("", "0.0")
    assert (rows[1]["returned"], rows[1]["median_seconds"]) == ("", "")
    assert (rows[2]["accuracy"], rows[2]["accuracy_se"]) == ("0.8", "")
    lines = [line.split() for line in summary.text().splitlines()]
    assert ["256", "0+1!", "-", "-", "-", "-", "-", "-"] in lines


def test_no_records_at_all():
    summary = summarize(an_experiment(), [], LABELS)
    assert summary.cells == ()
    assert "0 trials in 0 cells" in summary.text()


@pytest.mark.parametrize("groups", [3, 6])
def test_many_groups_keep_within_the_width(groups):
    violations = {str(group): 0.1 for group in range(groups)}
    records = [
        TrialRecord("elfair", AT, 256, seed, "returned", 0.8, violations, 0.1, None)
        for seed in range(500)
    ]
    summary = summarize(an_experiment(), records, LABELS)
    assert max(map(len, summary.text().splitlines())) <= 100
    assert f"failed_{groups - 1}" in summary.csv()


@pytest.mark.parametrize(
    ("records", "what"),
    [
        ([nothing(), nothing()], "appears twice"),
        ([nothing("mine")], "a method that is not in the experiment: elfair, elf-paper"),
        (
            [dataclasses.replace(nothing(), outcome="no  solution")],
            "unknown outcome, 'no  solution'",
        ),
        ([returned(accuracy=None)], "accuracy or the violation of a group is missing"),
        ([returned(accuracy=math.nan)], "accuracy or the violation of a group is missing"),
        ([returned(first=math.nan)], "accuracy or the violation of a group is missing"),
        (
            [returned(), dataclasses.replace(returned(seed=1), violations={"0": 0.1})],
            "accuracy or the violation of a group is missing",
        ),
    ],
)
def test_records_that_make_no_sense_are_refused(records, what):
    with pytest.raises(InputError, match=what) as caught:
        summarize(an_experiment(), records, LABELS)
    assert caught.value.hint

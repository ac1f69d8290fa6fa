"""Summaries: every number against one counted by hand, and nothing odd passes for "not failed"."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import bdtrc

from elfair.errors import InputError
from elfair.experiments.cells import Mean, Rate
from elfair.experiments.records import TrialRecord
from elfair.experiments.summary import summarize

LABELS = {"elfair": "ELF", "elf-paper": "ELF (paper)", "logistic-regression": "LR"}
AT = '{"alpha": 0.9, "strict": false}'


def a_study(methods=tuple(LABELS), efficiency=(), delta=0.1):
    return SimpleNamespace(
        title="A study of studies",
        population="foster-care",
        methods=methods,
        delta=delta,
        efficiency=efficiency,
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
    [cell] = summarize(a_study(), records, LABELS).cells
    assert (cell.trials, cell.crashed) == (5, 2)
    assert cell.returned == Rate(3, 5)  # of all that did not crash
    assert cell.failures == {"0": Rate(1, 5), "1": Rate(2, 5)}
    assert cell.any_failure == Rate(2, 5)
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
    summary = summarize(a_study(), records, LABELS)
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
    low, high = Rate(count, trials).interval
    p = np.linspace(0, 1, 200_001)
    inside = p[np.abs(count / trials - p) <= 1.959964 * np.sqrt(p * (1 - p) / trials) + 1e-15]
    assert low == pytest.approx(inside.min(), abs=1e-5)
    assert high == pytest.approx(inside.max(), abs=1e-5)


def test_standard_errors_are_the_spread_over_repeated_studies():
    random = np.random.default_rng(2)
    counts = random.binomial(400, 0.3, size=20_000)
    assert Rate(120, 400).standard_error == pytest.approx(np.std(counts / 400), rel=0.03)
    draws = random.normal(0.85, 0.02, size=(20_000, 50))
    assert np.mean([Mean.of(list(row)).standard_error for row in draws[:500]]) == pytest.approx(
        np.std(draws.mean(axis=1)), rel=0.03
    )


def test_the_promise_names_the_worst_cell():
    records = many(3, 100) + many(20, 100, n=512) + many(9, 100, n=1024)
    [promise] = summarize(a_study(), records, LABELS).promises
    assert (promise.cell.n, promise.group, promise.rate) == (512, "1", Rate(20, 100))
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
    summary = summarize(a_study(), records, LABELS)
    [promise] = summary.promises
    assert promise.cell.n == 512
    assert not promise.kept
    assert "BROKEN" in summary.text()
    assert "BROKEN" in summary.markdown()


def test_the_papers_method_is_reported_without_a_verdict_and_others_not_at_all():
    records = many(90, 100, "elf-paper") + many(100, 100, "logistic-regression")
    summary = summarize(a_study(), records, LABELS)
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
    summary = summarize(a_study(), records, LABELS)
    assert summary.cells[0].any_failure == Rate(30, 100)
    assert summary.promises[0].rate == Rate(15, 100)
    assert summary.promises[0].kept


def full_study():
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
    return a_study(efficiency=questions), records


def test_text_says_it_all_within_100_columns():
    text = summarize(*full_study(), LABELS, sources=["0.2 abc", "0.1 def", "0.1 def"]).text()
    assert max(map(len, text.splitlines())) <= 100
    assert "Population foster-care (strict = false), delta = 0.1" in text
    assert "2,399 trials in 12 cells, 1 crashed" in text
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
    assert "n = 999 cannot be told" in text
    assert "ELF, n = 256, alpha = 0.5: 1 of 200; the first: ValueError: no" in text
    assert "Hint: try" not in text


def test_where_the_time_went():
    summary = summarize(*full_study(), LABELS)
    assert summary.seconds == {
        "elfair": pytest.approx(799 * 0.5 + 2.0),
        "elf-paper": pytest.approx(600 * 0.25 + 200 * 0.5),
        "logistic-regression": pytest.approx(400.0),
    }
    after = summary.text().partition("Where the time went")[2].split("\n\n")[0]
    assert [line.split()[0] for line in after.splitlines()[2:]] == ["ELF", "LR", "ELF", "all"]
    assert "17.5 min" in after  # of all


def test_one_warning_less_where_one_version_ran_everything():
    assert "versions" not in summarize(*full_study(), LABELS, sources=["1", "1"]).text()


def test_markdown_holds_the_same_numbers():
    summary = summarize(*full_study(), LABELS)
    markdown = summary.markdown()
    cells = "256 | 199+1! | 100 (>98.1) | 80.0 ±0.0 | 0 (<1.9) | 9.5 ±2.1 | 9.5 ±2.1 | 0.500 |"
    assert f"| ELF | {cells}" in markdown
    tables = [block for block in markdown.split("\n\n") if block.startswith("|")]
    assert len(tables) == 4  # two settings, the promise, the time
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_csv_gives_every_number_back_exactly():
    summary = summarize(*full_study(), LABELS)
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
    summary = summarize(a_study(), records, LABELS)
    rows = list(csv.DictReader(io.StringIO(summary.csv())))
    assert (rows[0]["accuracy"], rows[0]["returned"]) == ("", "0.0")
    assert (rows[1]["returned"], rows[1]["median_seconds"]) == ("", "")
    assert (rows[2]["accuracy"], rows[2]["accuracy_se"]) == ("0.8", "")
    lines = [line.split() for line in summary.text().splitlines()]
    assert ["256", "0+1!", "-", "-", "-", "-", "-", "-"] in lines


def test_no_records_at_all():
    summary = summarize(a_study(), [], LABELS)
    assert summary.cells == ()
    assert "0 trials in 0 cells" in summary.text()


@pytest.mark.parametrize("groups", [3, 6])
def test_many_groups_keep_within_the_width(groups):
    violations = {str(group): 0.1 for group in range(groups)}
    records = [
        TrialRecord("elfair", AT, 256, seed, "returned", 0.8, violations, 0.1, None)
        for seed in range(500)
    ]
    summary = summarize(a_study(), records, LABELS)
    assert max(map(len, summary.text().splitlines())) <= 100
    assert f"failed_{groups - 1}" in summary.csv()


@pytest.mark.parametrize(
    ("records", "what"),
    [
        ([nothing(), nothing()], "is there twice"),
        ([nothing("mine")], "a method that the study does not have: elfair, elf-paper"),
        ([dataclasses.replace(nothing(), outcome="no  solution")], "not known, 'no  solution'"),
        ([returned(accuracy=None)], "accuracy or the violation of a group is not known"),
        ([returned(accuracy=math.nan)], "accuracy or the violation of a group is not known"),
        ([returned(first=math.nan)], "accuracy or the violation of a group is not known"),
        (
            [returned(), dataclasses.replace(returned(seed=1), violations={"0": 0.1})],
            "accuracy or the violation of a group is not known",
        ),
    ],
)
def test_records_that_make_no_sense_are_refused(records, what):
    with pytest.raises(InputError, match=what) as caught:
        summarize(a_study(), records, LABELS)
    assert caught.value.hint

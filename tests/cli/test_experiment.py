"""``elfair experiment`` as a user meets it: texts, exit codes, files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from elfair.cli import main
from elfair.experiments.experiment import Experiment
from elfair.experiments.store import Store
from elfair.experiments.trial import TrialRecord

EXPERIMENT = """
title = "A small experiment"
population = "foster-care"
methods = ["elf-paper", "logistic-regression"]
settings = { alpha = [0.5, 0.9] }
sizes = [{ n = [64], seeds = 2 }]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(EXPERIMENT)
    return tmp_path


def elfair(*arguments):
    return CliRunner().invoke(main, ["experiment", *arguments])


def test_run_status_and_run_again(folder):
    ran = elfair("run", "small.toml", "--jobs", "1")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout == "8 trials run, 0 crashed; stored in small.sqlite.\n"
    assert len(Store.read(folder / "small.sqlite")[1]) == 8
    shown = elfair("status", "small.toml")
    assert shown.exit_code == 0
    assert "8 of 8 trials" in shown.stdout
    assert "logistic-regression" in shown.stdout
    assert shown.stderr == ""
    assert "0 trials run" in elfair("run", "small.toml", "--jobs", "1").stdout


def test_the_store_can_lie_elsewhere(folder):
    assert elfair("run", "small.toml", "--jobs", "1", "--store", "other.db").exit_code == 0
    assert len(Store.read("other.db")[1]) == 8
    assert not (folder / "small.sqlite").exists()
    assert "8 of 8 trials" in elfair("status", "small.toml", "--store", "other.db").stdout


def test_failures_are_counted_shown_and_tried_again(folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (folder / "failing_for_the_cli.py").write_text("""
class Method:
    label, uses_impact = "failing", True
    def fit(self, draw, constraints, *, delta, seed):
        raise OSError("the disk is full")
method = Method()
""")
    text = EXPERIMENT.replace('"elf-paper"', '"failing_for_the_cli:method"')
    (folder / "failing.toml").write_text(text)
    ran = elfair("run", "failing.toml", "--jobs", "1")
    assert ran.exit_code == 0
    assert "8 trials run, 4 crashed" in ran.stdout
    assert "status failing.toml" in ran.stderr
    assert "4 x failing_for_the_cli:method: OSError: the disk is full" in (
        elfair("status", "failing.toml").stdout
    )
    again = elfair("run", "failing.toml", "--jobs", "1", "--retry-failed")
    assert "4 trials run, 4 crashed" in again.stdout


def own_experiment(folder, monkeypatch, module, body, **options):
    """An experiment with a method of a module of its own, beside it."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (folder / f"{module}.py").write_text(f"""
class Method:
    label, uses_impact = "A label", True
    def fit(self, draw, constraints, *, delta, seed):
        {body}
method = Method()
""")
    (folder / "own.toml").write_text(EXPERIMENT.replace('"elf-paper"', f'"{module}:method"'))


def test_the_hint_after_a_crash_names_the_store(folder, monkeypatch):
    own_experiment(folder, monkeypatch, "crashing_for_the_cli", "raise SystemExit(1)")
    ran = elfair("run", "own.toml", "--jobs", "1", "--store", "else where.db")
    assert ran.exit_code == 0
    assert "8 trials run, 4 crashed" in ran.stdout
    assert "`elfair experiment status own.toml --store 'else where.db'`" in ran.stderr
    shown = elfair("status", "own.toml", "--store", "else where.db")
    assert "is in the column 'error' of the table 'trials' of else where.db." in shown.stdout


def test_one_trial_is_one(folder):
    (folder / "one.toml").write_text(
        EXPERIMENT.replace('"elf-paper", ', "")
        .replace("[0.5, 0.9]", "0.9")
        .replace("seeds = 2", "seeds = 1")
    )
    ran = elfair("run", "one.toml", "--jobs", "1")
    assert ran.stdout == "1 trial run, 0 crashed; stored in one.sqlite.\n"


def test_an_edited_method_is_pointed_out(folder, monkeypatch):
    own_experiment(folder, monkeypatch, "edited_for_the_cli", "return None")
    assert elfair("run", "own.toml", "--jobs", "1").stderr == ""
    own_experiment(folder, monkeypatch, "edited_for_the_cli", "return 3")
    for command in ("run", "status", "summarize"):
        result = elfair(command, "own.toml")
        assert result.exit_code == 0, result.output
        assert "4 trials of edited_for_the_cli:method ran before its module" in result.stderr
        assert (
            "Hint: for results of the new code, run the experiment with another --store"
            in result.stderr
        )


def test_a_mixture_of_versions_names_the_method(folder, monkeypatch):
    own_experiment(folder, monkeypatch, "mixed_for_the_cli", "return None")
    record = TrialRecord(
        "mixed_for_the_cli:method", '{"alpha": 0.9}', 64, 0, "no solution", None, {}, 0, None
    )
    with Store.open("own.sqlite", Experiment.load("own.toml")) as store:
        for seed, source in enumerate(("a+one", "a+two")):
            store.add([TrialRecord(**{**vars(record), "seed": seed})], source=source)
    said = "1 by mixed_for_the_cli:method one, 1 by mixed_for_the_cli:method two"
    assert (
        f"2 versions of the code ran these trials ({said})" in elfair("status", "own.toml").stderr
    )
    summary = " ".join(elfair("summarize", "own.toml").stdout.split())
    assert "mixed_for_the_cli:method one, mixed_for_the_cli:method two" in summary


def test_a_finished_experiment_can_be_looked_at_without_the_module(folder, monkeypatch):
    own_experiment(folder, monkeypatch, "gone_for_the_cli", "return None")
    elfair("run", "own.toml", "--jobs", "1")
    assert "A label" in elfair("summarize", "own.toml").stdout
    (folder / "gone_for_the_cli.py").unlink()
    monkeypatch.delitem(sys.modules, "gone_for_the_cli")
    for command in ("status", "summarize"):
        result = elfair(command, "own.toml")
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        assert "gone_for_the_cli:method" in result.stdout
    result = elfair("run", "own.toml")
    assert result.exit_code == 2
    assert "Hint: put it beside the experiment file" in result.stderr


def test_a_module_that_ends_the_process_is_told(folder, monkeypatch):
    own_experiment(folder, monkeypatch, "leaving_for_the_cli", "return None")
    (folder / "leaving_for_the_cli.py").write_text("raise SystemExit(0)")
    result = elfair("run", "own.toml")
    assert result.exit_code == 2
    assert "'leaving_for_the_cli' ends the process (SystemExit: 0)" in result.stderr


def test_a_summary_goes_where_it_can(folder):
    elfair("run", "small.toml", "--jobs", "1")
    wrote = elfair("summarize", "small.toml", "--output", "new/folder/x.txt")
    assert (wrote.exit_code, wrote.output) == (0, "")
    assert (folder / "new" / "folder" / "x.txt").read_text().startswith("A small experiment\n")
    for command in ("summarize", "plot"):  # where a file is, there is no folder
        refused = elfair(command, "small.toml", "--output", "small.toml/x")
        assert refused.exit_code == 2
        assert "small.toml/x' could not be written: " in refused.stderr
        assert "Traceback" not in refused.output


def test_a_ready_experiment_is_shown_to_be_copied(folder):
    shown = elfair("show", "figure-3")
    assert shown.exit_code == 0
    (folder / "mine.toml").write_text(shown.stdout)
    assert Experiment.load("mine.toml") == Experiment.load("figure-3")
    assert elfair("show", "small.toml").stdout == EXPERIMENT
    assert "did you mean 'figure-3'" in elfair("show", "figur-3").stderr


def test_ctrl_c_before_anything_runs(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Experiment, "load", stop)
    result = elfair("run", "small.toml")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Stopped.\n")


def test_list_shows_what_there_is():
    shown = elfair("list")
    assert shown.exit_code == 0
    for name in ("figures-1-2-strict", "foster-care", "alpha", "elf-paper", "logistic-regression"):
        assert name in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "figures-12"], "did you mean 'figures-1-2'?"),
        (["run", "small.toml", "--jobs", "0"], "jobs must be at least 1"),
        (["run", "small.toml", "--store", "nowhere/x.sqlite"], "folder that exists"),
        (["run", "small.toml", "--store", "/dev/null"], "must be a plain file"),
        (["status", "small.toml"], "There is no store at 'small.sqlite'"),
        (["status", "small.toml", "--store", "small.toml"], "must be an intact store"),
        (["run", "small.toml", "--dask", "no such thing"], "address of a running scheduler"),
        (["run", "broken.toml"], "Line 2 is not"),
        (["run", "wrong.toml"], "wrong.toml has 2 mistakes:"),
        (["run"], "Missing argument"),
        (["plot", "small.toml"], "Missing option '--output'"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(folder, arguments, said):
    (folder / "broken.toml").write_text("title = 'x'\n=")
    (folder / "wrong.toml").write_text(
        EXPERIMENT.replace("foster", "fester").replace("elf-", "elv-")
    )
    result = elfair(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.output
    if "Missing" not in said:
        assert result.stderr.startswith("Error: ")
        assert "\nHint: " in result.stderr.replace("    Hint: ", "Hint: ")


def test_a_store_of_another_experiment_is_refused(folder):
    elfair("run", "small.toml", "--jobs", "1")
    (folder / "small.toml").write_text(EXPERIMENT.replace("seeds = 2", "seeds = 3"))
    before = (folder / "small.sqlite").read_bytes()
    for command in ("run", "status"):
        result = elfair(command, "small.toml")
        assert result.exit_code == 2
        assert '  sizes: {"64": 2} in the store, {"64": 3} in the experiment' in result.stderr
    assert (folder / "small.sqlite").read_bytes() == before


def stored(*sources):
    record = TrialRecord("elf-paper", '{"alpha": 0.9}', 64, 0, "no solution", None, {}, 0.1, None)
    with Store.open("small.sqlite", Experiment.load("small.toml")) as store:
        for seed, source in enumerate(sources):
            store.add([TrialRecord(**{**vars(record), "seed": seed})], source=source)


def test_results_of_several_versions_are_pointed_out():
    stored("a", "b")
    result = elfair("status", "small.toml")
    assert result.exit_code == 0
    assert "2 versions of the code ran these trials (1 by a, 1 by b)" in result.stderr


def test_summaries_and_figures_get_the_experiment_and_its_trials(folder, monkeypatch):
    given = []

    def summarize(experiment, records, *, sources):
        given.append((experiment, records, dict(sources)))
        return SimpleNamespace(text=lambda: "words", markdown=lambda: "|a|", csv=lambda: "a,b\n")

    def draw(experiment, summary, into):
        assert experiment == Experiment.load("small.toml")
        assert summary.text() == "words"
        return [into / "figure.png"]

    summary, figures = (f"elfair.experiments.{name}" for name in ("summary", "figures"))
    monkeypatch.setitem(sys.modules, summary, SimpleNamespace(summarize=summarize))
    monkeypatch.setitem(sys.modules, figures, SimpleNamespace(draw=draw))
    stored("a")
    assert elfair("summarize", "small.toml").stdout == "words\n"
    assert elfair("summarize", "small.toml", "--format", "markdown").stdout == "|a|\n"
    wrote = elfair("summarize", "small.toml", "--format", "csv", "--output", "out.csv")
    assert (wrote.exit_code, wrote.stdout) == (0, "")
    assert (folder / "out.csv").read_text() == "a,b\n"
    drawn = elfair("plot", "small.toml", "--output", "pictures/here")
    assert drawn.stdout == f"{os.path.join('pictures', 'here', 'figure.png')}\n"
    assert len(given) == 4
    experiment, trials = Store.read("small.sqlite")
    assert given == [(experiment, trials, {"a": 1})] * 4


@pytest.mark.parametrize("command", [["summarize"], ["plot", "--output", "x"]])
def test_nothing_is_made_of_no_trials(command, monkeypatch):
    for name in ("summary", "figures"):
        module = SimpleNamespace(summarize=None, draw=None)
        monkeypatch.setitem(sys.modules, f"elfair.experiments.{name}", module)
    stored()
    result = elfair(command[0], "small.toml", *command[1:])
    assert result.exit_code == 2
    assert "at least one trial" in result.stderr


# In a process of its own.

CALL = [sys.executable, "-c", "from elfair.cli import main; main(prog_name='elfair')"]


def test_a_real_process_says_the_same(folder):
    wrong = subprocess.run(
        [*CALL, "experiment", "run", "figures-12"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("Error: An experiment must be a TOML file or one of 'appendix'")
    assert "Traceback" not in wrong.stderr


def test_ctrl_c_keeps_what_finished_and_says_how_to_go_on(folder):
    (folder / "long.toml").write_text(EXPERIMENT.replace("seeds = 2", "seeds = 5000"))
    process = subprocess.Popen(
        [*CALL, "experiment", "run", "long.toml", "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (folder / "long.sqlite").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "All finished trials are in long.sqlite" in said
    assert "Hint: run the same command again to continue." in said
    assert "Traceback" not in said
    experiment, trials = Store.read("long.sqlite")
    assert len(trials) < experiment.trials


def test_help_comes_without_heavy_imports():
    code = (
        "import sys\nfrom elfair.cli import main\n"
        "try: main(['experiment', '--help'], prog_name='elfair')\nexcept SystemExit: pass\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "summarize" in done
    loaded = set(done.rsplit("\n", 2)[1].split())
    assert "click" in loaded
    assert not loaded & {"numpy", "sklearn", "scipy", "pydantic", "joblib", "rich", "sqlite3"}

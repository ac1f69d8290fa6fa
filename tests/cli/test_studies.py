"""The newcomer's path: init, check, plan, fit, explain, verify, predict, decide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from awkward import write_loans, write_study

from elfair import Certificate, cli
from elfair.cli import main
from elfair.data.ledger import usual_ledger
from elfair.study import read_table


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "loans.csv"
    write_loans(path, n=3000)
    return path


@pytest.fixture
def folder(loans, tmp_path, monkeypatch):
    """A folder with a table and a study, in which the commands run."""
    (tmp_path / "loans.csv").write_bytes(loans.read_bytes())
    write_study(tmp_path / "study.toml", "loans.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def fitted(loans, tmp_path_factory):
    """The same with results."""
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "loans.csv").write_bytes(loans.read_bytes())
    write_study(folder / "study.toml", "loans.csv")
    subprocess.run(
        [sys.executable, "-c", "from elfair.cli import main; main()", "fit", "study.toml"],
        cwd=folder,
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    return folder


def test_a_newcomer_comes_from_a_table_to_a_verified_model(elfair, loans, tmp_path, monkeypatch):
    (tmp_path / "loans.csv").write_bytes(loans.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert "Next: elfair check study.toml" in elfair("init", "loans.csv").output
    drafted = Path("study.toml").read_text(encoding="utf-8")
    # What it guessed is right, and marked as a guess.
    for role in (
        'label = "found job?"',
        'sensitive = ["T-group"]',
        'decision = "Approved?"',
        'propensity = "p(decision)"',
        'impact = ["savings, 2 yrs on"]',
        'row_id = "person id"',
    ):
        (line,) = (line for line in drafted.splitlines() if line.startswith(role))
        assert "# guess" in line
    assert "T-group" in elfair("check", "study.toml").output
    planned = elfair("plan", "study.toml", "--output", "curve.svg").output
    assert "rows" in planned
    assert Path("curve.svg").read_text(encoding="utf-8").startswith("<svg")
    fit = elfair("fit", "study.toml").output
    assert "Solution found" in fit
    assert sorted(p.name for p in Path("results").iterdir()) == [
        "certificate.json",
        "model.elfair",
        "report.html",
    ]
    verified = elfair(
        "verify", "results/certificate.json", "--data", "loans.csv",
        "--model", "results/model.elfair",
    ).output  # fmt: skip
    assert "failed" not in verified.lower().replace("0 failed", "")


def test_the_exit_code_says_what_came_of_it(elfair, folder):
    assert "Solution found" in elfair("fit", "study.toml", code=0).output
    Path("other").mkdir()
    write_study(
        folder / "other" / "strict.toml",
        "../loans.csv",
        constraints='[[constraints]]\ntext = "accuracy >= 0.99"',
    )
    # In the same ledger it would be a second look.
    own = "--within", ".", "--ledger", "own.db"
    told = elfair("fit", "other/strict.toml", "--anyway", *own, code=3).output
    assert "No solution found" in told
    assert Path("other/results/rejected.elfair").exists()
    assert not Path("other/results/model.elfair").exists()
    write_study(folder / "wrong.toml", "loans.csv", extra="[tests]\ndelta = 0.1")
    told = elfair("fit", "wrong.toml", "--output", "wrong", code=2).output
    assert "'tests'" in told
    assert told.count("Hint:") == 1
    assert not Path("wrong").exists()


def test_rows_are_not_spent_on_a_model_that_would_hardly_pass(elfair, folder):
    asked = '[[constraints]]\ntext = "accuracy >= 0.99"'
    write_study(folder / "strict.toml", "loans.csv", constraints=asked)
    assert elfair("check", "strict.toml").output.startswith("Do not fit yet")
    told = elfair("fit", "strict.toml", code=5).output
    assert told.startswith("Not tested: candidate rows give a model a chance of 0.00 to pass")
    assert told.count("Hint:") == 1
    assert not Path("results").exists()
    # Nothing was looked at: the study with less to ask for is the first look.
    elfair("fit", "study.toml")
    assert Certificate.load("results/certificate.json").openings == 1
    elfair("fit", "strict.toml", "--anyway", "--output", "strict", code=4)
    # What was tested before may be tested again.
    elfair("fit", "strict.toml", "--output", "strict", "--overwrite", code=4)
    assert Certificate.load("strict/certificate.json").openings == 2


def test_another_test_of_the_same_rows_is_counted_between_processes(elfair, folder):
    elfair("fit", "study.toml")
    elfair("fit", "study.toml", "--overwrite")
    assert Certificate.load("results/certificate.json").openings == 1  # the very same test
    text = Path("study.toml").read_text(encoding="utf-8")
    Path("study.toml").write_text(text.replace("accuracy >= 0.7", "accuracy >= 0.71"))
    told = elfair("fit", "study.toml", "--overwrite", code=4).output
    assert Certificate.load("results/certificate.json").openings == 2
    assert "No solution found: an assumption is violated (held-out rows opened once)" in told
    assert "looks = 2 (in [test]) declares 2 in advance" in told
    assert not Path("results/model.elfair").exists()
    # A copy of the study is another try on the same rows, and so is another seed.
    other = Path("study.toml").read_text(encoding="utf-8")
    Path("copy.toml").write_text(other + "\n[test]\nseed = 9\n", encoding="utf-8")
    elfair("fit", "copy.toml", "--overwrite", code=4)
    assert Certificate.load("results/certificate.json").openings == 3
    # The first test is the first look still.
    Path("study.toml").write_text(text, encoding="utf-8")
    elfair("fit", "study.toml", "--overwrite")
    assert Certificate.load("results/certificate.json").openings == 1


def test_looks_that_a_study_declares_share_delta(elfair, folder):
    studies = [f"look-{seed}.toml" for seed in range(3)]
    for seed, study in enumerate(studies):
        extra = f"[test]\nlooks = 2\nseed = {seed}"
        write_study(
            folder / study, "loans.csv", extra=extra,
            constraints='[[constraints]]\ntext = "accuracy >= 0.6"',
        )  # fmt: skip
    for seed in range(2):
        elfair("fit", studies[seed], "--output", f"look-{seed}")
        record = Certificate.load(f"look-{seed}/certificate.json")
        assert (record.openings, record.terms.looks) == (seed + 1, 2)
        assert {result.delta for result in record.constraints} == {0.05}
        assert record.joint_delta == 0.1
        told = elfair(
            "verify", f"look-{seed}/certificate.json", "--data", "loans.csv",
            "--model", f"look-{seed}/model.elfair", "--refit",
        ).output  # fmt: skip
        assert "no problems found" in told
    # What was declared is spent: no row is opened.
    told = elfair("fit", studies[2], "--output", "look-2", code=5).output
    assert told.startswith("Not tested: 2 looks at these rows were declared, and all of them")
    assert told.count("Hint:") == 1
    assert not Path("look-2").exists()
    # The number cannot be raised after the first look.
    more = (folder / "look-2.toml").read_text(encoding="utf-8").replace("looks = 2", "looks = 3")
    Path("more.toml").write_text(more, encoding="utf-8")
    told = elfair("fit", "more.toml", "--output", "more", code=2).output
    assert "looks = 2 (in [test]) was declared before the first look at these rows" in told
    assert not Path("more").exists()


def test_a_test_goes_on_with_rows_that_came_since(elfair, folder):
    lines = Path("loans.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    constraints = '[[constraints]]\ntext = "accuracy >= 0.85"'
    extra = "[test]\nbound = 'growth'"
    write_study(folder / "study.toml", "loans.csv", extra=extra, constraints=constraints)
    Path("loans.csv").write_text("".join(lines[:301]), encoding="utf-8")
    told = elfair("fit", "study.toml", "--anyway", code=3).output
    assert "No solution found" in told
    assert "0 of 300 rows are fresh" in elfair(
        "fit", "study.toml", "--continue", "results", code=2
    ).output  # fmt: skip
    # Nobody becomes fresh by another identifier.
    again = ["again " + line.removeprefix("again ") for line in lines[1:301]]
    Path("loans.csv").write_text("".join([*lines[:301], *again]), encoding="utf-8")
    told = elfair("fit", "study.toml", "--continue", "results", code=2).output
    assert "300 of 300 fresh rows are copies" in told
    assert not Path("results-2").exists()
    Path("loans.csv").write_text("".join(lines), encoding="utf-8")
    # The search gave the first test hardly a chance, which says nothing of this one.
    elfair("fit", "study.toml", "--continue", "results", code=0)
    record = Certificate.load("results-2/certificate.json")
    assert (record.stage.number, record.n_held_out, record.openings) == (2, 2700, 1)
    assert record.provenance.study == Path("study.toml").read_text(encoding="utf-8")
    told = elfair(
        "verify", "results-2/certificate.json", "--data", "loans.csv",
        "--model", "results-2/model.elfair", "--earlier", "results/certificate.json",
    ).output  # fmt: skip
    assert "no problems found" in told
    assert "continues" in elfair("ledger").output
    # The study is the one that was declared.
    write_study(folder / "study.toml", "loans.csv", extra=extra + "\nseed = 2")
    further = ("fit", "study.toml", "--output", "further", "--continue")
    assert "the study file has changed" in elfair(*further, "results", code=2).output
    assert "could not be read" in elfair(*further, "copy", code=2).output


PAPERS = "[test]\nestimator = 'is'\n"


@pytest.mark.parametrize("where", ["study", "command"])
def test_a_violated_assumption_has_an_exit_code_and_is_accepted_in_writing(elfair, folder, where):
    constraints = '[[constraints]]\nno_worse = "T-group"\nslack = 0.2'
    write_study(folder / "is.toml", "loans.csv", extra=PAPERS, constraints=constraints)
    told = elfair("fit", "is.toml", code=4).output
    headline = "No solution found: an assumption is violated (tau is known), although both"
    assert headline in told
    assert 'accept_violated = ["tau_known"] (in [test])' in told
    assert headline in elfair("explain", "results/certificate.json").output
    told = elfair("verify", "results/certificate.json", code=4).output
    assert headline in told
    assert "VIOLATED, so the stated confidence is not justified: tau is known" in told
    assert headline in Path("results/report.html").read_text(encoding="utf-8")
    told = elfair("decide", "results/rejected.elfair", "loans.csv", "--log", "log.csv", code=1)
    assert "an assumption is violated (tau is known)" in told.output

    given = ["--accept-violated", "tau_known"] if where == "command" else []
    if where == "study":
        accepting = PAPERS + "accept_violated = ['tau_known']"
        write_study(folder / "is.toml", "loans.csv", extra=accepting, constraints=constraints)
    told = elfair("fit", "is.toml", "--overwrite", *given, code=0).output
    headline = "Solution found, although an assumption is violated (tau is known), which was"
    assert headline in told
    record = Certificate.load("results/certificate.json")
    assert record.openings == 1  # to accept a result is not to look again
    assert record.terms.accept_violated == ("tau_known",)
    for form in ("text", "markdown", "html", "cyclonedx"):
        shown = elfair("explain", "results/certificate.json", "--format", form).output
        assert headline in shown
    told = elfair(
        "verify", "results/certificate.json", "--data", "loans.csv",
        "--model", "results/model.elfair", "--report", "results/report.html", code=4,
    ).output  # fmt: skip
    assert headline in told
    assert "VIOLATED, so the stated confidence is not justified: tau is known" in told
    people = read_table("loans.csv").table.drop_columns(["Approved?", "p(decision)"])
    from elfair.study.writing import write_table

    write_table(people.slice(0, 50), Path("people.csv"))
    for command in ("predict", "decide"):
        where = ("--output", "new.csv") if command == "predict" else ("--log", "log.csv")
        told = elfair(command, "results/model.elfair", "people.csv", *where)
        assert f"Warning: {headline}" in told.stderr


def test_an_assumption_that_cannot_be_accepted_is_an_error(elfair, folder):
    told = elfair("fit", "study.toml", "--accept-violated", "tau", code=2).output
    assert "accept_violated must be a list with any of 'opened_once', " in told
    assert told.count("Hint:") == 1
    write_study(folder / "wrong.toml", "loans.csv", extra="[test]\naccept_violated = ['tau']")
    assert "'opened_once', " in elfair("fit", "wrong.toml", code=2).output
    assert not usual_ledger().exists()


def test_one_line_that_is_open_is_called_it(elfair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k},{'fm'[k % 2]},{k % 2},0.5,{k / 7}\n" for k in range(20))
    (tmp_path / "t.csv").write_text("income,sex,approved,p,z\n" + rows)
    told = elfair("init", "t.csv").output
    assert "1 line with TODO: only you can fill in what belongs there." in told


def test_no_study_file_is_overwritten(elfair, folder):
    before = Path("study.toml").read_bytes()
    told = elfair("init", "loans.csv", code=2).output
    assert "exists already" in told
    assert Path("study.toml").read_bytes() == before


def test_results_are_not_overwritten_before_anything_is_spent(elfair, folder):
    elfair("fit", "study.toml")
    looks = elfair("ledger").output
    assert "--overwrite" in elfair("fit", "study.toml", code=2).output
    assert elfair("ledger").output == looks


def test_a_copy_of_a_table_in_another_folder_and_format_is_the_same_rows(elfair, folder):
    elfair("fit", "study.toml")
    assert "look 1 of 1 declared" in elfair("ledger").output
    Path("copy").mkdir()
    from elfair.study.writing import write_table

    write_table(read_table("loans.csv").table, Path("copy/loans.parquet"))
    text = Path("study.toml").read_text(encoding="utf-8")
    moved = text.replace("loans.csv", "loans.parquet") + "\n[test]\nseed = 3\n"
    Path("copy/study.toml").write_text(moved, encoding="utf-8")
    elfair("fit", "copy/study.toml", code=4)
    assert Certificate.load("copy/results/certificate.json").openings == 2
    listed = elfair("ledger").output
    assert "2 looks" in listed
    assert "look 2 of 1 declared" in listed
    # Another ledger knows nothing of it; who wants one says so.
    elfair("fit", "copy/study.toml", "--overwrite", "--ledger", "own.db")
    assert "1 look" in elfair("ledger", "--ledger", "own.db").output


def test_wrong_propensities_are_bad_input_to_check_and_fit_alike(elfair, folder):
    """The classic mistake: the probability of a yes, whatever was decided."""
    lines = Path("loans.csv").read_text(encoding="utf-8").splitlines()
    header = lines[0].split(",", 11)
    for k, line in enumerate(lines[1:], 1):
        cells = line.split(",")
        if cells[9] == "no":
            cells[10] = str(1 - float(cells[10]))
        lines[k] = ",".join(cells)
    assert header[9:11] == ["Approved?", "p(decision)"]
    Path("loans.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for command in ("check", "fit"):
        told = elfair(command, "study.toml", code=2).output
        assert "the propensities do not fit the decisions" in told
        assert "how often " in told
    assert not Path("results").exists()
    assert not usual_ledger().exists()


BAD = {
    "malformed TOML": (lambda p: p.write_text("title = [1,"), "must be TOML"),
    "an unknown key": (
        lambda p: write_study(p, "loans.csv", extra="[rows]\nmissing = 1"),
        "'missing'",
    ),
    "a wrong type": (
        lambda p: write_study(p, "loans.csv", extra='[test]\ndelta = "little"'),
        "delta",
    ),
    "a missing column": (
        lambda p: p.write_text(
            p.read_text(encoding="utf-8").replace('"Approved?"', '"Aproved?"'), encoding="utf-8"
        ),
        "Approved?",
    ),
    "no such table": (lambda p: write_study(p, "loan.csv"), "loans.csv"),
    "a broken table": (
        lambda p: ((p.parent / "t.parquet").write_bytes(b"PAR1xx"), write_study(p, "t.parquet")),
        "t.parquet",
    ),
    "a constraint that makes no sense": (
        lambda p: write_study(
            p, "loans.csv", constraints='[[constraints]]\ntext = "E[savings >= 3"'
        ),
        "savings",
    ),
}


@pytest.mark.parametrize("command", ["check", "plan", "fit"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_message_with_a_hint_and_no_output(elfair, folder, command, kind):
    spoil, word = BAD[kind]
    spoil(folder / "study.toml")
    before = sorted(folder.iterdir())
    told = elfair(command, "study.toml", code=2).output
    assert told.startswith("Error: ")
    assert word in told
    assert told.count("Hint:") == 1
    assert "Traceback" not in told
    assert sorted(folder.iterdir()) == before


#: Every command, with a file that does not exist or cannot be written.
NOWHERE = {
    "init": ["nowhere.csv"],
    "check": ["nowhere.toml"],
    "plan": ["nowhere.toml"],
    "fit": ["nowhere.toml"],
    "explain": ["nowhere.json"],
    "verify": ["nowhere.json"],
    "sign": ["nowhere.json", "--key", "nowhere.pem"],
    "keygen": ["--output", "loans.csv"],
    "predict": ["nowhere.elfair", "loans.csv", "--output", "decided.csv"],
    "decide": ["nowhere.elfair", "loans.csv", "--log", "log.csv"],
    "monitor": ["nowhere.elfair", "loans.csv", "--delay", "30"],
    "ledger": ["--ledger", "loans.csv"],
    "demo": ["--output", "loans.csv/demo"],
    "serve": ["nowhere"],
    "completion": ["nushell"],
    "experiment": ["run", "nowhere.toml"],
}


@pytest.mark.parametrize("command", main.commands)
def test_every_command_answers_bad_input_with_one_hint_and_writes_nothing(elfair, folder, command):
    before = sorted(folder.iterdir())
    told = elfair(command, *NOWHERE[command], code=2).output
    assert told.startswith("Error: ")
    assert told.count("Hint:") == 1
    assert sorted(folder.iterdir()) == before


def test_every_command_of_a_module_can_be_called():
    """Whoever writes a command, and does not list it, is told."""
    known, left = set(), [main]
    while left:
        known.add(one := left.pop())
        left += getattr(one, "commands", {}).values()
    for path in Path(cli.__file__).parent.glob("[a-z]*.py"):
        module = import_module(f"elfair.cli.{path.stem}")
        written = {one for one in vars(module).values() if isinstance(one, click.Command)}
        assert written <= known, path.name


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_place_that_cannot_be_written_is_bad_input(elfair, folder):
    told = elfair("fit", "study.toml", "--output", "/dev/full/results", code=2).output
    assert told.count("Hint:") == 1
    (folder / "file").write_text("")
    for arguments in (
        ("init", "loans.csv", "--output", "file/study.toml"),
        ("plan", "study.toml", "--output", "file/curve.svg"),
    ):
        told = elfair(*arguments, code=2).output
        assert told.count("Hint:") == 1
        assert "Traceback" not in told


def test_a_certificate_is_shown_in_every_form(elfair, fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(fitted)
    path = "results/certificate.json"
    assert elfair("explain", path).output.startswith("Solution found")
    assert elfair("explain", path, "--format", "markdown").output.startswith("# ")
    html = tmp_path / "again.html"
    elfair("explain", path, "--format", "html", "--output", html)
    assert html.read_bytes() == Path("results/report.html").read_bytes()
    bill = json.loads(elfair("explain", path, "--format", "cyclonedx").output)
    assert bill["bomFormat"] == "CycloneDX"


def test_decisions_are_drawn_and_logged(elfair, fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(fitted)
    people = read_table("loans.csv").table.drop_columns(["Approved?", "p(decision)"])
    from elfair.study.writing import write_table

    write_table(people.slice(0, 50), tmp_path / "people.parquet")
    out = tmp_path / "drawn.csv"
    elfair("predict", "results/model.elfair", tmp_path / "people.parquet", "--output", out)
    assert read_table(out).table.num_rows == 50
    told = elfair(
        "predict", "results/model.elfair", tmp_path / "people.parquet", "--output", out, code=2
    )
    assert "already exists" in told.output
    log, later = tmp_path / "log.csv", tmp_path / "later.csv"
    write_table(people.slice(50, 50), later)
    for table in (tmp_path / "people.parquet", later):
        told = elfair("decide", "results/model.elfair", table, "--log", log)
        assert "50 decisions appended" in told.output
    told = elfair("decide", "results/model.elfair", later, "--log", log, code=2)
    assert "is in the log" in told.output
    assert "'P000050'" in told.output
    logged = read_table(log).table
    assert logged.num_rows == 100
    certificate = Certificate.load("results/certificate.json")
    assert set(logged["model"].to_pylist()) == {certificate.digests.model}


def test_a_rejected_model_decides_nothing(elfair, folder, tmp_path):
    write_study(
        folder / "strict.toml",
        "loans.csv",
        constraints='[[constraints]]\ntext = "accuracy >= 0.99"',
    )
    elfair("fit", "strict.toml", "--anyway", code=3)
    told = elfair(
        "decide", "results/rejected.elfair", "loans.csv", "--log", tmp_path / "log.csv", code=1
    ).output
    assert "no solution found" in told
    assert not (tmp_path / "log.csv").exists()
    told = elfair("verify", "results/certificate.json", code=3).output
    assert "The certificate says: No solution found" in told


def test_what_can_be_verified_without_data_is_and_the_rest_is_said_to_be_skipped(elfair, fitted):
    told = elfair("verify", fitted / "results/certificate.json").output
    assert "skipped" in told


def test_a_search_that_was_to_be_repeated_and_was_not_is_no_success(elfair, fitted):
    told = elfair("verify", fitted / "results/certificate.json", "--refit", code=1).output
    assert told.rstrip().endswith("NOT COMPLETE: the search could not be repeated")


def test_a_changed_table_fails_verification(elfair, fitted, tmp_path):
    text = (fitted / "loans.csv").read_text(encoding="utf-8").splitlines()
    cells = text[1500].split(",")
    cells[-2] = str(float(cells[-2]) * 0.999)
    text[1500] = ",".join(cells)
    (tmp_path / "loans.csv").write_text("\n".join(text) + "\n", encoding="utf-8")
    told = elfair(
        "verify", fitted / "results/certificate.json", "--data", tmp_path / "loans.csv",
        "--model", fitted / "results/model.elfair", code=1,
    ).output  # fmt: skip
    assert "FAILED" in told or "failed" in told


def test_help_comes_at_once():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "from elfair.cli import main; main(['--help'])"],
        capture_output=True,
        text=True,
        check=True,
    )
    for heavy in ("numpy", "sklearn", "pyarrow", "pydantic", "jinja2", "rich"):
        assert f" {heavy}\n" not in done.stderr
    order = ["init", "check", "plan", "fit", "explain", "verify", "sign", "keygen", "predict"]
    order += ["decide", "monitor"]
    listed = done.stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed if line[2:3].strip()] == [
        *order,
        "ledger",
        "demo",
        "serve",
        "experiment",
        "completion",
    ]


def test_the_query_that_is_asked_is_shown(elfair, fitted):
    certificate = fitted / "results/certificate.json"
    told = elfair("verify", certificate, "--data", "duckdb://", code=2)
    assert "needs a query" in told.stderr
    kinds = "auto_type_candidates = ['DOUBLE', 'VARCHAR']"  # yes stays a word
    query = f"from read_csv('{fitted / 'loans.csv'}', {kinds})"
    asked = ("verify", certificate, "--data", "duckdb://", "--query", query)
    assert "--within" in elfair(*asked, code=1).output
    told = elfair(*asked, "--within", fitted)
    assert told.stderr == f"duckdb:// is asked: {query}\n"

"""Every command prints the same facts as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
import pytest
from awkward import write_loans, write_study

from elfair import Certificate
from elfair.cli import main

FILES = ["results/model.elfair", "results/certificate.json", "results/report.html"]


def commands(group: click.Group, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, each in group.commands.items():
        inside = isinstance(each, click.Group)
        found += commands(each, (*before, name)) if inside else [(*before, name)]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    write_loans(folder / "loans.csv", n=600)
    write_study(folder / "study.toml", "loans.csv", extra="[test]\ncandidates = 2")
    return folder


def test_every_command_has_it():
    for path in commands(main):
        command: click.Command = main
        for name in path:
            command = command.commands[name]
        assert "as_json" in [each.name for each in command.params], path


def test_a_study_from_its_table_to_decisions(elfair, folder, monkeypatch):
    """Each command, with and without --json: what JSON says, the text says."""
    monkeypatch.chdir(folder)

    def facts(*arguments, code=0):
        return json.loads(elfair(*arguments, "--json", code=code).stdout)

    drafted = facts("init", "loans.csv", "--output", "draft.toml")
    assert drafted["written"] == "draft.toml"
    assert drafted["guesses"] == Path("draft.toml").read_text().count("# guess")
    checked = facts("check", "study.toml")
    assert checked["ok"]
    assert {"outside", "changes", "proposed"} <= set(checked)
    planned = facts("plan", "study.toml", "--output", "plan.svg")
    assert planned["written"] == ["plan.svg"]
    assert {"rows", "curve"} <= set(planned)
    followed = facts("plan", "study.toml", "--follow-up", "0.3")
    assert {"cells", "statements"} <= set(followed)
    fitted = facts("fit", "study.toml", "--anyway")
    assert fitted["passed"]
    assert fitted["tested"]
    assert [Path(each) for each in fitted["written"]] == [Path(each) for each in FILES]
    explained = facts("explain", "results/certificate.json")
    assert explained["verdict"] == fitted["verdict"]
    text = elfair("explain", "results/certificate.json").output
    assert all(paragraph in text for paragraph in explained["explanation"])
    verified = facts("verify", "results/certificate.json", "--report", "results/report.html")
    assert verified["passed"]
    assert verified["released"]
    assert verified["verdict"] == fitted["verdict"]
    people = [line.split(",") for line in Path("loans.csv").read_text().splitlines()[:11]]
    gone = [people[0].index(name) for name in people[0] if name in ("Approved?", "p(decision)")]
    kept = [",".join(c for k, c in enumerate(line) if k not in gone) for line in people]
    Path("people.csv").write_text("\n".join(kept) + "\n")
    drawn = facts("predict", "results/model.elfair", "people.csv", "--output", "new.csv")
    assert (drawn["rows"], drawn["verdict"]) == (10, fitted["verdict"])
    decided = facts("decide", "results/model.elfair", "people.csv", "--log", "log.csv")
    assert (decided["decisions"], decided["model"]) == (10, fitted["model"])


def test_experiments(elfair, folder, monkeypatch):
    monkeypatch.chdir(folder)

    def facts(*arguments):
        return json.loads(elfair("experiment", *arguments, "--json").stdout)

    listed = facts("list")
    assert set(listed) == {"experiments", "populations", "methods"}
    name = next(iter(listed["experiments"]))
    shown = facts("show", name)
    assert shown["text"] == elfair("experiment", "show", name).stdout
    assert shown["experiment"]


def test_the_demo(elfair, tmp_path):
    said = json.loads(elfair("demo", "--output", tmp_path / "demo", "--json").stdout)
    assert said["solution"]["passed"]
    assert not said["no-solution"]["passed"]
    assert set(said["truth"]["accuracy"]) != {0.0}


def test_looks_and_signatures(elfair, folder, monkeypatch):
    monkeypatch.chdir(folder)

    def facts(*arguments):
        return json.loads(elfair(*arguments, "--json").stdout)

    elfair("fit", "study.toml", "--anyway", "--output", "signed")
    (look,) = facts("ledger")["looks"]
    assert (look["look"], look["declared"], look["rows"], look["after"]) == (1, 1, 600, "")
    assert look["test"][:12] in elfair("ledger").stdout
    made = facts("keygen", "--output", "board.pem")
    assert {Path(made["private"]).name, Path(made["public"]).name} == {
        "board.pem",
        "board.pub.pem",
    }
    signed = facts("sign", "signed/certificate.json", "--key", "board.pem")
    assert (signed["written"], signed["keys"]) == ("signed/certificate.dsse.json", [made["key"]])
    assert [facts("explain", f"signed/certificate{end}")["signed"] for end in (
        ".json", ".dsse.json"
    )] == [False, True]  # fmt: skip
    assert "anybody could have written it" in elfair("explain", "signed/certificate.json").output
    told = elfair("explain", "signed/certificate.dsse.json").output
    assert "anybody" not in told
    assert "It is signed." in told


def test_nobody_signs_what_contradicts_itself(elfair, folder, monkeypatch):
    monkeypatch.chdir(folder)
    elfair("fit", "study.toml", "--anyway", "--output", "bent")
    record = Certificate.load("bent/certificate.json")
    replace(record, passed=not record.passed).save("bent/certificate.json")
    elfair("keygen", "--output", "other.pem")
    told = elfair("sign", "bent/certificate.json", "--key", "other.pem", code=2).output
    assert told.count("Hint:") == 1
    assert not Path("bent/certificate.dsse.json").exists()


def test_too_little_memory_is_one_error(elfair, folder, monkeypatch):
    monkeypatch.chdir(folder)

    def exhausted(*_, **__):
        raise MemoryError

    monkeypatch.setattr(Certificate, "of_file", exhausted)
    Path("any.json").write_text("{}")
    told = elfair("explain", "any.json", code=1).output
    assert told.splitlines()[0] == "Error: there was not enough memory."
    assert told.count("Hint:") == 1

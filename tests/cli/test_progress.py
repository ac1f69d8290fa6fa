"""Commands that take long say how far they are: on standard error, in lines of text or of JSON."""

from __future__ import annotations

import json
import logging

import click
import pytest
from click.testing import CliRunner

from elfair.cli import main
from elfair.cli.output import tells_progress
from elfair.records import progress
from elfair.records.progress import Progress, logger, parts


@click.command()
@tells_progress
def long(as_json):
    """A command that does something."""
    with Progress("searching") as search:
        for _ in parts(range(4)):
            search()
    click.echo('{"found": 1}' if as_json else "found")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    monkeypatch.setattr(progress, "JSON_PAUSE", 0.0)


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("as_json", [False, True])
def test_who_is_told_what(as_json, quiet):
    done = CliRunner().invoke(long, ["--json"] * as_json + ["--quiet"] * quiet)
    assert done.exit_code == 0
    assert done.stdout == ('{"found": 1}\n' if as_json else "found\n")
    lines = done.stderr.splitlines()
    if quiet:
        assert lines == []
    elif as_json:
        told = [json.loads(line)["progress"] for line in lines]
        assert {each["what"] for each in told} == {"searching"}
        assert [each["done"] for each in told] == sorted(each["done"] for each in told)
        assert told[-1]["of"] == "4 steps"
        assert told[-1]["left"] >= 0
    else:
        assert lines[-1].startswith("searching: 75 %, 4 steps, ")
        assert " left" in lines[-1]


def test_verbose_is_the_log_and_leaves_it_as_it_was():
    before, handlers = logger.level, list(logger.handlers)
    done = CliRunner().invoke(long, ["--verbose", "--quiet"])
    assert "elfair: searching: " in done.stderr
    assert (logger.level, logger.handlers) == (before, handlers)
    assert all(isinstance(each, logging.NullHandler) for each in handlers)


@pytest.mark.parametrize("path", ["check", "plan", "fit", "verify", "experiment run"])
def test_commands_that_take_long_have_it(path):
    command = main
    for name in path.split():
        command = command.commands[name]
    assert {"as_json", "quiet", "verbose"} <= {each.name for each in command.params}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell, monkeypatch):
    script = CliRunner().invoke(main, ["completion", shell]).stdout
    assert "_ELFAIR_COMPLETE" in script
    monkeypatch.setenv("_ELFAIR_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", "elfair fit --qui")
    monkeypatch.setenv("COMP_CWORD", "--qui" if shell == "fish" else "2")
    asked = CliRunner().invoke(main, [], prog_name="elfair")
    assert "--quiet" in asked.output

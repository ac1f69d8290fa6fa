"""Progress: what of how much is done and how long the rest takes, for whoever listens."""

from __future__ import annotations

import io
import json
import logging
import sys
import time
from types import SimpleNamespace

import pytest

from elfair.records import progress
from elfair.records.progress import (
    Lines,
    Moment,
    Nobody,
    Notebook,
    Progress,
    Terminal,
    listening,
    parts,
)


class Terminals(io.StringIO):
    def isatty(self):
        return True


class Kept:
    """Keeps what it is told."""

    def __init__(self):
        self.moments, self.closed = [], False

    def __call__(self, moment):
        self.moments.append(moment)

    def close(self):
        self.closed = True


@pytest.fixture
def kept(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    listener = Kept()
    with listening(lambda: listener):
        yield listener


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(time=1000.0)
    monkeypatch.setattr(progress, "monotonic", lambda: now.time)
    monkeypatch.setattr(progress, "TICK", 1e6)
    return now


def test_parts_of_parts_add_up_and_never_go_back(kept):
    with Progress("a study"):
        with Progress("reading", end=0.2):
            pass
        with Progress("searching", start=0.2) as search:
            for _ in parts("ab", weights=[3, 1]):
                for _ in parts("cd"):
                    search()
    told = [(each.what, round(each.done, 6)) for each in kept.moments]
    assert ("reading", 0.0) in told
    searching = [done for what, done in told if what == "searching"]
    assert sorted(set(searching)) == [0.2, 0.5, 0.8, 0.9]
    assert searching == sorted(searching)
    assert kept.moments[-1].of == "4 steps"
    assert kept.closed


def test_the_time_left_is_that_of_the_rest_at_the_same_pace(kept, clock):
    with Progress("searching") as search:
        assert kept.moments[-1].left is None  # nothing is known yet
        for k in parts(range(4)):
            clock.time = 1000.0 + 5 * k
            search()
    assert [each.left for each in kept.moments if each.of == "4 steps"] == [pytest.approx(5.0)]
    assert kept.moments[-1].done == 0.75


def test_nothing_is_said_of_what_is_over_soon(monkeypatch):
    listener = Kept()
    with listening(lambda: listener), Progress("searching") as search:
        search()
    assert listener.moments == []


def test_a_long_step_is_no_silence(kept, monkeypatch):
    monkeypatch.setattr(progress, "TICK", 0.01)
    with Progress("one long step"):
        said = len(kept.moments)
        deadline = time.monotonic() + 10
        while len(kept.moments) < said + 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(kept.moments) >= said + 2
    after = len(kept.moments)
    time.sleep(0.05)
    assert len(kept.moments) == after


def test_an_error_closes_what_was_shown(kept):
    with pytest.raises(KeyboardInterrupt), Progress("searching"):
        raise KeyboardInterrupt
    assert kept.closed
    with Progress("again") as again:  # and what comes after is no part of it
        assert again.done == 0.0


def test_without_anybody_everything_goes_on():
    assert list(parts([1, 2, 3])) == [1, 2, 3]
    with listening(Nobody), Progress("quietly"):
        assert list(parts([])) == []


@pytest.mark.parametrize("terminal", [False, True])
def test_in_python_only_terminals_and_notebooks_show_it(monkeypatch, terminal):
    stream = Terminals() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("COLUMNS", "100")
    with Progress("looking for a model") as search:
        for _ in parts(range(2)):
            search()
    assert ("looking for a model" in stream.getvalue()) == terminal


def test_lines_of_text_come_now_and_then(clock, capsys):
    lines = Lines()
    for seconds in (1, 5, 10, 15):
        clock.time = 1000.0 + seconds
        lines(Moment("searching", 0.5, "3 steps", seconds, seconds))
    assert capsys.readouterr().err == "searching: 50 %, 3 steps, 10 s; about 10 s left\n"


def test_lines_of_json_are_objects(clock, capsys):
    lines = Lines(as_json=True)
    for seconds, what in ((1.0, "reading"), (1.5, "reading"), (1.6, "searching")):
        clock.time = 1000.0 + seconds
        lines(Moment(what, 0.5, "3 steps", seconds, None))
    told = [json.loads(line)["progress"] for line in capsys.readouterr().err.splitlines()]
    assert [each["what"] for each in told] == ["reading", "searching"]
    assert told[0] == {
        **{"what": "reading", "done": 0.5, "of": "3 steps"},
        **{"seconds": 1.0, "left": None},
    }


def test_a_terminal_gets_a_bar_that_goes(monkeypatch):
    stream = Terminals()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "120")
    bar = Terminal()
    bar(Moment("searching", 0.25, "12 steps", 30.0, 90.0))
    bar.close()
    for words in ("searching", "25 %", "12 steps", "about 90 s left"):
        assert words in stream.getvalue()
    Terminal().close()  # one that never showed anything


def test_a_notebook_gets_one_output_that_changes(monkeypatch):
    shown = []
    handle = SimpleNamespace(update=lambda said, raw: shown.append(said))
    monkeypatch.setattr(progress, "BLINK", 0.0)
    display = SimpleNamespace(display=lambda said, raw, display_id: shown.append(said) or handle)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    notebook = progress.whoever_is_there()
    assert isinstance(notebook, Notebook)
    for done in (0.25, 0.5):
        notebook(Moment("searching", done, "12 steps", 30.0, 90.0))
    notebook.close()
    assert [each["text/plain"][:15] for each in shown] == ["searching: 25 %", "searching: 50 %", ""]
    assert 'value="0.500"' in shown[1]["text/html"]


def test_the_log_says_how_long_each_part_took(caplog):
    with (
        caplog.at_level(logging.INFO, "elfair"),
        Progress("fitting"),
        Progress("searching") as search,
    ):
        search()
    assert [each.split(":")[0] for each in caplog.messages] == ["searching", "fitting"]
    assert caplog.messages[0].endswith(", 1 step")

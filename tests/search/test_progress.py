"""A sign of life: on a terminal, after a while, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from elfair.search import SearchProgress, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("patience", [0.0, 1e9])
@pytest.mark.parametrize("terminal", [False, True])
def test_when_something_is_shown(monkeypatch, patience, terminal):
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with SearchProgress("looking") as steps:
        for _ in range(3):
            steps()
        shown = steps._status is not None
    assert steps.steps == 3
    assert shown == (terminal and patience == 0)
    assert ("looking" in stream.getvalue()) == shown


def test_it_stops_when_the_search_does(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    steps = SearchProgress("looking")

    def fail():
        with steps:
            steps()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not steps._status._live.is_started

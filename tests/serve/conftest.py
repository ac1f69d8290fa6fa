"""Servers to ask, and folders to serve. A server takes seconds to start: most tests share one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import STUDY, Server, write_people, write_table


def filled(folder: Path) -> Path:
    """A folder with a table, people to decide about and a study, and nothing else."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    write_table(folder / "loans.csv")
    write_people(folder / "people.csv")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path / "loans")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for tests that change nothing, or put it right again."""
    started = Server(filled(tmp_path_factory.mktemp("served") / "loans"), "--write")
    yield started
    started.close()
    assert "Traceback" not in started.said  # whatever was sent


@pytest.fixture
def server(shared: Server) -> Iterator[Server]:
    """A server whose folder is as it was at first."""
    filled(shared.folder)
    assert shared.alive
    yield shared
    filled(shared.folder)

"""Files that only grow, and what the next process does with what a killed one had begun."""

from __future__ import annotations

import os

import pytest

from elfair.errors import InputError
from elfair.records.appending import append_whole, appending, finish_appending
from elfair.study import read_table


def add(path, data):
    with appending(path) as file:
        append_whole(file, os.fstat(file.fileno()).st_size, data)


@pytest.fixture
def log(tmp_path):
    """A log to which a process was adding a line when it was killed, after some of its bytes."""

    def killed(written, *, there=b"a,b\n1,2\n", adding=b"3,4\n5,6\n"):
        path = tmp_path / "log.csv"
        path.write_bytes(there)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("elfair.records.appending.write_all", lambda *_: 1 / 0)
            patch.setattr("elfair.records.appending._withdraw", lambda *_: None)
            with pytest.raises(ZeroDivisionError):
                add(path, adding)
        path.write_bytes(there + written)
        return path

    return killed


WHOLE = b"a,b\n1,2\n3,4\n5,6\n"


@pytest.mark.parametrize(
    "written", [b"", b"3", b"3,4\n", b"3,4\n5,", b"3,4\n5,6\n", b"3,\0\0\0\0\0\0", b"\0" * 8]
)
def test_what_was_begun_is_finished_first(log, written):
    """Also where a power cut left zeros in the place of bytes that did not reach the disk."""
    path = log(written)
    add(path, b"7,8\n")
    assert path.read_bytes() == WHOLE + b"7,8\n"
    assert [each.name for each in path.parent.iterdir()] == ["log.csv"]


def test_what_came_after_it_stays(log):
    """A power cut may bring back the record of what was added long ago."""
    path = log(b"3,4\n5,6\n7,8\n")
    finish_appending(path)
    assert path.read_bytes() == WHOLE + b"7,8\n"


def test_a_reader_sees_all_of_it(log):
    assert read_table(log(b"3,")).table.to_pydict() == {"a": [1, 3, 5], "b": [2, 4, 6]}


@pytest.mark.parametrize(
    "now", [b"", b"a,b\n", b"a,b\n1,9\n3,", b"a,b\n1,2\n9,9\n", WHOLE[:-4] + b"9" * 9]
)
def test_a_log_that_was_changed_meanwhile_is_left_to_people(log, now):
    path = log(b"3,")
    path.write_bytes(now)
    with pytest.raises(InputError, match="was changed after a process was stopped") as error:
        add(path, b"7,8\n")
    assert "log.csv.elfair-pending" in str(error.value)
    assert path.read_bytes() == now
    assert path.with_name("log.csv.elfair-pending").read_bytes().endswith(b"\n3,4\n5,6\n")


def test_the_file_of_somebody_else_is_not_taken_for_what_was_begun(tmp_path):
    path = tmp_path / "log.csv"
    path.with_name("log.csv.elfair-pending").write_text("mine")
    with pytest.raises(InputError, match="is not as elfair wrote it"):
        add(path, b"a\n")
    assert path.with_name("log.csv.elfair-pending").read_text() == "mine"


def test_beside_a_link_lies_what_it_leads_to(tmp_path, log):
    path = log(b"3,")
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.csv"
    link.symlink_to(path)
    add(link, b"7,8\n")
    assert path.read_bytes() == WHOLE + b"7,8\n"

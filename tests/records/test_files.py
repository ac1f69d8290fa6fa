"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tracemalloc

import pytest

from elfair import InputError
from elfair.records.files import read_whole, write_new, write_whole


def test_bytes_and_text_are_written_as_they_are(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"\x00\r\n")
    assert path.read_bytes() == b"\x00\r\n"
    write_whole(str(path), "Größe\n")
    assert path.read_bytes() == "Größe\n".encode()
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_others_may_read_it_as_any_other_file(tmp_path):
    write_whole(tmp_path / "one", "")
    (tmp_path / "two").write_text("")
    assert (tmp_path / "one").stat().st_mode == (tmp_path / "two").stat().st_mode


def test_what_a_link_leads_to_is_replaced(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_name_as_long_as_names_may_be(tmp_path):
    write_whole(tmp_path / ("n" * 255), "")
    with pytest.raises(InputError, match="could not be written: File name too long"):
        write_whole(tmp_path / ("n" * 256), "")


@pytest.mark.parametrize("name", ["replace", "fsync", "open"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_goes_wrong_leaves_all_as_it_was(name, code, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    where = {"replace": "pathlib.Path.replace", "fsync": "os.fsync"}
    with monkeypatch.context() as patch:
        patch.setattr(where.get(name, "elfair.records.files.open"), fail, raising=name != "open")
        with pytest.raises(InputError, match=f"could not be written: {os.strerror(code)}") as error:
            write_whole(path, "new")
    assert "free disk space" in error.value.hint
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


def test_a_new_file_is_whole_alone_and_as_private_as_it_is_to_be(tmp_path, monkeypatch):
    write_new(tmp_path / "key", b"ours", mode=0o600)
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "key", b"theirs")
    assert (tmp_path / "key").read_bytes() == b"ours"
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600

    def fail(*_):
        raise OSError(errno.EPERM, "not here")

    monkeypatch.setattr("os.link", fail)
    write_new(tmp_path / "other", b"of a simple disk")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "key", b"theirs")
    monkeypatch.undo()
    monkeypatch.setattr("elfair.records.files.sync_folder", fail)
    with pytest.raises(PermissionError):
        write_new(tmp_path / "third", b"")
    assert {each.name for each in tmp_path.iterdir()} == {"key", "other"}


FULL = """
import resource, sys
from elfair.errors import InputError
from elfair.records.files import read_whole, write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole(sys.argv[1], b"x" * 10_000)
except InputError as error:
    print(error)
"""


def test_a_disk_that_is_full_halfway_leaves_nothing_behind(tmp_path):
    """Not a pretended error: the system allows no more than 1,000 bytes."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "file")], capture_output=True, text=True
    )
    assert "could not be written: File too large." in done.stdout, done.stderr
    assert not list(tmp_path.iterdir())


def test_being_stopped_leaves_nothing_behind(tmp_path, monkeypatch):
    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "file", "new")
    assert not list(tmp_path.iterdir())


def test_places_that_are_no_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"must be a file to be written\. Got a folder"):
        write_whole(tmp_path, "")
    with pytest.raises(InputError, match="No such file") as error:
        write_whole(tmp_path / "nowhere" / "file", "")
    assert error.value.hint == "make its folder first."
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Not a directory"):
        write_whole(tmp_path / "file" / "file", "")
    with pytest.raises(InputError, match="cannot be the name of a file"):
        write_whole("a\0b", "")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match=r"could not be written|cannot be the name of a file"):
        write_whole(tmp_path / "loop", "")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "loop"]


def test_a_small_file_takes_little_memory(tmp_path):
    (tmp_path / "small").write_bytes(b"x" * 3_000_000)
    tracemalloc.start()
    content = read_whole(tmp_path / "small", hint="none")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert content == b"x" * 3_000_000
    assert peak < 10_000_000
    with pytest.raises(InputError, match="at most 2,999,999 bytes"):
        read_whole(tmp_path / "small", hint="none", most=2_999_999)

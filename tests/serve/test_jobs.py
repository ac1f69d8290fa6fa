"""Commands as jobs: never run twice, not lost with their server, and ended if somebody says so."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from elfair.certificate import Certificate
from elfair.data.ledger import Ledger
from elfair.errors import InputError
from elfair.records.progress import Moment
from elfair.serve.jobs import MOST_RUNNING, Jobs
from serving import Server, endless_study, held, job_of


def pids_of(job) -> list[int]:
    """The processes of a job's group that are there."""
    group = int((job.folder / "pid").read_text())
    found = []
    for each in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat[2]) == group and stat[0] != "Z":
            found.append(int(each))
    return found


def waited(is_so, seconds: float = 300) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.1)
    return is_so()


def test_a_command_runs_and_says_how_it_ended(folder):
    jobs = Jobs(folder)
    job = jobs.start(["check", "nowhere.toml"], about="nowhere.toml", name="check0001")
    assert job.line == "elfair check nowhere.toml"
    assert waited(lambda: job.state == "done")
    assert job.code == 2
    assert "no study file" in job.printed("err")
    assert jobs.latest("check", "nowhere.toml") == job
    assert jobs.get("check0001") == job
    assert jobs.get("check0002") is None
    assert (folder / ".elfair" / ".gitignore").read_text() == "*\n"


def test_the_folder_holds_no_code_of_elfair(folder):
    """A module in the served folder, which a stranger may have filled, is not imported."""
    for name in ("elfair", "numpy", "json", "signal"):
        (folder / f"{name}.py").write_text("open('imported', 'w').close()\n")
    job = Jobs(folder).start(
        ["check", "study.toml", "--json"], about="study.toml", name="check0003"
    )
    assert waited(lambda: job.state == "done")
    assert job.code == 0, job.printed("err")
    assert not (folder / "imported").exists()


def test_a_command_sent_twice_runs_once(server: Server):
    with ThreadPoolExecutor(8) as many:  # eight clicks, or eight tabs with one page
        sent = many.map(lambda _: server.run("check", "study.toml", "thesame01"), range(8))
        assert {answer.place for answer in sent} == {"/jobs/thesame01"}
    with held(server.folder, "thesame01"):
        again = server.run("check", "study.toml", "another01")
    assert again.place == "/jobs/thesame01"  # while it runs
    server.ended("/jobs/thesame01")
    assert server.run("check", "study.toml", "thesame01").place == "/jobs/thesame01"
    assert server.run("check", "study.toml", "another02").place == "/jobs/another02"
    server.ended("/jobs/another02")


def test_a_fit_outlives_its_server_and_is_found_again(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("ELFAIR_LEDGER", str(tmp_path / "ledger.db"))
    first = Server(folder, "--write")
    at = first.run("fit", "study.toml", "survivor1", output="results").place
    other = first.run("fit", "study.toml", "survivor2", output="results").place
    assert at == other == "/jobs/survivor1"
    with held(folder, "survivor1"):
        first.kill()
        second = Server(folder, "--write")
        assert second.cookie != first.cookie
        assert second.get("/jobs/survivor1", Cookie=first.cookie).status == 403
        assert "data-events" in second.get(at).text
        assert "Running now" in second.get("/").text
    try:
        page = second.ended(at)
        assert "A model was released." in page
        assert 'href="/results/results"' in page
        assert Certificate.load(folder / "results" / "certificate.json").passed
        assert len(Ledger(tmp_path / "ledger.db").entries()) == 1  # one test, not two
        assert "1 of 1 declared" in second.get("/ledger").text
        assert job_of(folder, "survivor1")["arguments"] == [
            "fit", "study.toml", "--output", "results", "--json"
        ]  # fmt: skip
    finally:
        second.close()


def test_a_job_that_was_killed_is_lost_and_not_running(folder):
    jobs = Jobs(folder)
    job = jobs.start(["check", endless_study(folder)], about="x", name="killed001")
    assert waited(lambda: (job.folder / "err").exists())
    assert job.state == "running"
    os.killpg(int((job.folder / "pid").read_text()), signal.SIGKILL)
    assert waited(lambda: job.state == "lost")
    assert job.code is None


def test_a_job_that_never_ends_is_shown_held_and_cancelled(server: Server):
    study = endless_study(server.folder)
    at = server.run("check", study, "forever01").place
    job = Jobs(server.folder).get("forever01")
    assert job is not None
    assert waited(lambda: len(pids_of(job)) >= 2)
    told = server.get("/jobs")
    assert told.status == 200  # the server answers meanwhile
    assert "running" in told.text
    assert server.post(f"{at}/cancel", {}).status == 303
    assert "Cancelled." in server.ended(at)
    assert job.state == "cancelled"
    assert waited(lambda: not pids_of(job))
    assert server.post(f"{at}/cancel", {}).status == 303  # once more does nothing
    assert job.state == "cancelled"


def test_a_command_that_does_not_heed_ctrl_c_is_killed(folder, monkeypatch):
    from elfair.serve import jobs as module

    monkeypatch.setattr(module, "PATIENCE", 0.5)
    job = Jobs(folder).start(["check", endless_study(folder)], about="x", name="stubborn1")
    assert waited(lambda: len(pids_of(job)) >= 2)
    monkeypatch.setattr(signal, "SIGINT", signal.SIGCONT)  # as if it were ignored
    job.cancel()
    assert waited(lambda: job.state == "cancelled")
    assert waited(lambda: not pids_of(job))


def test_only_a_few_commands_run_at_once(folder):
    jobs, running = Jobs(folder), []
    try:
        for k in range(MOST_RUNNING):
            study = endless_study(folder, f"endless{k}.toml")
            running.append(jobs.start(["check", study], about=study, name=f"many0000{k}"))
        with pytest.raises(InputError, match="running already"):
            jobs.start(["check", "study.toml"], about="study.toml", name="toomany01")
    finally:
        for job in running:
            job.cancel()
        assert all(waited(lambda job=job: not pids_of(job)) for job in running)


def test_events_tell_until_the_end(server: Server):
    at = server.run("check", "study.toml", "events001").place
    told = server.get(f"{at}/events").text  # closes by itself
    moments = [json.loads(line[6:]) for line in told.splitlines() if line]
    assert {each["state"] for each in moments[:-1]} <= {"running"}
    assert moments[-1]["state"] == "done"
    assert [each["seconds"] for each in moments] == sorted(each["seconds"] for each in moments)


def test_a_command_that_says_how_far_it_is_is_heard(folder):
    """The last word counts, whatever else was printed; half a line is none."""
    job = Jobs(folder).start(["check", "nowhere.toml"], about="x", name="moments01")
    assert waited(lambda: job.state == "done")
    assert job.progress is None
    moments = [Moment("searching", k / 4, f"{k} steps", float(k), 4.0 - k) for k in range(3)]
    lines = [json.dumps({"progress": asdict(each)}) for each in moments]
    (job.folder / "err").write_text(f"{lines[0]}\nWarning: x\n{lines[1]}\n{lines[2]}\n")
    assert job.progress == moments[2]
    assert job.said == "Warning: x\n"
    for broken in ('{"progress": 3}', '{"progress": {"done": 1}}', '{"progress": {"wh', "x"):
        (job.folder / "err").write_text(broken)
        assert job.progress is None


def test_broken_state_on_disk_is_no_job(server: Server):
    folder = server.folder / ".elfair" / "jobs"
    for k, text in enumerate(["", "{}", "[]", '{"arguments": 1}', "\x00", '{"arguments": null}']):
        (folder / f"broken00{k}").mkdir(parents=True)
        (folder / f"broken00{k}" / "job.json").write_text(text)
        assert server.get(f"/jobs/broken00{k}").status == 404
    assert server.get("/jobs").status == 200
    assert server.get("/").status == 200

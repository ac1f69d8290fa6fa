"""What tests of the workbench share: a folder to serve, and a server in a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np

STUDY = """\
# What the board decided on 3 March.
title = "Loans"

[data]
source = "loans.csv"

[columns]
features = ["income", "housing"]  # known at the counter
label = "repaid"
sensitive = ["race"]
decision = "approved"
propensity = "p"
impact = ["savings later"]
row_id = "person id"

[columns.categories]
housing = ["owns", "rents"]

[rows]
missing_impact = "drop"

[model]
objective = "accuracy"

[test]
delta = 0.1  # 90 %

# Nobody pays for it.
[[constraints]]
no_worse = "race"
groups = ["A", "B"]
chosen_by = "the board"
"""


def write_table(path: Path, n: int = 2_000, seed: int = 0) -> None:
    """People whom a model can help by deciding as their label says; 1 in 50 was not found again."""
    rng = np.random.default_rng(seed)
    income, race = rng.normal(0, 1, n).round(3), rng.choice(["A", "B"], n)
    housing = rng.choice(["owns", "rents"], n)
    repaid = (income + 0.3 * (housing == "owns") + rng.normal(0, 0.4, n) > 0).astype(int)
    approved = rng.integers(0, 2, n)
    savings = (np.where(approved == repaid, 1.0, -1.0) + rng.normal(0, 0.5, n)).round(3)
    lines = ["person id,income,housing,race,approved,p,repaid,savings later"]
    for k in range(n):
        later = "" if k % 50 == 7 else savings[k]
        values = (k, income[k], housing[k], race[k], approved[k], 0.5, repaid[k], later)
        lines.append(",".join(map(str, values)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


#: Counting without an end, by a select statement that a database may be asked.
ENDLESS = (
    "with recursive c(x) as (select 1 union all select x + 1 from c) "
    "select x as income, x as approved from c"
)


def endless_study(folder: Path, name: str = "endless.toml") -> str:
    """A study whose table has no end."""
    sqlite3.connect(folder / "numbers.db").close()
    text = (folder / "study.toml").read_text()
    source = f'source = "sqlite:///numbers.db"\nquery = "{ENDLESS}"'
    (folder / name).write_text(text.replace('source = "loans.csv"', source))
    return name


def write_people(path: Path, n: int = 20) -> None:
    """People to decide about."""
    rng = np.random.default_rng(1)
    lines = ["person id,income,housing,race"]
    lines += [f"{10_000 + k},{rng.normal():.3f},owns,A" for k in range(n)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass
class Answer:
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def place(self) -> str:
        return self.headers.get("location", "")


class Server:
    """``elfair serve`` in a process of its own, as somebody starts it in a terminal."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        with (folder.parent / "server.txt").open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "elfair.cli", "serve", str(folder), *options],
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
                text=True,
            )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().removeprefix("Open ").strip()
        found = urlsplit(self.address)
        assert found.port is not None, self.said
        self.port, self.origin = found.port, f"http://127.0.0.1:{found.port}"
        self.cookie = self.enter()
        self.key = re.search(r'data-key="(\w+)"', self.get("/").text)[1]

    @property
    def said(self) -> str:
        """What it printed as errors."""
        return (self.folder.parent / "server.txt").read_text(encoding="utf-8")

    def enter(self) -> str:
        found = self.ask("GET", self.address.removeprefix(self.origin), {"Cookie": ""})
        assert found.status == 303, found
        return found.headers["set-cookie"].partition(";")[0]

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: Any = None
    ) -> Answer:
        """One request, as a page of this server would send it, but for what is given."""
        usual = {"Host": f"127.0.0.1:{self.port}", "Sec-Fetch-Site": "same-origin"}
        usual |= {"Cookie": getattr(self, "cookie", "")}
        if method == "POST":
            usual |= {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
        sent = {k: v for k, v in {**usual, **(headers or {})}.items() if v}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, text)
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers)

    def post(self, path: str, fields: Mapping[str, Any], **headers: str) -> Answer:
        body = urlencode({"key": self.key, **fields}, doseq=True)
        return self.ask("POST", path, headers, body)

    def run(self, command: str, about: str, nonce: str, **fields: Any) -> Answer:
        return self.post("/run", {"command": command, "about": about, "nonce": nonce, **fields})

    def ended(self, at: str, seconds: float = 300) -> str:
        """The page of a job, once it has ended."""
        deadline = time.monotonic() + seconds
        while "data-events" in (page := self.get(at).text):
            assert time.monotonic() < deadline, page
            time.sleep(0.2)
        return page

    def kill(self) -> None:
        """End it as `kill -9` does, without a word."""
        self._process.kill()
        self._process.communicate()

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=120)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None


@contextmanager
def held(folder: Path, name: str) -> Iterator[None]:
    """A job whose processes stand still meanwhile, so that it surely runs, on any machine."""
    group = int((folder / ".elfair" / "jobs" / name / "pid").read_text("utf-8"))
    os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(group, signal.SIGCONT)


def job_of(folder: Path, name: str) -> dict[str, Any]:
    """What is written down about a job."""
    return json.loads((folder / ".elfair" / "jobs" / name / "job.json").read_text("utf-8"))

"""What strangers, other sites and broken programs can send: refused or held, and nothing leaks."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from serving import Answer, Server

#: In no answer to somebody who may not ask.
SECRETS = ("loans.csv", "study.toml", "income", "data-key")


def refused(answer: Answer, *status: int) -> None:
    assert answer.status in status, answer
    assert not [each for each in SECRETS if each in answer.text], answer.text
    assert len(answer.text) < 200
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "",
     "0.0.0.0", "[::1", "localhost.", "127.0.0.1:0", "127.0.0.1/../x", "127.1"],
)  # fmt: skip
def test_other_hosts_are_not_answered(shared: Server, host: str):
    with socket.create_connection(("127.0.0.1", shared.port), timeout=120) as line:
        line.sendall(
            f"GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {shared.cookie}\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        said = b"".join(iter(lambda: line.recv(65536), b"")).decode()
    assert said.startswith(("HTTP/1.1 421", "HTTP/1.1 400")), said
    assert not [each for each in SECRETS if each in said]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_this_computer_is_answered_by_its_own_names(shared: Server, host: str):
    assert shared.get("/", Host=f"{host}:{shared.port}").status == 200


def test_nothing_is_seen_without_the_secret(shared: Server):
    pages = ["/", "/tables/loans.csv", "/studies/study.toml", "/static/workbench.js", "/nowhere"]
    for path in pages:
        for cookie in (" ", f"elfair-{shared.port}=", f"elfair-{shared.port}=abc", "=;=;\x01"):
            refused(shared.get(path, Cookie=cookie), 403)
    for token in ("", "x", "%ff", "é", shared.cookie.partition("=")[2], shared.key):
        refused(shared.get(f"/?token={quote(token)}", Cookie=" "), 403)


def test_the_cookie_is_for_this_server_alone(shared: Server):
    found = shared.ask("GET", shared.address.removeprefix(shared.origin), {"Cookie": " "})
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(found.headers["set-cookie"].split("; "))
    assert found.place == "/"
    token = shared.address.partition("token=")[2]
    assert token not in found.headers["set-cookie"]
    assert token not in shared.get("/").text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_get_nothing(shared: Server, site: str):
    for path in ("/", "/static/workbench.js", "/tables/loans.csv"):
        refused(shared.get(path, **{"Sec-Fetch-Site": site}), 403)


FORM = {"command": "check", "about": "study.toml", "nonce": "crosssite1"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_posts_of_other_sites_do_nothing(server: Server, headers: dict[str, str]):
    refused(server.post("/run", FORM, **headers), 403)
    assert not (server.folder / ".elfair").exists()


def test_posts_without_the_key_of_a_page_do_nothing(server: Server):
    for key in ("", "x" * 64, server.key.upper()):
        refused(server.post("/run", {**FORM, "key": key}), 403)
        refused(server.post("/studies/study.toml", {"whole": "", "key": key}), 403)
        answer = server.ask("POST", "/upload?name=a.csv", {"X-Elfair-Key": key}, b"a\n1\n")
        refused(answer, 403)
    assert sorted(path.name for path in server.folder.iterdir()) == [
        "loans.csv", "people.csv", "study.toml"
    ]  # fmt: skip


def test_read_only_is_read_only(folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    server = Server(folder)
    try:
        assert "read-only" in server.get("/studies/study.toml/check").text
        text = server.get("/studies/study.toml").text
        base = re.search(r'name="base" value="(\w+)"', text)[1]
        for path, fields in {
            "/run": FORM,
            "/studies/study.toml": {"base": base, "whole": "x = 1"},
            "/jobs/abcdefgh1/cancel": {},
        }.items():
            refused(server.post(path, fields), 403)
        refused(server.ask("POST", "/upload?name=a.csv", {"X-Elfair-Key": server.key}, b"a"), 403)
        assert server.post("/studies/study.toml/preview", {"title": "B"}).status == 200
    finally:
        server.close()
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(shared: Server, method: str):
    path = f"127.0.0.1:{shared.port}" if method == "CONNECT" else "/"
    assert shared.ask(method, path, {"Origin": shared.origin}).status >= 400


OUTSIDE = [
    "../secret.toml", "..%2fsecret.toml", "%2e%2e%2fsecret.toml", "..\\secret.toml",
    "/etc/passwd", "%2fetc%2fpasswd", "study.toml%00", "link.toml", ".hidden.toml", "folder.toml",
    "./study.toml", "loop.toml", "study.toml/../../secret.toml", "%252e%252e%252fsecret.toml",
]  # fmt: skip


@pytest.fixture
def traps(server: Server) -> Server:
    """Files that pages must not reach, and links to them."""
    outside = server.folder.parent / "secret.toml"
    outside.write_text('title = "hidden treasure"\n')
    (server.folder / "link.toml").symlink_to(outside)
    (server.folder / "link.csv").symlink_to(outside)
    (server.folder / "loop.toml").symlink_to(server.folder / "loop.toml")
    (server.folder / ".hidden.toml").write_text('title = "hidden treasure"\n')
    (server.folder / "folder.toml").mkdir()
    results = server.folder.parent / "elsewhere"
    results.mkdir(exist_ok=True)
    (results / "certificate.json").write_text("hidden treasure")
    (results / "report.html").write_text("hidden treasure")
    (server.folder / "results").symlink_to(results)
    return server


def test_no_name_leads_out_of_the_folder(traps: Server):
    for name in OUTSIDE:
        for path in ("studies/{}", "tables/{}", "results/{}", "results/{}/report", "jobs/{}",
                     "static/{}", "studies/{}/check", "jobs/{}/events"):  # fmt: skip
            answer = traps.get(f"/{path.format(name)}")
            assert answer.status in (303, 307, 400, 404), (path, name, answer.status)
            assert "hidden treasure" not in answer.text
            assert "root:" not in answer.text
    for path in ("/", "/results", "/results/results", "/results/results/report"):
        assert "hidden treasure" not in traps.get(path).text
    assert "link.toml" not in traps.get("/").text


def test_no_field_leads_out_of_the_folder(traps: Server):
    names = [*OUTSIDE, "--output=/tmp/x", "-x", "$(id)", ";id", ""]
    for name in names:
        for command, field in (
            ("check", "about"), ("plan", "about"), ("fit", "about"), ("init", "about"),
            ("verify", "about"), ("decide", "about"), ("fit", "output"), ("init", "output"),
        ):  # fmt: skip
            about = {"init": "loans.csv"}.get(command, "study.toml")
            fields = {"command": command, "about": about, "output": "results-9", "nonce": "a" * 9}
            answer = traps.post("/run", {**fields, field: name})
            assert answer.status in (400, 404), (command, field, name, answer)
            assert "hidden treasure" not in answer.text
    assert not (traps.folder / ".elfair").exists()
    for nonce in ("../../x", "a/b", "", "a" * 99, "é" * 9, "..........", "A" * 9):
        answer = traps.run("check", "study.toml", nonce)
        assert answer.status == 400, nonce
    assert not (traps.folder / ".elfair" / "jobs" / "x").exists()


def send(server: Server, name: str, content: bytes, **headers: str) -> Answer:
    path = f"/upload?name={quote(name, safe='')}"
    return server.ask("POST", path, {"X-Elfair-Key": server.key, **headers}, content)


BAD_NAMES = [
    "../a.csv", "/tmp/a.csv", "a/b.csv", "..", "", ".csv", ".a.csv", "a.py", "study.toml",
    "loans.csv", "a.csv\x00", "a\n.csv", "a" * 200 + ".csv", "a.csv ", "a.csv.", "-x.csv",
    "\u202ea.csv", "con:.csv", "<b>.csv", "a.sh", "model.elfair",
]  # fmt: skip


def test_no_upload_takes_a_bad_name_or_replaces_a_file(server: Server):
    before = {path: path.read_bytes() for path in server.folder.parent.rglob("*.*")}
    for name in BAD_NAMES:
        answer = send(server, name, b"a\n1\n")
        assert answer.status == 400, (name, answer)
    assert {path: path.read_bytes() for path in server.folder.parent.rglob("*.*")} == before


def test_a_table_arrives_whole(server: Server):
    content = b"a,b\n" + b"1,2\n" * 300_000
    answer = send(server, "new people (1).csv", content)
    assert answer.status == 200
    assert (server.folder / "new people (1).csv").read_bytes() == content
    assert send(server, "new people (1).csv", b"x").status == 400


def test_an_upload_that_is_too_large_is_refused_and_leaves_nothing(server: Server):
    refused(send(server, "a.csv", b"", **{"Content-Length": "3000000000"}), 413)
    refused(send(server, "a.csv", b"", **{"Content-Length": "-1"}), 400, 413)
    with contextlib.suppress(ConnectionError):  # the server need not take what it refuses
        refused(server.post("/run", {"x": "y" * 5_000_000}), 413)
    # One that does not say how long it is, and one that stops in the middle.
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.putrequest("POST", "/upload?name=part.csv", skip_host=True)
    for name, value in {
        "Host": f"127.0.0.1:{server.port}", "Origin": server.origin, "Cookie": server.cookie,
        "X-Elfair-Key": server.key, "Content-Length": "1000",
    }.items():  # fmt: skip
        connection.putheader(name, value)
    connection.endheaders(b"a,b\n1,2\n")
    connection.close()
    assert server.get("/").status == 200
    names = {path.name for path in server.folder.iterdir()}
    assert "part.csv" not in names
    assert not [name for name in names if name.endswith(".part")]


def test_a_body_may_not_be_longer_than_allowed_whatever_it_says(monkeypatch):
    import asyncio

    from elfair.serve import access

    monkeypatch.setattr(access, "MOST_FORM", 10)
    pieces = iter([{"type": "http.request", "body": b"x" * 6, "more_body": True}] * 2)

    async def receive():
        return next(pieces)

    async def read():
        limited = access._limited(receive, access.MOST_FORM)
        await limited()
        with pytest.raises(access.RefusedError) as said:
            await limited()
        return said.value.status

    assert asyncio.run(read()) == 413


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 1000, b"\xff\xfe\x00", b"a,a\n1,2\n", b"a\n" + b'"' * 999, b"PAR1junkPAR1",
     b"ARROW1" + b"\x00" * 64, b"a" * 100_000, b"a,b\n1\n1,2,3\n"],
)  # fmt: skip
def test_a_malformed_table_is_one_error_in_words(shared: Server, content: bytes):
    for ending in ("csv", "parquet", "arrow"):
        name = f"bad {hash((content, ending)) % 10**9}.{ending}"
        (shared.folder / name).write_bytes(content)
        answer = shared.get(f"/tables/{quote(name)}")
        assert answer.status in (200, 400), answer
        assert "Traceback" not in answer.text
        assert shared.get("/").status == 200
        (shared.folder / name).unlink()


@pytest.mark.parametrize(
    "body", [b"%", b"a=%ff", b"\xff\xfe", b"=" * 100, b"&" * 100_000, b"key", b"a=" * 30_000]
)
def test_a_malformed_form_is_refused(shared: Server, body: bytes):
    for path in ("/run", "/line", "/studies/study.toml", "/studies/study.toml/preview"):
        assert shared.ask("POST", path, {}, body).status in (400, 403)


MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{7*7}}&lt;"


def test_markup_in_every_name_and_value_is_shown_as_it_is(server: Server):
    """In names of files and columns, values, titles, constraints and what commands print."""
    from elfair.records.toml import toml

    name = "<b onmouseover=alert(1)>&'.csv"
    header = '"' + MARKUP.replace('"', '""') + '"'
    table = (server.folder / "loans.csv").read_text().replace("housing", header, 1)
    (server.folder / name).write_text(table.replace("owns", f"{header}"))
    study = (server.folder / "study.toml").read_text().replace("loans.csv", name)
    study = study.replace('"Loans"', toml(MARKUP)).replace('"the board"', toml(MARKUP))
    study = study.replace('"housing"]', f"{toml(MARKUP)}]").replace('"A", "B"', toml(MARKUP))
    (server.folder / "<i>.toml").write_text(study + f"\n[[constraints]]\ntext = {toml(MARKUP)}\n")
    results = server.folder / "<u>"
    results.mkdir()
    (results / "certificate.json").write_text(MARKUP)
    started = server.run("check", "<i>.toml", "markup000001")
    assert started.status == 303, started
    server.ended(started.place)
    at = quote("<i>.toml")
    pages = ["/", f"/tables/{quote(name)}", f"/studies/{at}", f"/studies/{at}/check", started.place,
             "/jobs", "/results", f"/results/{quote('<u>')}", "/decide"]  # fmt: skip
    for page in pages:
        answer = server.get(page)
        assert answer.status == 200, (page, answer.status)
        for part in ("<script>alert", "<img", "<b onmouse", "<i>", "<u>", ">49<", " onmouseover=a"):
            found = answer.text.replace("&lt;b onmouseover=", "")
            assert part not in found, (page, part)
    shown = server.post(f"/studies/{at}/preview", {"title": MARKUP + "2"})
    assert shown.headers["content-type"] == "application/json"  # words in it are shown as text
    assert "<script>alert" not in json.loads(shown.text)["html"]
    lost = server.get(f"/studies/{quote(MARKUP, safe='')}")
    assert lost.status == 404
    assert "<script>alert" not in lost.text


def test_every_answer_forbids_scripts_of_others(shared: Server):
    for path in ("/", "/static/workbench.js", "/nowhere", "/studies/study.toml", "/results/x"):
        headers = shared.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_a_report_that_somebody_changed_can_do_nothing(server: Server):
    results = server.folder / "results"
    results.mkdir()
    (results / "certificate.json").write_text("{}")
    (results / "report.html").write_text("<script>alert(1)</script>")
    answer = server.get("/results/results/report")
    policy = answer.headers["content-security-policy"]
    assert answer.status == 200
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script-src" not in policy
    assert "cannot be read" in server.get("/results").text


def test_markup_in_a_certificate_is_drawn_as_it_is():
    """In names of groups, impacts and results, which the pictures of pages show."""
    import numpy as np

    from elfair import LoggedData, certify
    from elfair.certificate.promise import speech_of
    from elfair.language.conditions import Column
    from elfair.report import Report
    from elfair.serve import pictures

    names, n = np.array([MARKUP, "B"]), 200
    data = LoggedData(
        np.zeros((n, 1)),
        sensitive_features={MARKUP: names[np.arange(n) % 2]},
        decision=np.arange(n) // 2 % 2,
        propensity=np.full(n, 0.5),
        impact={MARKUP + "later": np.arange(n) // 2 % 2 + np.arange(n) / n},
    )
    record = certify(np.full(n, 0.9), data, f"E[{Column(MARKUP + 'later')}] >= -5")
    record = record.stating(names={"people": MARKUP})
    drawn = Report(record).opening() + pictures.beside({MARKUP: record})
    assert speech_of(record).names.people == MARKUP
    assert "&lt;script&gt;" in drawn
    for part in ("<script", "<img"):
        assert part not in drawn


def test_two_hundred_requests_at_once_are_answered_or_told_to_wait(shared: Server):
    def ask(k: int) -> int:
        paths = ("/tables/loans.csv", "/studies/study.toml", "/", "/nowhere")
        try:
            return shared.get(paths[k % 4]).status
        except OSError:
            return 503

    with ThreadPoolExecutor(200) as many:
        seen = list(many.map(ask, range(200)))
    assert set(seen) <= {200, 404, 503}
    assert seen.count(200) > 100
    assert shared.get("/").status == 200
    assert shared.alive
    assert "Traceback" not in shared.said

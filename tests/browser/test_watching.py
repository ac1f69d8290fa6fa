"""A visit notices what it is there to notice."""

from __future__ import annotations

import pytest

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"></head>
<body><main><h1>A page</h1>{}</main></body></html>"""
ELSEWHERE = "http://elsewhere.invalid/x"


@pytest.fixture
def written(tmp_path):
    def write(body: str):
        path = tmp_path / "page.html"
        path.write_text(PAGE.format(body), encoding="utf-8")
        return path

    return write


def test_a_quiet_page_is_quiet(visit, written):
    path = written("<p>Grüße</p>")
    seen = visit(path)
    assert (seen.messages, seen.requests) == ([], [path.as_uri()])
    assert (seen.overflow(), seen.barriers()) == (0, "")


def test_messages_and_exceptions_are_heard(visit, written):
    said = "console.error('no', 1); console.log('yes'); setTimeout(() => { throw Error('broken') })"
    seen = visit(written(f"<script>{said}</script>"))
    assert seen.messages[:2] == ["error: no 1", "log: yes"]
    assert len(seen.messages) == 3
    assert "broken" in seen.messages[2]


@pytest.mark.parametrize(
    "body",
    [
        f"<img alt='' src='{ELSEWHERE}'>",
        f"<style>body {{ background: url({ELSEWHERE}) }}</style>",
        f"<script>fetch('{ELSEWHERE}').catch(() => {{}})</script>",
        "<script>new Worker(URL.createObjectURL(new Blob(["
        f"`fetch('{ELSEWHERE}').catch(() => {{}})`])))</script>",
        f'<iframe srcdoc="<img src={ELSEWHERE}>"></iframe>',
    ],
    ids=["image", "style", "fetch", "worker", "frame"],
)
def test_every_request_is_seen(visit, written, body):
    assert ELSEWHERE in visit(written(body)).requests


def test_a_file_that_does_not_exist_is_heard(visit, written, tmp_path):
    seen = visit(written("<img alt='' src='missing.png'>"))
    assert (tmp_path / "missing.png").as_uri() in seen.requests
    assert [said.partition(":")[0] for said in seen.messages] == ["error"]


def test_what_is_too_wide_for_a_phone_is_seen(visit, written):
    path = written("<div style='width: 500px; margin-left: -8px'>wide</div>")
    assert visit(path, view="phone").overflow() == 125
    assert visit(path, view="desktop").overflow() == 0


def test_barriers_are_found(visit, written):
    barriers = visit(written("<img src='data:,'><p style='color: #ccc'>faint</p>")).barriers()
    assert "image-alt" in barriers
    assert "color-contrast" in barriers

"""The harness notices what it is there to notice."""

from __future__ import annotations

import struct

import pytest

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width"><style>
body {{ margin: 0; background: rgb(255, 255, 255) }}
@media (prefers-color-scheme: dark) {{ body {{ background: rgb(0, 0, 0) }} }}
@media print {{ .screen {{ display: none }} }}
</style></head><body>{body}</body></html>"""


@pytest.fixture
def written(tmp_path):
    def write(body: str, title: str = "A page"):
        path = tmp_path / "page.html"
        path.write_text(PAGE.format(title=title, body=body), encoding="utf-8")
        return path

    return write


def test_a_quiet_page_is_quiet(page, written):
    path = written("<p>Grüße</p>")
    page.open(path)
    assert (page.console, page.errors, page.requests) == ([], [], [path.as_uri()])
    assert page.evaluate("document.title") == "A page"
    assert page.evaluate("document.querySelector('p').textContent") == "Grüße"


def test_what_scripts_say_is_heard(page, written):
    page.open(written("<script>console.error('no', 1); console.log('yes')</script>"))
    assert page.console == ["error: no 1", "log: yes"]
    assert page.errors == []


def test_an_exception_is_heard(page, written):
    page.open(written("<script>setTimeout(() => { throw new Error('broken') }, 20)</script>"))
    assert len(page.errors) == 1
    assert "broken" in page.errors[0]


@pytest.mark.parametrize(
    "body",
    [
        "<img src='http://elsewhere.invalid/x'>",
        "<style>body { background: url(http://elsewhere.invalid/x) }</style>",
        "<script>fetch('http://elsewhere.invalid/x').catch(() => {})</script>",
        "<script>new Worker(URL.createObjectURL(new Blob(["
        "`fetch('http://elsewhere.invalid/x').catch(() => {})`])))</script>",
        "<iframe srcdoc=\"<img src='http://elsewhere.invalid/x'>\"></iframe>",
    ],
    ids=["image", "style", "fetch", "worker", "frame"],
)
def test_every_request_is_seen(page, written, body):
    page.open(written(body))
    assert "http://elsewhere.invalid/x" in page.requests


def test_a_file_that_is_not_there_is_heard(page, written, tmp_path):
    page.open(written("<img src='missing.png'>"))
    assert (tmp_path / "missing.png").as_uri() in page.requests
    assert len(page.console) == 1
    assert page.console[0].startswith("error: ")
    with pytest.raises(RuntimeError, match="ERR_FILE_NOT_FOUND"):
        page.open(tmp_path / "missing.html")


def test_views(page, written):
    path = written("<div style='width: 500px; height: 10px'></div>")
    page.view("phone")
    page.open(path)
    assert page.evaluate("[document.documentElement.clientWidth, screen.height]") == [375, 812]
    assert page.overflow() == 125
    page.view("desktop")
    assert page.evaluate("[innerWidth, innerHeight]") == [1280, 900]
    assert page.overflow() == 0


def test_colour_scheme_and_paper(page, written):
    background = "getComputedStyle(document.body).backgroundColor"
    page.open(written("<p class='screen'>seen</p>"))
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    page.emulate(scheme="dark")
    assert page.evaluate(background) == "rgb(0, 0, 0)"
    assert page.evaluate("document.querySelector('p').offsetHeight") > 0
    page.emulate(media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert page.evaluate("document.querySelector('p').offsetHeight") == 0


def test_pictures_and_paper_are_kept(page, written, tmp_path):
    page.open(written("<div style='height: 2000px'></div>"))
    for full, height in ((False, 900), (True, 2000)):
        data = page.screenshot(tmp_path / "shots" / "shot.png", full=full).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert struct.unpack(">II", data[16:24]) == (1280, height)
    assert page.pdf(tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_pages_share_nothing(browser, page, written):
    path = written("<p>Told</p>")
    page.open(path)
    page.evaluate("localStorage.setItem('told', 'yes')")
    other = browser.page()
    other.open(path)
    assert other.evaluate("localStorage.getItem('told')") is None
    other.close()


def test_typing_is_heard_key_by_key(page, written):
    page.open(written("<input onkeyup='this.title += this.value + 1'>"))
    page.evaluate("document.querySelector('input').focus()")
    page.type("a_b")
    assert page.evaluate("document.querySelector('input').value") == "a_b"
    assert page.evaluate("document.querySelector('input').title") == "a1a_1a_b1"


def test_mistakes_of_a_test_are_told(page):
    with pytest.raises(RuntimeError, match="nonsense is not defined"):
        page.evaluate("nonsense")
    with pytest.raises(TimeoutError, match=r"not in 0\.1 s: 1 > 2"):
        page.wait_for("1 > 2", patience=0.1)
    page.wait_for("2 > 1")

"""The workbench as people use it: from a table to a verified certificate, by keyboard alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from elfair.certificate import Certificate
from elfair.data.ledger import Ledger
from elfair.records.progress import Moment
from elfair.records.text import number
from serving import STUDY, Server, endless_study, held, write_people, write_table

ROWS = 1_500
#: How long a command may take on a machine that has other work, in milliseconds.
PATIENCE = 300_000
#: What somebody who cannot see the page hears of the element that has the focus: [a button].
NAME = """
() => {
  const at = document.activeElement;
  const label = at.labels && at.labels[0];
  const name = at.getAttribute('aria-label') || (label ? label.innerText : at.innerText) || '';
  return at.tagName === 'BUTTON' ? `[${name.trim()}]` : name.trim();
}
"""


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ELFAIR_LEDGER", str(tmp_path / "ledger.db"))
    return tmp_path / "ledger.db"


@pytest.fixture
def folder(tmp_path: Path, ledger: Path) -> Path:
    served = tmp_path / "loans"
    served.mkdir()
    return served


@pytest.fixture
def serving(folder: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server; there may be several, one after the other."""
    started: list[Server] = []

    def start(*options: str) -> Server:
        started.append(Server(folder, *options))
        return started[-1]

    yield start
    for server in started:
        if server.alive:
            server.close()


def with_study(folder: Path) -> None:
    write_table(folder / "loans.csv", ROWS)
    write_people(folder / "people.csv")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")


def tab_to(page: Page, name: str, back: bool = False) -> None:
    """Press Tab until the focus is where somebody wants to be."""
    page.wait_for_load_state()  # before, a browser does not compute styles: nothing has an outline
    for _ in range(150):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate(NAME).startswith(name):
            focus = page.evaluate("getComputedStyle(document.activeElement).outlineStyle != 'none'")
            assert focus or name.startswith("Copy"), f"nobody sees that {name} has the focus"
            return
    raise AssertionError(f"no key leads to {name!r}")


def go(page: Page, name: str) -> None:
    """Follow a link, or press a button, and wait for the next page."""
    tab_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def ended(page: Page) -> None:
    """Wait until a command has ended, which the page says by itself."""
    expect(page.locator("#result")).to_be_visible(timeout=PATIENCE)


@pytest.mark.parametrize(("view", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_from_a_table_to_a_verified_certificate_by_keyboard_alone(
    visit, serving, folder, tmp_path, artefacts, view, scheme
):
    write_table(tmp_path / "loans.csv", ROWS)
    write_people(folder / "people.csv")
    server = serving("--write")
    seen = visit(server.address, view=view, scheme=scheme)
    page = seen.page

    def looked_at(what: str) -> None:
        assert seen.barriers() == "", what
        assert seen.overflow() == 0, what
        page.screenshot(path=artefacts / f"workbench-{what}-{view}-{scheme}.png", full_page=True)

    looked_at("start")
    tab_to(page, "Copy a table")
    choosers = []
    page.on("filechooser", lambda chooser: choosers.append(chooser))
    for _ in range(5):  # a browser that is busy may not open its window for the first press
        page.keyboard.press("Enter")
        for _ in range(50):
            if not choosers:
                page.wait_for_timeout(100)
        if choosers:
            break
    choosers[0].set_files(tmp_path / "loans.csv")
    expect(page).to_have_title(re.compile("loans.csv"))
    expect(page.locator("tbody tr")).to_have_count(8)
    assert "not shown" in page.locator("tr", has_text="savings later").inner_text()
    looked_at("table")
    go(page, "[Draft it]")
    ended(page)
    go(page, "Go on with the study")

    expect(page.locator("h1")).to_have_text("study.toml")
    tab_to(page, "If an impact is missing")
    page.keyboard.type("drop")
    tab_to(page, "Chosen by")
    page.keyboard.type("the board")
    tab_to(page, "Add a constraint")
    page.keyboard.press("Enter")
    tab_to(page, "Kind")
    page.keyboard.type("text")
    tab_to(page, "What must hold")
    page.keyboard.type("accu")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type(" >= 0.5")
    page.keyboard.press("Escape")
    expect(page.locator("#reading-1")).to_have_text(
        "The share of decisions that agree with the label must be at least 0.5."
    )
    expect(page.locator(".diff .added").last).to_have_text('+text = "accuracy >= 0.5"\n')
    looked_at("study")
    go(page, "[Save study.toml]")
    expect(page.get_by_text("Saved.")).to_be_visible()
    study = (folder / "study.toml").read_text()
    assert 'missing_impact = "drop"' in study
    assert "# What must hold" in study

    go(page, "check it")
    go(page, "[Check]")
    ended(page)
    go(page, "See the result")
    expect(page.get_by_role("heading", name="Ready to fit")).to_be_visible()
    looked_at("check")
    if view == "desktop":  # it takes longest
        go(page, "how many rows")
        go(page, "[Plan]")
        ended(page)
        go(page, "See the result")
        expect(page.locator("figure svg")).to_be_visible()
        looked_at("plan")
    go(page, "Fit")
    looked_at("before-fit")
    go(page, "[Fit]")
    page.reload()  # in mid-fit: the same job
    expect(page.locator(".command")).to_contain_text("elfair fit study.toml --output results")
    ended(page)
    expect(page.locator("#result")).to_contain_text("A model was released.")
    go(page, "See the result")
    expect(page.locator("h1")).to_contain_text("Solution found")
    looked_at("result")
    go(page, "[Verify]")
    ended(page)
    expect(page.locator("#result")).to_contain_text("Verified: no check failed")
    assert page.locator(".mark.passed").count() > 10
    assert page.locator(".mark.failed").count() == 0
    looked_at("verified")

    for place in ("/", "/results", "/decide", "/ledger", "/jobs"):
        page.goto(server.origin + place)
        looked_at(place.strip("/") or "home")
    page.goto(f"{server.origin}/decide")
    tab_to(page, "People")
    page.keyboard.type("people")
    go(page, "[Decide]")
    ended(page)
    assert len((folder / "decisions.csv").read_text().splitlines()) == 21
    page.goto(f"{server.origin}/results/results/report")
    expect(page.locator("h1")).to_contain_text("Solution found")
    assert Certificate.load(folder / "results" / "certificate.json").passed

    assert seen.messages == []
    assert [each for each in seen.requests if not each.startswith(server.origin)] == []
    assert "Traceback" not in server.said


def test_two_tabs_neither_overwrite_each_other_nor_fit_twice(visit, serving, folder, ledger):
    with_study(folder)
    server = serving("--write")
    one = visit(server.address).page
    other = one.context.new_page()
    for page, title in ((one, "Loans of 2024"), (other, "Loans of 2025")):
        page.goto(f"{server.origin}/studies/study.toml")
        page.fill("#title", title)
    one.click("text=Save study.toml")
    expect(one.get_by_text("Saved.")).to_be_visible()
    other.click("text=Save study.toml")
    expect(other.get_by_role("alert")).to_contain_text("changed meanwhile")
    assert (folder / "study.toml").read_text() == STUDY.replace('"Loans"', '"Loans of 2024"')

    for page in (one, other):
        page.goto(f"{server.origin}/studies/study.toml/fit")
    for page in (one, other):
        page.get_by_role("button", name="Fit").click()
        page.wait_for_url("**/jobs/*")
    assert one.url == other.url
    for page in (one, other):
        ended(page)
        expect(page.locator("#result")).to_contain_text("A model was released.")
    assert len(Ledger(ledger).entries()) == 1
    one.go_back()  # from the browser's memory or not, its button must not run the same again
    one.goto(f"{server.origin}/studies/study.toml/fit")
    expect(one.locator("#output")).to_have_value("results-2")


def test_a_server_that_is_killed_in_mid_fit_loses_nothing(visit, serving, folder, ledger):
    with_study(folder)
    first = serving("--write")
    page = visit(first.address).page
    page.goto(f"{first.origin}/studies/study.toml/fit")
    page.get_by_role("button", name="Fit").click()
    page.wait_for_url("**/jobs/*")
    job = page.url.rpartition("/")[2]
    with held(folder, job):
        first.kill()
        second = serving("--write", "--port", str(first.port))
        assert second.origin == first.origin
        page.goto(f"{second.origin}/jobs/{job}")  # the secret is another one
        assert "holds a secret" in page.inner_text("body")
        page.goto(second.address)
        page.goto(f"{second.origin}/jobs/{job}")
        expect(page.locator("[data-state]")).to_have_text("Running.")
    ended(page)
    expect(page.locator("#result")).to_contain_text("A model was released.")
    assert len(Ledger(ledger).entries()) == 1
    assert [path.name for path in (folder / ".elfair" / "jobs").glob("*/job.json")] == ["job.json"]


def test_what_never_ends_tells_how_it_goes_until_it_is_cancelled(visit, serving, folder, artefacts):
    with_study(folder)
    endless_study(folder)
    server = serving("--write")
    seen = visit(server.address, view="phone")
    page = seen.page
    page.goto(f"{server.origin}/studies/endless.toml/check")
    go(page, "[Check]")
    expect(page.locator("[data-seconds]")).to_have_text(re.compile(r"[2-9]|\d\d"), timeout=PATIENCE)
    # As if its command had said how far it is, which `elfair fit --json` does each second.
    moment = Moment("looking for a model", 0.42, "121 steps", 12.0, 17.0)
    job = folder / ".elfair" / "jobs" / page.url.rpartition("/")[2]
    (job / "err").write_text(json.dumps({"progress": asdict(moment)}) + "\n", encoding="utf-8")
    expect(page.locator("[data-told]")).to_have_text(
        "Looking for a model: 42 %, 121 steps, 12 s; about 17 s left."
    )
    assert page.locator("progress").evaluate("bar => bar.value / bar.max") == pytest.approx(0.42)
    expect(page.locator("[data-log]")).to_be_empty()
    assert seen.barriers() == ""
    assert seen.overflow() == 0
    page.screenshot(path=artefacts / "workbench-running-phone-light.png")
    go(page, "[Cancel]")
    ended(page)
    expect(page.locator("#result")).to_contain_text("Cancelled.")
    assert seen.messages == []


@pytest.mark.parametrize(("view", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_one_can_walk_along_the_ladder(
    visit, serving, folder, foster_care, artefacts, view, scheme
):
    (folder / "results").mkdir()
    foster_care.save(folder / "results" / "certificate.json")
    models = foster_care.trade_off.models
    server = serving()
    seen = visit(server.address, view=view, scheme=scheme)
    page = seen.page
    page.goto(f"{server.origin}/results/results")
    tab_to(page, "Walk along")
    page.keyboard.press("Home")
    ends = []
    for place, model in enumerate(models, 1):
        expect(page.locator("[data-place]")).to_have_text(str(place))
        expect(page.locator("[data-fate]")).to_have_text(model.fate)
        expect(page.locator("[data-value]").nth(1)).to_have_text(number(model.impacts[0]))
        ends.append(page.locator("line.cursor").first.get_attribute("x1"))
        page.keyboard.press("ArrowRight")
    assert len(set(ends)) == len(models) > 3
    assert seen.barriers() == ""
    assert seen.overflow() == 0
    assert seen.messages == []
    page.screenshot(path=artefacts / f"workbench-ladder-{view}-{scheme}.png", full_page=True)


def test_read_only_pages_show_commands_and_no_buttons(visit, serving, folder):
    with_study(folder)
    server = serving()
    seen = visit(server.address)
    for place in ("/", "/tables/loans.csv", "/studies/study.toml", "/studies/study.toml/fit"):
        seen.page.goto(server.origin + place)
        assert seen.page.get_by_role("button").count() == 0, place
        assert seen.barriers() == ""
    expect(seen.page.locator(".command")).to_have_text(
        "$ elfair fit study.toml --output results --json"
    )
    assert seen.messages == []

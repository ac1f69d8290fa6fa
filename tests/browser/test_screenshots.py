"""The pictures of pages that the documentation shows: taken here, and still what pages look like.

make screenshots      # takes them again, into docs/screenshots
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from elfair.certificate import Certificate
from elfair.report import Report
from serving import STUDY, Server, write_people, write_table

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "screenshots"
NAMES = {
    "people": "young people",
    "columns": {"impact": "well-being"},
    "groups": {"T": {"0": "other", "1": "foster"}},
}
#: Each picture, and where it is taken.
PLACES = {
    "table": "/tables/loans.csv",
    "study": "/studies/study.toml",
    "result": "/results/foster-care",
    "report": "/results/foster-care/report",
}
#: Scroll until an element stands at the top.
ABOVE = "document.getElementById('{}').scrollIntoView({{behavior: 'instant'}})"
#: How much a picture may differ, of 255, seen from so far that letters are grey.
MOST_DIFFERENT, FAR = 3.0, (64, 44)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, foster_care: Certificate) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served") / "studies"
    results = folder / "foster-care"
    results.mkdir(parents=True)
    write_table(folder / "loans.csv")
    write_people(folder / "people.csv")
    text = STUDY + '\n[[constraints]]\ntext = "accuracy >= 0.6"\nchosen_by = "the board"\n'
    (folder / "study.toml").write_text(text, encoding="utf-8")
    named = foster_care.stating(names=NAMES)
    named.save(results / "certificate.json")
    Report(named).write_html(results / "report.html")
    started = Server(folder, "--write")
    yield started
    started.close()


def ready(page: Page, name: str) -> None:
    """Do what a reader of the picture should see done."""
    if name == "study":
        page.fill("#amount-0", "0.05")
        page.locator(".diff .added").wait_for()
        page.evaluate("document.activeElement.blur()")
        page.wait_for_load_state("networkidle")
        page.evaluate(ABOVE.format("constraints"))
    elif name == "report":
        page.set_viewport_size({"width": 900, "height": 980})
    elif name == "result":
        page.locator("#walk").focus()
        for _ in range(4):
            page.keyboard.press("ArrowLeft")
        page.evaluate(ABOVE.format("ladder"))


@pytest.mark.parametrize("name", PLACES)
def test_a_picture_shows_the_page_as_it_is(visit, server, artefacts, name):
    seen = visit(server.address)
    seen.page.goto(server.origin + PLACES[name], wait_until="networkidle")
    taken, committed = artefacts / f"docs-{name}.png", FOLDER / f"{name}.png"
    for _ in range(5):  # on a busy machine, a page may still move after it was scrolled
        ready(seen.page, name)
        seen.page.screenshot(path=taken)
        if committed.exists() and differ(committed, taken) <= MOST_DIFFERENT:
            break
        seen.page.wait_for_timeout(500)
        seen.page.reload(wait_until="networkidle")
    if os.environ.get("ELFAIR_SCREENSHOTS") == "take":
        FOLDER.mkdir(exist_ok=True)
        with Image.open(taken) as picture:  # a quarter of the size, and nobody sees it
            picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(
                committed, optimize=True
            )
    assert differ(committed, taken) <= MOST_DIFFERENT, "make screenshots"
    assert committed.stat().st_size < 120_000
    assert seen.messages == []


def differ(one: Path, other: Path) -> float:
    """How much two pictures differ on average, seen from far away."""
    return float(np.abs(far(one) - far(other)).mean())


def far(path: Path) -> np.ndarray:
    """A picture seen from far away, after its size."""
    with Image.open(path) as picture:
        small = picture.convert("L").resize(FAR, Image.Resampling.BOX)
        return np.vstack([np.full(FAR[0], sum(picture.size)), np.asarray(small, dtype=float)])


def test_pages_show_these_pictures_and_no_others():
    shown = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        found = re.findall(r"!\[([^\]]*)\]\([^)]*screenshots/(\w+)\.png", page.read_text("utf-8"))
        assert all(len(words) > 20 for words, _ in found)  # for who cannot see them
        shown |= {name for _, name in found}
    assert shown == set(PLACES) == {path.stem for path in FOLDER.iterdir()}

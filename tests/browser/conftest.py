"""Fixtures for tests in a real browser: headless Chromium, as Debian's package `chromium` has it.

`page` is a fresh page for each test (see `chromium.Page` for all it can do)::

    def test_the_report_opens(page, artefacts):
        page.view("phone")  # 375 x 812; "desktop" (1280 x 900) unless told
        page.emulate(scheme="dark")  # or media="print"
        page.open(path)  # a Path is opened from disk, as file://
        assert page.errors == []  # exceptions that no script caught
        assert page.console == []  # "error: ...", "warning: ...", "log: ..."
        assert page.requests == [path.as_uri()]  # everything that was asked for, the page first
        assert page.evaluate("document.title") == "Report"  # any JavaScript
        assert page.overflow() == 0  # nothing scrolls sideways
        page.screenshot(artefacts / "report-phone-dark.png", full=True)
        page.pdf(artefacts / "report.pdf")

`browser` is the browser itself, one for each test process, and `artefacts` the folder in which
pictures are kept: ELFAIR_ARTEFACTS, or build/screenshots. `site` (tests/conftest.py) is the folder
of the documentation site.

Without Chromium these tests are skipped, unless ELFAIR_BROWSER=required.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from chromium import Chromium, Page, executable

MISSING = (
    "there is no Chromium: install it (on Debian: apt-get install chromium), or name its program "
    "in ELFAIR_CHROMIUM"
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = executable()
    if program is None:
        (pytest.fail if os.environ.get("ELFAIR_BROWSER") == "required" else pytest.skip)(MISSING)
    running = Chromium(program, tmp_path_factory.mktemp("chromium"))
    yield running
    running.close()


@pytest.fixture
def page(browser: Chromium) -> Iterator[Page]:
    fresh = browser.page()
    yield fresh
    fresh.close()


@pytest.fixture(scope="session")
def artefacts() -> Path:
    default = Path(__file__).parents[2] / "build" / "screenshots"
    folder = Path(os.environ.get("ELFAIR_ARTEFACTS") or default)
    folder.mkdir(parents=True, exist_ok=True)
    return folder

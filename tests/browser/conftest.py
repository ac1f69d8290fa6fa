"""Fixtures for tests in a real browser: Debian's Chromium, driven by Playwright.

`visit` opens a page and watches it from its first byte::

    def test_the_report_opens(visit, artefacts):
        seen = visit(path, view="phone", scheme="dark")  # 375 x 812; "desktop" is 1280 x 900
        assert seen.messages == []  # of the console, and exceptions that no script caught
        assert seen.requests == [path.as_uri()]  # every address asked for, the page first
        assert seen.page.title() == "Report"  # a playwright.sync_api.Page
        assert seen.overflow() == 0  # nothing scrolls sideways
        assert seen.barriers() == ""  # what axe finds wrong for people with disabilities
        seen.page.screenshot(path=artefacts / "report-phone-dark.png", full_page=True)

`artefacts` is the folder where pictures are kept: ELFAIR_ARTEFACTS, or build/screenshots. `site`
(tests/conftest.py) is the folder of the documentation site.

Without Chromium these tests are skipped, unless ELFAIR_BROWSER=required.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from elfair import Certificate, ELFClassifier
from elfair.data.looks import looking_again
from elfair.populations import FosterCare

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = (
    "Chromium is not installed: run tests/browser/install.sh, or name its program in "
    "ELFAIR_CHROMIUM"
)
FLAGS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    # What a page asks of another computer is recorded, and goes nowhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
#: How long a page may take on a machine that has other work, in milliseconds.
PATIENCE = 120_000
expect.set_options(timeout=PATIENCE)
#: A phone's browser heeds <meta name="viewport">.
VIEWS: dict[str, dict[str, Any]] = {
    "phone": {"viewport": {"width": 375, "height": 812}, "is_mobile": True},
    "desktop": {"viewport": {"width": 1280, "height": 900}},
}


@dataclass
class Visit:
    """A page, and all that it said and asked for."""

    page: Page
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def overflow(self) -> int:
        """By how many pixels the page is wider than the screen; 0 if nothing scrolls sideways."""
        root = "document.documentElement"
        return int(self.page.evaluate(f"Math.max(0, {root}.scrollWidth - {root}.clientWidth)"))

    def barriers(self) -> str:
        """The accessibility rules that the page breaks, with their elements; "" if none."""
        found = Axe().run(self.page)
        return found.generate_report() if found.violations_count else ""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    named = filter(None, [os.environ.get("ELFAIR_CHROMIUM"), *NAMES])
    program = next(filter(None, map(shutil.which, named)), None)
    if program is None:
        (pytest.fail if os.environ.get("ELFAIR_BROWSER") == "required" else pytest.skip)(MISSING)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=[*FLAGS])
        yield running
        running.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Opens a file, or an address, in a window of its own, which shares nothing with others."""
    contexts = []

    def opened(path: Path | str, *, view: str = "desktop", scheme: str = "light") -> Visit:
        context = browser.new_context(color_scheme=scheme, **VIEWS[view])
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        seen = Visit(context.new_page())
        context.on("request", lambda request: seen.requests.append(request.url))
        context.on("console", lambda said: seen.messages.append(f"{said.type}: {said.text}"))
        context.on("weberror", lambda thrown: seen.messages.append(f"exception: {thrown.error}"))
        address = path if isinstance(path, str) else path.resolve().as_uri()
        seen.page.goto(address, wait_until="networkidle")
        return seen

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def foster_care() -> Certificate:
    """Of a model that was released, from a ladder of several."""
    population = FosterCare(alpha=0.9)
    log = population.sample(2_000, seed=0)
    clf = ELFClassifier(population.constraints, delta=0.1)
    with looking_again(1):
        return clf.fit(log.features, log.label, **log.logged).certificate_


@pytest.fixture(scope="session")
def artefacts() -> Path:
    default = Path(__file__).parents[2] / "build" / "screenshots"
    folder = Path(os.environ.get("ELFAIR_ARTEFACTS") or default)
    folder.mkdir(parents=True, exist_ok=True)
    return folder

"""The documentation site as people see it: from disk, light and dark, printed, on a phone."""

from __future__ import annotations

import pytest

PAGES = {
    "index": "elfair",
    "constraints": "Constraints",
    "results": "Measured results",
    "api/estimators": "Estimators",
    "command-line": "Command line",
}
BACKGROUND = (
    "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_from_disk(page, site, artefacts, name):
    page.open(site / f"{name}.html")
    assert page.errors == []
    assert page.console == []
    beyond = [url for url in page.requests if not url.startswith((site.as_uri(), "data:"))]
    assert beyond == []
    heading = page.evaluate("document.querySelector('h1').firstChild.textContent")
    assert heading == PAGES[name]
    assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
    page.screenshot(artefacts / f"site-{name.replace('/', '-')}.png")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_scrolls_sideways_on_a_phone(page, site, artefacts, name):
    page.view("phone")
    page.open(site / f"{name}.html")
    assert page.evaluate("document.querySelector('h1').getBoundingClientRect().width") <= 375
    assert page.overflow() == 0
    page.screenshot(artefacts / f"site-{name.replace('/', '-')}-phone.png")


def test_the_reference_shows_signatures_parameters_and_examples(page, site):
    page.open(site / "api" / "estimators.html")
    heading = "document.getElementById('elfair.ELFClassifier')"
    assert "ELFClassifier" in page.evaluate(f"{heading}.textContent")
    entry = page.evaluate(f"{heading}.parentElement.innerText")
    for part in (
        "candidate_fraction",
        "Parameters",
        "Attributes",
        "Examples",
        ">>> clf.solution_found_",
    ):
        assert part in entry
    for method in ("fit", "predict", "decide", "explain"):
        assert page.evaluate(f"!!document.getElementById('elfair.ELFClassifier.{method}')"), method


def test_dark_for_those_who_like_it_dark(page, site, artefacts):
    page.emulate(scheme="light")
    page.open(site / "index.html")
    assert min(page.evaluate(BACKGROUND)) > 200
    page.emulate(scheme="dark")
    page.wait_for(f"Math.max(...{BACKGROUND}) < 80")
    page.screenshot(artefacts / "site-index-dark.png")
    page.open(site / "api" / "estimators.html")
    assert max(page.evaluate(BACKGROUND)) < 80
    page.screenshot(artefacts / "site-api-estimators-dark.png")


def test_on_paper_there_are_no_menus(page, site, artefacts):
    page.open(site / "method.html")
    shown = "[...document.querySelectorAll('{}')].some(part => part.offsetHeight > 0)"
    menus = (".md-header", ".md-sidebar", ".md-footer__link")
    assert [page.evaluate(shown.format(menu)) for menu in menus] == [True, True, True]
    page.emulate(media="print")
    assert [page.evaluate(shown.format(menu)) for menu in menus] == [False, False, False]
    assert page.evaluate(shown.format("article h1"))
    assert page.pdf(artefacts / "site-method.pdf").stat().st_size > 20_000


def test_search_works_from_disk(page, site, artefacts):
    page.open(site / "index.html")
    page.evaluate("document.querySelector('[name=query]').focus()")
    page.type("propensity_floor")
    page.wait_for("document.querySelector('.md-search-result__item a')")
    links = page.evaluate("[...document.querySelectorAll('.md-search-result a')].map(a => a.href)")
    assert any("api/estimators.html" in link for link in links)
    assert all(link.startswith(site.as_uri()) for link in links)
    assert (page.errors, page.console) == ([], [])
    page.screenshot(artefacts / "site-search.png")

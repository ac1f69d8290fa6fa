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
def test_a_page_opens_from_disk(visit, site, artefacts, name):
    seen = visit(site / f"{name}.html")
    assert seen.messages == []
    beyond = [url for url in seen.requests if not url.startswith((site.as_uri(), "data:"))]
    assert beyond == []
    heading = seen.page.evaluate("document.querySelector('h1').firstChild.textContent")
    assert heading == PAGES[name]
    assert seen.page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
    seen.page.screenshot(path=artefacts / f"site-{name.replace('/', '-')}.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_are_no_barriers_on_any_page(visit, site, scheme):
    # The page for lost addresses loads its styles from a server alone.
    pages = sorted(set(site.rglob("*.html")) - {site / "404.html"})
    assert len(pages) > 30
    for path in pages:
        seen = visit(path, scheme=scheme)
        for _ in range(20):  # the theme mends a page a moment after it is there
            if not (found := seen.barriers()):
                break
            seen.page.wait_for_timeout(500)
        assert found == "", path.name
        seen.page.close()


@pytest.mark.parametrize("name", PAGES)
def test_nothing_scrolls_sideways_on_a_phone(visit, site, artefacts, name):
    seen = visit(site / f"{name}.html", view="phone")
    assert seen.page.locator("h1").bounding_box()["width"] <= 375
    assert seen.overflow() == 0
    seen.page.screenshot(path=artefacts / f"site-{name.replace('/', '-')}-phone.png")


def test_the_reference_shows_signatures_parameters_and_examples(visit, site):
    page = visit(site / "api" / "estimators.html").page
    heading = page.locator("[id='elfair.ELFClassifier']")
    assert "ELFClassifier" in heading.text_content()
    entry = heading.locator("xpath=..").inner_text()
    for part in (
        "candidate_fraction",
        "Parameters",
        "Attributes",
        "Examples",
        ">>> clf.solution_found_",
    ):
        assert part in entry
    for method in ("fit", "predict", "decide", "explain"):
        assert page.locator(f"[id='elfair.ELFClassifier.{method}']").count() == 1, method


def test_dark_for_those_who_like_it_dark(visit, site, artefacts):
    page = visit(site / "index.html").page
    assert min(page.evaluate(BACKGROUND)) > 200
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"Math.max(...{BACKGROUND}) < 80")
    page.screenshot(path=artefacts / "site-index-dark.png")
    other = visit(site / "api" / "estimators.html", scheme="dark").page
    assert max(other.evaluate(BACKGROUND)) < 80
    other.screenshot(path=artefacts / "site-api-estimators-dark.png")


def test_on_paper_there_are_no_menus(visit, site, artefacts):
    page = visit(site / "method.html").page

    def shown(parts):
        return page.locator(parts).evaluate_all("all => all.some(each => each.offsetHeight > 0)")

    menus = (".md-header", ".md-sidebar", ".md-footer__link")
    assert [shown(menu) for menu in menus] == [True, True, True]
    page.emulate_media(media="print")
    assert [shown(menu) for menu in menus] == [False, False, False]
    assert shown("article h1")
    printed = page.pdf(path=artefacts / "site-method.pdf", print_background=True)
    assert len(printed) > 20_000


def test_search_works_from_disk(visit, site, artefacts):
    seen = visit(site / "index.html")
    seen.page.locator("[name=query]").focus()
    seen.page.keyboard.type("propensity_floor")
    results = seen.page.locator(".md-search-result__item a")
    results.first.wait_for()
    links = results.evaluate_all("all => all.map(each => each.href)")
    assert any("api/estimators.html" in link for link in links)
    assert all(link.startswith(site.as_uri()) for link in links)
    assert seen.messages == []
    seen.page.screenshot(path=artefacts / "site-search.png")

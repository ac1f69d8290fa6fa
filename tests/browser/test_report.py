"""The report as people see it: from disk, light and dark, printed, on a phone."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from elfair import Certificate, ELFClassifier, LoggedData, certify
from elfair.certificate.explanation import verdict
from elfair.populations import FosterCare
from elfair.report import Report

BACKGROUND = (
    "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
)
#: Seen: laid out, not hidden, not beyond the edges of the page.
SEEN = """
element => {
  const box = element.getBoundingClientRect();
  return element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})
    && box.width > 0 && box.height > 0
    && box.left >= 0 && box.right <= document.documentElement.clientWidth;
}
"""
UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true; })"
#: A4 less its margins, in pixels.
PAPER = {"width": 680, "height": 1000}


def fitted(alpha: float, n: int, seed: int) -> Certificate:
    population = FosterCare(alpha=alpha)
    log = population.sample(n, seed=seed)
    clf = ELFClassifier(population.constraints, delta=0.1)
    clf.fit(
        log.features,
        log.label,
        sensitive_features={"T": log.group},
        decision=log.decision,
        propensity=log.propensity,
        impact=log.impact,
    )
    return clf.certificate_


def certified(groups: int = 33) -> Certificate:
    """Two statements about each group, of very different size."""
    rng = np.random.default_rng(0)
    n = 60 * groups
    decision = rng.integers(0, 3, n)
    data = LoggedData(
        rng.normal(size=(n, 2)),
        sensitive_features={"home region": rng.integers(0, groups, n)},
        decision=decision,
        behavior=np.full((n, 3), 1 / 3),
        impact={
            "income": 1e4 * (decision + rng.normal(size=n)),
            "health": 0.2 * decision + rng.normal(size=n),
        },
    )
    texts = [
        f"E[{impact} | `home region` == {k}] >= E_logged[{impact} | `home region` == {k}]"
        for k in range(groups)
        for impact in ("income", "health")
    ]
    return certify(np.tile([0.1, 0.3, 0.6], (n, 1)), data, texts)


MAKERS = {
    "solution": lambda: fitted(0.9, 2_000, 0),
    "no-solution": lambda: fitted(0.2, 500, 1),
    "many": certified,
}


@cache
def made(kind: str) -> Certificate:
    return MAKERS[kind]()


@pytest.fixture(params=MAKERS)
def kind(request):
    return request.param


@pytest.fixture
def path(kind, tmp_path):
    written = tmp_path / f"{kind}.html"
    Report(made(kind)).write_html(written)
    return written


def test_it_opens_from_disk_and_asks_for_nothing(visit, path):
    seen = visit(path)
    assert seen.messages == []
    assert seen.requests == [path.as_uri()]


@pytest.mark.parametrize(("view", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_verdict_and_every_statement_can_be_seen(visit, path, kind, artefacts, view, scheme):
    page = visit(path, view=view, scheme=scheme).page
    certificate = made(kind)
    assert page.inner_text("h1") == verdict(certificate)
    assert page.locator("h1").evaluate(SEEN)
    rows = page.locator("#statements li.chart-row")
    shown = [" ".join(words.split()) for words in rows.all_inner_texts()]
    assert len(shown) == len(certificate.constraints)
    for words, result in zip(shown, certificate.constraints, strict=True):
        assert result.statement in words
        assert ("passed" if result.passed else "FAILED") in words
    for part in ("", ".name", ".drawing svg", ".numbers", ".mark"):
        parts = page.locator(f"#statements li.chart-row {part}")
        assert parts.evaluate_all(f"parts => parts.length > 0 && parts.every({SEEN})"), part
    dark = max(page.evaluate(BACKGROUND)) < 64
    assert dark == (scheme == "dark")
    name = f"report-{kind}-{view}-{scheme}.png"
    page.screenshot(path=artefacts / name, full_page=kind != "many")


@pytest.mark.parametrize("view", ["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_are_no_barriers(visit, path, view, scheme):
    seen = visit(path, view=view, scheme=scheme)
    seen.page.evaluate(UNFOLD)
    assert seen.barriers() == ""


@pytest.mark.parametrize("view", ["phone", "desktop"])
def test_nothing_scrolls_sideways_but_tables_in_their_own_place(visit, path, view):
    seen = visit(path, view=view)
    seen.page.evaluate(UNFOLD)
    assert seen.overflow() == 0
    wide = seen.page.locator(".scroll").evaluate_all(
        "tables => tables.filter(each => each.scrollWidth > each.clientWidth).length"
    )
    assert (wide > 0) == (view == "phone")


def test_words_in_pictures_keep_their_size_on_a_phone(visit, path):
    words = visit(path, view="phone").page.locator("svg text")
    heights = words.evaluate_all("all => all.map(each => each.getBoundingClientRect().height)")
    assert min(heights) >= 10


@pytest.mark.parametrize("kind", ["solution", "no-solution"])  # each on one scale
def test_marks_are_where_the_numbers_say(visit, path, kind):
    """Left of the line where the statement holds, and right of it where it does not."""
    ends = visit(path).page.evaluate(
        """[...document.querySelectorAll('#statements li.chart-row')].map(row => {
          const middle = element => {
            const box = element.getBoundingClientRect();
            return (box.left + box.right) / 2;
          };
          const zero = middle(row.querySelector('.zero'));
          const lines = row.querySelectorAll('.drawing svg svg > line');
          const dot = row.querySelector('.drawing circle, .drawing path');
          return [middle(dot) - zero, middle(lines[lines.length - 1]) - zero];
        })"""
    )
    results = made(kind).constraints
    seen = [value for result in results for value in (result.estimate, result.upper)]
    drawn = [end for pair in ends for end in pair]
    pixels = max(map(abs, drawn)) / max(map(abs, seen))
    assert drawn == pytest.approx([pixels * value for value in seen], abs=1)


def test_paper_is_light_and_shows_what_is_folded(visit, path, kind, artefacts):
    seen = visit(path, scheme="dark")
    page, folded = seen.page, seen.page.locator("details table")
    assert folded.count() > 0
    assert folded.evaluate_all("all => all.every(each => !each.checkVisibility())")
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print")
    assert page.evaluate(BACKGROUND) == [255, 255, 255]
    assert folded.evaluate_all("all => all.every(each => each.checkVisibility())")
    assert folded.evaluate_all("all => all.every(each => each.getBoundingClientRect().height > 20)")
    assert not page.locator("nav").evaluate("nav => nav.checkVisibility()")
    # Nothing is cut off at the edge of the paper.
    assert seen.overflow() == 0
    assert page.locator("table").evaluate_all(f"tables => tables.every({SEEN})")
    page.screenshot(path=artefacts / f"report-{kind}-print.png", full_page=kind != "many")
    printed = page.pdf(path=artefacts / f"report-{kind}.pdf", print_background=True)
    assert printed.count(b"/Type /Page\n") >= 5


def test_a_notebook_keeps_its_own_looks(visit, tmp_path, artefacts):
    """A fragment between the host's words leaves these as they were."""
    host = (
        "<!doctype html><html lang='en'><title>notebook</title><style>body {{ color: #333333 }}"
        "</style><p id='before'>a <code>b</code></p><table id='table'><tr><td>c</td></tr></table>"
        "{}<p id='after'>d</p></html>"
    )
    looks = """['before', 'table', 'after'].map(id => {
      const style = getComputedStyle(document.getElementById(id));
      return ['color', 'fontSize', 'fontFamily', 'margin', 'borderCollapse', 'textAlign']
        .map(name => style[name]);
    })"""
    path = tmp_path / "notebook.html"
    seen = []
    for fragment in ("", Report(made("no-solution"))._repr_html_()):
        path.write_text(host.format(fragment), encoding="utf-8")
        seen.append(visit(path))
    before, after = (each.page.evaluate(looks) for each in seen)
    assert before == after
    assert "No solution found" in seen[1].page.inner_text(".elfair")
    assert seen[1].messages == []
    assert seen[1].overflow() == 0
    seen[1].page.screenshot(path=artefacts / "report-notebook.png", full_page=True)

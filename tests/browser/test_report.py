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
(element => {
  const box = element.getBoundingClientRect();
  return element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})
    && box.width > 0 && box.height > 0
    && box.left >= 0 && box.right <= document.documentElement.clientWidth;
})
"""
#: A4 less its margins, in pixels.
PAPER = (680, 1000)


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


def test_it_opens_from_disk_and_asks_for_nothing(page, path):
    page.open(path)
    assert page.errors == []
    assert page.console == []
    assert page.requests == [path.as_uri()]


@pytest.mark.parametrize(("view", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_verdict_and_every_statement_can_be_seen(page, path, kind, artefacts, view, scheme):
    page.view(view)
    page.emulate(scheme=scheme)
    page.open(path)
    certificate = made(kind)
    assert page.evaluate("document.querySelector('h1').innerText") == verdict(certificate)
    assert page.evaluate(f"{SEEN}(document.querySelector('h1'))")
    strips = "[...document.querySelectorAll('#statements li.strip')]"
    shown = page.evaluate(f"{strips}.map(each => each.innerText.replace(/\\s+/g, ' '))")
    assert len(shown) == len(certificate.constraints)
    for words, result in zip(shown, certificate.constraints, strict=True):
        assert result.statement in words
        assert ("passed" if result.passed else "FAILED") in words
    assert page.evaluate(f"{strips}.every({SEEN})")
    for part in (".name", ".drawing svg", ".numbers", ".mark"):
        all_parts = f"[...document.querySelectorAll('#statements li.strip {part}')]"
        assert page.evaluate(f"{all_parts}.every({SEEN})"), part
    dark = max(page.evaluate(BACKGROUND)) < 64
    assert dark == (scheme == "dark")
    page.screenshot(artefacts / f"report-{kind}-{view}-{scheme}.png", full=kind != "many")


@pytest.mark.parametrize("view", ["phone", "desktop"])
def test_nothing_scrolls_sideways_but_tables_in_their_own_place(page, path, view):
    page.view(view)
    page.open(path)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert page.overflow() == 0
    tables = "[...document.querySelectorAll('.scroll')]"
    wide = page.evaluate(f"{tables}.filter(each => each.scrollWidth > each.clientWidth).length")
    assert (wide > 0) == (view == "phone")


def test_words_in_pictures_keep_their_size_on_a_phone(page, path):
    page.view("phone")
    page.open(path)
    heights = (
        "[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height)"
    )
    assert page.evaluate(f"Math.min(...{heights})") >= 10


@pytest.mark.parametrize("kind", ["solution", "no-solution"])  # each on one scale
def test_marks_are_where_the_numbers_say(page, path, kind):
    """Left of the line where the statement holds, and right of it where it does not."""
    page.open(path)
    ends = page.evaluate(
        """[...document.querySelectorAll('#statements li.strip')].map(strip => {
          const middle = element => {
            const box = element.getBoundingClientRect();
            return (box.left + box.right) / 2;
          };
          const zero = middle(strip.querySelector('.zero'));
          const lines = strip.querySelectorAll('.drawing svg svg > line');
          const dot = strip.querySelector('.drawing circle, .drawing path');
          return [middle(dot) - zero, middle(lines[lines.length - 1]) - zero];
        })"""
    )
    results = made(kind).constraints
    seen = [value for result in results for value in (result.estimate, result.upper)]
    drawn = [end for pair in ends for end in pair]
    pixels = max(map(abs, drawn)) / max(map(abs, seen))
    assert drawn == pytest.approx([pixels * value for value in seen], abs=1)


def test_paper_is_light_and_shows_what_is_folded(page, path, kind, artefacts):
    page.emulate(scheme="dark")
    page.open(path)
    folded = "[...document.querySelectorAll('details table')]"
    assert page.evaluate(f"{folded}.length") > 0
    assert page.evaluate(f"{folded}.every(each => !each.checkVisibility())")
    width, height = PAPER
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=False,
    )
    page.emulate(scheme="dark", media="print")
    assert page.evaluate(BACKGROUND) == [255, 255, 255]
    assert page.evaluate(f"{folded}.every(each => each.checkVisibility())")
    assert page.evaluate(f"{folded}.every(each => each.getBoundingClientRect().height > 20)")
    assert not page.evaluate("document.querySelector('nav').checkVisibility()")
    # Nothing is cut off at the edge of the paper.
    assert page.overflow() == 0
    assert page.evaluate(f"[...document.querySelectorAll('table')].every({SEEN})")
    page.screenshot(artefacts / f"report-{kind}-print.png", full=kind != "many")
    printed = page.pdf(artefacts / f"report-{kind}.pdf").read_bytes()
    assert printed.count(b"/Type /Page\n") >= 5


def test_a_notebook_keeps_its_own_looks(page, tmp_path, artefacts):
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
    seen = []
    for fragment in ("", Report(made("no-solution"))._repr_html_()):
        path = tmp_path / "notebook.html"
        path.write_text(host.format(fragment), encoding="utf-8")
        page.open(path)
        seen.append(page.evaluate(looks))
    assert seen[0] == seen[1]
    assert "No solution found" in page.evaluate("document.querySelector('.elfair').innerText")
    assert page.console == []
    assert page.overflow() == 0
    page.screenshot(artefacts / "report-notebook.png", full=True)

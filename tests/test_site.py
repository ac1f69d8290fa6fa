"""The documentation site is whole: every page, every public name, no dead link, no other host."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import click
import pytest

import elfair
import elfair.experiments
from elfair.cli import main
from elfair.experiments.experiment import Experiment
from elfair.records.reading import keys_inside, keys_of
from elfair.records.toml import words_of
from elfair.study.keys import StudyKeys

ROOT = Path(__file__).parents[1]
#: Attributes from which a browser fetches by itself; of links, only these kinds are fetched.
FETCHED = {"src", "srcset", "poster", "data"}
FETCHED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect"}


class Reader(HTMLParser):
    """What a page can be linked to by, what it links to, what it fetches, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.navigation: list[str] = []
        self.styles: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if "id" in found:
            self.ids.append(found["id"])
        self.styles.append(found.get("style", ""))
        self.fetched += [found[name] for name in FETCHED & found.keys()]
        if tag == "link" and FETCHED_LINKS & set(found.get("rel", "").split()):
            self.fetched.append(found["href"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
            if "md-nav__link" in found.get("class", ""):
                self.navigation.append(found["href"])

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    # What is shown in the place of any missing page has addresses from the root.
    paths = set(site.rglob("*.html")) - {site / "404.html"}
    return {path: Reader(path.read_text(encoding="utf-8")) for path in sorted(paths)}


def test_every_page_of_the_docs_is_in_the_navigation(site, pages):
    index = pages[site / "index.html"]
    linked = {(site / urldefrag(link).url).resolve() for link in index.navigation if link[0] != "#"}
    written = {
        (site / page.relative_to(ROOT / "docs")).with_suffix(".html")
        for page in (ROOT / "docs").rglob("*.md")
    }
    assert len(written) > 15
    assert written - linked - {site / "index.html"} == set()
    assert {page.name for page in linked - written} == {
        "overview.html", "contributing.html", "changelog.html"
    }  # fmt: skip


def elsewhere(address: str) -> bool:
    return re.match(r"\s*(?:\w+:)?//", address) is not None


def test_nothing_is_fetched_from_another_host(site, pages):
    assert elsewhere("https://a.org/x")
    assert elsewhere("//a.org/x")
    assert not elsewhere("assets/x.js")
    for path, page in pages.items():
        assert len(page.fetched) > 2
        assert [address for address in page.fetched if elsewhere(address)] == [], path
        assert [style for style in page.styles if "url(" in style] == [], path
    sheets = [*site.rglob("*.css")]
    assert sheets
    for sheet in sheets:
        addresses = re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s]+)", sheet.read_text())
        assert [address for address in addresses if elsewhere(address)] == [], sheet


def test_pipes_in_tables_are_pipes(site, pages):
    assert "E[impact | cond]" in pages[site / "constraints.html"].words
    assert [path.name for path, page in pages.items() if r"\|" in page.words] == []


def test_links_and_anchors_resolve(site, pages):
    within = 0
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"https?:|mailto:", link):
                continue
            address, fragment = urldefrag(link)
            target = (path.parent / unquote(address)).resolve() if address else path
            assert target.exists(), f"{path.name}: {link}"
            if fragment and target in pages:
                within += 1
                assert unquote(fragment) in pages[target].ids, f"{path.name}: {link}"
    assert within > 500


def test_no_anchor_is_ambiguous(pages):
    for path, page in pages.items():
        assert [name for name, count in Counter(page.ids).items() if count > 1] == [], path


@pytest.mark.parametrize("module", [elfair, elfair.experiments], ids=lambda module: module.__name__)
def test_every_public_name_is_in_the_reference_once(site, pages, module):
    ids = Counter(
        name for path, page in pages.items() if path.parent == site / "api" for name in page.ids
    )
    for name in module.__all__:
        assert ids[f"{module.__name__}.{name}"] == 1, name


def test_public_names_have_words_and_examples_in_the_reference(site, pages):
    files = (site / "api").glob("*.html")
    text = "".join(page.read_text(encoding="utf-8") for page in files)
    shown = "".join(page.words for path, page in pages.items() if path.parent == site / "api")
    for name in set(elfair.__all__) - {"__version__"}:
        start = text.index(f'id="elfair.{name}"')
        entry = text[start : text.find('<div class="doc doc-object ', start)]
        assert re.search(r'<div class="doc doc-contents[^>]*>\s*<p>(.+?)</p>', entry, re.DOTALL), (
            name
        )
        public = getattr(elfair, name)
        if inspect.isroutine(public) or inspect.isclass(public):
            example = re.search(r"^>>> .+$", inspect.getdoc(public), re.MULTILINE)
            assert example[0] in shown, name


def commands(command: click.Command, path: str) -> dict[str, click.Command]:
    found = {path: command}
    for name, inner in getattr(command, "commands", {}).items():
        found |= commands(inner, f"{path} {name}")
    return found


def test_every_command_and_option_is_in_the_reference(site, pages):
    page = pages[site / "command-line.html"]
    found = commands(main, "elfair")
    assert "elfair experiment run" in found
    for path, command in found.items():
        assert path.replace(" ", "-") in page.ids, path
        for parameter in command.params:
            assert all(name in page.words for name in parameter.opts if name.startswith("-"))
    assert "Run crashed trials once more." in page.words


def test_every_key_of_an_experiment_is_in_the_reference(site, pages):
    page = pages[site / "experiment-file.html"]
    assert {"sizes", "figures", "efficiency"} <= set(page.ids)
    for name, known in keys_of(Experiment).items():
        assert re.search(rf"\b{name}\b", page.words)
        assert words_of(known) in page.words
        assert known.about in page.words


@pytest.mark.parametrize("part", [k for k, v in keys_of(StudyKeys).items() if keys_inside(v)])
def test_every_key_of_a_study_is_in_the_reference(site, pages, part):
    page = pages[site / "study-file.html"]
    assert part in page.ids
    keys = keys_inside(keys_of(StudyKeys)[part])
    assert len(keys) > 0
    for name, key in keys.items():
        assert re.search(rf"\b{name}\b", page.words)
        assert key.about in page.words
        assert words_of(key) in page.words

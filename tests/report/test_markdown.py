"""Markdown: the same contents, tables in the place of pictures, and text that stays text."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from elfair.certificate.explanation import verdict
from elfair.records.text import number
from elfair.report import Report
from elfair.report.blocks import (
    Alarm,
    Bullets,
    Code,
    Document,
    Paragraph,
    Section,
    Table,
    Verbatim,
)
from elfair.report.rendering import markdown


def flat(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def text(certificate):
    return Report(certificate).markdown()


@pytest.fixture(scope="module")
def page(text, parsed):
    """As a reader that also takes HTML for HTML shows it."""
    return parsed(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def test_it_reads_as_the_page_does(certificate, page, parsed):
    assert page.headings[0] == (1, verdict(certificate))
    html = parsed(Report(certificate).html())
    # A heading in Markdown is on one line; folded parts have none of their own.
    assert [(n, flat(words)) for n, words in page.headings] == html.headings
    ours, theirs = ([[w for *_, w in t.cells] for t in p.tables] for p in (page, html))
    assert ours == theirs


def test_nothing_in_it_is_html(page):
    names = {tag for tag, _ in page.tags}
    assert names <= {
        *("h1", "h2", "h3", "h4", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"),
        *("code", "pre", "em", "strong", "blockquote"),
    }


def test_every_statement_and_the_promise_are_there(certificate, page):
    shown = flat(page.text)
    for result in certificate.constraints:
        assert flat(result.statement) in shown
        assert number(result.upper) in shown
    assert flat(certificate.joint_statement) in shown
    for each in certificate.assumptions:
        assert each.statement in shown


def test_what_users_wrote_is_text(of_kind, parsed):
    certificate = of_kind("hostile")
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table")
    page = parsed(rendered.render(Report(certificate).markdown()))
    assert not {"script", "b", "u"} & {tag for tag, _ in page.tags}
    shown = flat(page.text)
    for words in (
        certificate.provenance.title,
        certificate.terms.claims[0].why,
        certificate.constraints[0].statement,
        certificate.roles.features[0],
    ):
        assert flat(words) in shown


def test_words_and_names_are_apart(of_kind):
    text = Report(of_kind("solution")).markdown()
    assert "\n#### decision `1`\n" in text
    names = ", ".join(f"`{name}`" for name in of_kind("solution").roles.features)
    assert ", " in names
    assert f"| {names} |" in text


def test_violated_assumptions_are_loud(of_kind):
    assert "> **The stated confidence is NOT justified: 2 assumptions are violated" in (
        Report(of_kind("violated")).markdown()
    )
    assert "> **No model is released: an assumption is violated (tau is known)" in (
        Report(of_kind("objected")).markdown()
    )


def document(*blocks):
    return Document("", (), "verdict", "found", blocks, (), (("P", (Section("A", (), "a"),)),))


@pytest.mark.parametrize(
    ("block", "written"),
    [
        (Paragraph(("at ", Code("a`b"))), "at ``a`b``"),
        (Paragraph(Code("`a`")), "`` `a` ``"),
        (Paragraph("1 * 2 < 3"), r"1 \* 2 \< 3"),
        (Paragraph("one\n\n# two"), r"one \# two"),
        (Paragraph("- one"), r"\- one"),
        (Paragraph("12. one"), r"12\. one"),
        (Paragraph("--- "), r"\---"),
        (Paragraph("-1.5 of 2.0"), "-1.5 of 2.0"),
        (Verbatim("a\n```\nb\n"), "````\na\n```\nb\n````"),
        (
            Table("t", ("x", "y"), ((Code("a | b"), "1|2"),)),
            "*t*\n\n| x | y |\n| --- | ---: |\n| `a \\| b` | 1\\|2 |",
        ),
        (Alarm("Stop", (Bullets(("a", "b")),)), "> **Stop**\n\n> - a\n> - b"),
    ],
)
def test_each_block_in_its_form(block, written):
    assert f"\n\n{written}\n\n" in markdown(document(block))

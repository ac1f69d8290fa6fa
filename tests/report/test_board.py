"""The first part of a report: the promise, one picture, whom it covers, who chose what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elfair.certificate import LeftOut, Provenance
from elfair.certificate.explanation import verdict
from elfair.certificate.promise import in_words
from elfair.report import Report
from elfair.report.board import MOST_ASSUMED


def flat(text):
    return " ".join(text.replace("\u00a0", " ").split())


@pytest.fixture
def shown(parsed):
    return lambda certificate: flat(parsed(Report(certificate).html()).text)


def first_part(text):
    return text.rsplit("Part 1: the result", 1)[1].rsplit("Part 2: the technical record", 1)[0]


def test_the_promise_in_words_stands_below_the_verdict(certificate, parsed):
    words = [flat(each) for each in in_words(certificate)]
    page = flat(parsed(Report(certificate).html()).text).partition("Part 1: the result")[0]
    places = [page.index(each) for each in words]
    assert places == sorted(places)
    assert page.index(verdict(certificate)) < places[0]
    if certificate.constraints:
        assert [flat(each) for each in certificate.explain().split("\n\n")[:2]] == [
            verdict(certificate), " ".join(words)
        ]  # fmt: skip


def test_markdown_and_notebooks_have_it_too(of_kind):
    (words, *_) = of_kind("solution").in_words
    for text in (Report(of_kind("solution")).markdown(), Report(of_kind("solution"))._repr_html_()):
        assert words.split(",")[0].replace("'", "&#39;") in text.replace("'", "&#39;")


def test_the_words_are_made_again_and_never_read(of_kind, shown):
    bent = replace(of_kind("solution"), in_words=("Nobody will lose anything.",))
    assert "Nobody will lose anything" not in shown(bent)
    assert "Nobody will lose anything" not in bent.explain()


def test_the_picture_of_impact_is_on_the_first_page_and_only_there(of_kind):
    text = Report(of_kind("solution")).html()
    assert text.count("Mean impact of each group on held-out rows") == 1
    assert text.index("Mean impact of each group") < text.index('id="covered"')
    two = Report(of_kind("certify")).html()  # a second impact is drawn further down
    assert two.index("Mean income of each group") < two.index('id="covered"')
    assert two.index("Mean health of each group") > two.index('id="statements"')


def test_groups_are_called_as_the_study_calls_them(of_kind, parsed):
    named = of_kind("solution").stating(
        names={"people": "young people", "groups": {"T": {"0": "foster", "1": "other"}}}
    )
    page = parsed(Report(named).html())
    assert "foster and other young people, each group by itself" in flat(page.text)
    assert any(title.startswith("impact, foster young people: old") for title in page.drawings)
    assert "foster and other" not in Report(of_kind("solution")).html()


def test_no_solution_says_on_the_first_page_what_to_do(of_kind, shown):
    before = shown(of_kind("none")).partition("Part 1: the result")[0]
    assert "No model is released, and nothing is promised." in before
    assert "Not shown: compared with today's decisions" in before
    assert "Likely cause" in before
    assert "What to do next" in before
    void = shown(of_kind("objected")).partition("Part 1: the result")[0]
    assert "What to do next" in void
    assert 'accept_violated=["tau_known"]' in void
    assert "What to do next" not in shown(of_kind("solution"))


def test_who_is_covered_and_who_was_left_out(of_kind, shown):
    told = first_part(shown(of_kind("solution")))
    assert "Left out: 90 rows (no impact). The promise takes these people to be like" in told
    outside = of_kind("certify").stating(
        provenance=Provenance(outside=(LeftOut("age >= 18 is not met", 7, ()),))
    )
    told = first_part(shown(outside))
    assert "people outside the study (7)" in told
    assert "people whose region is 2 (" in told


def test_who_chose_what_and_why_is_told_in_words(of_kind, shown, parsed):
    told = first_part(shown(of_kind("solution")))
    page = parsed(Report(of_kind("solution")).html())
    (table,) = (t for t in page.tables if t.caption.startswith("Who chose what"))
    words = [words for *_, words in table.cells]
    assert words[-2:] == ["the credit board", "nobody may fare worse than last year"]
    assert words[4].startswith("Compared with today's decisions, the average impact of people")
    assert "E[" not in told
    assert "ask who answers for the choice" not in told
    assert "ask who answers for the choice" in first_part(shown(of_kind("none")))


def test_the_assumptions_that_matter_most_come_first(of_kind, parsed):
    page = parsed(Report(of_kind("violated")).html())
    (table,) = (t for t in page.tables if t.caption == "The assumptions that matter most")
    statuses = [words for _, _, words in table.cells if words in ("VIOLATED",)]
    assert len(statuses) == 2
    rows = [words for tag, scope, words in table.cells if scope == "row"]
    assert rows[:2] == ["halves independent", "tau is known"]
    assert 2 < len(rows) <= 2 + MOST_ASSUMED
    assert "same population" in rows


def test_break_even_is_told_of_the_weakest_statement(of_kind, shown):
    certificate = of_kind("solution")
    first, *others = certificate.constraints
    weak = replace(certificate, constraints=(replace(first, break_even=1.2), *others))
    assert "probabilities would still pass if, for people alike" in first_part(shown(weak))
    assert "up to 1.2 times" in first_part(shown(weak))


def test_the_first_page_says_how_sure_who_is_not_covered_and_what_is_assumed(of_kind, shown):
    for kind in ("solution", "certify"):
        certificate = of_kind(kind)
        page = shown(certificate).partition("Part 1: the result")[0]
        often = f"at most {100 * certificate.joint_delta:g} would release a model that breaks any"
        assert often in page
        released = "A model is released." if kind == "solution" else "The model passed."
        assert f"How sure is that?{released} Of 100 repetitions" in page
        asymptotic = any(each.kind == "asymptotic" for each in certificate.constraints)
        limit = "(in the limit of many rows;" if asymptotic else "(for any number of rows, without"
        assert limit in page
        assert ("Who is not covered?" in page) != ("Not covered:" in page)
        assert "What is assumed?Nothing outside the data influenced" in page
        assumed = sum(each.status == "assumed" for each in certificate.assumptions)
        assert f"And {assumed - 3} more assumptions, below." in page


def test_rows_that_were_left_out_are_told_with_the_reason(of_kind, shown):
    certificate = of_kind("solution")
    left = LeftOut(reason="no income was known", n=40, groups=())
    page = shown(replace(certificate, provenance=Provenance(left_out=(left,))))
    assert (
        "Who is not covered?Only 40 rows (no income was known) that were left out. The promise "
        "takes these people to be like the others." in page
    )
    page = shown(replace(certificate, provenance=Provenance()))
    assert "Who is not covered?Nobody who is in the table." in page


def test_without_a_solution_the_first_page_says_how_sure_it_must_be(of_kind, shown):
    page = shown(of_kind("none")).partition("Part 1: the result")[0]
    assert "How sure must it be?Of 100 repetitions of the study" in page


def test_what_was_accepted_leaves_no_risk_to_state(of_kind, shown):
    page = shown(of_kind("violated")).partition("Part 1: the result")[0]
    assert "The stated confidence is NOT justified" in page
    assert "How sure is that?" not in page


def test_an_objection_says_what_does_not_hold_before_any_number(of_kind, shown):
    page = shown(of_kind("objected")).partition("Part 1: the result")[0]
    order = ("No model is released, and nothing is promised", "What is wrong", "Likely cause",
             "What to do next", "⚠")  # fmt: skip
    places = [page.index(each) for each in order]
    assert places == sorted(places)
    assert "Mean impact of each group" not in page  # which means nothing now
    assert "Mean impact of each group" in shown(of_kind("objected"))

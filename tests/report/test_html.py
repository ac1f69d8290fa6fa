"""The page: what it holds, what it may not hold, and who can read it."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise

import pytest

from elfair.certificate import NOT_STATED
from elfair.certificate.codes import ASSUMPTIONS
from elfair.certificate.explanation import verdict
from elfair.records.text import number, raised
from elfair.report import Report
from elfair.report.report import SECTIONS


def flat(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def text(certificate):
    return Report(certificate).html()


@pytest.fixture(scope="module")
def page(text, parsed):
    return parsed(text)


# -- of every kind of certificate ----------------------------------------------------------------


def test_it_is_whole_and_well_formed(text, page):
    assert text.startswith("<!DOCTYPE html>\n<html lang=")
    assert page.faults == []
    assert len(page.ids) == len(set(page.ids))
    names = [tag for tag, _ in page.tags]
    for once in ("html", "head", "title", "body", "main", "h1", "style"):
        assert names.count(once) >= 1, once
    assert names.count("h1") == 1
    assert ("html", {"lang": "en"}) in page.tags
    metas = [attributes for tag, attributes in page.tags if tag == "meta"]
    assert {"charset": "utf-8"} in metas
    assert any(m.get("name") == "viewport" and "device-width" in m["content"] for m in metas)


def test_it_runs_and_loads_nothing(text, page):
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "use"}
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not {"src", "srcset", "style", "xlink:href", "action"} & set(attributes), tag
    assert set(page.links) == {f"#{key}" for key in page.ids if not key.endswith("-title")}
    style = text[text.index("<style>") : text.index("</style>")]
    assert not re.search(r"url\(|@import|@font-face|expression\(", style)


def test_headings_are_in_order(page):
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(words for _, words in page.headings)


def test_tables_have_captions_and_scopes(page):
    for table in page.tables:
        assert table.caption
        assert {scope for tag, scope, _ in table.cells if tag == "th"} == {"col", "row"}
        assert all(words for tag, scope, words in table.cells if scope == "col")
    captions = [table.caption for table in page.tables]
    assert len(captions) == len(set(captions))


def test_drawings_say_what_they_show(page):
    """Each is an image with a title, or mere decoration beside words."""
    top = [a for tag, a in page.tags if tag == "svg" and ("role" in a or "aria-hidden" in a)]
    images = [a for a in top if a.get("role") == "img"]
    assert len(page.drawings) == len(images)
    assert all(page.drawings)
    assert all(a.get("aria-hidden") == "true" for a in top if a not in images)


def test_the_verdict_comes_first_and_then_the_promise(certificate, page):
    assert page.headings[0] == (1, verdict(certificate))
    after = flat(page.text).split(verdict(certificate), 1)[1]
    before_sections = after.rsplit("Part 2: the technical record", 1)[0]
    if certificate.constraints:
        assert "confidence means: if the whole study were repeated many times" in after
        assert "This requires that all assumptions hold" in after
        assert '(see "What it rests on")' in after
        assert ("a stable search among them" in before_sections) == (
            certificate.split == "crossfit"
        )
        asymptotic = any(result.kind == "asymptotic" for result in certificate.constraints)
        assert ("with few rows the rate may be somewhat higher" in before_sections) == asymptotic
        assert "It does not mean that this model meets the statements" in before_sections
        assert "Repetitions that release no model count, too" in before_sections
    else:
        assert "nothing is promised" in before_sections


def test_sections_are_in_order(page):
    keys = [key for key in page.ids if not key.endswith("-title")]
    listed = [key for part in SECTIONS.values() for key, *_ in part]
    assert keys == [key for key in listed if key in keys]
    assert {"data", "search", "promise", "glossary", "verify"} <= set(keys)


def test_every_statement_is_there_with_all_that_is_known(certificate, page):
    shown = flat(page.text)
    for place, result in enumerate(certificate.constraints, start=1):
        assert flat(f"S{place} {result.statement}") in shown
        for value in (result.estimate, result.upper, result.spread, result.delta):
            assert number(value) in shown
        assert result.kind in shown
        for warning in result.warnings:
            said = re.findall(rf"((?:S\d+(?:, )?)+): {re.escape(flat(warning.text))}\.", shown)
            assert f"S{place}" in ", ".join(said).split(", ")
        for tail in result.tails:
            for part in tail.parts:
                assert repr(part.mean) in shown
                assert repr(part.variance) in shown
    for claim in certificate.terms.claims:
        assert flat(claim.chosen_by) in shown
        assert flat(claim.why) in shown
    assert flat(certificate.joint_statement) in shown


def test_every_assumption_is_explained(certificate, page):
    shown = flat(page.text)
    for each in certificate.assumptions:
        assert ASSUMPTIONS[each.code].plain in shown
        assert each.statement in shown
        assert flat(each.evidence) in shown


def test_every_number_in_a_picture_is_in_a_table(certificate, page):
    cells = {words for table in page.tables for _, _, words in table.cells}
    drawn = certificate.groups[:12]
    for group in certificate.groups:
        for impact in group.impacts:
            for side in (impact.logged, impact.new):
                assert {number(side.estimate), number(side.low), number(side.high)} <= cells
        for decision in group.decisions:
            shares = {f"{100 * v:.3g} %" for v in (decision.logged, decision.new)}
            means = {number(decision.logged), number(decision.new)}
            assert (shares if certificate.classes else means) <= cells
        for histogram in (group.weights, group.propensities, group.probabilities):
            if histogram is not None and group in drawn:
                assert {f"{n:,}" for n in histogram.counts if n} <= cells
    if certificate.trade_off is not None:
        for model in certificate.trade_off.models:
            assert {number(model.loss), *map(number, model.impacts), model.fate} <= cells
    titled = [words for title in page.drawings for words in re.findall(r"-?\d+\.\d+", title)]
    everything = " ".join(cells) + flat(page.text)
    assert all(words in everything for words in titled)


def test_digests_versions_and_how_to_verify_are_there(certificate, page):
    shown = flat(page.text)
    for digest in vars(certificate.digests).values():
        assert digest in shown
    for version in certificate.versions:
        assert version.version in shown
    assert "elfair verify" in shown


def test_no_number_is_lost_to_nan(certificate, text):
    for wrong in (">nan<", "nan%", "inf%", "None", "NaN"):
        assert wrong not in text


def test_the_same_certificate_makes_the_same_page(certificate, text):
    assert Report(type(certificate).from_json(certificate.to_json())).html() == text


# -- of some kinds ---------------------------------------------------------------------------------


def test_no_solution_says_what_to_do(of_kind, parsed):
    few = flat(parsed(Report(of_kind("none")).html()).text)
    assert "Too few rows for this effect" in few
    needed = max(result.rows_needed for result in of_kind("none").failed)
    assert f"Collect about {raised(needed):,} rows in all" in few
    assert "other seeds or models on these rows until one passes" in few
    wrong = flat(parsed(Report(of_kind("wrong side")).html()).text)
    assert "is on the wrong side of 0" in wrong
    assert "Collect about" not in wrong
    none = flat(parsed(Report(of_kind("unbounded")).html()).text)
    assert "The upper bound is infinite" in none
    assert "What to do next" not in Report(of_kind("solution")).html()


def test_a_model_from_elsewhere_is_spoken_of_as_such(of_kind, parsed):
    ours, theirs = (
        flat(parsed(Report(of_kind(kind)).html()).text) for kind in ("none", "wrong side")
    )
    assert "No model is released" in ours
    assert "This model is not released" in theirs
    assert "The rows were divided at random" in ours
    assert "The rows were divided" not in theirs
    assert "The model is from elsewhere," in theirs


def test_ends_that_are_not_known_are_none(of_kind, parsed):
    page = parsed(Report(of_kind("solution")).html())
    moments = next(table for table in page.tables if table.caption.startswith("Moments"))
    words = [words for *_, words in moments.cells]
    assert "none" in words
    assert not {"inf", "-inf"} & set(words)
    known = parsed(Report(of_kind("finite")).html())
    moments = next(table for table in known.tables if table.caption.startswith("Moments"))
    assert "none" not in [words for *_, words in moments.cells]


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("certify", "around what to expect of a person"),
        ("violated", "plain importance weighting"),
        ("regression", "the doubly robust form"),
    ],
)
def test_how_the_new_impact_is_estimated_is_said(kind, way, of_kind, parsed):
    assert way in flat(parsed(Report(of_kind(kind)).html()).text)


def test_a_line_up_of_one_model_is_a_sentence(of_kind, parsed):
    found = of_kind("solution")
    assert found.trade_off is not None
    one = replace(found, trade_off=replace(found.trade_off, models=found.trade_off.models[:1]))
    page = parsed(Report(one).html())
    assert "The ladder has one model" in flat(page.text)
    assert not [drawn for drawn in page.drawings if "over their loss" in drawn]
    assert "The ladder has one model" not in flat(parsed(Report(found).html()).text)


def test_the_mark_at_one_is_drawn_over_the_bars(of_kind):
    text = Report(of_kind("solution")).html()
    drawn = text[text.index("Importance weights of everyone") :]
    bars, mark = drawn.index('class="new"'), drawn.index('class="zero"')
    assert bars < drawn.index('class="ground"') < mark < drawn.index("</desc>", mark)


def test_old_and_new_have_scales_of_their_own(of_kind):
    text = Report(of_kind("solution")).html()
    drawn = text[text.index("Probability of the logged decision, everyone") :]
    old = drawn[: drawn.index('class="old"')].rsplit('d="', 1)[1]
    assert "V0H" in old  # the highest bar reaches the top, however high the others are


def test_weights_that_leave_few_rows_are_a_reason(of_kind, parsed):
    failed = of_kind("none")
    worst = failed.constraints[0]
    thin = replace(worst, groups=(replace(worst.groups[0], ess=worst.groups[0].n / 4),))
    shown = flat(parsed(Report(replace(failed, constraints=(thin,))).html()).text)
    far = "The new model differs much from the old one"
    assert far in shown
    assert far not in flat(parsed(Report(failed).html()).text)


def test_violated_assumptions_are_loud(of_kind, parsed):
    page = parsed(Report(of_kind("violated")).html())
    shown = flat(page.text)
    loud = shown.index(
        "The stated confidence is NOT justified: 2 assumptions are violated (halves independent; "
        "tau is known), which was accepted"
    )
    assert loud < shown.index("confidence means")
    assert "tau is known: it is an estimate" in shown[loud:]
    assert ("div", {"class": "alarm", "role": "note"}) in page.tags
    assert any(words == "VIOLATED" for table in page.tables for _, _, words in table.cells)
    assert "NOT justified" not in flat(parsed(Report(of_kind("solution")).html()).text)


def test_an_objection_is_loud_and_says_what_to_do(of_kind, parsed):
    shown = flat(parsed(Report(of_kind("objected")).html()).text)
    assert shown.index("No solution found: an assumption is violated (tau is known), although") < (
        shown.index("No model is released: an assumption is violated (tau is known)")
    )
    assert "whatever the bounds are" in shown
    assert 'accept_violated=["tau_known"]' in shown.split("What to do next")[-1]


def test_pass_and_fail_are_words_and_symbols(of_kind):
    text = Report(of_kind("many")).html()
    marks = re.findall(r'<strong class="mark (\w+)">(. \w+)</strong>', text)
    results = of_kind("many").constraints
    wanted = {True: ("passed", "✓ passed"), False: ("failed", "✕ FAILED")}
    assert marks == [wanted[result.passed] for result in results]
    drawings = re.findall(r'<svg y="50%" class="(pass|fail)">(.*?)</svg></svg>', text)
    assert [kind for kind, _ in drawings] == ["pass" if r.passed else "fail" for r in results]
    # A circle and a diamond differ without colour, too.
    assert all(("<circle" in drawn) == (kind == "pass") for kind, drawn in drawings)


def test_people_left_out_are_counted_by_group(of_kind, parsed):
    page = parsed(Report(of_kind("solution")).html())
    (table,) = (t for t in page.tables if t.caption == "People left out, and why")
    words = [words for _, _, words in table.cells]
    assert words[-3:] == ["no impact", "T == 1", "60"]
    assert "Nobody was left out." in flat(parsed(Report(of_kind("none")).html()).text)


def test_infinite_and_missing_numbers_are_drawn_with_words(of_kind):
    text = Report(of_kind("unbounded")).html()
    assert ">bound infinite</text>" in text
    assert ">no estimate</text>" in text
    assert ">minus infinite</text>" in text
    assert text.count('<g class="arrow">') == 3


def test_numbers_of_very_different_size_get_their_own_scales(of_kind, parsed):
    text = Report(of_kind("many")).html()  # incomes in thousands, health in units
    assert "each row has its own scale" in text
    assert "each row has its own scale" not in Report(of_kind("solution")).html()


def test_what_users_wrote_is_text_and_nothing_else(of_kind, parsed):
    certificate = of_kind("hostile")
    text = Report(certificate).html()
    page = parsed(text)
    assert page.faults == []
    assert not {"script", "u", "b"} & {tag for tag, _ in page.tags}
    assert "<script" not in text
    assert "alert(&#34;1&#34;)" in text
    shown = flat(page.text)
    for words in (
        certificate.provenance.title,
        certificate.terms.claims[0].chosen_by,
        certificate.constraints[0].statement,
        certificate.groups[1].condition,
        certificate.roles.features[0],
        certificate.classes[0],
    ):
        assert flat(words) in shown
    assert any("<script>" in title for title in page.drawings)
    fragment = Report(certificate)._repr_html_()
    assert "<script" not in fragment


def test_two_hundred_statements_fit(of_kind):
    """With two impacts of a hundred groups, a ladder, and words about everything."""
    many, line = of_kind("many"), of_kind("solution").trade_off
    groups = tuple(
        replace(group, condition=f"region == {k} and {group.condition}")
        for k, group in enumerate((many.groups * 3)[:101])
    )
    results = tuple(
        replace(result, statement=f"{result.statement} + {k}", constraint="the same for all")
        for k, result in enumerate((many.constraints * 4)[:200])
    )
    series = tuple(
        replace(line.series[0], impact=impact.impact, condition=group.condition)
        for group in groups
        for impact in group.impacts
    )
    models = tuple(replace(model, impacts=(0.12345,) * len(series)) for model in line.models)
    large = replace(
        many,
        constraints=results,
        groups=groups,
        terms=replace(many.terms, claims=(many.terms.claims * 4)[:200]),
        search=of_kind("solution").search,
        trade_off=replace(line, series=series, models=models),
    )
    text = Report(large).html()
    assert text.count('class="chart-row"') >= 200
    assert len(text.encode()) < 500_000


def test_a_title_that_is_not_stated_is_not_shown(of_kind, parsed):
    page = parsed(Report(of_kind("none")).html())
    assert NOT_STATED not in page.text.split("No solution found", 1)[0]


# -- notebooks -------------------------------------------------------------------------------------


def test_a_fragment_keeps_its_styles_to_itself(certificate, parsed):
    fragment = Report(certificate)._repr_html_()
    page = parsed(fragment)
    assert page.faults == []
    assert page.ids == []
    assert not {"html", "body", "script", "h1", "h2"} & {tag for tag, _ in page.tags}
    assert flat(page.text).startswith(verdict(certificate))
    assert ("div", {"class": "elfair fragment"}) in page.tags
    assert [tag for tag, _ in page.tags].count("table") == bool(certificate.constraints)
    style = fragment[fragment.index("<style>") + 7 : fragment.index("</style>")]
    for selectors in re.findall(r"([^{}]+)\{", re.sub(r"@media[^{]+\{", "", style)):
        for selector in re.sub(r":is\([^)]*\)", "", selectors).split(","):
            assert selector.strip().startswith(".elfair"), selector


# -- colours ---------------------------------------------------------------------------------------


def luminance(colour):
    """Relative luminance, as WCAG 2.2 defines it."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lighter, darker = sorted([luminance(one), luminance(other)], reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def schemes():
    style = files("elfair.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    found = [dict(re.findall(r"--(\w+): (#\w{6});", block)) for block in style.split("@media")[:2]]
    assert set(found[0]) == set(found[1])
    return found


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "wash", "holds", "alarm"])
@pytest.mark.parametrize("ink", ["ink", "soft", "accent", "fail"])
def test_words_stand_out_from_their_ground(scheme, ground, ink):
    colours = schemes()[scheme]
    assert contrast(colours[ink], colours[ground]) >= 4.5


def test_the_measure_of_contrast_is_right():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


def test_all_colours_are_variables():
    """So that the test above sees each of them."""
    for name in ("style.css", "page.css"):
        text = files("elfair.report").joinpath(f"templates/{name}").read_text(encoding="utf-8")
        for line in text.splitlines():
            if re.search(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(", line):
                assert re.fullmatch(r"\s+--\w+: #[0-9a-f]{6};", line), line

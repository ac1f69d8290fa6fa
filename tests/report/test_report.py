"""The report as users call it: from a certificate or an estimator, to a file or a notebook."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import get_args

import pytest
from sklearn.exceptions import NotFittedError

from elfair import ELFClassifier, LoggedData, certify, cutoff
from elfair.certificate import SplitKind
from elfair.certificate.codes import ASSUMPTIONS, SHOWN_STATUS
from elfair.errors import InputError
from elfair.populations import FosterCare
from elfair.report import Report, background, board, by_group, tested
from elfair.report.blocks import prose
from elfair.report.report import SECTIONS


def test_an_estimator_has_the_report_of_its_certificate():
    log = FosterCare().sample(200, seed=3)
    clf = ELFClassifier("accuracy >= 0.5")
    with pytest.raises(NotFittedError):
        clf.report()
    clf.fit(log.features, log.label)
    assert clf.report() == Report(clf.certificate_)


def test_the_text_is_that_of_the_terminal(certificate):
    assert Report(certificate).text() == certificate.explain()


@pytest.mark.parametrize(
    ("least", "headline"), [(0.1, "Model passed: "), (0.9, "Model did not pass: ")]
)
def test_a_model_from_elsewhere_passed_or_did_not_and_its_rule_is_told(least, headline):
    log = FosterCare().sample(300, seed=4)
    decided = cutoff(log.features[:, 0], 0.512345, decision="offer")
    certificate = certify(decided, LoggedData(None, log.label), f"PR >= {least}")
    report = Report(certificate)
    for text in (report.html(), report.markdown(), report.text()):
        assert headline in text
        assert "olution found" not in text
    assert "It takes decision 'offer' if the score is at least 0.512345" in report.markdown()


def test_files_hold_what_the_methods_return(of_kind, tmp_path):
    report = Report(of_kind("solution"))
    report.write_html(tmp_path / "report.html")
    report.write_markdown(str(tmp_path / "report.md"))
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.html()
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == report.markdown()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_cannot_be_written_is_an_input_error(of_kind, tmp_path):
    with pytest.raises(InputError, match="Hint: "):
        Report(of_kind("static")).write_html(tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_templates_are_read_only_when_a_page_is_asked_for():
    code = (
        "import sys; from elfair.report import Report; from elfair import *; "
        "print(*[m for m in ('jinja2', 'rich', 'matplotlib', 'markdown_it') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_each_assumption_of_the_documentation_is_explained(pytestconfig):
    page = (pytestconfig.rootpath / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = page.split("| assumption |", 1)[1].splitlines()[2:]
    listed = [row.split("|")[1].strip() for row in rows if row.startswith("|")]
    assert len(listed) > 15
    # One row is about two assumptions.
    names = [n for name in listed for n in (name.split(", ") if "floor" in name else [name])]
    assert set(names) == {words.name for words in ASSUMPTIONS.values()}


def test_every_writer_of_blocks_is_a_section():
    written = [
        each
        for module in (board, tested, by_group, background)
        for name, each in vars(module).items()
        if inspect.isfunction(each) and each.__module__ == module.__name__ and name[0] != "_"
        if each.__annotations__["return"] == "Iterator[Block]"
    ]
    assert len(written) > 10
    openers = [board.lead, board.picture]
    sections = [write for part in SECTIONS.values() for _, _, write in part] + openers
    assert [each for each in written if each not in sections] == []


def test_every_code_has_its_words():
    assert list(prose("statuses")) == list(SHOWN_STATUS)
    assert set(prose("splits")) == set(get_args(SplitKind))
    for part in ("statuses", "splits", "glossary"):
        assert all(text.endswith(".") for text in prose(part).values())

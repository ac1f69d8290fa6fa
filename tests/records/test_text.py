"""What a terminal or a browser would obey is shown, and not obeyed."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from elfair import Certificate, LoggedData, Report, certify
from elfair.errors import InputError
from elfair.records.files import write_whole
from elfair.records.text import visible

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202edessap\u2066\r"


def hidden(text):
    return [
        c
        for c in text.replace("\r\n", "\n")
        if (unicodedata.category(c) == "Cc" and c not in "\n\t")
        or unicodedata.bidirectional(c)
        in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI")
    ]


@pytest.fixture(scope="module")
def certificate():
    rows = [[0.0]] * 400
    name = f"group{ESCAPES}"
    data = LoggedData(rows, [0, 1] * 200, sensitive_features={name: ["a", "b"] * 200})
    made = certify([0.2, 0.7] * 200, data, f"PR[`{name}` == 'b'] >= 0.1")
    return made.stating(chosen_by=f"the board{ESCAPES}", why=ESCAPES + "why")


@pytest.mark.parametrize("form", ["text", "markdown", "html", "_repr_html_"])
def test_no_report_holds_what_cannot_be_seen(certificate, form):
    shown = getattr(Report(certificate), form)()
    assert hidden(shown) == []
    assert "\\u001b[2J" in shown
    assert "\\u202edessap" in shown


def test_the_record_keeps_every_character(certificate):
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_json_stays_what_it_was():
    text = json.dumps({"name": ESCAPES}, ensure_ascii=False)
    assert json.loads(visible(text)) == {"name": ESCAPES}
    assert hidden(visible(text)) == []


@pytest.mark.parametrize("text", ["a\tb\nc\r\nd", "naïve ≥ 3", "سلام", "שלום", "👩\u200d💻"])
def test_ordinary_text_is_left_alone(text):
    assert visible(text) == text


def test_commands_show_what_terminals_would_obey(certificate, tmp_path):
    from click.testing import CliRunner

    from elfair.cli import main

    certificate.save(tmp_path / "certificate.json")
    (tmp_path / "study.toml").write_text('title = "x\\u001b[2J"\n[data]\nsource = "\\u001b[2J.x"\n')
    for arguments in (
        ["explain", str(tmp_path / "certificate.json")],
        ["explain", str(tmp_path / "certificate.json"), "--format", "cyclonedx"],
        ["verify", str(tmp_path / "certificate.json"), "--json"],
        ["check", str(tmp_path / "study.toml")],
    ):
        # color=True: else click itself takes escape sequences out
        result = CliRunner().invoke(main, arguments, color=True)
        # The verdict of elfair explain is in colour.
        shown = re.sub(r"\A\x1b\[3[12]m\x1b\[1m(.*)\x1b\[0m\n", r"\1", result.output)
        assert hidden(shown) == [], arguments


def test_file_names_that_are_no_text_can_be_printed(tmp_path):
    """Names are bytes; those that are no UTF-8 come as halves of characters."""
    assert visible("n\udcff/study.toml") == "n\\udcff/study.toml"
    with pytest.raises(InputError, match="not text"):
        write_whole(tmp_path / "study.toml", 'source = "\udcfe.csv"')
    assert list(tmp_path.iterdir()) == []

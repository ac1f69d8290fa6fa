"""Pages say what is in the files, and a form asks for nothing but what somebody changed."""

from __future__ import annotations

import json
import re
import tomllib
from html import unescape
from html.parser import HTMLParser

import pytest

from elfair.certificate import Certificate
from elfair.certificate.promise import in_words
from elfair.language.recipes import RECIPES
from elfair.serve.columns import viewed
from elfair.serve.forms import AMOUNTS, changed, previewed
from elfair.serve.words import _RECIPES, reading
from elfair.study import StudyFile, draft_study
from serving import STUDY, Server, write_table


class Form(HTMLParser):
    """The fields of the form of a study, as a browser would send them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fields: dict[str, list[str]] = {}
        self._inside = False
        self._area = self._select = ""
        self._options: list[tuple[bool, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "form":
            self._inside = found.get("id") == "form"
        if not self._inside:
            return
        ticked = found.get("type") != "checkbox" or "checked" in found
        if tag == "input" and "name" in found and ticked:
            self.fields.setdefault(found["name"], []).append(found.get("value") or "")
        elif tag == "select":
            self._select, self._options = found["name"], []
        elif tag == "option":
            self._options.append(("selected" in found, found.get("value")))
        elif tag == "textarea":
            self._area = found["name"]
            self.fields.setdefault(self._area, []).append("")

    def handle_data(self, data):
        if self._area:
            self.fields[self._area][-1] += data
        elif self._options and self._options[-1][1] is None:
            self._options[-1] = self._options[-1][0], data

    def handle_endtag(self, tag):
        if tag == "select" and self._select:
            chosen = [value for selected, value in self._options if selected]
            value = chosen[-1] if chosen else self._options[0][1]
            self.fields.setdefault(self._select, []).append(value)
            self._select, self._options = "", []
        elif tag == "textarea":
            self._area = ""
        elif tag == "form":
            self._inside = False


def form_of(server: Server, study: str) -> dict[str, list[str]]:
    return Form(server.get(f"/studies/{study}").text).fields


def test_a_form_that_nobody_touched_changes_nothing(server: Server):
    drafted = draft_study(server.folder / "loans.csv", folder=server.folder)
    (server.folder / "drafted.toml").write_text(drafted)
    for study in ("study.toml", "drafted.toml"):
        fields = form_of(server, study)
        assert fields["column"] == [
            "person id", "income", "housing", "race", "approved", "p", "repaid", "savings later"
        ]  # fmt: skip
        told = server.post(f"/studies/{study}/preview", fields)
        assert "Nothing to save" in json.loads(told.text)["html"], told.text
        before = (server.folder / study).read_text()
        assert server.post(f"/studies/{study}", fields).status == 303
        assert (server.folder / study).read_text() == before


def test_a_changed_role_changes_its_lines_alone(server: Server):
    fields = form_of(server, "study.toml")
    fields["role"][fields["column"].index("housing")] = "both"
    fields["role"][fields["column"].index("income")] = ""
    assert server.post("/studies/study.toml", fields).place == "/studies/study.toml?done=saved"
    new = (server.folder / "study.toml").read_text()
    assert new == STUDY.replace(
        'features = ["income", "housing"]', 'features = ["housing"]'
    ).replace('sensitive = ["race"]', 'sensitive = ["race", "housing"]')


def test_a_text_that_becomes_a_feature_gets_its_levels(folder):
    view = viewed(folder / "loans.csv")
    fields = {
        "column": [each.name for each in view.columns],
        "role": ["row_id", "features", "", "both", "decision", "propensity", "label", "impact"],
    }
    read = tomllib.loads(changed(STUDY, fields, view))["columns"]
    assert read["categories"] == {"race": ["A", "B"]}
    assert read["features"] == ["income", "race"]


def test_two_columns_cannot_be_the_decision(server: Server):
    fields = form_of(server, "study.toml")
    fields["role"][0] = "decision"
    told = json.loads(server.post("/studies/study.toml/preview", fields).text)
    assert "2 columns are chosen as decision" in told["html"]
    assert server.post("/studies/study.toml", fields).status == 400
    assert (server.folder / "study.toml").read_text() == STUDY


def test_constraints_are_added_read_and_removed(server: Server):
    fields = form_of(server, "study.toml")
    fields |= {"kind-1": ["text"], "text-1": ["E[`savings later` | race == 'B'] >= 0.2"]}
    fields |= {"why-1": ['"so"'], "amount-0": ["0.1"], "groups-0": ["B"]}
    told = json.loads(server.post("/studies/study.toml/preview", fields).text)
    assert told["readings"] == [
        "Expected savings later must not fall below what today's decisions give less 0.1, for "
        "people with race B.",
        "The expected savings later of people whose race is B must be at least 0.2.",
    ]
    assert server.post("/studies/study.toml", fields).status == 303
    entries = tomllib.loads((server.folder / "study.toml").read_text())["constraints"]
    assert entries == [
        {"no_worse": "race", "groups": ["B"], "chosen_by": "the board", "slack": 0.1},
        {"text": "E[`savings later` | race == 'B'] >= 0.2", "why": '"so"'},
    ]
    again = form_of(server, "study.toml")
    assert server.post("/studies/study.toml", {**again, "remove-0": "yes"}).status == 303
    text = (server.folder / "study.toml").read_text()
    assert tomllib.loads(text)["constraints"] == entries[1:]
    assert "# Nobody pays for it." in text


def test_mistakes_are_said_while_somebody_writes(server: Server):
    fields = {**form_of(server, "study.toml"), "delta": ["2"], "kind-1": ["text"]}
    told = json.loads(server.post("/studies/study.toml/preview", {**fields, "text-1": "E["}).text)
    said = unescape(told["html"])
    assert "delta" in said
    assert "number" in said
    assert told["readings"][1] == ""
    assert (server.folder / "study.toml").read_text() == STUDY


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(server: Server):
    fields = form_of(server, "study.toml")
    newer = STUDY.replace('"Loans"', '"Loans of 2024"')
    (server.folder / "study.toml").write_text(newer)
    answer = server.post("/studies/study.toml", {**fields, "title": "Mine"})
    assert answer.status == 409
    assert "changed meanwhile" in answer.text
    assert (server.folder / "study.toml").read_text() == newer


def test_the_whole_text_can_be_written_even_if_it_is_no_toml(server: Server):
    fields = form_of(server, "study.toml")
    assert server.post(
        "/studies/study.toml", {"base": fields["base"], "whole": "title = \r\n"}
    ).status == 303  # fmt: skip
    assert (server.folder / "study.toml").read_text() == "title = \n"
    page = server.get("/studies/study.toml")
    assert page.status == 200
    assert "cannot be shown as a form" in page.text


STRANGE = [
    "", "constraints = 3", "[[constraints]]\n[rows]\n", "columns = 1", "title = 3",
    "rows = 1\nmodel = 2\ntest = 'x'", "[columns]\nfeatures = 3\nsensitive = [[1]]",
    "constraints = [1, 'a']", "[data]", "data = 5", "[derived]\nx = 1\n[test]\ndelta = [1]",
    "[columns]\ncategories = 4\npropensity = {a = 1}\nimpact = 5", "[[data]]\nsource = 'loans.csv'",
    "[[constraints]]\nno_worse = 4\ngroups = 4\nslack = {}", "derived = [1]\nclean = 2",
    "[data]\nsource = ['loans.csv', 4]", "[constraints]\ntext = 'a'", "[[constraints]]\ntext = 4",
]  # fmt: skip


def test_whatever_a_study_file_holds_its_pages_open_and_say_what_is_wrong(server: Server):
    for text in STRANGE:
        (server.folder / "study.toml").write_text(text)
        page = server.get("/studies/study.toml")
        assert page.status == 200, (text, page.text)
        told = server.post("/studies/study.toml/preview", Form(page.text).fields)
        assert told.status == 200, (text, told)
        assert "Not ready yet" in json.loads(told.text)["html"], text
        for at in ("/", "/tables/loans.csv", "/studies/study.toml/fit"):
            assert server.get(at).status == 200, (text, at)
    assert "Traceback" not in server.said


def test_values_known_only_later_are_not_shown(folder):
    view = viewed(folder / "loans.csv")
    by_name = {each.name: each for each in view.columns}
    for name in ("repaid", "savings later"):
        assert by_name[name].drawing is None
        assert by_name[name].values == ()
        assert "not shown" in by_name[name].said
    assert by_name["savings later"].missing == 40
    assert by_name["income"].drawing is not None
    closed = viewed(folder / "loans.csv", {"income"})
    assert closed.column("income").drawing is None


def test_what_a_study_calls_an_impact_is_not_shown_whatever_its_name(server: Server):
    table = (server.folder / "loans.csv").read_text().replace("savings later", "q7", 1)
    (server.folder / "loans.csv").write_text(table)
    study = STUDY.replace("savings later", "q7")
    (server.folder / "study.toml").write_text(study)
    row = re.search(r"(?s)<th scope=\"row\">q7</th>.*?</tr>", server.get("/tables/loans.csv").text)
    assert "not shown" in row[0]


@pytest.mark.parametrize("name", RECIPES)
def test_every_constraint_by_name_has_words_and_an_amount(name):
    assert set(_RECIPES) == set(AMOUNTS) == set(RECIPES)
    entry = {name: "race", AMOUNTS[name]: 0.1, "groups": ["A", "B"]}
    said = reading(entry, ["savings"])
    assert said.endswith(".")
    assert "A, B" in said
    text = f"{STUDY}\n[[constraints]]\n" + "\n".join(
        f"{key} = {json.dumps(value)}" for key, value in entry.items()
    )
    if "E[" not in said:
        assert StudyFile.loads(text).constraints[1][AMOUNTS[name]] == 0.1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("E[s | a == 1] >= E_logged[s | a == 1] - 2",
         "The expected s of people whose a is 1 must not fall more than 2 below today's level."),
        ("E[s] >= E_logged[s] + 2",
         "The expected s must rise by at least 2 above today's level."),
        ("E_logged[s] >= E[s]", "The expected s must not rise above today's level."),
        ("E[s | a == 1] >= E_logged[s | a == 2]",
         "The expected s of people whose a is 1 must be at least the expected s of people whose a "
         "is 2 under today's decisions."),
        ("abs(PR[a == 1] - PR[a == 2]) <= 0.1",
         "The gap between the share of positive decisions of people whose a is 1 and the share of "
         "positive decisions of people whose a is 2 must be at most 0.1."),
        ("TPR[a in [1, 2]] >= 0.5 or FPR <= 0.1",
         "The share of positive decisions among people whose label is positive of people whose a "
         "is 1 or 2 must be at least 0.5, or the share of positive decisions among people whose "
         "label is not positive must be at most 0.1."),
    ],
)  # fmt: skip
def test_a_constraint_is_read_as_it_is_meant(text, said):
    """Old and new, at least and at most, and who it is about: none may be turned round."""
    assert reading({"text": text}) == said


def test_a_preview_shows_lines_as_the_file_has_them(folder):
    found = previewed(STUDY, STUDY.replace("0.1 ", "0.2 "), "study.toml", folder)
    assert [line for kind, line in found.diff if kind in "+-"] == [
        "-delta = 0.1  # 90 %", "+delta = 0.2  # 90 %"
    ]  # fmt: skip
    assert found.mistakes == ""


def said_in(page: str) -> str:
    """The words of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", page)).replace("\u00a0", " ").split())


def test_a_table_says_what_init_guessed_and_why(server: Server):
    page = server.get("/tables/loans.csv").text
    rows = re.findall(r'(?s)<th scope="row">(.*?)</th>(.*?)</tr>', page)
    told = {name: said_in(row) for name, row in rows if "why" in row}
    assert "identifier its name says 'id'" in told["person id"].replace("identifier", "identifier ")
    assert "its name says 'approved'" in told["approved"]
    assert "its name and values tell no other role" in told["income"]
    assert len(told) == 8


def test_check_is_read_out_and_drawn(server: Server):
    server.ended(server.run("check", "study.toml", "checkdrawn").place)
    page = server.get("/studies/study.toml/check").text
    assert (
        "The expected savings later of people whose race is A must not fall below today's level."
        in said_in(page)
    )
    pictures = re.findall(r"<desc>(.*?)</desc>", page)
    assert len(pictures) == 3  # everybody, A and B: all were decided about with probability 0.5
    assert all(re.search(r", 0 up to 0.2, [1-9][\d,]* up to 0.5, 0 up to 1", p) for p in pictures)


def test_results_stand_side_by_side(server: Server):
    write_table(server.folder / "loans.csv", 800, seed=1)
    for k, output in enumerate(("results", "results-2")):
        at = server.run("fit", "study.toml", f"sidebyside{k}", output=output).place
        server.ended(at)
    text = server.get("/results").text
    assert text.count("results-2") >= 2
    assert "look at these rows" in text
    one = server.get("/results?run=results-2").text
    assert one.count('<th scope="col">') == 2  # what, and the one result
    assert text.count('class="chart-row"') == 6  # three groups, each in two results
    home = server.get("/").text
    for name in ("results", "results-2"):
        page = server.get(f"/results/{name}")
        assert page.status == 200
        assert "Statements" in page.text
        record = Certificate.load(server.folder / name / "certificate.json")
        for sentence in in_words(record):  # the promise comes first, and then its picture
            assert said_in(page.text).index(sentence) < said_in(page.text).index("old model")
        assert in_words(record)[0] in said_in(home)
        assert record.passed
        assert "Decide with this model" in page.text
    # People are offered, and not the table that the model has learnt from.
    assert "<option selected>people.csv</option>" in server.get("/decide").text
    taken = server.run("fit", "study.toml", "sidebyside9", output="results")
    assert taken.status == 400
    assert "there already" in taken.text

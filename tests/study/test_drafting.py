"""A drafted study file loads as it is when all could be guessed, and says what is open if not."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from elfair.certificate.codes import REFUTABLE
from elfair.errors import InputError
from elfair.records.reading import key as field_key
from elfair.records.reading import keys_inside, keys_of
from elfair.records.toml import shaped, toml
from elfair.study import SourceTable, StudyFile, draft_study, read_table
from elfair.study.guessing import guess_columns
from elfair.study.keys import _TEXT, ColumnKeys, DataKeys, RowKeys, StudyKeys

N = 40
RNG = np.random.default_rng(0)
PEOPLE = {
    "Person ID": [f"p{k:03}" for k in range(N)],
    "Age (years)": RNG.integers(18, 80, N).tolist(),
    "housing": ["own", "rent"] * (N // 2),
    "income": RNG.normal(3, 1, N).tolist(),
    "race": ["A", "A", "B", 'C "c"'] * (N // 4),
    "Sex": ["f", "m"] * (N // 2 - 1) + ["x", "x"],
    "approved": [0, 1, 1, 0] * (N // 4),
    "p(approved)": RNG.uniform(0.2, 0.8, N).tolist(),
    "repaid": [1, 1, 0, 0] * (N // 4),
    "savings after 2y": RNG.normal(0, 1, N).tolist(),
    "branch": ["north"] * N,
    "notes": [f"note about {k // 1.5}" for k in range(N)],
    "score": [None, *[1.5] * (N - 1)],
}
UNHELPFUL = {f"v{k}": column for k, column in enumerate(PEOPLE.values())}


def drafted(columns, folder, name="people.csv"):
    pa.csv.write_csv(pa.table(columns), folder / name)
    return draft_study(folder / name, folder=folder)


def test_a_telling_table_is_guessed_completely(tmp_path):
    text = drafted(PEOPLE, tmp_path)
    study = StudyFile.loads(text, folder=tmp_path)
    columns = study.columns
    assert columns.features == ("Age (years)", "housing", "income", "score")
    assert columns.categories == {"housing": ["own", "rent"]}
    assert columns.label == "repaid"
    assert columns.sensitive == ("race", "Sex")
    assert columns.decision == "approved"
    assert columns.propensity == "p(approved)"
    assert columns.impact == ("savings after 2y",)
    assert columns.row_id == "Person ID"
    assert '#   "branch": the same in every row' in text
    assert '#   "notes": different in every row' in text or '"notes": free text' in text
    assert text.count("# guess") >= 8
    assert study.read().data.n == N


def test_constraints_are_proposed_for_every_group(tmp_path):
    text = drafted(PEOPLE, tmp_path)
    study = StudyFile.loads(text, folder=tmp_path)
    stated = [each.text for each in study.stated()]
    groups = ["race == 'A'", "race == 'B'", "race == 'C \"c\"'", "Sex == 'f'", "Sex == 'm'"]
    impact = "`savings after 2y`"
    assert stated == [f"E[{impact} | {g}] >= E_logged[{impact} | {g}]" for g in groups]
    assert '# too few rows for a statement of their own: ["x"]' in text
    rows = study.read().data
    assert study.estimator().set_params(accept_violated=REFUTABLE).fit(rows).certificate_.n == N


def test_what_cannot_be_guessed_is_left_open(tmp_path):
    text = drafted(UNHELPFUL, tmp_path)
    with pytest.raises(InputError) as caught:
        StudyFile.loads(text)
    said = str(caught.value)
    lines = text.splitlines()
    for key in ("sensitive", "decision", "propensity", "impact", "no_worse"):
        (number,) = (k for k, line in enumerate(lines, 1) if line.startswith(f"{key} = "))
        assert f"line {number} is still to be filled in: {key} = " in said
    assert said.count("is still to be filled in") == 5


def test_filled_in_it_loads(tmp_path):
    text = drafted(UNHELPFUL, tmp_path)
    names = dict(zip(PEOPLE, UNHELPFUL, strict=True))
    taken = ("race", "approved", "p(approved)", "savings after 2y", "repaid", "Sex", "housing")
    features = [names["Age (years)"], names["income"]]
    filled = {
        "features": toml(features),
        "sensitive": toml([names["race"]]),
        "decision": toml(names["approved"]),
        "propensity": toml(names["p(approved)"]),
        "impact": toml([names["savings after 2y"]]),
        "no_worse": toml(names["race"]),
    }
    for key, value in filled.items():
        text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
    for name in taken:
        text = re.sub(rf'(?m)^"{names[name]}" = \[.*\n', "", text)  # levels of no feature
    study = StudyFile.loads(text, folder=tmp_path)
    assert study.model["objective"] == "E[impact]"  # there is no label
    assert study.read().data.n == N


def test_a_column_that_was_filled_in_is_no_feature_any_more(tmp_path):
    """The decision of an unhelpful table is among the features; leaving it there is refused."""
    text = drafted({**PEOPLE, "approved": [0] * N, "verdict": PEOPLE["approved"]}, tmp_path)
    text = re.sub(r"(?m)^decision = .*$", 'decision = "verdict"', text)
    with pytest.raises(InputError, match="'verdict' is both a feature and decision of columns"):
        StudyFile.loads(text)


def test_the_range_of_the_impact_is_asked_for_and_what_was_seen_is_only_a_comment(tmp_path):
    (tmp_path / "t.csv").write_text("age,impact\n30,2.5\n40,-1\n50,\n")
    draft = draft_study(tmp_path / "t.csv", folder=tmp_path)
    (line,) = [line for line in draft.splitlines() if "impact_range =" in line]
    assert line.startswith("# impact_range = ")
    assert line.endswith("# seen in these rows: -1 to 2.5; declare what is possible")


def test_every_setting_is_shown_and_can_be_switched_on(tmp_path):
    text = drafted(PEOPLE, tmp_path)
    loose = re.sub(r"(?m)^# (?=[A-Za-z_]+ = )", "", text)
    raw = tomllib.loads(loose)
    known = {"": keys_of(StudyKeys)}
    known |= {name: keys for name, each in known[""].items() if (keys := keys_inside(each))}
    apart = {"later", "clean", "derived", "names"}  # tables that stand there as comments
    assert set(known) | {"derived"} == {
        *("", "data", "columns", "rows", "model", "test", "constraints"), *apart
    }  # fmt: skip
    for table in ("", "data", "rows", "model", "test"):
        assert set(raw[table] if table else raw) == set(known[table]) - apart, table
    for name in apart - {"derived"}:
        below = text.partition(f"# [{name}")[2].partition("\n\n")[0]
        assert re.findall(r"(?m)^#   ([a-z_]+) = ", below) == list(known[name])
    shown = set(re.findall(r"(?m)^(?:# )?([a-z_]+) = ", text))
    assert set(keys_of(ColumnKeys)) - {"categories"} <= shown
    for line in re.findall(r"(?m)^# ([A-Za-z_]+ = .*)$", text.split("[model]")[1]):
        key = line.split(" = ")[0]
        if key in ("spread", "reach", "text"):
            continue  # a regressor's
        study = StudyFile.loads(text.replace(f"# {line}", line, 1))
        assert {**study.model, **study.test, **study.constraints[0]}[key] == tomllib.loads(line)[
            key
        ], line


@dataclass(frozen=True)
class MoreData(DataKeys):
    sheet: str = field_key(_TEXT, "loans", "which sheet of the file", default="")


@dataclass(frozen=True)
class More(StudyKeys):
    purpose: str = field_key(_TEXT, "credit", "what the decisions are for", default="")
    board: str = field_key(_TEXT, "credit board", "who answers for the study")
    data: MoreData = field_key(about="where the table is")
    review: RowKeys = field_key(about="when it is looked at again", default=RowKeys)


def test_a_new_key_is_drafted_and_described_where_it_is_declared(tmp_path, monkeypatch):
    """The three ways: at the top (also after what has a default), in a table, and a table."""
    monkeypatch.setattr("elfair.study.drafting.StudyKeys", More)
    text = drafted(PEOPLE, tmp_path)
    top, data = text.split("[data]")[0], text.split("[data]")[1].split("[columns]")[0]
    assert '# What the decisions are for.\n# purpose = "credit"\n' in top
    assert 'board = "TODO: text"\n' in top
    assert "# Lines with TODO are for you to fill in." in top
    assert '# Which sheet of the file.\n# sheet = "loans"\n' in data
    assert "\n[review]\n" in text
    filled = re.sub("TODO: text", "me", text)
    made, wrong = shaped(tomllib.loads(filled), More)
    assert not wrong
    assert (made.purpose, made.board, made.data.sheet) == ("", "me", "")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "website")
    page = "\n".join(import_module("reference").keys(More))
    for shown in ("`purpose`", "what the decisions are for", "`board`", "`sheet`", "`[review]`"):
        assert shown in page


def test_only_a_draft_with_open_lines_speaks_of_them(tmp_path):
    assert "TODO" not in drafted(PEOPLE, tmp_path)
    assert "# Lines with TODO are for you to fill in.\n" in drafted(UNHELPFUL, tmp_path)


def test_probabilities_of_all_classes_are_told_apart(tmp_path):
    chance = RNG.uniform(0.2, 0.8, N)
    columns = {key: value for key, value in PEOPLE.items() if key != "p(approved)"}
    columns |= {"prob 0": (1 - chance).tolist(), "prob 1": chance.tolist()}
    study = StudyFile.loads(drafted(columns, tmp_path), folder=tmp_path)
    assert study.columns.behavior == {"0": "prob 0", "1": "prob 1"}
    assert study.columns.propensity is None
    assert np.allclose(study.read().data.behavior[:, 1], chance)
    # Where their names do not say whose they are, neither is taken for the propensity.
    columns["prob yes"], columns["prob no"] = columns.pop("prob 1"), columns.pop("prob 0")
    with pytest.raises(InputError, match="maybe 'prob yes' or 'prob no'"):
        StudyFile.loads(drafted(columns, tmp_path))


@pytest.mark.parametrize(
    ("column", "values", "role"),
    [
        ("probability", [0.0, *[0.5] * (N - 1)], "propensity"),  # never 0
        ("probability", [1.5, *[0.5] * (N - 1)], "propensity"),
        ("probability", [1.0] * (N - 1) + [None], "propensity"),
        ("decision", list(range(N)), "decision"),  # too many to be classes
        ("label", ["yes", "no"] * (N // 2), "label"),  # not what is decided between
        ("id", [1] * 2 + list(range(N - 2)), "row_id"),  # not unique
        ("impact", ["good", "bad"] * (N // 2), "impact"),  # no numbers
    ],
)
def test_values_must_fit_the_role(column, values, role):
    assert getattr(guess_columns({"approved": PEOPLE["approved"], column: values}), role) != column


def test_awkward_names_are_written_so_that_they_can_be_read(tmp_path):
    odd = {
        'a "b" \\ c': PEOPLE["income"],
        "line\nbreak\x7f": PEOPLE["Age (years)"],
        "räce `x`": PEOPLE["race"],
        "décision: approved # no": PEOPLE["approved"],
        "p\t(it's)": PEOPLE["p(approved)"],
        "impact 'é'": PEOPLE["savings after 2y"],
        "group [of]": PEOPLE["race"],
    }
    text = drafted(odd, tmp_path)
    study = StudyFile.loads(text, folder=tmp_path)
    assert set(study.needed_columns) == set(odd)
    assert study.columns.sensitive == ("group [of]",)
    assert study.columns.categories == {"räce `x`": ["A", "B", 'C "c"']}
    assert study.read().data.n == N


def test_the_source_is_written_from_the_study_files_folder(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "studies").mkdir()
    pa.parquet.write_table(pa.table(PEOPLE), tmp_path / "tables" / "people.parquet")
    text = draft_study(tmp_path / "tables" / "people.parquet", folder=tmp_path / "studies")
    study = StudyFile.loads(text, folder=tmp_path / "studies")
    assert study.data.source == "../tables/people.parquet"
    with pytest.raises(InputError, match=r"outside its folder(?s:.*)--within"):
        study.read()
    trusted = StudyFile.loads(text, folder=tmp_path / "studies", within=[tmp_path / "tables"])
    assert trusted.read().data.n == N


def test_nothing_is_written(tmp_path):
    pa.csv.write_csv(pa.table(PEOPLE), tmp_path / "people.csv")
    draft_study(tmp_path / "people.csv", folder=tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["people.csv"]


def test_a_query_is_drafted(tmp_path, monkeypatch):
    pa.parquet.write_table(pa.table(PEOPLE), tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    query = "select * from 'people.parquet'"
    study = StudyFile.loads(draft_study("duckdb://", query=query), folder=tmp_path)
    assert study.data.query == query
    assert study.read().data.n == N


def test_a_password_is_left_to_the_environment(tmp_path, monkeypatch):
    """There is no server to ask here, so that the table stands in for what it answers."""
    answer = SourceTable(pa.table(PEOPLE), "postgresql://***@host/db", None)
    monkeypatch.setattr("elfair.study.drafting.read_table", lambda *_, **__: answer)
    text = draft_study("postgresql://ann:geheim@host/db", query="select * from people")
    assert "geheim" not in text
    source = StudyFile.loads(text).data.source
    assert source == "postgresql://ann:${DB_PASSWORD}@host/db"


def test_a_label_may_be_known_by_the_words_of_the_decision_alone():
    words = {"Approved?": ["yes", "no"] * 20, "found job?": ["no", "yes"] * 20}
    assert guess_columns(words).label == "found job?"
    assert guess_columns({**words, "owns home": ["yes", "no"] * 20}).label is None
    assert guess_columns({"approved": [1, 0] * 20, "owns home": [0, 1] * 20}).label is None


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("id", [1, 1, *range(2, N)], "looks like an identifier, but 1 value is repeated"),
        ("loan id", list(range(N)), "looks like an identifier, but 'Person ID' was taken for it"),
        (
            "customer no",
            [None, *range(1, N)],
            "looks like an identifier, but it is missing in 1 of 40 rows",
        ),
        (
            "propensity",
            [1.5, 0.0, *[0.5] * (N - 2)],
            "looks like a propensity, but in 2 of 40 rows it is not above 0 and at most 1",
        ),
        (
            "outcome",
            ["yes", "no"] * (N // 2),
            "looks like a label, but its values are 'no', 'yes', and those of the decision 0, 1",
        ),
        ("defaulted", [0, 1] * (N // 2), "looks like a label, but 'repaid' was taken for it"),
        (
            "profit",
            RNG.normal(size=N).tolist(),
            "looks like an impact, but 'savings after 2y' was taken for it",
        ),
        ("benefit", ["a", "b"] * (N // 2), "looks like an impact, but it holds no numbers"),
        ("granted", [0, 1] * (N // 2), "looks like a decision, but 'approved' was taken for it"),
        (
            "approved sum",
            list(range(N)),
            "looks like a decision, but it has 40 different values",
        ),
        ("sex at birth", list(range(N)), "looks like groups, but it has 40 different values"),
        (
            "debt",
            [f"{k + 1},500" for k in range(N)],
            "numbers with a comma: declare decimal or thousands in [clean], as it is meant",
        ),
    ],
)
def test_what_only_its_name_tells_is_no_feature_and_said(name, values, reason, tmp_path):
    text = drafted({**PEOPLE, name: values}, tmp_path)
    assert f'#   "{name}": {reason}\n' in text
    assert name not in StudyFile.loads(text).needed_columns


def test_what_speaks_of_people_is_a_feature_still(tmp_path):
    more = {"applicant income": list(range(N)), "number of children": [0, 1, 2, 3] * (N // 4)}
    more |= {"student": ["yes", "no"] * (N // 2)}
    features = StudyFile.loads(drafted({**PEOPLE, **more}, tmp_path)).columns.features
    assert set(more) <= set(features)


def test_the_same_chance_for_everyone_is_a_propensity():
    columns = {"approved": PEOPLE["approved"], "probability": [0.5] * N}
    assert guess_columns(columns).propensity == "probability"


def turns(*values):
    """A column in which values take turns."""
    return [values[k % len(values)] for k in range(N)]


#: A trial as people keep it: a decision without a probability, and what came of it.
TRIAL = {
    "pidnum": list(range(100, 100 + N)),
    "HOSPNUM": [k // 2 for k in range(22)] + list(range(11, 29)),
    "age": RNG.integers(18, 80, N).tolist(),
    "female": turns(0, 1),
    "weight": RNG.normal(70, 9, N).tolist(),
    "health": turns(1, 2, 3, 4),
    "RXASP": turns("N", "Y", "Y", "N"),
    "offtrt": turns(0, 1, 0, 0),
    "weight_m6": RNG.normal(70, 9, N).tolist(),
    "dead": turns(0, 0, 1),
}


def test_the_table_of_a_trial(tmp_path):
    """No decision, impact or identifier is a feature; the chances are proposed, not assumed."""
    text = drafted(TRIAL, tmp_path)
    guess = guess_columns(TRIAL)
    assert (guess.row_id, guess.decision, guess.label) == ("pidnum", "RXASP", None)
    assert [each.name for each in guess.sensitive] == ["female"]
    assert [each.name for each in guess.features] == ["age", "weight"]
    assert guess.left == {
        "HOSPNUM": "looks like an identifier, but 11 values are repeated",
        "offtrt": "looks like a decision, but 'RXASP' was taken for it",
        "weight_m6": "measures 'weight' again, as what comes of a decision does",
        "dead": "stands behind 'RXASP', the decision: was it known before?",
    }
    assert guess.impact == "health"  # by its name, and wrong: it is marked as a guess
    assert 'propensity = "TODO: a column"\n# If decisions were drawn at random,' in text
    assert '\n# propensity = { "N" = 0.5, "Y" = 0.5 }\n' in text
    # Switched on in the place of the line above it, it can be read.
    text = text.replace('propensity = "TODO: a column"\n', "").replace("# propensity", "propensity")
    study = StudyFile.loads(text, folder=tmp_path)
    assert study.columns.propensity == {"N": 0.5, "Y": 0.5}
    np.testing.assert_array_equal(study.read().data.behavior, 0.5)


def test_what_may_be_the_impact_of_a_trial_is_named():
    columns = {name: column for name, column in TRIAL.items() if name != "health"}
    guess = guess_columns(columns)
    assert guess.impact is None
    assert guess.later == ["offtrt", "weight_m6", "dead"]


@pytest.mark.parametrize(
    ("more", "impact"),
    [
        ({"health12": turns(1, 2), "health48": turns(2, 1)}, "health48"),  # the last of them
        ({"outcome": turns(0, 1)}, "outcome"),  # not a label: the decision was drawn at random
    ],
)
def test_the_impact_of_a_trial(more, impact):
    guess = guess_columns({**TRIAL, **more, "RXASP": turns(0, 1, 1, 0)})
    assert (guess.impact, guess.label) == (impact, None)
    assert ("health" in [each.name for each in guess.features]) == (impact == "health48")


def test_groups_beside_groups_are_the_arms_of_a_trial():
    columns = {"sex": turns("f", "m"), "group": turns("a", "b", "b", "a"), "age": [*range(N)]}
    assert guess_columns(columns).decision == "group"
    assert guess_columns({"group": columns["group"], "age": columns["age"]}).decision is None
    assert guess_columns({**columns, "approved": turns(0, 1)}).decision == "approved"


def test_shares_are_shown_only_where_no_probability_is_known(tmp_path):
    assert guess_columns(PEOPLE).shares == {}
    assert "drawn at random" not in drafted(PEOPLE, tmp_path)
    thirds = guess_columns({"arm": turns(0.0, 1.0, 2.0), "age": [*range(N)]}).shares
    assert thirds == {"0": 0.35, "1": 0.325, "2": 0.325}


@pytest.mark.skipif("ELFAIR_DATA" not in os.environ, reason="ELFAIR_DATA, with trials, is not set")
@pytest.mark.parametrize(
    ("name", "decision", "row_id", "known_later"),
    [
        ("stroke/ist.csv", "RXASP", None, {"RXHEP", "ID14", "OCCODE", "DIED", "TD", "HOSPNUM"}),
        (
            "actg175/actg175.csv",
            "arms",
            "pidnum",
            {"treat", "offtrt", "cd420", "cd496", "r", "cd820", "cens", "days"},
        ),
        (
            "jobcorps/jobcorps.csv",
            "assignment",
            None,
            {"earny2", "earny3", "earny4", "pworky2", "pworky4", "trainy1", "health12", "health48"},
        ),
    ],
)
def test_published_trials_give_nothing_away(name, decision, row_id, known_later):
    guess = guess_columns(read_table(Path(os.environ["ELFAIR_DATA"]) / name).table)
    assert (guess.decision, guess.row_id) == (decision, row_id)
    assert not {decision, row_id, *known_later} & {each.name for each in guess.features}
    assert len(guess.features) >= 10  # and what was known before is there still
    assert sum(guess.shares.values()) == pytest.approx(1, abs=5e-4)


@pytest.mark.parametrize("column", ["savings after 2y", "p(approved)", "income"])
def test_a_decimal_comma_is_said_when_a_study_is_read(column, tmp_path):
    study = StudyFile.loads(drafted(PEOPLE, tmp_path), folder=tmp_path)
    commas = {**PEOPLE, column: [str(value).replace(".", ",") for value in PEOPLE[column]]}
    pa.csv.write_csv(pa.table(commas), tmp_path / "people.csv")
    with pytest.raises(InputError) as caught:
        study.read()
    assert f"'{column}'" in str(caught.value)
    hint = str(caught.value).partition("Hint: ")[2]
    assert hint.startswith(f'write decimal = "," in [clean."{column}"]')
    # What the hint proposes is what helps.
    cured = StudyFile.loads(f'{study.text}\n[clean."{column}"]\ndecimal = ","\n', folder=tmp_path)
    with_commas = cured.read().data
    pa.csv.write_csv(pa.table(PEOPLE), tmp_path / "people.csv")
    assert with_commas.digest() == study.read().data.digest()


@pytest.mark.parametrize(
    ("classes", "line"),
    [
        (
            ["approve", "deny"],
            "# positive = \"approve\"  # guess, of 'approve', 'deny': remove the ",
        ),
        (["no", "yes"], "# positive = \"yes\"  # guess, of 'no', 'yes': remove the first # to "),
        (["not hired", "hired"], "# positive = \"hired\"  # guess, of 'hired', 'not hired'"),
        (["A", "B"], "# positive = \"A\"  # or another of 'A', 'B'?"),
        ([1, 2], "# positive = 1  # or another of 1, 2?"),
        ([0, 1], "# positive = 1"),
    ],
)
def test_a_positive_decision_is_a_guess_that_waits_to_be_confirmed(classes, line, tmp_path):
    decided = classes * (N // 2)
    text = drafted({**PEOPLE, "approved": decided, "repaid": decided[::-1]}, tmp_path)
    (found,) = [each for each in text.splitlines() if "positive = " in each]
    assert found.startswith(line)
    study = StudyFile.loads(text, folder=tmp_path)
    assert study.setting("positive") is None
    assert study.read().data.positive == (1 if classes == [0, 1] else None)
    confirmed = StudyFile.loads(text.replace(found, found.removeprefix("# ")), folder=tmp_path)
    assert confirmed.read().data.positive in classes


def test_the_name_of_a_probability_tells_the_decision():
    table = {name: values for name, values in PEOPLE.items() if "approved" not in name}
    yes = np.resize(["yes", "no"], N).tolist()
    guess = guess_columns({**table, "Referred": yes, "P(referred)": [0.5, 0.25] * (N // 2)})
    assert (guess.decision, guess.propensity) == ("Referred", "P(referred)")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (
            [f"{k * 9 // 10 % 28 + 1:02d}.03.{1990 + k * 9 // 10}" for k in range(N)],
            "dates: declare date in [clean]",
        ),
        (
            [f"{k * 9 // 10} kg" if k > 1 else "?x?" for k in range(N)],
            "numbers, but for '?x?': say in [clean]",
        ),
        ([f"{k}/80 mm" for k in range(N - 1)] + ["1/80 mm"], "free text (39 different values)"),
    ],
)
def test_what_a_column_of_many_texts_holds_is_said(values, why):
    assert guess_columns({"seen": values}).left["seen"].startswith(why)


def test_a_label_that_one_decision_reveals_is_said():
    revealed = [k % 2 if d else None for k, d in enumerate(PEOPLE["approved"])]
    said = guess_columns({**PEOPLE, "repaid": revealed}).left["repaid"]
    assert said.endswith("20 of 40 rows, and known of decision 1 alone: see label_seen_for")
    others = [revealed[0], None, *revealed[2:]]
    assert "label_seen_for" not in guess_columns({**PEOPLE, "repaid": others}).left["repaid"]


def test_an_identifier_that_repeats_is_a_unit(tmp_path):
    visits = {**PEOPLE, "Person ID": [k - k // 3 for k in range(N)]}
    guess = guess_columns(visits)
    assert (guess.row_id, guess.unit) == (None, "Person ID")
    text = drafted(visits, tmp_path)
    assert 'unit = "Person ID"  # guess' in text
    assert guess_columns({**PEOPLE, "Person ID": [k // 20 for k in range(N)]}).unit is None

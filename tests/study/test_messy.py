"""Messy tables: a study file cures each defect, with the rows and the bounds of the clean table."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from elfair import load
from elfair.errors import DataError, InputError
from elfair.planning import check
from elfair.study import StudyFile, draft_study, fit_study
from elfair.study.terms import in_study_terms
from elfair.study.writing import append_decisions, decisions
from elfair.verification import verify_files

sys.path.insert(0, str(Path(__file__).parent))
from messy import DEFECTS, clean_table, each, study_text, write

CLEAN = clean_table()


def read(folder, table, *cures, **how):
    write(table, folder / "loans.csv")
    return StudyFile.loads(study_text(*cures, **how), folder=folder).read()


def bounds(folder, table, *cures):
    write(table, folder / "loans.csv")
    (folder / "study.toml").write_text(study_text(*cures), encoding="utf-8")
    outcome = fit_study(StudyFile.load(folder / "study.toml"))
    return outcome, [each.upper for each in outcome.certificate.constraints]


@pytest.mark.parametrize("name", DEFECTS)
def test_a_cured_table_has_the_rows_of_the_clean_one(name, tmp_path):
    defect = DEFECTS[name]
    rows = read(tmp_path, defect.spoil(CLEAN), defect)
    assert rows.data.digest() == read(tmp_path, CLEAN).data.digest()
    left = sum(part.n for part in (*rows.left_out, *rows.outside))
    assert rows.n_read == len(CLEAN["age"]) + left


@pytest.mark.parametrize("name", [name for name, each in DEFECTS.items() if each.error])
def test_without_the_cure_it_is_an_error(name, tmp_path):
    defect = DEFECTS[name]
    with pytest.raises(InputError) as caught:
        read(tmp_path, defect.spoil(CLEAN)).data.digest()
    assert defect.error in str(caught.value)


def test_all_defects_of_different_columns_together_give_the_bounds_of_the_clean_table(tmp_path):
    chosen = [
        DEFECTS[name]
        for name in (
            "space behind a group", "label 0 and 1", "decision in other words",
            "propensity with a per cent sign", "decimal comma", "everything about money",
            "missing as -999, and filtered",
        )
    ]  # fmt: skip
    table = CLEAN
    for defect in reversed(chosen):  # rows are added first
        table = defect.spoil(table)
    outcome, messy = bounds(tmp_path, table, *chosen)
    _, clean = bounds(tmp_path, CLEAN)
    assert messy == clean
    changes = outcome.certificate.provenance.changes
    spaces, repaid = table["race"].count("A "), table["repaid"].count("1")
    assert f"'A ' of 'race' is 'A': {spaces} rows" in changes
    assert f"'1' of 'repaid' is 'approve': {repaid} rows" in changes
    assert "'p' was read as numbers, in per cent" in changes
    (group,) = [part for part in outcome.certificate.provenance.outside if "known" in part.reason]
    assert group.n == 7


def test_an_answer_that_is_not_as_declared_names_column_count_line_and_key(tmp_path):
    table = each("income", lambda v: f"{v},5", 1)(CLEAN)
    table = each("income", lambda v: "unknown", 100)(table)
    table = each("p", lambda v: "often", 200)(table)
    cures = '[clean.income]\ndecimal = ","\n[clean.p]\npercent = true'
    with pytest.raises(DataError) as caught:
        read(tmp_path, table, more=cures)
    said = str(caught.value)
    assert "2 mistakes" in said
    assert "'income' must hold numbers, written 1,5" in said
    assert "6 of 600 rows (the first is line 2): 'unknown'" in said
    assert 'missing = ["unknown"] in [clean."income"]' in said
    assert "3 of 600 rows" in said
    assert "'often'" in said


@pytest.mark.parametrize(
    ("text", "keys", "value"),
    [
        ("1.234,5", 'decimal = ","\nthousands = "."', 1234.5),
        ("1.5", 'decimal = ","\nthousands = "."', None),
        ("1,23,456", 'thousands = ","', None),
        ("12", "percent = true", 0.12),
        ("12,34 %", 'percent = true\ndecimal = ","', 0.1234),
        ("-$5", 'unit = "$"', -5),
        ("$-5", 'unit = "$"', -5),
        ("5 kg", 'unit = "kg"\nscale = 0.001', 0.005),
        ("3", "scale = 1000", 3000),
        ("--5", 'unit = "$"', None),
        (".5", 'decimal = "."', 0.5),
        ("1e3", 'decimal = "."', 1000.0),
        ("0,873", 'thousands = ","', None),
        ("13.5k", "unit = { k = 1000 }", 13500.0),
        ("13", 'unit = { k = 1000, "" = 10 }', 130),
        ("(0.314)", 'unit = { "()" = -1 }', -0.314),
        ("($5)", 'unit = { "()" = -1, "$" = 2 }', -10),
        ("(0.314", 'unit = { "()" = -1 }', None),
        ("", 'decimal = "."', np.nan),
    ],
)
def test_numbers_are_read_as_declared_or_not_at_all(text, keys, value, tmp_path):
    table = {**CLEAN, "income": [text, *[text or "1"] * (len(CLEAN["income"]) - 1)]}
    if value is None:
        with pytest.raises(DataError, match="income"):
            read(tmp_path, table, more=f"[clean.income]\n{keys}")
    else:
        rows = read(tmp_path, table, more=f"[clean.income]\n{keys}")
        assert rows.data.feature("income")[0] == pytest.approx(value, nan_ok=True)


#: Tables in which some numbers carry a mark and others do not: what is declared for all of them,
#: which the error names, and the column as it is meant.
HALF_MARKED = {
    "per cent": ("percent = true", lambda k: f"{10 + k % 80}.5%" if k % 2 else f"0.{10 + k % 80}5"),
    "thousands": ('unit = "k"\nscale = 1000', lambda k: f"{k % 90 + 5}k" if k % 2 else "7000"),
    "per cent in a list": ('unit = "%"\nscale = 0.01', lambda k: "5 %" if k % 7 else "0.05"),
    "two kinds of money": ('unit = ["EUR", "$"]', lambda k: f"{k + 1} {'$' if k % 3 else 'EUR'}"),
}  # fmt: skip


@pytest.mark.parametrize("name", HALF_MARKED)
def test_no_factor_is_taken_for_numbers_that_do_not_carry_its_mark(name, tmp_path):
    keys, spoilt = HALF_MARKED[name]
    table = {**CLEAN, "income": [spoilt(k) for k in range(len(CLEAN["income"]))]}
    with pytest.raises(DataError) as caught:
        read(tmp_path, table, more=f"[clean.income]\n{keys}")
    assert "such as" in str(caught.value)
    hint = str(caught.value).split("Hint: ")[1]
    (cure,) = re.findall(r"unit = \{.*?\}", hint)[:1]
    read_as = read(tmp_path, table, more=f"[clean.income]\n{cure}").data.feature("income")
    worth = tomllib.loads(cure)["unit"]
    assert worth in ({"%": 0.01}, {"k": 1000}, {"EUR": 1, "$": 0.9})
    for text, number in zip(table["income"], read_as.tolist(), strict=True):
        digits, mark = re.fullmatch(r"([\d.]+) ?(\D*)", text).groups()
        assert number == pytest.approx(float(digits) * worth.get(mark, 1))


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["95%", "42"], 'unit = { "%" = 0.01, "" = 0.01 }'),  # of one size: all in per cent
        (["95%", "5"], "meant as they stand, or"),  # nobody knows
        (["95%", "0.42", "1.2"], "meant as they stand, or"),
        (["13k", "12"], 'unit = { "k" = 1000, "" = 1000 }'),
        (["13k", "500"], "meant as they stand, or"),
        (["5 EUR", "6 USD"], "say what each is worth"),
        (["5 EUR", "6 €"], 'unit = ["EUR", "€"]'),
        (["5 kg", "600 g"], "say what each is worth"),
        (["170 cm", "1.7"], "meant as they stand, or"),
        (["1.5", "1,7", "2.25"], 'values = { "1,7" = 1.7 }'),
        (["(5)", "6"], 'unit = { "()" = -1 }'),
        (["0,873", "1,234"], 'write decimal = ","'),  # 0,873 is no thousand
        (["1,5", "gone"], 'decimal = "," in [clean."income"]; for \'gone\', write there missing'),
        (["5 kg", ">9", "7"], 'unit = "kg" in [clean."income"]; for \'>9\', write there missing'),
        (["95%", "5", "gone"], "if they are multiplied by 0.01, too; for 'gone', write there"),
        (["21.11.2016", "1.2.2017", "later"], 'date = "%d.%m.%Y" in [clean."income"]; for'),
        ([f"{k}/80" for k in range(99, 150)], "leave it out of features; or make groups"),
    ],
)
def test_a_hint_reads_no_number_in_a_way_that_it_was_not_meant(texts, says, tmp_path):
    n = len(CLEAN["income"])
    table = {**CLEAN, "income": [texts[k % len(texts)] for k in range(n)]}
    with pytest.raises(DataError) as caught:
        read(tmp_path, table)
    assert says in str(caught.value).split("Hint: ")[1]


def test_the_probability_of_one_decision_is_enough(tmp_path):
    """As tables have it that hold the probability of a yes, whatever was decided."""
    chance = [
        p if d == "approve" else str(round(1 - float(p), 2))
        for p, d in zip(CLEAN["p"], CLEAN["decision"], strict=True)
    ]
    table = {**CLEAN, "p": [f"{100 * float(p):.0f} %" for p in chance]}
    more = "[clean.p]\npercent = true\n"
    wrong = read(tmp_path, table, more=more).data
    report = check(StudyFile.loads(study_text(more=more)).estimator(), wrong).text()
    assert 'in [columns.behavior] behind that class, such as "yes" = "p(yes)"' in in_study_terms(
        report
    )
    text = study_text(more=f'{more}[columns.behavior]\napprove = "p"')
    (tmp_path / "study.toml").write_text(text.replace('propensity = "p"\n', ""), encoding="utf-8")
    outcome = fit_study(StudyFile.load(tmp_path / "study.toml"))
    clean = read(tmp_path, CLEAN).data
    np.testing.assert_array_equal(outcome.rows.data.behavior, clean.behavior)
    np.testing.assert_array_equal(outcome.rows.data.propensity, clean.propensity)
    # What is decided later is logged as the table has it, for the next round.
    outcome.write(tmp_path / "results")
    model = load(tmp_path / "results" / "model.elfair")
    people = {name: table[name][:9] for name in ("customer", "age", "income")}
    drawn = decisions(model, pa.table(people), random_state=0)
    of_decision = np.array(drawn["propensity"].to_pylist())
    approve = np.array(drawn["p"].to_pylist()) / 100
    taken = np.array(drawn["decision"].to_pylist()) == "approve"
    np.testing.assert_allclose(of_decision, np.where(taken, approve, 1 - approve))


def test_a_wrong_form_of_dates_is_answered_with_the_one_that_fits(tmp_path):
    days = [f"{k % 12 + 1}/{k % 28 + 1}/2013" for k in range(len(CLEAN["age"]))]
    with pytest.raises(DataError) as caught:
        read(tmp_path, {**CLEAN, "age": days}, more='[clean.age]\ndate = "%d/%m/%Y"')
    assert 'all of its values fit another form; these look like dates: write date = "%m/%d/%Y"' in (
        str(caught.value)
    )
    days[0] = "2013-05-17"
    with pytest.raises(DataError, match="written %Y-%m-%d, the others %m/%d/%Y"):
        read(tmp_path, {**CLEAN, "age": days}, more='[clean.age]\ndate = "%m/%d/%Y"')


def test_rows_that_do_not_meet_a_condition_are_counted_by_group_and_verified(tmp_path):
    defect = DEFECTS["people who are not of the study"]
    outcome, _ = bounds(tmp_path, defect.spoil(CLEAN), defect)
    (left,) = outcome.certificate.provenance.outside
    assert (left.reason, left.n) == ("age >= 18 does not hold", 7)
    assert sum(part.n for part in left.groups) == 7
    outcome.write(tmp_path / "results")
    (model,) = (tmp_path / "results").glob("*.elfair")
    verified = verify_files(
        tmp_path / "results" / "certificate.json", data=tmp_path / "loans.csv", model=model
    )
    assert verified.passed, verified.text()
    assert "left_out_alike" not in {part.code for part in outcome.certificate.assumptions}
    report = outcome.estimator.report().markdown()
    assert "does not hold" in report


def test_a_forged_account_is_seen(tmp_path):
    defect = DEFECTS["space behind a group"]
    outcome, _ = bounds(tmp_path, defect.spoil(CLEAN), defect)
    outcome.write(tmp_path / "results")
    path = tmp_path / "results" / "certificate.json"
    record = outcome.certificate
    forged = replace(record, provenance=replace(record.provenance, changes=()))
    forged.save(path)
    checked = verify_files(path, data=tmp_path / "loans.csv")
    assert "rows left out" in {part.name for part in checked.checks if part.status == "failed"}


@pytest.mark.parametrize("of", ["decision", "p", "savings"])
def test_people_are_not_chosen_by_what_was_done_to_them(of, tmp_path):
    condition = "decision == 'deny'" if of == "decision" else f"{of} >= 0.3"
    condition = condition.replace("decision", "`decision`")
    text = study_text().replace("[rows]\n", f"[rows]\nkeep = [{json.dumps(condition)}]\n")
    with pytest.raises(InputError, match="chosen by what was done to them"):
        StudyFile.loads(text)
    derived = study_text(more=f"[derived]\nhidden = {json.dumps(condition)}").replace(
        '"income"', '"income", "hidden"'
    )
    with pytest.raises(InputError, match="among features"):
        StudyFile.loads(derived)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[clean.rase]\npercent = true", "did you mean 'race'"),
        ("[clean.p]\nper_cent = true", "did you mean 'percent'"),
        ('[clean.p]\ndecimal = ","\nthousands = ","', "they must differ"),
        ('[clean.p]\nthousands = "."', "they must differ"),
        ("[derived]\nband = { of = 'age', bins = [60, 30] }", "rising numbers"),
        ("[derived]\nband = { of = 'age' }", "either 'bins' or 'values'"),
        ("[derived]\nband = { of = 'age', bins = [30], labels = ['x'] }", "2 different texts"),
        ("[derived]\nband = 'age >> 3'", "unexpected"),
        ("[derived]\nband = { joins = ['age', 'race'] }", "did you mean 'join'"),
        ("[derived]\na = { join = ['b', 'race'] }\nb = 'age > 3'", "not there yet"),
    ],
)
def test_mistakes_in_these_keys_are_said(more, said):
    with pytest.raises(InputError, match=said):
        StudyFile.loads(study_text(more=more))


def test_groups_by_bins_and_joins(tmp_path):
    more = "[derived]\nband = { of = 'age', bins = [30, 60] }\nboth = { join = ['race', 'band'] }"
    text = study_text(more=more).replace('["race"]', '["race", "band", "both"]')
    write(CLEAN, tmp_path / "loans.csv")
    data = StudyFile.loads(text, folder=tmp_path).read().data
    band, age = data.column("band"), np.array(CLEAN["age"], dtype=int)
    assert set(band) == {"below 30", "30 to below 60", "60 or above"}
    assert (band[age < 30] == "below 30").all()
    assert (band[age >= 60] == "60 or above").all()
    assert data.column("both")[0] == f"{CLEAN['race'][0]}, {band[0]}"


def test_chances_may_differ_by_several_columns(tmp_path):
    more = "[derived]\nband = { of = 'age', bins = [50] }\nboth = { join = ['race', 'band'] }"
    strata = {
        f"{race}, {band}": (0.25 if race == "A" else 0.5) + (band == "50 or above") * 0.25
        for race in "AB"
        for band in ("below 50", "50 or above")
    }
    chances = "\n".join(
        f'"{name}" = {{ approve = {chance}, deny = {1 - chance} }}'
        for name, chance in strata.items()
    )
    text = study_text(more=f"{more}\n[columns.propensity]\nby = 'both'\n{chances}")
    text = text.replace('propensity = "p"\n', "").replace('["race"]', '["race", "both"]')
    write(CLEAN, tmp_path / "loans.csv")
    data = StudyFile.loads(text, folder=tmp_path).read().data
    expected = [strata[both] for both in data.column("both")]
    np.testing.assert_allclose(data.behavior[:, 0], expected)  # of approve, the first class


def test_a_derived_column_never_replaces_one_of_the_table(tmp_path):
    text = study_text(more="[derived]\nx = 'age > 3'").replace('"income"]', '"income", "x"]')
    write({**CLEAN, "x": CLEAN["age"]}, tmp_path / "loans.csv")
    study = StudyFile.loads(text, folder=tmp_path)
    with pytest.raises(DataError, match="would replace a column"):
        study.read()


# -- what `init` drafts and `check` proposes ------------------------------------------------------

#: Defects that cannot be told from how a column is written.
HIDDEN = {
    "label yes and no", "decision in other words", "thousands with a comma",
    "people who are not of the study", "group of two columns", "missing impact as infinity",
    "fractions", "impacts with a comma and a word", "ages with a unit and a sign",
}  # fmt: skip


@pytest.mark.parametrize("name", DEFECTS)
def test_what_is_proposed_cures(name, tmp_path):
    defect = DEFECTS[name]
    write(defect.spoil(CLEAN), tmp_path / "loans.csv")
    if name == "group of two columns":
        return
    lines = StudyFile.loads(study_text(), folder=tmp_path).proposed()
    if name in HIDDEN:
        assert lines == []
        return
    rows = f"[rows]\n{defect.rows}"
    cured = study_text(more="\n".join(lines)).replace("[rows]\n", rows)
    data = StudyFile.loads(cured, folder=tmp_path).read().data
    assert data.digest() == read(tmp_path, CLEAN).data.digest()


def test_nothing_is_proposed_for_a_clean_table(tmp_path):
    write(CLEAN, tmp_path / "loans.csv")
    assert StudyFile.loads(study_text(), folder=tmp_path).proposed() == []


def test_a_number_that_commas_leave_open_is_asked_about(tmp_path):
    defect = DEFECTS["thousands with a comma"]
    with pytest.raises(DataError, match='thousands = "," if 1,234 is above one thousand'):
        read(tmp_path, defect.spoil(CLEAN))


def test_the_draft_of_a_messy_table_reads_as_the_clean_one(tmp_path):
    table = CLEAN
    for name in (
        "space behind a group", "label 0 and 1", "propensity with a per cent sign",
        "decimal comma", "everything about money",
    ):  # fmt: skip
        table = DEFECTS[name].spoil(table)
    write(table, tmp_path / "loans.csv")
    draft = StudyFile.loads(draft_study(tmp_path / "loans.csv", folder=tmp_path), folder=tmp_path)
    write(CLEAN, tmp_path / "loans.csv")
    text = draft_study(tmp_path / "loans.csv", folder=tmp_path)
    clean = StudyFile.loads(text, folder=tmp_path).read().data
    write(table, tmp_path / "loans.csv")
    assert draft.read().data.digest() == clean.digest()
    assert draft.columns == StudyFile.loads(text).columns


# -- several files, and what came later -----------------------------------------------------------


def parts(table, at):
    return ({k: v[:at] for k, v in table.items()}, {k: v[at:] for k, v in table.items()})


@pytest.mark.parametrize("source", ['["a-1.csv", "a-2.csv"]', '"a-*.csv"'])
def test_several_files_are_one_table(source, tmp_path):
    for k, part in enumerate(parts(CLEAN, 300), 1):
        write(part, tmp_path / f"a-{k}.csv")
    several = StudyFile.loads(study_text(source=source), folder=tmp_path).read()
    assert several.data.digest() == read(tmp_path, CLEAN).data.digest()
    assert several.source == "a-1.csv, a-2.csv"


def test_a_file_that_lacks_columns_is_named(tmp_path):
    first, second = parts(CLEAN, 300)
    second["Savings"] = second.pop("savings")
    write(first, tmp_path / "a-1.csv")
    write(second, tmp_path / "a-2.csv")
    with pytest.raises(DataError, match=r"a-2\.csv lacks 'savings'") as caught:
        StudyFile.loads(study_text(source='"a-*.csv"'), folder=tmp_path).read()
    assert "did you mean 'Savings'" in str(caught.value)


LATER = '[later]\nsource = "later.csv"\non = "customer"'


def split_off(table, column="savings"):
    rest = {name: values for name, values in table.items() if name != column}
    return rest, {"customer": list(table["customer"]), column: list(table[column])}


def test_impacts_that_came_later_are_joined_by_identifier(tmp_path):
    rest, later = split_off(CLEAN)
    order = np.random.default_rng(0).permutation(len(later["customer"]))
    shuffled = {name: [values[k] for k in order] for name, values in later.items()}
    shuffled = {"customer": [*shuffled["customer"], "Z1"], "savings": [*shuffled["savings"], "1"]}
    write(shuffled, tmp_path / "later.csv")
    joined = read(tmp_path, rest, more=LATER)
    assert joined.data.digest() == read(tmp_path, CLEAN).data.digest()
    (said,) = joined.changes
    assert "600 of 600 rows have them; 1 of its 601 rows belong to none" in said


def test_a_study_of_several_files_is_verified_from_their_folder(tmp_path):
    rest, later = split_off(CLEAN)
    for k, part in enumerate(parts(rest, 300), 1):
        write(part, tmp_path / f"a-{k}.csv")
    write(later, tmp_path / "later.csv")
    text = study_text(source='"a-*.csv"', more=LATER)
    fit_study(StudyFile.loads(text, folder=tmp_path)).write(tmp_path / "results")
    certificate = tmp_path / "results" / "certificate.json"
    (model,) = (tmp_path / "results").glob("*.elfair")
    verified = verify_files(certificate, data=tmp_path, model=model)
    assert verified.passed, verified.text()
    with pytest.raises(InputError, match="several files"):
        verify_files(certificate, data=tmp_path / "a-1.csv")
    later["savings"][0] = "9"
    write(later, tmp_path / "later.csv")
    checked = verify_files(certificate, data=tmp_path)
    failed = {part.name for part in checked.checks if part.status == "failed"}
    assert "source file" in failed


def test_impacts_that_never_came_are_missing(tmp_path):
    rest, later = split_off(CLEAN)
    write({name: values[:-5] for name, values in later.items()}, tmp_path / "later.csv")
    with pytest.raises(DataError, match="impact 'savings' is missing in 5 of 600 rows"):
        read(tmp_path, rest, more=LATER)


@pytest.mark.parametrize("where", ["data", "later"])
def test_doubled_identifiers_are_refused_and_counted(where, tmp_path):
    rest, later = split_off(CLEAN)
    table = rest if where == "data" else later
    table["customer"] = [table["customer"][1], *table["customer"][1:]]
    write(later, tmp_path / "later.csv")
    with pytest.raises(DataError, match=rf"\[{where}\]. It repeats 1 values, in 2 rows"):
        read(tmp_path, rest, more=LATER)


def test_identifiers_that_lost_their_zeros_are_said_and_meet_as_numbers(tmp_path):
    """As a spreadsheet writes them: 00017 becomes 17, or 17.0."""
    table = {**CLEAN, "customer": [each[1:] for each in CLEAN["customer"]]}
    rest, later = split_off(table)
    later["customer"] = [f"{int(each)}.0" for each in later["customer"]]
    write(later, tmp_path / "later.csv")
    with pytest.raises(DataError) as caught:
        read(tmp_path, rest, more=LATER)
    assert 'write decimal = "." in [clean."customer"]' in str(caught.value)
    read_as = read(tmp_path, rest, more=f'{LATER}\n[clean.customer]\ndecimal = "."')
    clean = read(tmp_path, CLEAN).data
    np.testing.assert_array_equal(read_as.data.impact("savings"), clean.impact("savings"))
    with pytest.raises(DataError, match="'customer' must hold numbers"):
        read(tmp_path, split_off(CLEAN)[0], more=f'{LATER}\n[clean.customer]\ndecimal = "."')


def test_identifiers_that_never_meet_are_said(tmp_path):
    rest, later = split_off(CLEAN)
    later["customer"] = [f"0{each}" for each in later["customer"]]
    write(later, tmp_path / "later.csv")
    with pytest.raises(DataError, match=r"no row of later\.csv belongs to one of loans\.csv"):
        read(tmp_path, rest, more=LATER)


# -- new people -----------------------------------------------------------------------------------


def test_decisions_about_raw_rows_are_those_about_clean_ones_and_fit_the_next_round(tmp_path):
    money, percent = DEFECTS["everything about money"], DEFECTS["propensity in per cent"]
    cures = money, percent, DEFECTS["people who are not of the study"]
    table = percent.spoil(money.spoil(CLEAN))
    outcome, _ = bounds(tmp_path, table, *cures)
    if not outcome.certificate.passed:
        pytest.fail("the example must find a model")
    outcome.write(tmp_path / "results")
    model = load(tmp_path / "results" / "model.elfair")
    features = {name: table[name][:50] for name in ("customer", "age", "income")}
    write(features, tmp_path / "people.csv")
    drawn = decisions(model, tmp_path / "people.csv", random_state=0)
    clean = outcome.estimator.decide(
        pa.table({n: [float(v) for v in CLEAN[n][:50]] for n in ("age", "income")}).to_pandas(),
        random_state=0,
    )
    assert drawn["decision"].to_pylist() == clean.decision.tolist()
    np.testing.assert_allclose(np.array(drawn["p"].to_pylist()) / 100, clean.propensity)
    append_decisions(drawn, tmp_path / "log.csv", row_id="customer")
    # Somebody who is not of the study is not decided about.
    write({**features, "age": ["12", *features["age"][1:]]}, tmp_path / "people.csv")
    with pytest.raises(DataError, match=r"not certified for .* 1 of 50 rows .*line 2"):
        decisions(model, tmp_path / "people.csv")


def test_lines_are_those_of_the_file_and_rows_of_other_formats_are_counted_from_1(tmp_path):
    table = each("p", lambda v: "often", 200)(CLEAN)
    more = "[clean.p]\npercent = true"
    text = study_text(more=more)
    (tmp_path / "loans.csv").write_text(
        "\n".join([",".join(table), '"a\nb",1,1,A,deny,deny,0.5,1', "", *(
            ",".join(row) for row in zip(*table.values(), strict=True)
        )])
    )  # fmt: skip
    with pytest.raises(DataError, match="first is line 5"):
        StudyFile.loads(text, folder=tmp_path).read()
    pa.parquet.write_table(pa.table(table), tmp_path / "loans.parquet")
    with pytest.raises(DataError, match="first is row 1"):
        StudyFile.loads(text.replace("loans.csv", "loans.parquet"), folder=tmp_path).read()


def test_all_mistakes_of_a_table_are_named_at_once_by_the_lines_of_the_file(tmp_path):
    """Also those that only a table of decisions knows of: with lines, and keys of the study."""
    table = {name: list(values) for name, values in CLEAN.items()}
    table["repaid"][2] = table["repaid"][7] = ""
    table["decision"][3] = ""
    table["p"][4], table["p"][9] = "1.5", "0"
    table["customer"][6] = table["customer"][5]
    with pytest.raises(DataError) as caught:
        read(tmp_path, table)
    said = str(caught.value)
    assert "label is missing in 2 of 600 rows (the first is line 4)" in said
    assert "decision is missing in 1 of 600 rows (the first is line 5)" in said
    assert (
        "propensity must be in (0, 1]. Got 1.5, 0.0 in 2 of 600 rows (the first is line 6)" in said
    )
    assert "4 mistakes" in said
    assert "keep in [rows]" in said


#: A mistake of each stage in which a table is read, and what is said of it.
OF_ALL_STAGES = {
    "age": ("old", "column 'age' must hold numbers, written 1,5"),
    "income": ("-999", "column 'income' is -999 in 12 of 600 rows"),
    "housing": (
        "tent",
        "feature 'housing' holds values that are not declared levels, in 12 of",
    ),
    "repaid": ("", "label is missing in 12 of 600 rows"),
    "decision": ("aprove", "column 'decision' has several spellings of one value: 'aprove'"),
    "p": ("1.5", "propensity must be in (0, 1]. Got 1.5 in 12 of 600 rows"),
    "savings": ("", "impact 'savings' is missing in 12 of 600 rows"),
    "customer": ("C00001", "row_id"),
    "other": ("?", "column 'other' must hold numbers. It does not in 12 of 600 rows"),
}


@pytest.mark.parametrize("columns", [list(OF_ALL_STAGES), ["housing", "savings"], ["p", "other"]])
def test_mistakes_of_all_stages_are_named_at_once_and_each_once(columns, tmp_path):
    table = CLEAN | {"housing": ["own", "rent"] * 300, "other": ["1", "2", "3"] * 200}
    for name in columns:
        table = each(name, lambda v, odd=OF_ALL_STAGES[name][0]: odd, 50)(table)
    text = study_text(more='[clean.age]\ndecimal = ","').replace(
        '"income"]', '"income", "housing", "other"]\ncategories = { housing = ["own", "rent"] }'
    )
    write(table, tmp_path / "loans.csv")
    with pytest.raises(DataError) as caught:
        StudyFile.loads(text, folder=tmp_path).read()
    said = str(caught.value)
    assert f"loans.csv: {len(columns)} mistakes:" in said
    assert [OF_ALL_STAGES[name][1] in said for name in columns] == [True] * len(columns), said
    assert said.count("Hint: ") == len(columns)


def test_a_condition_on_a_column_that_cannot_be_read_is_not_asked(tmp_path):
    table = each("age", lambda v: "old", 50)(each("savings", lambda v: "", 60)(CLEAN))
    defect = replace(DEFECTS["people who are not of the study"], more='[clean.age]\ndecimal = "."')
    with pytest.raises(DataError, match="2 mistakes"):
        read(tmp_path, table, defect)

"""Messy files: each defect leaves the right rows, or is an error that says what to do.

The truth is known. Approval raises savings by 1.5 for race B and by 1 for race A, so the truth of
every statement can be computed for any model; no defect may turn a verdict without a word.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import sqlite3
import sys
import warnings
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from elfair.errors import CertificateWarning, ElfairError
from elfair.planning import check
from elfair.records.tables import file_content
from elfair.study import StudyFile, fit_study

sys.path.insert(0, str(Path(__file__).parent))
from messy import DEFECTS, clean_table, each, study_text, write

CLEAN = clean_table()
N = len(CLEAN["age"])


def text(table=CLEAN, delimiter=","):
    file = io.StringIO()
    rows = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    rows.writerow(table)
    rows.writerows(zip(*table.values(), strict=True))
    return file.getvalue()


def read(folder, content, study=None):
    content = content if isinstance(content, bytes) else content.encode()
    (folder / "loans.csv").write_bytes(content)
    return StudyFile.loads(study or study_text(), folder=folder).read()


def total(**more):
    """The table with a line of totals below it."""
    last = dict.fromkeys(CLEAN, "") | {"customer": "Total"} | more
    last["income"] = str(sum(map(int, CLEAN["income"])))
    return text({name: [*column, last[name]] for name, column in CLEAN.items()})


LINES = text().splitlines()
LATIN = {**CLEAN, "race": [{"A": "Ä", "B": "B"}[v] for v in CLEAN["race"]]}

#: Files that are read as the clean one.
ALIKE = {
    "a mark of UTF-8": b"\xef\xbb\xbf" + text().encode(),
    "semicolons": text(delimiter=";"),
    "tabs": text(delimiter="\t"),
    "bars": text(delimiter="|"),
    "lines of another system": text().replace("\n", "\r\n"),
    "empty lines": text().replace("\n", "\n\n"),
    "lines of commas": "\n".join([*LINES[:100], *[","*7]*5, *LINES[100:]]),
    "a column without a name": "\n".join(f"{k}," + line if k else "," + line
                                         for k, line in enumerate(LINES)),
    "quotes around everything": "\n".join(
        ",".join(f'"{v}"' for v in line.split(",")) for line in LINES
    ),
    "names twice": "\n".join([LINES[0], *LINES]),
    "files below each other": "\n".join([*LINES[:200], LINES[0], *LINES[200:], LINES[0]]),
    "numbers with exponents": text(each("income", lambda v: f"{int(v):.4e}")(CLEAN)),
    "spaces around numbers": text(each("income", lambda v: f" {v} ", 3)(CLEAN)),
}  # fmt: skip

#: Files that are refused: what the error and its hint say.
REFUSED = {
    "Latin-1": (text(LATIN).encode("latin-1"), ("byte 0xc4", "CSV UTF-8")),
    "UTF-16": (text().encode("utf-16"), ("UTF-16", "CSV UTF-8")),
    "a title above the names": (
        "Loans of 2024\n" + text(), ("It has 1 name, but line 2 has 8 fields", "delete the lines")),
    "names in two lines": (
        "Customer,,,Group,Outcome,,,\n" + text(), ("It has 3 names, but line 2", "into one")),
    "names in capitals": (text({k.upper(): v for k, v in CLEAN.items()}), ("did you mean 'AGE'",)),
    "units below the names": (
        "\n".join([LINES[0], ",years,EUR,,,,,USD", *LINES[1:]]), ("'age' must hold", "1 of 601",
        'missing = ["years"] in [clean."age"]', 'missing = ["USD"] in [clean."savings"]')),
    "cut off": (text()[: len(text()) * 2 // 3], ("line 401 of loans.csv has 3 fields",)),
    "a field too many": (text().replace("C00005,", "C00005,x,"), ("line 7", "double quotes")),
    "an open quote": (text().replace("C00005", '"C00005'), ("never closed", "line 7")),
    "a line of totals": (total(), ("line 602", "column 'income'", "delete that line")),
    "a full line of totals": (
        total(race="A", repaid="deny", decision="deny", p="0.5", savings="1", age="1"),
        ("sum of all others", "1 of 601 rows", 'keep = ["`income` <')),
    "words in a feature": (
        text(each("income", lambda v: "high", 10)(CLEAN)), ("'income' must hold numbers",
        "60 of 600 rows (the first is line 2): 'high'", 'missing = ["high"] in [clean."income"]')),
    "words in a propensity": (
        text(each("p", lambda v: "often", 10)(CLEAN)), ("'p' must hold numbers", "60 of 600",
        'missing = ["often"] in [clean."p"]')),
    "dates in a feature": (
        text(each("age", lambda v: f"15/{int(v) % 9 + 1:02d}/19{v}")(CLEAN)),
        ("600 of 600 rows", 'date = "%d/%m/%Y" in [clean."age"]')),
    "dates that may be two": (
        text(each("age", lambda v: f"0{int(v) % 9 + 1}/0{int(v) % 9 + 1}/19{v}")(CLEAN)),
        ('date = "%d/%m/%Y" or date = "%m/%d/%Y"',)),
    "codes in a feature": (
        text(each("income", lambda v: "9999999", 10)(CLEAN)), ("is 9999999 in 60 of 600 rows",)),
    "no propensity": (
        text(each("p", lambda v: "0", 50)(CLEAN)), ("in (0, 1]", "12 of 600 rows")),
    "a log of propensities": (
        text(each("p", lambda v: f"{np.log(float(v)):.4f}")(CLEAN)), ("in (0, 1]", "600 of 600")),
    "propensity and impact swapped": (
        text({**CLEAN, "p": CLEAN["savings"], "savings": CLEAN["p"]}), ("propensity must be in",)),
    "missing decisions": (text(each("decision", lambda v: "", 10)(CLEAN)), ("60 of 600 rows",)),
    "missing impacts": (
        text(each("savings", lambda v: "", 10)(CLEAN)), ("60 of 600 rows (35 with race = A, 25",
        "missing_impact in [rows]")),
    "repeated people": (
        text({**CLEAN, "customer": [CLEAN["customer"][k // 2] for k in range(N)]}),
        ("row_id must be unique", "300 repeated rows", "unit")),
    "every row three times": (
        text({k: [x for x in v for _ in range(3)] for k, v in CLEAN.items()}),
        ("1,200 repeated rows", "unit")),
}  # fmt: skip


@pytest.fixture(scope="module")
def digest(tmp_path_factory):
    return read(tmp_path_factory.mktemp("clean"), text()).data.digest()


@pytest.mark.parametrize("name", ALIKE)
def test_a_file_is_read_as_the_clean_one(name, tmp_path, digest):
    rows = read(tmp_path, ALIKE[name])
    assert rows.data.digest() == digest
    assert rows.n_read == N + sum(part.n for part in rows.outside)


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_with_what_to_do(name, tmp_path):
    content, said = REFUSED[name]
    with pytest.raises(ElfairError) as caught:
        read(tmp_path, content)
    assert "Hint: " in str(caught.value)
    for words in said:
        assert words in str(caught.value)


def _zipped(name):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, text())
    return file.getvalue()


def _sqlite(folder):
    path = folder / "loans.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table people (age)")
        database.commit()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_zipped("xl/worksheets/sheet1.xml"), ("a .xlsx file", "saves a sheet as 'CSV UTF-8'")),
        (_zipped("loans.csv"), ("a .zip file", "unpack it first")),
        (gzip.compress(text().encode()), ("a .gz file", "unpack it first")),
        (_sqlite, ("a .sqlite file", 'source = "sqlite:///loans.sqlite"')),
        (lambda folder: file_content(pa.table(CLEAN), Path("a.parquet")),
         ("a .parquet file", "name it 'loans.parquet', and it is read")),
    ],
)  # fmt: skip
def test_another_format_is_known_by_its_content(content, said, tmp_path):
    content = content(tmp_path) if callable(content) else content
    with pytest.raises(ElfairError) as caught:
        read(tmp_path, content)
    for words in ("whatever its name says", *said):
        assert words in str(caught.value)


def test_lines_with_the_names_again_are_counted_and_no_row_gets_another_line(tmp_path):
    lines = ALIKE["files below each other"].splitlines()
    read_as = read(tmp_path, "\n".join(lines))
    assert read_as.changes == ("loans.csv: 2 lines with the names of the columns again, left out",)
    lines[300] = ",".join([(fields := lines[300].split(","))[0], "old", *fields[2:]])
    with pytest.raises(ElfairError, match="line 301"):
        read(tmp_path, "\n".join(lines))
    # A row that holds some of the names is a row.
    odd = text({name: [*column, name if name != "age" else "30"] for name, column in CLEAN.items()})
    with pytest.raises(ElfairError, match=r"1 of 601 rows"):
        read(tmp_path, odd)


def test_empty_rows_of_both_tables_do_not_stop_a_join(tmp_path):
    rest = {name: [*column, "", ""] for name, column in CLEAN.items() if name != "savings"}
    later = {name: [*CLEAN[name], ""] for name in ("customer", "savings")}
    write(later, tmp_path / "later.csv")
    joined = '[later]\nsource = "later.csv"\non = "customer"'
    rows = read(tmp_path, text(rest), study_text(more=joined))
    assert rows.data.digest() == read(tmp_path, text()).data.digest()
    assert rows.changes[0].endswith("600 of 600 rows have them; 0 of its 600 rows belong to none")


def test_empty_rows_are_counted(tmp_path):
    (part,) = read(tmp_path, ALIKE["lines of commas"]).outside
    assert (part.reason, part.n) == ("the row is empty", 5)


def test_a_code_that_is_meant_can_be_declared(tmp_path, digest):
    table = text(each("savings", lambda v: "-999", 100)(CLEAN))
    with pytest.raises(ElfairError, match=r"far from all other values"):
        read(tmp_path, table)
    meant = read(tmp_path, table, study_text(more='[clean.savings]\nvalues = { "-999" = -999 }'))
    assert (meant.data.impact("savings") == -999).sum() == 6


#: Defects that no value shows. The rows are read, and no verdict may rest on them in silence.
SILENT = {
    "P(approve), not P(taken)": {
        "p": [v if d == "approve" else str(round(1 - float(v), 2))
              for v, d in zip(CLEAN["p"], CLEAN["decision"], strict=True)]},
    "decision and label swapped": {"decision": CLEAN["repaid"], "repaid": CLEAN["decision"]},
    "propensities in another order": {"p": CLEAN["p"][::-1]},
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_what_no_value_shows_is_said_and_releases_nothing(name, tmp_path):
    """With the true propensities the same study releases a model."""
    write({**CLEAN, **SILENT[name]}, tmp_path / "loans.csv")
    study = StudyFile.loads(study_text(), folder=tmp_path)
    report = check(study.estimator(), study.read().data)
    assert {f.code for f in report.findings} & {"propensities_misfit", "assumption_violated"}
    try:
        said = fit_study(study).certificate
    except ElfairError as error:
        said = str(error)
    assert "propensit" in said if isinstance(said, str) else not said.passed
    write(CLEAN, tmp_path / "loans.csv")
    assert fit_study(StudyFile.loads(study_text(), folder=tmp_path)).certificate.passed


@pytest.mark.parametrize("odd", ["unknown", "", "A\u200b", "\u0410"])
def test_people_in_no_named_group_are_said(odd, tmp_path):
    write(each("race", lambda v: odd, 10)(CLEAN), tmp_path / "loans.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)  # of those that look like a mistake
        certificate = fit_study(StudyFile.loads(study_text(), folder=tmp_path)).certificate
    assert certificate.people.unnamed == 60
    assert "60" in certificate.explain()


GAIN = {"A": 1.0, "B": 1.5}


def truth(model):
    """By how much each group fares better than under the logged decisions, exactly."""
    age, income = (each.ravel() for each in np.meshgrid(range(18, 80), range(1000, 90000, 500)))
    # Approve is the first class.
    new = model.predict_proba(pd.DataFrame({"age": age, "income": income}))[:, 0]
    logged = 0.25 + 0.5 * (income > 40000)
    return {race: float(np.mean(new - logged) * by) for race, by in GAIN.items()}


#: Defects that can be together: one of each column, and at most one that adds rows.
TOGETHER = [
    chosen
    for size in (2, 3)
    for chosen in itertools.combinations(DEFECTS, size)
    if len({DEFECTS[name].column for name in chosen}) == size
    and sum(bool(DEFECTS[name].rows) for name in chosen) <= 1
    and "group of two columns" not in chosen
]
DRAWN = [TOGETHER[k] for k in np.random.default_rng(0).choice(len(TOGETHER), 40, False).tolist()]


@pytest.mark.parametrize("names", DRAWN, ids=" + ".join)
def test_defects_together_are_cured_together_and_never_pass_unseen(names, tmp_path, digest):
    chosen = [DEFECTS[name] for name in names]
    table = CLEAN
    for defect in sorted(chosen, key=lambda each: not each.rows):  # rows are added first
        table = defect.spoil(table)
    assert read(tmp_path, text(table), study_text(*chosen)).data.digest() == digest
    # Without one of the cures, rows are others and there is an error, or groups are others.
    for left in chosen:
        cures = [each for each in chosen if each is not left]
        if left.error:
            with pytest.raises(ElfairError):
                read(tmp_path, text(table), study_text(*cures)).data.digest()


def test_the_answer_on_a_cured_table_is_right_within_its_interval(tmp_path):
    """The truth of a released model is inside its bound, for every draw of three defects."""
    some = [chosen for chosen in DRAWN if len(chosen) == 3][:4]
    for seed, names in enumerate(some):
        table = clean_table(seed=seed + 1)
        chosen = [DEFECTS[name] for name in names]
        for defect in sorted(chosen, key=lambda each: not each.rows):
            table = defect.spoil(table)
        write(table, tmp_path / "loans.csv")
        outcome = fit_study(StudyFile.loads(study_text(*chosen), folder=tmp_path))
        if not outcome.certificate.passed:
            continue
        gained = truth(outcome.estimator)
        for result in outcome.certificate.constraints:
            race = "A" if "'A'" in result.statement else "B"
            assert -gained[race] <= result.upper

"""Files of other formats: every hint works."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner

from elfair.cli import main
from elfair.errors import DataError, InputError
from elfair.study.sources import read_table

TABLE = pd.DataFrame({"age": [31.0, 45.0, 28.0], "approved": ["yes", "no", "yes"]})


def hint_of(path):
    with pytest.raises(InputError) as caught:
        read_table(path)
    return str(caught.value).partition("Hint: ")[2]


def to_sas(path):
    pytest.importorskip("pyreadstat").write_xport(TABLE, path, file_format_version=5)


def to_spss(path):
    pytest.importorskip("pyreadstat").write_sav(TABLE, path)


def to_sheet(path):
    pytest.importorskip("openpyxl")
    TABLE.to_excel(path, index=False)


def packed(path):
    """The table as CSV in a file that is packed."""
    inside = path.parent / "inside" / "loans.csv"
    inside.parent.mkdir()
    TABLE.to_csv(inside, index=False)
    kind = path.suffix[1:]
    if kind in ("zip", "tar"):
        shutil.make_archive(str(path.with_suffix("")), kind, inside.parent)
    else:
        modules = {"gz": gzip, "bz2": bz2, "xz": lzma}
        path.write_bytes(modules[kind].compress(inside.read_bytes()))


#: How a file is made, and what the hint makes of it.
EXPORTED = {
    "loans.dta": (lambda path: TABLE.to_stata(path, write_index=False), "loans.parquet"),
    "loans.xpt": (to_sas, "loans.parquet"),
    "loans.sav": (to_spss, "loans.csv"),
    "loans.xlsx": (to_sheet, "loans.csv"),
    "loans.zip": (packed, "loans.csv"),
    "loans.tar": (packed, "loans.csv"),
    "loans.csv.gz": (packed, "loans.csv"),
    "loans.csv.bz2": (packed, "loans.csv"),
    "loans.csv.xz": (packed, "loans.csv"),
}


@pytest.mark.parametrize("name", EXPORTED)
@pytest.mark.parametrize("called", ["by its name", "loans.csv"])
def test_a_file_is_read_after_the_line_that_the_hint_shows(name, called, tmp_path, monkeypatch):
    """Also if its name says that it is a CSV file."""
    monkeypatch.chdir(tmp_path)
    make, made = EXPORTED[name]
    make(Path(name).absolute())
    if called == "loans.csv":
        Path(name).rename(called)
        with pytest.raises(DataError) as caught:
            read_table(called)
        if name == "loans.tar":  # its first bytes are the name of a file
            return
        hint = str(caught.value).partition("Hint: ")[2]
        Path(called).rename(re.search(r"name it '(.*?)'", hint)[1])
    else:
        hint = hint_of(name)
    exec(re.search(r"in Python[^:]*: (.*)", hint)[1])
    assert read_table(made).table.to_pydict() == TABLE.to_dict("list")


def test_a_sheet_keeps_what_its_cells_say(tmp_path, monkeypatch):
    """Words such as n/a are for the study file to declare, and whole numbers stay whole."""
    pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    cells = {"income": [100, "n/a", None], "pledge": ["None", "car", ""], "age": [1.5, 2, 3]}
    cells |= {"id": ["007", "008", "009"], "day": [pd.Timestamp(2024, 1, 5)] * 3}
    pd.DataFrame(cells).to_excel("loans.xlsx", index=False)
    exec(re.search(r"in Python[^:]*: (.*)", hint_of("loans.xlsx"))[1])
    read = read_table("loans.csv").table.to_pydict()
    assert read["income"] == ["100", "n/a", None]
    assert read["pledge"] == ["None", "car", None]
    assert read["age"] == [1.5, 2, 3]
    assert read["id"] == ["007", "008", "009"]
    assert read["day"] == ["2024-01-05 00:00:00"] * 3


@pytest.mark.parametrize("kind", ["db", "sqlite", "duckdb"])
@pytest.mark.parametrize("name", ["loans", "loans of 2024"])
def test_a_database_file_is_read_as_the_hint_says(kind, name, tmp_path, monkeypatch):
    path = tmp_path / f"bank.{kind}"
    if kind == "duckdb":
        name, people = "loans", TABLE  # noqa: F841 (DuckDB reads it)
        with duckdb.connect(str(path)) as database:
            database.execute("create table loans as select * from people")
    else:
        with closing(sqlite3.connect(path)) as database:
            TABLE.to_sql(name, database, index=False)
    hint = hint_of(path)
    source, query = re.search(r'source = "([^"]+)", query = "([^"]+)"', hint).groups()
    assert read_table(source, query=query).table.to_pydict() == TABLE.to_dict("list")
    command = re.search(r"elfair init (\S+) --query '(.*)'\.$", hint).groups()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["init", command[0], "--query", command[1]])
    assert done.exit_code == 0, done.output


def test_json_is_read_by_the_query_that_the_hint_shows(tmp_path):
    path = tmp_path / "loans.json"
    TABLE.to_json(path, orient="records")
    source, query = re.search(r'source = "([^"]+)" .* query = "([^"]+)"', hint_of(path)).groups()
    read = read_table(source, query=query, within=[tmp_path]).table
    assert read.to_pydict() == TABLE.to_dict("list")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("loans.xlsx", "CSV UTF-8"),
        ("loans.ods", "in UTF-8; or in Python (it needs odfpy)"),
        ("loans.rar", "unpack it first"),
        ("loans.sav", "SPSS saves it as CSV; or in Python (it needs pyreadstat): import pandas"),
        ("loans.sas7bdat", "encoding='infer'"),
        ("loans.rds", "write.csv(readRDS("),
        ("loans.txt", "use CSV or Parquet"),
    ],
)
def test_others_are_named(name, said, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    assert said in hint_of(tmp_path / name)

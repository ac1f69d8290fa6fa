"""Files of other formats: every hint works."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner

from elfair.cli import main
from elfair.errors import InputError
from elfair.study.sources import read_table

TABLE = pd.DataFrame({"age": [31.0, 45.0, 28.0], "approved": ["yes", "no", "yes"]})


def hint_of(path):
    with pytest.raises(InputError) as caught:
        read_table(path)
    return str(caught.value).partition("Hint: ")[2]


def test_a_file_of_stata_is_exported_by_the_line_that_the_hint_shows(tmp_path):
    path = tmp_path / "loans.dta"
    TABLE.to_stata(path, write_index=False)
    exec(hint_of(path).removeprefix("in Python: "))
    assert read_table(tmp_path / "loans.parquet").table.to_pydict() == TABLE.to_dict("list")


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
    assert read_table(source, query=query).table.to_pydict() == TABLE.to_dict("list")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("loans.xlsx", "CSV UTF-8"),
        ("loans.zip", "unpack it first"),
        ("loans.sav", "SPSS saves it as CSV; or in Python: import pandas; pandas.read_spss("),
        ("loans.rds", "write.csv(readRDS("),
        ("loans.txt", "use CSV or Parquet"),
    ],
)
def test_others_are_named(name, said, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    assert said in hint_of(tmp_path / name)

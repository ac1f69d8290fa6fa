"""Tables from real files and databases, and what is said of those that cannot be read."""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from elfair.errors import DataError, ElfairError, InputError, MissingPackageError
from elfair.study.sources import read_table

TABLE = pa.table(
    {
        "Age (years)": [31, 45, 60],
        'it\'s "quoted".x': [0.5, None, 2.5],
        "Größe": ["a", "b", None],
        "ok?": [True, False, True],
    }
)


def stream(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def ipc_file(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "t.csv": pa.csv.write_csv,
    "t.parquet": pa.parquet.write_table,
    "t.feather": pa.feather.write_feather,
    "file.arrow": ipc_file,
    "stream.arrow": stream,
}


def refused(kind=ElfairError, **arguments) -> str:
    with pytest.raises(kind) as caught:
        read_table(**arguments)
    assert isinstance(caught.value, ElfairError)
    assert str(caught.value).count("Hint: ") == 1
    return str(caught.value)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(name, tmp_path):
    WRITERS[name](TABLE, tmp_path / name)
    read = read_table(name, folder=tmp_path)
    assert read.table.to_pydict() == TABLE.to_pydict()
    assert read.digest == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert read.name == name
    some = read_table(tmp_path / name, columns=["ok?", 'it\'s "quoted".x'])
    assert some.table.to_pydict() == TABLE.select(["ok?", 'it\'s "quoted".x']).to_pydict()


def test_tsv(tmp_path):
    (tmp_path / "t.TSV").write_text("a\tb\n1\tx\n")
    assert read_table("t.TSV", folder=tmp_path).table.to_pydict() == {"a": [1], "b": ["x"]}


NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1, max_size=8),
    min_size=1,
    max_size=4,
    unique=True,
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(names=NAMES)
@pytest.mark.parametrize("name", [*WRITERS, "duckdb"])
def test_awkward_column_names_come_back(names, name, tmp_path):
    if name == "t.csv" and names[0].startswith("\ufeff"):
        names[0] = "x" + names[0]
    table = pa.table({each: [k, 7] for k, each in enumerate(names)})
    if name == "duckdb":
        if len({each.lower() for each in names}) < len(names):
            return  # DuckDB does not tell them apart
        WRITERS["t.parquet"](table, tmp_path / "t.parquet")
        read = read_table(
            "duckdb://", query="select * from 't.parquet'", columns=names[::-1], folder=tmp_path
        )
    else:
        WRITERS[name](table, tmp_path / name)
        read = read_table(name, columns=names[::-1], folder=tmp_path)
    assert read.table.to_pydict() == table.select(names[::-1]).to_pydict()


def test_columns_without_a_name_are_left_alone(tmp_path):
    (tmp_path / "t.csv").write_text(",a,b,,\n0,1,x,,\n1,2,y,,\n")
    assert read_table("t.csv", folder=tmp_path).table.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


def test_categories_and_decimals_become_plain(tmp_path):
    table = pa.table(
        {
            "c": pa.array(["x", "y", None]).dictionary_encode(),
            "d": pa.array([Decimal("0.25"), None, Decimal("1.50")]),
        }
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    read = read_table("t.parquet", folder=tmp_path).table
    assert read.to_pydict() == {"c": ["x", "y", None], "d": [0.25, None, 1.5]}
    assert read.schema.field("d").type == pa.float64()


# -- databases ----------------------------------------------------------------------------------


def test_a_duckdb_file_is_asked_and_never_changed(tmp_path):
    with duckdb.connect(str(tmp_path / "loans.db")) as database:
        database.execute("create table loans as select 1.5 as a, 'x' as \"b c\", 7 as id")
    before = (tmp_path / "loans.db").read_bytes()
    query = "select * from loans where a > 1"
    read = read_table("duckdb:///loans.db", query=query, columns=["b c", "a"], folder=tmp_path)
    assert read.table.to_pydict() == {"b c": ["x"], "a": [1.5]}
    assert read.digest is None
    absolute = read_table(f"duckdb:///{tmp_path}/loans.db", query=query)
    assert absolute.table.to_pydict() == {"a": [1.5], "b c": ["x"], "id": [7]}
    said = refused(source="duckdb:///loans.db", query="drop table loans", folder=tmp_path)
    assert "one single select statement. Got DROP instead" in said
    assert (tmp_path / "loans.db").read_bytes() == before


def test_a_query_reads_files_beside_the_study(tmp_path):
    folder = tmp_path / "it's here"
    folder.mkdir()
    for k in range(2):
        pa.parquet.write_table(TABLE, folder / f"part{k}.parquet")
    read = read_table(
        "duckdb://",
        query="select sum(\"Age (years)\") as s from 'part*.parquet'",
        folder=folder,
    )
    assert read.table.to_pydict() == {"s": [272.0]}


@pytest.fixture
def sqlite_file(tmp_path):
    database = sqlite3.connect(tmp_path / "loans.db")
    database.execute('create table loans ("p(approve)" real, race text, n integer, mixed)')
    rows = [(0.5, "A", 1, 1), (0.25, None, 2, "x"), (0.75, "50%:b", None, 2)]
    database.executemany("insert into loans values (?, ?, ?, ?)", rows)
    database.commit()
    database.close()
    return tmp_path


def test_sqlalchemy_asks_a_real_database(sqlite_file):
    # A per cent and a colon reach the database as they are.
    query = "select * from loans where race is null or race like '%0\\%:b%' escape '\\'"
    read = read_table(
        "sqlite:///loans.db", query=query, columns=["race", "p(approve)", "n"], folder=sqlite_file
    )
    assert read.table.to_pydict() == {
        "race": [None, "50%:b"],
        "p(approve)": [0.25, 0.75],
        "n": [2, None],
    }


def test_a_driver_gets_the_query_without_parameters(sqlite_file):
    """With them, drivers that mark parameters by a per cent would look for some in the query."""
    asked = []

    def listen(cursor, statement, context):
        asked.append(statement)

    event.listen(Engine, "do_execute_no_params", listen)
    try:
        read_table("sqlite:///loans.db", query="select '%s' as a", folder=sqlite_file)
    finally:
        event.remove(Engine, "do_execute_no_params", listen)
    assert asked[-1] == "select '%s' as a"


CHANGES = (
    "drop table loans",
    "delete from loans",
    "delete from loans returning *",
    "with a as (select 1) delete from loans returning n",
    "create table copy as select * from loans",
    "pragma user_version = 7",
    "attach 'other.db' as other",
    "vacuum into 'other.db'",
    "select 1 as a; drop table loans",
)


@pytest.mark.parametrize("query", CHANGES)
def test_a_query_that_is_no_select_is_refused(sqlite_file, query):
    before = (sqlite_file / "loans.db").read_bytes()
    said = refused(source="sqlite:///loans.db", query=query, folder=sqlite_file)
    assert said.startswith("a query must be one single select statement. Got ")
    assert (sqlite_file / "loans.db").read_bytes() == before
    assert [each.name for each in sqlite_file.iterdir()] == ["loans.db"]


@pytest.mark.parametrize("query", [*CHANGES[:5], "select 1 as a; drop table loans"])
def test_sqlite_itself_could_not_write(sqlite_file, query, monkeypatch):
    """The second lock holds without the first."""
    before = (sqlite_file / "loans.db").read_bytes()
    monkeypatch.setattr("elfair.study.sql.check_reads", lambda *_: None)
    said = refused(source="sqlite:///loans.db?mode=rwc", query=query, folder=sqlite_file)
    assert "readonly database" in said or "one statement at a time" in said
    assert (sqlite_file / "loans.db").read_bytes() == before


def test_an_awkwardly_named_sqlite_file_in_use_is_read(tmp_path):
    path = tmp_path / "50% of #1.db"
    database = sqlite3.connect(path)
    database.execute("pragma journal_mode = wal")
    database.execute("create table t as select 1 as a")
    database.commit()
    read = read_table(f"sqlite:///{path}", query="select a from t")
    assert read.table.to_pydict() == {"a": [1]}
    database.close()


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1 as a) to 'out.csv'",
        "copy (select 1 as a) to 'out.csv' (return_files)",
        "create table t as select 1 as a",
        "attach 'new.db'",
        "pragma version",
        "install httpfs",
        "load httpfs",
        "set threads = 1",
        "select 1 as a; select 2 as a",
        "call enable_logging(storage = 'file', storage_path = 'log')",
        "select * from enable_logging(storage = 'file', storage_path = 'log')",
        "from query('copy (select 1) to ''out.csv''')",
        "from 'https://example.org/t.parquet'",
        "-- select 1",
    ],
)
def test_a_query_to_duckdb_writes_nothing_and_goes_nowhere(query, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(source="duckdb://", query=query, folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "query",
    [
        "from range(1) t(a)",
        "values (0)",
        "with t as (select 0 as a) select * from t;",
        "(select 0)",
    ],
)
def test_duckdb_reads_every_form_of_select(query):
    assert list(read_table("duckdb://", query=query).table.to_pydict().values()) == [[0]]


def test_variables_of_the_process_are_no_tables():
    said = refused(source="duckdb://", query="from url")  # which is one where the query is asked
    assert "Table with name url does not exist" in said


class Server:
    """A driver that writes down what a server would be asked."""

    paramstyle, threadsafety, apilevel, Error = "pyformat", 1, "2.0", Exception
    description, rowcount = [("a", None, None, None, None, None, None)], 1

    def __init__(self):
        self.asked, self.notices, self.connection = [], [], self

    def connect(self, *_, **__):
        return self

    cursor = connect

    def execute(self, statement, *_):
        self.asked.append(statement)

    def fetchall(self):
        return [(1,)]

    def rollback(self):
        self.asked.append("rollback")

    def commit(self):
        self.asked.append("commit")

    def close(self):
        pass


@pytest.mark.parametrize(
    ("url", "first"),
    [
        ("postgresql+psycopg2://ann@host/db", ["SET TRANSACTION READ ONLY"]),
        ("mysql+mysqldb://ann@host/db", ["SET TRANSACTION READ ONLY"]),
        ("mariadb+mysqldb://ann@host/db", ["SET TRANSACTION READ ONLY"]),
        ("mssql+pymssql://ann@host/db", []),  # knows no such transactions
    ],
)
def test_a_server_is_asked_in_a_transaction_that_only_reads(url, first, monkeypatch):
    server, create = Server(), sqlalchemy.create_engine
    monkeypatch.setattr(
        sqlalchemy,
        "create_engine",
        lambda url: create(url, creator=server.connect, module=server, _initialize=False),
    )
    assert read_table(url, query="select a from t").table.to_pydict() == {"a": [1]}
    assert server.asked[: len(first) + 1] == [*first, "select a from t"]
    assert set(server.asked[len(first) + 1 :]) == {"rollback"}


@pytest.mark.parametrize(
    ("source", "query", "said"),
    [
        ("sqlite:///loans.db", "select mixed from loans", "values of one kind. Got int, str"),
        ("sqlite:///loans.db", "select nothing from loans", "refused the query"),
        ("sqlite:///lones.db", "select 1", "there is no database file 'lones.db'"),
        ("duckdb:///lones.db", "select 1", "there is no database file 'lones.db'"),
        ("duckdb://lones.db", "select 1", "must be duckdb:///file.db or duckdb://"),
        ("duckdb://", "select nothing", "DuckDB refused the query"),
        ("duckdb://", "-- select 1", "Got no statements"),
        ("duckdb://", "select 1 as a where false", "has no rows"),
        ("sqlite://", "select 1 as a, 2 as a", "2 columns called 'a'"),
        ("sqlite:///loans.db", None, "is a database, and needs a query"),
        ("sqlite:///loans.db", "  ", "is a database, and needs a query"),
        ("postgresql://host:port/db", "select 1", "is no address of a database"),
        ("sqlite+nosuch://", "select 1", "knows no database 'sqlite+nosuch'"),
    ],
)
def test_what_a_database_refuses_is_said(sqlite_file, source, query, said):
    assert said in refused(source=source, query=query, folder=sqlite_file)


def test_sqlite_makes_no_empty_database(tmp_path):
    refused(source="sqlite:///lones.db", query="select 1", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_password_is_never_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "geheim")
    for source in (
        "nosuch://ann:geheim@host/db",
        "nosuch://ann:${DB_PASSWORD}@host/db",
        "sqlite://ann:geheim@host/db.db",
        "postgresql://ann:geheim@localhost:1/db",
        "mssql://ann:ge@heim/geheim@host",
        "duckdb://ann:geheim@host",
        "duckdb:///loans.db?password=geheim",
        "sqlite:///:memory:?password=geheim",
    ):
        said = refused(source=source, query="select 1", folder=tmp_path)
        assert "geheim" not in said
        assert "heim/" not in said
    assert "geheim" not in refused(source="mysql://ann:geheim@host/db", folder=tmp_path)


@pytest.mark.parametrize(
    ("package", "source"), [("duckdb", "duckdb://"), ("sqlalchemy", "sqlite://")]
)
def test_a_missing_package_is_named_with_its_installation(package, source, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    said = refused(MissingPackageError, source=source, query="select 1")
    assert f"needs {package}" in said
    assert said.endswith("Hint: pip install 'elfair[sql]'.")


# -- files that cannot be read ------------------------------------------------------------------


def test_a_misspelt_file_is_recognised(tmp_path):
    (tmp_path / "loans.csv").write_text("a\n1\n")
    said = refused(InputError, source="loan.csv", folder=tmp_path)
    assert said == "there is no file 'loan.csv'.\nHint: did you mean 'loans.csv'?"
    assert "begins at the folder" in refused(source="no/such/table.csv", folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", b"", "t.csv is empty"),
        ("t.parquet", b"", "t.parquet is empty"),
        ("t.csv", b"a,b\n", "t.csv has no rows"),
        ("t.csv", b"a,b,a\n1,2,3\n", "t.csv has 2 columns called 'a'"),
        ("t.parquet", b"PAR1 and then nothing", "t.parquet is no readable parquet file"),
        ("t.feather", b"a,b\n1,2\n", "t.feather is no readable feather file"),
        ("t.arrow", b"ARROW1", "t.arrow is no readable arrow file"),
        ("t.xlsx", b"PK", "must be one of .csv, .tsv, .parquet, .arrow, .feather. Got '.xlsx'"),
        ("t", b"a\n1\n", "Got 'no ending'"),
    ],
)
def test_a_broken_file_is_refused(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert said in refused(source=name, folder=tmp_path)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "stream.arrow"])
def test_a_file_cut_off_or_damaged_is_refused(name, tmp_path):
    WRITERS[name](pa.table({"a": list(range(5000))}), tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    assert "is no readable" in refused(DataError, source=name, folder=tmp_path)


def test_duplicate_names_in_parquet(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    assert "2 columns called 'a'" in refused(source="t.parquet", folder=tmp_path)


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "parts").mkdir()
    assert "It is a folder" in refused(source="parts", folder=tmp_path)


def test_a_file_takes_no_query(tmp_path):
    said = refused(source="t.csv", query="select 1", folder=tmp_path)
    assert "is a file, which takes no query" in said


def test_missing_columns_are_all_named(tmp_path):
    (tmp_path / "t.csv").write_text("income,race\n1,A\n")
    said = refused(source="t.csv", columns=["incme", "race", "sex"], folder=tmp_path)
    assert "t.csv has no column 'incme', 'sex'; columns: 'income', 'race'." in said
    assert said.endswith("Hint: did you mean 'income'?")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a\n1\n")

    def denied(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)  # whoever runs the tests may read everything
    said = refused(source="t.csv", folder=tmp_path)
    assert "'t.csv' could not be read: Permission denied." in said


@pytest.mark.parametrize(
    "source",
    ["https://example.org/x.csv", "mongodb://x", "s3://bucket/x.parquet", "nosuch://host/db"],
)
@pytest.mark.parametrize("query", [None, "select 1"])
def test_what_no_driver_reads_is_told_what_can_be_read(source, query):
    said = refused(InputError, source=source, query=query)
    assert f"'{source}' cannot be read. Sources are files (.csv, .tsv, .parquet" in said
    assert "postgresql://" in said


def test_a_file_of_another_name_is_not_proposed(tmp_path):
    for name in ("log.csv", "a.csv"):
        (tmp_path / name).write_text("a\n1\n")
    for name in ("nothing.csv", "b.csv"):
        assert "begins at the folder" in refused(source=name, folder=tmp_path)
    assert "did you mean 'log.csv'?" in refused(source="logs.parquet", folder=tmp_path)

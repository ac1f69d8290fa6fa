"""Files that hold tables in a format that elfair does not read, and what to do with each."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

#: By the ending of a file: the program, or line of Python, that makes a file of it that is read.
_EXPORTED = {
    ".dta": "pandas.read_stata({file!r}).to_parquet({parquet!r})",
    ".sas7bdat": "pandas.read_sas({file!r}).to_parquet({parquet!r})",
    ".xpt": "pandas.read_sas({file!r}).to_parquet({parquet!r})",
    ".sav": "pandas.read_spss({file!r}).to_parquet({parquet!r})",
}
_SAVED = {
    ".xlsx": "a spreadsheet program saves a sheet as 'CSV UTF-8'",
    ".xls": "a spreadsheet program saves a sheet as 'CSV UTF-8'",
    ".ods": "a spreadsheet program saves a sheet as 'Text CSV', in UTF-8",
    ".sav": "SPSS saves it as CSV",
    ".rds": "in R: write.csv(readRDS({file!r}), {csv!r}, row.names = FALSE)",
}
_SQLITE = (".db", ".sqlite", ".sqlite3")
_JSON = (".json", ".jsonl", ".ndjson")


def advice(path: str | Path) -> str:
    """The text of a hint: how to get at the table in a file of another format.

    Parameters
    ----------
    path : str or Path
        The file; its ending says what it is.

    Examples
    --------
    >>> advice("loans.dta")
    "in Python: import pandas; pandas.read_stata('loans.dta').to_parquet('loans.parquet')"
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending in _SQLITE:
        return _database("sqlite", path, _tables(path))
    if ending in (".duckdb", ".ddb"):
        return _database("duckdb", path, [])
    if ending in _JSON:
        return f'source = "duckdb://" reads it, with query = "select * from \'{path}\'".'
    if ending in (".zip", ".gz", ".bz2", ".xz", ".7z", ".rar", ".tar"):
        return 'unpack it first; a pattern, such as source = "loans-*.csv", reads several files.'
    names = {
        "file": str(path),
        "parquet": str(path.with_suffix(".parquet")),
        "csv": str(path.with_suffix(".csv")),
    }
    told = [_SAVED[ending].format(**names)] if ending in _SAVED else []
    if _EXPORTED.get(ending):
        told.append("in Python: import pandas; " + _EXPORTED[ending].format(**names))
    return "; or ".join(told) or "use CSV or Parquet."


def _database(scheme: str, path: Path, tables: list[str]) -> str:
    # An absolute path begins with a slash of its own.
    name = tables[0] if tables else "loans"
    several = f" (its tables: {', '.join(tables)})" if len(tables) > 1 else ""
    return (
        f'give its address and a query: source = "{scheme}:///{path}", query = "select * from '
        f'{_quoted(name)}"{several}; or elfair init {scheme}:///{path} --query '
        f"'select * from {_quoted(name)}'."
    )


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"[{name}]"


def _tables(path: Path) -> list[str]:
    """The tables of a SQLite file; none if it is not one."""
    import sqlite3

    if not path.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            found = database.execute(
                "select name from sqlite_master where type in ('table', 'view') "
                "and name not like 'sqlite_%' order by name"
            )
            return [str(name) for (name,) in found]
    except sqlite3.Error:
        return []

"""Files that hold tables in a format that elfair does not read, and what to do with each."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

#: Of a file that is packed alone, by a module of Python.
_UNPACKED = "import {0}, pathlib; pathlib.Path({{stem!r}}).write_bytes({0}.open({{file!r}}).read())"
#: A column of a spreadsheet may mix words and numbers, so it becomes text, and stays as it is.
_SHEET = (
    "import pandas; pandas.read_excel({file!r}, dtype=object, na_filter=False)"
    ".to_csv({csv!r}, index=False)"
)
_SAS = "import pandas; pandas.read_sas({{file!r}}, encoding={0!r}).to_parquet({{parquet!r}})"
#: By the ending of a file: the line of Python that makes a file of it that is read.
_EXPORTED = {
    ".dta": "import pandas; pandas.read_stata({file!r}).to_parquet({parquet!r})",
    ".sas7bdat": _SAS.format("infer"),
    ".xpt": _SAS.format("latin-1"),
    ".sav": "import pandas; pandas.read_spss({file!r}).to_csv({csv!r}, index=False)",
    ".xlsx": _SHEET,
    ".xls": _SHEET,
    ".ods": _SHEET,
    ".zip": "import shutil; shutil.unpack_archive({file!r})",
    ".tar": "import shutil; shutil.unpack_archive({file!r})",
    ".gz": _UNPACKED.format("gzip"),
    ".bz2": _UNPACKED.format("bz2"),
    ".xz": _UNPACKED.format("lzma"),
}
#: What such a line needs beside pandas.
_NEEDED = {
    ".sav": "pyreadstat", ".xlsx": "openpyxl", ".xls": "xlrd", ".ods": "odfpy",
}  # fmt: skip
_SAVED = {
    ".xlsx": "a spreadsheet program saves a sheet as 'CSV UTF-8'",
    ".xls": "a spreadsheet program saves a sheet as 'CSV UTF-8'",
    ".ods": "a spreadsheet program saves a sheet as 'Text CSV', in UTF-8",
    ".sav": "SPSS saves it as CSV",
    ".rds": "in R: write.csv(readRDS({file!r}), {csv!r}, row.names = FALSE)",
}
_PACKED = (".zip", ".gz", ".bz2", ".xz", ".7z", ".rar", ".tar")
_SQLITE = (".db", ".sqlite", ".sqlite3")
_JSON = (".json", ".jsonl", ".ndjson")


#: How files begin that are no text, and the endings that their names should have.
_BEGINS = (
    (b"PK\x03\x04", ".zip"), (b"\xd0\xcf\x11\xe0", ".xls"), (b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"),
    (b"\xfd7zXZ", ".xz"), (b"7z\xbc\xaf", ".7z"), (b"Rar!", ".rar"),
    (b"SQLite format 3", ".sqlite"), (b"PAR1", ".parquet"), (b"ARROW1", ".arrow"),
    (b"$FL2", ".sav"), (b"<stata_dta>", ".dta"), (b"r\x02\x01\x00", ".dta"),
    (b"s\x02\x01\x00", ".dta"), (b"HEADER RECORD*******LIB", ".xpt"),
    (bytes(12) + b"\xc2\xea\x81`", ".sas7bdat"), (b"%PDF", ".pdf"),
)  # fmt: skip
#: What is inside an archive that is a spreadsheet.
_INSIDE = ((b"xl/", ".xlsx"), (b"opendocument.spreadsheet", ".ods"))


def ending_of(content: bytes) -> str | None:
    r"""The ending that the name of a file should have, by its content; None if it may be text.

    Parameters
    ----------
    content : bytes
        The file.

    Examples
    --------
    >>> ending_of(b"PAR1..."), ending_of(b"age,sex\n") is None
    ('.parquet', True)
    """
    found = next((ending for start, ending in _BEGINS if content.startswith(start)), None)
    if content[8:12] == b"DUCK":
        return ".duckdb"
    if found == ".zip":
        return next((ending for name, ending in _INSIDE if name in content), found)
    return found


def named(name: str, ending: str) -> str:
    """What a file should be called, if its ending is another than its name says.

    Parameters
    ----------
    name : str
        What it is called.
    ending : str
        Its ending, from `ending_of`.

    Examples
    --------
    >>> named("loans.csv", ".xlsx"), named("loans.csv", ".gz")
    ('loans.xlsx', 'loans.csv.gz')
    """
    packed = ending in (".gz", ".bz2", ".xz")
    return name + ending if packed else str(Path(name).with_suffix(ending))


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
    if ending not in {*_SAVED, *_EXPORTED, *_PACKED}:
        return "use CSV or Parquet."
    names = {
        "file": str(path),
        "stem": str(path.with_suffix("")),
        "parquet": str(path.with_suffix(".parquet")),
        "csv": str(path.with_suffix(".csv")),
    }
    told = [_SAVED[ending].format(**names)] if ending in _SAVED else []
    if ending in _EXPORTED:
        needed = f" (it needs {_NEEDED[ending]})" if ending in _NEEDED else ""
        told.append(f"in Python{needed}: {_EXPORTED[ending].format(**names)}")
    if ending in _PACKED:
        several = 'a pattern, such as source = "loans-*.csv", reads several files'
        return "; ".join(["unpack it first", several, *told])
    return "; or ".join(told)


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

"""A query must be one statement that only reads; anything else never reaches a database.

This looks at the words of a statement, and is one of two locks: connections are opened so that they
cannot write, as far as a database lets itself be told so.
"""

from __future__ import annotations

import re

from elfair.errors import InputError

#: How a statement that reads begins.
_READING = ("select", "with", "values", "from", "table")

#: Words that change something, in a common table expression ("with x as (delete ...)"), after a
#: select ("into", "for update"), or as a second statement that some databases want no ; before.
_CHANGING = re.compile(
    r"\b(alter|backup|call|create|dbcc|delete|drop|exec|execute|grant|insert|into|kill|merge"
    r"|reconfigure|restore|revoke|shutdown|truncate|update)\b",
    re.IGNORECASE,
)

_TEXT = r"'(?:[^']|'')*'"
_ESCAPED = r"'(?:[^'\\]|\\.|'')*'"
_NAME = r'"(?:[^"]|"")*"'
_BACKTICKS = r"`(?:[^`]|``)*`"
_BRACKETS = r"\[(?:[^\]]|\]\])*\]"
_DOLLARS = r"(?<!\w)\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
_LINE = r"--[^\n]*"
# What some databases execute (/*! ... */), and what they nest, is no comment.
_BLOCK = r"/\*(?!M?!)(?:(?!/\*).)*?\*/"

#: What each database takes for text, for a name and for a comment: what stands in there is no word
#: of the statement. To read one as another does would hide words from us.
_QUOTED = {
    "postgresql": (rf"\b[eE]{_ESCAPED}", _TEXT, _NAME, _DOLLARS, _LINE, _BLOCK),
    "mysql": (_ESCAPED, _ESCAPED.replace("'", '"'), _BACKTICKS, r"--(?=\s|$)[^\n]*", r"#[^\n]*",
              _BLOCK),
    "mssql": (_TEXT, _NAME, _BRACKETS, _LINE, _BLOCK),
    "sqlite": (_TEXT, _NAME, _BRACKETS, _BACKTICKS, _LINE, _BLOCK),
}  # fmt: skip
_QUOTED["mariadb"] = _QUOTED["mysql"]
_OTHERS = (_TEXT, _NAME, _LINE, _BLOCK)


def check_reads(query: str, database: str) -> None:
    """Raise unless a query is one statement that reads.

    Parameters
    ----------
    query : str
        What the database would be asked.
    database : str
        As SQLAlchemy calls it, such as ``"postgresql"``.

    Examples
    --------
    >>> check_reads("with a as (select 1) select * from a;  -- drop nothing", "sqlite")
    >>> check_reads("drop table loans", "sqlite")
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: a query must be one single select statement. Got 'drop ...' instead.
    Hint: ...
    """
    quoted = re.compile("|".join(_QUOTED.get(database, _OTHERS)), re.DOTALL)
    # A comment parts words; what is quoted stands for one.
    bare = quoted.sub(lambda found: " " if found[0][:1] in "-/#" else " x ", query)
    if (left := re.search(r"""['"`]|/\*""", bare)) is not None:
        raise not_reading(f"{left[0]} that is never closed")
    statements = [each for part in bare.split(";") if (each := part.strip())]
    if len(statements) != 1:
        raise not_reading(f"{len(statements) or 'no'} statements")
    first = re.match(r"[\s(]*(\w*)", statements[0])
    if first is None or first[1].lower() not in _READING:
        raise not_reading(repr(f"{first[1] if first else ''} ..."))
    if (word := _CHANGING.search(statements[0])) is not None:
        raise not_reading(f"one with the word {word[0]!r}")


def not_reading(got: str) -> InputError:
    """The error to raise for a query that is no reading statement.

    Parameters
    ----------
    got : str
        What it is instead.
    """
    return InputError(
        f"a query must be one single select statement. Got {got} instead.",
        hint="a query never changes anything: write 'select ...' or 'with ... select ...'; a "
        "column whose name is a word of SQL stands in double quotes.",
    )

"""What a report is made of, before it becomes HTML or Markdown.

A table beside each chart has the same numbers, so a format without charts loses nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeVar

from elfair.language.conditions import EVERYONE
from elfair.report.svg import Svg

Item = TypeVar("Item")


@dataclass(frozen=True)
class Code:
    """Text that a machine reads: statements, names of columns, commands.

    Parameters
    ----------
    text : str
        The text.
    """

    text: str


#: Part of a line of text.
Inline = str | Code
#: A line of text.
Line = Inline | tuple[Inline, ...]


def inlines(line: Line) -> tuple[Inline, ...]:
    """The parts of a line.

    Examples
    --------
    >>> inlines("rows"), inlines(("at ", Code("g")))
    (('rows',), ('at ', Code(text='g')))
    """
    return line if isinstance(line, tuple) else (line,)


def plain(line: Line) -> str:
    """A line as text.

    Examples
    --------
    >>> plain(("at ", Code("g")))
    'at g'
    """
    return "".join(part.text if isinstance(part, Code) else part for part in inlines(line))


def group_name(condition: str) -> Inline:
    """How lines of text show a group."""
    return condition if condition == EVERYONE else Code(condition)


@cache
def prose(part: str) -> dict[str, str]:
    """A part of templates/words.toml, such as the glossary."""
    text = files("elfair.report").joinpath("templates/words.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text)[part])


@dataclass(frozen=True)
class Paragraph:
    """Sentences.

    Parameters
    ----------
    line : Line
        The words.
    """

    line: Line


@dataclass(frozen=True)
class Lead:
    """The sentences that a reader must have read, in large letters.

    Parameters
    ----------
    sentences : tuple of str
        The sentences.
    """

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Bullets:
    """Items in a list.

    Parameters
    ----------
    items : tuple of Line
        The items.
    """

    items: tuple[Line, ...]


@dataclass(frozen=True)
class Definitions:
    """Terms and what they mean.

    Parameters
    ----------
    items : tuple of (Line, Line)
        Each term, and its meaning.
    """

    items: tuple[tuple[Line, Line], ...]


@dataclass(frozen=True)
class Verbatim:
    """Text exactly as written.

    Parameters
    ----------
    text : str
        The text.
    """

    text: str


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first cell of each row names the row.

    Parameters
    ----------
    caption : str
        What it shows.
    headings : tuple of str
        One for each column.
    rows : tuple of tuple of Line
        The cells.
    words : int
        How many columns, from the left, hold words; the others hold numbers.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]
    words: int = 1

    @classmethod
    def of(
        cls,
        caption: str,
        heading: str,
        items: Iterable[tuple[Line, Item]],
        columns: Mapping[str, Callable[[Item], Line]],
        *,
        words: int = 1,
    ) -> Table:
        """A table of named items: each column has a heading, and what it shows of an item.

        Examples
        --------
        >>> table = Table.of("Sizes", "group", [("A", 3), ("B", 4)], {"rows": str})
        >>> table.headings, table.rows
        (('group', 'rows'), (('A', '3'), ('B', '4')))
        """
        rows = tuple((name, *(cell(item) for cell in columns.values())) for name, item in items)
        return cls(caption, (heading, *columns), rows, words)

    @classmethod
    def of_facts(
        cls,
        caption: str,
        facts: Iterable[tuple[Line, Line]],
        headings: tuple[str, str] = ("what", "value"),
    ) -> Table:
        """A table of names and values."""
        return cls(caption, headings, tuple(facts), words=2)


#: Each mark of a chart, and what it means.
Legend = tuple[tuple[Svg, str], ...]


@dataclass(frozen=True)
class ChartRow:
    """A row of a chart: a name, a drawing on the scale that all rows share, and its numbers.

    Parameters
    ----------
    name : Line
        What it is about.
    drawing : Svg
        The drawing.
    numbers : tuple of (str, str)
        What each number is, and the number.
    verdict : str
        "passed", "FAILED", or nothing.
    """

    name: Line
    drawing: Svg
    numbers: tuple[tuple[str, str], ...]
    verdict: str = ""


@dataclass(frozen=True)
class RowChart:
    """A chart with one row for each of several things.

    Parameters
    ----------
    caption : str
        What it shows, and how to read it.
    rows : tuple of ChartRow
        The rows.
    axis : Svg
        The scale below them.
    legend : tuple of (Svg, str)
        Each mark, and what it means.
    """

    caption: str
    rows: tuple[ChartRow, ...]
    axis: Svg
    legend: Legend


@dataclass(frozen=True)
class SmallCharts:
    """Small charts side by side.

    Parameters
    ----------
    caption : str
        What they show, and how to read them.
    charts : tuple of (Line, Svg)
        The name and the drawing of each.
    legend : tuple of (Svg, str)
        Each mark, and what it means.
    """

    caption: str
    charts: tuple[tuple[Line, Svg], ...]
    legend: Legend = ()


@dataclass(frozen=True)
class Subsection:
    """A part of a section, under its own heading.

    Parameters
    ----------
    title : Line
        The heading.
    blocks : tuple of Block
        What it holds.
    """

    title: Line
    blocks: tuple[Block, ...]


class Alarm(Subsection):
    """Something that a reader must not overlook."""


class Folded(Subsection):
    """Details that a reader can unfold; paper shows them unfolded."""


Block = (
    Paragraph
    | Lead
    | Bullets
    | Definitions
    | Verbatim
    | Table
    | RowChart
    | SmallCharts
    | Subsection
)


@dataclass(frozen=True)
class Section(Subsection):
    """A section of a report.

    Parameters
    ----------
    title, blocks
        See `Subsection`.
    key : str
        Its name in links.
    """

    key: str


@dataclass(frozen=True)
class Document:
    """A whole report.

    Parameters
    ----------
    title : str
        What the study is called.
    about : tuple of str
        When, from what, by which program.
    verdict : str
        The result, in a sentence.
    tone : str
        "found", "none" or "nothing".
    opening : tuple of Block
        What stands right below the verdict.
    facts : tuple of (str, str)
        A few numbers, and what they are.
    parts : tuple of (str, tuple of Section)
        Everything else: the title of each part, and its sections.
    """

    title: str
    about: tuple[str, ...]
    verdict: str
    tone: str
    opening: tuple[Block, ...]
    facts: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, tuple[Section, ...]], ...]

"""What a report is made of, before it is HTML or Markdown.

Pictures show what a table beside them says in numbers, so that a format without pictures loses
nothing by leaving them out.
"""

from __future__ import annotations

from dataclasses import dataclass

from elfair.report.svg import Svg


@dataclass(frozen=True)
class Code:
    """Words that a machine reads: statements, names of columns, commands.

    Parameters
    ----------
    text : str
        The words.
    """

    text: str


#: Part of a line of text.
Inline = str | Code
#: A line of text.
Line = Inline | tuple[Inline, ...]


def parts(line: Line) -> tuple[Inline, ...]:
    """The parts of a line.

    Examples
    --------
    >>> parts("rows"), parts(("at ", Code("g")))
    (('rows',), ('at ', Code(text='g')))
    """
    return line if isinstance(line, tuple) else (line,)


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
    """Words and what they mean.

    Parameters
    ----------
    items : tuple of (Line, Line)
        Each word, and its meaning.
    """

    items: tuple[tuple[Line, Line], ...]


@dataclass(frozen=True)
class Verbatim:
    """Text as it was written.

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


@dataclass(frozen=True)
class Key:
    """What a mark in a picture means.

    Parameters
    ----------
    mark : Svg
        The mark.
    meaning : str
        In words.
    """

    mark: Svg
    meaning: str


@dataclass(frozen=True)
class Strip:
    """A line of a picture: a name, a drawing on the scale of all lines, and its numbers.

    Parameters
    ----------
    name : Line
        What it is about.
    drawing : Svg
        The drawing.
    numbers : tuple of (str, str)
        What each number is, and the number.
    mark : str
        "passed", "FAILED", or nothing.
    """

    name: Line
    drawing: Svg
    numbers: tuple[tuple[str, str], ...]
    mark: str = ""


@dataclass(frozen=True)
class Strips:
    """A picture with one line for each of several things.

    Parameters
    ----------
    caption : str
        What it shows, and how to read it.
    strips : tuple of Strip
        The lines.
    axis : Svg
        The scale below them.
    keys : tuple of Key
        What the marks mean.
    """

    caption: str
    strips: tuple[Strip, ...]
    axis: Svg
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class Panels:
    """Small pictures side by side.

    Parameters
    ----------
    caption : str
        What they show, and how to read them.
    panels : tuple of (Line, Svg)
        The name and the drawing of each.
    keys : tuple of Key
        What the marks mean.
    """

    caption: str
    panels: tuple[tuple[Line, Svg], ...]
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class Alarm:
    """What a reader must not overlook.

    Parameters
    ----------
    title : str
        In a sentence.
    blocks : tuple of Block
        The details.
    """

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Folded:
    """What is there for those who ask; paper shows it unfolded.

    Parameters
    ----------
    title : str
        What it is.
    blocks : tuple of Block
        What it holds.
    """

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Part:
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


Block = (
    Paragraph | Bullets | Definitions | Verbatim | Table | Strips | Panels | Alarm | Folded | Part
)


@dataclass(frozen=True)
class Section:
    """A section of a report.

    Parameters
    ----------
    key : str
        Its name in addresses.
    title : str
        The heading.
    blocks : tuple of Block
        What it holds.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]


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
    sections : tuple of Section
        All the rest.
    """

    title: str
    about: tuple[str, ...]
    verdict: str
    tone: str
    opening: tuple[Block, ...]
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]

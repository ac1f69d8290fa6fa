"""A document as one HTML page without scripts, as a fragment for notebooks, or as Markdown.

Markdown is CommonMark, with tables as GitHub writes them. It leaves charts out: the tables have the
same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from elfair.report import blocks
from elfair.report.blocks import Block, Code, Document, Inline, Line, inlines

if TYPE_CHECKING:
    from jinja2 import Environment


def page(document: Document) -> str:
    """The whole report, with everything it needs inside.

    Parameters
    ----------
    document : Document
        The report.
    """
    return _templates().get_template("page.html").render(document=document) + "\n"


def fragment(document: Document, shown: tuple[Block, ...]) -> str:
    """The verdict and some blocks, with styles that touch nothing else.

    Parameters
    ----------
    document : Document
        The report.
    shown : tuple of Block
        What follows the verdict.
    """
    return _templates().get_template("fragment.html").render(document=document, shown=shown)


def blocks_html(shown: Iterable[Block]) -> str:
    """Blocks alone, for a page that has the styles of a report.

    Parameters
    ----------
    shown : iterable of Block
        The blocks.
    """
    module: Any = _templates().get_template("blocks.html").module
    return str(module.blocks(tuple(shown)))


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("elfair.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inlines"] = inlines
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.tests["code"] = lambda part: isinstance(part, Code)
    return environment


#: Characters that Markdown, or HTML inside it, would read as markup.
SPECIAL = re.compile(r"([\\`*_\[\]<>&|#~!])")

#: What Markdown would read, at the beginning of a paragraph, as a list item or a rule.
LIST = re.compile(r"^(\d*)([-+=.)])(?=\s|\2|$)")


def markdown(document: Document) -> str:
    """The whole report.

    Parameters
    ----------
    document : Document
        The report.
    """
    pieces = [f"# {_text(document.verdict)}", _paragraph(document.title)]
    if document.about:
        pieces.append(_paragraph(" · ".join(document.about)))
    pieces += _blocks(document.opening)
    pieces += ["\n".join(f"- {_text(what)}: {_text(value)}" for value, what in document.facts)]
    for title, sections in document.parts:
        pieces.append(f"## {_text(title)}")
        for section in sections:
            pieces += [f"### {_line(section.title)}", *_blocks(section.blocks)]
    return "\n\n".join(filter(None, pieces)) + "\n"


def _blocks(shown: tuple[Block, ...]) -> list[str]:
    return [piece for block in shown for piece in _block(block)]


def _block(block: Block) -> list[str]:
    match block:
        case blocks.Paragraph():
            return [_paragraph(block.line)]
        case blocks.Lead():
            return [f"**{_paragraph(each)}**" for each in block.sentences]
        case blocks.Bullets():
            return ["\n".join(f"- {_line(item)}" for item in block.items)]
        case blocks.Definitions():
            return ["\n".join(f"- **{_line(term)}**: {_line(what)}" for term, what in block.items)]
        case blocks.Verbatim():
            return [_fenced(block.text)]
        case blocks.Table():
            return [f"*{_text(block.caption)}*", _table(block)]
        case blocks.Alarm():
            pieces = [f"**{_line(block.title)}**", *_blocks(block.blocks)]
            return ["> " + piece.replace("\n", "\n> ") for piece in pieces]
        case blocks.Folded():
            return _blocks(block.blocks)
        case blocks.Subsection():
            return [f"#### {_line(block.title)}", *_blocks(block.blocks)]
        case blocks.RowChart() if any(row.verdict for row in block.rows):
            return [_verdicts(block)]
        case blocks.RowChart() | blocks.SmallCharts():
            return []


def _verdicts(chart: blocks.RowChart) -> str:
    """The numbers of a chart in words."""
    return "\n".join(
        f"- {_line(row.name)}: {_text(', '.join(map(' '.join, row.numbers)))}, "
        f"**{_text(row.verdict)}**"
        for row in chart.rows
    )


def _table(table: blocks.Table) -> str:
    rule = ["---" if k < table.words else "---:" for k in range(len(table.headings))]
    rows = [[_text(heading) for heading in table.headings], rule]
    rows += [[_cell(cell) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(cell: Line) -> str:
    # In a table a bar ends the cell, even inside code, unless a backslash precedes it.
    return "".join(
        _inline(part).replace("|", "\\|") if isinstance(part, Code) else _inline(part)
        for part in inlines(cell)
    )


def _paragraph(line: Line) -> str:
    return LIST.sub(r"\1\\\2", _line(line).strip())


def _line(line: Line) -> str:
    return "".join(map(_inline, inlines(line)))


def _inline(part: Inline) -> str:
    return _code(part.text) if isinstance(part, Code) else _text(part)


def _text(text: str) -> str:
    """Plain words on one line, none of which is read as markup."""
    return SPECIAL.sub(r"\\\1", _on_one_line(text))


def _code(text: str) -> str:
    """Code on one line, between more backticks than it has in a row."""
    text = _on_one_line(text)
    ticks = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else ""


def _on_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _fenced(text: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)

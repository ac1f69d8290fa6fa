"""A document as one HTML page without scripts, or as a fragment for notebooks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from elfair.report.blocks import Block, Code, Document, parts

if TYPE_CHECKING:
    from jinja2 import Environment


def page(document: Document) -> str:
    """The whole report: everything it needs is inside.

    Parameters
    ----------
    document : Document
        The report.
    """
    return _templates().get_template("page.html").render(document=document) + "\n"


def fragment(document: Document, shown: tuple[Block, ...]) -> str:
    """The verdict and some blocks; its styles touch nothing else.

    Parameters
    ----------
    document : Document
        The report.
    shown : tuple of Block
        What follows the verdict.
    """
    return _templates().get_template("fragment.html").render(document=document, shown=shown)


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
    environment.filters["parts"] = parts
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.tests["code"] = lambda part: isinstance(part, Code)
    return environment

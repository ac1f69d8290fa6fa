"""From constraint text to a tree. A grammar reads the text; it is never evaluated as code."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from elfair.errors import ConstraintError
from elfair.language.expressions import Expression, Statement
from elfair.language.reading import Reader
from elfair.language.tree import Span, point_at

if TYPE_CHECKING:
    from lark import Lark
    from lark.exceptions import UnexpectedInput

_LONGEST = 20_000  # characters
_DEEPEST = 50  # nested brackets; reading, printing and comparing trees is recursive

_QUOTED_OR_BRACKET = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|[()\[\]]""", re.DOTALL
)

# Hints for common mistakes, by the text at which parsing stops.
_HINTS = {
    "=": "compare with ==, and bound a statistic with <= or >=.",
    "|": "write a statistic with square brackets and one bar, E[impact | cond]; join conditions "
    "with 'or'.",
    "&": "write 'and'.",
    "not": "use 'not' only inside a condition.",
    "AND": "write 'and' in lower case.",
    "OR": "write 'or' in lower case.",
    "'": "close the quote; inside it, put a backslash before the same quote.",
    '"': "close the quote; inside it, put a backslash before the same quote.",
    "`": "close the backtick.",
    "≤": "write <=.",
    "≥": "write >=.",
    "%": "write a share as a number: 0.05, not 5%.",
}
_EXAMPLE = "write a constraint like E[impact | race == 'Black'] >= 0."


def parse(text: str) -> Statement:
    """Read a constraint.

    Parameters
    ----------
    text : str
        For example ``"abs(PR[race == 'A'] - PR[race == 'B']) <= 0.1 and accuracy >= 0.75"``.

    Returns
    -------
    Statement
        Its nodes know their place in the text, so later errors can point at it.

    Raises
    ------
    ConstraintError
        If the text is not a constraint; the message shows where.

    Examples
    --------
    >>> print(parse("0.2 <= PR <= 0.4"))
    PR >= 0.2 and PR <= 0.4
    """
    return _parsed(text) if isinstance(text, str) else _read(text)


def _read(text: str) -> Statement:
    return Reader(text).constraint(_tree(text, "a constraint", _EXAMPLE))


_parsed = lru_cache(maxsize=256)(_read)  # a study reads the same few texts many times


def parse_expression(text: str) -> Expression:
    """Read an expression, such as an objective: text without an inequality.

    Parameters
    ----------
    text : str
        For example ``"E[profit] - 2 * PR[race == 'A']"``.

    Returns
    -------
    Expression

    Raises
    ------
    ConstraintError
        If the text is not an expression; the message shows where.

    Examples
    --------
    >>> print(parse_expression("min(E[profit | race == 'A'], E[profit | race == 'B'])"))
    min(E[profit | race == 'A'], E[profit | race == 'B'])
    """
    return Reader(text).expression(_tree(text, "an expression", "write one like E[profit]."))


def _tree(text: str, what: str, example: str) -> Any:
    if not isinstance(text, str) or not text.strip():
        raise ConstraintError(f"{what} must be non-empty text. Got {text!r} instead.", hint=example)
    _check_size(text)
    from lark.exceptions import UnexpectedInput

    try:
        return _grammar().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    from lark import Lark

    grammar = files("elfair.language").joinpath("constraint.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", propagate_positions=True)


def _check_size(text: str) -> None:
    if len(text) > _LONGEST:
        raise ConstraintError(
            f"a constraint may have at most {_LONGEST:,} characters. Got {len(text):,}.",
            hint="pass several constraints, or build it in Python: col('zip').isin(codes).",
        )
    depth = 0
    for match in _QUOTED_OR_BRACKET.finditer(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(match.group(), 0)
        if depth > _DEEPEST:
            raise point_at(
                f"brackets may be nested at most {_DEEPEST} deep.",
                Span(text, match.start(), match.end()),
                "remove the brackets that change nothing.",
            )


def _syntax_error(text: str, error: UnexpectedInput) -> ConstraintError:
    token = getattr(error, "token", None)
    if token is not None and token.type == "$END":
        end = len(text.rstrip())
        return point_at("the text ends too soon.", Span(text, end, end), _EXAMPLE)
    start = error.pos_in_stream or 0
    got = text[start] if token is None else str(token)
    place = Span(text, start, start + len(got))
    return point_at(f"unexpected {got!r} here.", place, _HINTS.get(got, _EXAMPLE))

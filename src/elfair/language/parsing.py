"""From constraint text to a tree: what names mean, and error messages for what is wrong.

A grammar reads the text; it is never evaluated as code.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, reduce
from importlib.resources import files
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from elfair.errors import ConstraintError, did_you_mean
from elfair.language import build, conditions, expressions
from elfair.language.conditions import RATES, Column, Condition, Decision, Literal, Operand
from elfair.language.distribution import Statistic
from elfair.language.expressions import Expression, Mean, Statement, joined, rate
from elfair.language.tree import Node, Span, check_depth, covering, point_at

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

_AVERAGES = ("E", "E_logged", "P")
_FUNCTIONS: dict[str, Callable[..., Expression]] = {
    "abs": operator.abs,
    "max": build.maximum,
    "min": build.minimum,
}
_STATISTICS = (*_AVERAGES, *RATES, *build.BEYOND_THE_MEAN)
_ARITHMETIC: dict[str, Callable[[Expression, Expression], Expression]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
# In words, how many numbers a statistic takes.
_NUMBERS = ("no number", "one number", "two numbers", "three numbers")
_OPERANDS = {str(each()): each for each in (conditions.Label, Decision, conditions.Positive)}
_TRUTH = {"true": True, "True": True, "false": False, "False": False}
_ESCAPE = re.compile(r"""\\([\\'"`])""")

AnyNode = TypeVar("AnyNode", bound=Node)


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
    return _shallow(_Reader(text).constraint, _tree(text, "a constraint", _EXAMPLE))


def _shallow(read: Callable[[Any], AnyNode], tree: Any) -> AnyNode:
    """What is read from a tree; one that is too deep is refused before anything recurses."""
    try:
        node = read(tree)
    except RecursionError:
        raise ConstraintError(
            "this text is nested too deep to be read.", hint="write it with fewer operations."
        ) from None
    check_depth(node)
    return node


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
    tree = _tree(text, "an expression", "write one like E[profit].")
    return _shallow(_Reader(text).expression, tree)


def parse_condition(text: str) -> Condition:
    """Read a condition: what constraints write after the bar.

    Parameters
    ----------
    text : str
        For example ``"18 <= age < 65 and sex in ['F', 'M']"``.

    Returns
    -------
    Condition

    Raises
    ------
    ConstraintError
        If the text is not a condition; the message shows where.

    Examples
    --------
    >>> print(parse_condition("code in [3, 4] or not age < 18"))
    code in [3, 4] or not age < 18
    """
    example = "write one like age >= 18, or race in ['A', 'B']."
    tree = _tree(text, "a condition", example, start="disjunction")
    return _shallow(_Reader(text).condition, tree)


def _tree(text: str, what: str, example: str, *, start: str = "start") -> Any:
    if not isinstance(text, str) or not text.strip():
        raise ConstraintError(f"{what} must be non-empty text. Got {text!r} instead.", hint=example)
    _check_size(text)
    from lark.exceptions import UnexpectedInput

    try:
        return _grammar().parse(text, start=start)
    except UnexpectedInput as error:
        raise _syntax_error(text, error, example) from None


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    from lark import Lark

    grammar = files("elfair.language").joinpath("constraint.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        propagate_positions=True,
        start=["start", "disjunction"],
    )


def _check_size(text: str) -> None:
    if len(text) > _LONGEST:
        raise ConstraintError(
            f"a constraint may have at most {_LONGEST:,} characters. Got {len(text):,}.",
            hint="pass several constraints, or build it in Python: col('zip').isin(codes).",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConstraintError(
            f"a constraint must be text. Got {error.object[error.start : error.end]!r}, which is "
            "half a character.",
            hint="read the file that it comes from in its own encoding.",
        ) from None
    depth = 0
    for match in _QUOTED_OR_BRACKET.finditer(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(match.group(), 0)
        if depth > _DEEPEST:
            raise point_at(
                f"brackets may be nested at most {_DEEPEST} deep.",
                Span(text, match.start(), match.end()),
                "remove the brackets that change nothing.",
            )


def _syntax_error(text: str, error: UnexpectedInput, example: str) -> ConstraintError:
    token = getattr(error, "token", None)
    if token is not None and token.type == "$END":
        end = len(text.rstrip())
        return point_at("the text ends too soon.", Span(text, end, end), example)
    start = error.pos_in_stream or 0
    got = text[start] if token is None else str(token)
    place = Span(text, start, start + len(got))
    return point_at(f"unexpected {got!r} here.", place, _HINTS.get(got, example))


class _Reader:
    """Reads the grammar's trees of one text.

    The trees are typed ``Any``: the grammar, not the type checker, knows their children.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def constraint(self, tree: Any) -> Statement:
        """The whole text as a statement."""
        (child,) = tree.children
        if tree.data == "bare":
            raise point_at(
                "the constraint has no inequality.",
                self._span(tree),
                "compare it with a number, as in accuracy >= 0.75.",
            )
        return self._statement(child)

    def expression(self, tree: Any) -> Expression:
        """The whole text as an expression."""
        (child,) = tree.children
        if tree.data != "bare":
            raise point_at(
                "expected an expression. Got an inequality instead.",
                self._span(tree),
                "write an objective like E[profit]; inequalities belong in constraints=.",
            )
        return self._expression(child)

    def _statement(self, tree: Any) -> Statement:
        if tree.data == "chain":
            return self._chain(tree)
        kind = expressions.All if tree.data == "all" else expressions.AnyOf
        return joined(kind, tuple(map(self._statement, tree.children)), self._span(tree))

    def _chain(self, tree: Any) -> Statement:
        sides = [self._expression(side) for side in tree.children[::2]]
        links = []
        for index, relation in enumerate(tree.children[1::2]):
            left, right = sides[index], sides[index + 1]
            if relation in ("<", ">"):
                raise expressions.strict_inequality(self._span(relation))
            if relation in ("==", "!="):
                raise point_at(
                    "exact equality can never be certified."
                    if relation == "=="
                    else "'!=' cannot be certified: it allows values arbitrarily close.",
                    self._span(relation),
                    "bound the difference, as in abs(PR[race == 'A'] - PR[race == 'B']) <= 0.1.",
                )
            low, high = (left, right) if relation == "<=" else (right, left)
            links.append(expressions.AtMost(low, high, span=covering(left, right)))
        return joined(expressions.All, tuple(links), self._span(tree))

    def _expression(self, tree: Any) -> Expression:
        match tree.data:
            case "number":
                (token,) = tree.children
                return expressions.Number(float(token), span=self._span(tree))
            case "group":
                node = self._expression(tree.children[0])
            case "negative":
                *signs, atom = tree.children
                node = self._expression(atom)
                node = -node if len(signs) % 2 else node
            case "name":
                node = self._named(tree, tree.children[0])
            case "statistic":
                node = self._statistic(tree)
            case "call":
                node = self._call(tree)
            case _:  # "sum" and "product"
                first, *rest = tree.children
                node = self._expression(first)
                for sign, term in zip(rest[::2], rest[1::2], strict=True):
                    node = _ARITHMETIC[sign](node, self._expression(term))
        return self._at(tree, node)

    def _named(self, tree: Any, name: str) -> Expression:
        if name in RATES:
            return rate(name, span=self._span(tree))
        if name in _STATISTICS or name in _FUNCTIONS:
            raise point_at(
                f"'{name}' does not say what it is about.",
                self._span(tree),
                "write E[impact], P[decision == 1], median[impact], abs(...) or max(...).",
            )
        raise self._unknown(tree.children[0], f"the average of an impact is E[{name}].")

    def _statistic(self, tree: Any) -> Expression:
        head, *inside = tree.children
        if head not in _STATISTICS:
            hint = f"write {head}(...)." if head in _FUNCTIONS else "check the name."
            raise self._unknown(head, hint)
        given = None
        if inside[-1].data == "given":
            given = self.condition(inside.pop().children[0])
        if head in build.BEYOND_THE_MEAN:
            return self._distribution(head, inside, given)
        if len(inside) > 1:
            raise point_at(
                f"'{head}' takes one entry before the bar. Got {len(inside)}.",
                self._span(inside[1]),
                "join conditions with 'and' or 'or'.",
            )
        if head in _AVERAGES:
            of = self._averaged(head, inside[0])
            if isinstance(of, Condition) and head == "P":
                return build.P(of, given=given)
            return Mean(of, given, logged=head == "E_logged")
        if given is not None:
            raise point_at(
                f"'{head}' takes only a condition. Got an entry before the bar as well.",
                self._span(inside[0]),
                f"write {head}[{given}].",
            )
        return rate(head, self.condition(inside[0]), self._span(head))

    def _distribution(self, head: Any, inside: list[Any], given: Condition | None) -> Expression:
        make = build.BEYOND_THE_MEAN[head]
        counts = _counts(make)
        name, *shares = (self._operand_or_condition(tree) for tree in inside)
        if not isinstance(name, Column):
            raise point_at(
                f"{head} takes the name of an impact. Got '{name}' instead.",
                name.span,
                f"write {head}[impact{', 0.1' * counts[-1]}].",
            )
        numbers = [
            s.value for s in shares if isinstance(s, Literal) and not isinstance(s.value, str)
        ]
        if len(numbers) < len(shares) or len(numbers) not in counts:
            raise point_at(
                f"{head} takes {' or '.join(map(_NUMBERS.__getitem__, counts))} after the impact. "
                f"Got {', '.join(map(str, shares)) or 'none'}.",
                self._span(inside[-1]),
                "a share of people is a number between 0 and 1: quantile[impact, 0.1], "
                "CVaR[impact, 0.1], IQR[impact, 0.25, 0.75].",
            )
        try:
            node = make(name.name, *numbers, given=given)
        except ConstraintError as wrong:  # raised by `build`, which does not know the text
            place = covering(shares[0], shares[-1])
            raise point_at(str(wrong.args[0]).split("\nHint: ")[0], place, wrong.hint) from None
        return replace(node, of=name) if isinstance(node, Statistic) else node

    def _averaged(self, head: str, tree: Any) -> Column | Condition | Decision:
        node = self._operand_or_condition(tree)
        if isinstance(node, Condition) or (isinstance(node, Column | Decision) and head != "P"):
            return node
        if head == "P":
            raise point_at(
                f"P takes an event, such as decision == 1. Got '{node}' instead.",
                node.span,
                f"the average of an impact is E[{node}].",
            )
        raise point_at(
            f"{head} takes the name of an impact, or an event. Got '{node}' instead.",
            node.span,
            "an event is a comparison, such as decision == 1.",
        )

    def _call(self, tree: Any) -> Expression:
        head, *inside = tree.children
        if head not in _FUNCTIONS:
            known = head in _STATISTICS
            hint = f"{head} takes square brackets: {head}[...]." if known else "check the name."
            raise self._unknown(head, hint, "function")
        if head == "abs" and len(inside) != 1:
            raise point_at(
                f"abs takes one expression. Got {len(inside)}.",
                self._span(tree),
                "write abs(a - b).",
            )
        return _FUNCTIONS[head](*map(self._expression, inside))

    def _unknown(self, name: Any, hint: str, kind: str = "statistic") -> ConstraintError:
        known = tuple(_FUNCTIONS) if kind == "function" else _STATISTICS
        if name not in (*_STATISTICS, *_FUNCTIONS):
            hint = did_you_mean(name, known, hint)
        message = f"no {kind} '{name}'; there are: {', '.join(known)}."
        return point_at(message, self._span(name), hint)

    def condition(self, tree: Any) -> Condition:
        """A part of the text, or all of it, as a condition."""
        node = self._operand_or_condition(tree)
        if isinstance(node, Condition):
            return node
        raise point_at(
            f"'{node}' is not a condition; a condition compares.",
            node.span,
            f"write {node if isinstance(node, Column) else 'race'} == 'A', or == 1, or == true.",
        )

    def _operand_or_condition(self, tree: Any) -> Operand | Condition:
        match tree.data:
            case "disjunction" | "conjunction":
                join = operator.or_ if tree.data == "disjunction" else operator.and_
                return self._at(tree, reduce(join, map(self.condition, tree.children)))
            case "negation":
                *signs, part = tree.children
                node = self.condition(part)
                return self._at(tree, ~node if len(signs) % 2 else node)
            case "comparisons":
                return self._comparisons(tree)
            case "membership":
                return self._membership(tree)
        return self._operand(tree)

    def _comparisons(self, tree: Any) -> Condition:
        sides = [self._operand(side) for side in tree.children[::2]]
        links: list[Condition] = [
            conditions.Compare(left, str(relation), right, span=covering(left, right))
            for left, relation, right in zip(
                sides[:-1], tree.children[1::2], sides[1:], strict=True
            )
        ]
        return self._at(tree, reduce(operator.and_, links))

    def _membership(self, tree: Any) -> Condition:
        left, *rest = tree.children
        negated = getattr(rest[0], "type", None) == "NOT"
        values = []
        for item in map(self._operand, rest[1:] if negated else rest):
            if not isinstance(item, Literal):
                raise point_at(
                    f"the list after 'in' must hold values. Got '{item}' instead.",
                    item.span,
                    f"put text in quotes: '{item}'.",
                )
            values.append(item)
        member = conditions.Member(self._operand(left), tuple(values), span=self._span(tree))
        return self._at(tree, ~member) if negated else member

    def _operand(self, tree: Any) -> Operand:
        span = self._span(tree)
        *sign, token = tree.children
        match tree.data:
            case "column":
                return Column(_unquoted(token), span=span)
            case "text":
                return Literal(_unquoted(token), span=span)
            case "value":
                return Literal(-_number(token) if sign else _number(token), span=span)
        if token in _TRUTH:  # "word"
            return Literal(_TRUTH[token], span=span)
        if token in _OPERANDS:
            return _OPERANDS[token](span=span)
        return Column(str(token), span=span)

    def _span(self, item: Any) -> Span:
        place = getattr(item, "meta", item)  # the place of a tree is in .meta, of a token in itself
        return Span(self._text, place.start_pos, place.end_pos)

    def _at(self, tree: Any, node: AnyNode) -> AnyNode:
        return replace(node, span=self._span(tree))


def _counts(make: Callable[..., Expression]) -> list[int]:
    """How many numbers a statistic may take after the impact: those without a default, or all."""
    found = signature(make).parameters.values()
    numbers = [each for each in found if each.kind is each.POSITIONAL_OR_KEYWORD][1:]
    return sorted({sum(each.default is each.empty for each in numbers), len(numbers)})


def _number(text: str) -> int | float:
    # Integers stay exact: a row id may be beyond the integers of float64.
    return int(text) if text.isdecimal() and float(text) < 1e300 else float(text)


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(r"\1", text[1:-1])

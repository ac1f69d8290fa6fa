"""What all nodes of a constraint share: a place in the text they were read from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NoReturn, TypeVar

from elfair.errors import ConstraintError

_SHOWN_WIDTH = 100  # characters of a long line that an error shows around the problem


@dataclass(frozen=True)
class Span:
    """A stretch of constraint text, ``text[start:end]``.

    Examples
    --------
    >>> Span("accuracy >= 0.75", 0, 8).excerpt
    'accuracy'
    """

    text: str
    start: int
    end: int

    @property
    def excerpt(self) -> str:
        """The stretch itself."""
        return self.text[self.start : self.end]

    def underlined(self) -> str:
        """The line of text that holds the span, and a line of carets under the span."""
        first = self.text.rfind("\n", 0, self.start) + 1
        line = self.text[first:].split("\n", 1)[0].replace("\t", " ")
        column = self.start - first
        width = max(1, min(self.end - self.start, len(line) - column))
        if len(line) > _SHOWN_WIDTH:
            cut = max(0, column - _SHOWN_WIDTH // 2)
            tail = "..." if cut + _SHOWN_WIDTH < len(line) else ""
            head = "..." if cut else ""
            line = head + line[cut : cut + _SHOWN_WIDTH] + tail
            column += len(head) - cut
            width = min(width, len(line) - column) or 1
        return f"    {line}\n    {' ' * column}{'^' * width}"


def point_at(message: str, span: Span | None, hint: str | None = None) -> ConstraintError:
    """An error that shows where in the constraint text the problem is.

    Without a span (for a constraint built in Python) the message stands alone.

    Examples
    --------
    >>> print(point_at("no column 'rase'.", Span("PR[rase == 1] <= 0.5", 3, 7), "check it."))
    no column 'rase'.
        PR[rase == 1] <= 0.5
           ^^^^
    Hint: check it.
    """
    shown = message if span is None else f"{message}\n{span.underlined()}"
    return ConstraintError(shown, hint=hint)


@dataclass(frozen=True)
class Node:
    """Base of everything a constraint is made of.

    Nodes are immutable and compare by what they mean: the span takes no part in equality.
    """

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    #: Whether its average is a probability.
    is_event: ClassVar[bool] = False
    #: 1 if it is never negative (probabilities, deficits, squares), 0 if that is not certain.
    sign: ClassVar[int] = 0

    # Makes numpy scalars leave `np.float64(0.9) * E("impact")` to the node.
    __array_ufunc__ = None

    def __bool__(self) -> NoReturn:
        # Otherwise Python would keep only the last part of `a <= x <= b` and of `c1 and c2`.
        raise point_at(
            f"'{self}' has no truth value until it is evaluated on data.",
            None,
            "in Python, join with & (and |, ~ for conditions), and write a chain as two parts: "
            "(a <= x) & (x <= b).",
        )


Found = TypeVar("Found", bound=Node)


def flattened(kind: type[Any], parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts; one of the same kind (an `And` in an `And`) is replaced by its own parts."""
    opened = (part.parts if isinstance(part, kind) else (part,) for part in parts)
    return tuple(inner for group in opened for inner in group)


def children(node: Node) -> Iterator[Node]:
    """The direct parts of a node."""
    for each in fields(node):
        value = getattr(node, each.name)
        for child in value if isinstance(value, tuple) else (value,):
            if isinstance(child, Node):
                yield child


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text.

    Examples
    --------
    >>> from elfair import PR
    >>> [type(node).__name__ for node in walk(PR())]
    ['Mean', 'Compare', 'Decision', 'Positive']
    """
    yield node
    for child in children(node):
        yield from walk(child)


def find(node: Node, kind: type[Found]) -> tuple[Found, ...]:
    """All nodes of one kind in a tree, without repetition.

    Examples
    --------
    >>> from elfair import E, PR
    >>> from elfair.language.expressions import Mean
    >>> [str(mean) for mean in find(E("gain") * PR() + PR(), Mean)]
    ['E[gain]', 'PR']
    """
    return tuple(dict.fromkeys(each for each in walk(node) if isinstance(each, kind)))


def covering(*nodes: Node) -> Span | None:
    """The shortest span that covers all nodes; None unless they all have one."""
    spans = [node.span for node in nodes if node.span is not None]
    if not spans or len(spans) < len(nodes):
        return None
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    return Span(spans[0].text, start, end)


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number.

    Examples
    --------
    >>> number_text(2.0), number_text(-0.0), number_text(1e-05)
    ('2', '0', '1e-05')
    """
    return repr(float(value) + 0.0).removesuffix(".0")  # + 0.0: no negative zero

"""What all nodes of a constraint share: a place in the text they were read from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from math import fsum
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


#: How deep operations may be inside each other: what reads, prints and compares trees is recursive,
#: and takes time that grows with the square of the depth.
DEEPEST = 60


def check_depth(node: Node) -> None:
    """Raise if operations are nested too deep, however the tree was made.

    Parameters
    ----------
    node : Node
        A tree; sums and multiples do not count.

    Examples
    --------
    >>> from elfair import PR
    >>> check_depth(PR() * PR())
    """
    left = [(node, 0)]
    while left:
        each, depth = left.pop()
        if depth > DEEPEST:
            raise point_at(
                f"products, quotients, abs, max, min and conditions may be nested at most "
                f"{DEEPEST} deep; a product is as deep as it has factors.",
                node.span,
                "split the constraint, or write it with fewer operations.",
            )
        inside = depth + (type(each).__name__ not in ("Sum", "Scaled", "All", "AnyOf"))
        left += [(child, inside) for child in children(each)]


class LostDigitsError(ArithmeticError):
    """Numbers of so different sizes that a sum of them would lose one."""


def total(values: Iterable[float]) -> float:
    """The sum of some numbers; none of them is lost to rounding.

    Parameters
    ----------
    values : iterable of float
        Finite numbers; the order does not matter.

    Examples
    --------
    >>> total([1e17, 3.0, -1e17]), total([0.1, 0.2])
    (3.0, 0.30000000000000004)
    """
    parts = [each for each in values if each]
    result = fsum(parts)
    if abs(fsum([*parts, -result])) > 1e-6 * min(map(abs, parts), default=0.0):
        raise LostDigitsError(", ".join(map(number_text, parts)))
    return result


def times(one: float, other: float) -> float:
    """The product of two numbers, which is zero only if one of them is.

    Examples
    --------
    >>> times(2.0, 0.5)
    1.0
    """
    result = one * other
    if not result and one and other:
        raise LostDigitsError(f"{number_text(one)}, {number_text(other)}")
    return result


def lost(error: LostDigitsError, span: Span | None) -> ConstraintError:
    """The error to raise where a number would be lost.

    Parameters
    ----------
    error : LostDigitsError
        What was tried.
    span : Span or None
        Where.
    """
    return point_at(
        f"the numbers {error} differ so much in size that computing with them would lose one.",
        span,
        "bring all numbers to one side by hand, and write the result.",
    )


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

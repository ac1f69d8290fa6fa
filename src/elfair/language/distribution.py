"""What is asked of an impact beyond its mean."""

from __future__ import annotations

from dataclasses import dataclass

from elfair.language.expressions import Statistic
from elfair.language.tree import Node, number_text, point_at


@dataclass(frozen=True)
class Quantile(Statistic):
    """The smallest value that the impact does not exceed with probability ``share``.

    Examples
    --------
    >>> from elfair.language import Column
    >>> print(Quantile(Column("impact"), share=0.1))
    quantile[impact, 0.1]
    """

    share: float = 0.5

    def __post_init__(self) -> None:
        _check_share(self.share, self)

    def __str__(self) -> str:
        if self.share == 0.5:
            return f"median[{self.of}{_bar(self)}]"
        return f"quantile[{self.of}, {number_text(self.share)}{_bar(self)}]"


@dataclass(frozen=True)
class ConditionalValueAtRisk(Statistic):
    """The mean impact of the worst ``share`` of people.

    Examples
    --------
    >>> from elfair.language import Column
    >>> print(ConditionalValueAtRisk(Column("impact"), share=0.1))
    CVaR[impact, 0.1]
    """

    share: float = 0.05

    def __post_init__(self) -> None:
        _check_share(self.share, self)

    def __str__(self) -> str:
        return f"CVaR[{self.of}, {number_text(self.share)}{_bar(self)}]"


@dataclass(frozen=True)
class Variance(Statistic):
    """The variance of the impact.

    Examples
    --------
    >>> from elfair.language import Column
    >>> print(Variance(Column("impact")))
    var[impact]
    """

    def __str__(self) -> str:
        return f"var[{self.of}{_bar(self)}]"


def _bar(node: Statistic) -> str:
    return "" if node.given is None else f" | {node.given}"


def _check_share(share: float, node: Node) -> None:
    if not 0 < share < 1:
        raise point_at(
            f"a share of people lies strictly between 0 and 1. Got {share:g} instead.",
            node.span,
            "the lowest tenth is quantile[impact, 0.1]; its mean is CVaR[impact, 0.1].",
        )

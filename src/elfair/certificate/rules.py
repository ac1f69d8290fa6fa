"""The rule of a tree, leaf by leaf, and how it is said in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: A decision that is taken with a larger probability is taken "almost always".
ALMOST = 0.9995


@dataclass(frozen=True)
class LeafRecord:
    """Some people, and what is decided about them.

    Parameters
    ----------
    conditions : tuple of str
        What they have in common; empty if the rule is the same for everyone.
    probabilities : tuple of float
        The probability of each decision, in the order of the certificate's classes.
    shares : tuple of float
        Their share of each group, in the order of the certificate's groups.
    """

    conditions: tuple[str, ...]
    probabilities: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class RuleRecord:
    """What a tree decides.

    Parameters
    ----------
    leaves : tuple of LeafRecord
        Its leaves; each person is in one of them.
    new : float
        The share of cases that it decides; in the others the old model does.
    """

    leaves: tuple[LeafRecord, ...]
    new: float = 1.0


def sentences(rules: Sequence[RuleRecord], classes: Sequence[str]) -> list[str]:
    """The rule in sentences: one for each leaf.

    Parameters
    ----------
    rules : sequence of RuleRecord
        One, or one for each fold, of which one is picked at random for each decision.
    classes : sequence of str
        The decisions.

    Examples
    --------
    >>> poor = LeafRecord(("income < 20,000", "debt >= 3"), (0.93, 0.07), ())
    >>> other = LeafRecord(("income >= 20,000",), (0.0, 1.0), ())
    >>> for line in sentences([RuleRecord((poor, other))], ["refuse", "approve"]):
    ...     print(line)
    If income < 20,000 and debt >= 3: refuse with probability 0.930, approve 0.070.
    Otherwise: approve almost always.
    """
    said = []
    for k, rule in enumerate(rules):
        if len(rules) > 1:
            said.append(f"Rule {k + 1} of {len(rules)}, picked at random for each decision:")
        if rule.new < 1:
            said.append(
                f"The old model decides in {1 - rule.new:.1%} of cases. In the others, among the "
                "decisions that it could take:"
            )
        last = rule.leaves[-1]
        said += [f"{_who(leaf, last)}: {decided(leaf, classes)}." for leaf in rule.leaves]
    return said


def _who(leaf: LeafRecord, last: LeafRecord) -> str:
    if not leaf.conditions:
        return "For everyone"
    return "Otherwise" if leaf is last else f"If {' and '.join(leaf.conditions)}"


def decided(leaf: LeafRecord, classes: Sequence[str]) -> str:
    """What is decided in a leaf, the most likely decision first.

    Examples
    --------
    >>> decided(LeafRecord((), (0.2, 0.5, 0.3), ()), ["a", "b", "c"])
    'b with probability 0.500, c 0.300, a 0.200'
    """
    pairs = sorted(zip(leaf.probabilities, classes, strict=True), key=lambda pair: -pair[0])
    (most, name), *others = pairs
    if most > ALMOST:
        return f"{name} almost always"
    told = [f"{other} {p:.3f}" for p, other in others if p > 1 - ALMOST]
    return ", ".join([f"{name} with probability {most:.3f}", *told])

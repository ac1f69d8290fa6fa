"""The rule of a tested tree, for the certificate; no promise rests on how it is said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elfair.certificate.rules import LeafRecord, RuleRecord
from elfair.data.preparation import DefaultPreparation, Preparation
from elfair.fairness_test.ladder import Ladder
from elfair.language.conditions import Condition
from elfair.language.evaluation import holds
from elfair.policies.tree import TreePolicy, Turn
from elfair.types import Booleans, Index


def rule_of(
    ladder: Ladder, place: int, groups: Sequence[Condition | None]
) -> tuple[RuleRecord, ...]:
    """The rule of one model, with the share of candidate rows in each leaf; none if it is no tree.

    Parameters
    ----------
    ladder : Ladder
        The models.
    place : int
        The place of the model, from 1.
    groups : sequence of Condition or None
        Whose shares to tell.
    """
    policy, rows = ladder.policy, ladder.candidate
    if not isinstance(policy, TreePolicy):
        return ()
    theta, leaf = ladder.thetas[place - 1], policy.leaf(rows.features)
    inside = [holds(group, rows) for group in groups]
    leaves = [
        LeafRecord(
            tuple(said(turn, rows.prepared_names, ladder.preparation) for turn in way),
            tuple(map(float, probabilities)),
            tuple(_share(leaf == k, each) for each in inside),
        )
        for k, (way, probabilities) in enumerate(
            zip(policy.ways, policy.of_leaves(theta), strict=True)
        )
    ]
    return (RuleRecord(tuple(leaves), float(theta[-1]) if policy.mixed else 1.0),)


def _share(rows: Booleans, inside: Booleans | Index) -> float:
    """The share of a group that some rows are."""
    group = rows[inside]
    return float(group.mean()) if group.size else 0.0


def said(turn: Turn, names: Sequence[str], preparation: Preparation | None) -> str:
    """One condition in words, about the column as it came.

    Examples
    --------
    >>> said(Turn(0, 20_000.0, above=False), ["income"], None)
    'income < 20,000'
    >>> said(Turn(1, 1.0, above=True), ["income", "housing=rent"], None)
    'housing is rent'
    """
    name, column = names[turn.column], None
    if isinstance(preparation, DefaultPreparation):
        of = [each for each in preparation.columns for _ in each.names]
        column = of[turn.column]
    not_ = "" if turn.above else "not "
    if column is not None and (column.kind == "levels" or name != column.column):
        level = name[len(column.column) :].strip().removeprefix("==").removeprefix("is").strip()
        return f"{column.column} is {not_}{level}"
    category, equals, level = name.partition("=")
    if equals and turn.threshold == 1:  # a level that a study file declares
        return f"{category} is {not_}{level}"
    threshold = f"{turn.threshold:,.10g}"
    if column is not None and column.kind == "date":
        threshold = str(np.datetime64(0, "s") + np.timedelta64(round(turn.threshold * 86_400), "s"))
        threshold = threshold.removesuffix("T00:00:00")
    return f"{name} {'>=' if turn.above else '<'} {threshold}"

"""What a tree refers to."""

from __future__ import annotations

import pytest

from elfair.language.conditions import columns_used, impacts_used, uses_decision, uses_label
from elfair.language.parsing import parse


@pytest.mark.parametrize(
    ("text", "columns", "impacts", "labelled", "decided"),
    [
        ("E[gain] >= 0", set(), {"gain"}, False, False),
        ("E[gain | a == 1] >= E_logged[loss | b in [1]]", {"a", "b"}, {"gain", "loss"}, False,
         False),
        ("E[x | x == y] >= 0", {"x", "y"}, {"x"}, False, False),
        ("P[a == 1 or not b == 2 | `label` == 1] <= 1", {"a", "b", "label"}, set(), False, False),
        ("P[label == 1] <= 1", set(), set(), True, False),
        ("PR[a == 1] <= 1", {"a"}, set(), False, True),
        ("accuracy >= 0", set(), set(), True, True),
        ("max(abs(FPR[a == 1]), 2 * E[gain]) <= 1 and PR >= 0", {"a"}, {"gain"}, True, True),
    ],
)  # fmt: skip
def test_names_used(
    text: str, columns: set[str], impacts: set[str], labelled: bool, decided: bool
) -> None:
    statement = parse(text)
    assert columns_used(statement) == columns
    assert impacts_used(statement) == impacts
    assert uses_label(statement) is labelled
    assert uses_decision(statement) is decided

"""Which decisions exist, and which of them counts as positive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from elfair import LoggedData
from elfair.errors import DataError


def table(y: list[Any] | None = None, decision: list[Any] | None = None, **more: Any) -> LoggedData:
    n = len(decision if y is None else y)  # type: ignore[arg-type]
    return LoggedData(np.zeros((n, 1)), y, decision=decision, **more)


@pytest.mark.parametrize(
    ("classes", "positive"),
    [
        ([0, 1], 1),
        ([0.0, 1.0], 1),
        ([-1, 1], 1),
        ([False, True], True),
        (["0", "1"], None),
        (["approve", "deny"], None),
        (["no", "yes"], None),
        ([1, 2], None),  # in credit data, 2 is often the bad one
        ([0, 1, 2], None),
        ([-1, 0, 1], None),
        ([0], None),
    ],
)
def test_only_a_convention_tells_which_class_is_positive(classes, positive):
    for data in (table(classes), table(decision=classes), table(classes, classes=classes)):
        assert data.classes.tolist() == classes
        assert data.positive == positive
    assert table(classes, positive=classes[0]).positive == classes[0]


def test_the_digest_tells_whether_a_class_is_positive_and_which():
    tables = [table(["a", "b"], positive=each) for each in (None, "a", "b")]
    assert len({data.fingerprint() for data in tables}) == 3


def test_classes_are_the_values_of_labels_and_decisions_together():
    assert table(["b", "a", "a"], ["a", "c", "b"]).classes.tolist() == ["a", "b", "c"]
    assert table(["a", "b", "c"], ["a", "a", "b"]).classes.tolist() == ["a", "b", "c"]
    assert table([0, 1, 1], [2, 0, 1]).classes.tolist() == [0, 1, 2]
    data = table([False, True, True], [2, 0, 1])
    assert data.classes.tolist() == [0, 1, 2]
    assert (data.label_index.tolist(), data.decision_index.tolist()) == ([0, 1, 1], [2, 0, 1])


@pytest.mark.parametrize(
    ("label", "decision", "hint"),
    [
        ([0, 1], ["approve", "deny"], "the same words"),
        (["good", "bad"], ["approve", "deny"], "the same words"),
        (["0", "1"], [0, 1], "'0' is not 0"),
    ],
)
def test_labels_and_decisions_that_share_no_value(label, decision, hint):
    with pytest.raises(DataError) as caught:
        table(label, decision)
    shown = str(caught.value)
    assert "The classes are the values of y and decision together" in shown
    assert all(repr(value) in shown for value in (*label, *decision))
    assert hint in shown.partition("Hint: ")[2]
    assert shown.count("Hint: ") == 1


def test_named_classes_may_be_shared_by_no_row():
    assert table([0, 0], [1, 1], classes=[0, 1]).positive == 1


@pytest.mark.parametrize("of", ["decision", "y"])
@pytest.mark.parametrize(
    ("slip", "n", "said"),
    [
        ("aprove", 3, "meant to be 'approve'"),
        ("aprove", 15, "meant to be 'approve'"),
        ("dney", 15, "meant to be 'deny'"),
        ("dny", 15, "meant to be 'deny'"),
        ("Deny ", 400, "meant to be 'deny'"),
        ("a", 20, "meant to be 'approve'"),
    ],
)
def test_a_slip_is_no_class(of, slip, n, said):
    right = ["approve", "deny"] * 1500
    wrong = [slip] * n + right[n:]
    columns = {"decision": right, "y": right} | {of: wrong}
    X = [[0.0]] * 3000
    with pytest.raises(DataError, match=f"{of} holds {slip!r} in {n} of 3,000 rows") as caught:
        LoggedData(X, **columns)
    assert said in str(caught.value)
    named = LoggedData(X, **columns, classes=[slip, "approve", "deny"])
    assert named.classes.tolist() == sorted([slip, "approve", "deny"])


def test_a_code_for_missing_is_no_class():
    decisions = [0, 1] * 100 + [9] * 4
    with pytest.raises(DataError, match=r"decision holds 9 in 4 of 204 rows .* stands for missing"):
        LoggedData([[0.0]] * 204, decision=decisions)
    LoggedData([[0.0]] * 204, decision=decisions, classes=[0, 1, 9])


@pytest.mark.parametrize(
    "classes", [["arm a", "arm b"], [-1, 0, 1], ["A", "B", "C"], [1, 2, 9, 10], ["low", "high"],
                ["level 1", "level 2"], ["admit", "refuse", "admit later"]],
)  # fmt: skip
def test_rare_classes_that_are_other_words_are_classes(classes):
    column = np.repeat(np.array(classes, dtype=object), [300, *[20] * (len(classes) - 1)])
    data = LoggedData([[0.0]] * len(column), decision=column.tolist())
    assert data.classes.tolist() == sorted(classes)

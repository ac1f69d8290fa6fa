"""Records read strictly: every problem is found, each with its place, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from elfair.records.allowed import number, one_of
from elfair.records.reading import REQUIRED, Key, Reader, key, keys_of, record_inside


@dataclass(frozen=True)
class Limit:
    at: float
    kind: Literal["upper", "lower"] = "upper"


@dataclass(frozen=True)
class Document:
    name: str
    delta: float = key(number("(0, 0.5]"), 0.1, "the largest chance of an error", default=0.1)
    rows: int | None = None
    limits: tuple[Limit, ...] = ()
    shares: Mapping[str, float] = key(default=dict)
    options: Mapping[str, Any] = key(
        default=dict, keys={"split": Key(str, one_of("random", "crossfit"), "random")}
    )


def problems(document: dict[str, Any], *, complete: bool = False) -> list[tuple[Any, ...]]:
    reader = Reader(complete=complete)
    assert reader.record(document, Document) is None
    return [(each.code, each.table, each.name, each.inside) for each in reader.mistakes]


def test_what_is_right_is_read_with_defaults_for_the_rest() -> None:
    reader = Reader(complete=False)
    read = reader.record(
        {"name": "a", "limits": [{"at": 1}], "shares": {"x": 1}, "options": {"split": "random"}},
        Document,
    )
    given = {"shares": {"x": 1.0}, "options": {"split": "random"}}
    assert read == Document("a", None, (Limit(1.0),), delta=0.1, **given)
    assert isinstance(read.limits[0].at, float)
    assert isinstance(read.shares["x"], float)
    assert reader.mistakes == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"nme": "a"}, ("unknown", "", "nme", ())),
        ({"name": 3}, ("wrong", "", "name", ())),
        ({"delta": 0.6}, ("wrong", "", "delta", ())),
        ({"delta": True}, ("wrong", "", "delta", ())),
        ({"rows": True}, ("wrong", "", "rows", ())),
        ({"rows": 2.0}, ("wrong", "", "rows", ())),
        ({"limits": {"at": 1}}, ("wrong", "", "limits", ())),
        ({"limits": [3]}, ("wrong", "", "limits", (0,))),
        ({"limits": [{"at": 1}, {}]}, ("missing", "limits[1]", "at", ())),
        ({"limits": [{"at": "inf"}]}, ("wrong", "limits[0]", "at", ())),
        ({"limits": [{"at": 1, "kind": "both"}]}, ("wrong", "limits[0]", "kind", ())),
        ({"shares": [1]}, ("wrong", "", "shares", ())),
        ({"shares": {"x": "1"}}, ("wrong", "", "shares", ("x",))),
        ({"options": "random"}, ("wrong", "", "options", ())),
        ({"options": {"spilt": "random"}}, ("unknown", "options", "spilt", ())),
        ({"options": {"split": "half"}}, ("wrong", "options", "split", ())),
    ],
)
def test_each_problem_has_its_place(changes: dict[str, Any], problem: tuple[Any, ...]) -> None:
    assert problems({"name": "a", **changes}) == [problem]


def test_all_problems_are_collected() -> None:
    document = {"delta": 2, "limits": [{"at": "x"}, {"kind": "both"}], "more": 1}
    assert problems(document) == [
        ("unknown", "", "more", ()),
        ("missing", "", "name", ()),
        ("wrong", "", "delta", ()),
        ("wrong", "limits[0]", "at", ()),
        ("missing", "limits[1]", "at", ()),
        ("wrong", "limits[1]", "kind", ()),
    ]


def test_what_a_program_wrote_must_be_complete_and_may_spell_infinity() -> None:
    whole = {"name": "a", "delta": 0.1, "rows": None, "shares": {}, "options": {"split": "random"}}
    read = Reader(complete=True).record(
        {**whole, "limits": [{"at": "-inf", "kind": "lower"}]}, Document
    )
    assert read.limits == (Limit(float("-inf"), "lower"),)
    assert problems(whole, complete=True) == [("missing", "", "limits", ())]


def test_a_record_tells_its_keys_and_what_it_holds() -> None:
    keys = keys_of(Document)
    assert list(keys) == ["name", "delta", "rows", "limits", "shares", "options"]
    assert keys["name"].default is REQUIRED
    assert (keys["delta"].default, keys["delta"].about) == (0.1, "the largest chance of an error")
    assert keys["shares"].default == {}
    assert record_inside(keys["limits"].kind) is Limit
    assert record_inside(keys["rows"].kind) is None

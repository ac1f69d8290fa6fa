"""TOML that people write: what is wrong with a file, all at once; and TOML that elfair writes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elfair.errors import InputError
from elfair.records.allowed import number
from elfair.records.reading import key
from elfair.records.toml import parsed, repeated, shaped, together, toml

PLAIN = (
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
)
VALUES = st.recursive(
    PLAIN | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_written_is_read_as_the_same(value) -> None:
    assert tomllib.loads(f"x = {toml(value)}")["x"] == value


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [
        ("n = 1\nname = old model\n", 2, "name = old model"),
        ("a = [1,\n", 1, "a = [1,"),
        ("[x", 1, "[x"),
    ],
)
def test_what_is_not_toml_is_shown_with_its_line(text: str, line: int, shown: str) -> None:
    with pytest.raises(InputError) as error:
        parsed(text, "mine.toml")
    assert f"mine.toml must be TOML. Line {line} is not" in str(error.value)
    assert f"    {shown}\n" in str(error.value)


@dataclass(frozen=True)
class Table:
    column: str = key(example="race")


@dataclass(frozen=True)
class File:
    delta: float = key(number("(0, 0.5]"), 0.1, default=0.1)
    tables: tuple[Table, ...] = key(default=())


def test_all_mistakes_of_a_file_are_one_error() -> None:
    record, mistakes = shaped({"delta": 3, "tabels": [], "tables": "x"}, File)
    assert record is None
    assert str(together("mine.toml", mistakes)) == (
        "mine.toml has 3 mistakes:\n"
        "  - a key of a study must be one of ['delta', 'tables']. Got 'tabels' instead.\n"
        "    Hint: did you mean 'tables'?\n"
        "  - delta must be a number in (0, 0.5]. Got 3 instead.\n"
        "    Hint: for example: delta = 0.1\n"
        "  - tables must be a list of tables. Got 'x' instead.\n"
        "    Hint: for example: [[tables]]"
    )


def test_a_mistake_inside_a_list_names_its_table() -> None:
    _, (mistake,) = shaped({"tables": [{"column": "race"}, {}]}, File)
    assert str(mistake).startswith("the key 'column' of tables[1] is missing;")


def test_what_is_repeated_is_named_once_with_its_count() -> None:
    (mistake,) = repeated("the names", ["a", "b", "a", "a"])
    assert "Got 'a' 3 times." in str(mistake)
    assert list(repeated("the names", ["a", "b"])) == []

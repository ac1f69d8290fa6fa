"""A form changes single values of a study file; everything else stays, to the last character."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elfair.errors import InputError
from elfair.serve.editing import REMOVED, edited, guessed
from serving import STUDY


def test_only_the_lines_that_change_differ():
    new = edited(STUDY, {("test", "delta"): 0.05, ("columns", "features"): ["income"]})
    old = STUDY.splitlines()
    changed = [line for line in new.splitlines() if line not in old]
    assert changed == ['features = ["income"]  # known at the counter', "delta = 0.05  # 90 %"]
    assert len(new.splitlines()) == len(old)


def test_no_change_is_no_change():
    assert edited(STUDY, {("test", "delta"): 0.1, ("model", "positive"): REMOVED}) == STUDY


def test_a_guess_that_somebody_changed_is_no_guess():
    text = '[columns]\nlabel = "y"  # guess\nimpact = ["z"]  # guess\n'
    new = edited(text, {("columns", "label"): "x"})
    assert new == '[columns]\nlabel = "x"\nimpact = ["z"]  # guess\n'
    assert guessed(new) == {("columns", "impact")}


def test_a_new_key_goes_below_its_example():
    text = (
        "[model]\n# What counts.\n# positive = 1\nobjective = 'accuracy'\n[test]\n# positive = 0\n"
    )
    new = edited(text, {("model", "positive"): 1})
    assert new.splitlines()[1:4] == ["# What counts.", "# positive = 1", "positive = 1"]


def test_a_table_that_is_missing_is_made():
    new = edited("title = 'a'", {("rows", "missing_impact"): "drop"})
    assert tomllib.loads(new) == {"title": "a", "rows": {"missing_impact": "drop"}}


def test_inline_tables_and_long_lists_are_changed_where_they_stand():
    text = (
        "[columns]\ncategories = { a = ['x'], \"b c\" = ['y'] }  # levels\n"
        "features = [\n  'a',  # first\n  'b c',\n]\nlabel = 'l'\n"
    )
    changes = {("columns", "categories", "a"): REMOVED, ("columns", "features"): ["b c"]}
    new = edited(text, changes)
    assert new == (
        '[columns]\ncategories = { "b c" = ["y"] }  # levels\nfeatures = ["b c"]\nlabel = \'l\'\n'
    )


def test_constraints_are_added_changed_and_removed():
    two = edited(STUDY, {("constraints", 1, "text"): "accuracy >= 0.5"})
    assert [*tomllib.loads(two)["constraints"][1]] == ["text"]
    swapped = edited(
        two, {("constraints", 0, "no_worse"): REMOVED, ("constraints", 0, "text"): "PR >= 0.1"}
    )
    assert "no_worse" not in tomllib.loads(swapped)["constraints"][0]
    one = edited(swapped, {("constraints", 0): REMOVED})
    assert tomllib.loads(one)["constraints"] == [{"text": "accuracy >= 0.5"}]
    assert "# Nobody pays for it." in one
    assert "constraints" not in tomllib.loads(edited(one, {("constraints", 0): REMOVED}))


def test_what_the_scan_cannot_follow_is_refused_and_never_written():
    for text in ("a = 1\nb.c = 2\n", "test = 1\n", "[[test]]\ndelta = 1\n"):
        with pytest.raises(InputError, match="a form cannot change"):
            edited(text, {("test", "delta"): 0.1, ("b", "d"): 1, ("b", "c", "e"): 2})


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
VALUES = st.one_of(
    st.booleans(), st.integers(-(2**60), 2**60), TEXT, st.lists(TEXT, max_size=3),
    st.dictionaries(TEXT, st.lists(TEXT, max_size=2), max_size=2),
)  # fmt: skip
TABLES = st.sampled_from(["test", "columns", "a b", 'q"\\', "é"])


@given(TABLES, TEXT, VALUES, VALUES)
def test_any_value_can_be_written_read_replaced_and_removed(table, name, first, second):
    path = (table, name)
    before = tomllib.loads(STUDY)
    for value in (first, second):
        text = edited(STUDY, {path: first})
        text = edited(text, {path: value})
        read = tomllib.loads(text)
        assert read[table][name] == value
        assert "# known at the counter" in text
        assert read["constraints"] == before["constraints"]
    gone = tomllib.loads(edited(text, {path: REMOVED}))
    assert name not in gone[table]

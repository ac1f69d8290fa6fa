"""What names and places tell about when a column was measured."""

from __future__ import annotations

import pytest

from elfair.study.later import behind, times


@pytest.mark.parametrize(
    ("names", "again"),
    [
        (["pain", "pain_m6", "pain_m12"], {"pain_m6": 6, "pain_m12": 12}),
        (["bdi", "bdi.3m", "bdi week 8", "BDI"], {"bdi.3m": 3, "bdi week 8": 8}),
        (["everwkd", "everwkdy1"], {"everwkdy1": 1}),
        (["cd40", "cd420", "cd496"], {"cd420": 20, "cd496": 96}),
        # Columns that are counted, squared, or merely have a number.
        (["x", "x1", "x2", "x10", "x15"], {}),
        (["age", "age2", "age3"], {}),
        (["item0", *(f"item{k}" for k in range(1, 30))], {}),
        (["item", *(f"item{k}" for k in range(1, 30))], {}),
        (["RDEF1", "RDEF2", "RDEF8", "z30", "str2", "fev1"], {}),
        (["city1", "city2", "essay1", "v0", "v12"], {}),
        ([], {}),
    ],
)
def test_times(names, again):
    assert {name: time for name, (_, time) in times(names).items()} == again


def test_only_a_table_in_order_tells_by_its_order():
    names = ["age", "sex", "arm", "site", "dead"]
    marks = {"arm": "the decision"}
    assert behind(names, marks, names) == {}  # as many before it as behind it
    assert list(behind([*"ab", *names], marks, names)) == ["site", "dead"]
    assert behind(names, {}, names) == {}

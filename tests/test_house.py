"""The source stays as small, and as evenly cut, as benchmarks/house.py says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import house


def test_no_limit_is_exceeded() -> None:
    assert house.beyond() == []


def test_only_code_counts() -> None:
    text = '''"""A module."""

# Why.
from math import (
    inf,
)


def f(x):
    """A function."""
    # Why.
    return [
        x,

        inf,
    ]
'''
    assert house.code_lines(text) == 8
    assert house.bodies(text) == [5]


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        ("MOST_FILES", 10, "files, above 10"),
        ("MOST_TOP_LEVEL", 1, "top-level modules"),
        ("LONGEST_MODULE", 100, "lines, above 100"),
        ("MEDIAN_MODULE", (1, 2), "the median module"),
        ("MOST_CODE", 1000, "lines of code outside experiments and populations, above 1,000"),
        ("USUAL_BODY", 3, "one function in ten"),
    ],
)
def test_each_limit_is_seen(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: object, words: str
) -> None:
    monkeypatch.setattr(house, limit, value)
    assert any(words in each for each in house.beyond())

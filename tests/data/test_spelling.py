"""Which value was probably meant, and which stand for "missing"."""

from __future__ import annotations

import pytest

from elfair.data.spelling import likely_meant, stands_for_missing

RACES = {"Black": 900, "White": 1100, "African-American": 40, "Asian": 500}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("black", "Black"),
        ("Black ", "Black"),
        ("\u00a0Black", "Black"),
        ("Bla\u200bck", "Black"),
        ("\ufeffBlack", "Black"),
        ("\uff22lack", "Black"),  # full-width
        ("'Black'", "Black"),
        ("african american", "African-American"),
        ("AFRICAN_AMERICAN", "African-American"),
        ("Blak", None),  # as short as many a word that is right
        ("Balck", "Black"),
        ("Whitee", "White"),
        ("Hispanic", None),
        (-999, None),
    ],
)
def test_what_was_meant(written, meant):
    assert likely_meant(written, {**RACES, written: 3}) == meant


def test_a_frequent_word_is_no_slip():
    counts = {"group a": 500, "group b": 400}
    assert likely_meant("group b", counts) is None
    assert likely_meant("group 1", {"group 1": 1, "group 2": 4000}) is None
    assert likely_meant("female", {"male": 9000, "female": 10}) is None


def test_numbers_written_in_two_ways_are_the_same():
    assert likely_meant("1.0", {"1": 30, "2": 40, "1.0": 3}) == "1"
    assert likely_meant("1.5", {"1": 30, "2": 40, "1.5": 3}) is None


@pytest.mark.parametrize("text", ["", " ", "N/A", "n.a.", "NULL", "Unknown", "?", "not stated"])
def test_words_for_missing(text):
    assert stands_for_missing(text, {text: 4, "A": 9})


@pytest.mark.parametrize("code", [-9, -99, -999, -9999.0, 999, 9999, 99999.0, -1, -8])
def test_codes_for_missing_stand_apart(code):
    assert stands_for_missing(code, {code: 4, 17: 9, 30.0: 8, 92: 1})


@pytest.mark.parametrize(
    ("value", "others"),
    [
        (-1, [1]),
        (-99, [-98, -100, 4]),
        (999, [998, 1000]),
        (0, [1, 2]),
        (-5, [1, 2]),
        (True, [1, 2]),
    ],
)
def test_numbers_among_others_are_numbers(value, others):
    assert not stands_for_missing(value, dict.fromkeys([value, *others], 5))

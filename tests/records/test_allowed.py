"""What a value may be: the words and the test must agree."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from elfair.records.allowed import number, one_of, whole

NOT_NUMBERS = ["0.2", None, True, nan, inf, -inf, [0.2], 1j]


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        ("(0, 1)", [1e-9, 0.5, np.float32(0.5)], [0, 1, -0.1, 1.1]),
        ("[0, 1]", [0, 1, np.int64(1)], [-1e-9, 1 + 1e-9]),
        ("(0, 0.5]", [0.5], [0, 0.51]),
        ("[2, inf)", [2, 1e300], [1.9]),
        ("(-inf, inf)", [-1e300, 0, 1e300], []),
    ],
)
def test_a_number_in_an_interval(interval: str, inside: list[float], outside: list[float]) -> None:
    allowed = number(interval)
    assert [each for each in inside if not allowed.fits(each)] == []
    assert [each for each in [*outside, *NOT_NUMBERS] if allowed.fits(each)] == []


@pytest.mark.parametrize(
    ("low", "high", "inside", "outside"),
    [(1, None, [1, 10**20, np.int32(3)], [0, 1.0]), (2, 5, [2, 5], [1, 6, 2.5])],
)
def test_a_whole_number(low, high, inside, outside) -> None:
    allowed = whole(low, high)
    assert [each for each in inside if not allowed.fits(each)] == []
    assert [each for each in [*outside, *NOT_NUMBERS] if allowed.fits(each)] == []


def test_one_of_some_names() -> None:
    allowed = one_of("random", "crossfit", about={"random": "the default"})
    assert allowed.words == "'random' (the default) or 'crossfit'"
    assert allowed.fits("crossfit")
    assert not any(map(allowed.fits, ["", "Random", None, 3, ["random"]]))
    assert allowed.advice("crosfit") == "did you mean 'crossfit'?"
    assert allowed.advice("something else") == allowed.advice(3) == ""
    assert one_of("only").words == "'only'"

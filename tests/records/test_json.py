"""Records to JSON and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elfair.errors import InputError
from elfair.records.json import from_json, to_json


@dataclass(frozen=True)
class Part:
    name: str
    value: float | None


@dataclass(frozen=True)
class Whole:
    kind: Literal["small", "large"]
    n: int
    passed: bool
    upper: float
    parts: tuple[Part, ...]
    notes: tuple[str, ...]
    best: Part | None


PARTS = st.builds(Part, st.text(), st.none() | st.floats(allow_nan=False))
WHOLES = st.builds(
    Whole,
    st.sampled_from(["small", "large"]),
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.lists(PARTS, max_size=3).map(tuple),
    st.lists(st.text(), max_size=3).map(tuple),
    st.none() | PARTS,
)
GOOD = Whole("small", 3, True, 0.5, (Part("a", None),), ("b",), Part("c", 1.0))


@given(WHOLES)
def test_there_and_back(record: Whole) -> None:
    assert from_json(to_json(record), Whole) == record
    assert from_json(to_json(record, indent=None), Whole) == record


def test_nan_there_and_back() -> None:
    value = from_json(to_json(Part("a", float("nan"))), Part).value
    assert value is not None
    assert np.isnan(value)


def test_the_text_is_plain_json() -> None:
    text = to_json(Whole("large", 3, True, float("-inf"), (), (), None), indent=None)
    assert text == (
        '{"kind": "large", "n": 3, "passed": true, "upper": "-inf", "parts": [], "notes": [], '
        '"best": null}'
    )

    def fail(constant: str) -> None:
        raise AssertionError(constant)

    json.loads(to_json(GOOD), parse_constant=fail)


def test_numbers_of_numpy_are_numbers() -> None:
    odd = Whole("small", np.int64(3), np.bool_(True), np.float32(np.inf), (), (), None)  # type: ignore[arg-type]
    assert from_json(to_json(odd), Whole) == Whole("small", 3, True, float("inf"), (), (), None)


def test_whole_numbers_are_floats_where_floats_are_due() -> None:
    upper = from_json(to_json(GOOD).replace("0.5", "2"), Whole).upper
    assert upper == 2
    assert type(upper) is float


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "medium"}, "whole.kind must be one of ('small', 'large'). Got 'medium'"),
        ({"n": 3.0}, "whole.n must be a value of type int. Got 3.0"),
        ({"n": True}, "whole.n must be a value of type int. Got True"),
        ({"n": None}, "whole.n must be a value of type int. Got None"),
        ({"passed": 1}, "whole.passed must be a value of type bool. Got 1"),
        ({"passed": "true"}, "whole.passed must be a value of type bool"),
        ({"upper": True}, "whole.upper must be a number. Got True"),
        ({"upper": "0.5"}, "whole.upper must be a number. Got '0.5'"),
        ({"upper": None}, "whole.upper must be a number. Got None"),
        ({"parts": {}}, "whole.parts must be a list. Got {}"),
        ({"parts": [1]}, "whole.parts[0] must be an object. Got 1"),
        ({"parts": [{"name": "a"}]}, "whole.parts[0].value must be a value. Got 'nothing'"),
        ({"notes": ["a", 1]}, "whole.notes[1] must be a value of type str. Got 1"),
        ({"best": {"name": 1, "value": 0}}, "whole.best.name must be a value of type str"),
        ({"extra": 1}, "whole must be an object with only the fields kind, n, passed"),
    ],
)
def test_ill_typed_fields_are_refused(changes: dict[str, Any], words: str) -> None:
    document = json.loads(to_json(GOOD)) | changes
    with pytest.raises(InputError) as caught:
        from_json(json.dumps(document), Whole)
    assert words in str(caught.value)
    assert "\nHint: the record was changed, cut short" in str(caught.value)


@pytest.mark.parametrize("name", ["kind", "n", "passed", "upper", "parts", "notes", "best"])
def test_missing_fields_are_refused(name: str) -> None:
    document = json.loads(to_json(GOOD))
    del document[name]
    with pytest.raises(InputError, match=f"whole.{name} must be a value. Got 'nothing'"):
        from_json(json.dumps(document), Whole)


@pytest.mark.parametrize(
    "text",
    ["", "{", to_json(GOOD)[:-5], "nonsense", '{"upper": NaN}', '{"upper": Infinity}', "[" * 10**5],
)
def test_what_is_not_json(text: str) -> None:
    with pytest.raises(InputError, match=r"this is not JSON: (.|\n)*\nHint: pass the text"):
        from_json(text, Whole)


def test_what_is_not_text() -> None:
    with pytest.raises(InputError, match="this is not JSON"):
        from_json(None, Whole)  # type: ignore[arg-type]


def test_a_field_written_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"a field must be written once\. Got 'value'"):
        from_json('{"name": "a", "value": 1, "value": 2}', Part)

"""Features are made the same way for those who were logged and for those to come."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from elfair.errors import DataError, InputError
from elfair.study import Feature, TableEncoding

ENCODING = TableEncoding(
    (Feature("age"), Feature("housing", ("own", "rent")), Feature("zone", (3, 1, 2)))
)
PEOPLE = {"age": [31, 45], "housing": ["rent", "own"], "zone": [1, 3], "name": ["Ann", "Bo"]}


def refused(encoding, **changed) -> str:
    with pytest.raises(DataError) as caught:
        encoding.encode(pa.table({**PEOPLE, **changed}))
    assert str(caught.value).count("Hint: ") == 1
    return str(caught.value)


def test_levels_become_columns_in_the_declared_order():
    encoded = ENCODING.encode(pa.table(PEOPLE))
    assert encoded.to_pydict() == {
        "age": [31.0, 45.0],
        "housing=rent": [1.0, 0.0],  # of two levels, one says it all
        "zone=3": [0.0, 1.0],
        "zone=1": [1.0, 0.0],
        "zone=2": [0.0, 0.0],
    }
    assert encoded.column_names == ENCODING.names


def test_new_people_are_encoded_as_the_logged_were_whoever_else_is_there():
    """Levels are declared, not learnt: one row alone is encoded as among others."""
    whole = ENCODING.encode(pa.table(PEOPLE))
    alone = ENCODING.encode(pa.table(PEOPLE).slice(1, 1).select(["zone", "housing", "age"]))
    assert alone.to_pylist() == [whole.to_pylist()[1]]


def test_the_record_survives_json():
    record = json.loads(json.dumps(ENCODING.to_dict()))
    assert TableEncoding.from_dict(record) == ENCODING


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"features": 5},
        {"features": [{"column": "a"}]},
        {"features": [{"column": 5, "levels": []}]},
        {"features": [{"column": "a", "levels": "ab"}]},
        {"features": [{"column": "a", "levels": [None]}]},
        {"features": [{"column": "a", "levels": [], "more": 1}]},
    ],
)
def test_what_is_no_record_is_refused(record):
    with pytest.raises(DataError, match="not the record of an encoding"):
        TableEncoding.from_dict(record)


def test_true_and_false_are_numbers():
    encoded = TableEncoding((Feature("a"),)).encode(pa.table({"a": [True, False]}))
    assert encoded.to_pydict() == {"a": [1.0, 0.0]}


def test_an_unseen_level_is_named_with_its_rows():
    said = refused(ENCODING, housing=["own", "rnt"])
    assert (
        "feature 'housing' holds values that are not declared levels, in 1 of 2 rows (the first is "
        "row 1): 'rnt'. Levels: 'own', 'rent'."
    ) in said
    assert said.endswith("Hint: did you mean 'rent'?")
    assert "declare it and fit again" in refused(ENCODING, housing=["own", "lease"])


def test_text_does_not_meet_numbers():
    assert "'0' is not 0" in refused(ENCODING, zone=["1", "3"])
    assert "'0' is not 0" in refused(TableEncoding((Feature("age", ("31", "45")),)))


def test_a_missing_feature_stays_missing_for_the_preparation_of_the_model():
    changed = {"age": [None, 3.5], "housing": [None, "own"], "zone": [None, 3]}
    encoded = ENCODING.encode(pa.table({**PEOPLE, **changed})).to_pydict()
    assert encoded["age"] == pytest.approx([np.nan, 3.5], nan_ok=True)
    assert encoded["housing=rent"] == pytest.approx([np.nan, 0], nan_ok=True)
    assert [encoded[f"zone={k}"][0] for k in (1, 2, 3)] == [0, 0, 0]  # none of three levels


def test_text_without_levels_is_refused_with_the_lines_to_write():
    encoding = TableEncoding((Feature("housing"),))
    assert refused(encoding).endswith(
        'declare its levels in [columns.categories]: \'housing\' = ["own", "rent"]'
    )
    assert 'write decimal = "," in [clean."housing"]' in refused(encoding, housing=["1,5", "2"])
    many = pa.table({"housing": [f"place {k}" for k in range(50)]})
    with pytest.raises(DataError, match="make groups of its values"):
        encoding.encode(many)
    dates = pa.table({"housing": np.array(["2024-01-31"], dtype="datetime64[D]")})
    assert encoding.encode(dates).to_pydict() == {"housing": [19753.0]}  # days since 1970


def test_a_missing_column_is_named():
    said = refused(TableEncoding((Feature("hausing"), Feature("sex"))))
    assert "no column 'hausing', 'sex'" in said
    assert "did you mean 'housing'" in said


def test_names_that_would_meet_are_refused():
    with pytest.raises(InputError, match=r"must be different from each other\. Got 'a=y' 2 times"):
        TableEncoding((Feature("a", ("x", "y")), Feature("a=y")))


def test_a_stored_model_needs_neither_a_parser_nor_a_database():
    code = (
        "import sys; from elfair.study import TableEncoding; "
        "assert not {'lark', 'duckdb', 'jinja2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""Formats of tables; and CSV: what was written stays what it is, and a broken line is named."""

from __future__ import annotations

import pytest

from elfair.cli import main
from elfair.errors import InputError
from elfair.records.reading import keys_of
from elfair.records.tables import FORMATS, DelimitedText, format_of
from elfair.study.keys import DataKeys


def test_an_ending_without_a_format_is_refused_with_all_that_there_are():
    for path in ("loans.xlsx", "loans", "loans.csv.gz"):
        with pytest.raises(InputError) as caught:
            format_of(path)
        assert ", ".join(FORMATS) in str(caught.value)


def test_every_format_is_named_wherever_people_are_told():
    written = next(each for each in main.commands["predict"].params if each.name == "output")
    told = [main.commands["init"].help, written.help, keys_of(DataKeys)["source"].allowed.words]
    assert all(ending in words for ending in FORMATS for words in told)


def read(content: str | bytes, *names: str):
    text = DelimitedText(content.encode() if isinstance(content, str) else content, "t.csv")
    return text.read(names or text.names).to_pydict()


def refused(content: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(content)
    assert str(caught.value).count("Hint: ") == 1
    return str(caught.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_delimiter_and_mark_are_found_out(delimiter, mark):
    lines = ["Größe (m);age", "1.5;30", "2.5;40"]
    content = mark + "\r\n".join(lines).replace(";", delimiter).encode()
    assert read(content) == {"Größe (m)": [1.5, 2.5], "age": [30, 40]}


def test_the_delimiter_is_the_one_that_explains_all_lines():
    # More commas than semicolons, but not the same number in each line.
    assert read("a;b\nx,y,z;1\nu;2\n") == {"a": ["x,y,z", "u"], "b": [1, 2]}
    assert read('"a;b;c",d\n1,2\n') == {"a;b;c": [1], "d": [2]}


def test_one_column_needs_no_delimiter():
    assert read("a\n1\n2\n") == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", "2.5", "-3e-2", ".5", "4."], [1.0, 2.5, -0.03, 0.5, 4.0]),
        ([" 1", "2 "], [1, 2]),
        (["007", "8"], ["007", "8"]),
        (["-01", "2"], ["-01", "2"]),
        (["00.5", "1.5"], ["00.5", "1.5"]),
        (["2024-01-31", "2024-02-01"], ["2024-01-31", "2024-02-01"]),
        (["12:30", "13:45"], ["12:30", "13:45"]),
        (["true", "False", "TRUE"], [True, False, True]),
        (["true", "1"], ["true", "1"]),
        (["1", "two"], ["1", "two"]),
        (["1", "NA", "", "NaN", "null", "nan", "NULL", " "], [1, *[None] * 7]),
        (["x", "NA", ""], ["x", None, None]),
        (["None", "N/A"], ["None", "N/A"]),
        ([" x", "x "], [" x", "x "]),
        (["12345678901234567890", "1"], ["12345678901234567890", "1"]),
        (["1", "inf"], ["1", "inf"]),
        (["0x10", "1_000"], ["0x10", "1_000"]),
        (["NA", ""], [None, None]),
    ],
)
def test_values_become_numbers_only_if_all_are(written, read_as):
    content = "v,w\n" + "".join(f"{value},1\n" for value in written)
    found = read(content, "v")["v"]
    assert found == read_as
    assert [type(value) for value in found] == [type(value) for value in read_as]


def test_large_whole_numbers_stay_exact():
    assert read("a,b\n9007199254740993,1\n")["a"] == [9007199254740993]


def test_a_value_may_hold_delimiters_quotes_and_lines():
    assert read('a,b\n"x, ""y""\nz",1\n') == {"a": ['x, "y"\nz'], "b": [1]}
    assert read('a,b\n5" pipe,1\n') == {"a": ['5" pipe'], "b": [1]}


def test_only_asked_columns_are_read():
    assert read("a,b,c\n1,2,3\n", "c", "a") == {"c": [3], "a": [1]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2\n3\n", "line 3 of t.csv has 1 field, but the first line names 2 columns"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4 of t.csv has 3 fields"),
        ('a,b\n"x\ny",2\n3\n', "line 4 of t.csv has 1 field"),
        ('a,b\n1,2\n3,"4\n5,6\n', "never closed; it opens in the record that begins at line 3"),
        ("a,b\n1,2\n3,Größe\n".encode("latin-1"), "Line 3 holds the byte 0xf6"),
        ("a,Größe\n1,2\n".encode("latin-1"), "Line 1 holds the byte 0xf6"),
        ("a,b\n1,2\n".encode("utf-16"), "mark of UTF-16"),
        ("\n\n", "t.csv is empty"),
    ],
)
def test_what_cannot_be_read_is_named(content, said):
    assert said in refused(content)


def test_a_long_file_is_sniffed_from_its_whole_first_lines():
    line = "x" * 999
    content = "a;b\n" + f"{line};1,5\n" * 300
    assert read(content, "b")["b"] == ["1,5"] * 300

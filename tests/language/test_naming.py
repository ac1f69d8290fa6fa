"""Names are read strictly."""

from __future__ import annotations

import pytest

from elfair.errors import InputError
from elfair.language.naming import Names, read_names


def test_names_are_read_from_a_mapping():
    names = read_names({"people": "pupils", "groups": {"sex": {"F": "female"}}})
    assert names == Names(people="pupils", groups={"sex": {"F": "female"}})
    assert read_names(names) is names


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"peple": "pupils"}, "did you mean 'people'"),
        ({"people": 3}, "people must be one line of text"),
        ({"people": "a\nb"}, "people must be one line of text"),
        ({"columns": {"x": "y" * 200}}, "must be"),
        ({"groups": {"sex": "female"}}, "groups"),
        ("applicants", "names must be a table"),
    ],
)
def test_wrong_names_are_refused(given, told):
    with pytest.raises(InputError, match=told):
        read_names(given)

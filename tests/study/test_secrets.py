"""A password is shown nowhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elfair.errors import InputError
from elfair.study.databases import filled_in, with_variables, without_secrets

PASSWORDS = st.text(st.characters(exclude_characters="\n\r", codec="ascii"), min_size=4).map(
    lambda text: f"pass{text}word"
)


@given(password=PASSWORDS)
def test_whatever_the_password_it_is_hidden(password):
    shown = without_secrets(f"cannot reach 'postgresql+psycopg://ann:{password}@host/db' now")
    assert password not in shown
    assert "host/db" in shown
    assert password not in with_variables(f"mysql://ann:{password}@host/db")


def test_secrets_among_parameters_are_hidden():
    shown = without_secrets("snowflake://host/db?user=ann&password=abc&private_key=def&role=r")
    assert shown == "snowflake://host/db?user=ann&password=***&private_key=***&role=r"
    assert "xyz" not in without_secrets("duckdb:///md:db?motherduck_token=xyz")


def test_an_address_without_secrets_is_shown_as_it_is():
    for address in ("sqlite:///loans.db", "duckdb://", "postgresql://host:5432/db"):
        assert without_secrets(address) == with_variables(address) == address


def test_the_environment_fills_in_what_is_left_to_it(monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "a/b@c d")
    left = with_variables("postgresql://ann:secret@host/db")
    assert filled_in(left) == "postgresql://ann:a%2Fb%40c%20d@host/db"
    monkeypatch.delenv("DB_PASSWORD")
    with pytest.raises(InputError, match=r"DB_PASSWORD of the environment, which is not set"):
        filled_in(left)

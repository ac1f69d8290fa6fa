"""A password is shown nowhere."""

from __future__ import annotations

import tomllib

import pytest
from connection_strings import Secret, corpus
from hypothesis import given
from hypothesis import strategies as st

from elfair.errors import InputError
from elfair.study import StudyFile
from elfair.study.secrets import HIDDEN, filled_in, redacted, with_variables, without_secrets

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


# -- connection strings of many drivers -----------------------------------------------------------

CORPUS = corpus(seed=2026)  # the patterns were written while looking at seeds 0 to 19


def whole(pieces):
    return "".join(each.text if isinstance(each, Secret) else each for each in pieces)


def expected(pieces):
    return "".join(HIDDEN if isinstance(each, Secret) else each for each in pieces)


def test_there_are_many():
    assert len({expected(pieces) for pieces in CORPUS}) >= 150
    assert len({whole(pieces) for pieces in CORPUS}) >= 200


@pytest.mark.parametrize("pieces", CORPUS, ids=expected)
def test_no_secret_survives_and_nothing_else_is_lost(pieces):
    shown = without_secrets(whole(pieces))
    assert shown == expected(pieces)
    assert without_secrets(shown) == shown  # a certificate's study is read again


@pytest.mark.parametrize("pieces", CORPUS, ids=expected)
def test_what_a_study_file_says_of_its_source_is_recorded_without(pieces):
    """In every way that TOML writes text, as source, as query, and in a comment."""
    said = whole(pieces)
    escaped = said.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    ways = [f'"{escaped}"', '"' + "".join(f"\\u{ord(each):04x}" for each in said) + '"']
    ways += [f"'''{said}'''"] if not said.endswith("'") else []
    for literal in ways:
        text = f'token = "it"\n[data]\nsource = {literal} # note\n[later]\nquery = {literal}\n'
        kept = redacted(text, {said})
        assert kept.startswith('token = "it"\n[data]\nsource = ')
        tables = tomllib.loads(kept)
        assert tables["data"]["source"] == tables["later"]["query"] == expected(pieces)
        assert not any(each.text in kept for each in pieces if isinstance(each, Secret))
    if "\n" not in said:
        assert redacted(f"a = 1 # {said}", set()) == f"a = 1 # {expected(pieces)}"


STUDY = """# was: source = "mysql://ann:geheim@h/db"
title = "who has the token=1?"

[data]
source = "postgresql://ann:geheim@h/db"
query = "select * from loans where key = 5"

[derived]
api_key = { of = "age", bins = [30] }
secret = "token == 1"

[columns]
features = ["age", "password", "token"]
label = "y"
sensitive = ["api_key"]

[[constraints]]
text = "PR[token == 1] >= 0.1"
why = "the pwd: none"
"""


def test_all_else_in_a_study_stays_as_it_is():
    study = StudyFile.loads(STUDY)
    assert study.text == STUDY.replace("geheim", HIDDEN)
    assert StudyFile.loads(study.text).text == study.text


def test_a_message_about_a_study_tells_no_secret():
    with pytest.raises(InputError) as caught:
        StudyFile.loads(STUDY.replace("[columns]", "[columns]\nfeatuers = 1"))
    assert "geheim" not in str(caught.value)
    broken = 'source = "postgresql://ann:geheim@h/db" oops'
    with pytest.raises(InputError) as caught:
        StudyFile.loads(broken)
    assert "geheim" not in str(caught.value)


SQL = [
    "create secret (type s3, key_id 'Xq7', secret 'Xq7')",
    "create user ann identified by 'Xq7'",
    "copy t to 'f' (encryption_config {footer_key: 'Xq7'})",
    "PRAGMA key='Xq7'",
    "PRAGMA add_parquet_key('name', 'Xq7')",
    "password := 'Xq7'",
    "password=a\\ Xq7",
    "pw=Xq7",
    "pat: Xq7",
    "curl -u ann:Xq7 https://example.org",
]


@pytest.mark.parametrize("text", SQL)
def test_neither_does_one_in_a_query_or_a_command(text):
    assert "Xq7" not in without_secrets(text)
    assert without_secrets(without_secrets(text)) == without_secrets(text)


@pytest.mark.parametrize(
    "text", ["select pat, token_count from t where x = 'secret'", "spat=3", "update=4 -u ann"]
)
def test_words_that_are_no_secrets_stay(text):
    assert without_secrets(text) == text

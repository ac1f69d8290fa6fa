"""Assumptions and warnings are told apart by their codes."""

from __future__ import annotations

from typing import get_args

from elfair.certificate.codes import ASSUMPTIONS, SHOWN_STATUS, AssumptionCode, Status


def test_every_code_has_its_words():
    assert tuple(ASSUMPTIONS) == get_args(AssumptionCode)
    assert tuple(SHOWN_STATUS) == get_args(Status)
    assert len({words.name for words in ASSUMPTIONS.values()}) == len(ASSUMPTIONS)
    for name, statement, plain in ASSUMPTIONS.values():
        assert statement.endswith("."), name
        assert plain.endswith("."), name

"""Assumptions and warnings are told apart by their codes."""

from __future__ import annotations

from typing import get_args

from elfair.certificate.assumptions import SHOWN_STATUS, TEXTS, AssumptionCode, Status


def test_every_code_has_its_words():
    assert tuple(TEXTS) == get_args(AssumptionCode)
    assert tuple(SHOWN_STATUS) == get_args(Status)
    assert len({name for name, _ in TEXTS.values()}) == len(TEXTS)
    for name, statement in TEXTS.values():
        assert statement.endswith("."), name

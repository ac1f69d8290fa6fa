"""What tests and the examples in docstrings share: each counts looks as in a session of its own."""

from __future__ import annotations

from uuid import uuid4

import pytest


@pytest.fixture(autouse=True)
def ledger_of_its_own(tmp_path_factory, monkeypatch):
    """None counts looks in the ledger of the person who runs it, or in that of another one."""
    ledger = tmp_path_factory.getbasetemp() / "ledgers" / uuid4().hex
    monkeypatch.setenv("ELFAIR_LEDGER", str(ledger))

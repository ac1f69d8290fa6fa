"""The guarantee tests run the populations of the benchmark scripts, so that both say the same."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


def pytest_collection_modifyitems(items):
    """Among thousands of draws the mean weight of some group is four standard errors from 1. Such a
    draw, of which a user would be warned, counts like any other: if its model is let out and
    violates a constraint, it is a failure.
    """
    if os.environ.get("ELFAIR_GUARANTEES") != "full":
        return
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            ignored = "ignore::elfair.errors.CertificateWarning"
            item.add_marker(pytest.mark.filterwarnings(ignored))

"""The tests of monitors use the worlds of the benchmark script."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    import monitoring

    return monitoring.released(tmp_path_factory.mktemp("released"))

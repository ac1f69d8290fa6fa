"""The guarantee tests run the populations of the benchmark scripts, so that both say the same."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

"""What the benchmark scripts share: the machine they ran on, and tables kept inside a page."""

from __future__ import annotations

import os
import platform
from datetime import date
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def machine() -> str:
    """The processor and its number of cores."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.processor()}, {os.cpu_count()} cores"


def stamp() -> str:
    """When and where."""
    return f"{date.today().isoformat()}, {machine()}"


def write_into(page: str, section: str, text: str) -> None:
    """Replace what stands between the two markers of a section of a page in docs/."""
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    path = DOCS / page
    before, rest = path.read_text().split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}")

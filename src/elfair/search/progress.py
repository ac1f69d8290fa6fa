"""A sign of life while a search runs."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any

#: Seconds of silence before any progress is shown.
PATIENCE = 2.0


class SearchProgress:
    """Counts the steps of a search, and shows them on a terminal once it has taken a while.

    Examples
    --------
    >>> with SearchProgress("searching") as progress:
    ...     progress()
    >>> progress.steps
    1
    """

    def __init__(self, what: str) -> None:
        self.steps = 0
        self._what = what
        self._status: Any = None
        self._shown = sys.stderr.isatty()
        self._began = monotonic()

    def __call__(self) -> None:
        """Count one more step."""
        self.steps += 1
        if not self._shown or monotonic() - self._began < PATIENCE:
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(self._what)
            self._status.start()
        seconds = monotonic() - self._began
        self._status.update(f"{self._what}: {self.steps} steps, {seconds:.0f} s")

    def __enter__(self) -> SearchProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

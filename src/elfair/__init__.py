"""elfair: models whose delayed impact on every group you name is bounded with stated confidence."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elfair._public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """A public name, when it is first asked for: the command line need not wait for all of them."""
    if not name.startswith("_") or name in ("__all__", "__version__"):
        public = import_module("elfair._public")
        if name in ("__all__", *public.__all__):
            globals()[name] = getattr(public, name)
        # Submodules have come with them.
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module 'elfair' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("elfair._public").__all__})

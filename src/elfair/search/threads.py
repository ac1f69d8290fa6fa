"""Linear algebra on one thread: the same results on every machine, and no time lost in waking.

Several threads add up in another order. The last digits then differ, and a search that follows them
may end at another model. At the lengths of a search, one thread is also the faster way: on a busy
machine with 2 cores, waking the others takes longer than most products.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


@contextmanager
def one_thread(*, everything: bool = False) -> Iterator[None]:
    """Keep linear algebra on one thread, or everything that can have several.

    Parameters
    ----------
    everything : bool, default False
        Also what trains models on several threads, such as gradient boosting by OpenMP.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_thread():
    ...     {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    {1}
    """
    import scipy.linalg  # noqa: F401  (it brings a library of its own, if it is not here yet)

    with _controller(len(sys.modules)).limit(limits=1, user_api=None if everything else "blas"):
        yield


@lru_cache(maxsize=1)
def _controller(modules: int) -> Any:
    """Renewed (2 ms) only after an import, which may have loaded another library."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()

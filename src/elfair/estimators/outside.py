"""What was fitted outside the seal: before `fit`, around it, and on rows that it will hold out.

scikit-learn does not tell an estimator that it is the last step of a Pipeline, or that a search
fits it: neither tags, clones nor routed metadata say so, and a clone is no sign of a search. Only
the calls in progress know. So this looks at them, for two things alone: a Pipeline that is being
fitted, and a search or a cross-validation of scikit-learn (also in another process, and when a
search fits its best choice again). What was done before `fit` was called, nobody can see: the
assumption "nothing else saw the held-out rows" stands for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from elfair.certificate import Assumption

#: Where scikit-learn's searches and cross-validation are. Nothing else there fits an estimator.
OF_SEARCHES = "sklearn.model_selection."


def fitted_outside(estimator: Any) -> tuple[Assumption, ...]:
    """What the calls in progress say was fitted outside the seal of this estimator.

    Parameters
    ----------
    estimator : object
        The estimator that is being fitted.
    """
    found = list(dict.fromkeys(_outside(estimator, sys._getframe(1))))
    if not found:
        return ()
    evidence = f"fitted outside the seal, to held-out rows, too: {'; '.join(found)}"
    return (Assumption.of("nothing_else", "assumed", evidence),)


def _outside(estimator: Any, frame: FrameType | None) -> Iterator[str]:
    inner = estimator  # a Pipeline may be the last step of another
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        outer = frame.f_locals.get("self")
        if module.startswith(OF_SEARCHES):
            yield "a search or cross-validation, which compares fits to these rows"
        elif module.startswith("sklearn.") and _ends_with(outer, inner):
            yield from _steps(outer)
            inner = outer
        frame = frame.f_back


def _ends_with(outer: Any, inner: Any) -> bool:
    """Whether one is a Pipeline whose last step is the other."""
    steps = getattr(outer, "steps", None)
    return isinstance(steps, list) and bool(steps) and steps[-1][1] is inner


def _steps(pipeline: Any) -> Iterator[str]:
    """The steps of a Pipeline before the last."""
    for name, step in pipeline.steps[:-1]:
        frozen = type(step).__name__ == "FrozenEstimator"  # it was fitted before, elsewhere
        if step not in (None, "passthrough") and not frozen:
            inner = [type(each).__name__ for _, each, *_ in getattr(step, "transformers", ())]
            parts = f" ({', '.join(inner)})" if inner else ""
            yield f"step '{name}' of a Pipeline, {type(step).__name__}{parts}"

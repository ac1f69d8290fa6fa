"""Searching for a torch module."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.errors import InputError
from elfair.policies.torch_module import TorchPolicy
from elfair.search.scoring import scorer_assumption
from elfair.search.selection import Method, Selection
from elfair.search.steps import Steps, fit_by_steps
from elfair.targets import Target

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

#: CMA-ES keeps a matrix of so many lines and columns, and needs about as many generations.
MOST_EVOLVED = 200


def is_module(scorer: object) -> bool:
    """Whether it is a torch.nn.Module; whoever has one has imported torch.

    Examples
    --------
    >>> is_module("a module")
    False
    """
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(scorer, torch.nn.Module)


@dataclass(frozen=True)
class ModuleFamily:
    """The policies that a torch module can be trained to.

    Parameters
    ----------
    module : torch.nn.Module
        From standardised features to one logit for each class; it is not changed.
    """

    module: Any

    def assumptions(self) -> tuple[Assumption, ...]:
        """Training begins at the weights that the module came with."""
        evidence = f"{type(self.module).__name__} was trained on from the weights it came with"
        return (scorer_assumption(evidence),)

    def rows(self, data: LoggedData) -> LoggedData:
        """As they are."""
        return data

    def policy(self, data: LoggedData) -> TorchPolicy:
        """A copy of the module, mixed with the behaviour model where that is known."""
        mixed = data.behavior_model is not None
        return TorchPolicy.over(self.module, data.features, data.classes.size, mixed=mixed)

    def fit(self, policy: TorchPolicy, inputs: Any, classes: Index) -> Floats:
        """Gradient steps."""
        return fit_by_steps(policy, (inputs, classes), (inputs, classes))


def search_for_module(method: Method, task: Any, target: Target, seed: int) -> Selection:
    """Gradient steps, or CMA-ES for a very small module.

    Parameters
    ----------
    method : {"gradient", "cmaes"}
        The search that was asked for; gradient steps are recorded as "steps".
    task : Classification
        One whose family is that of a module.
    target, seed
        See `Selection`.
    """
    if method == "gradient":
        return Steps("steps", task, target, seed)
    size = sum(value.numel() for value in task.family.module.parameters())
    if method == "cmaes" and size > MOST_EVOLVED:
        raise InputError(
            f"search='cmaes' is for at most {MOST_EVOLVED} parameters. Got a module with {size}.",
            hint="use search='gradient', which trains modules by gradient steps.",
        )
    return Selection(method, task, target, seed)

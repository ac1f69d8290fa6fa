"""What a fit is asked for, whichever rows it gets, and the search that this comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from elfair.bounds import get_bound
from elfair.certification import declared_estimation
from elfair.constraints import Claim, Plan
from elfair.data import LoggedData
from elfair.search import Selection
from elfair.search.module import ModuleFamily, search_for_module
from elfair.search.task import Task
from elfair.statistics import Baselines
from elfair.targets import Target

#: From the parameters of an estimator, and a seed, to what a search is for.
MakeTask = Callable[[Mapping[str, Any], int], Task]


@dataclass(frozen=True)
class Fitting:
    """What is asked of a fit.

    Parameters
    ----------
    claims : tuple of Claim
        What must hold; without any, all rows are for the search.
    parameters : mapping
        Those of the estimator.
    seed : int
        Seed of the split and of the search.
    task : callable
        From parameters and a seed to what the search is for.
    """

    claims: tuple[Claim, ...]
    parameters: Mapping[str, Any]
    seed: int
    task: MakeTask

    @property
    def split(self) -> dict[str, Any]:
        """How rows are divided into halves, as `partition` takes it."""
        return {
            "candidate_fraction": self.parameters["candidate_fraction"],
            "seed": self.seed,
            "stratified": self.parameters["split"] == "stratified",
        }

    @property
    def crossfit(self) -> bool:
        """Whether there are no halves: every row is tested, by a model found on the others."""
        return bool(self.claims) and self.parameters["split"] == "crossfit"

    def selection(self) -> Selection:
        """The search."""
        parameters = self.parameters
        target = Target(parameters["power"], parameters["inflation"], parameters["xi"])
        method, made = parameters["search"], self.task(parameters, self.seed)
        if isinstance(getattr(made, "family", None), ModuleFamily):
            return search_for_module(method, made, target, self.seed)
        return Selection(method, made, target, self.seed)

    def plan(self, candidate: LoggedData, everyone: LoggedData) -> Plan:
        """What is searched for and tested.

        Parameters
        ----------
        candidate : LoggedData
            The rows that constants are learnt from.
        everyone : LoggedData
            All rows, which declarations are held against.
        """
        parameters = self.parameters
        estimation = declared_estimation(
            everyone,
            parameters["bound"],
            parameters["estimator"],
            parameters["center"],
            parameters["impact_range"],
            parameters.get("propensity_floor"),  # the classifier's alone, as is an outcome model
            parameters.get("outcome_model"),
        )
        bound = get_bound(parameters["bound"])
        return Plan.make(self.claims, bound, Baselines(estimation, candidate), everyone)

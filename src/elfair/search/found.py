"""What a search found, and the ladder that is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from elfair.search.judging import Judged
from elfair.search.problem import Candidate, Problem
from elfair.search.ranking import Ranking
from elfair.types import Floats


@dataclass(frozen=True)
class Found:
    """What a search found.

    Parameters
    ----------
    candidates : list of Candidate
        One for each target, the most demanding first.
    evaluations : int
        How many models were evaluated.
    problem : Problem
        How candidate rows judge models.
    """

    candidates: list[Candidate]
    evaluations: int
    problem: Problem
    #: The rows that it was found on, if these are some of many. (A View, which knows a Found.)
    view: Any = None
    #: How many these are.
    rows: int = 0

    @property
    def policy(self) -> Any:
        """The family of models. (Typed Any: callers know what the policies of a family can do.)"""
        return self.problem.policy

    @property
    def best(self) -> Candidate:
        """The best candidate for the most demanding target."""
        return self.candidates[0]

    @cached_property
    def ladder(self) -> list[Candidate]:
        """The models to test in turn: each is less likely to pass than the one before it, and has a
        smaller loss.
        """
        kept = [self.best]
        for model in self.candidates[1:]:
            if model.log_pass < kept[-1].log_pass and model.loss < kept[-1].loss:
                kept.append(model)
        return kept

    @property
    def chances(self) -> Floats:
        """For each claim, the probability that the first model passes its test, as the rows predict
        it that were searched.
        """
        return np.exp(self.problem.log_pass_by_claim(self.best.theta))

    @property
    def forecast(self) -> float:
        """The probability that the first model passes all tests."""
        return float(self.chances.prod())

    def promised(self, luck: float) -> list[Judged]:
        """What the rows that were searched say about the tests of the first model; ``luck`` is the
        number of test rows for each of them.
        """
        return [
            Judged.by(each.levels, luck) for each in self.problem.predictions(self.ladder[0].theta)
        ]


@dataclass(frozen=True)
class Ranked(Found):
    """What a search found, ranked together with simple models and models between those found.

    Parameters
    ----------
    candidates, evaluations, problem
        See `Found`.
    models : list of Candidate
        All of them.
    ranking : Ranking
        What rows that had no part in them say about them.
    most : int
        How many of them may be tested.
    gain : float
        By how much the loss must fall from one to the next, on average.
    """

    models: list[Candidate] = field(kw_only=True)
    ranking: Ranking = field(kw_only=True)
    most: int = field(kw_only=True)
    gain: float = field(kw_only=True)

    @cached_property
    def ladder(self) -> list[Candidate]:
        """The models to test in turn, the most likely to pass first; with losses and chances as
        rows see them that had no part in them.
        """
        loss, log_pass = self.ranking.loss, self.ranking.log_pass
        return [
            replace(self.models[i], loss=float(loss[i]), log_pass=float(log_pass[i]))
            for i in self.ranking.in_turn(self.most, self.gain)
        ]

    @property
    def chances(self) -> Floats:
        """For each claim, the probability that the first of them passes its test."""
        return np.asarray(self.ranking.chances[self.ranking.in_turn(1)[0]])

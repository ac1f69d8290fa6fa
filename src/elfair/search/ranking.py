"""The ranking: which models form the ladder, and in which order.

A search finds a model for each of several targets. These, models between them and simple ones can
be tested. Their order matters: a model is tested only if all before it have passed. On the rows
that a search has seen, its models look better than they are, the more so the harder it had to
search. So the search is repeated without each third of the candidate rows, and that third tells
how much of what a search promises is *kept*. A simple model was hardly searched for. It promises
nothing, and is believed as far as it stands out of its noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from elfair.search.judging import FURTHEST, Judged
from elfair.search.problem import USELESS
from elfair.types import Booleans, Floats, Index

#: The square of an effect that is none.
TINY = 1e-12
#: In how many steps models go from one target to the next.
STEPS = 6
#: A logarithm of a chance above this one is that of certainty: then the loss decides.
SURE = -1e-9
#: What at least is left of the variance of a test, where few rows foresee it.
LEAST_REST = 0.1
#: Shares of a promise that may be kept.
SHARES = np.linspace(0.0, 1.0, 101)


def between(found: Sequence[Floats]) -> list[Floats]:
    """Models, and those on the way from each to the next.

    Examples
    --------
    >>> models = between([np.zeros(1), np.ones(1)])
    >>> len(models), models[1]
    (7, array([0.16666667]))
    """
    ends = np.array(found)
    places = np.linspace(0, len(ends) - 1, STEPS * (len(ends) - 1) + 1)
    before = np.minimum(places.astype(int), max(0, len(ends) - 2))
    after = np.minimum(before + 1, len(ends) - 1)
    share = (places - before)[:, None]
    return list((1 - share) * ends[before] + share * ends[after])


class Effects(NamedTuple):
    """What some rows say about the tests of some models, in standard errors of the test.

    Parameters
    ----------
    size : ndarray of shape (models, claims)
        How far g is below 0.
    width : ndarray of shape (models, claims)
        How far the bound is above g.
    variance : ndarray of shape (models, claims)
        The variance of the size.
    """

    size: Floats
    width: Floats
    variance: Floats

    @classmethod
    def of(cls, judged: Sequence[Sequence[Judged]], luck: float) -> Effects:
        """From judgements by model and claim; ``luck`` is the variance of an average of the rows,
        in variances of the test.
        """
        # Beyond some distance, a width or a score says nothing more.
        width = np.array([[min(each.width, FURTHEST) for each in model] for model in judged])
        score = np.array([[max(each.score, -FURTHEST) for each in model] for model in judged])
        share = np.array([[each.share for each in model] for model in judged])
        return cls(score + width, width, luck * share)

    @property
    def over_folds(self) -> Effects:
        """The average of models that were each judged by other rows, as one."""
        size, width, variance = (each.mean(axis=0, keepdims=True) for each in self)
        return Effects(size, width, variance / len(self.size))

    def beside(self, others: Effects) -> Effects:
        """These and others."""
        return Effects(*(np.concatenate(pair) for pair in zip(self, others, strict=True)))

    def certain(self, n_parameters: int, errors: float) -> bool:
        """Whether the first model passes by so many standard errors, even if the search has found
        all the luck that so many parameters can find: about the square root of their number, in
        standard deviations of an effect.
        """
        luck = np.sqrt(n_parameters * self.variance[0])
        return bool((self.size[0] - luck - self.width[0] >= errors).all())


class Kept(NamedTuple):
    """For each claim, which share of its promised effect a search keeps on other rows.

    Parameters
    ----------
    mean, variance : ndarray
        What is believed of the share, if beforehand any share from 0 to 1 is as likely as any
        other.
    estimate : ndarray
        The share that was seen.
    """

    mean: Floats
    variance: Floats
    estimate: Floats

    @classmethod
    def all_of_it(cls, claims: int) -> Kept:
        """If nothing needs to be doubted."""
        return cls(np.ones(claims), np.zeros(claims), np.ones(claims))

    @classmethod
    def unknown(cls, claims: int) -> Kept:
        """If no rows can tell."""
        half = np.full(claims, 0.5)
        return cls(half, half / 6, half)

    @classmethod
    def seen(cls, promised: Floats, judged: Floats, variance: Floats) -> Kept:
        """From effects as promised and as judged by other rows, and the variance of the latter.

        Who promises nothing has nothing to keep.

        Examples
        --------
        >>> kept = Kept.seen(np.array([4.0, 4.0]), np.array([2.0, 9.0]), np.array([0.01, 0.01]))
        >>> kept.mean.round(2), kept.estimate
        (array([0.5, 1. ]), array([0.5, 1. ]))
        """
        size = np.where(promised > 0, promised, 1.0)
        share = np.where(promised > 0, judged / size, 1.0)
        error = (
            np.sqrt(np.maximum(variance, TINY)) / size
        )  # rows that do not vary, but for rounding
        errors = ((SHARES - share[:, None]) / error[:, None]) ** 2 / 2
        likely = np.exp(errors.min(axis=1, keepdims=True) - errors)
        likely /= likely.sum(axis=1, keepdims=True)
        mean = likely @ SHARES
        return cls(mean, likely @ SHARES**2 - mean**2, np.clip(share, 0.0, 1.0))


@dataclass(frozen=True)
class Ranking:
    """What candidate rows say about some models.

    Parameters
    ----------
    effects : Effects
        Their effects, on the rows they were found on.
    loss : ndarray
        Their losses, as other rows would see them.
    seen : ndarray of shape (models, claims)
        The logarithm of the probability to pass each claim's test, as the search predicts it.
    searched : int
        How many of them were searched for; these come first, the others are simple.
    kept : Kept
        How much of its promises a search keeps.
    left_out : Effects, optional
        What rows say that had no part in finding it, about a searched model and about a simple one
        that came first.
    """

    effects: Effects
    loss: Floats
    seen: Floats
    searched: int
    kept: Kept
    left_out: Effects | None = None

    @cached_property
    def log_pass(self) -> Floats:
        """For each model, the logarithm of the probability to pass all tests, with all doubt about
        its effects: it decides the order.
        """
        size, variance = self._believed(self.kept.mean)
        score = (size - self.effects.width) / np.sqrt(1 + variance)
        return np.asarray(self._at_most_seen(log_ndtr(score)).sum(axis=1))

    @cached_property
    def chances(self) -> Floats:
        """For each model and claim, the probability to pass, if its effects are as they look: to
        the rows that it was found on, as far as its promises are kept, or to the rows left out, if
        these say less of all claims together.

        On average over many tables this is closer to what happens than `log_pass`, whose doubts
        shift all chances towards a half.
        """
        size, _ = self._believed(self.kept.estimate)
        log_pass = self._at_most_seen(log_ndtr(size - self.effects.width))
        if self.left_out is not None:
            log_pass = _smaller(log_pass, self._as_left_out(self.left_out))
        return np.asarray(np.exp(log_pass))

    def _as_left_out(self, judged: Effects) -> Floats:
        """The same by rows that had no part in what came first.

        They give an effect x with a variance v, and the test passes if it finds x, with a variance
        of 1, above the width w. The average of Phi((x - w) / sqrt(1 - v)) over all x is exactly the
        probability of that.
        """
        kind = self._simple.astype(int)
        size = np.minimum(judged.size[kind], np.maximum(self.effects.size, 0.0))
        rest = np.maximum(1 - judged.variance[kind], LEAST_REST)
        return np.asarray(log_ndtr((size - self.effects.width) / np.sqrt(rest)))

    def in_turn(self, most: int, gain: float = 0.0) -> Index:
        """At most so many models, the most likely to pass first. Each that follows has a smaller
        loss than all before it, by so much on average.
        """
        kept: list[int] = []
        for place in np.lexsort([self.loss, -np.minimum(self.log_pass, SURE)]):
            if not kept or self.loss[place] < self.loss[kept[-1]]:
                kept.append(int(place))
        # Every test can fail, so each must have something to win: the same share of the way.
        falling = self.loss[kept]
        if gain:
            most = min(most, 1 + int((falling[0] - falling[-1]) / gain))
        wanted = np.linspace(falling[0], falling[-1], most)
        return np.array(kept)[np.unique(np.searchsorted(-falling, -wanted))]

    @property
    def _simple(self) -> Booleans:
        return np.arange(self.loss.size) >= self.searched

    def _believed(self, share: Floats) -> tuple[Floats, Floats]:
        """Effects and their variances, if so much of what was promised for each claim is kept."""
        size, _, variance = self.effects
        doubt = self.kept.variance * size**2
        promised = np.where(size > 0, share * size, size), np.where(size > 0, doubt, 0.0)
        # Stein's positive part: the best of many stand out by luck.
        believed = 1 - np.minimum(1.0, variance / np.maximum(size**2, TINY))
        simple = self._simple[:, None]
        return (
            np.where(simple, believed * size, promised[0]),
            np.where(simple, believed * variance, promised[1]),
        )

    def _at_most_seen(self, log_pass: Floats) -> Floats:
        """Whatever other rows say, a searched model is at most as likely to pass as its own rows
        predict. These predictions allow for a search, so they are too low for simple models; but
        one that is no new model is useless, simple or not.
        """
        useless = self.seen.sum(axis=1) <= 0.999 * USELESS  # a sum, so rounded
        believed = (self._simple & ~useless)[:, None]
        return np.where(believed, log_pass, _smaller(log_pass, self.seen))


def _smaller(one: Floats, other: Floats) -> Floats:
    """For each model, the logarithms that say less of all claims together."""
    return np.where((one.sum(axis=1) <= other.sum(axis=1))[:, None], one, other)


def first_of(seen: Floats, effects: Effects) -> int:
    """Which of some simple models would come first on a ladder of their own."""
    nothing, kept = np.zeros(len(seen)), Kept.all_of_it(effects.size.shape[1])
    return int(Ranking(effects, nothing, seen, 0, kept).log_pass.argmax())

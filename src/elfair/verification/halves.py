"""The division of rows, made again from what the certificate says of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from elfair.certificate import Certificate
from elfair.continuous import ContinuousData
from elfair.data import LoggedData
from elfair.fairness_test import opened_before
from elfair.foreign import set_aside
from elfair.partition import SealedHalf, cross_partition, partition
from elfair.verification.checks import SkippedError, require


@dataclass(frozen=True)
class Halves:
    """Rows as they were divided.

    Parameters
    ----------
    everyone : LoggedData
        All rows.
    aside : LoggedData
        Those that were not for the test; under cross-fitting all.
    tested : LoggedData
        The held-out rows, in the order of the test.
    divided : tuple of (LoggedData, SealedHalf)
        For each model's test, the rows that its search could use, and those it was tested on; empty
        where no model was searched for, or none tested.
    """

    everyone: LoggedData
    aside: LoggedData
    tested: LoggedData
    divided: tuple[tuple[LoggedData, SealedHalf], ...] = ()


def rows_of(data: object) -> LoggedData:
    """The rows that were given."""
    if data is None:
        raise SkippedError("there are no data to check it with")
    require(isinstance(data, LoggedData), f"data must be a LoggedData. Got {type(data).__name__}")
    assert isinstance(data, LoggedData)
    return data


def halves_of(record: Certificate, data: object) -> Halves:
    """Divide rows by the certificate's seed, shares and folds."""
    data = rows_of(data)
    everyone, share, seed = copy.copy(data), record.terms.candidate_share, record.seed
    if isinstance(everyone, ContinuousData):
        everyone.thresholds = record.terms.thresholds
    if record.split == "none" and record.candidate is None:
        aside, tested = set_aside(everyone, share, seed)
        return Halves(everyone, everyone.take(aside), everyone.take(tested))
    if record.split == "none":
        return Halves(everyone, everyone, everyone.take(np.arange(0)))
    if record.split == "crossfit":
        divided = cross_partition(everyone, folds=record.terms.folds, seed=seed)
        tested_rows = opened_before([sealed for _, sealed in divided])
        return Halves(everyone, everyone, tested_rows, tuple(divided))
    candidate, sealed = partition(
        everyone, candidate_fraction=share, seed=seed, stratified=record.split == "stratified"
    )
    return Halves(everyone, candidate, opened_before([sealed]), ((candidate, sealed),))

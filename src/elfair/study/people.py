"""People as a table has them, for ``predict`` and ``decide`` of a model that a study made."""

from __future__ import annotations

from typing import Any

from elfair.estimators.base import ELFEstimator
from elfair.study.batches import read_batch


def features_of(model: ELFEstimator, people: Any) -> Any:
    """The features of people; one error names every reason why some cannot be decided about.

    Nobody is identified: whether somebody was decided about before is for `decisions` to know,
    which logs.

    Parameters
    ----------
    model : ELFClassifier or ELFRegressor
        Made from a study, which says how to read the table.
    people : data frame or pyarrow table
        One row for each person; columns that the model does not need are left alone.

    Returns
    -------
    pyarrow.Table
        The features as the model was fitted with them, in the order of the rows.
    """
    batch = read_batch(model, people, identify=False)
    batch.require_whole("pass the people of elfair.study.read_batch(model, X, identify=False)")
    return batch.features

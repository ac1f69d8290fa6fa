"""How decisions were drawn: propensities, tables of probabilities, and behaviour models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from elfair.data import LoggedData
from elfair.data.behavior import behavior_probabilities
from elfair.errors import DataError

DECISION = [0, 0, 1, 1, 0, 1]
PROPENSITY = [0.5, 0.25, 0.75, 0.5, 0.9, 0.1]
BEHAVIOR = [[0.5, 0.5], [0.25, 0.75], [0.25, 0.75], [0.5, 0.5], [0.9, 0.1], [0.9, 0.1]]


def make(**changes: Any) -> LoggedData:
    good = {"X": np.zeros((6, 1)), "y": [0, 1] * 3, "decision": DECISION, "propensity": PROPENSITY}
    return LoggedData(**{**good, **changes})


def refused(*words: str, **changes: Any) -> None:
    """Raise, with all the words and one hint at the end."""
    with pytest.raises(DataError) as caught:
        make(**changes)
    assert str(caught.value).count("\nHint: ") == 1
    for word in words:
        assert word in str(caught.value)


def test_certain_decisions_identify_nothing() -> None:
    words = "those decisions were deterministic"
    refused("propensity is exactly 1 in 2 of 6 rows", words, propensity=[1, 0.5, 0.5, 1, 0.5, 0.5])
    refused("propensity is exactly 1 in 6 of 6 rows", words, propensity=np.ones(6))


class Model:
    """A fitted behaviour model of a single feature, whose probabilities are written down."""

    def __init__(self, probabilities: Any, classes: Any = (0, 1)) -> None:
        self.probabilities = np.asarray(probabilities, dtype=float)
        self.classes_ = np.asarray(classes)

    def predict_proba(self, X: Any) -> Any:
        return self.probabilities


def test_a_model_may_be_certain_of_some_rows() -> None:
    some = [[1.0, 0.0], *BEHAVIOR[1:]]
    data = make(propensity=None, behavior=Model(some))
    assert data.behavior_model is not None
    np.testing.assert_allclose(data.behavior, some)
    assert data.propensity is not None
    np.testing.assert_allclose(data.propensity, [1, *PROPENSITY[1:]])
    assert make(propensity=data.propensity, behavior=Model(some)).propensity is not None
    all_certain = np.eye(2)[DECISION]
    refused("exactly 1 in 6 of 6 rows", propensity=None, behavior=Model(all_certain))
    refused("behavior gives probability 0 to some decision in 1 of 6 rows", "fitted model itself",
            propensity=None, behavior=some)  # fmt: skip


def test_the_model_is_asked_about_the_rows_as_they_came() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    decided = (frame["a"] + rng.normal(size=200) > 0).map({True: "yes", False: "no"})
    model = LogisticRegression().fit(frame, decided)  # warns if asked without names
    data = LoggedData(frame, decision=decided, behavior=model)
    np.testing.assert_allclose(data.behavior, model.predict_proba(frame), rtol=1e-12)
    assert data.propensity is not None
    taken = np.where(decided == "yes", *model.predict_proba(frame).T[::-1])
    np.testing.assert_allclose(data.propensity, taken, rtol=1e-12)


def test_a_model_may_order_its_classes_otherwise() -> None:
    data = make(propensity=None, behavior=Model(np.array(BEHAVIOR)[:, ::-1], [1, 0]))
    np.testing.assert_allclose(data.behavior, BEHAVIOR)


def test_a_model_may_lack_a_class_and_know_one_it_never_takes() -> None:
    never = np.column_stack([BEHAVIOR, np.zeros(6)])
    data = make(propensity=None, behavior=Model(never, [0, 1, 7]), classes=[0, 1, 2])
    np.testing.assert_allclose(data.behavior, never)


class NeverFitted:
    """No scikit-learn classifier: nobody but its author can fit it."""

    def predict_proba(self, X):
        raise NotImplementedError


def test_models_that_do_not_fit() -> None:
    def model(**changes: Any) -> dict[str, Any]:
        return {"propensity": None, "behavior": Model(**{"probabilities": BEHAVIOR, **changes})}

    refused("decisions that are not among the classes: 2. Classes: 0, 1", **model(classes=[0, 2]))
    refused("are not among the classes: '0', '1'", "'0' is not 0", **model(classes=["0", "1"]))
    refused("each of its 2 classes. Got shape (6,)", **model(probabilities=np.ones(6)))
    refused("each of its 2 classes. Got shape (6, 3)", **model(probabilities=np.ones((6, 3)) / 3))
    refused("predict_proba of the behaviour model has 3 rows", **model(probabilities=BEHAVIOR[:3]))
    refused("row 0 sums to 1.5", **model(probabilities=np.full((6, 2), 0.75)))
    refused("missing or infinite values in 6 of 6", **model(probabilities=np.full((6, 2), np.nan)))
    refused("must be a fitted model", "fit it first", propensity=None, behavior=NeverFitted())


@pytest.mark.parametrize("hold", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_behavior_is_a_table_of_probabilities(hold: Any) -> None:
    first, second = np.array(BEHAVIOR).T.tolist()
    for table in ({"no": first, "yes": second}, {"1": second, "0": first}):
        data = make(propensity=None, behavior=hold(table))
        np.testing.assert_allclose(data.behavior, BEHAVIOR)
        assert data.propensity is not None
        np.testing.assert_allclose(data.propensity, PROPENSITY)


def test_behavior_tables_that_do_not_fit() -> None:
    def table(row: list[float]) -> dict[str, Any]:
        return {"propensity": None, "behavior": [*BEHAVIOR[:5], row]}

    refused("shape (6, 2)", "Got shape (4, 2)", propensity=None, behavior=BEHAVIOR[:4])
    refused("shape (6, 2)", "Got shape (6, 1)", propensity=None, behavior=[0.5] * 6)
    refused("shape (6, 2)", "(0, 1)", "(6, 3)", propensity=None, behavior=np.ones((6, 3)) / 3)
    refused("row 5 sums to 0.9", **table([0.4, 0.5]))
    refused("negative, missing or infinite values in 1 of 6 rows (the first is row 5)",
            **table([-0.5, 1.5]))  # fmt: skip
    refused("missing or infinite values in 1 of 6", **table([np.nan, 0.5]))
    refused("probability 0 to some decision in 1 of 6 rows", **table([0.0, 1.0]))
    impossible = Model([*BEHAVIOR[:5], [1.0, 0.0]])
    refused("probability 0 to the logged decision, in 1 of 6 rows (the first is row 5)",
            propensity=None, behavior=impossible)  # fmt: skip


def test_rounding_in_behavior_is_taken_out() -> None:
    data = make(propensity=None, behavior=np.array(BEHAVIOR) * (1 + 9e-7))
    assert data.behavior is not None
    np.testing.assert_allclose(data.behavior.sum(axis=1), 1, rtol=1e-15)


def test_propensity_and_behavior_must_agree() -> None:
    nearly = np.array(PROPENSITY) + 5e-7
    np.testing.assert_allclose(make(behavior=BEHAVIOR, propensity=nearly).behavior, BEHAVIOR)
    refused("disagree in 1 of 6 rows: in row 1, propensity is 0.75 and behavior says 0.25",
            behavior=BEHAVIOR, propensity=[0.5, 0.75, *PROPENSITY[2:]])  # fmt: skip
    # Both differ by less than a millionth, and the weights by a factor of two.
    small = [[1 - 4e-7, 4e-7]] * 6
    refused("disagree in 6 of 6 rows", behavior=small, decision=[1] * 6, propensity=[8e-7] * 6)


def test_a_kept_model_is_checked_whenever_it_is_asked() -> None:
    classes = np.array([0, 1])
    np.testing.assert_allclose(behavior_probabilities(Model(BEHAVIOR), None, classes), BEHAVIOR)
    with pytest.raises(DataError, match="missing or infinite values in 1 of 1 rows"):
        behavior_probabilities(Model([[np.nan, 0.5]]), None, classes)
    with pytest.raises(DataError, match=r"row 0 sums to 0\.9"):
        behavior_probabilities(Model([[0.4, 0.5]]), None, classes)

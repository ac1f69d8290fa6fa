"""Labels that only some decisions reveal: what is declared must be what the table holds."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import ELFRegressor, LoggedData
from elfair.errors import DataError, InputError


def make(label=(1, None, 0, None), decision=(1, 0, 1, 0), seen_for=(1,), **given):
    given = {"propensity": [0.5, 0.6, 0.8, 0.3], **given}
    return LoggedData(
        [[0.0], [1.0], [2.0], [3.0]],
        list(label),
        label_seen_for=seen_for if seen_for is None else list(seen_for),
        decision=list(decision),
        **given,
    )


def test_a_label_that_is_seen_weighs_as_much_as_the_people_it_stands_for():
    data = make()
    assert data.classes.tolist() == [0, 1]
    assert data.label_index.tolist() == [1, -1, 0, -1]
    np.testing.assert_allclose(data.revealed.weight, [1 / 0.5, 0, 1 / 0.8, 0])
    np.testing.assert_allclose(data.revealed.chance, [0.5, 0.4, 0.8, 0.7])


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_labels_do_not_change_the_classes(missing):
    data = make(label=(1, missing, 0, missing))
    assert data.classes.dtype.kind == "i"
    assert data.label.tolist() == [1, None, 0, None]


def test_rows_keep_what_is_known_of_their_labels():
    some = make().take(np.array([2, 1]))
    assert some.revealed.seen.tolist() == [True, False]
    np.testing.assert_allclose(some.revealed.weight, [1 / 0.8, 0])


def test_the_declaration_is_part_of_the_fingerprint():
    words = {"decision": ("a", "b", "a", "c"), "classes": ["a", "b", "c"], "propensity": None}
    behavior = np.tile([0.5, 0.25, 0.25], (4, 1))
    both = [
        make(("a", None, "b", None), seen_for=["a"], behavior=behavior, **words),
        make(("a", None, "b", None), seen_for=["a"], behavior=behavior, **words),
    ]
    assert both[0].fingerprint() == both[1].fingerprint()
    plain = make(("a", "b", "b", "c"), seen_for=None, behavior=behavior, **words)
    assert plain.fingerprint() != both[0].fingerprint()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seen_for": None}, "y is missing"),
        ({"label": (None, None, 0, None)}, "although the decision (1) reveals it"),
        ({"label": (1, 0, 0, None)}, "y is given, although the decision is not 1"),
        ({"propensity": None}, "needs the probability"),
        ({"seen_for": ("approve",)}, "label_seen_for must name decisions"),
        ({"seen_for": (0, 1)}, "names every decision"),
    ],
)
def test_what_does_not_fit_is_an_error_with_a_hint(given, words):
    with pytest.raises((DataError, InputError), match="Hint") as caught:
        make(**given)
    assert words in str(caught.value)


def test_several_decisions_need_the_probability_of_each():
    words = {"decision": ("a", "b", "c", "c"), "classes": ["a", "b", "c"]}
    with pytest.raises(DataError, match="propensity= is that of one decision"):
        make(("a", "b", None, None), seen_for=["a", "b"], **words)


def test_decisions_that_are_numbers_reveal_nothing():
    with pytest.raises(TypeError, match="label_seen_for"):
        ELFRegressor().fit([[0.0], [1.0]], [0.0, 1.0], label_seen_for=[1])

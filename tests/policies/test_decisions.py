"""Drawing decisions."""

from __future__ import annotations

import numpy as np

from elfair.policies.models import draw

CLASSES = np.array(["a", "b", "c"], dtype=object)


class Largest(np.random.RandomState):
    """Always draws the largest number below 1."""

    def uniform(self, size):
        return np.full(size, np.nextafter(1.0, 0.0))


def test_a_decision_of_probability_zero_is_never_drawn():
    # These sum to a little less than 1: the largest number would fall behind all of them.
    table = np.array([[0.7, 0.3 - 2e-16, 0.0], [0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])
    assert table[0].sum() < 1
    drawn = draw(table, CLASSES, Largest())
    assert drawn.decision.tolist() == ["b", "c", "a"]
    assert (drawn.propensity > 0).all()


def test_the_first_of_probability_zero_is_never_drawn_either():
    table = np.tile([0.0, 0.5, 0.5], (2_000, 1))
    assert set(draw(table, CLASSES).decision) == {"b", "c"}


def test_frequencies_and_propensities():
    p = np.array([0.2, 0.5, 0.3])
    drawn = draw(np.tile(p, (40_000, 1)), CLASSES, 0)
    for name, probability in zip(CLASSES, p, strict=True):
        seen = drawn.decision == name
        assert abs(seen.mean() - probability) <= 4 * np.sqrt(probability / 40_000)
        assert (drawn.propensity[seen] == probability).all()

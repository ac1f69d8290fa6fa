"""What holds for every method: it fits, it repeats itself, and it looks at no more than it says."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from elfair.experiments.baselines.registry import METHODS, get_method
from elfair.populations import FosterCare

POPULATION = FosterCare()
BLIND = [name for name, method in METHODS.items() if not method.uses_impact]


def fit(name, draw, constraints=POPULATION.constraints, seed=3):
    return get_method(name).fit(draw, constraints, delta=0.1, seed=seed)


@pytest.fixture(scope="module")
def draw():
    return POPULATION.sample(1000, seed=3)


@pytest.fixture(scope="module")
def seen():
    return POPULATION.sample(200, seed=4).features


@pytest.fixture(scope="module")
def models(draw):
    return {name: fit(name, draw) for name in METHODS}


@pytest.mark.parametrize("name", METHODS)
def test_it_gives_the_same_model_again(models, draw, seen, name):
    first, again = models[name], fit(name, draw)
    assert (first is None) == (again is None)
    if first is not None:
        probabilities = np.asarray(first.predict_proba(seen))
        assert probabilities.shape == (200, 2)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_array_equal(probabilities, again.predict_proba(seen))


def test_nearly_all_return_a_model_here(models):
    """Or else the tests of this file would say little."""
    none = [name for name, model in models.items() if model is None]
    assert set(none) <= {"elf-paper", "qsa-equal-opportunity", "qsa-predictive-equality"}
    assert len(none) <= 1


@pytest.mark.parametrize("name", BLIND)
def test_it_does_not_look_at_what_was_decided_or_became_of_it(models, draw, seen, name):
    nothing = np.full(1000, np.nan)
    garbage = replace(draw, decision=nothing, propensity=nothing, impact=nothing)
    model = fit(name, garbage, ["no constraint at all"])
    np.testing.assert_array_equal(
        models[name].predict_proba(seen), model.predict_proba(seen), strict=True
    )


@pytest.mark.parametrize("name", [name for name in METHODS if name not in BLIND])
def test_elf_does_look_at_them(draw, name):
    with pytest.raises(ValueError, match="impact"):
        fit(name, replace(draw, impact=np.full(1000, np.nan)))


REPEAT = """
from hashlib import sha256
import numpy as np
from elfair.experiments.baselines.registry import get_method
from elfair.populations import FosterCare
population = FosterCare()
draw, seen = population.sample(1000, seed=3), population.sample(200, seed=4).features
for name in ("elfair", "qsa-demographic-parity", "fairlearn-demographic-parity"):
    model = get_method(name).fit(draw, population.constraints, delta=0.1, seed=3)
    print(sha256(np.asarray(model.predict_proba(seen)).tobytes()).hexdigest())
"""


def test_another_process_gives_the_same_model(models, seen):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", REPEAT], capture_output=True, text=True, check=True
    )
    names = ("elfair", "qsa-demographic-parity", "fairlearn-demographic-parity")
    here = [np.asarray(models[name].predict_proba(seen)).tobytes() for name in names]
    assert done.stdout.split() == [sha256(text).hexdigest() for text in here]

"""The same model gives the same bytes: in another process, with other hashes, at another time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from elfair.persistence.saving import to_bytes

PROGRAM = """
import hashlib, sys, warnings
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from elfair import ELFClassifier
from elfair.persistence.saving import to_bytes
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
y = np.array(["no", "yes"])[(X[:, 0] + rng.normal(size=300) > 0).astype(int)]
weight = {"no": 1.0, "yes": 2.0}
for scorer in (None, LogisticRegression(class_weight=weight), RandomForestClassifier(4)):
    clf = ELFClassifier("accuracy >= 0.4", scorer=scorer).fit(X, y)
    data = to_bytes(clf)
    print(hashlib.sha256(data).hexdigest(), clf._trained.models[0].digest())
"""


def run(seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True
    ).stdout


def test_other_processes_write_the_same_bytes():
    first = run("1")
    assert len(set(first.split())) == 6
    assert run("2") == first


@pytest.mark.parametrize("kind", ["line of models", "forest", "boosting", "second round"])
def test_saving_twice_writes_the_same_bytes(kind, made):
    one, two = (hashlib.sha256(to_bytes(made(kind))).hexdigest() for _ in range(2))
    assert one == two

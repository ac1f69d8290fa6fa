"""The same model gives the same bytes: in another process, with other hashes, at another time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from elfair import ELFClassifier
from elfair.persistence.contents import members_of
from elfair.persistence.model_file import to_bytes


def fingerprints() -> list[str]:
    """Of files, and of the models in them, each fitted here and now."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.array(["no", "yes"])[(X[:, 0] + rng.normal(size=300) > 0).astype(int)]
    weighted = LogisticRegression(class_weight={"no": 1.0, "yes": 2.0})
    found = []
    for scorer in (None, weighted, RandomForestClassifier(4)):
        clf = ELFClassifier(scorer=scorer).fit(X, y)
        found += [hashlib.sha256(to_bytes(clf)).hexdigest(), clf.fitted_.models[0].digest()]
    return found


def test_another_process_writes_the_same_bytes():
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__],
        env={**os.environ, "PYTHONHASHSEED": "3"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == fingerprints()
    assert len(set(done.stdout.split())) == 6


@pytest.mark.parametrize("kind", ["ladder", "forest", "boosting", "second round"])
def test_saving_twice_writes_the_same_bytes(kind, made):
    one, two = (hashlib.sha256(to_bytes(made(kind))).hexdigest() for _ in range(2))
    assert one == two


def test_nothing_in_a_file_depends_on_when_or_where_it_was_written(made):
    data = to_bytes(made("pipeline"))
    nested = members_of(data)["policies/0/scorer.skops"]
    for entry in [e for d in (data, nested) for e in ZipFile(BytesIO(d)).infolist()]:
        assert entry.date_time == (1980, 1, 1, 0, 0, 0)
        assert (entry.create_system, entry.compress_type) == (3, ZIP_STORED)
        assert not entry.extra
        assert not entry.comment


if __name__ == "__main__":
    print(*fingerprints())

"""Honest certificates verify: random studies over the whole language, from memory and from files.

ELFAIR_GUARANTEES=full makes 2,000 of them.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from honest import attempt, read_table, write_table

from elfair import Certificate, LoggedData, certify, load, verify
from elfair.consistency import require_consistent

FULL = os.environ.get("ELFAIR_GUARANTEES") == "full"
WANTED = 2_000 if FULL else 30
#: Four in ten draws are refused: bounds that need ends nobody declared, and the like.
MOST_REFUSED = 0.7


def problems(made, folder, seed):
    """What a genuine certificate is blamed for, by any way of verifying it."""
    found = verify(made.certificate.to_json(), data=made.data, model=made.model)
    if not found.passed:
        return found.text()
    require_consistent(made.certificate)
    path = folder / f"table.{'csv' if seed % 2 else 'parquet'}"
    write_table(made.columns, path)
    made.certificate.save(folder / "certificate.json")
    model = made.model
    if hasattr(model, "save"):
        model.save(folder / "model.elfair")
        trusted = ["sklearn.tree._tree.Tree"]
        model = load(folder / "model.elfair", trusted=trusted)
    data = read_table(made.columns, path)
    found = verify(Certificate.load(folder / "certificate.json"), data=data, model=model)
    return "" if found.passed else f"from files: {found.text()}"


def test_whatever_was_made_honestly_verifies(tmp_path):
    made, seed, wrong = 0, 0, {}
    while made < WANTED:
        one = attempt(seed)
        if one is not None:
            made += 1
            if said := problems(one, tmp_path, seed):
                wrong[seed] = said
        seed += 1
        assert seed < 50 or made > (1 - MOST_REFUSED) * seed / 2, "most draws are refused"
    assert not wrong, "\n\n".join(f"seed {seed}:\n{said}" for seed, said in wrong.items())


@pytest.mark.parametrize(
    "text",
    [
        "TPR + TNR >= 0.5",
        "TPR - FPR >= -0.5",
        "0.5 * TPR + 0.5 * TNR >= 0.2",
        "min(var[impact], 10) <= 2",
        "accuracy - TPR <= 1",
        "E[impact | T == 0] - E[impact] <= 3",
    ],
)
def test_statements_that_once_never_did(text):
    rng = np.random.default_rng(1)
    n = 500
    x, decision = rng.normal(size=(n, 1)), rng.integers(0, 2, n)
    data = LoggedData(
        x,
        (x[:, 0] > 0).astype(int),
        sensitive_features={"T": rng.integers(0, 2, n)},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=decision * x[:, 0] + rng.uniform(-1, 1, n),
    )
    model = rng.uniform(0.1, 0.9, n)
    found = verify(certify(model, data, text), data=data, model=model)
    assert found.passed, found.text()

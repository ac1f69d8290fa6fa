"""How many inputs there are, and what they are made from."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from elfair.study import StudyFile, fit_study

sys.path.insert(0, str(Path(__file__).parent))

STUDY = """# from the board
title = "Loans of 2024"

[data]
source = "loans.csv"
missing = ["n/a", -999]

[clean.race]
values = { "A " = "A", a = "A" }

[derived]
band = { of = "age", bins = [30, 60] }
old = "age >= 60"

[columns]
features = ["age", "housing"]
label = "repaid"
sensitive = ["race", "band"]
decision = "approved"
propensity = "p"
impact = ["savings"]
categories = { housing = ["own", "rent"] }

[rows]
keep = ["age >= 18"]

[model]
objective = "accuracy"

[test]
delta = 0.05
seed = 1

[[constraints]]
no_worse = "race"
groups = ["A", "B"]
chosen_by = "the review board"

[[constraints]]
text = "accuracy >= 0.3 and abs(PR[race == 'A'] - PR[race == 'B']) <= 0.9"
delta = 0.1
"""


@pytest.fixture(scope="session")
def inputs() -> int:
    """Inputs of each kind: 10,000 in the usual lane; `make fuzz` asks for more."""
    return int(os.environ.get("ELFAIR_FUZZ", "10000"))


@pytest.fixture(scope="session")
def seed() -> int:
    """Where the inputs begin; `make fuzz` begins elsewhere each day."""
    return int(os.environ.get("ELFAIR_FUZZ_SEED", "15"))


@pytest.fixture(scope="session")
def genuine(tmp_path_factory) -> Path:
    """The folder of a study and its results."""
    folder, rng, n = tmp_path_factory.mktemp("genuine"), np.random.default_rng(0), 400
    rows = zip(
        rng.integers(18, 90, n),
        rng.choice(["own", "rent"], n),
        rng.integers(0, 2, n),
        rng.choice(["A", "B"], n),
        rng.integers(0, 2, n),
        rng.normal(size=n),
        strict=True,
    )
    names = "age,housing,repaid,race,approved,p,savings"
    lines = [f"{a},{b},{c},{d},{e},0.5,{f:.3f}" for a, b, c, d, e, f in rows]
    (folder / "loans.csv").write_text("\n".join([names, *lines]))
    (folder / "study.toml").write_text(STUDY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_study(StudyFile.load(folder / "study.toml")).write(folder / "results")
    return folder

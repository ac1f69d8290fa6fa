"""What several folders share: `counting`, a population, the documentation site.

Property tests repeat their examples; HYPOTHESIS_PROFILE=random looks for new ones.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from elfair.data.looks import LooksOfProcess, counted_in, looking_again

sys.path.insert(0, str(Path(__file__).parent))  # for counting.py

# Speed belongs in benchmarks: a slow machine is not a failure.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


class Outreach:
    """A contextual bandit without labels whose truth is known exactly: 24 kinds of people.

    Three ways to reach people, logged with known propensities, have two later impacts: "profit",
    which a visit makes largest, and "health", which a visit harms in race B, most of all women. The
    policy sees only x1 and x2; x2 says something of race.
    """

    arms = np.array(["call", "none", "visit"])

    def __init__(self) -> None:
        kinds = np.array(list(product((-1.0, 0.0, 1.0), (-1.0, 1.0), (0, 1), (0, 1))))
        self.X, b, f = kinds[:, :2], kinds[:, 2] == 1, kinds[:, 3] == 1
        self.race, self.sex = np.where(b, "B", "A"), np.where(f, "F", "M")
        rate = np.where(self.X[:, 1] > 0, 0.7, 0.2)
        self.share = np.where(b, rate, 1 - rate) / 12
        x1, nothing = self.X[:, 0], np.zeros(24)
        odds = np.exp(np.column_stack([0.3 * x1, nothing + 0.3, -0.3 * x1]))
        self.behavior = odds / odds.sum(axis=1, keepdims=True)
        self.means = {
            "profit": np.column_stack([0.5 + 0.3 * x1, nothing, 1.0 - 0.2 * x1]),
            "health": np.column_stack(
                [nothing + 0.4, nothing, np.where(b, np.where(f, -1.2, -0.6), 0.6)]
            ),
        }

    def sample(self, n: int, seed: int, *, known: bool = False) -> dict[str, Any]:
        """Arguments of `ELFClassifier.fit` and of `LoggedData`; if ``known``, with the probability
        of every decision instead of the taken one's.
        """
        rng = np.random.default_rng(seed)
        kind = rng.choice(24, size=n, p=self.share)
        behavior = self.behavior[kind]
        arm = (rng.random(n)[:, None] > behavior.cumsum(axis=1)).sum(axis=1)
        return {
            "X": self.X[kind],
            "sensitive_features": {"race": self.race[kind], "sex": self.sex[kind]},
            "decision": self.arms[arm],
            **({"behavior": behavior} if known else {"propensity": behavior[np.arange(n), arm]}),
            "impact": {
                name: means[kind, arm] + rng.normal(0, 0.7, n) for name, means in self.means.items()
            },
        }

    def value(self, impact: str, probabilities: Any, given: Any = True) -> float:
        """The true mean of an impact among some of the kinds, if they are decided about so."""
        share = self.share * given
        gains = (self.means[impact] * probabilities).sum(axis=1)
        return float(share @ gains / share.sum())


@pytest.fixture(autouse=True, scope="session")
def every_test_is_the_first(tmp_path_factory):
    """Most tests compare settings on the same rows: there no look is counted."""
    with looking_again(1), pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELFAIR_LEDGER", str(tmp_path_factory.mktemp("ledger") / "ledger.db"))
        yield


@pytest.fixture
def counted() -> Iterator[None]:
    """Looks are counted, as in a process that has just begun."""
    with counted_in(LooksOfProcess()):
        yield


@pytest.fixture
def outreach() -> Outreach:
    return Outreach()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation site, built once for all test processes."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    built, said = folder / "site", folder / "site.txt"
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            done = subprocess.run(
                [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(built)],
                cwd=Path(__file__).parents[1],
                env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            said.write_text(f"{done.returncode}\n{done.stdout}", encoding="utf-8")
    code, _, words = said.read_text(encoding="utf-8").partition("\n")
    assert code == "0", words
    return built

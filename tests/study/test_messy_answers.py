"""A messy table gives the right answer: the truth is within the interval, for each defect alone and
for defects together.

A fixed model is tested, so each table is a draw of its own, and how often an interval misses the
truth can be counted. An interval that is too wide to miss anything is a failure, too.
"""

from __future__ import annotations

import sys
import warnings
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pytest

from elfair import certify
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import CertificateWarning
from elfair.study import StudyFile

sys.path.insert(0, str(Path(__file__).parent))
from messy import DEFECTS, Defect, clean_table, each, study_text, write

#: Each end of each interval may miss the truth with this probability.
DELTA = 0.01
ROWS = 1200
#: No interval is wider: wrong readings are off by more than half of it.
WIDEST = 0.2
#: What approval adds to savings, by race.
GAIN = {"A": 1.0, "B": 1.5}


def _together(seed: int = 0) -> list[tuple[str, ...]]:
    """Every defect once, in sets of five of different columns that add rows at most once."""
    rng, left, sets = np.random.default_rng(seed), [*DEFECTS], []
    left.remove("group of two columns")
    while left:
        chosen: list[str] = []
        for name in rng.permutation(left).tolist():
            others = [DEFECTS[other] for other in chosen]
            apart = all(other.column != DEFECTS[name].column for other in others)
            rows = sum(bool(other.rows) for other in [*others, DEFECTS[name]])
            if len(chosen) < 5 and apart and rows <= 1:
                chosen.append(name)
        left = [name for name in left if name not in chosen]
        sets.append(tuple(chosen))
    return sets


CASES = [*((name,) for name in DEFECTS), *_together(0), *_together(1), *_together(2)]


def spoilt(table, chosen):
    """The table with all of some defects; rows are added first."""
    for defect in sorted(chosen, key=lambda each: not each.rows):
        table = defect.spoil(table)
    return table


def new(age, income):
    """The fixed model's probability of approval."""
    return 0.05 + 0.2 * (np.asarray(age) >= 50) + 0.1 * (np.asarray(income) > 60000)


def truth():
    """How much better each race fares under the fixed model, exactly."""
    income = np.arange(1000, 90000)
    chance = np.mean(new(np.arange(18, 80), 0)) + np.mean(new(0, income) - new(0, 0))
    more = chance - np.mean(0.25 + 0.5 * (income > 40000))
    return {race: float(more * by) for race, by in GAIN.items()}


def interval(data, race):
    """Between what the new model gains for a race, with 1 - 2 DELTA."""
    approve = new(data.feature("age"), data.feature("income"))
    gain = f"E[savings | race == '{race}'] - E_logged[savings | race == '{race}']"
    ends = [f"{gain} >= -1", f"{gain} <= 1"]
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)
        new_model = np.column_stack([approve, 1 - approve])
        made = certify(new_model, data, ends, delta=DELTA, estimator="dr")
    bounds = {each.constraint: each.upper for each in made.constraints}
    return -1 - bounds[ends[0]], 1 + bounds[ends[1]]


def misses(chosen, seed, folder):
    """How often the truth is outside, of four ends of two intervals; and their widths."""
    write(spoilt(clean_table(ROWS, seed), chosen), folder / "loans.csv")
    data = StudyFile.loads(study_text(*chosen), folder=folder).read().data
    found, widths = 0, []
    for race, true in truth().items():
        low, high = interval(data, race)
        found += (low > true) + (high < true)
        widths.append(high - low)
    return found, max(widths)


def most(draws, chance, blamed=1e-3):
    """So many misses that more have a probability of less than `blamed`."""
    tail = 1.0
    for k in range(draws + 1):
        tail -= comb(draws, k) * chance**k * (1 - chance) ** (draws - k)
        if tail < blamed:
            return k
    return draws


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    return {
        names: misses([DEFECTS[name] for name in names], 10_000 + k, folder)
        for k, names in enumerate(CASES)
    }


def test_the_truth_is_within_the_interval_of_each_cured_table(drawn):
    """One end in a hundred misses; no table misses for both races, as a wrong reading does."""
    found = [count for count, _ in drawn.values()]
    assert sum(found) <= most(4 * len(found), DELTA)
    assert max(found) <= 1, [" + ".join(names) for names in drawn if drawn[names][0] > 1]
    assert max(width for _, width in drawn.values()) < WIDEST


#: What a wrong reading of one column does: all of these are within what a parser might do.
WRONG = {
    "savings without their minus": each("savings", lambda v: v.lstrip("-")),
    "savings of another unit": each("savings", lambda v: str(2 * float(v))),
    "ages in months": each("age", lambda v: str(12 * int(v))),
    "races swapped": each("race", lambda v: {"A": "B", "B": "A"}[v]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_reading_would_be_seen(name, tmp_path):
    found = [misses([Defect(WRONG[name], "")], 20_000 + k, tmp_path)[0] for k in range(5)]
    assert np.median(found) == 2  # one end for each race


def test_every_column_and_every_pair_of_columns_is_among_them():
    columns = [{DEFECTS[name].column for name in names} for names in CASES]
    every = {defect.column for defect in DEFECTS.values()}
    pairs = [set(pair) for pair in combinations(sorted(every), 2)]
    assert all(any(pair <= of for of in columns) for pair in pairs)

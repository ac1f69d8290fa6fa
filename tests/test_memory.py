"""Many fits in one process: nothing is kept of a fit that is over."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

FULL = os.environ.get("ELFAIR_GUARANTEES") == "full"
FITS = 1_000 if FULL else 24
WARM_UP = 100 if FULL else 12
GROWTH = 0.05
PROGRAM = f"""
import gc, resource, warnings
from elfair import ELFClassifier
from elfair.populations import FosterCare

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

population = FosterCare(alpha=0.9)
for k in range({FITS}):
    draw = population.sample(300, seed=k)
    clf = ELFClassifier(population.constraints[:2], candidates=2, random_state=k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(draw.features, draw.label, **draw.logged)
    if k + 1 == {WARM_UP}:
        before = resident()
print(before, resident())
"""


def test_memory_does_not_grow_with_the_number_of_fits():
    """In a process of its own: what other tests leave behind is not what is measured."""
    gc.collect()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    before, after = map(int, done.stdout.split())
    assert after < (1 + GROWTH) * before, f"from {before:,} to {after:,} bytes"

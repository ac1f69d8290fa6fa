"""Linear algebra on one thread: results do not depend on how many a machine has."""

from __future__ import annotations

import os
import subprocess
import sys

from threadpoolctl import threadpool_info, threadpool_limits

from elfair.search.threads import one_thread


def threads(api):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == api}


def test_linear_algebra_has_one_thread_and_gets_back_what_it_had():
    with threadpool_limits(2, "blas"):
        before = threads("blas")
        with one_thread():
            assert threads("blas") == {1}
        assert 2 in before
        assert threads("blas") == before


def test_what_trains_models_keeps_its_threads_unless_everything_is_meant():
    with threadpool_limits(2, "openmp"):
        with one_thread():
            assert threads("openmp") <= {2}
        with one_thread(everything=True):
            assert threads("openmp") <= {1}


FIT = """
import elfair
from elfair.populations import FosterCare
population = FosterCare(alpha=0.5)
log = population.sample(20_000, seed=3)
clf = elfair.ELFClassifier(population.constraints, random_state=3)
clf.fit(log.features, log.label, **log.logged)
print([(each.estimate, each.upper) for each in clf.certificate_.constraints])
print(clf.predict_proba(log.features[:50]).tolist())
"""


def test_a_fit_is_the_same_with_any_number_of_threads():
    found = []
    for count in ("1", "2", "4"):
        environment = {**os.environ, "OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}
        command = [sys.executable, "-W", "ignore", "-c", FIT]
        found.append(subprocess.check_output(command, env=environment))
    assert found[0] == found[1] == found[2]

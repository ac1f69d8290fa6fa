"""Rows in a Dask data frame, on a cluster of processes, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_batches import ROLES, check_same, fitted, in_memory, table_of

from elfair import LoggedBatches
from elfair.data import batches, sources

distributed = pytest.importorskip("distributed", reason="elfair[dask] is not installed")
frames = pytest.importorskip("dask.dataframe", reason="dask has no data frames here")


@pytest.mark.filterwarnings("ignore")  # of workers that are gone, and of ports in use
def test_a_worker_is_killed_and_the_certificate_is_the_same(monkeypatch):
    monkeypatch.setattr(sources, "BATCH", 777)
    frame = frames.from_pandas(table_of().to_pandas(), npartitions=3)
    opened, killed = batches.SealedBatches.batches, []
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}

    with (
        distributed.LocalCluster(**options, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):

        def half_dead(self):
            for k, data in enumerate(opened(self)):
                if k == 1 and not killed:
                    killed.append(next(iter(client.run(os.getpid).values())))
                    os.kill(killed[0], signal.SIGKILL)
                yield data

        monkeypatch.setattr(batches.SealedBatches, "batches", half_dead)
        found = fitted(LoggedBatches(frame, **ROLES, row_id="id"))
    assert killed
    check_same(fitted(in_memory(table_of(), ids=True)).certificate_, found.certificate_)

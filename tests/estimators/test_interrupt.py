"""Ctrl-C ends a long fit at once, and leaves nothing that looks like a result."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

CHILD = """
import numpy as np
from sklearn.exceptions import NotFittedError
from elfair import ELFClassifier
from elfair.records.progress import Progress

rng, n, k = np.random.default_rng(0), 10_000, 100
decision = rng.integers(0, k, n)
log = dict(
    sensitive_features={"T": rng.integers(0, 2, n)},
    decision=decision,
    propensity=np.full(n, 1 / k),
    impact=rng.standard_normal(n) + decision / k,
)
clf = ELFClassifier(
    [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)], objective="E[impact]"
)
call = Progress.__call__

def said(self):
    if not self.steps:
        print("searching", flush=True)
    call(self)

Progress.__call__ = said
X = rng.standard_normal((n, 25))
try:
    clf.fit(X, **log)
except KeyboardInterrupt:
    left = [name for name in vars(clf) if name.endswith("_")]
    try:
        clf.predict(X)
    except NotFittedError as error:
        print("interrupted", left, type(error).__name__, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupted_fit_is_no_fit():
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "searching\n"
        time.sleep(0.5)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        said = child.stdout.read()
        waited = time.monotonic() - sent
    assert said == "interrupted [] NotFittedError\n"
    assert child.returncode == 0
    assert waited < 5

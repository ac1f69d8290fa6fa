"""Whatever a file holds, one clear error is all that happens: soon, and in little memory."""

from __future__ import annotations

import re
import signal
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest
from inputs import certificates, constraints, models, studies

from elfair import load, verify
from elfair.certificate import Certificate
from elfair.errors import ElfairError
from elfair.language.conjunction import conjuncts
from elfair.language.intervals import Formula
from elfair.language.parsing import parse_condition, parse_expression
from elfair.study import StudyFile

#: Of the processor, and of memory; nothing may wait longer than this either, on a busy machine.
SECONDS, MEGABYTES, WAITING = 2.0, 500, 60.0


class TooLongError(Exception):
    """An input took longer than it may."""


def memory(kind: str) -> float:
    """The memory of this process in MB: as it is (VmRSS), or the most since `forget_peak`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(rf"{kind}:\s+(\d+) kB", status)[1]) / 1024


def forget_peak() -> None:
    """Other tests in this process may have needed more."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _limit(seconds: float, waiting: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, waiting)


def fuzzed(look: Callable, inputs: Iterable, n: int) -> tuple[int, float]:
    """How many inputs were accepted, and the longest time; anything but an ElfairError is shown."""

    def stop(*_: object) -> None:
        raise TooLongError

    forget_peak()
    before, accepted, longest = memory("VmRSS"), 0, 0.0
    for each in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(each, stop)
    for place, each in enumerate(islice(inputs, n)):
        begin = time.process_time()
        _limit(SECONDS, WAITING)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                look(each)
            accepted += 1
        except ElfairError as error:
            str(error).encode(errors="surrogatepass")
        except Exception as error:
            _limit(0, 0)
            raise AssertionError(f"input {place} gave {error!r}: {each!r:.2000}") from error
        finally:
            _limit(0, 0)
        longest = max(longest, time.process_time() - begin)
    more = memory("VmHWM") - before
    assert more < MEGABYTES, f"{more:.0f} MB"
    return accepted, longest


def test_the_language(inputs, seed):
    def look(text):
        for read in (parse_condition, parse_expression):
            with suppress(ElfairError):
                str(read(text))
        for each in conjuncts(text):
            str(each.form), hash(each.form), Formula(each.form).tails

    accepted, _ = fuzzed(look, constraints(seed), inputs)
    assert accepted > inputs / 100  # otherwise nothing behind the parser was tried


def test_study_files(inputs, seed, genuine):
    def look(text):
        study = StudyFile.loads(text, folder=genuine)
        study.estimator()
        assert StudyFile.loads(study.text).text == study.text

    accepted, _ = fuzzed(look, studies(seed, (genuine / "study.toml").read_text()), inputs)
    assert accepted > inputs / 100


def test_certificates(inputs, seed, genuine):
    text = (genuine / "results" / "certificate.json").read_text()

    def look(text):
        verify("{" + text.lstrip()[1:])  # raises nothing, whatever it holds
        Certificate.from_json(text).explain(details=True)

    accepted, _ = fuzzed(look, certificates(seed, text), inputs)
    assert accepted > inputs / 100


def test_model_files(inputs, seed, genuine, tmp_path):
    (path,) = (genuine / "results").glob("*.elfair")
    place = tmp_path / "model.elfair"

    def look(data):
        place.write_bytes(data)
        load(place).explain()

    accepted, _ = fuzzed(look, models(seed, path.read_bytes()), inputs)
    assert accepted >= 1


def test_what_hangs_and_what_crashes_is_seen(monkeypatch):
    """The harness itself can fail."""
    with pytest.raises(AssertionError, match="TooLongError"):
        fuzzed(lambda _: sum(0 for _ in count()), ["x"], 1)
    monkeypatch.setitem(globals(), "WAITING", 0.5)
    with pytest.raises(AssertionError, match="TooLongError"):
        fuzzed(lambda _: time.sleep(5), ["x"], 1)
    monkeypatch.undo()
    with pytest.raises(AssertionError, match="input 0 gave KeyError"):
        fuzzed({}.__getitem__, ["x"], 1)
    kept = []
    with pytest.raises(AssertionError, match="MB"):
        fuzzed(lambda n: kept.append(np.ones(n)), [80_000_000], 1)

"""What would silently be wrong, hang or crash is one clear error."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import tomllib

import numpy as np
import pandas as pd
import pytest

from elfair import ELFClassifier, LoggedData, certify, load, verify
from elfair.certificate import Certificate
from elfair.data.propensities import misfit
from elfair.errors import ConstraintError, DataError, ElfairError, InputError, PropensityError
from elfair.records.toml import parsed
from elfair.study import StudyFile
from elfair.study.sources import read_table

N = 400
RNG = np.random.default_rng(3)
LOG = {
    "y": RNG.integers(0, 2, N),
    "decision": RNG.integers(0, 2, N),
    "propensity": np.full(N, 0.5),
    "impact": RNG.normal(size=N),
}
X = RNG.normal(size=(N, 2))
SOME = np.arange(N) < 50


def fit(X=X, constraint="E[impact] >= -5", **changes):
    log = LOG | changes
    return ELFClassifier(constraint).fit(X, log.pop("y"), **log)


@pytest.mark.parametrize(
    "labels",
    [
        np.ma.masked_array(LOG["y"], mask=SOME),
        np.ma.masked_array(LOG["y"].astype(float), mask=SOME),
        np.ma.masked_array(LOG["y"].astype(str), mask=SOME),
        pd.Series(LOG["y"], dtype="Int64").mask(SOME),
        pd.Series(LOG["y"].astype(object)).mask(SOME, pd.NA),
        pd.Series(LOG["y"] > 0, dtype="boolean").mask(SOME),
    ],
)
def test_masked_labels_are_refused(labels):
    with pytest.raises(DataError, match="y is missing in 50 of 400 rows"):
        fit(y=labels)
    with pytest.raises(DataError, match="is missing in 50 of 400 rows"):
        LoggedData(X, labels)


def test_a_mask_that_hides_nothing_changes_nothing():
    known = np.ma.masked_array(LOG["y"], mask=False)
    assert fit(y=known).certificate_ == fit().certificate_


@pytest.mark.parametrize("size", [1e308, 1e160, 1e51])
def test_numbers_that_cannot_be_computed_with_are_refused(size):
    large = np.sign(X) * size
    with pytest.raises(DataError, match="feature 'x0' is too large to compute with"):
        fit(large)
    with pytest.raises(DataError, match="feature 'b' is too large to compute with"):
        fit(pd.DataFrame({"a": np.where(X[:, 0] > 0, "u", "v"), "b": large[:, 1]}))
    for impact in (large[:, 0], np.r_[size, LOG["impact"][1:]]):
        with pytest.raises(DataError, match="impact 'impact' is too large to compute with"):
            fit(impact=impact)
    for propensity in (np.full(N, 1 / size), np.r_[1 / size, LOG["propensity"][1:]]):
        with pytest.raises(DataError, match="propensity is below 1e-50"):
            fit(propensity=propensity)


@pytest.mark.parametrize("size", [1e49, 1e-49])
def test_smaller_ones_give_numbers(size):
    for changes in ({"X": X * size}, {"impact": LOG["impact"] * size}):
        for result in fit(**changes).certificate_.constraints:
            assert np.isfinite(result.estimate)
            assert not np.isnan(result.upper)


def three(shares, propensity, n=N, seed=5):
    rng = np.random.default_rng(seed)
    decision = rng.choice(3, n, p=shares)
    return LoggedData(rng.normal(size=(n, 1)), decision=decision, propensity=propensity(decision))


def test_a_third_throughout_for_unequal_decisions_is_noticed():
    decision = np.random.default_rng(5).choice(3, N, p=[0.8, 0.1, 0.1])
    with pytest.raises(PropensityError, match="worst: how often 0 was decided"):
        fit(y=decision, decision=decision, propensity=np.full(N, 1 / 3))


def test_right_propensities_of_three_decisions_are_never_refused():
    """In 2,000 logs, at the shares where a decision is as frequent as it may be; the limit is for
    one log in a million.
    """
    for seed in range(1000):
        right = three([1 / 3] * 3, lambda d: np.full(d.shape, 1 / 3), n=60, seed=seed)
        assert misfit(right) is None
        shares = np.array([0.9, 0.06, 0.04])
        assert misfit(three(shares, lambda d, s=shares: s[d], n=200, seed=seed)) is None


# -- files that have no end, and text that is none ------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 10_000 + "]" * 10_000,
        "a = " + "{a=" * 10_000 + "1" + "}" * 10_000,
        ".".join(["a"] * 10_000) + " = 1",
        "a = " + "9" * 10_000,
        "a = 0x" + "f" * 10_000,
        "a = 9223372036854775808",
        "a = \ud800",
        "a = '\ud800'",
    ],
)
def test_toml_that_cannot_be_used_is_one_error(text):
    begin = time.process_time()
    with pytest.raises(InputError) as caught:
        StudyFile.loads(text)
    with pytest.raises(InputError):
        parsed(text, "study.toml")
    assert str(caught.value).count("Hint: ") >= 1
    assert time.process_time() - begin < 4


def test_the_largest_whole_number_of_toml_is_read():
    assert parsed("a = 9223372036854775807", "x") == tomllib.loads("a = 9223372036854775807")


@pytest.mark.parametrize("text", ["E[`\ud800`] <= 1", "PR[T == '\udfff'] <= 1"])
def test_half_a_character_is_no_constraint(text):
    with pytest.raises(ConstraintError, match="half a character"):
        fit(constraint=text)


@pytest.fixture(params=["fifo", "zero", "folder", "sparse"])
def endless(request, tmp_path):
    """The name of a file that cannot be read to its end, by the ending it should have."""

    def named(name):
        path = tmp_path / name
        if request.param == "fifo":
            os.mkfifo(path)
        elif request.param == "folder":
            path.mkdir()
        elif request.param == "zero":
            path.symlink_to("/dev/zero")
        else:
            with path.open("wb") as file:
                file.truncate(10**13)
        return path

    return named


def test_endless_files_are_one_error(endless):
    begin = time.process_time()
    for name, read in (
        ("study.toml", StudyFile.load),
        ("certificate.json", Certificate.load),
        ("model.elfair", load),
    ):
        with pytest.raises(InputError):
            read(endless(name))
    (check,) = verify(endless("other.json")).checks
    assert check.status == "failed"
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("kind", ["fifo", "zero"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_endless_tables_are_one_error(kind, ending, tmp_path):
    path = tmp_path / f"rows.{ending}"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(ElfairError, match="must be a plain file"):
        read_table(path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"title = '\xe9'", b"\x80", b"\xed\xa0\x80"])
def test_malformed_encodings_are_one_error(content, tmp_path):
    for name, read in (
        ("s.toml", StudyFile.load),
        ("c.json", Certificate.load),
        ("m.elfair", load),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            read(tmp_path / name)


def test_in_a_small_address_space_a_large_file_is_one_error(tmp_path):
    certify([0.2, 0.7] * 200, LoggedData([[0.0]] * N, [0, 1] * 200), "accuracy >= 0.7").save(
        tmp_path / "c.json"
    )
    with (tmp_path / "c.json").open("ab") as file:
        file.truncate(90_000_000)

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))

    done = subprocess.run(
        [sys.executable, "-c", "from elfair.cli import main; main()", "explain", "c.json"],
        cwd=tmp_path,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("Hint:") == 1

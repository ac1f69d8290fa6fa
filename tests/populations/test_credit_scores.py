"""Score tables are read as they are meant, and refused where they cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from elfair.errors import DataError
from elfair.populations import Lending, credit_clusters, read_fico

DATA = os.environ.get("ELFAIR_DATA")
CDF = "transrisk_cdf_by_race_ssa.csv"
BAD = "transrisk_performance_by_race_ssa.csv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / CDF).write_text("Score,Non- Hispanic white,Black\n0,10,20\n50,40,90\n100,100,100\n")
    (tmp_path / BAD).write_text("Score,Non- Hispanic white,Black\n0,90,95\n50,30,40\n100,1,2\n")
    (tmp_path / "totals.csv").write_text("Kind,Non- Hispanic white,Black\nAll,1,1\nSSA,300,100\n")
    return tmp_path


def test_a_small_folder(folder):
    table = read_fico(folder)
    assert table.groups == ("White", "Black")
    assert table.score.tolist() == [300, 575, 850]
    np.testing.assert_allclose(table.share, [[0.1, 0.3, 0.6], [0.2, 0.7, 0.1]], atol=1e-12)
    np.testing.assert_allclose(table.repay, [[0.1, 0.7, 0.99], [0.05, 0.6, 0.98]], atol=1e-12)
    np.testing.assert_allclose(table.group_probability, [0.75, 0.25])


def test_groups_are_chosen_by_column_in_either_order(folder):
    turned = Lending.fico(folder, "black", "Non- Hispanic white").table
    np.testing.assert_allclose(turned.share, read_fico(folder).share[::-1])
    np.testing.assert_allclose(turned.group_probability, [0.25, 0.75])


def test_the_folder_is_found_by_the_environment(folder, monkeypatch):
    (folder / "fico").mkdir()
    for name in (CDF, BAD, "totals.csv"):
        (folder / name).rename(folder / "fico" / name)
    monkeypatch.setenv("ELFAIR_DATA", str(folder))
    assert read_fico().score.size == 3
    monkeypatch.delenv("ELFAIR_DATA")
    with pytest.raises(DataError, match="ELFAIR_DATA is not set"):
        read_fico()


def spoil(name: str, old: str, new: str):
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: (folder / BAD).unlink(), f"no file '{BAD}' in the folder"),
        (lambda folder: (folder / "totals.csv").unlink(), "no file 'totals.csv'"),
        (spoil(CDF, "Black", "Green"), "no column for the group 'Black'. It has: Non-.*, Green"),
        (spoil(CDF, "50,40,90", "50,5,90"), "White must increase to 100.* 1 of them below"),
        (spoil(CDF, "100,100,100", "100,100,99"), "end at 99"),
        (spoil(CDF, "50,40,90", "50,40,190"), r"in \[0, 100\]. Got \['50', '40', '190'\]"),
        (spoil(BAD, "50,30,40", "50,-3,40"), r"in \[0, 100\]"),
        (spoil(BAD, "50,30,40", "50,nan,40"), r"in \[0, 100\]"),
        (spoil(BAD, "50,30,40", "50,many,40"), "must contain numbers .*'many'"),
        (spoil(BAD, "50,30,40", "51,30,40"), "have different scores"),
        (spoil(BAD, "50,30,40", "50,30"), "lines of equal length"),
        (spoil(CDF, "50,40,90", "0,40,90"), "scores must increase"),
        (spoil("totals.csv", "SSA", "ssa"), "no row 'SSA'. It has: All, ssa"),
        (spoil("totals.csv", "300,100", "300,0"), "above 0"),
    ],
)
def test_malformed_tables_are_refused(folder, change, says):
    change(folder)
    with pytest.raises(DataError, match=says) as caught:
        read_fico(folder)
    assert "\nHint: " in str(caught.value)


def test_one_group_twice_is_refused(folder):
    with pytest.raises(DataError, match="two groups must be different"):
        read_fico(folder, ("Black", "black"))


@pytest.mark.skipif(DATA is None, reason="ELFAIR_DATA, the folder that holds fico/, is not set")
@pytest.mark.parametrize("group", ["Black", "Hispanic", "Asian"])
def test_the_real_tables(group):
    table = read_fico(groups=("White", group))
    assert table.score.size == 198
    np.testing.assert_allclose(table.share.sum(axis=1), 1, atol=1e-9)
    assert table.share.min() >= 0
    assert table.repay.min() >= 0
    assert table.repay.max() <= 1
    assert (table.score[0], table.score[-1]) == (300, 850)
    assert table.repay[0, 0] == pytest.approx(0.0146)
    people = {"Black": 18274, "Hispanic": 14702, "Asian": 7906}[group]
    assert table.group_probability[1] == pytest.approx(people / (people + 133165))


def test_clusters_are_a_law():
    table = credit_clusters()
    np.testing.assert_allclose(table.share.sum(axis=1), 1)
    assert table.group_probability.sum() == 1
    assert np.all(np.diff(table.score) == pytest.approx(550 / 7))

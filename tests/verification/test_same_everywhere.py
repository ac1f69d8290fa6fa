"""The same study gives the same certificate, whatever the order of rows that have identifiers, the
kind of table, and the kind of file.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from elfair import ELFClassifier, LoggedData, certify
from elfair.study import StudyFile, fit_study

STUDY = """
title = "The same people"
[data]
source = "{source}"
[columns]
features = ["x", "city"]
sensitive = ["T"]
label = "y"
decision = "d"
propensity = "p"
impact = ["impact"]
row_id = "person"
[columns.categories]
city = ["Graz", "Linz", "Wien"]
[test]
candidates = 3
impact_range = [-4, 4]
[[constraints]]
no_worse = "T"
slack = 0.5
[[constraints]]
text = "accuracy >= 0.5"
"""


def people(n=500, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    p = 0.2 + 0.6 / (1 + np.exp(-x))
    d = (rng.random(n) < p).astype(int)
    return pd.DataFrame(
        {
            "x": x,
            "city": rng.choice(["Graz", "Linz", "Wien"], n),
            "T": rng.choice(["a", "b"], n),
            "y": (x + rng.normal(size=n) > 0).astype(int),
            "d": d,
            "p": np.where(d == 1, p, 1 - p),
            "impact": np.clip(d * x + rng.normal(size=n), -4, 4),
            "person": [f"p{k}" for k in rng.permutation(n)],
        }
    )


def written(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return path


def of_study(frame, folder, ending):
    folder.mkdir(exist_ok=True)
    path = written(frame, folder / f"people.{ending}")
    (folder / "study.toml").write_text(STUDY.format(source=path.name), encoding="utf-8")
    return fit_study(StudyFile.load(folder / "study.toml")).certificate


def of_query(frame, folder):
    """Of a database that gives rows in another order each time."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / "people.db")) as database:
        frame.to_sql("people", database, index=False)
    asked = 'sqlite:///people.db"\nquery = "select * from people order by random()'
    (folder / "study.toml").write_text(STUDY.format(source=asked), encoding="utf-8")
    return fit_study(StudyFile.load(folder / "study.toml")).certificate


def but_for_source(certificate):
    """Everything that does not say which file it was, or when."""
    plain = vars(certificate).copy()
    del plain["provenance"], plain["openings"], plain["assumptions"], plain["warnings"]
    return plain


def test_files_of_every_kind_and_order_give_one_certificate(tmp_path):
    frame = people()
    first = of_study(frame, tmp_path / "csv", "csv")
    assert but_for_source(of_query(frame, tmp_path / "sql")) == but_for_source(first)
    assert first.passed
    for ending in ("parquet", "arrow"):
        assert but_for_source(of_study(frame, tmp_path / ending, ending)) == but_for_source(first)
    for seed in range(2):
        shuffled = frame.sample(frac=1, random_state=seed)
        other = of_study(shuffled, tmp_path / f"shuffled {seed}", "csv")
        assert other.digests == first.digests
        assert but_for_source(other) == but_for_source(first)


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def columns(frame, kind):
    table = KINDS[kind](frame)

    def one(name):
        return table[name] if kind != "arrow" else table.column(name)

    features = table.select(["x", "city"]) if kind != "pandas" else table[["x", "city"]]
    return {
        "X": features, "y": one("y"), "decision": one("d"), "propensity": one("p"),
        "impact": one("impact"), "row_id": one("person"),
        "sensitive_features": table.select(["T"]) if kind != "pandas" else table[["T"]],
    }  # fmt: skip


@pytest.fixture(scope="module")
def expected():
    return of_frame(people(), "pandas")


def of_frame(frame, kind):
    texts = [f"E[impact | T == '{g}'] >= E_logged[impact | T == '{g}'] - 0.5" for g in "ab"]
    texts.append("accuracy >= 0.5")
    data = LoggedData(**columns(frame, kind))
    model = ELFClassifier(texts, candidates=3, impact_range=(-4, 4)).fit(data)
    chance = np.clip(0.5 + 0.2 * frame["x"].to_numpy(), 0.1, 0.9)
    bet = certify(chance, data, texts, bound="betting", impact_range=(-4, 4), propensity_floor=0.1)
    return [but_for_source(each) for each in (model.certificate_, bet)]


@pytest.mark.parametrize("of", KINDS)
def test_tables_of_every_kind_and_order_give_one_certificate(of, expected):
    frame = people()
    assert of_frame(frame, of) == expected
    assert of_frame(frame.sample(frac=1, random_state=5), of) == expected


def test_without_identifiers_another_order_is_another_split():
    """Identifiers are what it rests on: the test above would not see an order that never counts."""
    frame = people()
    one, other = (
        LoggedData(each[["x"]], each["y"])
        for each in (frame, frame.sample(frac=1, random_state=5).reset_index(drop=True))
    )
    chance = np.full(len(frame), 0.5)
    digests = [certify(chance, each, "accuracy >= 0.1").digests.held_out for each in (one, other)]
    assert digests[0] != digests[1]


BOOSTED = """
import warnings
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from elfair import ELFClassifier
warnings.simplefilter("ignore")
rng, n = np.random.default_rng(0), 6000
X, decision = rng.normal(size=(n, 30)), rng.integers(0, 2, n)
y = (X @ rng.normal(size=30) + rng.normal(size=n) > 0).astype(int)
clf = ELFClassifier(
    "E[impact] >= E_logged[impact] - 1", random_state=1,
    scorer=HistGradientBoostingClassifier(max_iter=20, random_state=0),
)
impact = 0.3 * decision * X[:, 0] + 0.3 * rng.normal(size=n)
clf.fit(X, y, decision=decision, propensity=np.full(n, 0.5), impact=impact)
print(clf.certificate_.digests.ladder)
"""


def test_scorers_do_not_depend_on_the_number_of_threads():
    """Gradient boosting sums up in another order on two threads."""
    found = [
        subprocess.run(
            [sys.executable, "-c", BOOSTED], env={**os.environ, "OMP_NUM_THREADS": threads},
            capture_output=True, text=True, check=True,
        ).stdout
        for threads in ("1", "2")
    ]  # fmt: skip
    assert found[0] == found[1] != ""

"""The NYTD loader on files of that format, made here: every code, doubles, missing waves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit

from elfair import ELFClassifier
from elfair.errors import DataError, InputError
from elfair.experiments import load_nytd
from elfair.populations import FosterCare

QUESTIONS = ("CURRFTE", "CURRPTE", "EMPLYSKLLS", "EDUCAID", "HIGHEDCERT", "CURRENROLL")


def interview(person: str, wave: int, **answers: object) -> dict[str, object]:
    """A row of the file: a White person without any job or school, unless said otherwise."""
    usual = dict.fromkeys(QUESTIONS, 0) | {"HIGHEDCERT": 7, "WHITE": 1, "BLKAFRAM": 0}
    return {"STFCID": person, "WAVE": wave, "STATE": "XX", **usual, **answers}


def both(person: str, **answers: object) -> list[dict[str, object]]:
    """A person who answered at waves 1 and 3; the answers given are those of wave 1."""
    race = {k: v for k, v in answers.items() if k in ("WHITE", "BLKAFRAM")}
    return [interview(person, 1, **answers), interview(person, 3, **race)]


BLACK = {"WHITE": 0, "BLKAFRAM": 1}
CASES: dict[str, list[dict[str, object]]] = {
    "kept": [
        *both("white"),
        *both("black", **BLACK, CURRFTE=1, HIGHEDCERT=4, CURRENROLL=1),
        # A job at wave 2 only counts where wave 3 holds no answer.
        *both("wave 3 counts"),
        interview("wave 3 counts", 2, CURRFTE=1),
        interview("wave 2 counts", 1),
        interview("wave 2 counts", 2, CURRFTE=1),
        interview("wave 2 counts", 3, CURRFTE=77),
        interview("wave 2 alone", 2, CURRFTE=1, CURRPTE=2),
        interview("wave 2 alone", 1, CURRPTE=1, EMPLYSKLLS=1, HIGHEDCERT=6),
        *both("twice the same"),
        interview("twice the same", 1),
        interview("twice the same", 1),
        *both("silent on what nobody asks", EDUCAID=77),
    ],
    "two rows of one wave that differ": [*both("differs"), interview("differs", 3, CURRFTE=1)],
    "no interview at wave 1": [interview("late", 2), interview("late", 3)],
    "no interview at wave 2 or 3": [interview("gone", 1), interview("gone too", 1, CURRPTE=77)],
    "race not known": [*both("r1", WHITE=77), *both("r2", BLKAFRAM=2), *both("r3", WHITE=None)],
    "both White and Black": both("both", BLKAFRAM=1),
    "neither White nor Black": both("neither", WHITE=0),
    "CURRFTE at wave 1: declined": both("d", CURRFTE=2, CURRPTE=77),
    "CURRPTE at wave 1: declined": both("e", CURRPTE=2),
    "CURRPTE at wave 1: blank": both("f", CURRPTE=77),
    "EMPLYSKLLS at wave 1: invalid or missing": [
        *both("g", EMPLYSKLLS=78),
        *both("h", EMPLYSKLLS=79),
        *both("i", EMPLYSKLLS=None),
    ],
    "HIGHEDCERT at wave 1: declined": both("j", HIGHEDCERT=8),
    "HIGHEDCERT at wave 1: blank": both("k", HIGHEDCERT=77),
    "CURRENROLL at wave 1: blank": both("l", CURRENROLL=77),
    "no answer to CURRFTE at wave 2 or 3": [
        interview("m", 1),
        interview("m", 2, CURRFTE=2),
        interview("m", 3, CURRFTE=79),
        interview("n", 1),
        interview("n", 3, CURRFTE=77),
    ],
}
ROWS = [row for rows in CASES.values() for row in rows]


def table(rows: list[dict[str, object]] = ROWS) -> dict[str, list[object]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def write(path: Path, separator: str) -> Path:
    lines = [list(ROWS[0]), *([*row.values()] for row in ROWS)]
    text = "\n".join(separator.join("" if c is None else str(c) for c in line) for line in lines)
    path.write_text(text + "\n")
    return path


SOURCES = {
    "mapping": lambda folder: table(),
    "pandas": lambda folder: pd.DataFrame(table()),
    "pandas text": lambda folder: pd.read_csv(write(folder / "a.csv", ","), dtype=str),
    "polars": lambda folder: pl.DataFrame(table()),
    "pyarrow": lambda folder: pa.table(table()),
    "csv": lambda folder: write(folder / "a.csv", ","),
    "tsv": lambda folder: str(write(folder / "a.TSV", "\t")),
    "lower case": lambda folder: pd.DataFrame(table()).rename(columns=str.lower),
    "shuffled": lambda folder: pd.DataFrame(table()).sample(frac=1, random_state=3),
}


def parquet(folder: Path) -> Path:
    pd.DataFrame(table()).to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


@pytest.mark.parametrize("kind", [*SOURCES, "parquet"])
def test_every_code_and_every_person_is_accounted_for(kind, tmp_path):
    records = load_nytd((SOURCES | {"parquet": parquet})[kind](tmp_path))
    account = records.account
    expected = {
        reason: len({row["STFCID"] for row in rows})
        for reason, rows in CASES.items()
        if reason != "kept"
    }
    assert account.left_out == expected
    assert account.rows == len(ROWS)
    assert account.repeated_rows == 2
    assert account.people == len({row["STFCID"] for row in ROWS})
    assert account.kept == len(records.label) == 7
    assert account.kept + sum(account.left_out.values()) == account.people
    # People come in the order of their names.
    assert records.feature_names == ("CURRFTE", "CURRPTE", "EMPLYSKLLS", "HIGHEDCERT", "CURRENROLL")
    names = sorted({str(row["STFCID"]) for row in CASES["kept"]})
    by_name = dict(zip(names, records.features.tolist(), strict=True))
    assert by_name["white"] == [0, 0, 0, 0, 0]
    assert by_name["black"] == [1, 0, 0, 4, 1]
    assert by_name["wave 2 alone"] == [0, 1, 1, 6, 0]
    assert dict(zip(names, records.group.tolist(), strict=True))["black"] == 1
    assert records.group.sum() == 1
    jobs = {name for name, job in zip(names, records.label, strict=True) if job}
    assert jobs == {"wave 2 counts", "wave 2 alone"}


def test_the_account_can_be_read():
    text = str(load_nytd(table()).account)
    assert f"{len(ROWS)} rows (2 repeated)" in text
    assert "    3 left out: race not known" in text
    assert len(text.splitlines()) == len(CASES)


def test_another_choice_of_features():
    records = load_nytd(table(), features=["EDUCAID", "CURRENROLL"])
    assert records.features.shape[1] == 2
    assert records.account.left_out["EDUCAID at wave 1: blank"] == 1
    assert "CURRPTE at wave 1: blank" not in records.account.left_out


def one_more(**changes: object):
    return lambda: load_nytd(table([*ROWS, {**interview("new", 1), **changes}]))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (one_more(CURRPTE=3), r"CURRPTE has unknown codes: 3.* \(1 of \d+ rows\)"),
        (one_more(CURRPTE="yes"), "unknown codes: 'yes'"),
        (one_more(HIGHEDCERT=0), "HIGHEDCERT .* unknown codes: 0"),
        (one_more(WHITE=1.5), "WHITE .* 1.5"),
        (one_more(WAVE=4), "WAVE .* unknown codes: 4.*Known codes: 1, 2, 3"),
        (one_more(WAVE=None), "WAVE .* unknown codes: None"),
        (one_more(STFCID=None), "needs the STFCID of a person"),
        (one_more(STFCID=" "), "needs the STFCID of a person"),
        (lambda: load_nytd({k: v for k, v in table().items() if k != "WHITE"}), "missing: WHITE"),
        (lambda: load_nytd({**table(), "white": table()["WHITE"]}), "two columns are called WHITE"),
        (lambda: load_nytd({**table(), "WAVE": [1]}), "same number of rows. Got .*WAVE 1"),
        (lambda: load_nytd(table([interview("a", 1)])), "nobody is left"),
        (lambda: load_nytd(pd.DataFrame(table()).iloc[:0]), "there are no rows"),
        (lambda: load_nytd([1, 2]), "path or a data frame. Got list"),
        (lambda: load_nytd("answers.sas7bdat"), "'answers.sas7bdat': .* .tab or .parquet"),
        (lambda: load_nytd("."), "must be a file. Got the folder '.'"),
        (lambda: load_nytd("nowhere.csv"), "no file nowhere.csv"),
        (lambda: load_nytd(table(), features=["CURRFT"]), "'CURRFT' cannot be a feature"),
        (lambda: load_nytd(table(), features=["EDUCAID"] * 2), "different names"),
        (lambda: load_nytd(table(), features=[]), "at least one"),
        (lambda: load_nytd(table()).draw(1.2, 0), r"in \[0, 1\]. Got 1.2"),
        (lambda: load_nytd(table()).draw(0.5, 0, behavior_share=1), r"in \(0, 1\)"),
        (lambda: load_nytd(table()).draw(0.5, 0, steepness=-1.0), "above 0"),
        (lambda: load_nytd(table()).draw(0.5, -1), "seed must be .* Got -1"),
        (lambda: load_nytd(table()).draw(0.5, None), "seed must be .* Got None"),
        (lambda: load_nytd(table()).draw(0.5, 0), "labels of the 1 people .* all the same"),
    ],
)
def test_errors_say_what_was_got_and_what_is_allowed(wrong, says):
    with pytest.raises(InputError, match=says) as caught:
        wrong()
    assert "\nHint: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("STFCID,WAVE\na,1\n\nb\n", "line 4 of a.csv has 1 cells, but the header has 2"),
        ("STFCID,WAVE,WAVE\na,1,1\n", "two columns with the same name"),
        ("STFCID;WAVE\na;1\n", "must be separated by ','. Its first line has ';' instead"),
        ("", "columns are missing: STFCID, WAVE, WHITE"),
        (",".join(ROWS[0]) + "\n", "there are no rows"),
    ],
)
def test_malformed_files_are_refused(text, says, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=says):
        load_nytd(tmp_path / "a.csv")


def test_no_column_is_suggested_that_is_there():
    lacking = {name: column for name, column in table().items() if name != "CURRPTE"}
    with pytest.raises(DataError, match=r"missing: CURRPTE\.\nHint: a NYTD file of outcomes has"):
        load_nytd(lacking)
    with pytest.raises(DataError, match=r"missing: CURRPTE\.\nHint: did you mean 'CURRPTEE'"):
        load_nytd({**lacking, "CURRPTEE": table()["CURRPTE"]})


def many(n: int = 12_000):
    """People whose answers and race foretell a job, by a law that a logistic model can learn."""
    rng = np.random.default_rng(6)
    black = rng.random(n) < 0.45
    first = {name: (rng.random(n) < 0.4).astype(int) for name in QUESTIONS}
    first["HIGHEDCERT"] = rng.choice([7, 1, 2, 3, 4, 5, 6], n)
    score = 1.5 * first["CURRFTE"] + 0.8 * first["CURRPTE"] - 0.6 - 0.9 * black
    job = rng.random(n) < expit(score)
    person = {"STFCID": np.arange(n), "WHITE": (~black).astype(int), "BLKAFRAM": black.astype(int)}
    early = pd.DataFrame({**person, "WAVE": 1, **first})
    late = pd.DataFrame({**person, "WAVE": 3, **{**first, "CURRFTE": job.astype(int)}})
    return pd.concat([early, late])


@pytest.fixture(scope="module")
def records():
    return load_nytd(many())


def test_a_draw_is_logged_by_a_model_of_the_features(records):
    draw = records.draw(0.9, seed=1)
    assert len(draw.label) == 12_000 - 2_400
    assert draw.feature_names == records.feature_names
    # Whoever looks alike is decided about alike, with the propensity that is logged.
    one = np.where(draw.decision == 1, draw.propensity, 1 - draw.propensity)
    for t in (0, 1):
        inside = draw.group == t
        error = np.sqrt((one * (1 - one))[inside].mean() / inside.sum())
        assert abs((draw.decision - one)[inside].mean()) < 4 * error
    seen: dict[tuple[float, ...], float] = {}
    for x, p in zip(map(tuple, draw.features.tolist()), one, strict=True):
        assert seen.setdefault(x, p) == pytest.approx(p)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_impacts_follow_the_papers_equation(records, alpha):
    draw = records.draw(alpha, seed=1)
    noise = draw.impact - alpha * draw.decision
    for t, mean, sd in ((0, 2.0, 0.5), (1, 1.0, 1.0)):
        inside = noise[draw.group == t]
        error = (1 - alpha) * sd / np.sqrt(inside.size)
        assert abs(inside.mean() - (1 - alpha) * mean) <= 4 * error + 1e-12
        assert inside.std() == pytest.approx((1 - alpha) * sd, rel=0.05, abs=1e-12)
    np.testing.assert_array_equal(draw.label, records.draw(0.3, seed=1).label)
    np.testing.assert_array_equal(draw.decision, records.draw(0.3, seed=1).decision)


def test_labels_are_resampled_by_features_and_race(records):
    fitted, steep, turned = (
        records.draw(0.9, seed=1, **law) for law in ({}, {"steepness": 6.0}, {"group_effect": 3.0})
    )

    def rate(draw, t, job):
        return draw.label[(draw.group == t) & (draw.features[:, 0] == job)].mean()

    # As fitted, resampled labels have the law of the real ones.
    for t in (0, 1):
        for job in (0, 1):
            real = records.label[(records.group == t) & (records.features[:, 0] == job)].mean()
            assert rate(fitted, t, job) == pytest.approx(real, abs=0.05)
    assert rate(turned, 1, 0) > rate(turned, 0, 0) + 0.3
    assert rate(fitted, 1, 0) < rate(fitted, 0, 0) - 0.1
    spread = [abs(rate(draw, 0, 1) - rate(draw, 0, 0)) for draw in (fitted, steep)]
    assert spread[1] > spread[0] + 0.2
    # Real labels are gone: only people who could have either are left.
    again = records.draw(0.9, seed=2)
    assert 0 < again.label.mean() < 1


def test_a_draw_is_a_function_of_its_arguments(records):
    first, again, other = (records.draw(0.9, seed=s).frame() for s in (4, 4, 5))
    for name, column in first.items():
        np.testing.assert_array_equal(column, again[name])
    assert not np.array_equal(first["decision"], other["decision"])


def test_elf_learns_from_it(records):
    draw = records.draw(0.9, seed=1, steepness=4.0)
    constraints = FosterCare().constraints[:2]
    model = ELFClassifier(constraints).fit(draw.features, draw.label, **draw.logged)
    assert model.solution_found_
    logged = [draw.impact[draw.group == t].mean() for t in (0, 1)]
    one = model.predict_proba(draw.features)[:, 1]
    impact = [0.9 * one[draw.group == t].mean() + 0.1 * (2 - t) for t in (0, 1)]
    assert impact[0] > logged[0] - 0.02
    assert impact[1] > logged[1] - 0.02

"""Study files: what is read from them, and what is said of those that make no sense."""

from __future__ import annotations

import hashlib
import inspect

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from elfair import ELFClassifier, ELFRegressor, LoggedData, no_worse
from elfair.certificate import GroupCount
from elfair.data.continuous import normal_density
from elfair.data.split import Split
from elfair.errors import DataError, ElfairError, InputError
from elfair.language import recipes
from elfair.language.conditions import Column
from elfair.language.evaluation import holds
from elfair.language.recipes import RECIPES
from elfair.populations import Dosage, FosterCare
from elfair.records.reading import keys_of
from elfair.records.toml import toml
from elfair.statistics.claims import read_constraints
from elfair.study import StudyFile, fit_study
from elfair.study.data import encoding_of
from elfair.study.keys import CONSTRAINT, MODEL, TEST, ColumnKeys, DataKeys, RowKeys, StudyKeys
from elfair.study.writing import decisions

GOOD = """
title = "Loans"
[data]
source = "loans.csv"
[columns]
features = ["Age (years)", "housing"]
label = "repaid?"
sensitive = ["race"]
decision = "approved"
propensity = "p(approve)"
impact = ["savings 2y"]
row_id = "person"
[columns.categories]
housing = ["own", "rent"]
[rows]
missing_impact = "refuse"
[model]
objective = "accuracy"
[test]
delta = 0.1
seed = 3
[[constraints]]
no_worse = "race"
chosen_by = " the board "
[[constraints]]
text = "E[`savings 2y` | housing == 'own'] >= 0.5"
delta = 0.05
why = "rent is dear"
"""
LOANS = """\
Age (years);housing;repaid?;race;approved;p(approve);savings 2y;person;note
31;own;1;A;1;0.5;1.5;007;x
45;rent;0;B;0;0.25;0.5;008;
60;own;1;A;0;0.75;2;009;y
28;rent;0;B;1;0.5;1;010;
33;own;1;A;1;0.5;1.5;011;x
47;rent;0;B;0;0.25;0.5;012;
62;own;1;A;0;0.75;2;013;y
29;rent;0;B;1;0.5;1;014;
"""


def replaced(*pairs: tuple[str, str]) -> str:
    text = GOOD
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def refused(text: str, **arguments) -> str:
    with pytest.raises(ValueError, match=r"\S") as caught:
        StudyFile.loads(text, **arguments)
    assert isinstance(caught.value, ElfairError)
    assert "Hint: " in str(caught.value)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "loans.csv").write_text(LOANS)
    (tmp_path / "study.toml").write_text(GOOD)
    return tmp_path


def test_a_study_is_read_with_its_table(folder):
    study = StudyFile.load(folder / "study.toml")
    rows = study.read()
    data = rows.data
    assert isinstance(data, LoggedData)
    assert data.feature_names == ["Age (years)", "housing=rent"]
    assert data.features[:2].tolist() == [[31, 0], [45, 1]]
    assert data.sensitive["race"].tolist() == ["A", "B"] * 4
    assert data.sensitive["housing"].tolist()[:2] == ["own", "rent"]  # a constraint names it
    assert data.impacts["savings 2y"].tolist()[:3] == [1.5, 0.5, 2]
    assert data.row_id.tolist()[:2] == ["007", "008"]
    assert data.label.tolist()[:2] == [1, 0]
    assert data.propensity.tolist()[:2] == [0.5, 0.25]
    assert rows.n_read == 8
    assert rows.left_out == ()
    assert rows.source == "loans.csv"
    assert rows.digest == hashlib.sha256(LOANS.encode()).hexdigest()
    assert study.folder == folder.resolve()
    assert "note" not in study.needed_columns


@pytest.mark.parametrize("day", ["2024-05-0{}", "202{}", "2024-05-01 0{}:30:00Z"])
def test_a_study_splits_by_time(folder, day):
    """Whatever dates look like in the table; no model sees them."""
    lines = LOANS.splitlines()
    dated = [f"{line};{'decided on' if k == 0 else day.format(k)}" for k, line in enumerate(lines)]
    (folder / "loans.csv").write_text("\n".join([dated[0], *dated[:0:-1]]) + "\n")
    text = replaced(
        ('row_id = "person"', 'row_id = "person"\ntime = "decided on"'),
        ("seed = 3", 'seed = 3\nsplit = "time"'),
    )
    (folder / "study.toml").write_text(text)
    study = StudyFile.load(folder / "study.toml")
    data = study.read().data
    assert "decided on" not in data.names
    (fold,) = Split.of(data, study.parameters["split"], share=0.5).folds
    assert sorted(fold.candidate.row_id.tolist()) == ["007", "008", "009", "010"]


def test_names_go_into_the_certificate(tmp_path):
    n = 400
    rows = [f"{k % 7},{k % 2},{'AB'[k // 2 % 2]},{k % 2},0.5,{k % 2 + k % 5}" for k in range(n)]
    (tmp_path / "t.csv").write_text("x,y,race,d,p,gain\n" + "\n".join(rows))
    text = """
    title = "Named"
    [data]
    source = "t.csv"
    [columns]
    features = ["x"]
    label = "y"
    sensitive = ["race"]
    decision = "d"
    propensity = "p"
    impact = ["gain"]
    [names]
    people = "applicants"
    [names.groups.race]
    A = "Asian"
    [test]
    candidates = 1
    [[constraints]]
    no_worse = "race"
    groups = ["A"]
    slack = 3
    """
    certificate = fit_study(StudyFile.loads(text, folder=tmp_path)).certificate
    assert certificate.names.people == "applicants"
    assert "the average gain of Asian applicants is not expected to fall" in certificate.in_words[0]
    assert "Not covered: applicants whose race is B (200)." in certificate.in_words


def test_the_file_may_have_the_mark_of_utf_8(folder):
    (folder / "study.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert StudyFile.load(folder / "study.toml").title == "Loans"


def test_every_parameter_reaches_the_estimator():
    study = StudyFile.loads(
        replaced(
            (
                'objective = "accuracy"',
                'objective = "log_loss"\npositive = 0\nclasses = [0, 1]\n'
                "exploration = 0.05\n"
                'cost = { "0" = { "0" = 0, "1" = 1 }, "1" = { "0" = 5, "1" = 0 } }',
            ),
            (
                "seed = 3",
                'seed = 3\nestimator = "dr"\nbound = "betting"\nsearch = "cmaes"\npower = 0.9\n'
                'candidates = 7\ncandidate_fraction = 0.5\nsplit = "stratified"\nfolds = 4\n'
                'impact_range = { "savings 2y" = [0, 3] }\npropensity_floor = 0.1\n',
            ),
        )
    )
    found = study.estimator()
    assert isinstance(found, ELFClassifier)
    text = "E[`savings 2y` | housing == 'own'] >= 0.5"
    wanted = {
        "constraints": [no_worse("race", impact="savings 2y"), text],
        "delta": [0.1, 0.05],
        "objective": "log_loss",
        "positive": 0,
        "classes": [0, 1],
        "exploration": 0.05,
        "cost": {0: {0: 0, 1: 1}, 1: {0: 5, 1: 0}},
        "estimator": "dr",
        "bound": "betting",
        "search": "cmaes",
        "power": 0.9,
        "candidates": 7,
        "candidate_fraction": 0.5,
        "split": "stratified",
        "folds": 4,
        "impact_range": {"savings 2y": [0, 3]},
        "propensity_floor": 0.1,
        "random_state": 3,
    }
    parameters = found.get_params(deep=False)
    assert {key: parameters[key] for key in wanted} == wanted
    rest = ELFClassifier().get_params(deep=False)
    assert {k: v for k, v in parameters.items() if k not in wanted} == {
        k: v for k, v in rest.items() if k not in wanted
    }


def test_what_the_file_does_not_say_is_the_estimators_default():
    study = StudyFile.loads(replaced(("[test]\ndelta = 0.1\nseed = 3\n", "")))
    mine, default = study.estimator().get_params(deep=False), ELFClassifier().get_params(deep=False)
    assert {k for k in mine if mine[k] != default[k]} == {"constraints", "delta"}


def test_a_category_may_be_sensitive_as_well(folder):
    text = replaced(('sensitive = ["race"]', 'sensitive = ["race", "housing"]'))
    data = StudyFile.loads(text, folder=folder).read().data
    assert list(data.sensitive) == ["race", "housing"]
    assert data.names == ["race", "housing", "Age (years)", "housing=rent"]


def test_constraints_are_stated_with_who_answers_for_them(folder):
    study = StudyFile.load(folder / "study.toml")
    stated = study.stated(study.read().data)
    assert [(each.delta, each.chosen_by, each.why) for each in stated] == [
        (0.1, "the board", ""),
        (0.1, "the board", ""),
        (0.05, "", "rent is dear"),
    ]
    assert stated[0].text == "E[`savings 2y` | race == 'A'] >= E_logged[`savings 2y` | race == 'A']"


def test_every_recipe_is_a_key_with_all_that_it_takes():
    for name in RECIPES:
        _, *takes = inspect.signature(getattr(recipes, name)).parameters
        assert {name, *takes} <= set(CONSTRAINT)


def test_every_key_says_what_it_is_for_and_has_an_example_that_fits():
    tables = [keys_of(StudyKeys), *map(keys_of, (DataKeys, ColumnKeys, RowKeys))]
    for keys in (*tables, MODEL, TEST, CONSTRAINT):
        for name, known in keys.items():
            assert known.about, name
            assert known.allowed is None or known.allowed.fits(known.example), name


def test_recipes_take_what_their_functions_take():
    asked = (
        'parity = ["race", "housing"]\ngroups = [["A", "own"], ["B", "rent"]]\ntolerance = 0.1\n'
    )
    study = StudyFile.loads(replaced(('no_worse = "race"\n', asked)))
    assert study.stated()[0].text == (
        "abs(PR[race == 'A' and housing == 'own'] - PR[race == 'B' and housing == 'rent']) <= 0.1"
    )


def test_missing_impacts_are_refused_or_left_out_and_counted(folder):
    lines = LOANS.splitlines()
    lines[1] = lines[1].replace(";1.5;007", ";NA;007")
    lines[3] = lines[3].replace(";2;009", ";;009")
    lines[5] = lines[5].replace(";A;", ";;").replace(";1.5;011", ";;011")
    (folder / "loans.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError) as caught:
        StudyFile.load(folder / "study.toml").read()
    said = str(caught.value)
    assert (
        "impact 'savings 2y' is missing in 3 of 8 rows (2 with race = A, 1 with race = (missing))"
        in said
    )
    assert "missing_impact in [rows]" in said
    text = replaced(('missing_impact = "refuse"', 'missing_impact = "drop"'))
    rows = StudyFile.loads(text, folder=folder).read()
    assert rows.n_read == 8
    assert rows.data.n == 5
    assert rows.data.row_id.tolist() == ["008", "010", "012", "013", "014"]
    assert rows.data.features[:, 0].tolist() == [45, 28, 47, 62, 29]
    (left,) = rows.left_out
    assert (left.n, left.reason) == (3, "impact 'savings 2y' is missing")
    assert left.groups == (GroupCount("race = A", 2), GroupCount("race = (missing)", 1))


def test_where_no_impact_is_there_nothing_is_left(folder):
    lines = [line.split(";") for line in LOANS.splitlines()]
    emptied = "\n".join(";".join([*line[:6], "", *line[7:]]) for line in lines[1:])
    (folder / "loans.csv").write_text(";".join(lines[0]) + "\n" + emptied)
    text = replaced(('missing_impact = "refuse"', 'missing_impact = "drop"'))
    with pytest.raises(DataError, match="no row is left"):
        StudyFile.loads(text, folder=folder).read()


def test_probabilities_of_all_classes(tmp_path):
    table = "x,d,y,p no,p yes\n1,true,true,0.25,0.75\n2,false,true,0.5,0.5\n"
    (tmp_path / "t.csv").write_text(table)
    text = """
    title = "t"
    data = { source = "t.csv" }
    [columns]
    features = ["x"]
    label = "y"
    decision = "d"
    behavior = { true = "p yes", false = "p no" }
    [model]
    classes = [false, true]
    """
    data = StudyFile.loads(text, folder=tmp_path).read().data
    assert data.behavior.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert data.propensity.tolist() == [0.75, 0.5]
    # Without the names, columns would be taken in their order.
    swapped = text.replace('true = "p yes", false', 'yes = "p yes", no')
    with pytest.raises(DataError, match=r"a column for each class \('false', 'true'\)"):
        StudyFile.loads(swapped, folder=tmp_path).read()


def test_probabilities_of_classes_that_are_floats_or_missing(tmp_path):
    text = """
    title = "t"
    data = { source = "t.parquet" }
    [columns]
    features = ["x"]
    label = "y"
    decision = "d"
    behavior = { 0 = "p0", 1 = "p1" }
    """
    columns = {"x": [1, 2], "d": [0.0, 1.0], "p0": [0.25, 0.5], "p1": [0.75, 0.5]}
    pa.parquet.write_table(pa.table({**columns, "y": [1.0, 0.0]}), tmp_path / "t.parquet")
    data = StudyFile.loads(text, folder=tmp_path).read().data
    assert data.behavior.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    pa.parquet.write_table(pa.table({**columns, "y": [1, None]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="label is missing in 1 of 2 rows"):
        StudyFile.loads(text, folder=tmp_path).read()
    named = text + "[model]\nclasses = [0, 1]\n"
    with pytest.raises(DataError, match="label is missing in 1 of 2 rows"):
        _ = StudyFile.loads(named, folder=tmp_path).read().data


@pytest.mark.parametrize(
    ("column", "values"), [("label", "repaid?"), ("decision", "approved"), ("positive", None)]
)
def test_text_and_numbers_do_not_meet(folder, column, values):
    text = GOOD
    if column == "positive":
        text = replaced(('objective = "accuracy"', 'objective = "accuracy"\npositive = "1"'))
    else:
        place = LOANS.splitlines()[0].split(";").index(values)
        lines = [line.split(";") for line in LOANS.splitlines()]
        for line in lines[1:]:
            line[place] = "0" + line[place]  # leading zeros: text
        (folder / "loans.csv").write_text("\n".join(map(";".join, lines)))
    with pytest.raises(DataError, match="'0' is not 0: use the same kind for both"):
        _ = StudyFile.loads(text, folder=folder).read().data


AWKWARD = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00\r\ufeff"), min_size=1
).filter(lambda name: "TODO" not in name)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(names=["a`b", "c\\", "`", 'it\'s "d"', "(e) [f] | g == 'h'", "E\n"])
@example(names=["label", "decision", "PR", "and", "1", " "])
@given(names=st.lists(AWKWARD, min_size=6, max_size=6, unique=True))
def test_awkward_names_go_all_the_way(names, tmp_path):
    """Through the CSV, the TOML, the constraint text in backticks, to the rows that it names."""
    x, group, decision, chance, impact, housing = names
    if len({*names, f"{housing}=rent"}) < 7 or impact in ("impact", "cost"):
        return
    table = pa.table(
        {
            x: [1.0, 2.0, 3.0],
            group: ['it\'s "A"', "b\\", "`c`"],
            decision: ["yes", "no", "no"],
            chance: [0.5, 0.5, 0.25],
            impact: [1.0, 2.0, 3.0],
            housing: ["own", "rent", "own"],
        }
    )
    pa.csv.write_csv(table, tmp_path / "t.csv")
    condition = f"{Column(group)} in ['it\\'s \"A\"', '`c`'] and {Column(housing)} == 'own'"
    constraint = f"E[{Column(impact)} | {condition} and {Column(x)} >= 2] >= 0"
    text = f"""
    title = "t"
    [data]
    source = "t.csv"
    [columns]
    features = {toml([x, housing])}
    sensitive = [{toml(group)}]
    decision = {toml(decision)}
    propensity = {toml(chance)}
    impact = [{toml(impact)}]
    [columns.categories]
    {toml(housing)} = ["own", "rent"]
    [model]
    objective = {toml(f"E[{Column(impact)}]")}
    [[constraints]]
    text = {toml(constraint)}
    [[constraints]]
    no_worse = {toml(group)}
    groups = ["b\\\\"]
    """
    study = StudyFile.loads(text, folder=tmp_path)
    data = study.read().data
    first, second = read_constraints([each.text for each in study.stated(data)], 0.1)
    assert holds(first.conditions[0], data).tolist() == [False, False, True]
    assert holds(second.conditions[0], data).tolist() == [False, True, False]
    assert data.impact(next(iter(study.columns.impact))).tolist() == [1, 2, 3]


# -- all the way --------------------------------------------------------------------------------


def test_a_study_is_fitted_and_new_people_are_decided_about(tmp_path):
    draw = FosterCare(alpha=0.9).sample(1500, seed=0)
    features = {f"f {j}": draw.features[:, j] for j in range(draw.features.shape[1])}
    columns = {
        **features,
        "T (group)": np.where(draw.group == 1, "B", "A"),
        "label": draw.label,
        "d": draw.decision,
        "p(d)": draw.propensity,
        "later": draw.impact,
    }
    pa.csv.write_csv(pa.table(columns), tmp_path / "care.csv")
    study = StudyFile.loads(
        f"""
        title = "Care"
        data = {{ source = "care.csv" }}
        [columns]
        features = {toml(list(features))}
        label = "label"
        sensitive = ["T (group)"]
        decision = "d"
        propensity = "p(d)"
        impact = ["later"]
        [[constraints]]
        no_worse = "T (group)"
        """,
        folder=tmp_path,
    )
    rows = study.read()
    clf = study.estimator().fit(rows.data)
    # The same as without a file.
    direct = ELFClassifier(no_worse("T (group)", impact="later")).fit(
        draw.features,
        draw.label,
        sensitive_features={"T (group)": columns["T (group)"]},
        decision=draw.decision,
        propensity=draw.propensity,
        impact={"later": draw.impact},
    )
    assert clf.solution_found_
    assert direct.solution_found_
    people = study.encoding.encode(pa.table(features).slice(0, 5))
    assert np.allclose(clf.predict_proba(people), direct.predict_proba(draw.features[:5]))


def test_a_regressor_is_fitted(tmp_path):
    population = Dosage()
    draw = population.sample(1500, seed=0)
    features = {f"f{j}": draw.features[:, j] for j in range(draw.features.shape[1])}
    table = pa.table(
        {
            **features,
            "T": draw.group,
            "best": draw.label,
            "dose": draw.decision,
            "density": draw.propensity,
            "usual": population.behavior.mean(draw.features),
            "sd": np.full(1500, population.spread),
            "impact": draw.impact,
        }
    )
    pa.parquet.write_table(table, tmp_path / "doses.parquet")
    text = f"""
    title = "Doses"
    data = {{ source = "doses.parquet" }}
    [columns]
    features = {toml(list(features))}
    label = "best"
    sensitive = ["T"]
    decision = "dose"
    propensity = "density"
    behavior_spread = "sd"
    impact = ["impact"]
    [model]
    kind = "regressor"
    spread = [0.3, 0.8]
    [[constraints]]
    no_worse = "T"
    """
    study = StudyFile.loads(text, folder=tmp_path)
    reg = study.estimator()
    assert isinstance(reg, ELFRegressor)
    assert reg.spread == [0.3, 0.8]
    rows = study.read()
    assert rows.data.behavior_spread.tolist()[:1] == [population.spread]
    assert reg.fit(rows.data).certificate_.n == 1500
    number = StudyFile.loads(text.replace('"sd"', "0.5"), folder=tmp_path)
    assert set(number.read().data.behavior_spread) == {0.5}
    means = text.replace('propensity = "density"', 'behavior_mean = "usual"')
    means = means.replace('no_worse = "T"', 'text = "E[decision] >= -100"')
    study = StudyFile.loads(means, folder=tmp_path)
    drawn = study.read().data
    np.testing.assert_allclose(drawn.propensity, draw.propensity)
    np.testing.assert_array_equal(drawn.behavior_mean, population.behavior.mean(draw.features))
    # The log of its decisions is what the study reads in the next round.
    reg = study.estimator().fit(drawn)
    reg.encoding_ = encoding_of(study)
    people = table.select(list(features)).slice(0, 5)
    logged = decisions(reg, people, random_state=0)
    mean, spread = reg.predict_distribution(study.encoding.encode(people))
    np.testing.assert_array_equal(logged["usual"], mean)
    np.testing.assert_array_equal(logged["behavior_spread"], spread)
    density = normal_density(logged["dose"].to_numpy(), mean, spread)
    np.testing.assert_allclose(logged["propensity"], density)


# -- files that make no sense -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("title =", "titel =")], ["the key 'title' is missing", "'titel'", "mean 'title'"]),
        ([('delta = 0.1\n', 'delta = "0.1"\n')], ["delta of test must be a number in (0, 0.5]"]),
        ([("delta = 0.1\n", "delta = 0.7\n")], ["a number in (0, 0.5]. Got 0.7 instead"]),
        ([("seed = 3", "seed = 3.0")], ["seed of test must be a whole number"]),
        ([("seed = 3", "sead = 3")], ["a key of test must be one of", "did you mean 'seed'?"]),
        ([("[rows]", "[row]")], ["a key of a study file must be one of", "did you mean 'rows'?"]),
        ([('"refuse"', '"ignore"')], ["missing_impact of rows must be 'refuse'"]),
        ([('["Age (years)", "housing"]', "[]"), ("[columns.categories]\nhousing", "[x]\nh")],
         ["features of columns must be a list of columns, with at least one. Got []"]),
        ([('["Age (years)", "housing"]', '["Age (years)", 5]')],
         ["features of columns must be", "Got 5 at position 1 instead"]),
        ([('"own", "rent"', '"own"')], ["categories of columns must be", "at 'housing' instead"]),
        ([('"own", "rent"', '"own", 1')], ["Got ['own', 1] at 'housing' instead"]),
        ([('"own", "rent"', '"own", "own"')], ["Got ['own', 'own'] at 'housing' instead"]),
        ([("housing = [", "hausing = [")], ["'hausing', which is not a feature", "mean 'housing'"]),
        ([("loans.csv", "loans.xlsx")], ["the file of a table must end with one of .csv"]),
        ([("loans.csv", "sqlite:///x.db")], ["is a database, and needs a query"]),
        ([('"loans.csv"', '"loans.csv"\nquery = "select 1"')], ["a file, which takes no query"]),
        ([('label = "repaid?"\n', "")], ["objective = 'accuracy' of model needs labels"]),
        ([('"accuracy"', '"acuracy"')], ["objective of model: ", "acuracy"]),
        ([('"accuracy"', '"E[wealth]"')], ["objective of model names the impact 'wealth'"]),
        ([('decision = "approved"\n', "")], ["names a propensity, but not the decision"]),
        ([('["savings 2y"]', '["savings 2y", "housing"]')],
         ["'housing' is both a feature and impact 'housing' of columns"]),
        ([('row_id = "person"', 'row_id = "approved"')], ["Got 'approved' 2 times"]),
        ([('sensitive = ["race"]', 'sensitive = ["race", "race"]')],
         ["sensitive of columns must be different from each other"]),
        ([('no_worse = "race"', 'no_worse = "rase"')],
         ["constraints[0] names the feature 'rase'", "did you mean 'race'?"]),
        ([('no_worse = "race"', 'no_worse = "race"\nparity = "race"')],
         ["constraints[0] must have exactly one of 'text'", "Got 'parity', 'no_worse'"]),
        ([('no_worse = "race"\n', "")], ["constraints[0] must have exactly one", "Got none"]),
        ([('no_worse = "race"', 'parity = "race"')],
         ["constraints[0]: 'parity' needs 'tolerance'"]),
        ([('no_worse = "race"', 'no_worse = "race"\ntolerance = 0.1')],
         ["constraints[0]: 'no_worse' takes 'groups', 'impact', 'slack'. Got 'tolerance'"]),
        ([('no_worse = "race"', 'no_worse = "race"\nslack = -1')],
         ["constraints[0]: slack of 'no_worse' must be at least 0"]),
        ([('no_worse = "race"', 'no_worse = ["race", 5]')],
         ["no_worse of constraints[0] must be a column, or a list of them"]),
        ([(">= 0.5", "> 0.5")], ["constraints[1]: ", "use <= or >=."]),
        ([("`savings 2y` |", "`saving 2y` |")],
         ["constraints[1] names the impact 'saving 2y'", "did you mean 'savings 2y'?"]),
        ([("housing == 'own'", "hausing == 'own'")],
         ["constraints[1] names the feature 'hausing'", "did you mean 'housing'?"]),
        ([('delta = 0.05', "slack = 0.05")], ["'text' takes nothing else. Got 'slack'"]),
        ([('objective = "accuracy"', 'kind = "regressor"\nclasses = [0, 1]')],
         ["classes of model is only for a classifier, but the kind of [model] is 'regressor'"]),
        ([('objective = "accuracy"', 'kind = "regressor"\nexploration = 0.05')],
         ["exploration of model is only for a classifier"]),
        ([('objective = "accuracy"', "exploration = 1")],
         ["exploration of model must be a number in (0, 1)"]),
        ([('objective = "accuracy"', "spread = [0.2, 0.9]")],
         ["spread of model is only for a regressor"]),
        ([('row_id = "person"', 'row_id = "person"\nbehavior_mean = "usual"')],
         ["behavior_mean of columns is only for a regressor"]),
        ([('objective = "accuracy"', 'kind = "regressor"\nobjective = "E[wealth]"')],
         ["objective of model names the impact 'wealth'"]),
        ([("[rows]", "[names]\ncolumns = { rase = 'race' }\n[rows]")],
         ["columns of names has words for 'rase'", "did you mean 'race'"]),
        ([("[rows]", "[names]\nunits = { race = 'EUR' }\n[rows]")],
         ["units of names has words for 'race'; there are 'savings 2y'"]),
        ([("[rows]", "[names]\ngroups = { race = 'Black' }\n[rows]")],
         ["groups of names must be a table that has, for each column, a table of texts"]),
        ([("seed = 3", "impact_range = [0, 1, 2]")], ["impact_range of test must be two"]),
        ([("seed = 3", "impact_range = { a = [0] }")], ["impact_range of test must be two"]),
        ([('objective = "accuracy"', 'cost = { "0" = 5 }')], ["cost of model must be a table"]),
        ([('title = "Loans"', 'title = "Loans"\nrows = 5'), ("[rows]", "[model]"),
          ('[model]\nobjective = "accuracy"', ""), ('missing_impact = "refuse"', "")],
         ["rows must be a table. Got 5 instead"]),
    ],
)  # fmt: skip
def test_mistakes_are_said_in_our_words(pairs, said):
    message = refused(replaced(*pairs))
    for each in said:
        assert each in message


def test_all_mistakes_are_said_at_once():
    message = refused(
        replaced(
            ("loans.csv", "loans.xlsx"),
            ('no_worse = "race"', 'no_worse = "rase"'),
            ("`savings 2y` |", "savings |"),
            ('row_id = "person"', 'row_id = "approved"'),
        ),
        name="mine.toml",
    )
    assert message.startswith("mine.toml has 4 mistakes:\n  - ")
    assert message.count("Hint: ") == 4


def test_what_is_no_toml_is_shown_with_its_line():
    message = refused("title = Loans\n")
    assert "must be TOML. Line 1 is not" in message
    assert "title = Loans" in message


def test_several_impacts_must_be_named():
    text = replaced(('["savings 2y"]', '["savings 2y", "health"]'))
    assert (
        "constraints[0] names the impact 'impact'; impacts are 'savings 2y', 'health'"
        in refused(text)
    )
    fine = text.replace('no_worse = "race"', 'no_worse = "race"\nimpact = "health"')
    assert StudyFile.loads(fine).estimator().constraints[0].impact == "health"


def test_lines_to_be_filled_in_are_named():
    text = replaced(
        ('decision = "approved"', 'decision = "TODO: the decision"'),
        ('sensitive = ["race"]', 'sensitive = ["TODO"]'),
        ('title = "Loans"', 'title = "Loans"  # "TODO" in a comment is none'),
    )
    message = refused(text)
    assert "2 mistakes" in message
    line = text.splitlines().index('decision = "TODO: the decision"') + 1
    assert f'line {line} is still to be filled in: decision = "TODO: the decision"' in message


@pytest.mark.parametrize(
    "text",
    [
        'title = "x"\ndata = "postgresql://ann:geheim@host/db"\n',
        'title = "x"\nsource = postgresql://ann:geheim@host/db\n',
        replaced(("loans.csv", "postgresql://ann:geheim@host/db")),
        replaced(('source = "loans.csv"', 'sauce = "postgresql://ann:geheim@host/db"')),
    ],
)
def test_a_password_is_never_shown(text):
    assert "geheim" not in refused(text)


def test_a_file_that_is_not_there(folder):
    with pytest.raises(ElfairError, match=r"did you mean 'study\.toml'\?"):
        StudyFile.load(folder / "studi.toml")
    with pytest.raises(ElfairError, match="`elfair init` writes one"):
        StudyFile.load(folder / "no" / "where.toml")
    with pytest.raises(ElfairError, match="could not be read"):
        StudyFile.load(folder)
    (folder / "latin.toml").write_bytes('title = "x"\n# Größe'.encode("latin-1"))
    with pytest.raises(ElfairError, match=r"must be text in UTF-8\. Line 2 holds the byte"):
        StudyFile.load(folder / "latin.toml")


def test_a_missing_column_is_named(folder):
    text = replaced(('label = "repaid?"', 'label = "repaid"'))
    with pytest.raises(DataError, match="has no column 'repaid'") as caught:
        StudyFile.loads(text, folder=folder).read()
    assert "did you mean 'repaid?'" in str(caught.value)


def test_another_database_is_asked_only_what_is_given():
    study = StudyFile.loads(
        """
title = "Two people"
[data]
source = "duckdb://"
query = "select * from (values (1.0, 'yes'), (2.0, 'no')) t(x, y)"
[columns]
features = ["x"]
label = "y"
"""
    )
    assert study.read().n_read == 2
    with pytest.raises(InputError) as caught:
        study.read("sqlite://")
    assert study.data.query in str(caught.value)
    assert study.read("sqlite://", query="select 1 as x, 'yes' as y").n_read == 1
    with pytest.raises(InputError, match="must come with the address"):
        study.read(query="select 1 as x, 'yes' as y")


def test_rows_are_counted_in_the_table_also_where_some_are_left_out(tmp_path):
    (tmp_path / "t.csv").write_text("x,impact,y\n1,,0\n2,3,1\nfew,4,1\n")
    study = StudyFile.loads(
        """
title = "Three people"
[data]
source = "t.csv"
[columns]
features = ["x"]
label = "y"
impact = ["impact"]
[rows]
missing_impact = "drop"
""",
        folder=tmp_path,
    )
    with pytest.raises(DataError, match=r"1 of 3 rows \(the first is line 4\): 'few'"):
        study.read()


def test_levels_of_what_is_sensitive_are_left_alone():
    text = """
title = "Moved from features to sensitive"
[data]
source = "t.csv"
[columns]
features = ["x"]
label = "y"
sensitive = ["sex"]
categories = { sex = ["f", "m"], NAME = ["a", "b"] }
"""
    assert StudyFile.loads(text.replace(', NAME = ["a", "b"]', "")).encoding.names == ["x"]
    with pytest.raises(InputError, match="lists the levels of 'sx', which is not a feature"):
        StudyFile.loads(text.replace("NAME", "sx"))

"""Whom no statement speaks of, whatever the conditions are, and what was probably meant."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, certify, no_worse, verify
from elfair.certificate.people import OddGroup
from elfair.errors import CertificateWarning
from elfair.statistics.claims import read_constraints
from elfair.statistics.people import people_of

ABOUT_A = "E[impact | race == 'A'] >= E_logged[impact | race == 'A']"


def table(n=None, **sensitive):
    n = n or len(next(iter(sensitive.values())))
    rng = np.random.default_rng(0)
    decision = rng.integers(0, 2, n)
    return LoggedData(
        rng.normal(size=(n, 1)),
        rng.integers(0, 2, n),
        sensitive_features=sensitive or None,
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=decision + rng.normal(size=n),
    )


def people(constraints, **sensitive):
    data = table(**sensitive)
    return people_of(read_constraints(constraints, 0.1, data), data)


def shown(found):
    return [(each.group, each.n, each.named, each.perhaps) for each in found.groups]


def test_everyone_is_named():
    assert people(no_worse("race"), race=["A", "B"] * 20).groups == ()


def test_statements_about_everyone_name_no_group():
    """They speak of all, and no group was asked for; beside one that names a group, the others
    are still without one.
    """
    race = ["A", "B"] * 20
    assert people(["E[impact] >= 0", "accuracy >= 0.5"], race=race).unnamed == 0
    assert people(["E[impact] >= 0", ABOUT_A], race=race).unnamed == 20


def test_values_that_no_statement_names():
    found = people(ABOUT_A, race=["A"] * 20 + ["a"] * 3 + ["A "] * 2 + ["B"] * 9 + [None] * 4)
    assert found.unnamed == 18
    assert shown(found) == [
        ("race is 'a'", 3, False, "meant 'A'"),
        ("race is 'A '", 2, False, "meant 'A'"),
        ("race is 'B'", 9, False, ""),
        ("race is missing", 4, False, ""),
    ]
    assert found.said(38) == [
        "18 of 38 people are in no group that a statement names. Without a statement: race is 'a' "
        "(3, perhaps meant 'A'), race is 'A ' (2, perhaps meant 'A'), race is 'B' (9), race is "
        "missing (4)"
    ]


def test_what_cannot_be_seen_is_shown():
    found = people(ABOUT_A, race=["A"] * 20 + ["A\u200b"] * 3 + ["\u00a0A"])
    assert [each.group for each in found.groups] == ["race is 'A\\u200b'", "race is '\\xa0A'"]


def test_a_misspelt_group_of_its_own_is_named_and_odd():
    found = people(no_worse("race"), race=["A"] * 20 + ["a"] * 8 + ["unknown"] * 9)
    assert found.unnamed == 0
    assert shown(found) == [
        ("race is 'a'", 8, True, "meant 'A'"),
        ("race is 'unknown'", 9, True, "stands for missing"),
    ]
    assert found.said(37)[0].startswith("a statement takes for a group what may be a mistake: race")


def test_codes_that_meet_a_condition_are_odd():
    """-999 is below 30, and would be protected as a young person."""
    ages = [-999] * 5 + list(range(18, 60))
    found = people("E[impact | age < 30] >= 0", age=ages)
    assert shown(found) == [
        ("age is -999", 5, True, "stands for missing"),
        ("age is from 30 to 59", 30, False, ""),
    ]


def test_labels_do_not_take_people_out_of_a_group():
    found = people("TPR[race == 'A'] >= 0.1", race=["A", "B"] * 20)
    assert shown(found) == [("race is 'B'", 20, False, "")]


def test_what_the_old_model_did_speaks_of_nobody():
    text = "E[impact | race == 'A'] >= E_logged[impact | race == 'B']"
    assert shown(people(text, race=["A", "B"] * 20)) == [("race is 'B'", 20, False, "")]


def test_groups_of_several_columns():
    race, sex = ["A", "A", "B", "B", "B"] * 10, ["f", "m", "f", "m", None] * 10
    texts = [
        "E[impact | race == 'A' and sex == 'f'] >= 0",
        "E[impact | race == 'B' and sex == 'm'] >= 0",
    ]
    found = people(texts, race=race, sex=sex)
    assert found.unnamed == 30
    assert shown(found) == [
        ("sex is missing", 10, False, ""),
        ("race is 'A' and sex is 'm'", 10, False, ""),
        ("race is 'B' and sex is 'f'", 10, False, ""),
    ]


def test_a_group_without_a_statement_is_told_although_another_speaks_of_its_people():
    """The young ones among 'a ' are spoken of as young, and still not as 'A'."""
    age, race = [20, 40] * 20, ["A"] * 30 + ["a "] * 10
    found = people(["E[impact | age < 30] >= 0", ABOUT_A], age=age, race=race)
    assert found.unnamed == 5
    assert shown(found) == [
        ("age is 40", 20, False, ""),
        ("race is 'a '", 10, False, "meant 'A'"),
    ]
    everyone = people(["E[impact | age < 50] >= 0", ABOUT_A], age=age, race=race)
    assert everyone.said(40) == ["Without a statement: race is 'a ' (10, perhaps meant 'A')"]


def test_ranges_of_one_column_and_values_of_another():
    age, sex = list(range(20, 60)) * 2, ["f"] * 40 + ["m"] * 40
    texts = ["E[impact | age < 30 and sex == 'm'] >= 0", "E[impact | sex == 'f'] >= 0"]
    found = people(texts, age=age, sex=sex)
    assert found.unnamed == 30
    assert found.groups[-1].group == "age is from 30 to 59"


def test_many_values_are_counted():
    codes = ["A"] * 5 + [f"z{k:04d}" for k in range(50)]
    found = people(ABOUT_A, race=codes)
    assert found.unnamed == 50
    assert found.groups[-1] == OddGroup("race is one of 40 other values", 40, False, "")


def test_the_record_is_tested_warned_of_and_verified():
    rng = np.random.default_rng(1)
    data = table(race=rng.choice(["A", "B", "b "], 600, p=[0.5, 0.4, 0.1]))
    texts = [ABOUT_A, ABOUT_A.replace("'A'", "'B'")]
    clf = ELFClassifier(texts, candidates=3)
    with pytest.warns(CertificateWarning, match=r"perhaps meant 'B'"):
        clf.fit(data)
    record = clf.certificate_.people
    odd = int((data.sensitive["race"] == "b ").sum())
    assert (record.unnamed, record.groups[0].n) == (odd, odd)  # of all rows, not of tested ones
    assert f"{odd} of 600 people are in no group" in clf.explain()
    assert f"people whose race is 'b ' ({odd}, perhaps meant 'B')" in clf.report().markdown()
    assert "perhaps meant 'B'" in clf.report().html().replace("&#39;", "'")
    assert verify(clf.certificate_, data=data, model=clf).passed


def test_a_deliberate_choice_is_said_without_a_python_warning(recwarn):
    certificate = certify(np.full(400, 0.9), table(race=["A", "B"] * 200), ABOUT_A)
    assert certificate.people.unnamed == 200
    assert not recwarn


@pytest.mark.parametrize(
    ("values", "odd", "perhaps"),
    [
        (["F"] * 50 + ["M"] * 40 + ["Female"] * 10, "sex is 'Female'", "meant 'F'"),
        (["F"] * 50 + ["M"] * 40 + ["m"] * 10, "sex is 'm'", "meant 'M'"),
        ([0] * 50 + [1] * 40 + [9] * 10, "sex is 9", "stands for missing"),
        ([1.0] * 50 + [2.0] * 40 + [99.0] * 10, "sex is 99", "stands for missing"),
    ],
)
def test_abbreviations_and_codes_are_odd_groups(values, odd, perhaps):
    first, second = (repr(each) for each in dict.fromkeys(values[:60]))
    named = [f"E[impact | sex == {each}] >= 0" for each in (first, second)]
    assert shown(people(named, sex=values)) == [(odd, 10, False, perhaps)]
    assert shown(people([no_worse("sex")], sex=values)) == [(odd, 10, True, perhaps)]

"""A certificate to hand over tells nothing about fewer people than was asked for, not by
subtraction either, and verification copes with it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from click.testing import CliRunner

from elfair import Certificate, ELFClassifier, LoggedData, certify, verify
from elfair.certificate import LeftOut, Provenance
from elfair.certificate.people import GroupCount
from elfair.cli import main
from elfair.errors import InputError
from elfair.report import Report

BELOW = 5
NEW = [0.2, 0.8]
CONSTRAINTS = tuple(f"E[impact | race == '{g}'] >= E_logged[impact | race == '{g}']" for g in "AB")


def rows(*, few: int = 3, others: int = 0, seed: int = 0, n: int = 900) -> LoggedData:
    """Two large groups, one of a few people, and one of some more."""
    rng = np.random.default_rng(seed)
    race = rng.choice(["A", "B"], n).astype(object)
    race[:few], race[few : few + others] = "C", "D"
    decision = rng.integers(0, 2, n)
    return LoggedData(
        np.zeros((n, 1)),
        rng.integers(0, 2, n),
        sensitive_features={"race": race, "sex": rng.choice(["f", "m"], n)},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=decision + rng.normal(0, 0.3, n),
    )


def record_of(data: LoggedData, *others: str, asked: tuple[str, ...] = CONSTRAINTS) -> Certificate:
    return certify(np.tile(NEW, (data.n, 1)), data, [*asked, *others])


def counts(record: Certificate) -> list[int]:
    """Every number of people that a record states about a part of them."""
    found = [
        *(each.n for each in record.people.groups),
        *(each.n for each in (*record.provenance.left_out, *record.provenance.outside)),
        *(by.n for each in record.provenance.left_out for by in each.groups),
        *(group.n for result in record.constraints for group in result.groups),
        record.people.unnamed,
    ]
    for group in record.groups:
        found.append(group.n)
        found += [round(each.logged * group.n) for each in group.decisions]
        histograms = (group.weights, group.propensities, group.probabilities)
        found += chain.from_iterable(each.counts for each in histograms if each is not None)
    return found


def told_by_subtraction(record: Certificate) -> list[int]:
    """What an attacker finds by taking groups from totals."""
    everyone, *groups = record.groups
    of = {each.condition: each.n for each in groups}
    by_column: dict[str, int] = {}
    for condition, n in of.items():
        column = condition.split()[0]
        by_column[column] = by_column.get(column, 0) + n
    found = [everyone.n - n for n in (*of.values(), *by_column.values())]
    found += [record.n_held_out - n for n in by_column.values()]
    known = [each.n for each in record.people.groups if each.n]
    if len(known) < len(record.people.groups):
        found.append(record.people.unnamed - sum(known))
    if record.provenance.rows_read:
        left = (*record.provenance.left_out, *record.provenance.outside)
        found.append(record.provenance.rows_read - record.n - sum(each.n for each in left))
    return found


@pytest.mark.parametrize(("few", "others"), [(3, 0), (1, 0), (3, 60), (4, 2), (2, 2), (0, 0)])
def test_nobody_finds_a_few_people(few, others):
    data = rows(few=few, others=others)
    whole = record_of(data)
    shown = whole.suppressing(BELOW)
    for n in (*counts(shown), *told_by_subtraction(shown)):
        assert not 0 < n < BELOW
    assert not few or any(0 < n < BELOW for n in (*counts(whole), *told_by_subtraction(whole)))


@pytest.mark.parametrize(("few", "others"), [(3, 0), (3, 60), (0, 0)])
def test_what_is_left_is_verified(few, others):
    data = rows(few=few, others=others)
    shown = record_of(data).suppressing(BELOW)
    alone = verify(shown.to_json())
    assert alone.passed, alone.text()
    again = verify(shown.to_json(), data=data, model=np.tile(NEW, (data.n, 1)))
    assert again.passed, again.text()
    assert ("results", "passed") in {(each.name, each.status) for each in again.checks}
    wrong = replace(shown, groups=(replace(shown.groups[0], n=shown.groups[0].n + 1),))
    assert not verify(wrong.to_json()).passed


def test_who_claims_to_have_left_something_out_cannot_change_the_rest():
    data = rows()
    shown = record_of(data).suppressing(BELOW)
    assumed = [replace(each, status="checked") for each in shown.assumptions]
    assert not verify(replace(shown, assumptions=tuple(assumed)).to_json()).passed
    better = replace(shown.constraints[0], upper=-1.0)
    assert not verify(replace(shown, constraints=(better, *shown.constraints[1:])).to_json()).passed


def test_totals_do_not_tell_how_few_they_are():
    """A known share of candidate rows would, and so would a total that is rounded by itself."""
    shown = record_of(rows()).suppressing(BELOW)
    assert shown.n_held_out == sum(each.n for each in shown.groups[1:])
    assert shown.n == shown.n_candidate + shown.n_held_out
    assert shown.n_candidate % (10 * BELOW) == 0
    assert (shown.people.unnamed, shown.groups[0].impacts) == (0, ())


def test_statements_about_a_few_people_cannot_be_handed_over():
    few = record_of(rows(few=40), "E[impact | race == 'C'] >= -5")
    with pytest.raises(InputError, match=r"'.*race == 'C'.*' is about \d+ held-out rows"):
        few.suppressing(45)
    with pytest.raises(InputError, match="outside the groups"):
        record_of(rows(), "E[impact] >= 0").suppressing(BELOW)
    # Two columns: what one of them adds up to tells of the rest of the other.
    by_sex = [f"E[impact | sex == '{each}'] >= 0" for each in "fm"]
    with pytest.raises(InputError, match="outside the groups"):
        record_of(rows(), *by_sex).suppressing(BELOW)
    assert record_of(rows(few=0), *by_sex).suppressing(BELOW).suppressed_below


def test_groups_inside_groups_do_not_tell_of_the_difference():
    data = rows(few=0)
    race, sex = (data.sensitive[name] for name in ("race", "sex"))
    sex = sex.copy()
    sex[race == "A"] = "f"
    sex[np.flatnonzero(race == "A")[:3]] = "m"
    nested = data.changed(sensitive={"race": race, "sex": sex})
    asked = ("E[impact | race == 'A'] >= 0", "E[impact | race == 'A' and sex == 'f'] >= 0")
    with pytest.raises(InputError, match="differ by a few rows"):
        record_of(nested, asked=asked).suppressing(BELOW)


def test_people_left_out_are_counted_only_if_they_are_enough():
    whole = record_of(rows(few=0)).stating(
        provenance=Provenance(
            rows_read=905,
            left_out=(
                LeftOut("impact is missing", 3, (GroupCount("race = A", 3),)),
                LeftOut(
                    "decision is missing", 40, (GroupCount("race = A", 38), GroupCount("B", 2))
                ),
            ),
            changes=("impact: 2 values were read as missing",),
        )
    )
    shown = whole.suppressing(BELOW)
    first, second = shown.provenance.left_out
    assert (first.n, first.groups, second.n, second.groups) == (0, (), 40, ())
    assert shown.provenance.rows_read == 0
    assert shown.provenance.changes == ("impact: fewer than 5 values were read as missing",)
    told = {each.code: each.evidence for each in shown.assumptions}
    assert told["left_out_alike"] == "some rows were left out"
    assert verify(shown.to_json()).passed
    text = Report(shown).markdown()
    assert "a few rows (impact is missing)" in text
    assert "fewer than 5 people was left out" in text


def test_it_is_made_once():
    whole = record_of(rows())
    shown = whole.suppressing(BELOW)
    assert shown.suppressing(BELOW) is shown
    with pytest.raises(InputError, match="already"):
        shown.suppressing(6)
    for wrong in (1, 0, 2.5, True):
        with pytest.raises(InputError, match="whole number"):
            whole.suppressing(wrong)
    assert Certificate.from_json(shown.to_json()) == shown


def test_on_the_command_line(tmp_path):
    record_of(rows(others=60)).save(tmp_path / "certificate.json")
    given = ["explain", str(tmp_path / "certificate.json"), "--suppress-below", "5"]
    output = tmp_path / "shown.json"
    form = ["--format", "certificate", "--output", str(output)]
    assert CliRunner().invoke(main, [*given, *form]).exit_code == 0
    assert Certificate.load(output) == record_of(rows(others=60)).suppressing(5)
    assert CliRunner().invoke(main, ["verify", str(output)]).exit_code == 0
    page = CliRunner().invoke(main, [*given, "--format", "html"]).output
    assert "too few to say" in page
    assert CliRunner().invoke(main, ["explain", str(output)]).exit_code == 0


def test_a_rare_decision_of_one_group_hides_those_of_all():
    """Else the others' and everyone's would tell it."""
    whole = record_of(rows(few=0))
    everyone, first, second = whole.groups
    share = 2 / first.n
    rare = tuple(
        replace(each, logged=of)
        for each, of in zip(first.decisions, (1 - share, share), strict=True)
    )
    shown = replace(whole, groups=(everyone, replace(first, decisions=rare), second))
    assert [each.decisions for each in shown.suppressing(BELOW).groups] == [(), (), ()]
    assert all(each.decisions for each in whole.suppressing(BELOW).groups)


@pytest.mark.parametrize(
    "how",
    [{}, {"split": "crossfit"}, {"missing_impact": "at random"}, {"propensity": "estimated"}],
    ids=lambda how: "-".join(map(str, how.values())) or "usual",
)
def test_no_total_of_a_fit_tells_how_few_they_are(how):
    """Nor does a number of candidate rows that a search, or a missing impact, speaks of."""
    n, rng = 1203, np.random.default_rng(0)
    race = rng.choice(["A", "B"], n).astype(object)
    race[:3] = "C"
    decision = rng.integers(0, 2, n)
    given = {"decision": decision, "propensity": np.full(n, 0.5)}
    given["impact"] = decision + rng.normal(0, 0.3, n)
    if "missing_impact" in how:
        given["impact"][5:60] = np.nan
    of_rows = {name: value for name, value in how.items() if name != "split"}
    data = LoggedData(
        rng.normal(size=(n, 1)), sensitive_features={"race": race}, **{**given, **of_rows}
    )
    split = {name: value for name, value in how.items() if name == "split"}
    clf = ELFClassifier(CONSTRAINTS, objective="E[impact]", **split).fit(data)
    shown = clf.certificate_.suppressing(BELOW)
    text = shown.to_json()
    for total in (n, clf.certificate_.n_held_out, clf.certificate_.n_candidate):
        assert not re.search(rf"(?<![\d.,e-])({total}|{total:,})(?![\d.])", text), total
    again = verify(text, data=data, model=clf)
    assert again.passed, again.text()

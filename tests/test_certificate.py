"""The record: out and in again, and nothing else gets in."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from elfair import Certificate, ElfairError, LoggedData, certify
from elfair.certificate import SCHEMA, CandidateRecord, GroupRecord
from elfair.errors import InputError


@pytest.fixture(scope="module")
def certificate():
    rng = np.random.default_rng(0)
    n = 300
    decision = rng.integers(0, 2, n)
    data = LoggedData(
        rng.normal(size=(n, 1)),
        rng.integers(0, 2, n),
        sensitive_features={"T": rng.integers(0, 2, n)},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=decision + rng.normal(size=n),
    )
    return certify(
        np.tile([0.2, 0.8], (n, 1)),
        data,
        ["E[impact | T == 0] >= E_logged[impact | T == 0]", "abs(PR[T == 0] - PR[T == 1]) <= 0.5"],
        delta=[0.1, 0.05],
    )


def test_out_and_in_again(certificate):
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert json.loads(certificate.to_json())["schema"] == SCHEMA


def test_infinities_nan_and_none_survive(certificate):
    worst = replace(
        certificate.constraints[0],
        upper=float("inf"),
        estimate=float("nan"),
        spread=float("-inf"),
        rows_needed=None,
        ess=None,
        groups=(GroupRecord("everyone", 2, None, None, None, None),),
        warnings=("only 2 rows – «ﬁ»",),
    )
    record = replace(
        certificate,
        constraints=(worst,),
        candidate=CandidateRecord("cmaes", "accuracy", 1, 0.25, 0.5, False, 17, 20, 5, 4),
    )
    again = Certificate.from_json(record.to_json())
    assert again.to_json() == record.to_json()
    assert np.isnan(again.constraints[0].estimate)
    assert again.constraints[0].upper == float("inf")
    assert again.constraints[0].spread == float("-inf")
    assert again.constraints[0].ess is None
    assert again.constraints[0].rows_needed is None
    assert again.candidate == record.candidate
    assert Certificate.from_json(replace(record, candidate=None).to_json()).candidate is None
    assert "NaN" not in record.to_json()
    assert "Infinity" not in record.to_json()


def altered(certificate, change):
    document = json.loads(certificate.to_json())
    change(document)
    return json.dumps(document)


def test_another_schema_is_refused_before_anything_else(certificate):
    def newer(document):
        document["schema"] = "elfair.certificate/2"
        document["unheard_of"] = 1

    with pytest.raises(InputError, match=r"schema 'elfair\.certificate/2'; .* reads .*/1'.*\nHint"):
        Certificate.from_json(altered(certificate, newer))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.pop("joint_delta"), "certificate.joint_delta must be a value. Got 'nothing'"),
        (lambda d: d.pop("schema"), "certificate.schema must be a value"),
        (lambda d: d.update(colour="red"), "Got 'colour' instead"),
        (lambda d: d.update(passed="yes"), "certificate.passed must be a value of type bool"),
        (lambda d: d.update(n="12"), "certificate.n must be a value of type int"),
        (lambda d: d.update(n=True), "certificate.n must be a value of type int"),
        (lambda d: d.update(split="by hand"), "certificate.split must be one of"),
        (lambda d: d["constraints"][0].pop("upper"), r"certificate.constraints[0].upper"),
        (lambda d: d["constraints"][1].update(upper="low"), r"certificate.constraints[1].upper"),
        (lambda d: d["constraints"][0]["groups"][0].update(n=1.5), r"constraints[0].groups[0].n"),
        (lambda d: d.update(constraints={}), "certificate.constraints must be a list"),
    ],
)
def test_a_changed_record_is_refused_by_name(certificate, change, words):
    with pytest.raises(InputError) as caught:
        Certificate.from_json(altered(certificate, change))
    assert words in str(caught.value)
    assert "\nHint: " in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '"schema"',
        "{}",
        "not json",
        "[" * 200_000,
        '{"schema": ' + "[" * 200_000 + "]" * 200_000 + "}",
        '{"schema": ' + "9" * 10_000 + "}",
        '{"schema": NaN}',
        '{"schema": "elfair.certificate/1", "schema": "elfair.certificate/1"}',
    ],
    ids=range(11),
)
def test_what_is_no_record_is_an_input_error(text):
    with pytest.raises(InputError, match="\nHint: "):
        Certificate.from_json(text)


def test_a_truncated_record_is_an_input_error(certificate):
    text = certificate.to_json()
    for end in range(0, len(text) - 1, 97):
        with pytest.raises(InputError):
            Certificate.from_json(text[:end])


def test_the_worst_statement_comes_first(certificate):
    badness = [result.upper / result.spread for result in certificate.constraints]
    assert badness == sorted(badness, reverse=True)
    assert len(badness) == 3


def test_each_conjunct_has_its_row_with_parent_text_and_delta(certificate):
    gap = [r for r in certificate.constraints if r.constraint.startswith("abs")]
    assert {r.statement for r in gap} == {
        "PR[T == 0] - PR[T == 1] <= 0.5",
        "PR[T == 1] - PR[T == 0] <= 0.5",
    }
    assert [r.delta for r in gap] == [0.05, 0.05]
    (impact,) = (r for r in certificate.constraints if r not in gap)
    assert impact.constraint == impact.statement
    assert impact.delta == 0.1


def test_the_joint_statement_is_in_these_words(certificate):
    assert certificate.joint_delta == 0.1
    assert certificate.joint_statement.startswith(
        "The probability that a model is returned and violates some constraint is at most 0.1 "
        "(the largest delta). This is not conditional on a model being returned, and the bounds "
        "shown are not simultaneous."
    )
    assert "asymptotic" in certificate.joint_statement


def test_errors_of_reading_are_errors_of_this_library():
    with pytest.raises(ElfairError) as caught:
        Certificate.from_json("{")
    assert isinstance(caught.value, ValueError)

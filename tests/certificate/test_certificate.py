"""The record: out and in again, and nothing else gets in."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from elfair import Certificate, ElfairError, LoggedData, Report, certify
from elfair.certificate import GroupRecord, LeftOut, Provenance, SearchRecord, WarningRecord
from elfair.certificate.statement import PREDICATE, STATEMENT
from elfair.errors import InputError

OUT = LeftOut("no impact", 10, ())


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


def test_it_is_an_in_toto_statement_about_the_model(certificate):
    statement = json.loads(certificate.to_json())
    assert list(statement) == ["_type", "subject", "predicateType", "predicate"]
    assert statement["_type"] == STATEMENT == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == PREDICATE
    (subject,) = statement["subject"]
    assert subject == {"name": "model", "digest": {"sha256": certificate.digests.model}}
    assert len(certificate.digests.model) == 64


def test_what_only_people_can_say_is_not_stated_unless_said(certificate):
    assert {c.chosen_by for c in certificate.terms.claims} == {"not stated"}
    text = certificate.terms.claims[0].constraint
    said = certificate.stating(chosen_by={text: "the board"}, why="  ")
    assert [c.chosen_by for c in said.terms.claims] == ["the board", "not stated", "not stated"]
    assert {c.why for c in said.terms.claims} == {"not stated"}
    assert said.constraints == certificate.constraints
    assert said.stating() == said
    more = said.stating(why="the law", provenance=Provenance(rows_read=310, left_out=(OUT,)))
    assert [c.chosen_by for c in more.terms.claims] == ["the board", "not stated", "not stated"]
    assert {c.why for c in more.terms.claims} == {"the law"}
    assert more.stating() == more
    assert len(more.assumptions) == len(said.assumptions) + 1
    with pytest.raises(InputError, match="no constraint 'accuracy'"):
        certificate.stating(why={"accuracy": "because"})


def test_a_changed_byte_is_refused(certificate, tmp_path):
    """Bytes that are still text, and bytes that are not."""
    text = certificate.stating(chosen_by="the board").to_json().encode()
    path = tmp_path / "certificate.json"
    path.write_bytes(text)
    Certificate.load(path)
    rng = np.random.default_rng(0)
    for _ in range(300):
        place, other = int(rng.integers(len(text))), int(rng.integers(1, 256))
        changed = bytes([text[place] ^ other])
        path.write_bytes(text[:place] + changed + text[place + 1 :])
        assert "\nHint: " in refusal(path), f"byte {place} changed to {changed!r}"


def refusal(path):
    """Why a certificate is not read; empty if it is."""
    try:
        Certificate.load(path)
    except InputError as error:
        return str(error)
    return ""


def test_infinities_nan_and_none_survive(certificate):
    worst = replace(
        certificate.constraints[0],
        upper=float("inf"),
        estimate=float("nan"),
        spread=float("-inf"),
        rows_needed=None,
        break_even=None,
        groups=(GroupRecord("everyone", 2, None, None, None, None),),
        warnings=(WarningRecord("few_held_out_rows", "only 2 rows – «ﬁ»", "T == 1"),),
    )
    record = replace(
        certificate,
        constraints=(worst,),
        search=SearchRecord("cmaes", "accuracy", 1, 0.25, 0.5, False, 17, 20, 5, 4, 60),
    )
    again = Certificate.from_json(record.to_json())
    assert again.to_json() == record.to_json()
    assert np.isnan(again.constraints[0].estimate)
    assert again.constraints[0].upper == float("inf")
    assert again.constraints[0].spread == float("-inf")
    assert again.constraints[0].ess is None
    assert again.constraints[0].rows_needed is None
    assert again.search == record.search
    assert Certificate.from_json(replace(record, search=None).to_json()).search is None
    assert "NaN" not in record.to_json()
    assert "Infinity" not in record.to_json()


def altered(certificate, change):
    document = json.loads(certificate.to_json())
    change(document["predicate"])
    return json.dumps(document)


@pytest.mark.parametrize("kind", ["urn:elfair:certificate:3", "https://slsa.dev/provenance/v1"])
def test_another_predicate_is_refused_before_anything_else(certificate, kind):
    document = json.loads(certificate.to_json())
    document["predicateType"] = kind
    document["predicate"] = {"unheard_of": 1}
    with pytest.raises(InputError, match=rf"with predicate '{PREDICATE}'. Got '{kind}'.*\nHint"):
        Certificate.from_json(json.dumps(document))


def test_numbers_changed_with_care_are_still_seen(certificate):
    def better(record):
        record["constraints"][0]["upper"] = -1.0
        record["constraints"][0]["passed"] = True

    with pytest.raises(InputError, match="changed after it was written"):
        Certificate.from_json(altered(certificate, better))


def test_another_form_of_the_same_contents_is_refused(certificate):
    for form in ({"indent": 4}, {"sort_keys": True, "indent": 2}, {}):
        text = json.dumps(json.loads(certificate.to_json()), **form)
        with pytest.raises(InputError, match="changed after it was written"):
            Certificate.from_json(text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.pop("joint_delta"), "certificate.joint_delta must be a value. Got 'nothing'"),
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


def test_what_is_printed_is_the_explanation_and_what_is_inspected_is_short(certificate):
    assert str(certificate) == certificate.explain() == str(Report(certificate))
    passed = sum(result.passed for result in certificate.constraints)
    total = len(certificate.constraints)
    assert f"{passed} of {total} statements passed" in repr(certificate)
    assert len(repr(certificate)) < 120
    assert repr(Report(certificate)) == f"Report(certificate={certificate!r})"

"""The bill of materials is one by the official schema, and says what the certificate says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from elfair import ELFClassifier, LoggedData, certify
from elfair.certificate.codes import SHOWN_STATUS


@pytest.fixture(scope="module")
def certificate():
    rng = np.random.default_rng(0)
    decision, group = rng.integers(0, 2, 300), rng.choice(["A", "B"], 300)
    clf = ELFClassifier(
        [f"E[savings | race == '{g}'] >= E_logged[savings | race == '{g}'] - 1" for g in "AB"],
        objective="E[savings]",
        split="stratified",
        accept_violated=["halves_independent"],
        candidates=3,
    )
    clf.fit(
        rng.normal(size=(300, 1)),
        sensitive_features={"race": group},
        decision=decision,
        propensity=np.full(300, 0.5),
        impact={"savings": decision + rng.normal(size=300)},
    )
    return clf.certificate_


def errors(text):
    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)


def test_it_is_a_bill_of_materials_by_the_official_schema(certificate):
    assert errors(certificate.to_cyclonedx()) is None
    worst = replace(certificate.constraints[0], upper=float("inf"), passed=False)
    assert errors(replace(certificate, constraints=(worst,)).to_cyclonedx()) is None
    assert errors(replace(certificate, constraints=(), groups=()).to_cyclonedx()) is None


def test_the_official_schema_would_refuse_something_else(certificate):
    document = json.loads(certificate.to_cyclonedx())
    document["components"][0]["modelCard"]["quantitativeAnalysis"]["colour"] = "red"
    assert errors(json.dumps(document)) is not None


@pytest.mark.parametrize(("least", "told"), [(0.1, "passed"), (0.9, "did not pass")])
def test_a_model_from_elsewhere_passed_or_did_not(least, told):
    data = LoggedData(None, np.arange(200) % 2)
    text = certify(np.full(200, 0.5), data, f"PR >= {least}").to_cyclonedx()
    said = {each["name"]: each["value"] for each in json.loads(text)["components"][0]["properties"]}
    assert said["elfair:verdict"] == told
    assert said["elfair:headline"].startswith(f"Model {told}: ")


def test_equal_certificates_have_equal_bills_and_others_have_others(certificate):
    first, again = certificate.to_cyclonedx(), replace(certificate).to_cyclonedx()
    other = certificate.stating(chosen_by="the board").to_cyclonedx()
    assert first == again
    numbers = {json.loads(text)["serialNumber"] for text in (first, other)}
    assert len(numbers) == 2


def test_it_says_what_the_certificate_says(certificate):
    (model,) = json.loads(certificate.to_cyclonedx())["components"]
    assert model["hashes"] == [{"alg": "SHA-256", "content": certificate.digests.model}]
    card = model["modelCard"]
    metrics = card["quantitativeAnalysis"]["performanceMetrics"]
    for metric, result in zip(metrics, certificate.constraints, strict=True):
        assert result.statement in metric["type"].replace("\\'", "'")
        assert float(metric["value"]) == result.estimate
        assert float(metric["confidenceInterval"]["upperBound"]) == result.upper
        assert metric["slice"] == result.groups[0].condition
    considered = card["considerations"]
    for assumption in certificate.assumptions:
        line = f"{assumption.name} ({SHOWN_STATUS[assumption.status]}): {assumption.statement}"
        assert line in considered["technicalLimitations"]
    assert any(a.status == "violated" for a in certificate.assumptions)
    groups = [each["groupAtRisk"] for each in considered["fairnessAssessments"]]
    assert [group.partition(" (")[0] for group in groups] == ["race == 'A'", "race == 'B'"]
    properties = {each["name"]: each["value"] for each in model["properties"]}
    assert properties["elfair:verdict"] == ("passed" if certificate.passed else "no solution found")
    assert properties["elfair:joint_delta"] == "0.1"
    assert properties["elfair:joint_statement"] == certificate.joint_statement

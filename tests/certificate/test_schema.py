"""The documented schema is that of the records, and real certificates meet it."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, certify
from elfair.certificate.formats import statement_schema
from elfair.records.json import json_schema, to_plain

DOCS = Path(__file__).parents[2] / "docs" / "certificate.schema.json"


@pytest.fixture(scope="module")
def certificates():
    rng = np.random.default_rng(0)
    decision = rng.integers(0, 2, 300)
    X, label = rng.normal(size=(300, 1)), rng.integers(0, 2, 300)
    given = {
        "sensitive_features": {"T": rng.integers(0, 2, 300)},
        "decision": decision,
        "propensity": np.full(300, 0.5),
        "impact": decision + rng.normal(size=300),
    }
    texts = ["E[impact | T == 0] >= E_logged[impact | T == 0]", "PR <= 0.99"]
    fitted = [
        ELFClassifier(texts, candidates=3).fit(X, label, **given),
        ELFClassifier(texts, split="crossfit", folds=3).fit(X, label, **given),
        ELFClassifier().fit(X, label),
        ELFClassifier("accuracy >= 0.99", bound="betting").fit(X, label),
    ]
    foreign = certify(np.tile([0.2, 0.8], (300, 1)), LoggedData(X, label, **given), texts)
    return [*(clf.certificate_ for clf in fitted), foreign]


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(DOCS.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_documented_schema_is_current():
    assert json.loads(DOCS.read_text(encoding="utf-8")) == statement_schema()


def test_the_schema_is_printed_as_it_is_kept():
    done = subprocess.run(
        [sys.executable, "-m", "elfair.certificate.formats"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == DOCS.read_text(encoding="utf-8")


def test_certificates_meet_it(certificates, validator):
    for certificate in certificates:
        validator.validate(json.loads(certificate.to_json()))


def test_each_field_is_described(validator):
    for name, record in validator.schema["$defs"].items():
        assert record["description"], name
        for field, of in record["properties"].items():
            assert of.get("description"), f"{name}.{field}"


def test_what_reading_refuses_the_schema_refuses(certificates, validator):
    document = json.loads(certificates[0].to_json())
    changes = [
        lambda p: p.pop("n"),
        lambda p: p.update(n="12"),
        lambda p: p.update(colour="red"),
        lambda p: p.update(split="by hand"),
        lambda p: p["constraints"][0].update(upper="low"),
        lambda p: p["constraints"][0]["tails"][0].pop("error"),
        lambda p: p["digests"].update(model="abc"),
        lambda p: p.pop("digest"),
    ]
    for change in changes:
        wrong = copy.deepcopy(document)
        change(wrong["predicate"])
        assert not validator.is_valid(wrong)
    assert not validator.is_valid({**document, "predicateType": "urn:elfair:certificate:1"})


@dataclass(frozen=True)
class Leaf:
    """A leaf.

    Parameters
    ----------
    size, weight : float
        How large, and
        how heavy.
    """

    size: float
    weight: float | None


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...]
    name: str


def test_any_record_has_a_schema():
    schema = json_schema(Tree)
    validator = jsonschema.Draft202012Validator(schema)
    good = to_plain(Tree((Leaf(float("inf"), None), Leaf(1.0, 2.0)), "oak"))
    validator.validate(good)
    assert not validator.is_valid({**good, "leaves": [{"size": True, "weight": None}]})
    assert not validator.is_valid({**good, "name": None})
    assert schema["$defs"]["Leaf"]["properties"]["weight"]["description"] == (
        "How large, and how heavy."
    )
    assert "description" not in schema["$defs"]["Tree"]

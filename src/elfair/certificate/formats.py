"""A certificate for other tools: its JSON schema, and the model card of a CycloneDX document.

``python -m elfair.certificate.formats`` prints the schema, which is kept as
docs/certificate.schema.json. https://cyclonedx.org/docs/1.6/json/ describes each field of the card.
The card is an excerpt: only the certificate holds tests and assumptions in full, and can be
verified.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from elfair.certificate.codes import SHOWN_STATUS
from elfair.certificate.explanation import verdict
from elfair.certificate.parts import ConstraintResult
from elfair.certificate.pictures import GroupPicture
from elfair.certificate.record import Certificate
from elfair.certificate.statement import HOW_TO_VERIFY, PREDICATE, STATEMENT
from elfair.language.conditions import EVERYONE
from elfair.records.json import json_schema, object_schema


def statement_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of what `Certificate.to_json` writes.

    Examples
    --------
    >>> statement_schema()["required"]
    ['_type', 'subject', 'predicateType', 'predicate']
    """
    known = json_schema(Certificate)["$defs"]
    record = known["Certificate"]
    record["properties"] |= {
        "how_to_verify": {
            "const": HOW_TO_VERIFY,
            "description": "What verifies this record.",
        },
        "digest": {
            **_sha256(),
            "description": "SHA-256 of the statement with this digest empty, as JSON without "
            "spaces, keys in their order.",
        },
    }
    record["required"] = list(record["properties"])
    for name in known["Digests"]["properties"]:
        known["Digests"]["properties"][name]["pattern"] = "^[0-9a-f]{64}$"
    subject = object_schema({"name": {"const": "model"}, "digest": _sha256()})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{PREDICATE}:schema",
        "title": "elfair certificate",
        **object_schema(
            {
                "_type": {"const": STATEMENT},
                "subject": {
                    "type": "array",
                    "items": subject,
                    "minItems": 1,
                    "maxItems": 1,
                    "description": "The tested model.",
                },
                "predicateType": {"const": PREDICATE},
                "predicate": {"$ref": "#/$defs/Certificate"},
            }
        ),
        "$defs": known,
    }


def _sha256() -> dict[str, Any]:
    return object_schema({"sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}})


def to_cyclonedx(certificate: Certificate) -> str:
    """See `Certificate.to_cyclonedx`."""
    statement = hashlib.sha256(certificate.to_json().encode()).hexdigest()
    tools = [
        {"type": "application", "name": each.name, "version": each.version}
        for each in certificate.versions
        if each.name == "elfair"
    ]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Equal certificates give equal documents.
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, f'urn:sha256:{statement}')}",
        "version": 1,
        "metadata": {"tools": {"components": tools}},
        "components": [_component(certificate, statement)],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _component(of: Certificate, statement: str) -> dict[str, Any]:
    model = of.digests.model
    failed = "did not pass" if of.search is None else "no solution found"
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model-{model}",
        "name": f"model of {of.provenance.title!r}",
        "hashes": [{"alg": "SHA-256", "content": model}],
        "modelCard": {
            "quantitativeAnalysis": {
                "performanceMetrics": [_metric(result) for result in of.constraints]
            },
            "considerations": _considerations(of),
        },
        "properties": [
            {"name": "elfair:verdict", "value": "passed" if of.passed else failed},
            {"name": "elfair:headline", "value": verdict(of)},
            {"name": "elfair:joint_delta", "value": f"{of.joint_delta:g}"},
            {"name": "elfair:joint_statement", "value": of.joint_statement},
            {"name": "elfair:certificate:sha256", "value": statement},
        ],
    }


def _metric(result: ConstraintResult) -> dict[str, Any]:
    """A statement as a number that is at most 0 if it holds, with its one-sided bound."""
    return {
        "type": f"excess of the statement {result.statement!r} (at most 0 if it holds), bounded "
        f"from above with confidence {1 - result.delta:g} ({result.kind})",
        "value": repr(result.estimate),
        "slice": "; ".join(group.condition for group in result.groups),
        "confidenceInterval": {"upperBound": repr(result.upper)},
    }


def _considerations(certificate: Certificate) -> dict[str, Any]:
    worst_first = sorted(certificate.assumptions, key=lambda a: a.status != "violated")
    limits = [f"{a.name} ({SHOWN_STATUS[a.status]}): {a.statement}" for a in worst_first]
    return {
        "technicalLimitations": [*map(str, certificate.warnings), *limits],
        "fairnessAssessments": [
            _assessment(picture, certificate)
            for picture in certificate.groups
            if picture.condition != EVERYONE
        ],
    }


def _assessment(picture: GroupPicture, certificate: Certificate) -> dict[str, Any]:
    up: list[str] = []
    down: list[str] = []
    for each in picture.impacts:
        change = (
            f"the estimated mean of '{each.impact}' goes from {each.logged.estimate:.4g} to "
            f"{each.new.estimate:.4g}"
        )
        (up if each.new.estimate >= each.logged.estimate else down).append(change)
    tests = [
        f"'{result.statement}' {'passed' if result.passed else 'failed'} its test at delta "
        f"{result.delta:g}"
        for result in certificate.constraints
        if picture.condition in [group.condition for group in result.groups]
    ]
    found = {
        "groupAtRisk": f"{picture.condition} ({picture.n:,} held-out rows)",
        "benefits": "; ".join(up),
        "harms": "; ".join(down),
        "mitigationStrategy": "; ".join(tests),
    }
    return {name: text for name, text in found.items() if text}


if __name__ == "__main__":
    print(json.dumps(statement_schema(), indent=2, ensure_ascii=False))

"""A certificate as the model card of a CycloneDX bill of materials.

https://cyclonedx.org/docs/1.6/json/ says what each field is. The card is an excerpt: what it says
of tests and assumptions is said in full, and can be checked, in the certificate alone.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from elfair.certificate.pictures import GroupPicture
from elfair.certificate.results import EVERYONE, ConstraintResult

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate


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
        # Of equal certificates, equal documents.
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, f'urn:sha256:{statement}')}",
        "version": 1,
        "metadata": {"tools": {"components": tools}},
        "components": [_component(certificate, statement)],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _component(certificate: Certificate, statement: str) -> dict[str, Any]:
    model = certificate.digests.model
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model-{model}",
        "name": f"model of {certificate.provenance.title!r}",
        "hashes": [{"alg": "SHA-256", "content": model}],
        "modelCard": {
            "quantitativeAnalysis": {
                "performanceMetrics": [_metric(result) for result in certificate.constraints]
            },
            "considerations": _considerations(certificate),
        },
        "properties": _properties(
            {
                "elfair:verdict": "passed" if certificate.passed else "no solution found",
                "elfair:joint_delta": f"{certificate.joint_delta:g}",
                "elfair:joint_statement": certificate.joint_statement,
                "elfair:certificate:sha256": statement,
            }
        ),
    }


def _metric(result: ConstraintResult) -> dict[str, Any]:
    """A statement as a number that is at most 0 where it holds, with its one-sided bound."""
    return {
        "type": f"excess of the statement {result.statement!r} (at most 0 where it holds), bounded "
        f"from above with confidence {1 - result.delta:g} ({result.kind})",
        "value": repr(result.estimate),
        "slice": "; ".join(group.condition for group in result.groups),
        "confidenceInterval": {"upperBound": repr(result.upper)},
    }


def _considerations(certificate: Certificate) -> dict[str, Any]:
    violated = [a for a in certificate.assumptions if a.status == "violated"]
    others = [a for a in certificate.assumptions if a.status != "violated"]
    limits = [f"{a.name} ({a.status}): {a.statement}" for a in (*violated, *others)]
    return {
        "technicalLimitations": [*certificate.warnings, *limits],
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
        "groupAtRisk": f"{picture.condition} ({picture.n} held-out rows)",
        "benefits": "; ".join(up),
        "harms": "; ".join(down),
        "mitigationStrategy": "; ".join(tests),
    }
    return {name: text for name, text in found.items() if text}


def _properties(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]

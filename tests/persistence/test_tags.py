"""Digests name classes of elfair by the tags that model files use, never by where their code is."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from elfair.data import digests
from elfair.persistence.contents import members_of
from elfair.persistence.model_file import to_bytes
from elfair.persistence.policies import FORMATS
from elfair.policies import GaussianPolicy
from elfair.search.classification import FAMILIES


@pytest.fixture
def hashed(monkeypatch):
    """Everything that is hashed, in a list."""
    parts, real = list[bytes](), hashlib.sha256

    class Spy:
        def __init__(self) -> None:
            self._real = real()

        def update(self, part: bytes) -> None:
            parts.append(bytes(part))
            self._real.update(part)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    monkeypatch.setattr(digests.hashlib, "sha256", Spy)
    return parts


def test_no_digest_holds_a_path_of_elfair(kind, made, hashed):
    estimator = made(kind)
    digests.content_digest(estimator)
    written = b"".join(hashed)
    assert b"elfair" not in written
    families = {model.policy.digest_tag for model in estimator.fitted_.models}
    for tag in (estimator.digest_tag, "fitted", *families):
        assert b"record %d:%s" % (len(tag), tag.encode()) in written


def test_a_file_names_families_by_the_same_tags(kind, made):
    estimator = made(kind)
    document = json.loads(members_of(to_bytes(estimator))["model.json"])
    families = {model.policy.digest_tag for model in estimator.fitted_.ladder}
    assert document["kind"] == estimator.digest_tag
    assert {policy["kind"] for policy in document["policies"]} == families


def test_every_family_is_among_the_saved_kinds_and_tags_differ(made, kinds):
    policies = {type(made(kind).fitted_.ladder[0].policy) for kind in kinds}
    assert policies == {form.policy for form in FORMATS.values()}
    assert policies == {*(family.makes for family in FAMILIES), GaussianPolicy}
    assert len(policies) == len(FORMATS)
    assert not set(FORMATS) & {"classifier", "regressor", "fitted"}

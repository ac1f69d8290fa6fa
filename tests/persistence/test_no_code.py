"""Loading runs no code of the file: shown by code that would leave a mark."""

from __future__ import annotations

import io
import json
import os
import runpy
import sys
from functools import partial

import numpy as np
import pytest

import elfair
from elfair import InputError
from elfair.persistence.contents import members_of, pack
from elfair.persistence.model_file import to_bytes
from elfair.persistence.objects import from_skops

SOURCE = """
from pathlib import Path
Path({mark!r}).touch()
class Evil:
    def __setstate__(self, state):
        Path({mark!r}).touch()
"""
SCORER = "policies/0/scorer.skops"


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """A file that exists once code of the module ``evil_of_tests`` has run."""
    path = tmp_path / "mark"
    (tmp_path / "evil_of_tests.py").write_text(SOURCE.format(mark=str(path)))
    monkeypatch.syspath_prepend(tmp_path)
    yield path
    sys.modules.pop("evil_of_tests", None)


def with_scorer(data, schema, rewritten):
    """A file whose scorer is another, and whose lists and digests are right."""
    members = members_of(members_of(data)[SCORER])
    scorer = pack({**members, "schema.json": json.dumps(schema).encode()})
    return rewritten(data, {SCORER: scorer})


NODE = {"protocol": 2, "__module__": "evil_of_tests", "__class__": "Evil"}
STATE = {"__module__": "builtins", "__class__": "dict", "__loader__": "DictNode", "content": {}}
KEYS = {"__module__": "builtins", "__class__": "list", "__loader__": "ListNode", "content": []}
ATTACKS = {
    "object": {**NODE, "__loader__": "ObjectNode", "content": {**STATE, "key_types": KEYS}},
    "type": {**NODE, "__loader__": "TypeNode"},
    "function": {**NODE, "__loader__": "FunctionNode"},
    "constructor": {
        **NODE,
        "__loader__": "ConstructorFromReduceNode",
        "content": {**KEYS, "__class__": "tuple", "__loader__": "TupleNode"},
    },
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_object_of_a_strange_type_is_not_built(attack, made, rewritten, mark, tmp_path):
    path = tmp_path / "model.elfair"
    path.write_bytes(with_scorer(to_bytes(made("pipeline")), ATTACKS[attack], rewritten))
    with pytest.raises(InputError, match=r"not trusted: evil_of_tests\.Evil"):
        elfair.load(path)
    assert "evil_of_tests" not in sys.modules
    assert not mark.exists()
    # It would have run: trusting a type means running what it does.
    with pytest.raises(InputError):
        elfair.load(path, trusted=["evil_of_tests.Evil"])
    assert mark.exists()


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def pickled(mark) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([Touch(mark)], dtype=object), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize("part", ["thetas.npy", "policies/0/center.npy", SCORER])
def test_a_pickle_inside_is_not_opened(part, made, rewritten, mark, tmp_path):
    data, evil = to_bytes(made("pipeline")), pickled(mark)
    if part == SCORER:
        scorer = members_of(members_of(data)[SCORER])
        inner = next(name for name in scorer if name.endswith(".npy"))
        data = rewritten(data, {SCORER: pack({**scorer, inner: evil})})
    else:
        data = rewritten(data, {part: evil})
    path = tmp_path / "model.elfair"
    path.write_bytes(data)
    with pytest.raises(InputError, match="an array in it cannot be read"):
        elfair.load(path)
    assert not mark.exists()
    np.load(io.BytesIO(evil), allow_pickle=True)[0].close()
    assert mark.exists()  # it would have


def test_a_pickle_instead_of_a_model_is_not_opened(mark, tmp_path):
    import pickle

    path = tmp_path / "model.elfair"
    path.write_bytes(pickle.dumps(Touch(mark)))
    with pytest.raises(InputError, match="not a whole zip file"):
        elfair.load(path)
    assert not mark.exists()


@pytest.mark.parametrize("function", [os.system, eval, runpy.run_path])
def test_a_function_with_its_arguments_is_examined_inside(function):
    """Gradient boosting keeps such a function, so its wrapper counts as harmless, and no more."""
    import skops.io

    data = to_plain(skops.io.dumps(partial(function, "1 + 1")))
    with pytest.raises(InputError, match=f"not trusted: .*{function.__name__}"):
        from_skops(data)


def to_plain(data):
    """As elfair writes a zip file."""
    return pack(members_of(data))

"""A file that is not exactly what was saved is refused, with one message, and cheaply."""

from __future__ import annotations

import copy
import json
import random
import re
import tracemalloc
import warnings
from dataclasses import replace
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

import elfair
from elfair import ElfairError, ELFClassifier, ELFRegressor, InputError
from elfair.persistence.contents import members_of, pack
from elfair.persistence.model_file import from_bytes, to_bytes

ESTIMATORS = {"classifier": ELFClassifier, "regressor": ELFRegressor}
KINDS = ["ladder", "second round", "pipeline", "regressor folds", "no solution"]


def refused(data: bytes, what: object = "this file") -> str:
    """The message, which must be an error of elfair with a hint."""
    error = error_of(data)
    assert error is not None, f"{what} was loaded"
    assert error.hint, what
    return str(error)


def loads(data: bytes, what: object) -> bool:
    """Whether it is loaded; if not, the error must be one of elfair with a hint."""
    error = error_of(data)
    assert error is None or error.hint, what
    return error is None


def error_of(data: bytes) -> ElfairError | None:
    try:
        from_bytes(data, ESTIMATORS)
    except ElfairError as error:
        return error
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_every_changed_byte_is_caught(kind, made):
    data = to_bytes(made(kind))
    from_bytes(data, ESTIMATORS)
    rng = random.Random(kind)
    for _ in range(60):
        changed = bytearray(data)
        places = rng.sample(range(len(data)), rng.choice([1, 1, 1, 2, 8]))
        for place in places:
            changed[place] ^= rng.randrange(1, 256)
        refused(bytes(changed), f"other bytes at {places}")


def test_every_byte_of_the_frame_counts(made):
    """Of the headers and of the list at the end, and not only of what is inside."""
    data = to_bytes(made("linear"))
    members = members_of(data)
    inside = set()
    for part in members.values():
        start = data.index(part)
        inside |= set(range(start, start + len(part)))
    frame = sorted(set(range(len(data))) - inside)
    assert len(frame) > 300
    for place in frame:
        changed = bytearray(data)
        changed[place] ^= 0x01
        refused(bytes(changed), f"another byte at {place}")


@pytest.mark.parametrize("kind", ["ladder", "pipeline"])
def test_a_file_cut_short_or_lengthened_is_refused(kind, made):
    data, rng = to_bytes(made(kind)), random.Random(0)
    for length in [0, 1, 4, 22, len(data) - 1, *(rng.randrange(len(data)) for _ in range(30))]:
        refused(data[:length], f"a file of {length} bytes")
    for k, longer in enumerate((data + b"\0", b"\0" + data, data + data, data + b"\n")):
        refused(longer, f"longer file {k}")


def test_the_message_names_the_file(tmp_path):
    path = tmp_path / "model.elfair"
    path.write_bytes(b"loans,are,not,models\n")
    with pytest.raises(InputError, match="cannot be loaded: it is not a whole zip") as caught:
        elfair.load(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).count("Hint:") == 1
    with pytest.raises(InputError, match=r"'[^']*nothing.elfair' could not be read: No such file"):
        elfair.load(tmp_path / "nothing.elfair")
    with pytest.raises(InputError, match="could not be read"):
        elfair.load(tmp_path)
    with pytest.raises(InputError, match="could not be read"):
        elfair.load("model\0.elfair")


def test_another_zip_file_is_refused(made, rewritten):
    assert "not an elfair model" in refused(pack({"word/document.xml": b"<w/>"}))
    assert "not an elfair model" in refused(pack({"model.json": b'{"format": "onnx"}'}))
    assert "not an elfair model" in refused(pack({"model.json": b"[]"}))
    assert "not JSON" in refused(pack({"model.json": b"{"}))
    assert "must be text" in refused(pack({"model.json": b"\xff"}))


def test_a_newer_file_asks_for_a_newer_elfair(made):
    newer = pack({"model.json": b'{"format": "elfair.model/9", "more": 1}', "more": b""})
    message = refused(newer)
    assert "'elfair.model/9'" in message
    assert "the version of elfair that saved it" in message


def test_a_part_that_model_json_does_not_list_is_refused(made):
    members = members_of(to_bytes(made("linear")))
    thetas = bytearray(members["thetas.npy"])
    thetas[-1] ^= 0x40
    assert "thetas.npy" in refused(pack({**members, "thetas.npy": bytes(thetas)}))
    assert "more" in refused(pack({**members, "more": b""}))
    del members["policies/0/scale.npy"]
    assert "policies/0/scale.npy" in refused(pack(members))


def test_a_rewritten_model_has_another_digest(made, rewritten):
    """A file can be made anew; it cannot be made anew with the digest that a certificate names."""
    before = made("linear").fitted_.models[0]
    data = to_bytes(made("linear"))
    thetas = bytearray(members_of(data)["thetas.npy"])
    thetas[-1] ^= 0x40
    other = rewritten(data, {"thetas.npy": bytes(thetas)})
    assert "digests of its models differ" in refused(other)
    theta = np.frombuffer(bytes(thetas[-8 * before.theta.size :]))
    digest = replace(before, theta=theta).digest()
    assert digest != before.digest()
    assert "certificate is about another model" in refused(rewritten(other, digests=[digest]))


VALUES = [None, True, -1, 0, 2, 10**30, 1e308, -0.5, "x", "inf", "nan", [], {}, [[]], [0, "1"]]
VALUES += [{"tuple": 1}, {"dict": [[[], 1]]}, {"array": "O", "shape": [3, 10**20], "values": []}]
VALUES += [{"array": "<U99999999999", "shape": [1], "values": ["a"]}, {"recipe": ["parity"]}]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [([], "0 numbers, where 1 is"), ([0.0], "0 of the decisions"), ([1.0], r"in \(0, 1\)")],
)
def test_a_share_of_blind_decisions_that_is_none_is_refused(numbers, words, made, rewritten):
    data = to_bytes(made("linear"))
    [policy] = json.loads(members_of(data)["model.json"])["policies"]
    assert policy["numbers"] == [2e-4]
    message = refused(rewritten(data, policies=[{**policy, "numbers": numbers}]))
    assert re.search(words, message)


def places(document, path=()):
    """Where something could be changed."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@pytest.mark.parametrize("kind", ["second round", "pipeline", "regressor folds", "three classes"])
def test_a_document_that_makes_no_sense_never_crashes(kind, made, rewritten):
    """Whatever a file says that has the right digests of its parts."""
    data, rng = to_bytes(made(kind)), random.Random(kind)
    original = json.loads(members_of(data)["model.json"])
    caught = 0
    for _ in range(150):
        document = copy.deepcopy(original)
        *way, last = rng.choice([p for p in places(document) if p[0] != "members"])
        holder = document
        for key in way:
            holder = holder[key]
        holder[last] = rng.choice(VALUES)
        caught += not loads(rewritten(data, **document), (way, last, holder[last]))
    assert caught > 50  # a parameter may be anything: it is looked at when it is used


@pytest.mark.parametrize("part", ["thetas.npy", "certificate.json", "policies/0/scorer.skops"])
def test_a_part_that_makes_no_sense_never_crashes(part, made, rewritten):
    data, rng = to_bytes(made("pipeline")), random.Random(part)
    whole = members_of(data)[part]
    refused(rewritten(data, {part: b""}))
    caught = 0
    for _ in range(40):
        changed = bytearray(whole)
        place = rng.randrange(len(whole))
        changed[place] ^= rng.randrange(1, 256)
        with warnings.catch_warnings():
            # Another version of scikit-learn may be named, of which scikit-learn warns.
            warnings.simplefilter("ignore")
            caught += not loads(rewritten(data, {part: bytes(changed)}), f"another byte at {place}")
    assert caught


def peak(act) -> float:
    """How many megabytes were held at most."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def test_a_zip_bomb_is_not_unpacked():
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b" " * 2**26)
    assert peak(lambda: refused(file.getvalue())) < 5


def test_parts_that_overlap_are_not_read():
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("model.json", b" " * 2**20)
        archive.filelist += archive.filelist * 100  # each says that it is this one
    assert "larger than the file" in refused(file.getvalue())


def giant(shape: str) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    text = header.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


@pytest.mark.parametrize("shape", ["(100000000,)", "(10, 10000000000000)", "(-1,)", "(0, 9)", "8"])
def test_an_array_that_claims_to_be_giant_is_not_made(shape, made, rewritten):
    data = to_bytes(made("pipeline"))
    claims = rewritten(data, {"thetas.npy": giant(shape)})
    assert peak(lambda: refused(claims)) < 5
    scorer = members_of(members_of(data)["policies/0/scorer.skops"])
    inner = next(name for name in scorer if name.endswith(".npy"))
    hidden = pack({**scorer, inner: giant(shape)})
    assert "an array in it" in refused(rewritten(data, {"policies/0/scorer.skops": hidden}))


def test_models_in_models_end_somewhere(made, rewritten):
    data = to_bytes(made("second round"))
    for _ in range(60):
        data = rewritten(to_bytes(made("second round")), {"behavior.elfair": data})
    assert "nested deeper" in refused(data)

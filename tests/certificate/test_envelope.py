"""Signatures: who answers for a certificate, and what is refused."""

from __future__ import annotations

import base64
import json
import stat

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils

from elfair import LoggedData, certify, verify
from elfair.certificate import Certificate
from elfair.certificate.envelope import (
    PAYLOAD_TYPE,
    UNSIGNED,
    Envelope,
    key_id,
    make_keys,
    pae,
    private_key,
    public_key,
)
from elfair.cli import main
from elfair.errors import InputError, MissingPackageError


def by_hand(kind: bytes, body: bytes) -> bytes:
    """The encoding as the protocol spells it, piece by piece, with no format string."""
    space = bytes([0x20])
    said = bytes([0x44, 0x53, 0x53, 0x45, 0x76, 0x31])
    for part in (kind, body):
        said += space + "".join(str(len(part))).encode("ascii") + space + part
    return said


@pytest.mark.parametrize("body", [b"", b"hello world", b"\x00\xff 5 x", "é".encode() * 7])
@pytest.mark.parametrize("kind", ["", PAYLOAD_TYPE, "http://example.com/HelloWorld", "é 3 "])
def test_the_encoding_is_that_of_the_protocol(kind, body):
    assert pae(kind, body) == by_hand(kind.encode(), body)


def test_the_vector_of_the_protocol():
    """Its text, and its signature: by ECDSA, with the public key that it prints."""
    said = pae("http://example.com/HelloWorld", b"hello world")
    assert said == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    key = ec.EllipticCurvePublicNumbers(
        x=46950820868899156662930047687818585632848591499744589407958293238635476079160,
        y=5640078356564379163099075877009565129882514886557779369047442380624545832820,
        curve=ec.SECP256R1(),
    ).public_key()
    raw = base64.b64decode(
        "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="
    )
    r, s = (int.from_bytes(half) for half in (raw[:32], raw[32:]))
    key.verify(utils.encode_dss_signature(r, s), said, ec.ECDSA(hashes.SHA256()))


def test_no_two_pairs_are_signed_alike():
    assert pae("a", b"b c") != pae("a b", b"c")
    assert pae("a 1 b", b"") != pae("a", b"b")


@pytest.fixture(scope="module")
def certificate():
    data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    return certify([0.2, 0.7] * 200, data, "accuracy >= 0.6")


@pytest.fixture
def signed(certificate, tmp_path):
    """A certificate that the board signed, and somebody else's keys."""
    for name in ("board", "auditor", "stranger"):
        make_keys(tmp_path / f"{name}.pem")
    certificate.save(tmp_path / "certificate.json")
    run("sign", tmp_path / "certificate.json", "--key", tmp_path / "board.pem")
    return tmp_path


def run(*arguments, code=0, **how):
    result = CliRunner().invoke(main, list(map(str, arguments)), **how)
    assert result.exit_code == code, result.output
    return result.output


def signature(of, *keys):
    (found,) = (each for each in verify(of, keys=keys).checks if each.name == "signature")
    return found.status, found.detail


def test_a_signed_certificate_verifies_with_the_right_key(signed):
    told = run("verify", signed / "certificate.dsse.json", "--key", signed / "board.pub.pem")
    assert "passed   signature: by" in told
    assert str(signed / "board.pub.pem") in told
    status, _ = signature(signed / "certificate.dsse.json", signed / "board.pub.pem")
    assert status == "passed"
    assert Certificate.load(signed / "certificate.dsse.json").passed
    assert "Model passed" in run("explain", signed / "certificate.dsse.json")


def test_the_envelope_is_what_other_tools_read(signed):
    envelope = json.loads((signed / "certificate.dsse.json").read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    payload = base64.b64decode(envelope["payload"])
    assert payload == (signed / "certificate.json").read_bytes()
    assert json.loads(payload)["_type"] == "https://in-toto.io/Statement/v1"
    (one,) = envelope["signatures"]
    key = serialization.load_pem_public_key((signed / "board.pub.pem").read_bytes())
    key.verify(base64.b64decode(one["sig"]), by_hand(envelope["payloadType"].encode(), payload))
    assert one["keyid"] == key_id(key)


def test_the_wrong_key_fails(signed):
    told = run(
        "verify", signed / "certificate.dsse.json", "--key", signed / "stranger.pub.pem", code=1
    )
    assert "failed   signature: none of its 1 signature was made by" in told
    assert "NOT VERIFIED" in told


def test_without_a_signature_anybody_could_have_written_it(signed, certificate):
    assert UNSIGNED in run("verify", signed / "certificate.json")
    assert signature(certificate) == ("skipped", UNSIGNED)
    told = run("verify", signed / "certificate.json", "--key", signed / "board.pub.pem", code=1)
    assert f"failed   signature: {UNSIGNED}" in told
    assert "anybody could have" in run("explain", signed / "certificate.json", "--format", "html")
    unchecked = run("verify", signed / "certificate.dsse.json")
    assert "no key was given: anybody could have written and signed it" in unchecked
    empty = {**json.loads((signed / "certificate.dsse.json").read_text()), "signatures": []}
    assert signature(json.dumps(empty)) == ("skipped", UNSIGNED)
    assert signature(json.dumps(empty), signed / "board.pub.pem") == ("failed", UNSIGNED)


def test_several_people_sign(signed):
    both = signed / "certificate.dsse.json"
    run("sign", both, "--key", signed / "auditor.pem")
    keys = [signed / f"{name}.pub.pem" for name in ("board", "auditor", "stranger")]
    assert signature(both, *keys[:2])[0] == "passed"
    assert signature(both, keys[1])[0] == "passed"
    status, detail = signature(both, *keys)
    assert status == "failed"
    assert "stranger" in detail
    assert "board" not in detail
    assert "has signed this certificate already" in run(
        "sign", both, "--key", signed / "board.pem", code=2
    )
    at_once = signed / "at-once.json"
    arguments = (
        "--key",
        signed / "board.pem",
        "--key",
        signed / "auditor.pem",
        "--output",
        at_once,
    )
    run("sign", signed / "certificate.json", *arguments)
    assert at_once.read_text() == both.read_text()


def test_a_tampered_payload_fails(signed, certificate):
    """Even if its own digest was computed again, as whoever rewrites a file can."""
    key = signed / "board.pub.pem"
    envelope = json.loads((signed / "certificate.dsse.json").read_text())
    other = certificate.stating(chosen_by="somebody else").to_json() + "\n"
    forged = {**envelope, "payload": base64.b64encode(other.encode()).decode()}
    assert verify(json.dumps(forged)).passed  # nothing else can tell
    assert signature(json.dumps(forged), key)[0] == "failed"
    cut = {**envelope, "payload": base64.b64encode(other.encode()[:-1]).decode()}
    assert signature(json.dumps(cut), key)[0] == "failed"
    for place in range(0, 64, 7):
        raw = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
        raw[place] ^= 1
        bent = {**envelope, "signatures": [{"sig": base64.b64encode(raw).decode()}]}
        assert signature(json.dumps(bent), key)[0] == "failed"


@pytest.mark.parametrize(
    "change",
    [
        {"payloadType": "application/json"},
        {"payloadType": None},
        {"payloadType": "application/vnd.in-toto+JSON"},
        {"payload": "not base64!"},
        {"payload": 1},
        {"payload": "é"},
        {"payload": base64.b64encode(b"\xff").decode()},
        {"signatures": None},
        {"signatures": [1]},
        {"signatures": [{"sig": None}]},
        {"signatures": [{"sig": "AA==", "keyid": 1}]},
        {"signatures": [{"sig": "AA=="}] * 101},
    ],
)
def test_what_is_no_envelope_is_refused(change, signed):
    envelope = json.loads((signed / "certificate.dsse.json").read_text()) | change
    (check, *others) = verify(json.dumps(envelope), keys=[signed / "board.pub.pem"]).checks
    assert check.name == "record"
    assert check.status == "failed"
    assert not others
    (signed / "bent.json").write_text(json.dumps(envelope))
    with pytest.raises(InputError, match="no envelope around a certificate"):
        Certificate.load(signed / "bent.json")


def test_a_signature_of_another_type_does_not_count(signed):
    """Signed by the right key, but as something else."""
    payload = (signed / "certificate.json").read_bytes()
    key = private_key(signed / "board.pem")
    for said in (pae("application/json", payload), payload, pae(PAYLOAD_TYPE, payload + b" ")):
        bent = Envelope(payload, (("", key.sign(said)),))
        assert signature(bent.to_json(), signed / "board.pub.pem")[0] == "failed"


def test_the_name_of_a_key_is_only_a_hint(signed):
    envelope = json.loads((signed / "certificate.dsse.json").read_text())
    envelope["signatures"][0]["keyid"] = "somebody"
    assert signature(json.dumps(envelope), signed / "board.pub.pem")[0] == "passed"
    bent = envelope["signatures"][0] | {"keyid": key_id(public_key(signed / "stranger.pub.pem"))}
    envelope["signatures"] = [bent]
    assert signature(json.dumps(envelope), signed / "stranger.pub.pem")[0] == "failed"


def test_either_alphabet_of_base64_is_read(signed):
    envelope = json.loads((signed / "certificate.dsse.json").read_text())
    for part in (envelope, envelope["signatures"][0]):
        for name in ("payload", "sig"):
            if name in part:
                part[name] = part[name].replace("+", "-").replace("/", "_")
    assert signature(json.dumps(envelope), signed / "board.pub.pem")[0] == "passed"


def test_keys_are_kept_from_others_and_never_replaced(tmp_path):
    told = run("keygen", "--output", tmp_path / "key.pem")
    assert "keep it secret" in told
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    before = (tmp_path / "key.pem").read_bytes()
    assert "may be somebody's key" in run("keygen", "--output", tmp_path / "key.pem", code=2)
    assert (tmp_path / "key.pem").read_bytes() == before
    assert b"PRIVATE" not in (tmp_path / "key.pub.pem").read_bytes()


def test_an_encrypted_key_asks_for_its_passphrase(tmp_path, certificate):
    certificate.save(tmp_path / "c.json")
    run("keygen", "--output", tmp_path / "k.pem", "--encrypt", input="geheim\ngeheim\n")
    assert b"ENCRYPTED" in (tmp_path / "k.pem").read_bytes()
    told = run("sign", tmp_path / "c.json", "--key", tmp_path / "k.pem", input="geheim\n")
    assert "geheim" not in told
    told = run("sign", tmp_path / "c.json", "--key", tmp_path / "k.pem", input="wrong\n", code=2)
    assert "passphrase that belongs to it" in told
    assert signature(tmp_path / "c.dsse.json", tmp_path / "k.pub.pem")[0] == "passed"


def test_keys_of_other_kinds_are_refused(tmp_path, signed):
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    other = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "ec.pem").write_bytes(other.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    info = serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "ec.pub.pem").write_bytes(other.public_key().public_bytes(pem, info))
    (tmp_path / "text.pem").write_text("a key")
    for name in ("ec.pem", "text.pem", "board.pub.pem", "nowhere.pem"):
        with pytest.raises(InputError):
            private_key(tmp_path / name)
    for name in ("ec.pub.pem", "text.pem", "nowhere.pem"):
        with pytest.raises(InputError):
            public_key(tmp_path / name)
    with pytest.raises(InputError, match="private key, which only its owner may have"):
        public_key(tmp_path / "board.pem")
    told = run("verify", signed / "certificate.dsse.json", "--key", tmp_path / "text.pem", code=2)
    assert told.count("Hint:") == 1


def test_nobody_signs_what_is_no_certificate(signed, certificate):
    text = certificate.to_json().replace("0.6", "0.5")
    (signed / "changed.json").write_text(text)
    told = run("sign", signed / "changed.json", "--key", signed / "board.pem", code=2)
    assert "was changed after it was written" in told
    assert "no key was given" in run("sign", signed / "certificate.json", code=2)


def test_without_the_package_its_extra_is_named(signed, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(MissingPackageError, match="need the package cryptography") as caught:
        private_key(signed / "board.pem")
    assert "'sign'" in caught.value.hint


def test_a_known_answer():
    """Test 3 of RFC 8032, section 7.1, through the same key as a signature."""
    secret = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7"
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
    expected = (
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    )
    assert key.sign(bytes.fromhex("af82")).hex() == expected
    envelope = Envelope(b"af82").signed(key)
    ((_, made),) = envelope.signatures
    assert made == key.sign(by_hand(PAYLOAD_TYPE.encode(), b"af82"))

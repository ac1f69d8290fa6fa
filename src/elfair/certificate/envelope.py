"""A certificate in a signed envelope (DSSE): who answers for it.

The digests of a certificate can be computed again by whoever rewrites it; a signature cannot. An
envelope holds the certificate byte for byte, and signatures by Ed25519 over it and its type. It is
the format of https://github.com/secure-systems-lab/dsse, so other tools for in-toto statements read
it, too. Which keys to trust is for the reader to say: what an envelope says of its keys is a hint.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elfair.errors import InputError, MissingPackageError, install_extra
from elfair.records.files import read_whole, write_new, writing
from elfair.records.json import parse

PAYLOAD_TYPE = "application/vnd.in-toto+json"
#: More than anybody needs, and few enough to check.
MOST_SIGNATURES = 100
UNSIGNED = "it holds no signature: anybody could have written it"


def pae(payload_type: str, body: bytes) -> bytes:
    """What is signed: type and body, each behind its length, so that no two pairs are alike.

    Parameters
    ----------
    payload_type : str
        How to read the body.
    body : bytes
        The body.

    Examples
    --------
    >>> pae("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)


@dataclass(frozen=True)
class Envelope:
    """A certificate and its signatures.

    Parameters
    ----------
    payload : bytes
        The file of the certificate.
    signatures : tuple of (str, bytes)
        The name of each key, which nobody vouches for, and the signature.

    Examples
    --------
    >>> Envelope.read("{}") is None
    True
    """

    payload: bytes
    signatures: tuple[tuple[str, bytes], ...] = ()

    @classmethod
    def read(cls, text: str) -> Envelope | None:
        """The envelope that a text is; None if it is something else, such as a certificate.

        Parameters
        ----------
        text : str
            JSON; what is no envelope is refused if it begins like one.
        """
        if '"payloadType"' not in text:
            return None
        found = parse(text)
        if not isinstance(found, dict) or "payloadType" not in found:
            return None
        if found["payloadType"] != PAYLOAD_TYPE:
            raise _wrong(f"its payloadType must be {PAYLOAD_TYPE!r}. Got {found['payloadType']!r}.")
        signatures = found.get("signatures")
        if not isinstance(signatures, list) or len(signatures) > MOST_SIGNATURES:
            raise _wrong(f"its signatures must be a list of at most {MOST_SIGNATURES}.")
        return cls(_decoded(found.get("payload")), tuple(map(_signature, signatures)))

    @property
    def text(self) -> str:
        """The certificate."""
        try:
            return self.payload.decode()
        except UnicodeDecodeError:
            raise _wrong("its payload is not text in UTF-8.") from None

    def signed(self, key: Any) -> Envelope:
        """With one more signature; a key signs once.

        Parameters
        ----------
        key : private key
            From `private_key`.
        """
        public = key.public_key()
        if self.holds_for(public):
            raise InputError(
                f"the key {key_id(public)} has signed this certificate already.",
                hint="sign with the key of somebody else.",
            )
        made = key_id(public), key.sign(pae(PAYLOAD_TYPE, self.payload))
        return Envelope(self.payload, (*self.signatures, made))

    def holds_for(self, key: Any) -> bool:
        """Whether one of the signatures was made with this key, whatever name it has.

        Parameters
        ----------
        key : public key
            From `public_key`.
        """
        from cryptography.exceptions import InvalidSignature

        said = pae(PAYLOAD_TYPE, self.payload)
        for _, signature in self.signatures:
            try:
                key.verify(signature, said)
            except InvalidSignature:
                continue
            return True
        return False

    def to_json(self) -> str:
        """The text of the envelope."""
        document = {
            "payloadType": PAYLOAD_TYPE,
            "payload": base64.b64encode(self.payload).decode(),
            "signatures": [
                {"keyid": name, "sig": base64.b64encode(signature).decode()}
                for name, signature in self.signatures
            ],
        }
        return json.dumps(document, indent=2)


def certificate_text(text: str) -> str:
    """The text of a certificate, taken out of its envelope if it has one.

    Parameters
    ----------
    text : str
        An envelope, or a certificate.

    Examples
    --------
    >>> certificate_text(Envelope(b"{}").to_json()), certificate_text("{}")
    ('{}', '{}')
    """
    envelope = Envelope.read(text)
    return text if envelope is None else envelope.text


def _signature(found: Any) -> tuple[str, bytes]:
    name = found.get("keyid", "") if isinstance(found, dict) else None
    if not isinstance(name, str | None) or not isinstance(found, dict):
        raise _wrong("each of its signatures must be an object with 'sig', and text as 'keyid'.")
    return name or "", _decoded(found.get("sig"))


def _decoded(text: Any) -> bytes:
    """Base64 in either alphabet, as readers of envelopes must accept it."""
    if not isinstance(text, str):
        raise _wrong(f"payload and sig must be text in base64. Got {type(text).__name__}.")
    try:
        plain = text.encode("ascii").translate(bytes.maketrans(b"-_", b"+/"))
        return base64.b64decode(plain, validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise _wrong(f"payload and sig must be base64: {error}.") from None


def _wrong(message: str) -> InputError:
    return InputError(
        f"this is no envelope around a certificate: {message}",
        hint="elfair sign writes one; get a new copy of the file.",
    )


# -- keys ------------------------------------------------------------------------------------------


def private_key(path: str | os.PathLike[str], *, passphrase: str | None = None) -> Any:
    """The private key in a PEM file.

    Parameters
    ----------
    path : str or path-like
        The file.
    passphrase : str, optional
        What the file is encrypted with.
    """
    serialization, ed25519 = _cryptography()
    content = _pem(path)
    secret = None if passphrase is None else passphrase.encode()
    try:
        key = serialization.load_pem_private_key(content, secret)
    except TypeError:  # encrypted and no passphrase, or the other way round
        raise PassphraseError(
            f"'{path}' is encrypted, and needs its passphrase."
            if secret is None
            else f"'{path}' is not encrypted, and takes no passphrase.",
            hint="elfair sign asks for the passphrase of an encrypted key.",
        ) from None
    except Exception:  # cryptography raises many kinds of errors
        raise _no_key(path, "a private key in PEM, and the passphrase that belongs to it") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _no_key(path, "a private key for Ed25519")
    return key


def public_key(path: str | os.PathLike[str]) -> Any:
    """The public key in a PEM file.

    Parameters
    ----------
    path : str or path-like
        The file.
    """
    serialization, ed25519 = _cryptography()
    content = _pem(path)
    if b"PRIVATE KEY" in content:
        raise InputError(
            f"'{path}' is a private key, which only its owner may have.",
            hint="give the public key, which ends with .pub.pem if elfair keygen wrote it.",
        )
    try:
        key = serialization.load_pem_public_key(content)
    except Exception:  # cryptography raises many kinds of errors
        raise _no_key(path, "a public key in PEM") from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise _no_key(path, "a public key for Ed25519")
    return key


class PassphraseError(InputError):
    """A key that is encrypted came without its passphrase."""


def make_keys(
    path: str | os.PathLike[str], *, passphrase: str | None = None
) -> tuple[Path, Path, str]:
    """Write a new pair of keys, and return both files and the name of the key.

    Parameters
    ----------
    path : str or path-like
        The file of the private key, such as ``board.pem``, which only its owner can read. That of
        the public key is ``board.pub.pem``. Neither may exist.
    passphrase : str, optional
        Encrypts the private key.
    """
    serialization, ed25519 = _cryptography()
    private = Path(path)
    public = private.with_suffix(".pub" + (private.suffix or ".pem"))
    for each in (private, public):
        if each.exists():
            raise InputError(
                f"'{each}' exists already, and may be somebody's key.", hint="choose another name."
            )
    key = ed25519.Ed25519PrivateKey.generate()
    how = serialization.NoEncryption()
    if passphrase is not None:
        how = serialization.BestAvailableEncryption(passphrase.encode())
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    info = serialization.PublicFormat.SubjectPublicKeyInfo
    with writing(f"'{public}'"):
        write_new(public, key.public_key().public_bytes(pem, info))
    try:  # last, so that nobody ever has a private key without its public one
        with writing(f"'{private}'"):
            write_new(private, key.private_bytes(pem, pkcs8, how), mode=0o600)
    except BaseException:
        with contextlib.suppress(OSError):
            public.unlink()
        raise
    return private, public, key_id(key.public_key())


def key_id(public: Any) -> str:
    """What a public key is called: the beginning of the digest of its bytes.

    Parameters
    ----------
    public : public key
        From `public_key`.
    """
    serialization, _ = _cryptography()
    der, info = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return f"sha256:{hashlib.sha256(public.public_bytes(der, info)).hexdigest()}"


def signed_by(envelope: Envelope, keys: Sequence[str | os.PathLike[str]]) -> tuple[list[str], ...]:
    """The keys that signed an envelope, and those that did not, by the names of their files.

    Parameters
    ----------
    envelope : Envelope
        The envelope.
    keys : sequence of str or path-like
        Files of public keys.
    """
    found: tuple[list[str], list[str]] = ([], [])
    for path in keys:
        key = public_key(path)
        found[not envelope.holds_for(key)].append(f"'{path}' ({key_id(key)[:19]})")
    return found


def _pem(path: str | os.PathLike[str]) -> bytes:
    return read_whole(path, hint="elfair keygen writes a pair of keys.", most=100_000)


def _no_key(path: str | os.PathLike[str], wanted: str) -> InputError:
    return InputError(
        f"'{path}' must be {wanted}. It is not.", hint="elfair keygen writes a pair of keys."
    )


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingPackageError(
            "signatures need the package cryptography, which cannot be imported.",
            hint=install_extra("sign"),
        ) from None
    return serialization, ed25519

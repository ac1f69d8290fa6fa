"""``elfair sign`` and ``keygen``: who answers for a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from elfair.cli.output import json_option, tell
from elfair.cli.results import path_option


@click.command(short_help="Sign a certificate.")
@click.argument("certificate", type=click.Path(path_type=Path))
@path_option("--key", "The private key, a PEM file. May be given several times.", multiple=True)
@path_option("--output", "The signed file.  [default: NAME.dsse.json beside the certificate]")
@json_option
def sign(certificate: Path, key: tuple[Path, ...], output: Path | None, as_json: bool) -> None:
    """Put a certificate into an envelope (DSSE) with your signature.

    The signer answers for what the certificate says. A file that is signed already gets one more
    signature. `elfair verify FILE --key PUBLIC` checks them. A certificate that contradicts itself
    is refused.
    """
    from elfair.certificate import Certificate
    from elfair.certificate.envelope import Envelope
    from elfair.consistency import require_consistent
    from elfair.errors import InputError
    from elfair.records.files import read_whole, write_whole

    if not key:
        raise InputError("no key was given.", hint="--key key.pem; `elfair keygen` writes a pair.")
    content = read_whole(certificate, hint="name the file of a certificate.")
    # Nobody signs what is no certificate, nor other bytes than those that were checked.
    require_consistent(Certificate.of_file(content, certificate))
    before = Envelope.read(content.decode())
    envelope = Envelope(content) if before is None else before
    for each in key:
        envelope = envelope.signed(_private(each))
    if output is None:
        plain = certificate.with_suffix(".dsse.json")
        output = certificate if before is not None else plain
    write_whole(output, envelope.to_json() + "\n")
    names = [name for name, _ in envelope.signatures]
    shown = ", ".join(name[:19] for name in names)
    facts = {"written": str(output), "keys": names}
    tell(f"Written: {output}, signed by {shown}.", facts, as_json=as_json)


def _private(path: Path) -> Any:
    from elfair.certificate.envelope import PassphraseError, private_key

    try:
        return private_key(path)
    except PassphraseError:
        said = click.prompt(f"Passphrase of {path}", hide_input=True, err=True)
        return private_key(path, passphrase=said)


@click.command(short_help="Make a pair of keys to sign with.")
@path_option(
    *("--output", "The private key; the public one gets the ending .pub.pem."),
    default=Path("key.pem"),
    show_default=True,
)
@click.option("--encrypt", is_flag=True, help="Ask for a passphrase, and encrypt the private key.")
@json_option
def keygen(output: Path, encrypt: bool, as_json: bool) -> None:
    """Make a pair of keys (Ed25519): one to sign with, one to give away."""
    from elfair.certificate.envelope import make_keys

    passphrase = None
    if encrypt:
        passphrase = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True)
    private, public, name = make_keys(output, passphrase=passphrase)
    tell(
        f"Written: {private} (keep it secret) and {public} (give it to everybody who verifies). "
        f"The key is {name}.",
        {"private": str(private), "public": str(public), "key": name},
        as_json=as_json,
    )

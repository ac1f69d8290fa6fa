"""Random changes, 50 each to the table, the certificate, the model and the split.

Each is seen, and none makes `verify` raise. Seeds are fixed; ELFAIR_MUTATIONS=n tries n of each.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from dataclasses import replace

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, load, verify
from elfair.certificate import Provenance
from elfair.errors import ElfairError
from elfair.populations import FosterCare

SEEDS = range(int(os.environ.get("ELFAIR_MUTATIONS", "50")))


def read(text):
    """The rows of a table, as a study reads them."""
    rows = list(csv.reader(io.StringIO(text)))[1:]
    columns = list(zip(*rows, strict=True))
    n_features = len(columns) - 6
    numbers = [np.array(column, dtype=float) for column in columns[:n_features]]
    label, group, decision, propensity, impact, person = columns[n_features:]
    return LoggedData(
        np.column_stack(numbers),
        np.array(label),
        sensitive_features={"T": np.array(group)},
        decision=np.array(decision),
        propensity=np.array(propensity, dtype=float),
        impact=np.array(impact, dtype=float),
        row_id=np.array(person),
        classes=["0", "1"],
    )


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A table, its certificate and its model, each as the bytes of a file."""
    draw = FosterCare(alpha=0.9).sample(400, seed=3)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    width = draw.features.shape[1]
    writer.writerow([*(f"x{k}" for k in range(width)), "y", "T", "d", "p", "impact", "person"])
    for k in range(400):
        logged = (draw.label[k], draw.group[k], draw.decision[k], draw.propensity[k])
        writer.writerow([*draw.features[k], *logged, draw.impact[k], f"p{k}"])
    text = table.getvalue()
    data = read(text)
    texts = [f"E[impact | T == '{g}'] >= E_logged[impact | T == '{g}'] - 1" for g in (0, 1)]
    clf = ELFClassifier(texts, candidates=3)
    clf.fit(
        data.features,
        data.label,
        sensitive_features=data.sensitive,
        decision=data.decision,
        propensity=data.propensity,
        impact=data.impacts,
        row_id=data.row_id,
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    where = Provenance(source="table.csv", source_digest=digest, rows_read=400)
    folder = tmp_path_factory.mktemp("original")
    clf.save(folder / "model.elfair")
    model = (folder / "model.elfair").read_bytes()
    return text, clf.certificate_.stating(provenance=where), model, clf


def failed(verification):
    return {check.name for check in verification.checks if check.status == "failed"}


def test_nothing_is_wrong_before_anything_is_changed(original, tmp_path):
    text, certificate, model, _ = original
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    (tmp_path / "model.elfair").write_bytes(model)
    verification = verify(
        certificate.to_json(),
        data=read(text),
        model=load(tmp_path / "model.elfair"),
        source=tmp_path / "table.csv",
    )
    assert verification.passed, verification.text()
    skipped = {check.name for check in verification.checks if check.status == "skipped"}
    assert skipped == {"signature", "search", "openings"}


def other_cell(cell, column, rng):
    """Another value that the cell could hold."""
    if column in ("y", "d", "T"):
        return "1" if cell == "0" else "0"
    if column == "person":
        return f"{cell}{rng.integers(10)}"
    if column == "p":
        return repr(float(np.nextafter(float(cell), rng.integers(2))))
    return repr(float(cell) + float(rng.normal()) * 10.0 ** float(rng.integers(-12, 2)))


def test_a_changed_cell_of_the_table_is_seen(original, tmp_path):
    text, certificate, _, clf = original
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        header, *rows = list(csv.reader(io.StringIO(text)))
        row, column = int(rng.integers(len(rows))), int(rng.integers(len(header)))
        before = rows[row][column]
        rows[row][column] = other_cell(before, header[column], rng)
        if rows[row][column] == before:  # smaller than the last digit
            rows[row][column] = repr(float(np.nextafter(float(before), np.inf)))
        what = f"seed {seed}: {header[column]} of row {row} from {before} to {rows[row][column]}"
        changed = "\n".join(",".join(line) for line in [header, *rows]) + "\n"
        assert len(changed.splitlines()) == len(text.splitlines()), what
        assert changed != text, what
        (tmp_path / "table.csv").write_text(changed, encoding="utf-8")
        by_bytes = verify(certificate, source=tmp_path / "table.csv")
        assert failed(by_bytes) == {"source file"}, what
        by_contents = verify(certificate, data=read(changed), model=clf)
        assert "data" in failed(by_contents), what


def mutated(data, rng):
    """Bytes with one replaced, inserted, removed or exchanged with another, or cut short."""
    place, byte = int(rng.integers(len(data))), bytes([int(rng.integers(256))])
    kind = int(rng.integers(5))
    if kind == 0:
        return data[:place] + byte + data[place + 1 :]
    if kind == 1:
        return data[:place] + byte + data[place:]
    if kind == 2:
        return data[:place] + data[place + 1 :]
    if kind == 3:
        return data[:place]
    other = int(rng.integers(len(data)))
    changed = bytearray(data)
    changed[place], changed[other] = changed[other], changed[place]
    return bytes(changed)


def really_mutated(data, seed):
    rng = np.random.default_rng(seed)
    while (changed := mutated(data, rng)).removesuffix(b"\n") == data:
        pass
    return changed


def test_a_changed_byte_of_the_certificate_is_seen(original):
    text, certificate, _, clf = original
    whole, data = certificate.to_json().encode(), read(text)
    for seed in SEEDS:
        checks = verify(really_mutated(whole, 1_000 + seed), data=data, model=clf).checks
        found = [(check.name, check.status) for check in checks]
        assert found == [("record", "failed")], f"seed {seed}"


def test_a_changed_byte_of_the_model_is_seen(original, tmp_path):
    _, _, model, _ = original
    for seed in SEEDS:
        (tmp_path / "model.elfair").write_bytes(really_mutated(model, 2_000 + seed))
        assert "cannot be loaded" in refusal(tmp_path / "model.elfair"), f"seed {seed}"


def refusal(path):
    """Why a model is not loaded; empty if it is."""
    try:
        load(path)
    except ElfairError as error:
        return str(error)
    return ""


def test_a_changed_number_of_the_model_is_seen(original):
    """By the last digit, too."""
    text, certificate, _, clf = original
    data = read(text)
    for seed in SEEDS:
        rng = np.random.default_rng(2_000 + seed)
        ladder = list(clf.fitted_.ladder)
        place = int(rng.integers(len(ladder)))
        theta = ladder[place].theta.copy()
        k = int(rng.integers(theta.size))
        theta[k] = np.nextafter(theta[k], np.inf) if seed % 2 else theta[k] + rng.normal()
        ladder[place] = replace(ladder[place], theta=theta)
        other = ELFClassifier(**clf.get_params(deep=False))
        other.fitted_ = replace(clf.fitted_, ladder=tuple(ladder))
        found = failed(verify(certificate, data=data, model=other))
        what = f"seed {seed}: number {k} of model {place + 1}"
        assert "ladder" in found, what
        assert ("model" in found) == (place == certificate.search.place - 1), what


def test_a_changed_split_is_seen(original):
    text, certificate, _, clf = original
    for seed in SEEDS:
        forged, data = with_another_split(certificate, read(text), seed)
        found = failed(verify(forged, data=data, model=clf))
        assert found & {"split", "held-out rows", "candidate rows"}, f"seed {seed}"
        assert ("data" in found) == (seed % 4 >= 2), f"seed {seed}"


def with_another_split(certificate, data, seed):
    """Another seed or share in the record, with a right digest; two people exchanged, or a row left
    out, in the table.
    """
    rng = np.random.default_rng(3_000 + seed)
    if seed % 4 == 0:
        certificate = replace(certificate, seed=int(rng.integers(1, 2**40)))
    elif seed % 4 == 1:
        share = float(rng.uniform(0.1, 0.9))
        terms = replace(certificate.terms, candidate_share=share)
        aside = round(share * certificate.n)
        certificate = replace(
            certificate, terms=terms, n_candidate=aside, n_held_out=certificate.n - aside
        )
    elif seed % 4 == 2:
        one, other = rng.choice(data.n, 2, replace=False)
        person = data.row_id.copy()
        person[[one, other]] = person[[other, one]]
        data = data.changed(row_id=person)
    else:
        data = data.take(np.delete(np.arange(data.n), int(rng.integers(data.n))))
        data.position = np.arange(data.n)
    return certificate, data

"""Which rows of a table are those of a later stage."""

from __future__ import annotations

import base64
import zlib

import numpy as np

from elfair.certificate.parts import StageRecord
from elfair.types import Booleans


def fresh_text(fresh: Booleans) -> str:
    """A bit for each row, for a `StageRecord`.

    Examples
    --------
    >>> stage = StageRecord(2, "", fresh_text(np.array([False, True, True, False, True])))
    >>> fresh_rows(stage, 5).tolist()
    [False, True, True, False, True]
    """
    return base64.b64encode(zlib.compress(np.packbits(fresh).tobytes(), 9)).decode()


def fresh_rows(stage: StageRecord, n: int) -> Booleans:
    """Which of n rows are fresh, by a `StageRecord`; no more is unpacked than n rows need."""
    needed = (n + 7) // 8
    unpacked = zlib.decompressobj().decompress(
        base64.b64decode(stage.fresh, validate=True), needed + 1
    )
    if len(unpacked) != needed:
        raise ValueError(f"the bits of fresh rows are not those of {n:,} rows")
    bits = np.unpackbits(np.frombuffer(unpacked, dtype=np.uint8), count=n)
    return bits.astype(np.bool_)

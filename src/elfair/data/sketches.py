"""Sketches of rows, by which people are known again: small, and of no use without a secret.

A sketch keeps a few of the different values of a view of some rows: those whose keys begin with
enough zeros. Of two sketches it keeps the same values, so they show how many rows are in both.

People may be alike by chance. If two tables are independent draws from one population, then, given
how often each value occurs in both together, which table each row is in is a matter of shuffling.
Values that two tables have in common are worth as little as values that occur twice in one table.
Only if far more rows match than shuffling explains are some of the people the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elfair.data.digests import Keys
from elfair.types import Floats

Tokens = NDArray[np.uint32]

#: The most values that a sketch keeps: with half of them, a tenth of the rows is known again.
MOST_VALUES = 512
#: The bits of a token that say with how many zeros its key begins; the others are a keyed hash.
_ZEROS = np.uint32(63)
#: Fewer different values than this say nothing of people.
FEWEST_VALUES = 30
#: Matches that shuffling explains with a larger probability than exp of minus this are chance.
SURE = 12.0


@dataclass(frozen=True, eq=False)
class Sketch:
    """Some of the different values of rows, and how many rows have each.

    Parameters
    ----------
    tokens : ndarray of uint32
        A keyed hash of each value that was kept, in ascending order.
    counts : ndarray of uint32
        How many rows have it.
    zeros : int
        All values were kept whose keys begin with so many zeros.
    """

    tokens: Tokens
    counts: NDArray[np.uint32]
    zeros: int

    @classmethod
    def of(cls, keys: Keys, secret: bytes) -> Sketch:
        """The sketch of rows with these keys, which must depend on the secret.

        Examples
        --------
        >>> keys = np.random.default_rng(0).integers(2**63, size=5000, dtype=np.uint64) * 2
        >>> one, other = Sketch.of(keys, b"secret"), Sketch.of(keys[:2500], b"secret")
        >>> 100 < one.tokens.size <= MOST_VALUES, round(one.share_of(other), 1)
        (True, 1.0)
        """
        zeros = max(0, int(keys.size).bit_length() - 14)  # a first guess, for speed alone
        while True:
            kept = keys[keys >> np.uint64(64 - zeros) == 0] if zeros else keys
            values, counts = np.unique(kept, return_counts=True)
            if values.size >= MOST_VALUES or not zeros:
                break
            zeros = max(0, zeros - 3)
        leading = _leading_zeros(values)
        while (leading >= zeros).sum() > MOST_VALUES:
            zeros += 1
        chosen = leading >= zeros
        hashed = [_hash(value.tobytes(), secret) for value in values[chosen]]
        tokens = np.array(hashed, dtype=np.uint32) << np.uint32(6)
        tokens |= np.minimum(leading[chosen], 63).astype(np.uint32)
        order = np.argsort(tokens)
        return cls(tokens[order], counts[chosen][order].astype(np.uint32), zeros)

    def merged(self, other: Sketch) -> Sketch:
        """That of the rows of both.

        Examples
        --------
        >>> keys = np.random.default_rng(0).integers(2**63, size=9000, dtype=np.uint64) * 2
        >>> parts = [Sketch.of(part, b"secret") for part in np.array_split(keys, [100, 5000])]
        >>> both = parts[0].merged(parts[1]).merged(parts[2])
        >>> both.to_bytes() == Sketch.of(keys, b"secret").to_bytes()
        True
        """
        zeros = max(self.zeros, other.zeros)
        while True:
            parts = [self.at(zeros), other.at(zeros)]
            tokens, place = np.unique(
                np.concatenate([tokens for tokens, _ in parts]), return_inverse=True
            )
            if tokens.size <= MOST_VALUES:
                break
            zeros += 1
        counts = np.bincount(place, np.concatenate([counts for _, counts in parts]))
        return Sketch(tokens, counts.astype(np.uint32), zeros)

    def at(self, zeros: int) -> tuple[Tokens, NDArray[np.uint32]]:
        """The tokens whose keys begin with so many zeros, and their counts."""
        chosen = (self.tokens & _ZEROS) >= zeros
        return self.tokens[chosen], self.counts[chosen]

    def share_of(self, other: Sketch) -> float:
        """The share of the smaller table's rows that both have; 0 if that may well be chance.

        With t rows of a value, a of them here and b there, sum(a b / t) grows with the rows in
        both. Its moments under shuffling are those of binomial a, up to terms of 1 / n, and
        Bernstein's inequality says how likely its excess is.
        """
        zeros = max(self.zeros, other.zeros)
        (tokens, here), (others, there) = self.at(zeros), other.at(zeros)
        every = np.union1d(tokens, others)
        if every.size < FEWEST_VALUES or not tokens.size or not others.size:
            return 0.0
        a, b = np.zeros(every.size), np.zeros(every.size)
        a[np.searchsorted(every, tokens)] = here
        b[np.searchsorted(every, others)] = there
        mean, variance, p = _shuffled(a + b, float(a.sum() / (a + b).sum()))
        excess = float((a * b / (a + b)).sum()) - mean
        if excess <= 0 or excess**2 < 2 * SURE * (variance + excess / 6):
            return 0.0
        different = (tokens.size / a.sum() + others.size / b.sum()) / 2
        in_both = excess / ((0.5 - p * (1 - p)) * different)
        return float(min(1.0, in_both / min(a.sum(), b.sum())))

    def to_bytes(self) -> bytes:
        """What `from_bytes` reads."""
        head = np.array([self.zeros], dtype="<u4")
        return b"".join(part.astype("<u4").tobytes() for part in (head, self.tokens, self.counts))

    @classmethod
    def from_bytes(cls, data: bytes) -> Sketch:
        """Read what `to_bytes` wrote."""
        numbers = np.frombuffer(data, dtype="<u4")
        half = (numbers.size - 1) // 2
        if numbers.size != 2 * half + 1 or half > MOST_VALUES or numbers[0] > 64:
            raise ValueError(f"a sketch has {numbers.size} numbers")
        return cls(numbers[1 : half + 1], numbers[half + 1 :], int(numbers[0]))


def _shuffled(totals: Floats, p: float) -> tuple[float, float, float]:
    """Mean and variance of sum(a b / t) if each row is here with probability p, and there else."""
    pq, t = p * (1 - p), totals
    second, third = t * (t - 1), t * (t - 1) * (t - 2)
    squares = third * (t - 3) * pq**2 + (third + second) * pq
    variance = float(((squares - (second * pq) ** 2) / t**2).sum())
    return float(((t - 1) * pq).sum()), variance, p


def _leading_zeros(values: Keys) -> NDArray[np.int64]:
    """With how many zero bits each key begins."""
    high = (values >> np.uint64(11)).astype(np.float64)  # exact: 53 bits
    return np.asarray(53 - np.frexp(high)[1], dtype=np.int64)


def _hash(value: bytes, secret: bytes) -> int:
    digest = hashlib.blake2b(value, key=secret, digest_size=4).digest()
    return int.from_bytes(digest, "little") >> 6

"""Whether rows depend on each other in their order, and how many independent ones they are worth.

*Whether.* Columns that describe the rows are replaced by their ranks, against heavy tails, and these
by principal components. At every scale L = 1, 2, 4, … the sums of L successive rows are multiplied by the
next ones. The largest of these autocorrelations, over scales and components, is compared with those of the
same rows in random orders. So rows whose order means nothing, whatever their law and number, are called
dependent once in a hundred times, and certainly so once in a thousand. Random signs are cautious once in
twenty times, where an autoregression sees something too: weak dependence in short samples would go unnoticed
otherwise.

*How much.* The correlation time is τ = 1 + 2 Σ_k ρ_k, from an autoregression for each component whose order
Akaike's criterion chooses, the longest of those that matter; n rows are worth n/τ independent ones.

Several sequences, such as Markov chains, are looked at together; products never cross their ends. Rows that
are said to be Markov chains need not be found dependent: their correlation time counts anyhow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from goodstein.lazy import cached_property
from goodstein.numerics.ranks import doubled_ranks
from goodstein.types import Array, Single

FOUND, CLEAR, CERTAIN = 19, 99, 999
"""Random orders that all must show less than the order in which the rows came."""
FAR = 8.0
"""Standard deviations above the first of them that need no more of them."""
COMPONENTS, SHARE = 8, 0.05
"""Principal components at most, and the least share of the variance of one that matters."""
SORTED = 0.9
"""Rank correlation with the number of the row."""
SUMS = 20
"""Sums of successive rows of which there are fewer are not looked at."""
ENTRIES = 1 << 20
"""Numbers in the random orders that are held at a time."""
BATCH, SHORT, FEW = 5.0, 2.5, 8
"""Rows of a batch, in correlation times; where that makes fewer than `FEW` batches, at least `SHORT`, or less
where the dependence is not clear."""

Starts = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Dependence:
    """What the order of rows says about them.

    Attributes
    ----------
    sequences
        Number of rows of each sequence, one after the other.
    time
        Correlation time τ in rows; 1 where no dependence was found.
    pvalue
        How often rows in random order would show as much, by the first order that does; at least 0.001.
    sorted_by
        The column by which the rows are sorted, or nearly so, so that their order says nothing; or None.
    stated
        Whether the user says that the rows are draws of Markov chains.
    """

    sequences: tuple[int, ...]
    time: float = 1.0
    pvalue: float = 1.0
    sorted_by: int | None = None
    stated: bool = False

    @property
    def found(self) -> bool:
        """Whether the rows seem to depend on each other, or are chains whose draws seem to a little."""
        return self.time > 1.0

    @property
    def clear(self) -> bool:
        """Whether chance finds as much once in a hundred times, not in twenty, or it was to be expected."""
        return self.found and (self.stated or self.pvalue <= 1.0 / (1 + CLEAR))

    @property
    def certain(self) -> bool:
        """Whether chance finds as much once in a thousand times."""
        return self.found and self.pvalue <= 1.0 / (1 + CERTAIN)

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(self.sequences)

    @property
    def effective(self) -> float:
        """The number of independent rows that these are worth."""
        return self.n / self.time

    @property
    def starts(self) -> Starts:
        """Where each sequence begins."""
        return np.cumsum([0, *self.sequences[:-1]])

    @cached_property
    def batches(self) -> Starts:
        """Where batches begin that are long enough to be nearly independent of each other.

        They are five times as long as the correlation time with its standard error, τ(1 + √(2τ/n)): the sum
        over a batch then has at least nine tenths of the variance that it would have without ends.
        """
        time = self.time * (1.0 + math.sqrt(2.0 / self.effective))
        count = self.n / (BATCH * time)
        if count < FEW:
            # Doubtful dependence must not take away the power of a short sample.
            count = min(FEW, self.n / (SHORT * time) if self.clear else self.n)
        length = self.n / max(1.0, count)
        starts = []
        for start, rows in zip(self.starts, self.sequences, strict=True):
            parts = max(1, round(rows / length))
            starts += [start + rows * k // parts for k in range(parts)]
        return np.array(starts)


def dependence(described: Sequence[Array], sequences: Sequence[int], *, stated: bool = False) -> Dependence:
    """Whether rows depend on each other, and how much.

    They come in sequences one after the other, of the given lengths, and are `described` by columns in one or
    several ways, each (n, k): as they are, and as a test sees them. With `stated` they are Markov chains.
    """
    lengths = tuple(sequences)
    looks = standard_ranks(described) if max(lengths) > 1 else []  # chains of one draw have no order
    ways = [found for ranks in looks if len((found := components(ranks))[1])]
    times = _times(ways, lengths) if ways else 0
    pvalue = 1.0 / (1 + times)
    if not ways or (times < FOUND and not stated):
        return Dependence(lengths, pvalue=pvalue, stated=stated)
    time = correlation_time(np.concatenate([scores for scores, _ in ways]), lengths)
    # Doubtful dependence that an autoregression does not see either is none.
    least = 1.0 + 1e-9 if times >= CLEAR else 1.0
    return Dependence(lengths, max(least, time), pvalue, stated=stated)


def sorted_by(rows: Array) -> int | None:
    """The column, (n, k), by which rows are sorted, or nearly so; None where there is none.

    That is one whose rank correlation with the number of the row is at least `SORTED`, which stationary
    sequences that are worth five independent rows or more hardly ever reach.
    """
    (ranks,) = standard_ranks([rows])
    steps = np.arange(len(rows)) - 0.5 * (len(rows) - 1)
    correlations = np.abs(ranks @ steps) / math.sqrt(len(rows) * float(steps @ steps))
    best = int(np.argmax(correlations.round(9)))  # the first of several
    return best if correlations[best] >= SORTED else None


def standard_ranks(described: Sequence[Array]) -> list[Array]:
    """Ranks of the columns, each (n, k), as (k, n) of mean zero and variance one, constant columns zero.

    Equal entries share theirs, so that their order does not count.
    """
    if not described:
        return []
    columns = np.concatenate([part.T for part in described])
    k, n = columns.shape
    order = np.argsort(columns, axis=1)
    ordered = columns.take(order + n * np.arange(k)[:, None])
    if (ordered[:, 1:] != ordered[:, :-1]).all():
        places = (np.arange(n) - 0.5 * (n - 1)) / math.sqrt((n * n - 1) / 12.0)
        ranks = np.empty((k, n))
        for row, own in zip(ranks, order, strict=True):
            row[own] = places
    else:
        ranks = np.ascontiguousarray(0.5 * doubled_ranks(columns.T, order.T).T)
        ranks -= ranks.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.mean(ranks**2, axis=1, keepdims=True))
        np.divide(ranks, spread, out=ranks, where=spread > 0)
    return np.split(ranks, np.cumsum([part.shape[1] for part in described])[:-1])


def components(ranks: Array) -> tuple[Array, Array]:
    """Principal components of standard ranks, (c, n), each of variance one, and their shares, (c,)."""
    ranks = ranks[ranks.any(axis=1)]
    if not ranks.size:
        return ranks, np.empty(0)
    values, vectors = np.linalg.eigh(ranks @ ranks.T / ranks.shape[1])
    values, vectors = values[: -COMPONENTS - 1 : -1], vectors[:, : -COMPONENTS - 1 : -1]
    # In many dimensions all shares are small.
    kept = values >= min(SHARE * len(ranks), values[0])
    return (vectors[:, kept] / np.sqrt(values[kept])).T @ ranks, values[kept] / values[kept].sum()


def _times(ways: Sequence[tuple[Array, Array]], sequences: Sequence[int]) -> int:
    """How many random orders in succession show less than the rows' own, at most `CERTAIN`."""
    scores = np.concatenate([scores for scores, _ in ways]).astype(np.float32)
    c, n = scores.shape
    mixtures, end = np.eye(c + len(ways), c, dtype=np.float32), 0
    for row, (_, shares) in zip(mixtures[c:], ways, strict=True):
        row[end : end + len(shares)] = shares / math.sqrt(shares @ shares)
        end += len(shares)
    scales = Scales(sequences, mixtures)
    # The rows' own order and the first random ones.
    both = scales.largest(scores.take(_first_orders(n), axis=1).swapaxes(0, 1))
    own, others = both[0], both[1:]
    seen, rng = np.empty(0), None
    while True:
        reached = np.flatnonzero(others >= own - 1e-4)
        if len(reached):
            return len(seen) + int(reached[0])
        seen = np.append(seen, others)
        if len(seen) >= CERTAIN or (len(seen) >= CLEAR and own > seen.mean() + FAR * seen.std()):
            return CERTAIN
        rng = _after_first_orders(n) if rng is None else rng
        # How many are made at a time changes nothing.
        count = min(len(seen), max(1, ENTRIES // scores.size), CERTAIN - len(seen))
        orders = np.array([rng.permutation(n) for _ in range(count)])
        others = scales.largest(scores.take(orders, axis=1).swapaxes(0, 1))


FIRST = 4
"""Random orders that are made at once: most data need no more of them."""


@lru_cache(maxsize=4)
def _first_orders(n: int) -> Starts:
    """That of the rows themselves and random ones, (1 + FIRST, n).

    Fixed, so that the same data always get the same answer; over data the error is as stated.
    """
    rng = np.random.default_rng(20)
    return np.array([np.arange(n), *(rng.permutation(n) for _ in range(FIRST))])


def _after_first_orders(n: int) -> np.random.Generator:
    """The generator that makes those that follow."""
    rng = np.random.default_rng(20)
    for _ in range(FIRST):
        rng.permutation(n)
    return rng


class Scales:
    """Autocorrelations of sums of 1, 2, 4, … successive rows within sequences.

    `mixtures`, (q, c), make of those of c components the numbers that are looked at.
    """

    def __init__(self, sequences: Sequence[int], mixtures: Single) -> None:
        self._mixtures = mixtures
        self._within = _within(tuple(sequences))

    def largest(self, scores: Single) -> Array:
        """The largest of each set of scores, (sets, c, n), in about standard deviations."""
        products = np.empty((len(self._within), *scores.shape[:2]), np.float32)
        # Products of small matrices may look at lanes that hold nothing, and flag what is there.
        with np.errstate(invalid="ignore"):
            for scale, within in enumerate(self._within):
                if scale:
                    even = scores.shape[-1] // 2 * 2
                    scores = scores[..., :even:2] + scores[..., 1:even:2]
                np.matmul(scores[..., :-1] * scores[..., 1:], within, out=products[scale])
            return np.asarray((products @ self._mixtures.T).max(axis=(0, 2)))


@lru_cache(maxsize=4)
def _within(sequences: tuple[int, ...]) -> tuple[Single, ...]:
    """For sums of 1, 2, 4, … rows the weights of products of successive ones: none across ends."""
    found: list[Single] = []
    owner = np.repeat(np.arange(len(sequences)), sequences)
    first, last, width = owner, owner, 1
    while not found or len(first) >= SUMS:
        within = (first[:-1] == last[1:]).astype(np.float32)
        if not within.any():
            break
        found.append(within / np.float32(width * math.sqrt(within.sum())))
        even = len(first) // 2 * 2
        first, last, width = first[:even:2], last[1:even:2], 2 * width
    return tuple(found)


def correlation_time(scores: Array, sequences: Sequence[int]) -> float:
    """The longest correlation time of centred series, (c, n), at least 1."""
    n = scores.shape[1]
    order = int(min(n // 4, max(sequences) - 1, 10.0 * math.log10(n)))
    return max(
        1.0, *(_autoregressive_time(series, n) for series in _autocovariances(scores, sequences, order))
    )


def _autocovariances(scores: Array, sequences: Sequence[int], order: int) -> Array:
    """At lags 0, …, order, (c, order + 1)."""
    total = np.zeros((len(scores), order + 1))
    for start, rows in zip(np.cumsum([0, *sequences[:-1]]), sequences, strict=True):
        part = scores[:, start : start + rows]
        for lag in range(min(order + 1, rows)):
            total[:, lag] += np.einsum("ci,ci->c", part[:, lag:], part[:, : rows - lag])
    return np.asarray(total / scores.shape[1])


def _autoregressive_time(covariances: Array, n: int) -> float:
    """The spectral density at zero over the variance, of the autoregression that Akaike's criterion chooses.

    Levinson's recursion makes the coefficients of every order from those of the one before.
    """
    rho = covariances / covariances[0]
    coefficients, variance = np.empty(0), 1.0
    best, time = 0.0, 1.0
    for order in range(1, len(rho)):
        partial = (rho[order] - coefficients @ rho[order - 1 : 0 : -1]) / variance
        coefficients = np.append(coefficients - partial * coefficients[::-1], partial)
        variance *= 1.0 - partial**2
        if variance <= 0.0:
            break
        criterion = n * math.log(variance) + 2.0 * order
        if criterion < best:
            best, time = criterion, variance / (1.0 - coefficients.sum()) ** 2
    return float(time)

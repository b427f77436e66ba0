"""A chain of graphs that updates many pairs of nodes at once."""

from __future__ import annotations

import numpy as np

from goodstein.types import Array

TOGETHER = 64
"""Matchings that are drawn at a time."""


def matched_walk(adjacency: Array, coefficients: Array, steps: int, rng: np.random.Generator) -> Array:
    r"""The state of a chain after at least so many updates of a pair, (N, N).

    For exponential random graph models with edges, two-stars and triangles, of coefficients β. Every step
    draws a matching of the nodes, all matchings being alike, and then the pairs that it makes given all
    others. No two of them have a node in common, so no two-star or triangle has both, and given all other
    pairs they are independent, with log odds :math:`\beta_1 + \beta_2(d_i' + d_j') + \beta_3 c_{ij}`. Each
    such step is reversible with respect to the model, as updates of one random pair are.

    Neighbours of a node are the bits of words, one column for each node.
    """
    n = len(adjacency)
    half, node = n // 2, np.arange(n)
    edges, two_stars, triangles = coefficients.tolist()
    word, bit = node >> 6, np.left_shift(np.uint64(1), (node & 63).astype(np.uint64))
    around = np.zeros((word[-1] + 1, n), np.uint64)
    ends, others = np.nonzero(adjacency)
    np.bitwise_or.at(around, (word[others], ends), bit[others])
    degree = adjacency.sum(axis=1)
    for start in range(0, steps, TOGETHER * half):
        count = min(TOGETHER, -(-(steps - start) // half))
        orders = rng.permuted(np.tile(node, (count, 1)), axis=1)[:, : 2 * half]
        first, second = orders[:, :half], orders[:, half:]
        found = zip(
            first,
            second,
            word[first],
            word[second],
            bit[first],
            bit[second],
            rng.logistic(size=first.shape),
            strict=True,
        )
        for i, j, word_i, word_j, bit_i, bit_j, thresholds in found:
            present = around[word_j, i] & bit_j != 0
            odds = np.full(half, edges)
            if two_stars:
                odds += two_stars * (degree[i] + degree[j] - 2.0 * present)
            if triangles:
                common = np.bitwise_count(around.take(i, axis=1) & around.take(j, axis=1))
                odds += triangles * common.sum(axis=0, dtype=np.int64)
            change = np.flatnonzero((thresholds < odds) != present)
            at_i, at_j = i[change], j[change]
            around[word_j[change], at_i] ^= bit_j[change]
            around[word_i[change], at_j] ^= bit_i[change]
            if two_stars:
                by = 1.0 - 2.0 * present[change]
                degree[at_i] += by
                degree[at_j] += by
    return np.asarray(around[word] & bit[:, None] != 0, np.float64)

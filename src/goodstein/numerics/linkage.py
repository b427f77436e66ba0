"""Single linkage, of few points: SciPy's would have to be loaded for every test."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from goodstein.types import Array


def single_linkage(distances: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The tree of single linkage from distances (n, n), nearest first.

    Returns
    -------
    children, count
        The k-th join makes node n + k of two nodes, (n − 1, 2), and the numbers of points below all nodes,
        (2n − 1,).
    """
    n = len(distances)
    ends, lengths = _spanning_tree(distances)
    # A group is known by one of its points, its root; the node above that is the group's so far.
    above, root = np.arange(n), list(range(n))
    children, count = np.empty((n - 1, 2), np.intp), np.ones(2 * n - 1, np.intp)
    for k, edge in enumerate(np.argsort(lengths, kind="stable")):
        first, second = (_root(root, int(end)) for end in ends[edge])
        children[k] = sorted((above[first], above[second]))
        count[n + k] = count[children[k]].sum()
        root[second] = first
        above[first] = n + k
    return children, count


def _spanning_tree(distances: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """Prim's algorithm: pairs of points, (n − 1, 2), and their distances."""
    n = len(distances)
    nearest, length = np.zeros(n, np.intp), distances[0].copy()
    length[0] = np.inf
    outside = np.ones(n, bool)
    outside[0] = False
    ends, lengths = np.empty((n - 1, 2), np.intp), np.empty(n - 1)
    for k in range(n - 1):
        new = int(np.argmin(np.where(outside, length, np.inf)))
        ends[k], lengths[k] = (nearest[new], new), length[new]
        outside[new] = False
        closer = outside & (distances[new] < length)
        nearest[closer], length[closer] = new, distances[new][closer]
    return ends, lengths


def _root(root: list[int], point: int) -> int:
    while root[point] != point:
        root[point] = root[root[point]]
        point = root[point]
    return point

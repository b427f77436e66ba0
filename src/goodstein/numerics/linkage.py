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
    above, root = list(range(n)), list(range(n))
    children, count = [], [1] * (2 * n - 1)
    for k, (start, stop) in enumerate(ends[np.argsort(lengths, kind="stable")].tolist()):
        first, second = _root(root, start), _root(root, stop)
        one, other = above[first], above[second]
        children.append((one, other) if one < other else (other, one))
        count[n + k] = count[one] + count[other]
        root[second] = first
        above[first] = n + k
    return np.array(children, np.intp).reshape(-1, 2), np.array(count, np.intp)


def _spanning_tree(distances: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """Prim's algorithm: pairs of points, (n − 1, 2), and their distances."""
    n = len(distances)
    nearest, length = np.zeros(n, np.intp), distances[0].copy()
    # What is inside the tree is infinitely far.
    inside, row, closer = np.zeros(n), np.empty(n), np.empty(n, bool)
    length[0] = inside[0] = np.inf
    ends, lengths = np.empty((n - 1, 2), np.intp), np.empty(n - 1)
    for k in range(n - 1):
        new = length.argmin()
        ends[k, 0], ends[k, 1], lengths[k] = nearest[new], new, length[new]
        length[new] = inside[new] = np.inf
        np.add(distances[new], inside, out=row)
        np.less(row, length, out=closer)
        np.copyto(nearest, new, where=closer)
        np.copyto(length, row, where=closer)
    return ends, lengths


def _root(root: list[int], point: int) -> int:
    while root[point] != point:
        root[point] = root[root[point]]
        point = root[point]
    return point

r"""The Weisfeiler–Lehman kernel, evaluated at all graphs that differ from one graph in one pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from goodstein.constraints import check_count, check_option
from goodstein.errors import InputError, given
from goodstein.graphs.data import Graph
from goodstein.kernels.base import Kernel, Wrapped
from goodstein.lazy import cached_property
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

Labels = npt.NDArray[np.uint64]
Pairs = npt.NDArray[np.intp]

CHUNK = 1 << 21
"""Labels that are held at a time."""


class GraphKernel(Kernel, ABC):
    """A kernel on graphs, as the test sees it."""

    def fitted(self, points: Any) -> Kernel:
        if not isinstance(points, Graph | list):
            raise InputError(f"{self!r} compares graphs, and these are none.", argument="kernel")
        return self

    @abstractmethod
    def form(self, adjacency: Array, pairs: Pairs, weights: Array) -> BlockForm:
        """The matrix w_s w_t ⟨k(xˢ, ·) − k(x, ·), k(xᵗ, ·) − k(x, ·)⟩, where xˢ is x with pair s flipped."""


class _Wrapped(Wrapped, GraphKernel):
    """A plain object of a user's with the methods of a kernel on graphs."""

    def form(self, adjacency: Array, pairs: Pairs, weights: Array) -> BlockForm:
        found: BlockForm = self.thing.form(adjacency, pairs, weights)
        return found


def as_graph_kernel(kernel: Kernel) -> GraphKernel:
    """A kernel that was passed to a test of a graph; raises where it compares other things."""
    if isinstance(kernel, GraphKernel):
        return kernel
    if isinstance(kernel, Wrapped) and callable(getattr(kernel.thing, "form", None)):
        return _Wrapped(kernel.thing)
    raise InputError(
        f"{given('kernel')} must be a kernel on graphs such as graphs.SubgraphCounts() or "
        f"graphs.WeisfeilerLehman(), got {kernel!r}, which compares other things."
    )


@dataclass(frozen=True)
class WeisfeilerLehman(GraphKernel):
    r"""The Weisfeiler–Lehman subtree kernel.

    .. math:: k(x, y) = \sum_{t=0}^{h} \sum_{c} n_t(c, x)\, n_t(c, y),

    where n_t(c, x) is the number of nodes of x with label c after t rounds; in every round the label of a
    node becomes its old label together with the multiset of its neighbours' labels.

    Parameters
    ----------
    iterations
        h, the number of rounds.
    labels
        What a node is labelled with at first: ``"triangles"``, the number of triangles through it, or
        ``"none"``, the same for all nodes, as in the references. Labels of degrees and of neighbours'
        degrees do not tell two triangles from a hexagon, so triangles need to be named.

    Notes
    -----
    Labels are hashed to 64 bits. That any two of L different labels get the same hash has a probability
    of about L²/2⁶⁵: 10⁻¹¹ for all flips in a graph with forty nodes, 10⁻⁵ with two hundred.

    A kernel of your own needs methods ``fitted(graph)``, which fixes what it takes from the graph, and
    ``form(adjacency, pairs, weights)``, a :class:`goodstein.stein.forms.BlockForm` of the matrix
    w_s w_t ⟨k(xˢ, ·) − k(x, ·), k(xᵗ, ·) − k(x, ·)⟩, where xˢ is x with pair s flipped.

    References
    ----------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn, Borgwardt (2011), Weisfeiler–Lehman graph kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.graphs import WeisfeilerLehman
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> triangle = 1 - np.eye(3)
    >>> WeisfeilerLehman(iterations=1, labels="none")([path, triangle], [path])
    array([[14.],
           [12.]])
    """

    iterations: int = 2
    labels: Literal["triangles", "none"] = "triangles"

    def __post_init__(self) -> None:
        check_count(self.iterations, "iterations", 0, 1000)
        check_option(self.labels, "labels", ("triangles", "none"))

    def __call__(self, x: Any, y: Any) -> Array:
        """k(x_i, y_j) for lists of adjacency matrices."""
        counts = [
            [self._counts(np.asarray(graph, dtype=np.float64)) for graph in graphs] for graphs in (x, y)
        ]
        return np.array([[_product(a, b) for b in counts[1]] for a in counts[0]])

    def form(self, adjacency: Array, pairs: Pairs, weights: Array) -> FlipForm:
        return FlipForm(self, adjacency, pairs, weights)

    def _counts(self, adjacency: Array) -> dict[int, int]:
        nowhere = np.zeros((1, 2), dtype=np.intp)
        labels = np.concatenate([row[0] for row in self.rounds(adjacency, nowhere)])
        found, count = np.unique(labels, return_counts=True)
        return dict(zip(found.tolist(), count.tolist(), strict=True))

    def rounds(self, adjacency: Array, pairs: Pairs) -> list[Labels]:
        """The labels after 0, …, h rounds of the graphs with one pair flipped, each (B, N).

        A pair of equal nodes stands for the graph as it is.
        """
        i, j = pairs.T
        rows = np.arange(len(pairs))
        edges = adjacency.astype(np.uint64)
        # ±1 modulo 2^64, which is what unsigned numbers add like; 0 where nothing is flipped.
        step = np.where(adjacency[i, j] == 1, -1, 1) * (i != j)
        change = step.astype(np.int64).view(np.uint64)
        start = np.zeros((len(pairs), len(adjacency)), dtype=np.uint64)
        if self.labels == "triangles":
            two_paths = (adjacency @ adjacency * adjacency).sum(axis=1) / 2
            start += np.rint(two_paths).astype(np.uint64)
            common = (adjacency[i] * adjacency[j]).astype(np.uint64)
            start += common * change[:, None]
            start[rows, i] += common.sum(axis=1) * change
            start[rows, j] += common.sum(axis=1) * change
        labels = [_hashed(start, 0)]
        for t in range(1, self.iterations + 1):
            old = labels[-1]
            around = old @ edges
            around[rows, i] += change * old[rows, j]
            around[rows, j] += change * old[rows, i]
            labels.append(_hashed(old * np.uint64(3) + _hashed(around, -t), t))
        return labels


class FlipForm(BlockForm):
    """w_s w_t ⟨Φ(xˢ) − Φ(x), Φ(xᵗ) − Φ(x)⟩, with Φ the label counts, for pairs s and t."""

    def __init__(self, kernel: WeisfeilerLehman, adjacency: Array, pairs: Pairs, weights: Array) -> None:
        self.kernel, self.adjacency, self.pairs, self.weights = kernel, adjacency, pairs, weights

    @property
    def n(self) -> int:
        return len(self.pairs)

    def take(self, index: Any) -> FlipForm:
        return FlipForm(self.kernel, self.adjacency, self.pairs[index], self.weights[index])

    @cached_property
    def _changes(self) -> tuple[npt.NDArray[np.intp], Labels, Array]:
        """Which flip changes the count of which label by how much, each change in an entry of its own."""
        base = self.kernel.rounds(self.adjacency, np.zeros((1, 2), dtype=np.intp))
        flips, labels, signs = [], [], []
        step = max(1, CHUNK // len(self.adjacency))
        for start in range(0, self.n, step):
            changed = self.kernel.rounds(self.adjacency, self.pairs[start : start + step])
            for old, new in zip(base, changed, strict=True):
                flip, node = np.nonzero(new != old)
                flips += [flip + start, flip + start]
                labels += [new[flip, node], old[0, node]]
                signs += [np.ones(len(flip)), -np.ones(len(flip))]
        return np.concatenate(flips), np.concatenate(labels), np.concatenate(signs)

    def mean(self) -> float:
        """The mean over all entries, diagonal included: the squared norm of the mean change."""
        flips, labels, signs = self._changes
        index = np.unique(labels, return_inverse=True)[1]
        total = np.bincount(index, weights=signs * self.weights[flips]) if len(index) else np.zeros(1)
        return float(total @ total) / self.n**2

    @cached_property
    def _sparse(self) -> Any:
        """The changes as a sparse matrix (pairs, labels)."""
        from scipy.sparse import csr_array

        flips, labels, signs = self._changes
        found, index = np.unique(labels, return_inverse=True)
        entries = signs * self.weights[flips]
        return csr_array((entries, (flips, index)), shape=(self.n, max(1, len(found))))

    def block(self, rows: slice, cols: slice) -> Array:
        return np.asarray((self._sparse[rows] @ self._sparse[cols].T).toarray())

    def diagonal(self) -> Array:
        return np.asarray((self._sparse * self._sparse).sum(axis=1)).reshape(self.n)


def _hashed(values: Labels, salt: int) -> Labels:
    """A bijection of 64-bit numbers that scatters them (the finaliser of splitmix64)."""
    z = values + np.uint64((0x9E3779B97F4A7C15 * (2 * salt + 1)) % (1 << 64))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def _product(a: dict[int, int], b: dict[int, int]) -> float:
    return float(sum(count * b.get(label, 0) for label, count in a.items()))

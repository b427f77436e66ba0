"""Stochastic block models of graphs, with or without degrees of their own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import check_flag, numbers
from goodstein.domains.lattice import Lattice
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.families.ergm import logistic
from goodstein.graphs.data import FEWEST, Graph, all_pairs, as_graph
from goodstein.models.provenance import PER_NODE
from goodstein.types import Array, ArrayLike
from goodstein.validation import as_array

RIDGE = 0.1
"""Weight of the penalty of a fit, without which blocks that have no edges, or all, have no maximum."""


class StochasticBlockModel(Family):
    r"""Stochastic block model: independent edges, whose odds depend on the blocks of both ends.

    .. math:: \log \frac{P(x_{ij} = 1)}{P(x_{ij} = 0)} = B_{b_i b_j} + a_i + a_j

    on simple undirected graphs with N labelled nodes. With sociabilities a it is degree-corrected; without
    blocks that is the β-model. One graph is tested with :func:`graph_ksd_test`; pairs are independent, so
    that graphs are drawn exactly.

    Parameters
    ----------
    blocks
        b: the block of each node, integers from 0, (N,).
    log_odds
        B, symmetric, (K, K); a number stands for all.
    sociability
        a, (N,); None is zero for all.

    References
    ----------
    Holland, Laskey & Leinhardt (1983), Stochastic blockmodels: first steps. Karrer & Newman (2011),
    Stochastic blockmodels and community structure in networks.

    Examples
    --------
    >>> from goodstein.families import StochasticBlockModel
    >>> model = StochasticBlockModel([0, 0, 1, 1], [[1.0, -1.0], [-1.0, 0.0]])
    >>> model.odds[0].round(1)
    array([ 0.,  1., -1., -1.])
    """

    blocks: Array
    log_odds_of_blocks: Array
    sociability: Array | None
    nodes: int
    odds: Array
    """Log odds of all pairs, (N, N), zero on the diagonal."""

    _parameters = ("blocks", "log_odds_of_blocks", "sociability")

    def __init__(self, blocks: ArrayLike, log_odds: ArrayLike, sociability: ArrayLike | None = None) -> None:
        labels, count = as_blocks(blocks), 0
        count = int(labels.max()) + 1
        matrix = numbers(log_odds, "log_odds", ndim=(0, 2))
        matrix = np.full((count, count), float(matrix)) if matrix.ndim == 0 else matrix
        if matrix.shape != (count, count) or not np.array_equal(matrix, matrix.T):
            raise InputError(
                f"expected a symmetric matrix ({count}, {count}), one row for each block, got shape "
                f"{matrix.shape}.",
                argument="log_odds",
            )
        own = None if sociability is None else numbers(sociability, "sociability", ndim=1)
        if own is not None and len(own) != len(labels):
            raise InputError(f"expected {len(labels)} numbers, got {len(own)}.", argument="sociability")
        odds = matrix[np.ix_(labels, labels)]
        if own is not None:
            odds = odds + own[:, None] + own
        odds = odds * (1.0 - np.eye(len(labels)))
        self._set(blocks=labels, log_odds_of_blocks=matrix, sociability=own, nodes=len(labels), odds=odds)
        self._set(domain=Lattice(2, len(labels) * (len(labels) - 1) // 2))

    @classmethod
    def fit(cls, graph: Any, blocks: ArrayLike, degrees: bool = False, ridge: float = RIDGE) -> Self:
        """Maximum likelihood, given the blocks, with a small penalty.

        Parameters
        ----------
        graph
            As in :func:`graph_ksd_test`.
        blocks
            The block of each node, which must be known beforehand: blocks that were found in the same graph
            have to be found anew in every simulated one, by a function for :class:`ParametricBootstrap`.
        degrees
            Whether nodes have sociabilities, whose sum over all nodes is then zero. So many parameters are
            too many for :class:`ParametricBootstrap`: small p-values of the same graph then decide nothing.
        ridge
            Weight of the penalty, as in :meth:`ERGM.fit`.
        """
        adjacency, labels = as_graph(graph).adjacency, as_blocks(blocks)
        if len(labels) != len(adjacency):
            wanted = f"expected {len(adjacency)} labels, one for each node, got {len(labels)}."
            raise InputError(wanted, argument="blocks")
        i, j = all_pairs(len(labels)).T
        count = int(labels.max()) + 1
        low, high = np.minimum(labels[i], labels[j]), np.maximum(labels[i], labels[j])
        pairs = np.flatnonzero(np.bincount(low * count + high, minlength=count**2))
        x = (low * count + high)[:, None] == pairs
        if check_flag(degrees, "degrees"):
            # Contrasts to the last node, whose sociability is minus the sum of the others.
            ends = np.eye(len(labels))[i] + np.eye(len(labels))[j]
            x = np.hstack([x, ends[:, :-1] - ends[:, -1:]])
        beta = logistic(
            x.astype(np.float64), adjacency[i, j], float(numbers(ridge, "ridge", ndim=0, least=0.0))
        )
        matrix = np.zeros((count, count))
        matrix.ravel()[pairs] = beta[: len(pairs)]
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        own = np.append(beta[len(pairs) :], -beta[len(pairs) :].sum()) if degrees else None
        return cls(labels, matrix, own)

    @classmethod
    def _fit_data(cls, data: Any, **options: Any) -> Graph:
        return as_graph(data)

    def _fit_method(self, **options: Any) -> str:
        return "penalised maximum likelihood" if self.sociability is None else PER_NODE

    def log_odds(self, adjacency: ArrayLike) -> Array:
        """Log odds of every edge, whatever the others, (N, N)."""
        return self.odds.copy()

    def walk(self, adjacency: Array, steps: int, rng: np.random.Generator) -> Array:
        """A graph that does not depend on the first: pairs are independent."""
        i, j = all_pairs(self.nodes).T
        out = np.zeros((self.nodes, self.nodes))
        out[i, j] = out[j, i] = self._draw(1, rng)[0]
        return out

    def score(self, x: ArrayLike) -> Array:
        vectors = self._points(x)
        with np.errstate(over="ignore"):
            return np.asarray(-np.expm1((1.0 - 2.0 * vectors) * self._of_pairs()))

    def logpdf(self, x: ArrayLike) -> Array:
        vectors, odds = self._points(x), self._of_pairs()
        values = vectors @ odds - np.logaddexp(0.0, odds).sum()
        return np.where(self.domain.contains(vectors), values, -np.inf)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return (rng.logistic(size=(n, self.dim)) < self._of_pairs()).astype(np.float64)

    def _of_pairs(self) -> Array:
        i, j = all_pairs(self.nodes).T
        return np.asarray(self.odds[i, j])

    def __repr__(self) -> str:
        degrees = "" if self.sociability is None else ", degree-corrected"
        count = int(self.blocks.max()) + 1
        blocks = "1 block" if count == 1 else f"{count} blocks"
        return f"StochasticBlockModel({self.nodes} nodes, {blocks}{degrees})"


def as_blocks(blocks: ArrayLike) -> Any:
    """Labels of blocks, from 0 on and none left out, (N,)."""
    named = as_array(blocks, "blocks")
    if named.ndim == 1 and named.dtype.kind in "bOSU":  # names of blocks, or yes and no
        remedy = "np.unique(blocks, return_inverse=True)[1] numbers them from 0 on."
        raise InputError("expected integers, got names.", argument="blocks", remedy=remedy)
    labels = numbers(blocks, "blocks", ndim=1)
    whole = labels.astype(int)
    if len(labels) < FEWEST or (whole != labels).any():
        raise InputError(f"expected integers, one for each of {FEWEST} nodes or more.", argument="blocks")
    if not np.array_equal(np.unique(whole), np.arange(whole.max() + 1)):
        remedy = "np.unique(blocks, return_inverse=True)[1] numbers them so."
        raise InputError("expected labels 0, 1, …, none left out.", argument="blocks", remedy=remedy)
    return whole

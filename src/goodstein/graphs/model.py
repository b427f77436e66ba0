"""Models of graphs as the library sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.constraints import answered, asked
from goodstein.errors import InputError, SamplingError, ScoreError
from goodstein.foreign import describe
from goodstein.graphs.data import Graph
from goodstein.models.base import AnyModel
from goodstein.models.provenance import Fit, provenance_of
from goodstein.types import Array

SWEEPS = 30
"""Updates of every pair, on average, between two graphs of a chain, where nothing is said."""
SURE = 30.0
"""Pairs that are to change in a sweep, of which a graph that is the same as before shows that none did."""


class GraphModel(AnyModel):
    """A model of graphs as the library sees it."""

    takes = Graph

    def __init__(self, raw: Any, nodes: int, sweeps: int = SWEEPS) -> None:
        self.raw, self.nodes, self.sweeps = raw, nodes, sweeps
        self.name = describe(raw)
        self.trusted = type(raw).__module__.startswith("goodstein.")

    @property
    def has_sample(self) -> bool:
        return True

    @property
    def provenance(self) -> Fit | None:
        return provenance_of(self.raw)

    def draws(self, domain: Any, n: int, rng: np.random.Generator) -> None:
        return None

    def log_odds(self, adjacency: Array) -> Array:
        """Log odds of every edge given all others, (N, N)."""
        what = f"`log_odds` of {self.name}"
        found = asked(self.raw.log_odds, what, adjacency.copy(), error=ScoreError)
        odds = answered(found, what, adjacency.shape, error=ScoreError)
        if not np.isfinite(odds[~np.eye(len(odds), dtype=bool)]).all():
            raise ScoreError(f"The log odds of {self.name} are not finite at this graph.")
        return odds

    @property
    def steps(self) -> int:
        """Of one walk."""
        return self.sweeps * (self.nodes * (self.nodes - 1) // 2)

    def walk(self, adjacency: Array, rng: np.random.Generator) -> Array:
        """The chain's state after as many steps as `sweeps` says."""
        what = f"`walk` of {self.name}"
        found = asked(self.raw.walk, what, adjacency.copy(), self.steps, rng, error=SamplingError)
        end = answered(found, what, adjacency.shape, error=SamplingError)
        if not (np.isin(end, (0.0, 1.0)).all() and (end == end.T).all() and not end.diagonal().any()):
            raise SamplingError(
                f"The walk of {self.name} ended at no graph.",
                remedy="It must return a symmetric matrix of zeros and ones with zeros on the diagonal.",
            )
        return end

    def check_moved(self, start: Array, end: Array) -> None:
        """Raise where a walk ended where it began although the log odds would have many pairs change.

        One sweep changes pair ij, given all others, with probability 1/(1 + exp(±log odds)).
        """
        if (start != end).any():
            return
        stays = np.where(start > 0.0, 1.0, -1.0) * self.log_odds(start)
        each = 1.0 / (1.0 + np.exp(np.minimum(stays, 700.0)))
        changing = float(each[np.triu_indices(self.nodes, 1)].sum())
        if changing > SURE:
            raise SamplingError(
                f"The walk of {self.name} ended at the graph where it began, after {self.steps} steps, "
                f"although by its log odds about {changing:.3g} pairs of nodes change in one sweep.",
                remedy="It must return the graph after its last step, not the one that it was given.",
            )


def as_graph_model(model: Any, nodes: int, sweeps: int = SWEEPS) -> GraphModel:
    """A model of graphs with that many nodes, checked."""
    if isinstance(model, GraphModel):
        return model
    missing = [name for name in ("log_odds", "walk") if not callable(getattr(model, name, None))]
    if missing or isinstance(model, type):
        raise InputError(
            f"`model` must be a model of graphs such as families.ERGM(nodes, edges=-1.0), or an object with "
            f"log_odds(adjacency) and walk(adjacency, steps, rng); got {describe(model)}."
        )
    own = getattr(model, "nodes", nodes)
    if own != nodes:
        raise InputError(
            f"`model` {describe(model)} is for graphs with {own} nodes, but `graph` has {nodes}."
        )
    return GraphModel(model, nodes, sweeps)

"""Tests for one observed graph."""

from __future__ import annotations

from goodstein.graphs.data import Graph, as_graph
from goodstein.graphs.kernel import WeisfeilerLehman
from goodstein.graphs.model import graph_ksd_test
from goodstein.graphs.subgraphs import SubgraphCounts

__all__ = ["Graph", "SubgraphCounts", "WeisfeilerLehman", "as_graph", "graph_ksd_test"]

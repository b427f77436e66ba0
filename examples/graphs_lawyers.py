"""Who works with whom in a law firm?

The collaboration of the 36 partners of a law firm (Lazega 2001), two of whom work with nobody. Two models
are fitted to the graph and tested on it: edges that are independent, and edges that also depend on
two-stars and triangles, each coefficient by maximum pseudo-likelihood. The parametric bootstrap fits
every simulated graph anew; the weak ridge lets it do so even if a simulated graph is empty or complete.

The second model is a well-known trap: its coefficients look reasonable, yet chains that draw from it end
at much sparser graphs than the data, or at the complete graph, according to where they start.

    python examples/graphs_lawyers.py FOLDER
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np

import goodstein as gs
from data_folder import data_folder
from goodstein.families import ERGM


def independent(graph: Any) -> ERGM:
    """Every pair of partners is tied with the same probability."""
    return ERGM.fit(graph, ["edges"], ridge=0.1)


def markov(graph: Any) -> ERGM:
    """A tie depends on the other ties of its two partners."""
    return ERGM.fit(graph, ["edges", "two_stars", "triangles"], ridge=0.1)


MODELS = {"independent edges": independent, "edges, two-stars and triangles": markov}


def collaboration(data: Path) -> np.ndarray:
    """The adjacency matrix of all partners, those without a tie included."""
    with (data / "discrete" / "lazega_lawyers_nodes.csv").open() as file:
        names = [row["Name"] for row in csv.DictReader(file)]
    graph = np.zeros((len(names), len(names)))
    with (data / "discrete" / "lazega_lawyers_edges.csv").open() as file:
        for row in csv.DictReader(file):
            i, j = names.index(row["source"]), names.index(row["target"])
            graph[i, j] = graph[j, i] = 1
    return graph


def main(data: Path) -> None:
    graph = collaboration(data)
    degrees = graph.sum(axis=1)
    print(f"{len(graph)} partners, {int(graph.sum()) // 2} ties, {int((degrees == 0).sum())} without any")

    pvalues = {}
    for name, fit in MODELS.items():
        model, rng = fit(graph), np.random.default_rng(1)
        sparse = model.sample(5, rng).sum(axis=1)
        walked = [model.walk(graph, 50 * len(graph) ** 2, rng).sum() / 2 for _ in range(5)]
        null = gs.ParametricBootstrap(fit, n_resamples=199)
        result = gs.graph_ksd_test(graph, model, null=null, sweeps=20, rng=1)
        print(f"\nH0: {name}")
        for start, ties in (("sparse graphs", sparse), ("the data", walked)):
            print(
                f"ties in five chains of the fitted model from {start}: {', '.join(f'{t:.0f}' for t in ties)}"
            )
        print()
        print(result)
        pvalues[name] = result.pvalue

    print()
    print(verdict(pvalues))


def verdict(pvalues: dict[str, float]) -> str:
    """Say in one sentence which models the graph speaks against."""
    parts = [
        f"{'contradicts' if p <= 0.05 else 'is compatible with'} {name} (p = {p:.3f})"
        for name, p in pvalues.items()
    ]
    return f"The lawyers' collaboration {' and '.join(parts)}."


if __name__ == "__main__":
    main(data_folder("discrete/lazega_lawyers_nodes.csv", "discrete/lazega_lawyers_edges.csv"))

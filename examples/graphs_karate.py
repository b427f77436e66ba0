"""Who is friends with whom in a karate club?

The friendships of the 34 members of a karate club (Zachary 1977), which later split in two. Two models are
fitted to the graph and tested on it: edges that are independent, and edges that also depend on two-stars
and triangles, each coefficient by maximum pseudo-likelihood. The parametric bootstrap fits every simulated
graph anew; the weak ridge lets it do so even if a simulated graph is empty or complete.

The second model is a well-known trap: its coefficients look reasonable, yet chains that draw from it end
at much sparser graphs than the data, or at the complete graph, according to where they start.

Run it with `python examples/graphs_karate.py`; it needs `pip install "goodstein[network]"`, for the data.
"""

from typing import Any

import networkx
import numpy as np

import goodstein as gs
from goodstein.families import ERGM


def independent(graph: Any) -> ERGM:
    """Every pair of members is tied with the same probability."""
    return ERGM.fit(graph, ["edges"], ridge=0.1)


def markov(graph: Any) -> ERGM:
    """A tie depends on the other ties of its two members."""
    return ERGM.fit(graph, ["edges", "two_stars", "triangles"], ridge=0.1)


MODELS = {"independent edges": independent, "edges, two-stars and triangles": markov}


def main() -> None:
    graph = networkx.to_numpy_array(networkx.karate_club_graph(), weight=None)
    degrees = graph.sum(axis=1)
    print(
        f"{len(graph)} members, {int(graph.sum()) // 2} ties, {degrees.min():.0f} to {degrees.max():.0f} each"
    )

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
    return f"The friendship in the club {' and '.join(parts)}."


if __name__ == "__main__":
    main()

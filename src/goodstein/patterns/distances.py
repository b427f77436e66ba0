"""Distances between the points of a pattern: clusters and repulsion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import numbers
from goodstein.domains.base import Domain
from goodstein.operators.base import Operator
from goodstein.operators.views.base import Names
from goodstein.patterns.data import Patterns
from goodstein.patterns.views import PatternView, Window, spacing
from goodstein.stein.finite import FiniteFeatures
from goodstein.types import Array

SCALES = (0.25, 0.5, 1.0)
"""Radii in units of the distance between points that are evenly spread."""


@dataclass(frozen=True, eq=False, repr=False)
class Distances(PatternView):
    r"""The Stein–Papangelou operator with sums over pairs, f(φ) = Σ_{x≠y∈φ} κ_r(x, y)/2, for point patterns.

    A pattern stands for the numbers

        ∫ Σ_{x∈φ} κ_r(u, x) ρ(u | φ) du − Σ_{x≠y∈φ} κ_r(x, y),

    with κ_r(x, y) = exp(−‖x − y‖²/2r²), less its means over one and over both of its arguments under the
    intensity of the model, so that neither the number of points nor where they are counts, and divided by its
    size: whether points are too close to each other or keep apart, at a few distances r, as Ripley's K
    function shows it. The Stein matrix has finite rank, and there is no kernel.

    Parameters
    ----------
    radii
        The distances r; None takes ¼, ½ and 1 of (∣W∣/E)^(1/d), about how far the E points that the model
        expects in the window W would be apart if they were evenly spread.
    operator
        A :class:`goodstein.patterns.Papangelou` with the nodes of the integral; None takes as many as the
        smallest radius needs.

    References
    ----------
    Baddeley, Rubak, Møller (2011), Score, pseudo-score and residual diagnostics for spatial point process
    models.

    Examples
    --------
    >>> import goodstein as gs
    >>> square = gs.Box([0, 0], [1, 1])
    >>> truth = gs.families.Strauss(30.0, 0.2, 0.08, square)
    >>> model = gs.families.PoissonProcess(22.0, square)
    >>> patterns = truth.sample(20, rng=1)
    >>> gs.ksd_test(patterns, model, operator=gs.patterns.Distances(), rng=1).pvalue < 0.01
    True
    """

    radii: Any = None
    operator: Operator | None = None

    def __post_init__(self) -> None:
        self.require_papangelou()
        if self.radii is not None:
            given = np.atleast_1d(numbers(self.radii, "radii", ndim=(0, 1), above=0.0, of="Distances"))
            object.__setattr__(self, "radii", tuple(float(radius) for radius in given))

    def looks_at(self, names: Names = None) -> str:
        return "distances between points: clusters or repulsion"

    def features(self, model: Any, domain: Domain, data: Patterns) -> FiniteFeatures:
        """∫ Σ_x κ(u, x) ρ(u | φ) du − Σ_{x≠y} κ(x, y), for every radius."""
        radii = self.radii or tuple(scale * spacing(domain, model) for scale in SCALES)
        window = Window(model, domain, data, self.operator.nodes, min(radii))  # type: ignore[union-attr]
        columns = [_pairs(radius, window, data) for radius in radii]
        return FiniteFeatures(np.stack(columns, axis=1))

    def _arguments(self) -> list[str]:
        return [] if self.radii is None else [repr(self.radii)]


def _pairs(radius: float, window: Window, data: Patterns) -> Array:
    """One radius, (m,)."""
    nodes, shares = window.nodes, window.shares

    def near(a: Array, b: Array) -> Array:
        squared = ((a[:, None] - b) ** 2).sum(axis=2)
        return np.asarray(np.exp(-0.5 * squared / radius**2))

    among = near(nodes, nodes)
    single = among @ shares
    both = float(shares @ single)
    spread = shares @ (among - single[:, None] - single + both) ** 2 @ shares
    out = np.empty(len(data))
    for i, pattern in enumerate(data):
        to_nodes = near(pattern, nodes)
        own = to_nodes @ shares
        reached = (to_nodes - own[:, None] - single + both).sum(axis=0)
        between = near(pattern, pattern) - own[:, None] - own + both
        out[i] = window.intensity[i] @ reached - (between.sum() - np.trace(between))
    return np.asarray(out / np.sqrt(float(spread)))

"""The Stein–Papangelou operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.constraints import MOST_COORDINATES, check_count
from goodstein.domains.base import Domain
from goodstein.errors import InputError, given
from goodstein.kernels.base import Kernel
from goodstein.kernels.lattice import LatticeKernel
from goodstein.operators.base import Operator
from goodstein.patterns.data import Patterns
from goodstein.patterns.kernel import ConfigurationKernel, generic_stein_matrix
from goodstein.patterns.nodes import quadrature
from goodstein.stein.forms import DenseForm
from goodstein.types import Array

TOLERANCE = 0.1
"""Error of the expected number of points, in standard errors of the mean count, that is pointed out."""


@dataclass(frozen=True)
class Papangelou(Operator):
    r"""The generator of a birth-and-death process that leaves the model invariant.

    .. math::

        A f(\varphi) = \int [f(\varphi + \delta_u) - f(\varphi)]\, \rho(u \mid \varphi)\, du
                       + \sum_{x \in \varphi} [f(\varphi - \delta_x) - f(\varphi)],

    with ρ the Papangelou conditional intensity of the model, which needs no normalising constant. The
    Stein kernel is h = A^φ A^ψ k.

    Parameters
    ----------
    nodes
        About how many nodes the integral has. None takes a few hundred, and more where the kernel's
        bandwidth is small; see :func:`goodstein.patterns.quadrature`.

    Notes
    -----
    The integral is a sum over fixed nodes. What that changes of E[A f] is the error of the rule for
    u ↦ E[ρ(u|φ)(f(φ + δ_u) − f(φ))], which is smooth in u even where ρ jumps for a single φ.

    References
    ----------
    Yang, Rao, Neville (2019), A Stein–Papangelou goodness-of-fit test for point processes.
    """

    nodes: int | None = None

    takes = Patterns  # no annotations: these are not fields
    title = "Point pattern kernel Stein test"
    conditions_suffice = True

    def __post_init__(self) -> None:
        if self.nodes is not None:
            check_count(self.nodes, "nodes", 2, MOST_COORDINATES)

    def features(self, model: Any, domain: Domain, data: Patterns) -> PatternFeatures:
        """The observations with their model; the nodes wait for the kernel's bandwidth."""
        return PatternFeatures(data, model, domain, self.nodes)

    def features_beside(self, features: Any, model: Any, domain: Domain, others: Patterns) -> PatternFeatures:
        both = Patterns([*features.points, *others], domain.dim)
        return PatternFeatures(both, model, domain, self.nodes)

    def default_kernel(self) -> ConfigurationKernel:
        return ConfigurationKernel()

    def adapted(self, kernel: Kernel) -> Kernel:
        if kernel.plain.radial or isinstance(kernel, LatticeKernel):
            raise InputError(
                f"{given('kernel')} must be a kernel on point patterns such as "
                f"patterns.ConfigurationKernel(), got {kernel!r}, which compares points. "
                "ConfigurationKernel(bandwidth=...) sums up a Gaussian of points."
            )
        return kernel

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        if data is None:
            return []
        return [self._check_nodes(model, domain, data), check_possible(model, data), check_ties(data)]

    def _check_nodes(self, model: Any, domain: Domain, data: Patterns) -> Check:
        """Compare the integral of the intensity given the empty pattern with that of a finer rule."""
        question = Question("integral over the window")
        nodes, weights = quadrature(domain, self.nodes)
        fine, fine_weights = quadrature(domain, 4 * len(nodes))
        empty = np.empty((0, domain.dim))
        mass = float(weights @ model.papangelou(nodes, empty))
        finer = float(fine_weights @ model.papangelou(fine, empty))
        error = abs(mass - finer)
        found = f"{len(nodes)} nodes give {mass:.6g} expected points, {len(fine)} give {finer:.6g}"
        if error > TOLERANCE * np.sqrt(max(finer, 1e-300) / len(data)):
            return question.warned(
                f"The intensity is too rough for the nodes: {found}. Pass "
                f"{given('operator', f'Papangelou(nodes={4 * len(fine)})')} or more."
            )
        return question.passed(f"{found[0].upper()}{found[1:]}.")


def check_possible(model: Any, data: Patterns) -> Check:
    """Whether every point has a positive intensity given the others of its pattern."""
    question = Question("points that the model allows")
    impossible = [i for i, pattern in enumerate(data) if (model.papangelou_within(pattern) == 0.0).any()]
    if impossible:
        return question.warned(
            f"{len(impossible)} of {len(data)} patterns (the first is pattern {impossible[0]}) hold points "
            f"whose intensity under {model.name} is zero given the others: the model excludes them, whatever "
            "the p-value."
        )
    return question.passed("Every point has a positive intensity given the others.")


def check_ties(data: Patterns) -> Check:
    """Points that coincide, which no model with an intensity produces."""
    question = Question("coincident points")
    tied = [i for i, pattern in enumerate(data) if len(np.unique(pattern, axis=0)) < len(pattern)]
    if tied and len(data) == 1:
        more = len(data[0]) - len(np.unique(data[0], axis=0))
        return question.warned(
            f"{more} of {len(data[0])} points lie where another one does, which has probability zero under "
            "the model. Are they entered twice, or rounded?"
        )
    if tied:
        return question.warned(
            f"{len(tied)} of {len(data)} patterns (the first is pattern {tied[0]}) hold points that "
            "coincide, which has probability zero under the model."
        )
    return question.passed("No two points of a pattern coincide.")


@dataclass(frozen=True)
class PatternFeatures:
    """Point patterns and the model whose conditional intensity they are judged by."""

    points: Patterns
    model: Any
    domain: Domain
    nodes: int | None

    def form(self, kernel: Kernel) -> DenseForm:
        """The Stein matrix of the patterns."""
        length = kernel.bandwidths
        u, w = quadrature(self.domain, self.nodes, length if isinstance(length, float) else np.inf)
        intensity: Array = np.stack([self.model.papangelou(u, pattern) for pattern in self.points])
        if isinstance(kernel, ConfigurationKernel):
            return DenseForm(kernel.stein_matrix(self.points, u, w * intensity))
        return DenseForm(generic_stein_matrix(kernel, self.points, u, w * intensity))

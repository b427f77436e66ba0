"""What views of point patterns share: few functionals, put into the Stein–Papangelou operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.auditing.report import Check
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import FiniteView
from goodstein.patterns.data import Patterns
from goodstein.patterns.nodes import quadrature
from goodstein.patterns.operator import Papangelou
from goodstein.types import Array


class PatternView(FiniteView):
    """A view of patterns; a frozen dataclass with a field ``operator`` that is a :class:`Papangelou`."""

    def require_papangelou(self) -> None:
        """Raise where the operator inside is another one."""
        set_inner(self, "Papangelou()")
        if self.operator is None:
            object.__setattr__(self, "operator", Papangelou())
        elif not isinstance(self.operator, Papangelou):
            name = type(self).__name__
            raise InputError(f"`operator` of {name} must be Papangelou(), got {self.operator!r}.")

    def choose(self, domain: Domain) -> Operator:
        return Papangelou()

    def on(self, domain: Domain) -> Any:
        return self

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return self.inner(domain).conditions(model, domain, data, rng)

    def __repr__(self) -> str:
        usual = self.operator is None or self.operator == Papangelou()
        arguments = [*self._arguments(), *([] if usual else [repr(self.operator)])]
        return f"{type(self).__name__}({', '.join(arguments)})"


class Window:
    """Nodes in the window, and the intensity there given each pattern and given none."""

    def __init__(self, model: Any, domain: Domain, data: Patterns, nodes: int | None, length: float) -> None:
        self.nodes, weights = quadrature(domain, nodes, length)
        self.intensity = np.stack([weights * model.papangelou(self.nodes, pattern) for pattern in data])
        """Times the weights of the nodes, (m, N)."""
        alone = weights * model.papangelou(self.nodes, np.empty((0, domain.dim)))
        if not alone.sum() > 0:
            raise InputError(f"{model.name} has no points at all: its intensity is zero.")
        self.shares = alone / alone.sum()
        """Of the points of a pattern that would lie near each node if they were alone, (N,)."""


def spacing(domain: Domain, model: Any) -> float:
    """(|W|/E)^(1/d), about how far points are apart, E the number of points that are expected."""
    nodes, weights = quadrature(domain)
    expected = float(weights @ model.papangelou(nodes, np.empty((0, domain.dim))))
    measure: Array = weights.sum()
    return float((measure / max(expected, 1.0)) ** (1.0 / domain.dim))

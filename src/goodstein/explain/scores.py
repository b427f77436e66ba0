r"""Views of a model without a sampler: by Stein's identity, how far its score says that the data are off.

With (y, a, G) the features of the domain's own operator for one column, E_q[a φ(y) + G φ′(y)] = 0 for every
function φ. In v = (y − median)/scale:

* φ = 1: location. For data that are the model moved by Δ the mean is −Δ E s² to first order.
* φ = v: spread. For the model stretched by 1 + ε the mean of f = s v + v′ is −ε E f².
* φ_j = v_k and φ_k = v_j: the correlation of two columns.
* φ even and of mean zero: skewness; φ odd and of mean slope zero: tails. Both are bounded, and blind to first
  order to a normal model's location and spread, which the others see.

What is told is −mean f / mean f², the size of the change that the score implies, along the change that f
itself is the derivative of. It is an approximation, and its sentences say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from goodstein.domains import Domain
from goodstein.explain.columns import MOST
from goodstein.explain.views import Look, Sentence, Told, View, quoted
from goodstein.operators.views.columns import selected
from goodstein.operators.views.moments import Moments
from goodstein.types import Array


class Scores(Look):
    """Location, spread, skewness and tails of each column, and correlations on R^d and boxes."""

    def __init__(self, domain: Domain, names: Sequence[str]) -> None:
        self._domain, d = domain, len(names)
        flat = domain.basis is None and domain.flat
        self._pairs = list(combinations(range(d), 2)) if flat and 1 < d <= MOST else []
        self.views = [
            View(f"{kind} of {name}", kind, (name,), sentence(quoted(name)), unit)
            for kind, sentence, unit in KINDS
            for name in names
        ]
        self.views += [
            View(
                f"correlation of {names[j]}, {names[k]}",
                "correlation",
                (names[j], names[k]),
                _correlation(f"{quoted(names[j])} and {quoted(names[k])}"),
                "implied change of the correlation",
            )
            for j, k in self._pairs
        ]

    def measure(self, observations: Any, *, influence: bool = True) -> tuple[Array, Array]:
        raise NotImplementedError  # the model has a part in it

    def under(self, model: Any, observations: Array) -> tuple[Array, Array]:
        """Implied changes, (v,), and their influences, (n, v)."""
        inner = Moments(0).on(self._domain).square(model, self._domain, observations)
        found: list[list[Array]] = [[], [], [], []]
        scaled = []
        for j in range(self._domain.dim):
            one = selected(inner, self._domain, (j,))
            y, a = one.points[:, 0], one.value[:, 0]
            g = np.ones(len(y)) if one.weight is None else one.weight
            middle = np.median(y)
            scale = 1.4826 * float(np.median(np.abs(y - middle))) or float(y.std()) or 1.0
            v, a = (y - middle) / scale, a * scale
            bell, wide = np.exp(-0.5 * v**2), np.exp(-0.25 * v**2)
            slope = wide * (1.0 - 0.5 * v**2)
            found[0].append(a)
            found[1].append(a * v + g)
            found[2].append(a * (bell - bell.mean()) - g * v * bell)
            found[3].append(a * v * (wide - slope.mean()) + g * (slope - slope.mean()))
            scaled.append((v, a))
        crossed = [scaled[j][1] * scaled[k][0] + scaled[k][1] * scaled[j][0] for j, k in self._pairs]
        f = np.column_stack([*(column for group in found for column in group), *crossed])
        size = np.maximum((f**2).mean(axis=0), 1e-300)
        sign = np.repeat([-1.0, -1.0, 1.0, 1.0, -2.0], [self._domain.dim] * 4 + [len(self._pairs)])
        values = sign * f.mean(axis=0) / size
        return values, sign * (f - f.mean(axis=0)) / size


def _location(column: str) -> Sentence:
    def sentence(told: Told) -> str:
        shift = f"{told.figure(told.effect)} of its scale {told.interval}"
        return f"location of {column}: the score implies a shift of about {shift}"

    return sentence


def _spread(column: str) -> Sentence:
    def sentence(told: Told) -> str:
        ends = f"({_factor(told.low)} to {_factor(told.high)})"
        return f"spread of {column}: the score implies about {_factor(told.effect)} × the model's {ends}"

    return sentence


def _factor(change: float) -> str:
    return f"{max(1.0 + change, 0.0):.2f}"


def _other(what: str) -> Callable[[str], Sentence]:
    def of(column: str) -> Sentence:
        return lambda told: (
            f"{what} of {column}: {'other than' if told.fails else 'as'} the model's, by its score"
        )

    return of


def _correlation(columns: str) -> Sentence:
    def sentence(told: Told) -> str:
        change = f"{told.effect:+.2f} ({told.low:+.2f} to {told.high:+.2f})"
        return f"correlation of {columns}: the score implies a change of about {change}"

    return sentence


KINDS = (
    ("mean", _location, "implied shift, in scales of the column"),
    ("spread", _spread, "implied relative change"),
    ("skewness", _other("skewness"), "standardised Stein moment"),
    ("tails", _other("tails"), "standardised Stein moment"),
)

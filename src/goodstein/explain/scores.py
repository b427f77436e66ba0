r"""Views of a model without a sampler: by Stein's identity, how far its score says that the data are off.

With (y, a, G) the features of the domain's own operator for one column, E_q[a φ(y) + G φ′(y)] = 0 for every
function φ. In v = (y − median)/scale:

* φ = 1: location. For data that are the model moved by a small Δ the mean is −Δ E s².
* φ = v: spread. For the model stretched by 1 + ε, ε small, the mean of f = s v + v′ is −ε E f².
* φ_j = v_k and φ_k = v_j: the correlation of two columns.
* φ even and of mean zero: skewness; φ odd and of mean slope zero: tails. Both are bounded, and blind to first
  order to a normal model's location and spread, which the others see.

How far location, spread and correlation are off is estimated by :mod:`goodstein.explain.affine`, and views
fail by these estimates and their influences. Where that is not possible they fail by the means: sentences
give the direction alone, and numbers are −mean f / mean f², which is the change to first order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from goodstein.domains import Domain
from goodstein.explain.affine import Effects
from goodstein.explain.columns import MOST
from goodstein.explain.views import Look, Sentence, Told, View, quoted
from goodstein.operators.views.columns import selected
from goodstein.operators.views.moments import Moments
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array

KINDS = ("mean", "spread", "skewness", "tails")
UNITS = {"mean": "units of the column", "spread": "ratio", "correlation": "difference of correlations"}
"""Units of effects that can be solved for."""


class Scores(Look):
    """Location, spread, skewness and tails of each column, and correlations on R^d and boxes.

    With `scales`, the standard deviations of the columns, (d,), effects are those of
    :mod:`goodstein.explain.affine`.
    """

    def __init__(self, domain: Domain, names: Sequence[str], scales: Array | None = None) -> None:
        self._domain, d = domain, len(names)
        flat = domain.basis is None and domain.flat
        self._pairs = list(combinations(range(d), 2)) if flat and 1 < d <= MOST else []
        looked_at: list[tuple[str, tuple[int, ...]]] = [(kind, (j,)) for kind in KINDS for j in range(d)]
        looked_at += [("correlation", pair) for pair in self._pairs]
        parts = scales is not None and domain.basis is not None
        self.views = []
        for kind, places in looked_at:
            columns = tuple(names[j] for j in places)
            said = " and ".join(quoted(f"log({name}/others)" if parts else name) for name in columns)
            scale = float(scales[places[0]]) if scales is not None and kind in UNITS else None
            name, sentence = f"{kind} of {', '.join(columns)}", _sentence(kind, said, scale)
            unit = "standardised Stein moment" if scale is None else UNITS[kind]
            view = View(name, kind, columns, sentence, unit, "ratio" if unit == UNITS["spread"] else "plain")
            self.views.append(view)

    def measure(self, observations: Any, *, influence: bool = True) -> tuple[Array, Array]:
        raise NotImplementedError  # the model has a part in it

    def under(self, model: Any, observations: Array) -> tuple[Array, Array]:
        """Changes to first order, (v,), and their influences, (n, v)."""
        return self._of(Moments(0).on(self._domain).square(model, self._domain, observations))

    def told(self, solved: Effects) -> tuple[Array, Array]:
        """Effects, (v,), and influences, (n, v), with skewness and tails of the rows that were moved back."""
        d, moments = self._domain.dim, self._of(solved.features)
        value, influence = (
            np.concatenate([own[..., : 2 * d], other[..., 2 * d : 4 * d], own[..., 2 * d :]], axis=-1)
            for own, other in zip(solved[:2], moments, strict=True)
        )
        return value[: len(self.views)], influence[:, : len(self.views)]

    def _of(self, inner: SteinFeatures) -> tuple[Array, Array]:
        """The same of features."""
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


def _sentence(kind: str, columns: str, scale: float | None) -> Sentence:
    head = f"{'location' if kind == 'mean' else kind} of {columns}"

    def sentence(told: Told) -> str:
        if scale is None:
            side = "other than" if kind not in UNITS else "above" if told.more else "below"
            return f"{head}: {side if told.fails else 'as'} the model's, by its score"
        if kind == "spread":
            return f"{head}: the score implies about {told.times}"
        change = f"{told.figure(told.effect)} {told.interval}"
        if kind == "mean":
            change += f", {told.effect / scale:.2g} standard deviations"
        return f"{head}: the score implies a {'shift' if kind == 'mean' else 'change'} of about {change}"

    return sentence

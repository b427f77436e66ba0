r"""Views of discrete states: shares of levels at each site, and how sites go together.

The association of two sites is that of Cramér's kind for agreement,

.. math:: (P(x_j = x_k) - \sum_a p_{ja} p_{ka}) / \sqrt{(1 - \sum_a p_{ja}^2)(1 - \sum_a p_{ka}^2)},

agreement beyond chance, by the data's own shares: of two levels it is their correlation, whatever the
margins. Where the model has associations, the slope of the data's on the model's over all pairs says how
strong they are on the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goodstein.domains import Lattice
from goodstein.explain.columns import MOST
from goodstein.explain.views import Look, Told, View, figure, quoted, share_of, value_of
from goodstein.types import Array

TOGETHER = 0.05
"""Root mean square association from which the model's strength is looked at."""


class States(Look):
    """Shares of levels at every site, associations of pairs of sites, and their strength."""

    def __init__(self, draws: Array, domain: Lattice, names: Sequence[str]) -> None:
        self._domain, d, levels = domain, len(names), domain.levels
        # Of two levels one share is enough.
        self._levels = range(1, 2) if len(levels) == 2 else range(len(levels))
        self.views = views = [
            View(
                f"{name} = {figure(levels[a])}",
                "shares",
                (name,),
                share_of(f"with {quoted(name)} = {figure(levels[a])}"),
                "share of rows",
                variance="known",
                share=True,
            )
            for name in names
            for a in self._levels
        ]
        self._first, self._second = np.triu_indices(d, 1)
        self._each, self._slope = d <= MOST, None
        if d < 2:
            return
        if self._each:
            views += [
                View(
                    f"association of {names[j]}, {names[k]}",
                    "association",
                    (names[j], names[k]),
                    value_of(f"association of {quoted(names[j])} and {quoted(names[k])}"),
                    "agreement beyond chance",
                )
                for j, k in zip(self._first.tolist(), self._second.tolist(), strict=True)
            ]
        of_model = self._associations(draws, influence=False)[0]
        whole = float(np.sqrt((of_model**2).mean()))
        if whole > TOGETHER:
            self._slope = of_model / (of_model @ of_model)
            views.append(
                View(
                    "strength of association", "strength", tuple(names), _strength, "multiple of the model's"
                )
            )
        else:
            self._slope = np.full(len(of_model), 1.0 / len(of_model))
            mean = value_of("mean association of all pairs")
            views.append(
                View("association of all", "strength", tuple(names), mean, "agreement beyond chance")
            )

    def measure(self, observations: Array, *, influence: bool = True) -> tuple[Array, Array]:
        codes = self._domain.encode(observations)
        counted = np.stack([codes == a for a in self._levels], axis=2).reshape(len(codes), -1).astype(float)
        shares = counted.mean(axis=0)
        found, parts = [shares], [counted - shares]
        if self._slope is not None:
            values, psi = self._associations(observations, influence=influence)
            if self._each:
                found.append(values)
                parts.append(psi)
            found.append(np.array([values @ self._slope]))
            parts.append((psi @ self._slope)[:, None])
        if not influence:
            return np.concatenate(found), np.empty((0, len(self.views)))
        return np.concatenate(found), np.hstack(parts)

    def _associations(self, observations: Array, *, influence: bool) -> tuple[Array, Array]:
        codes = self._domain.encode(observations)
        n, levels, j, k = len(codes), len(self._domain.levels), self._first, self._second
        is_level = np.stack([codes == a for a in range(levels)], axis=2).astype(float)  # (n, d, L)
        p = is_level.mean(axis=0)
        flat = is_level.reshape(n, -1)
        joint = (flat.T @ flat / n).reshape(*p.shape, *p.shape)
        agree = np.einsum("jaka->jk", joint)[j, k]
        beyond = agree - (p @ p.T)[j, k]
        vary = np.maximum(1.0 - (p**2).sum(axis=1), 1e-12)
        scale = np.sqrt(vary[j] * vary[k])
        values = beyond / scale
        if not influence:
            return values, np.empty((0, len(values)))
        psi = np.empty((n, len(values)))
        squares = -2.0 * (np.einsum("nja,ja->nj", is_level, p) - (p**2).sum(axis=1))
        own = squares / (2.0 * vary)
        for pair, (one, other) in enumerate(zip(j, k, strict=True)):
            same = (codes[:, one] == codes[:, other]) - p[other][codes[:, one]] - p[one][codes[:, other]]
            psi[:, pair] = (same - same.mean()) / scale[pair] - values[pair] * (own[:, one] + own[:, other])
        return values, psi


def _strength(told: Told) -> str:
    head = (
        f"associations are {'stronger' if told.more else 'weaker'}"
        if told.fails
        else "strength of associations"
    )
    return f"{head}: on the whole {told.figure(told.effect)} × the model's {told.interval}"

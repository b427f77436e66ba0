"""Places with too many or too few rows: local averages around points of the model and of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from goodstein.explain.explanation import PLACES
from goodstein.explain.views import Look, Sentence, Told, View, figure, quoted
from goodstein.numerics.distances import Placed, placed, squared_distances
from goodstein.numerics.ranges import cut
from goodstein.types import Array

DRAWN, OBSERVED = 16, 32
"""Places that are draws of the model, and rows."""

AT_ONCE = 256
"""Draws whose distances are taken at a time."""

WIDTHS = (0.25, 0.6)
"""Widths of a place, in standard deviations of the model for each column."""


class Places(Look):
    r"""How many rows lie around a place a, compared with the model: the mean of exp(−‖x − a‖²/2ℓ²).

    Distances are in units of the spread of the model's columns. Of a place that is a row itself, that row
    does not count. Ratios of the data's mean to the model's are reported.
    """

    def __init__(
        self,
        observations: Array,
        draws: Array,
        names: Sequence[str],
        rng: np.random.Generator,
        embedded: Callable[[Array], Array],
    ) -> None:
        self._embedded = embedded
        drawn = embedded(draws)
        quarter, three = np.quantile(drawn, [0.25, 0.75], axis=0)
        scale = (three - quarter) / 1.35
        self._scale = np.where(scale > 0, scale, np.maximum(drawn.std(axis=0), 1e-12))
        self._widths = np.array(WIDTHS) * np.sqrt(drawn.shape[1])
        n = len(observations)
        self._own = rng.choice(n, size=min(OBSERVED, n // 4), replace=False)
        chosen = np.concatenate([draws[:DRAWN], observations[self._own]])
        self._centres = embedded(chosen) / self._scale
        self._middle = np.median(self._centres, axis=0)
        self._about = placed(self._centres, self._middle, float(self._widths[0]))
        self.views = [
            View(
                f"place {k}{size}",
                PLACES,
                tuple(names),
                _near(point[None, :], names),
                "ratio",
                "multiple",
                variance="least",
                share=True,
            )
            for size in ("", ", wide")
            for k, point in enumerate(chosen)
        ]
        self._observations, self._chosen, self._names = observations, chosen, names

    def measure(self, observations: Array, *, influence: bool = True) -> tuple[Array, Array]:
        x = placed(self._embedded(observations) / self._scale, self._middle, float(self._widths[0]))
        n, own = len(x), observations is self._observations
        if not (influence or own):
            # Of many draws a few at a time, so that they stay in the cache.
            parts = [self._near(x[rows]).sum(axis=0) for rows in cut(0, n, AT_ONCE)]
            return np.asarray(np.sum(parts, axis=0) / n), np.empty((0, len(self.views)))
        near = self._near(x)
        if own:
            for first in range(DRAWN, near.shape[1], len(self._chosen)):
                near[self._own, np.arange(first, first + len(self._own))] = np.nan
        values = np.nanmean(near, axis=0) if own else near.mean(axis=0)
        if not influence:
            return values, np.empty((0, len(values)))
        near -= values
        return values, np.nan_to_num(near, copy=False) if own else near

    def _near(self, x: Placed) -> Array:
        """exp(−‖x − a‖²/2ℓ²) for all places, narrow ones first, (n, v)."""
        far = x.squared_distances(self._about)
        near = np.empty((len(far), len(self.views)))
        for width, part in zip(self._widths, np.split(near, len(self._widths), axis=1), strict=True):
            np.exp(np.multiply(far, -0.5 / width**2, out=part), out=part)
        return near

    def together(self, places: Sequence[int]) -> list[list[int]]:
        """Places that touch each other, or that are linked by others that do, are one."""
        index = np.array(places, dtype=np.intp)
        centres, widths = self._centres[index % len(self._chosen)], self._widths[index // len(self._chosen)]
        touching = squared_distances(centres, centres) <= (widths[:, None] + widths) ** 2
        label = np.arange(len(index))
        for k in range(len(index)):
            label[np.isin(label, label[touching[k]])] = label[k]
        return [index[label == one].tolist() for one in dict.fromkeys(label.tolist())]

    def sentence(self, places: Sequence[int]) -> Sentence:
        # A wide place reaches beyond what a narrow one is about, and its centre may lie where others are few.
        width, centre = np.divmod(np.array(places), len(self._chosen))
        return _near(self._chosen[centre[width == width[0]]], self._names)


def _near(points: Array, names: Sequence[str]) -> Sentence:
    """That rows are too many or too few near a point, or near several, of which the first is told of."""
    low, high = ([figure(value) for value in side(axis=0)[:4]] for side in (points.min, points.max))
    shown = ", ".join(
        f"{quoted(name)} = {least if least == most else f'{least} to {most}'}"
        for name, least, most in zip(names[:4], low, high, strict=False)
    )
    where = shown + (", …" if len(names) > 4 else "")

    def sentence(told: Told) -> str:
        ends = f"({_times(told.low)} to {_times(told.high)})"
        head = f"too {'many' if told.more else 'few'} rows near" if told.fails else "rows near"
        least = "more than " if told.least else ""
        return f"{head} {where}: {least}{_times(told.effect)} × as many as the model says {ends}"

    return sentence


def _times(ratio: float) -> str:
    """A ratio, without powers of ten."""
    return f"{ratio:,.0f}" if ratio >= 1000 else figure(ratio)

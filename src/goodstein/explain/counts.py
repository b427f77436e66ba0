r"""Views of counts: how many zeros there are, how much counts vary, and how many of them are large.

The dispersion of a column is its variance, compared with the model's by the logarithm of their ratio; a count
is large where the model has one in a hundred that are larger. Shares of zeros and of large counts are means
of indicators, whose variance follows from the model's share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goodstein.explain.views import Look, Sentence, Told, View, quoted
from goodstein.types import Array

LARGE = 0.99
"""The quantile of the model's counts beyond which they are large."""
SEEN = 0.002
"""Share of a model's draws that must be zeros, and of others, for the number of zeros to be looked at."""


class Counted(Look):
    """Zeros, dispersion and large counts of every column."""

    def __init__(self, draws: Array, names: Sequence[str]) -> None:
        zeros = (draws == 0).mean(axis=0)
        self._zeros = np.flatnonzero((zeros > SEEN) & (zeros < 1.0 - SEEN))
        self._vary = np.flatnonzero(np.ptp(draws, axis=0) > 0)
        self._limits = np.quantile(draws, LARGE, axis=0)
        self._large = np.flatnonzero((draws > self._limits).mean(axis=0) > SEEN)
        unit = "multiple of the model's"
        above = [
            f"counts above {limit:g} in {quoted(name)}"
            for limit, name in zip(self._limits, names, strict=True)
        ]
        self.views = [
            *(
                View(
                    f"zeros of {names[j]}",
                    "zeros",
                    (names[j],),
                    _many(f"zeros in {quoted(names[j])}"),
                    unit,
                    "multiple",
                    "known",
                    share=True,
                )
                for j in self._zeros.tolist()
            ),
            *(
                View(
                    f"dispersion of {names[j]}",
                    "dispersion",
                    (names[j],),
                    _dispersion(quoted(names[j])),
                    "ratio of variances",
                    "ratio",
                )
                for j in self._vary.tolist()
            ),
            *(
                View(
                    f"large counts of {names[j]}",
                    "large counts",
                    (names[j],),
                    _many(above[j]),
                    unit,
                    "multiple",
                    "known",
                    share=True,
                )
                for j in self._large.tolist()
            ),
        ]

    def measure(self, observations: Array, *, influence: bool = True) -> tuple[Array, Array]:
        zeros = (observations[:, self._zeros] == 0).astype(np.float64)
        large = (observations > self._limits)[:, self._large].astype(np.float64)
        squares = (observations[:, self._vary] - observations[:, self._vary].mean(axis=0)) ** 2
        # Of constant columns the variance has no logarithm: it is that of a single count that differs.
        variance = np.maximum(squares.mean(axis=0), 1.0 / len(observations) ** 2)
        values = np.concatenate([zeros.mean(axis=0), np.log(variance), large.mean(axis=0)])
        if not influence:
            return values, np.empty((0, len(values)))
        parts = [zeros - zeros.mean(axis=0), squares / variance - 1.0, large - large.mean(axis=0)]
        return values, np.hstack(parts)


def _many(what: str) -> Sentence:
    """That there are so many times as many as the model says."""

    def sentence(told: Told) -> str:
        head = f"too {'many' if told.more else 'few'} {what}" if told.fails else what
        shown = told._replace(low=max(told.low, 0.0))  # no share is negative, whatever its error says
        return f"{head}: {told.figure(told.effect)} × as many as the model says {shown.interval}"

    return sentence


def _dispersion(column: str) -> Sentence:
    def sentence(told: Told) -> str:
        head = f"counts of {column} vary too {'much' if told.more else 'little'}" if told.fails else column
        return f"{head}: their variance is {told.times}"

    return sentence

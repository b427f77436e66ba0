"""The nonparametric bootstrap of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodstein.errors import InputError
from goodstein.estimate.minimise import Objective, minimise
from goodstein.text import as_html, as_text
from goodstein.types import Array

MOST_LINES = 24
"""Parameters in a printed table."""


def shortened(lines: list[list[str]], where: str) -> list[list[str]]:
    """The first lines of a long table, and where the rest is."""
    if len(lines) <= MOST_LINES:
        return lines
    left = len(lines) - MOST_LINES + 1
    return [*lines[: MOST_LINES - 1], [f"({left} more in {where})", *[""] * (len(lines[0]) - 1)]]


@dataclass(frozen=True)
class Resampled:
    """The parameters of the k-th resample; its random numbers depend on (seed, k) alone.

    The observations are counted, not copied, so that nothing of them is computed anew.
    """

    objective: Objective
    start: Array
    max_iterations: int
    seed: int

    def __call__(self, k: int) -> Array | None:
        """The parameters, or None where there is no fit."""
        scores = self.objective.scores
        rng = np.random.default_rng([self.seed, k])
        counts = np.bincount(rng.integers(scores.n, size=scores.n), minlength=scores.n).astype(np.float64)
        try:
            minimum = minimise(self.objective, [self.start], self.max_iterations, counts)
            if not minimum.converged:
                return None
            found = scores.parameters(minimum.theta)
        except InputError:
            return None
        return np.concatenate([np.ravel(np.asarray(value, dtype=np.float64)) for value in found.values()])


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """What the estimates would have been for other data of the same kind.

    Attributes
    ----------
    parameters
        The estimates themselves, by name.
    names
        Names of the columns of :attr:`draws`.
    draws
        The estimates of every resample that could be fitted, (B, p).
    failed
        Number of resamples that could not be fitted, which are left out.
    """

    parameters: Mapping[str, Any] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    draws: Array = field(repr=False)
    failed: int

    @property
    def standard_errors(self) -> Mapping[str, Any]:
        """Standard deviations of the draws by name, in the shape of the parameters."""
        from goodstein.estimate.fit import _shaped

        return _shaped(self.draws.std(axis=0, ddof=1), self.parameters)

    @property
    def covariance(self) -> Array:
        """Covariance of the draws, (p, p)."""
        return np.atleast_2d(np.cov(self.draws, rowvar=False))

    def confidence_interval(self, level: float = 0.95) -> Mapping[str, Any]:
        """Percentile intervals by name."""
        from goodstein.estimate.fit import Interval, _shaped, check_level

        tail = (1 - check_level(level)) / 2
        low, high = (
            _shaped(values, self.parameters) for values in np.quantile(self.draws, [tail, 1 - tail], axis=0)
        )
        return {name: Interval(low[name], high[name]) for name in self.parameters}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        errors = self.draws.std(axis=0, ddof=1)
        low, high = np.quantile(self.draws, [0.025, 0.975], axis=0)
        lines = [
            [name, f"{e:.2g}", f"{a:.4g}", f"{b:.4g}"]
            for name, e, a, b in zip(self.names, errors, low, high, strict=True)
        ]
        return ["parameter", "std. error", "2.5 %", "97.5 %"], shortened(lines, ".draws")

    def _remarks(self) -> list[str]:
        remark = f"{len(self.draws)} resamples"
        return [f"{remark}; {self.failed} more could not be fitted." if self.failed else f"{remark}."]

    def __str__(self) -> str:
        header, lines = self._table()
        return "\n".join(["Bootstrap", "", *as_text(header, lines), "", f"  {self._remarks()[0]}"])

    def _repr_html_(self) -> str:
        return as_html("Bootstrap", *self._table(), self._remarks())

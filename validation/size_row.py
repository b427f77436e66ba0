"""One row of the level table: a model that is true, and a test that must not reject it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import goodstein as gs

Sampler = Callable[[int, np.random.Generator], Any]

SIZES = (50, 200)
DEFAULT_NULL = gs.WildBootstrap()


@dataclass(frozen=True)
class Row:
    """One test of a true model at one sample size."""

    group: str
    case: str
    n: int
    model: Any = None
    operator: Any = None
    kernel: Any = None
    null: Any = DEFAULT_NULL
    draw: Sampler | None = None
    """Sampler of the data; None for the model's own."""
    fit: Callable[[Any], Any] | None = None
    """Fits the model that is tested to the data; `model` then only draws them."""
    test: str = ""
    """What is tested, where operator and kernel do not say it well."""
    audit: bool = True
    run: Callable[[Any, np.random.Generator], float] | None = None
    """The p-value of data, for tests that are no call of `ksd_test`; `test` and `null` then only name it."""
    calibration: str = ""
    """The null distribution, where `null` does not say it well."""

    @property
    def name(self) -> str:
        """The row's identity, which also seeds its trials."""
        return " | ".join([self.group, self.case, self.test_name, self.null_name, f"n={self.n}"])

    @property
    def test_name(self) -> str:
        """Operator and kernel as far as they are not the defaults."""
        parts = [repr(part) for part in (self.operator, self.kernel) if part is not None]
        return self.test or ", ".join(parts) or "default"

    @property
    def null_name(self) -> str:
        """The null method, its defaults left out."""
        return self.calibration or _null_name(self.null)

    @property
    def seed(self) -> int:
        """The first half of the seed of every trial."""
        return zlib.crc32(self.name.encode())

    def pvalue(self, trial: int) -> float:
        """The p-value of one trial; it depends on nothing but the row's name and the number."""
        rng = np.random.default_rng([self.seed, trial])
        x = self.draw(self.n, rng) if self.draw is not None else self.model.sample(self.n, rng)
        if self.run is not None:
            return self.run(x, rng)
        result = gs.ksd_test(
            x,
            self.model if self.fit is None else self.fit(x),
            operator=self.operator,
            kernel=self.kernel,
            null=self.null,
            workers=1,
            rng=rng,
            audit=self.audit,
        )
        return result.pvalue

    def refused(self) -> bool:
        """Whether the audit, if it is asked, refuses this test."""
        try:
            replace(self, audit=True).pvalue(0)
        except gs.SteinIdentityError:
            return True
        return False


def _null_name(null: Any) -> str:
    if isinstance(null, gs.WildBootstrap):
        if null.flip < 0.5:
            return f"wild, flip {null.flip:g}"
        return f"wild, {null.signs} signs"
    if isinstance(null, gs.ParametricBootstrap):
        return f"parametric bootstrap, B={null.n_resamples}"
    if isinstance(null, gs.MonteCarlo):
        return f"Monte Carlo, B={null.n_resamples}"
    return f"spectral, B={null.n_resamples}"

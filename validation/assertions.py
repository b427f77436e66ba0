"""How often `testing.assert_samples` fails for samplers that are right, at rates that can be measured."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from dependence import autoregression
from tables import RNG, Array, Part, Table, true

import goodstein as gs
from goodstein.families import Normal
from goodstein.pipeline.compose import compose
from goodstein.testing.samples import _of_parts, combined, parts_for

RATES = (0.01, 0.001)


def asserted(data: Any, model: Any, *, rng: RNG, rate: float) -> float:
    """The p-value that is compared with the rate."""
    return combined(_of_parts(compose(data, model), parts_for(rate), 1, rng)[0])


def drawn(n: int, rng: RNG) -> Array:
    """x with density ∝ (1 + x²)^(-3), whose score is bounded, and y = log of an exponential variable."""
    return np.column_stack([rng.standard_t(5, n) / np.sqrt(5), np.log(rng.exponential(size=n))])


def skewed_score(x: Array) -> Array:
    """Of these."""
    return np.column_stack([-6 * x[:, 0] / (1 + x[:, 0] ** 2), 1 - np.exp(x[:, 1])])


def rates(rate: float) -> Table:
    def scored(score: Any, d: int, name: str) -> gs.Model:
        return gs.Model(score=score, domain=gs.Euclidean(d), batched=True, name=name)

    tests = {f"assert_samples at {rate:g}": partial(asserted, rate=rate)}
    plane, skewed = scored(lambda x: -x, 2, "normal"), scored(skewed_score, 2, "skewed")
    line = scored(lambda x: -x, 1, "normal")
    cases: list[tuple[str, gs.Model, int, Any]] = [
        ("R², independent", plane, 200, Normal([0, 0]).sample),
        ("R², skewed, independent", skewed, 200, drawn),
        ("R¹, AR(1), coefficient 0.7", line, 600, partial(autoregression, 0.7)),
    ]
    if rate < RATES[0]:
        cases = cases[1:]
    parts: list[Part] = [
        true({name: model}, tests, (n,), sample_null=sample, level=rate) for name, model, n, sample in cases
    ]
    return Table(
        f"Assertions about samplers, one false alarm in {round(1 / rate)}",
        "`testing.assert_samples` with draws of samplers that are right. Its rate of false alarms is a "
        "product of small p-values of independent parts: two of them here, four at a rate of 10⁻⁶. Below the "
        "rate, because p-values have a margin.",
        parts,
        trials=1500 if rate == RATES[0] else 3000,
        notes={"*": "Below its rate by design: p-values of parts are multiplied by 1.25."},
    )


def size_tables() -> list[Table]:
    return [rates(rate) for rate in RATES]

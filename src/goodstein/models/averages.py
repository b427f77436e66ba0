"""Models whose score is an average over something else: latent variables, or observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy.typing as npt

from goodstein.constraints import asked
from goodstein.domains.base import Domain
from goodstein.errors import ScoreError
from goodstein.models.model import Model
from goodstein.numerics.frameworks import NumPy, framework_of, frameworks
from goodstein.types import Array

ROWS = 1 << 18
"""Pairs that are handed to a user's function at once, which bounds the memory."""


def evaluate(function: Callable[..., Any], where: str, *arguments: npt.NDArray[Any]) -> Array:
    """Call a function of two arrays, written with NumPy or JAX, in double precision."""
    values = asked(function, where, *(argument.copy() for argument in arguments), error=ScoreError)
    if framework_of(values) == "jax":
        # JAX rounds NumPy arrays to single precision unless it is told otherwise.
        (framework,) = frameworks("jax")
        with framework.context():
            values = framework.numpy(function(*map(framework.array, arguments)))
    try:
        return NumPy().numpy(values)
    except (TypeError, ValueError) as error:
        raise ScoreError(f"{where} must return an array of real numbers: {error}.") from None


class Averaged(Model):
    """A model whose score is such an average: on a part of its domain it stays the same."""

    def restricted(self, domain: Domain, name: str, sample: Callable[..., Any] | None) -> Self:
        """The same model on a part of its domain: no score changes, and draws outside are rejected."""
        moved = self.on(domain)
        moved._name = name
        if sample is not None:
            moved._functions = {**self._functions, "sample": sample}
        return moved

"""A user's function of an array of numbers, such as a hazard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goodstein.errors import InputError, ResourceError, SamplingError, ScoreError
from goodstein.numerics.frameworks import Jax, framework_of
from goodstein.types import Array

EXPECTED = "It must take an array of times (n,) and return one number for each"


class Elementwise:
    """A function (n,) to (n,), written with NumPy or JAX; a single number stands for a constant.

    Messages call it ``what``.
    """

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        self.function, self.what = function, what
        self._slope: Callable[[Any], Any] | None = None

    def __call__(self, t: Array) -> Array:
        """Its values, (n,), in double precision; they may be infinite or NaN."""
        try:
            with np.errstate(all="ignore"):
                values = self.function(t.copy())
                if framework_of(values) == "jax":
                    framework = Jax()
                    with framework.context():
                        values = framework.numpy(self.function(framework.array(t)))
                array = np.asarray(values)
        except (InputError, SamplingError, ResourceError, MemoryError):
            raise
        except Exception as error:
            reason = f"{self.what} failed on an array of {len(t)} times: {type(error).__name__}: {error}."
            remedy = f"{EXPECTED}; a function of one number can be wrapped in numpy.vectorize."
            raise ScoreError(reason, remedy=remedy) from error
        if array.dtype.kind not in "fiu" or array.shape not in ((), t.shape, (len(t), 1)):
            found = f"returned {array.dtype} values of shape {array.shape} for {len(t)} times."
            raise ScoreError(f"{self.what} {found}", remedy=f"{EXPECTED}.")
        full = np.broadcast_to(array, t.shape) if array.ndim == 0 else array.reshape(t.shape)
        return np.array(full, dtype=np.float64)

    def is_jax(self, t: Array) -> bool:
        """Whether it returns JAX arrays, and so can be differentiated automatically."""
        with np.errstate(all="ignore"):
            return framework_of(self.function(t[:1].copy())) == "jax"

    def log_derivative(self, t: Array) -> Array:
        """f′/f of a JAX function, (n,)."""
        import jax.numpy as jnp

        framework = Jax()
        with framework.context():
            if self._slope is None:
                self._slope = framework.gradient(lambda x: jnp.log(self.function(x)))
            return framework.numpy(self._slope(framework.array(t)))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_slope": None}  # a compiled function cannot be pickled

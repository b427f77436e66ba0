"""What NumPy, JAX and PyTorch each need: arrays in, arrays out, a map over rows, a gradient.

Neither JAX nor PyTorch is imported here unless it has been already, by whoever made the
object that needs it.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import numpy as np

from goodstein.numerics.own_arrays import with_own_arrays
from goodstein.types import Array

Function: TypeAlias = Callable[[Any], Any]


class Framework(ABC):
    """How to call a function that is written for one array library, which messages call ``name``."""

    name: str
    differentiable = True
    """Whether :meth:`gradient` is available."""

    def context(self) -> AbstractContextManager[Any]:
        """Return a context in which everything is to be evaluated."""
        return nullcontext()

    @abstractmethod
    def array(self, x: Array) -> Any:
        """Convert float64 NumPy input to what the function expects."""

    def numpy(self, values: Any) -> Array:
        """What the function returned as a float64 NumPy array; complex numbers and objects are refused."""
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"returned {array.dtype} values where real numbers are expected")
        return array.astype(np.float64)

    @abstractmethod
    def over_rows(self, function: Function) -> Any:
        """Turn a function of one row into one of all rows."""

    def own(self, function: Function) -> Function:
        """Return the same function, with what is around it such that the framework can use it."""
        return function

    def compiled(self, function: Function) -> Function:
        """Return the same function, made faster where the framework can."""
        return function

    def gradient(self, function: Function) -> Any:
        """Gradients of a batched, row-independent function (n, d) to (n,), (n, d)."""
        raise NotImplementedError(f"{self.name} has no automatic differentiation.")


class NumPy(Framework):
    """Plain NumPy functions; also anything else that takes arrays and returns numbers."""

    name = "numpy"
    differentiable = False

    def array(self, x: Array) -> Any:
        return x.copy()  # so that a function that works in place does no harm

    def over_rows(self, function: Function) -> Any:
        return lambda x: [function(row) for row in x]


class Jax(Framework):
    """JAX functions, evaluated in double precision whatever the global setting is."""

    name = "JAX"

    def context(self) -> AbstractContextManager[Any]:
        import jax

        if not hasattr(jax, "enable_x64"):  # JAX 0.8 moved it out of jax.experimental
            import jax.experimental as jax
        context: AbstractContextManager[Any] = jax.enable_x64(True)
        return context

    def array(self, x: Array) -> Any:
        import jax.numpy as jnp

        return jnp.asarray(x)

    def own(self, function: Function) -> Function:
        import jax

        return function if jax.config.jax_enable_x64 else with_own_arrays(function)

    def over_rows(self, function: Function) -> Any:
        import jax

        return jax.vmap(function)

    def compiled(self, function: Function) -> Function:
        """``jax.jit``, or the function itself where that cannot trace it.

        One compilation for each shape takes a fraction of the time that JAX would need to
        compile every operation for itself.
        """
        import jax

        fast: Function = jax.jit(function)

        def attempted(x: Any) -> Any:
            try:
                return fast(x)
            except Exception:
                # It may branch on values, or leave JAX in between; what is truly wrong is raised here.
                return function(x)

        return attempted

    def gradient(self, function: Function) -> Any:
        """``jit(grad)`` of the sum, which for independent rows is ``vmap(grad)``."""
        import jax

        return jax.jit(jax.grad(lambda x: function(x).sum()))


class Torch(Framework):
    """PyTorch functions, in double precision, or in single where the function insists on it."""

    def __init__(self, single: bool = False) -> None:
        self.single = single
        self.name = "torch float32" if single else "torch"

    def array(self, x: Array) -> Any:
        import torch

        return torch.tensor(x, dtype=torch.float32 if self.single else torch.float64)

    def numpy(self, values: Any) -> Array:
        """Detach and convert; a list holds one tensor per row."""
        import torch

        if isinstance(values, list):
            values = torch.stack([torch.as_tensor(value) for value in values])
        return super().numpy(values.detach().cpu() if isinstance(values, torch.Tensor) else values)

    def over_rows(self, function: Function) -> Any:
        """``torch.vmap``, or a loop where the function does what vmap cannot follow."""
        import torch

        def mapped(x: Any) -> Any:
            try:
                return torch.vmap(function)(x)
            except Exception:
                # Branches on values, a gradient taken inside, Python numbers returned: all are fine
                # row by row, and what is truly wrong is raised again there.
                return [function(row) for row in x]

        return mapped

    def gradient(self, function: Function) -> Any:
        import torch

        def gradients(x: Any) -> Any:
            x = x.detach().requires_grad_(True)
            with torch.enable_grad():
                values = function(x)
                total = sum(value.sum() for value in values) if isinstance(values, list) else values.sum()
                if not total.requires_grad:
                    lost = "the result does not depend on the input in a way that torch can follow"
                    raise RuntimeError(f"{lost} (is it detached, or constant?)")
                (gradient,) = torch.autograd.grad(total, x)
            return gradient

        return gradients


def framework_of(value: Any) -> str:
    """Name the array library that a returned value comes from.

    >>> import numpy as np
    >>> from goodstein.numerics.frameworks import framework_of
    >>> framework_of(np.ones(3))
    'numpy'
    """
    if isinstance(value, (list, tuple)) and value:
        return framework_of(value[0])
    root = type(value).__module__.partition(".")[0]
    return {"jax": "jax", "jaxlib": "jax", "torch": "torch"}.get(root, "numpy")


def frameworks(name: str) -> list[Framework]:
    """List the ways to call a function of this array library, best first."""
    return [Jax()] if name == "jax" else [Torch(), Torch(single=True)]


def loaded() -> Iterator[str]:
    """Names of the array libraries, apart from NumPy, that the user has imported."""
    return (name for name in ("jax", "torch") if name in sys.modules)

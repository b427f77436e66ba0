"""Models of unconstrained parameters, which know how to bring draws of the constrained ones there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from goodstein.data.chains import Chains
from goodstein.data.named import NamedDraws, labels, of_mapping
from goodstein.domains import Euclidean
from goodstein.errors import InputError
from goodstein.models.functions import Function
from goodstein.models.model import Model
from goodstein.types import Array

Move: TypeAlias = Callable[[dict[str, Array]], Array]
"""Parameters by name, each (n, …), to unconstrained ones, (n, d)."""


class Unconstrained(Model):
    """A posterior as samplers see it: a density on R^d of transformed parameters, Jacobian included.

    Draws in a container with names are those of the constrained parameters, and are moved; an array (n, d),
    or chains of such, holds unconstrained ones already.

    Parameters
    ----------
    shapes
        Shapes of the constrained parameters, by name.
    move
        The transformation.
    names
        Names of the unconstrained parameters, (d,).
    score, logpdf, name
        As in :class:`Model`, functions of arrays (n, d).
    """

    def __init__(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        move: Move,
        names: Sequence[str],
        *,
        score: Function,
        logpdf: Function,
        name: str,
    ) -> None:
        name = f"{name}, unconstrained parameters"
        super().__init__(score=score, logpdf=logpdf, domain=Euclidean(len(names)), batched=True, name=name)
        self._shapes, self._move, self._names = dict(shapes), move, tuple(names)

    def read(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            data = of_mapping(self._grouped(data))
        if not isinstance(data, NamedDraws):
            return data
        missing = [name for name in self._shapes if name not in data.variables]
        if missing:
            raise InputError(
                f"The draws hold no {', '.join(missing)}, a parameter of {self.name}; they hold "
                f"{', '.join(data.variables)}.",
                argument="data",
                remedy="Pass draws of all parameters, or an array of unconstrained ones.",
            )
        parameters = {}
        for name, shape in self._shapes.items():
            values = data.variables[name]
            if values.shape[2:] != shape:
                reason = f"The draws of {name} have shape {values.shape[2:]}, and {self.name} has {shape}."
                raise InputError(reason, argument="data")
            parameters[name] = values.reshape(-1, *shape)
        return Chains.of(np.asarray(self._move(parameters), np.float64), data.sequences, self._names)

    def _grouped(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Arrays (draws, …) as those of one chain, by the shapes of the parameters."""
        found = {str(name): np.asarray(values) for name, values in data.items()}
        own = {name: values for name, values in found.items() if name in self._shapes}
        alone = bool(own) and all(values.ndim == 1 + len(self._shapes[name]) for name, values in own.items())
        return {name: values[None] for name, values in own.items()} if alone else own


def columns(shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    """What the entries of several variables are called."""
    return [label for name, shape in shapes.items() for label in labels(name, shape)]

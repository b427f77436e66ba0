"""Gradients that came with the draws, in the place of a model."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from goodstein.constraints import check_text, real_array
from goodstein.data.points import Points
from goodstein.domains.base import Domain
from goodstein.errors import InputError, ScoreError, describe_rows, must, refuse_rows
from goodstein.models.model import Model
from goodstein.types import Array, ArrayLike


class Gradients(Model):
    """The gradients of a log density at the draws, where nothing else of the model is at hand.

    Every draw is known again by its values, so that parts of a sample, and draws in another order, get their
    own gradients; at any other point the model has nothing to say, and what would ask it there, such as
    pictures of a plane, is left out.

    Parameters
    ----------
    gradients
        One for each draw, of the shape of the draws: (n, d), (n,) in one dimension, (chains, draws, d), or a
        list with an array for each chain.
    domain
        Where the density lives; None for R^d. Gradients are those of the parameters as they are drawn: on a
        transformed scale the Jacobian belongs to the density.
    name
        What messages and results call the model.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> x = np.random.default_rng(1).normal(size=(300, 2))
    >>> gs.ksd_test(x, gs.Gradients(-x), rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, gs.Gradients(-(x - 0.5)), rng=1).pvalue < 0.01
    True
    """

    everywhere = False

    def __init__(
        self, gradients: ArrayLike, *, domain: Domain | None = None, name: str = "gradients"
    ) -> None:
        listed = isinstance(gradients, list | tuple) and any(
            getattr(part, "ndim", 0) == 2 for part in gradients
        )
        parts = list(gradients) if listed else [gradients]
        arrays = [real_array(part, "gradients", "Gradients") for part in parts]
        fits = all(array.size and array.ndim in (1, 2, 3) for array in arrays)
        if not fits or len({array.shape[-1] if array.ndim > 1 else 0 for array in arrays}) > 1:
            raise must("gradients", "an array of the shape of the draws", gradients, "Gradients")
        rows = [array if array.ndim == 1 else array.reshape(-1, array.shape[-1]) for array in arrays]
        values = np.concatenate(rows)
        self._values = values[:, None] if values.ndim == 1 else values
        broken = ~np.isfinite(self._values).all(axis=1)
        remedy = "Remove these draws, or correct the gradients."
        refuse_rows(broken, "are not finite.", remedy, argument="gradients")
        self._at: Array | None = None
        self._rows: dict[bytes, int] = {}
        name = check_text(name, "name", of="Gradients")
        super().__init__(score=self._known, domain=domain, batched=True, name=name)

    def at(self, rows: Any) -> Self:
        if self._at is not None or not isinstance(rows, Points):
            return self
        x = rows.observations
        if x.shape != self._values.shape:
            raise InputError(
                f"There are gradients of shape {self._values.shape} for draws of shape {x.shape}.",
                argument="gradients",
                remedy="Pass one gradient for each draw, in the same order.",
            )
        bound = copy.copy(self)
        bound._at = x
        bound._rows = {}
        for k, key in enumerate(_keys(x)):
            first = bound._rows.setdefault(key, k)
            if first != k and not np.array_equal(self._values[first], self._values[k]):
                raise InputError(
                    f"Rows {first} and {k} are the same draw, and their gradients differ.",
                    argument="gradients",
                    remedy="Check that draws and gradients are in the same order.",
                )
        bound._functions = {"score": bound._known}
        return bound

    def _known(self, x: Array) -> Array:
        """The gradients of some of the draws."""
        if self._at is None:
            raise ScoreError("Gradients belong to draws.", remedy="Pass both to a test.")
        if x is self._at or np.array_equal(x, self._at):
            return self._values
        places = np.array([self._rows.get(key, -1) for key in _keys(x)])
        if (places < 0).any():
            raise ScoreError(
                f"Gradients are known at the {len(self._at)} draws alone; {describe_rows(places < 0)} are "
                "others.",
                remedy="Pass the model, a score function or a log density, where other points are looked at.",
            )
        return np.asarray(self._values[places])


def _keys(x: Array) -> list[bytes]:
    """The bytes of every row; zeros have no sign."""
    return [row.tobytes() for row in np.ascontiguousarray(x + 0.0)]

"""Normal outcomes whose mean and scale depend on covariates."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.conditional.data import as_matrix
from goodstein.constraints import answered, asked, numbers
from goodstein.errors import ScoreError, describe_rows, must
from goodstein.types import Array, BoolArray

OWNER = "ConditionalModel.gaussian"


class ConditionalNormal:
    """A normal law whose mean and scale depend on x."""

    def __init__(self, mean: Any, scale: Any) -> None:
        if not _is_function(mean):
            raise must("mean", "a function of x or a fitted regressor with `predict`", mean, OWNER)
        if not _is_function(scale):
            scale = numbers(scale, "scale", ndim=(0, 1), above=0.0, of=OWNER)
        self.mean, self.scale = mean, scale
        title = type(mean).__name__ if hasattr(mean, "predict") else getattr(mean, "__name__", "mean")
        self.name = f"normal given x, mean {'function' if title == '<lambda>' else title}"

    def score(self, y: Array, x: Array) -> Array:
        """−(y − mean)/scale², in the shape of y."""
        mean, scale = self._at(x, y.shape)
        return np.asarray((mean - y) / scale**2)

    def logpdf(self, y: Array, x: Array) -> Array:
        """Log density up to a constant, (n,)."""
        mean, scale = self._at(x, y.shape)
        terms = -0.5 * ((y - mean) / scale) ** 2 - np.log(scale)
        return np.asarray(terms if terms.ndim == 1 else terms.sum(axis=1))

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        """One draw for each row of x, in the shape of the mean."""
        mean = answered(_evaluate(self.mean, x), f"`mean` of {OWNER}", error=ScoreError)
        mean, scale = self._at(x, mean.shape)
        return np.asarray(mean + scale * rng.standard_normal(mean.shape))

    def _at(self, x: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Mean and scale at each row, each in the shape of y."""
        mean = _shaped(_evaluate(self.mean, x), shape, "mean")
        if isinstance(self.scale, np.ndarray):
            columns = 1 if len(shape) == 1 else shape[1]
            if self.scale.size not in (1, columns):
                raise ScoreError(
                    f"`scale` of ConditionalModel.gaussian has {self.scale.size} numbers, but y has "
                    f"{columns} column{'' if columns == 1 else 's'}. Pass one number, one for each column "
                    "of y, or a function of x."
                )
            return mean, np.broadcast_to(self.scale, shape)
        scale = _shaped(_evaluate(self.scale, x), shape, "scale")
        wrong: BoolArray = np.asarray(~(as_matrix(scale) > 0).all(axis=1))
        if wrong.any():
            raise ScoreError(
                f"`scale` of ConditionalModel.gaussian is not positive at {describe_rows(wrong)}."
            )
        return mean, scale


def _evaluate(function: Any, x: Array) -> Any:
    """A function of x, or the prediction of a regressor, which wants a table."""
    if hasattr(function, "predict"):
        return asked(function.predict, f"{function!r:.60}.predict", _table(function, as_matrix(x)))
    return asked(function, f"{getattr(function, '__name__', 'a function')} of {OWNER}", x, error=ScoreError)


def _is_function(thing: Any) -> bool:
    return not isinstance(thing, type) and (callable(thing) or hasattr(thing, "predict"))


def _table(regressor: Any, x: Array) -> Any:
    """x with the names of the columns that a regressor was fitted with, if it knows any.

    Without them scikit-learn warns at every prediction, and what chooses columns by name fails.
    """
    names = getattr(regressor, "feature_names_in_", None)
    if names is None or len(names) != x.shape[1]:
        return x
    try:
        import pandas as pd
    except ImportError:
        return x
    return pd.DataFrame(x, columns=names)


def _shaped(values: Any, shape: tuple[int, ...], name: str) -> Array:
    """Values in the shape of y; a number stands for all rows."""
    array = answered(values, f"`{name}` of {OWNER}", error=ScoreError)
    if array.ndim == 0:
        return np.broadcast_to(array, shape)
    # The same number of values is not enough: a transposed mean has that, too.
    column = len(shape) == 1 or shape[1] == 1
    if array.shape != shape and not (column and array.shape in (shape[:1], (shape[0], 1))):
        raise ScoreError(
            f"`{name}` of ConditionalModel.gaussian returned shape {array.shape} for outcomes of "
            f"shape {shape}."
        )
    return array.reshape(shape)

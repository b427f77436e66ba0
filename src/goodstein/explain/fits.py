"""What is known of the fit of a model to the very data, and how its quantities move with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.adapters.fits import as_refitting
from goodstein.models.influence import Influence
from goodstein.models.provenance import Fit, Refitting
from goodstein.nulls.base import as_null
from goodstein.nulls.fitted import FittedWildBootstrap
from goodstein.nulls.parametric import ParametricBootstrap
from goodstein.problems.problem import Problem
from goodstein.types import Array

UNKNOWN = (
    "The model was fitted to these data, and how is not known here: quantities that the fit matches look "
    "better than they are, and what is found stands all the more."
)

FIRST_ORDER = (
    "What the fit of the model to these data does is known to first order only; of few rows for each "
    "parameter that is not enough."
)


@dataclass(frozen=True)
class Fitted:
    """The influence of the rows on the parameters, how to fit other rows, and what is said of it."""

    influence: Influence | None = None
    refit: Refitting | None = None
    matters: bool = False
    corrected: bool = False
    """Whether the quantities themselves take account of it."""

    @property
    def notes(self) -> list[str]:
        """What a reader should know."""
        if not self.matters or self.refit is not None or self.corrected:
            return []
        return [UNKNOWN if self.influence is None else FIRST_ORDER]

    def slopes(self, difference: Callable[[Any], Array]) -> Array | None:
        """−∂t/∂θ, (p, v), of differences between data and model; None where influences are not known."""
        if self.influence is None:
            return None
        found = []
        for a, step in enumerate(2.0 * self.influence.errors):
            by = np.zeros(len(self.influence.names))
            by[a] = step
            ahead, behind = (difference(self.influence.model(sign * by)) for sign in (1.0, -1.0))
            found.append((behind - ahead) / (2.0 * step))
        return np.array(found)


def fit_of(problem: Problem, null: Any) -> Fitted:
    """How the model of a problem was fitted to its data, if it was."""
    fit: Fit | None = problem.model.provenance
    if problem.operator.corrects_fit:
        return Fitted(matters=True, corrected=True)
    refit = None if fit is None else fit.refit
    if isinstance(null, FittedWildBootstrap):
        return Fitted(null.influence_on(problem), refit, True)
    if isinstance(null, ParametricBootstrap):
        refit = refit if null.fit is None else as_refitting(null.fit)
    elif fit is None or not fit.concerns(problem.observations):
        return Fitted(matters=as_null(null).refits)
    known = FittedWildBootstrap.where_known(problem, 1)
    influence = None if known is None else known.influence_on(problem)
    whole = influence is not None or isinstance(null, ParametricBootstrap)
    return Fitted(influence, refit if whole else None, True)


def influence_in(model: Any, observations: Any, slopes: Array) -> Array | None:
    """IF · slopes, (n, v), of a model that was fitted to these observations; None where that is not known."""
    fit = getattr(model, "provenance", None)
    if not isinstance(fit, Fit) or fit.influence is None:
        return None
    values = fit.influence(observations).values
    return np.asarray((values - values.mean(axis=0)) @ slopes) if values.shape[1] == len(slopes) else None

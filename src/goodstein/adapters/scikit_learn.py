"""Fitted density estimators of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.adapters.methods import from_methods
from goodstein.data.rows import SeenMoments
from goodstein.errors import InputError
from goodstein.families.mixture import GaussianMixture
from goodstein.foreign import bases, describe, unusable
from goodstein.models.kde import GaussianKDE
from goodstein.models.model import Model
from goodstein.models.provenance import Fit, Refitting
from goodstein.types import Array


def from_estimator(estimator: Any) -> Model:
    """Turn a fitted GaussianMixture or KernelDensity into a model."""
    known = {"GaussianMixture": ("means_", _mixture), "KernelDensity": ("tree_", _kernel_density)}
    name = next((name for name in known if name in bases(estimator)), None)
    if name is None:
        merit = "is not a density with a known score (its .score() is a figure of merit, not a gradient)."
        remedy = "Pass a fitted GaussianMixture or KernelDensity, or Model(score=...)."
        raise unusable(f"scikit-learn's {type(estimator).__name__} {merit}", remedy)
    attribute, read = known[name]
    if not hasattr(estimator, attribute):
        remedy = "Call .fit(X) first, on data other than those to be tested."
        raise unusable(f"{describe(estimator)} is not fitted yet.", remedy)
    return read(estimator)


def _mixture(estimator: Any) -> Model:
    means = np.asarray(estimator.means_, dtype=np.float64)
    weights = np.asarray(estimator.weights_, dtype=np.float64)
    stored = np.asarray(estimator.covariances_, dtype=np.float64)
    covariances = _full(stored, estimator.covariance_type, means)
    # After a fit in single precision the weights need not sum to one, nor the matrices be symmetric,
    # to the eight digits that families ask of their parameters.
    symmetric = (covariances + covariances.transpose(0, 2, 1)) / 2
    mixture = GaussianMixture(weights / weights.sum(), means, symmetric)
    # Every step of EM keeps the mean of the data and, but for the constant that is added, their covariance.
    mean = mixture.weights @ mixture.means
    around = mixture.covs - estimator.reg_covar * np.eye(len(mean)) + _outer(mixture.means - mean)
    variances = np.einsum("k,kjj->j", mixture.weights, around)
    # Of one variance for all columns nothing but its sum is kept.
    each = estimator.covariance_type != "spherical" or len(mean) == 1
    epsilon = float(np.finfo(np.asarray(estimator.means_).dtype).eps)
    seen = SeenMoments(mean, variances if each else None, epsilon)
    again = EstimatorAgain(estimator)
    return from_methods(
        mixture.remember(Fit("maximum likelihood", seen, refit=again, columns=_columns(estimator)))
    )


def _columns(estimator: Any) -> tuple[str, ...] | None:
    """What the columns were called that it was fitted to; scikit-learn keeps names of frames alone."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def _outer(vectors: Array) -> Array:
    """xxᵀ of each row, (k, d, d)."""
    return vectors[:, :, None] * vectors[:, None, :]


@dataclass(frozen=True)
class EstimatorAgain(Refitting):
    """The fit of a GaussianMixture to other data; the estimator itself stays as it is."""

    estimator: Any

    def __call__(self, data: Any) -> Model:
        from sklearn.base import clone

        again = clone(self.estimator)
        if again.random_state is None:  # so that the same data give the same model
            again.random_state = 0
        return from_estimator(again.fit(data))

    def __repr__(self) -> str:
        return describe(self.estimator)


def refitting(estimator: Any) -> EstimatorAgain:
    """The fit of an estimator to other data; raises where its parameters are not what is fitted."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise InputError(f"`fit` is the class {name}.", remedy=f"Pass an instance: {name}(...).")
    if "KernelDensity" in bases(estimator):
        raise InputError(
            "a kernel density has no parameters, so there is no parametric bootstrap of it. Test it on "
            "other rows than those that it was made of.",
            argument="fit",
        )
    if "GaussianMixture" not in bases(estimator):
        reason = f"scikit-learn's {type(estimator).__name__} is not a density with a known score."
        remedy = "Pass a GaussianMixture, or a function of the data that returns a model."
        raise InputError(reason, argument="fit", remedy=remedy)
    return EstimatorAgain(estimator)


def _full(covariances: Array, covariance_type: str, means: Array) -> Array:
    """Covariance matrices (k, d, d) from any of the four ways in which scikit-learn stores them."""
    k, d = means.shape
    if covariance_type in ("full", "tied"):
        return np.broadcast_to(covariances, (k, d, d)).copy()
    variances = covariances if covariance_type == "diag" else np.repeat(covariances[:, None], d, axis=1)
    return np.asarray(variances[:, :, None] * np.eye(d))


def _kernel_density(estimator: Any) -> Model:
    if estimator.kernel != "gaussian":
        reason = f"the density of {describe(estimator)} is not differentiable everywhere, so it has no score."
        raise unusable(reason, "Refit with KernelDensity(kernel='gaussian').")
    order = (estimator.metric_params or {}).get("p", 2)
    if estimator.metric not in ("euclidean", "l2", "minkowski") or order != 2:
        other = "a metric other than the Euclidean one, for which no score is known."
        remedy = "Refit with KernelDensity(metric='euclidean')."
        raise unusable(f"{describe(estimator)} measures distances in {other}", remedy)
    tree = estimator.tree_
    points = np.array(tree.data, dtype=np.float64)
    weights = None if tree.sample_weight is None else np.array(tree.sample_weight, dtype=np.float64)
    covariance = float(estimator.bandwidth_) ** 2 * np.eye(points.shape[1])
    name = f"{describe(estimator)} of {len(points)} points"
    model = from_methods(GaussianKDE(points, covariance, weights, name))
    told = model.provenance
    return model if told is None else model.remember(replace(told, columns=_columns(estimator)))

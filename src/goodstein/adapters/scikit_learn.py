"""Fitted density estimators of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.adapters.describe import bases, describe
from goodstein.errors import InputError
from goodstein.models.kde import GaussianKDE
from goodstein.models.model import Model
from goodstein.types import Array


def from_estimator(estimator: Any) -> Model:
    """Turn a fitted GaussianMixture or KernelDensity into a model."""
    names = bases(estimator)
    name = type(estimator).__name__
    if "GaussianMixture" in names:
        _require_fitted(estimator, "means_")
        return _mixture(estimator)
    if "KernelDensity" in names:
        _require_fitted(estimator, "tree_")
        return _kernel_density(estimator)
    raise InputError(
        f"`model`: scikit-learn's {name} is not a density with a known score (its .score() is a figure of "
        "merit, not a gradient). Pass a fitted GaussianMixture or KernelDensity, or Model(score=...)."
    )


def _mixture(estimator: Any) -> Model:
    from goodstein.adapters.model import as_model
    from goodstein.families import GaussianMixture

    means = np.asarray(estimator.means_, dtype=np.float64)
    weights = np.asarray(estimator.weights_, dtype=np.float64)
    stored = np.asarray(estimator.covariances_, dtype=np.float64)
    covariances = _full(stored, estimator.covariance_type, means)
    # After a fit in single precision the weights need not sum to one, nor the matrices be symmetric,
    # to the eight digits that families ask of their parameters.
    symmetric = (covariances + covariances.transpose(0, 2, 1)) / 2
    return as_model(GaussianMixture(weights / weights.sum(), means, symmetric))


def _full(covariances: Array, covariance_type: str, means: Array) -> Array:
    """Covariance matrices (k, d, d) from any of the four ways in which scikit-learn stores them."""
    k, d = means.shape
    if covariance_type == "full":
        return covariances
    if covariance_type == "tied":
        return np.broadcast_to(covariances, (k, d, d)).copy()
    variances = covariances if covariance_type == "diag" else np.repeat(covariances[:, None], d, axis=1)
    diagonal: Array = variances[:, :, None] * np.eye(d)
    return diagonal


def _kernel_density(estimator: Any) -> Model:
    from goodstein.adapters.model import as_model

    if estimator.kernel != "gaussian":
        raise InputError(
            f"`model`: the density of {describe(estimator)} is not differentiable everywhere, so it has no "
            "score. Refit with KernelDensity(kernel='gaussian')."
        )
    order = (estimator.metric_params or {}).get("p", 2)
    if estimator.metric not in ("euclidean", "l2", "minkowski") or order != 2:
        raise InputError(
            f"`model`: {describe(estimator)} measures distances in a metric other than the Euclidean one, "
            "for which no score is known. Refit with KernelDensity(metric='euclidean')."
        )
    tree = estimator.tree_
    points = np.array(tree.data, dtype=np.float64)
    weights = None if tree.sample_weight is None else np.array(tree.sample_weight, dtype=np.float64)
    covariance = float(estimator.bandwidth_) ** 2 * np.eye(points.shape[1])
    name = f"{describe(estimator)} of {len(points)} points"
    return as_model(GaussianKDE(points, covariance, weights, name))


def _require_fitted(estimator: Any, attribute: str) -> None:
    if not hasattr(estimator, attribute):
        raise InputError(
            f"`model`: {describe(estimator)} is not fitted yet. Call .fit(X) first, on data other than those "
            "to be tested."
        )

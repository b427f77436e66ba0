"""Gaussian mixtures at given data: coordinates, bounds and starts of the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.domains.simplex import Simplex
from goodstein.errors import InputError
from goodstein.estimate.base import Sample, Scores
from goodstein.estimate.components import ComponentGradients, DiagonalComponents, FullComponents
from goodstein.types import Array, BoolArray

if TYPE_CHECKING:
    from goodstein.estimate.mixture import Mixture

LARGEST_LOGIT = 12.0
"""Bound on the log-ratio coordinates of the weights: no weight is below about 1e-10."""

LARGEST_SCALE = 10.0
"""Largest standard deviation of a component, in units of the spread of the data."""

BLOCK_NUMBERS = 1 << 15
"""Rows are taken in blocks of about this many numbers for each kind of array."""

STEPS_OF_K_MEANS = 20


class MixtureScores(Scores):
    """A mixture at the data, in coordinates of unit size.

    With z = (x − centre)/unit these are: the means of z, component by component; the logarithms of its
    standard deviations (none, one or d for each component), or the lower triangles of the factors C of
    f²I + CCᵀ; and K − 1 orthonormal log-ratio coordinates of the weights.
    """

    bounded = True

    def __init__(self, family: Mixture, sample: Sample) -> None:
        x = sample.data
        self.family, self.domain = family, sample.domain
        self.n, self.d = x.shape
        self.k = family.components
        self.center = x.mean(axis=0)
        self.unit = float(np.sqrt(x.var(axis=0).mean()))
        self.z = (x - self.center) / self.unit
        self.block = max(256, BLOCK_NUMBERS // (self.k * (self.d if family.covariance == "full" else 1)))
        self.contrasts = Simplex(self.k).basis if self.k > 1 else np.zeros((0, 1))
        self.triangle = np.tril_indices(self.d)
        self.floor = self._floor()
        self._bounds()

    def _floor(self) -> float:
        """The smallest standard deviation of z in a component."""
        if self.family.scale is not None:
            return self.family.scale / self.unit
        if self.family.smallest_scale is not None:
            return self.family.smallest_scale / self.unit
        _, labels = self._clusters(np.random.default_rng(0))
        centers = np.stack([self.z[labels == c].mean(axis=0) for c in range(self.k)])
        within = float(np.sqrt(((self.z - centers[labels]) ** 2).mean()))
        if within <= 1e-9:  # of rows that differ by rounding alone
            raise InputError(
                f"`data`: all rows coincide with one of {self.k} points, so components have no scale. Pass "
                "`scale` or `smallest_scale`, or fewer components."
            )
        most = int(np.unique(self.z, axis=0, return_counts=True)[1].max())
        return float(within * min(0.5, (most**2 / self.n) ** 0.25))

    def _bounds(self) -> None:
        low, high = self.z.min(axis=0), self.z.max(axis=0)
        side = self.family.margin * (high - low)
        shapes = self._shape_count()
        coordinates = [f"means[{c}, {j}]" for c in range(self.k) for j in range(self.d)]
        kind = self.family.covariance
        if kind == "full":
            coordinates += [f"covariances[{c}]" for c in range(self.k) for _ in range(shapes)]
            shape_bounds = (-LARGEST_SCALE, LARGEST_SCALE)
        else:
            names = ["[{c}]"] if kind == "spherical" else [f"[{{c}}, {j}]" for j in range(self.d)]
            coordinates += [f"scales{n.format(c=c)}" for c in range(self.k) for n in names[:shapes]]
            shape_bounds = (float(np.log(self.floor)), float(np.log(max(LARGEST_SCALE, 2 * self.floor))))
        coordinates += ["weights"] * (self.k - 1)
        self.coordinates = tuple(coordinates)
        count = self.k * shapes
        ends = []
        for mean, shape, logit in zip(
            (low - side, high + side), shape_bounds, (-LARGEST_LOGIT, LARGEST_LOGIT), strict=True
        ):
            parts = [np.tile(mean, self.k), np.full(count, shape), np.full(self.k - 1, logit)]
            ends.append(np.concatenate(parts))
        self.lower, self.upper = ends

    def _shape_count(self) -> int:
        """Coordinates of the shape of each component."""
        if self.family.scale is not None:
            return 0
        counts = {"spherical": 1, "diagonal": self.d, "full": self.d * (self.d + 1) // 2}
        return int(counts[self.family.covariance])

    def _split(self, theta: Array) -> tuple[Array, Array, Array]:
        """Means (K, d), shapes (K, ·) and log weights (K,)."""
        first, last = self.k * self.d, self.size - (self.k - 1)
        logits = theta[last:] @ self.contrasts
        log_weights = logits - logits.max()
        log_weights -= np.log(np.exp(log_weights).sum())
        return theta[:first].reshape(self.k, self.d), theta[first:last].reshape(self.k, -1), log_weights

    def _log_scales(self, shapes: Array) -> Array:
        if self.family.scale is not None:
            return np.full((self.k, self.d), np.log(self.floor))
        return np.broadcast_to(shapes, (self.k, self.d))

    def _factors(self, shapes: Array) -> Array:
        factors = np.zeros((self.k, self.d, self.d))
        factors[:, self.triangle[0], self.triangle[1]] = shapes
        return factors

    def evaluate(self, theta: Array, rows: slice, *, second: bool = True) -> MixtureEvaluation:
        """Scores at some rows."""
        means, shapes, log_weights = self._split(theta)
        parts: DiagonalComponents | FullComponents
        if self.family.covariance == "full":
            parts = FullComponents(self.z[rows], means, self._factors(shapes), log_weights, self.floor)
        else:
            parts = DiagonalComponents(self.z[rows], means, self._log_scales(shapes), log_weights)
        return MixtureEvaluation(self, parts, second)

    def assemble(self, found: ComponentGradients) -> Array:
        """Derivatives in θ from those in means, shapes and logits; with rows in front, for each row."""
        lead = found.logits.shape[:-1]
        shapes = found.shapes
        if self.family.covariance == "full":
            shapes = shapes[..., self.triangle[0], self.triangle[1]]
        elif self.family.covariance == "spherical":
            shapes = shapes.sum(axis=-1)
        parts = [found.means.reshape(*lead, -1), found.logits @ self.contrasts.T]
        if self.family.scale is None:
            parts.insert(1, shapes.reshape(*lead, -1))
        return np.concatenate(parts, axis=-1)

    def _clusters(self, rng: np.random.Generator) -> tuple[Array, Any]:
        """Centres and labels of k-means; no cluster is empty."""
        from scipy.cluster.vq import ClusterError, kmeans2

        for _ in range(10):
            try:
                centers, labels = kmeans2(
                    self.z, self.k, iter=STEPS_OF_K_MEANS, minit="++", missing="raise", rng=rng
                )
            except ClusterError:
                continue
            if len(np.unique(labels)) == self.k:
                return np.asarray(centers), labels
        # With many ties: k distinct rows as centres, each of which is its own nearest one.
        distinct = np.unique(self.z, axis=0)
        centers = distinct[rng.choice(len(distinct), self.k, replace=False)]
        return centers, ((self.z[:, None, :] - centers) ** 2).sum(axis=2).argmin(axis=1)

    def starts(self, count: int, rng: np.random.Generator) -> Sequence[Array]:
        """Clusters of k-means, each time from other centres, and from the second on other scales."""
        if self.k == 1:
            count = 1
        starts = []
        for number in range(count):
            centers, labels = self._clusters(rng)
            shares = np.bincount(labels, minlength=self.k) / self.n
            spread = np.stack([self.z[labels == c].std(axis=0) for c in range(self.k)])
            factor = np.exp(rng.uniform(-0.5, 1.0, size=(self.k, 1))) if number else 1.0
            spread = np.maximum(spread * factor, 1.5 * self.floor)
            if self.family.covariance == "full":
                inner = np.sqrt(spread**2 - self.floor**2)
                factors = np.zeros((self.k, self.d, self.d))
                factors[:, np.arange(self.d), np.arange(self.d)] = inner
                shapes = factors[:, self.triangle[0], self.triangle[1]]
            elif self.family.covariance == "diagonal":
                shapes = np.log(spread)
            else:
                shapes = np.log(np.sqrt((spread**2).mean(axis=1, keepdims=True)))
            parts = [centers.ravel(), self.contrasts @ np.log(shares)]
            if self.family.scale is None:
                parts.insert(1, shapes.ravel())
            starts.append(np.concatenate(parts))
        return starts

    def parameters(self, theta: Array) -> Mapping[str, Any]:
        """Weights (K,), means (K, d), and scales, (K,) or (K, d), or covariances (K, d, d)."""
        means, shapes, log_weights = self._split(theta)
        weights = np.exp(log_weights)
        found: dict[str, Any] = {"weights": weights / weights.sum(), "means": self.center + self.unit * means}
        if self.family.covariance == "full":
            found["covariances"] = self.unit**2 * self._covariances(shapes)
        elif self.family.scale is None:
            scales = self.unit * np.exp(shapes)
            found["scales"] = scales[:, 0] if self.family.covariance == "spherical" else scales
        return found

    def _covariances(self, shapes: Array) -> Array:
        if self.family.covariance != "full":
            return np.asarray(np.exp(2.0 * self._log_scales(shapes))[:, :, None] * np.eye(self.d))
        factors = self._factors(shapes)
        return np.asarray(factors @ factors.transpose(0, 2, 1) + self.floor**2 * np.eye(self.d))

    def model(self, theta: Array) -> Any:
        """The mixture as a distribution, restricted to the domain if that has a boundary."""
        from goodstein.families import GaussianMixture, Truncated

        found = self.parameters(theta)
        covs = self.unit**2 * self._covariances(self._split(theta)[1])
        mixture = GaussianMixture(found["weights"], found["means"], covs)
        return Truncated(mixture, self.domain) if self.domain.has_boundary else mixture

    def canonical(self, theta: Array) -> Array:
        """Components ordered by their means, the first coordinate first."""
        means, shapes, log_weights = self._split(theta)
        order = np.lexsort(means.T[::-1])
        return np.concatenate(
            [means[order].ravel(), shapes[order].ravel(), self.contrasts @ log_weights[order]]
        )

    def fixed(self, theta: Array) -> BoolArray:
        """Which coordinates are at a bound; of a full covariance all, if one direction is at the floor."""
        fixed = super().fixed(theta)
        if self.family.covariance == "full":
            shapes = self._split(theta)[1]
            smallest = np.linalg.eigvalsh(self._covariances(shapes))[:, 0]
            first = self.k * self.d
            fixed[first : first + shapes.size] |= np.repeat(
                smallest <= 1.01 * self.floor**2, self._shape_count()
            )
        return fixed

    def notes(self, theta: Array) -> list[str]:
        """Components at the floor, at the ceiling or beyond the bounds, and components without weight."""
        means, shapes, log_weights = self._split(theta)
        notes = []
        deviations = np.sqrt(np.linalg.eigvalsh(self._covariances(shapes)))
        if self.family.scale is None:
            low = np.flatnonzero(deviations[:, 0] <= 1.005 * self.floor)
            high = np.flatnonzero(deviations[:, -1] >= 0.999 * LARGEST_SCALE)
            if low.size:
                notes.append(
                    f"The scale of {_which(low)} is at its floor, {self.floor * self.unit:.4g}: without it "
                    "the objective would fall further as the component collapses. `smallest_scale` sets it."
                )
            if high.size:
                notes.append(f"The scale of {_which(high)} is at its upper bound: the component is flat.")
        edge = self.fixed(theta)[: means.size].reshape(means.shape).any(axis=1)
        if edge.any():
            notes.append(
                f"The mean of {_which(np.flatnonzero(edge))} is at the end of its range, outside of the "
                "data; the data do not determine it."
            )
        light = np.flatnonzero(self.n * np.exp(log_weights) < 1.0)
        if light.size:
            notes.append(
                f"The weight of {_which(light)} is less than that of one observation: fewer components would "
                "do, or the weight is not determined by the score."
            )
        return notes


class MixtureEvaluation:
    """Scores of a mixture at some rows, in the units of the data."""

    def __init__(
        self, scores: MixtureScores, parts: DiagonalComponents | FullComponents, second: bool
    ) -> None:
        self._scores, self._parts = scores, parts
        self.score = parts.score / scores.unit
        self.second = parts.second() / scores.unit**2 if second else np.zeros_like(parts.score)

    def pullback(self, on_score: Array, on_second: Array | None, *, each: bool = False) -> Array:
        """Gradient in θ."""
        v = on_score / self._scores.unit
        w = None if on_second is None else on_second / self._scores.unit**2
        pull = self._parts.pullback_each if each else self._parts.pullback
        return self._scores.assemble(pull(v, w))


def _which(index: Any) -> str:
    """Component 3, or components 1, 4 and 5."""
    numbers = [str(i) for i in index]
    if len(numbers) == 1:
        return f"component {numbers[0]}"
    return f"components {', '.join(numbers[:-1])} and {numbers[-1]}"

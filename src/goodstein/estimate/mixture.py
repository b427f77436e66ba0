"""Mixtures of normal distributions, to be fitted: coordinates, bounds and starts of the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from goodstein.constraints import check_count, check_option, number
from goodstein.domains.simplex import Simplex
from goodstein.errors import InputError
from goodstein.estimate.base import ModelFamily, Sample, Scores, require_full, restricted
from goodstein.estimate.components import (
    ComponentGradients,
    DiagonalComponents,
    FullComponents,
    MixtureEvaluation,
)
from goodstein.families import GaussianMixture
from goodstein.families.checks import require_spread
from goodstein.numerics.distances import squared_distances
from goodstein.types import Array, BoolArray

Covariance = Literal["spherical", "diagonal", "full"]
KINDS = get_args(Covariance)

LARGEST_LOGIT = 12.0
"""Bound on the log-ratio coordinates of the weights: no weight is below about 1e-10."""
LARGEST_SCALE = 10.0
"""Largest standard deviation of a component, in units of the spread of the data."""
BLOCK_NUMBERS = 1 << 15
"""Rows are taken in blocks of about this many numbers for each kind of array."""
STEPS = 20
"""Of k-means."""


@dataclass(frozen=True)
class Mixture(ModelFamily):
    r"""Mixture of normal distributions, q(x) = Σ_c w_c N(x; μ_c, Σ_c), restricted to the domain.

    With responsibilities r_c and component scores s_c the score is s = Σ_c r_c s_c, and

    .. math:: \nabla \cdot s = \sum_c r_c (\|s_c\|^2 - \mathrm{tr}\, Σ_c^{-1}) - \|s\|^2 .

    Score matching of a mixture has no lower bound: as a component shrinks onto one observation the
    objective falls like −2g·d/(nσ²). So its scale is fixed, or has a floor.

    Parameters
    ----------
    components
        Number of components K.
    covariance
        ``"spherical"``, ``"diagonal"`` or ``"full"``.
    scale
        Standard deviation of all components, if it is known; spherical components only.
    smallest_scale
        No component has a smaller standard deviation, in any direction. None takes the standard deviation
        within the clusters of k-means times (m²/n)^(1/4), at most ½, where m is how often the most frequent
        row occurs: the size at which a component on that row alone lowers the objective by about its own
        sampling error. A fit says where the floor was reached; what lies there was not estimated.
    margin
        How far outside of the bounding box of the data a mean may lie, as a share of its sides. Means of
        truncated distributions may lie outside of the domain; but of many components some then become
        mere tails, of any weight, and hardly a draw of the mixture falls into the domain. With 0 none does.

    Notes
    -----
    Components are ordered by their means, by the first coordinate first. Standard deviations are at most
    ten times that of the data. Weights are those of the mixture before truncation; those of components
    that lie far apart are hardly determined, because the score does not feel them.

    References
    ----------
    Liu, Kanamori & Williams (2022), "Estimating density models with truncation boundaries using score
    matching", *Journal of Machine Learning Research* 23(186).
    Wenliang & Kanagawa (2020), "Blindness of score-based methods to isolated components and mixing
    proportions", arXiv:2008.10087.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import Mixture, TruncatedScoreMatching
    >>> square = gs.Box([0, 0], [1, 1])
    >>> truth = gs.families.GaussianMixture([0.5, 0.5], [[0.2, 0.3], [0.8, 0.7]], [0.04, 0.04])
    >>> x = gs.families.Truncated(truth, square).sample(2000, rng=1)
    >>> fit = TruncatedScoreMatching().fit(x, Mixture(2, scale=0.2), domain=square, rng=1)
    >>> fit.parameters["means"].round(1)
    array([[0.2, 0.3], [0.8, 0.7]])
    """

    components: int
    covariance: Covariance = "spherical"
    scale: float | None = None
    smallest_scale: float | None = None
    margin: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", check_count(self.components, "components"))
        check_option(self.covariance, "covariance", KINDS)
        for name, value in (("scale", self.scale), ("smallest_scale", self.smallest_scale)):
            if value is not None:
                object.__setattr__(self, name, number(value, name, above=0.0))
        number(self.margin, "margin", least=0.0, below=100.0)
        if self.scale is not None and self.smallest_scale is not None:
            raise InputError("`scale` fixes all scales, so `smallest_scale` has no use. Pass one of them.")
        if self.scale is not None and self.covariance != "spherical":
            raise InputError(
                f"`scale` fixes spherical components, got covariance={self.covariance!r}. Leave one of them "
                "out, or pass `smallest_scale`."
            )

    def __repr__(self) -> str:
        given = [f"{f.name}={v!r}" for f in fields(self)[1:] if (v := getattr(self, f.name)) != f.default]
        return f"Mixture({', '.join([str(self.components), *given])})"

    def scores(self, sample: Sample) -> Scores:
        require_full(sample, f"Mixture({self.components})")
        require_spread(sample.data, "`data`")
        distinct = len(np.unique(sample.data, axis=0))
        if distinct < self.components:
            few = f"`data`: {distinct} distinct rows are too few for {self.components} components."
            raise InputError(f"{few} Ask for fewer.")
        return MixtureScores(self, sample)


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
        (self.n, self.d), self.k = x.shape, family.components
        self.center, self.unit = x.mean(axis=0), float(np.sqrt(x.var(axis=0).mean()))
        self.z = (x - self.center) / self.unit
        self.block = max(256, BLOCK_NUMBERS // (self.k * (self.d if family.covariance == "full" else 1)))
        self.contrasts = Simplex(self.k).basis if self.k > 1 else np.zeros((0, 1))
        self.triangle = np.tril_indices(self.d)
        self.floor = self._floor()
        self._bounds()

    def _floor(self) -> float:
        """The smallest standard deviation of z in a component."""
        for given in (self.family.scale, self.family.smallest_scale):
            if given is not None:
                return given / self.unit
        _, labels = self._clusters(np.random.default_rng(0))
        centers = np.stack([self.z[labels == c].mean(axis=0) for c in range(self.k)])
        within = float(np.sqrt(((self.z - centers[labels]) ** 2).mean()))
        if within <= 1e-9:  # of rows that differ by rounding alone
            raise InputError(
                f"all rows coincide with one of {self.k} points, so components have no scale. Pass "
                "`scale` or `smallest_scale`, or fewer components.",
                argument="data",
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
        self.coordinates = (*coordinates, *["weights"] * (self.k - 1))
        ends = (low - side, shape_bounds[0], -LARGEST_LOGIT), (high + side, shape_bounds[1], LARGEST_LOGIT)
        self.lower, self.upper = (
            np.concatenate(
                [np.tile(mean, self.k), np.full(self.k * shapes, shape), np.full(self.k - 1, logit)]
            )
            for mean, shape, logit in ends
        )

    def _shape_count(self) -> int:
        """Coordinates of the shape of each component."""
        if self.family.scale is not None:
            return 0
        counts: dict[str, int] = {"spherical": 1, "diagonal": self.d, "full": len(self.triangle[0])}
        return counts[self.family.covariance]

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
        means, shapes, log_weights = self._split(theta)
        if self.family.covariance == "full":
            full = FullComponents(self.z[rows], means, self._factors(shapes), log_weights, self.floor)
            return MixtureEvaluation(full, self.unit, self.assemble, second)
        diagonal = DiagonalComponents(self.z[rows], means, self._log_scales(shapes), log_weights)
        return MixtureEvaluation(diagonal, self.unit, self.assemble, second)

    def assemble(self, found: ComponentGradients) -> Array:
        """Derivatives in θ from those in means, shapes and logits; with rows in front, for each row."""
        lead, shapes = found.logits.shape[:-1], found.shapes
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
                centers, labels = kmeans2(self.z, self.k, STEPS, minit="++", missing="raise", rng=rng)
            except ClusterError:
                continue
            if len(np.unique(labels)) == self.k:
                return np.asarray(centers), labels
        # With many ties: k distinct rows as centres, each of which is its own nearest one.
        distinct = np.unique(self.z, axis=0)
        centers = distinct[rng.choice(len(distinct), self.k, replace=False)]
        return centers, squared_distances(self.z, centers).argmin(axis=1)

    def starts(self, count: int, rng: np.random.Generator) -> Sequence[Array]:
        """Clusters of k-means, each time from other centres, and from the second on other scales."""
        starts = []
        for k in range(count if self.k > 1 else 1):
            centers, labels = self._clusters(rng)
            shares = np.bincount(labels, minlength=self.k) / self.n
            spread = np.stack([self.z[labels == c].std(axis=0) for c in range(self.k)])
            factor = np.exp(rng.uniform(-0.5, 1.0, size=(self.k, 1))) if k else 1.0
            spread = np.maximum(spread * factor, 1.5 * self.floor)
            if self.family.covariance == "full":
                row, column = self.triangle
                shapes = np.where(row == column, np.sqrt(spread**2 - self.floor**2)[:, row], 0.0)
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
        found = self.parameters(theta)
        covs = self.unit**2 * self._covariances(self._split(theta)[1])
        return restricted(GaussianMixture(found["weights"], found["means"], covs), self.domain)

    def canonical(self, theta: Array) -> Array:
        means, shapes, log_weights = self._split(theta)
        order = np.lexsort(means.T[::-1])
        parts = means[order].ravel(), shapes[order].ravel(), self.contrasts @ log_weights[order]
        return np.concatenate(parts)

    def fixed(self, theta: Array) -> BoolArray:
        """Which coordinates are at a bound; of a full covariance all, if one direction is at the floor."""
        fixed = super().fixed(theta)
        if self.family.covariance == "full":
            shapes = self._split(theta)[1]
            low = np.linalg.eigvalsh(self._covariances(shapes))[:, 0] <= 1.01 * self.floor**2
            first = self.k * self.d
            fixed[first : first + shapes.size] |= np.repeat(low, self._shape_count())
        return fixed

    def notes(self, theta: Array) -> list[str]:
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


def _which(index: Any) -> str:
    """Component 3, or components 1, 4 and 5."""
    *others, last = map(str, index)
    return f"components {', '.join(others)} and {last}" if others else f"component {last}"

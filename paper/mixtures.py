"""Mixtures of normal distributions behind a boundary, fitted by their scores, as the paper does.

With responsibilities r_c, component scores s_c = Λ_c(μ_c − x) and Λ_c the precisions,

    s = Σ_c r_c s_c,       ∂_k s_k = Σ_c r_c (s_ck² − Λ_c,kk) − s_k².

For constants V, W let F = Σ_k V_k s_k + W_k ∂_k s_k, U = V − 2W∘s and
m_c = Σ_k U_k s_ck + W_k (s_ck² − Λ_c,kk). Then dF = Σ_c r_c (m_c − Σ_e r_e m_e) da_c + r_c dm_c, where
a_c = log w_c N(x; μ_c, Σ_c), because dr_c = r_c (da_c − Σ_e r_e da_e). Where the precisions are
diagonal all sums over rows are products of (n, K) and (n, d) matrices, and no (n, K, d) array is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from goodstein.constraints import check_count, number
from goodstein.domains.simplex import Simplex
from goodstein.errors import InputError
from goodstein.estimate.base import Evaluation, ModelFamily, Sample, Scores, require_full, restricted
from goodstein.families import GaussianMixture
from goodstein.families.checks import require_spread
from goodstein.numerics.distances import squared_distances
from goodstein.types import Array

LARGEST_LOGIT = 12.0
"""Bound on the log-ratio coordinates of the weights: no weight is below about 1e-10."""
LARGEST_SCALE = 10.0
"""Largest standard deviation of a component, in units of the spread of the data."""
BLOCK_NUMBERS = 1 << 15
"""Rows are taken in blocks of about this many numbers for each kind of array."""
STEPS = 20
"""Of k-means."""
MARGIN = 0.5
"""How far outside of the bounding box of the data a mean may lie, as a share of its sides."""


@dataclass(frozen=True)
class ComponentGradients:
    """Derivatives of F: in the means (…, K, d), in the shapes (…, K, ·), in the logits (…, K)."""

    means: Array
    shapes: Array
    logits: Array


def responsibilities(joint: Array) -> Array:
    """exp(a_c) / Σ_e exp(a_e), (n, K)."""
    r = joint - joint.max(axis=1, keepdims=True)
    np.exp(r, out=r)
    r /= r.sum(axis=1, keepdims=True)
    return np.asarray(r)


class DiagonalComponents:
    """Components with diagonal covariances; shapes are the logarithms of the standard deviations, (K, d)."""

    def __init__(self, x: Array, means: Array, log_scales: Array, log_weights: Array) -> None:
        self.x, self.means = x, means
        self.precision = lam = np.exp(-2.0 * log_scales)
        self._lam_mu, self._lam_mu2 = lam * means, lam * means**2
        # One product for all of a_c = constant + x·Λμ − ½x²·Λ: few passes over the (n, K) array.
        constant = log_weights - log_scales.sum(axis=1) - 0.5 * self._lam_mu2.sum(axis=1)
        powers = np.hstack([x, x**2, np.ones((len(x), 1))])
        self.r = r = responsibilities(powers @ np.hstack([self._lam_mu, -0.5 * lam, constant[:, None]]).T)
        self.score = r @ self._lam_mu - x * (r @ lam)

    def second(self) -> Array:
        """∂_k s_k, (n, d)."""
        r, lam, x = self.r, self.precision, self.x
        squares = r @ (lam * self._lam_mu2) - 2.0 * x * (r @ (lam * self._lam_mu)) + x**2 * (r @ lam**2)
        return np.asarray(squares - r @ lam - self.score**2)

    def _moments(self, v: Array, w: Array | None) -> tuple[Array, Array]:
        """U, and r_c (m_c − m̄), (n, K)."""
        r, lam, x = self.r, self.precision, self.x
        u = v if w is None else v - 2.0 * w * self.score
        left, right = [u, u * x], [self._lam_mu, -lam]
        if w is not None:
            left += [w, w * x, w * x**2]
            right += [lam * self._lam_mu2 - lam, -2.0 * lam * self._lam_mu, lam**2]
        m = np.hstack(left) @ np.hstack(right).T
        m -= np.einsum("nk,nk->n", r, m)[:, None]
        m *= r
        return u, m

    def pullback(self, v: Array, w: Array | None) -> ComponentGradients:
        """Derivatives of the sum of F over the rows."""
        r, lam, mu, x = self.r, self.precision, self.means, self.x
        u, q = self._moments(v, w)
        q0, q1, q2 = q.sum(axis=0)[:, None], q.T @ x, q.T @ x**2
        ru, rux = r.T @ u, r.T @ (u * x)
        means = lam * (q1 - mu * q0 + ru)
        shapes = lam * (q2 - 2.0 * mu * q1 + mu**2 * q0) - q0 - 2.0 * lam * (mu * ru - rux)
        if w is not None:
            rw, rwx, rwx2 = r.T @ w, r.T @ (w * x), r.T @ (w * x**2)
            means += 2.0 * lam**2 * (mu * rw - rwx)
            shapes += 2.0 * lam * rw - 4.0 * lam**2 * (mu**2 * rw - 2.0 * mu * rwx + rwx2)
        return ComponentGradients(means, shapes, q0[:, 0])

    def pullback_each(self, v: Array, w: Array | None) -> ComponentGradients:
        """The same for every row."""
        r, lam = self.r[:, :, None], self.precision
        u, q = self._moments(v, w)
        s = lam * (self.means - self.x[:, None, :])
        e = r * u[:, None, :]
        if w is not None:
            e = e + 2.0 * r * w[:, None, :] * s
        q3 = q[:, :, None]
        means = -q3 * s + lam * e
        shapes = q3 * (s**2 / lam - 1.0) - 2.0 * e * s
        if w is not None:
            shapes = shapes + 2.0 * r * lam * w[:, None, :]
        return ComponentGradients(means, shapes, q)


class MixtureEvaluation(Evaluation):
    """Scores of a mixture at some rows, in the units of the data; `assemble` makes gradients in θ."""

    def __init__(
        self,
        parts: DiagonalComponents,
        unit: float,
        assemble: Callable[[ComponentGradients], Array],
        second: bool,
    ) -> None:
        self._parts, self._unit, self._assemble = parts, unit, assemble
        self.score = parts.score / unit
        self.second = parts.second() / unit**2 if second else np.zeros_like(parts.score)

    def pullback(self, on_score: Array, on_second: Array | None, *, each: bool = False) -> Array:
        w = None if on_second is None else on_second / self._unit**2
        pull = self._parts.pullback_each if each else self._parts.pullback
        return self._assemble(pull(on_score / self._unit, w))


@dataclass(frozen=True)
class Mixture(ModelFamily):
    r"""Mixture of normal distributions, q(x) = Σ_c w_c N(x; μ_c, σ_c²I), restricted to the domain.

    With responsibilities r_c and component scores s_c the score is s = Σ_c r_c s_c, and

    .. math:: \nabla \cdot s = \sum_c r_c (\|s_c\|^2 - d/σ_c^2) - \|s\|^2 .

    Score matching of a mixture has no lower bound: as a component shrinks onto one observation the
    objective falls like −2g·d/(nσ²). So its scale is fixed, or has a floor.

    Parameters
    ----------
    components
        Number of components K.
    scale
        Standard deviation of all components, if it is known.
    smallest_scale
        No component has a smaller standard deviation. None takes the standard deviation
        within the clusters of k-means times (m²/n)^(1/4), at most ½, where m is how often the most frequent
        row occurs: the size at which a component on that row alone lowers the objective by about its own
        sampling error. A fit says where the floor was reached; what lies there was not estimated.

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
    >>> from mixtures import Mixture
    >>> from goodstein.estimate import TruncatedScoreMatching
    >>> square = gs.Box([0, 0], [1, 1])
    >>> truth = gs.families.GaussianMixture([0.5, 0.5], [[0.2, 0.3], [0.8, 0.7]], [0.04, 0.04])
    >>> x = gs.families.Truncated(truth, square).sample(2000, rng=1)
    >>> fit = TruncatedScoreMatching().fit(x, Mixture(2, scale=0.2), domain=square, rng=1)
    >>> fit.parameters["means"].round(1)
    array([[0.2, 0.3], [0.8, 0.7]])
    """

    components: int
    scale: float | None = None
    smallest_scale: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", check_count(self.components, "components"))
        for name, value in (("scale", self.scale), ("smallest_scale", self.smallest_scale)):
            if value is not None:
                object.__setattr__(self, name, number(value, name, above=0.0))
        if self.scale is not None and self.smallest_scale is not None:
            raise InputError("`scale` fixes all scales, so `smallest_scale` has no use. Pass one of them.")

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
    standard deviations, none if they are fixed; and K − 1 orthonormal log-ratio coordinates of the weights.
    """

    bounded = True

    def __init__(self, family: Mixture, sample: Sample) -> None:
        x = sample.data
        self.family, self.domain = family, sample.domain
        (self.n, self.d), self.k = x.shape, family.components
        self.center, self.unit = x.mean(axis=0), float(np.sqrt(x.var(axis=0).mean()))
        self.z = (x - self.center) / self.unit
        self.block = max(256, BLOCK_NUMBERS // self.k)
        self.contrasts = Simplex(self.k).basis if self.k > 1 else np.zeros((0, 1))
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
        side = MARGIN * (high - low)
        shapes = 0 if self.family.scale is not None else 1
        coordinates = [f"means[{c}, {j}]" for c in range(self.k) for j in range(self.d)]
        coordinates += [f"scales[{c}]" for c in range(self.k) for _ in range(shapes)]
        self.coordinates = (*coordinates, *["weights"] * (self.k - 1))
        shape_bounds = float(np.log(self.floor)), float(np.log(max(LARGEST_SCALE, 2 * self.floor)))
        ends = (low - side, shape_bounds[0], -LARGEST_LOGIT), (high + side, shape_bounds[1], LARGEST_LOGIT)
        self.lower, self.upper = (
            np.concatenate(
                [np.tile(mean, self.k), np.full(self.k * shapes, shape), np.full(self.k - 1, logit)]
            )
            for mean, shape, logit in ends
        )

    def _split(self, theta: Array) -> tuple[Array, Array, Array]:
        """Means (K, d), shapes (K, ·) and log weights (K,)."""
        first, last = self.k * self.d, self.size - (self.k - 1)
        logits = theta[last:] @ self.contrasts
        log_weights = logits - logits.max()
        log_weights -= np.log(np.exp(log_weights).sum())
        return theta[:first].reshape(self.k, self.d), theta[first:last].reshape(self.k, -1), log_weights

    def _log_scales(self, shapes: Array) -> Array:
        """Of z, (K, d)."""
        if self.family.scale is not None:
            return np.full((self.k, self.d), np.log(self.floor))
        return np.broadcast_to(shapes, (self.k, self.d))

    def evaluate(self, theta: Array, rows: slice, *, second: bool = True) -> MixtureEvaluation:
        means, shapes, log_weights = self._split(theta)
        parts = DiagonalComponents(self.z[rows], means, self._log_scales(shapes), log_weights)
        return MixtureEvaluation(parts, self.unit, self.assemble, second)

    def assemble(self, found: ComponentGradients) -> Array:
        """Derivatives in θ from those in means, shapes and logits; with rows in front, for each row."""
        lead = found.logits.shape[:-1]
        parts = [found.means.reshape(*lead, -1), found.logits @ self.contrasts.T]
        if self.family.scale is None:
            parts.insert(1, found.shapes.sum(axis=-1))
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
            shapes = np.log(np.sqrt((spread**2).mean(axis=1, keepdims=True)))
            parts = [centers.ravel(), self.contrasts @ np.log(shares)]
            if self.family.scale is None:
                parts.insert(1, shapes.ravel())
            starts.append(np.concatenate(parts))
        return starts

    def parameters(self, theta: Array) -> Mapping[str, Any]:
        """Weights (K,), means (K, d), and scales (K,) unless they are fixed."""
        means, shapes, log_weights = self._split(theta)
        weights = np.exp(log_weights)
        found: dict[str, Any] = {"weights": weights / weights.sum(), "means": self.center + self.unit * means}
        if self.family.scale is None:
            found["scales"] = self.unit * np.exp(shapes)[:, 0]
        return found

    def model(self, theta: Array) -> Any:
        found = self.parameters(theta)
        variances = self.unit**2 * np.exp(2.0 * self._log_scales(self._split(theta)[1]))
        covs = variances[:, :, None] * np.eye(self.d)
        return restricted(GaussianMixture(found["weights"], found["means"], covs), self.domain)

    def canonical(self, theta: Array) -> Array:
        means, shapes, log_weights = self._split(theta)
        order = np.lexsort(means.T[::-1])
        parts = means[order].ravel(), shapes[order].ravel(), self.contrasts @ log_weights[order]
        return np.concatenate(parts)

    def notes(self, theta: Array) -> list[str]:
        means, shapes, log_weights = self._split(theta)
        notes = []
        if self.family.scale is None:
            deviations = np.exp(shapes[:, 0])
            low = np.flatnonzero(deviations <= 1.005 * self.floor)
            high = np.flatnonzero(deviations >= 0.999 * LARGEST_SCALE)
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

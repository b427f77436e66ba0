r"""g ≈ q/p̂, the ratio of the model's density and that of the data, from training data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from goodstein.auxiliary.base import Auxiliary
from goodstein.auxiliary.tilted import Tilted, boundary_of, spread_of, training_problem
from goodstein.constraints import check_count, check_option, number
from goodstein.data.points import draw
from goodstein.data.rows import SeenRows
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.kernels.bandwidth import Median
from goodstein.models.kde import GaussianKDE
from goodstein.models.model import Model
from goodstein.operators.base import tangent
from goodstein.problems.problem import Problem
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

WIDTHS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.5)
"""Widths of the basis functions that are tried, in median distances."""

PENALTIES = tuple(10.0 ** np.arange(-3.0, 1.1, 0.5))
"""Penalties that are tried; basis functions are at most 1."""


def density_ratio(
    training: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    method: Literal["rulsif", "kde"] = "rulsif",
    boundary: Auxiliary | None = None,
    alpha: float = 0.1,
    floor: float = 0.05,
    n_centres: int = 100,
    rng: RNG = None,
) -> Auxiliary:
    r"""An auxiliary function g ≈ q/p̂ from training data: large where the model puts more mass than the data.

    What is estimated is the relative ratio r = q/(αq + (1 − α)p), which is bounded by 1/α where q/p
    explodes, in the tails above all. Then

    .. math:: g(x) \propto B(x)\,\{r(x) + \text{floor}\cdot\bar r\},

    with B the boundary function, r̄ the mean of r over the training rows, and the factor such that g has mean
    1 there. The floor keeps g positive wherever B is, without which the test would be blind where r vanishes.

    Parameters
    ----------
    training
        Observations to learn from, (n, d). They must not be tested afterwards: a test with this g that is
        given any of them raises :class:`InputError` (see Notes).
    model, domain
        As in :func:`ksd_test`.
    method
        ``"rulsif"``: relative least-squares importance fitting between draws of the model, which needs a
        sampler, and the training rows, by a sum of Gaussians with coefficients that are not negative; width
        and penalty are cross-validated. ``"kde"``: the log density of the model minus that of a Gaussian
        kernel density estimate with Scott's bandwidth, the median of q/p̂ over the training rows being 1.
    boundary
        B, an auxiliary function that vanishes on the boundary; None takes the domain's own, if it has one.
    alpha
        α, between 0 and 1.
    floor
        Share of r̄ that is added.
    n_centres
        Gaussians of ``"rulsif"``, at most as many as training rows.
    rng
        Seed or generator.

    Returns
    -------
    Auxiliary
        For ``Standardised(g)``. It is scalar if B is.

    Notes
    -----
    That g = q/p is optimal is not true: the condition from which it was derived says nothing about
    power. It is one candidate among others; let :func:`select` compare them, on rows that were not used
    here. How training rows are recognised, see
    :class:`goodstein.data.rows.SeenRows`.

    Where the density of the model is infinite on the boundary, the r of ``"kde"`` reaches its bound there so
    slowly that the audit may refuse g; ``"rulsif"`` is smooth up to the boundary.

    References
    ----------
    Yamada, Suzuki, Kanamori, Hachiya, Sugiyama (2013), Relative density-ratio estimation for robust
    distribution comparison. Kanamori, Hido, Sugiyama (2009), A least-squares approach to direct
    importance estimation. Xu (2022), Standardisation-function kernel Stein discrepancy.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0.0, 3.0).sample(300, rng=1)
    >>> g = gs.auxiliary.density_ratio(x[:100], gs.families.Normal(0.0, 1.0), rng=1)
    >>> near, far = g.value(np.array([[0.0], [3.0]]), gs.Euclidean(1))
    >>> bool(near > 3 * far)
    True
    >>> gs.ksd_test(x[100:], gs.families.Normal(0.0, 1.0), operator=gs.Standardised(g), rng=1).pvalue < 0.05
    True
    """
    check_option(method, "method", ("rulsif", "kde"))
    alpha = number(alpha, "alpha", below=1.0, above=0.0)
    floor = number(floor, "floor", above=0.0)
    check_count(n_centres, "n_centres")
    generator = as_generator(rng)
    problem = training_problem(training, model, domain)
    edge = boundary_of(problem.domain, boundary, problem.observations)
    if method == "rulsif":
        tilt: GaussianSum | RatioToKDE = _fit_mixture(problem, alpha, n_centres, generator)
        typical = float(tilt.value(problem.observations, problem.domain).mean())
    else:
        tilt, typical = _fit_kde(problem, alpha)
    rows = SeenRows(problem.observations)
    title = f"density_ratio({method}, {len(rows)} rows)"
    tilted = Tilted(tilt, edge, problem.domain, rows, title, floor * typical)
    return tilted.normalised(problem.observations)


@dataclass(frozen=True, eq=False)
class GaussianSum:
    """Σ_l θ_l exp(−‖(y − c_l)/w‖²/2) in the domain's own coordinates y, with a width w for each."""

    centres: Array
    widths: Array
    coefficients: Array

    def value(self, x: Array, domain: Domain) -> Array:
        """The sum, (n,)."""
        result: Array = self._basis(tangent(domain, x)) @ self.coefficients
        return result

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        """The sum, (n,), and its gradient, (n, d)."""
        y = tangent(domain, x)
        terms = self._basis(y) * self.coefficients
        total = terms.sum(axis=1)
        slope = (terms @ self.centres - total[:, None] * y) / self.widths**2
        return total, slope if domain.basis is None else slope @ domain.basis

    def _basis(self, y: Array) -> Array:
        return gaussians(y / self.widths, self.centres / self.widths)


def gaussians(points: Array, centres: Array) -> Array:
    """exp(−‖y − c‖²/2), (n, b); centred, so that the product of coordinates does not cancel."""
    middle = centres.mean(axis=0)
    left, right = points - middle, centres - middle
    half = np.einsum("ij,ij->i", right, right) / 2.0
    exponent = left @ right.T - half - np.einsum("ij,ij->i", left, left)[:, None] / 2.0
    return np.asarray(np.exp(np.minimum(exponent, 0.0)))


def _fit_mixture(problem: Problem, alpha: float, n_centres: int, rng: np.random.Generator) -> GaussianSum:
    model, domain = problem.model, problem.domain
    if not model.has_sample:
        raise InputError(
            f'`method` "rulsif" compares the training rows with draws of the model, but {model.name} has no '
            'sampler. Pass Model(..., sample=function of (n, rng)), or method="kde", which needs a log '
            "density."
        )
    de = tangent(domain, problem.observations)
    # As many as there are training rows, so that they can be left out in pairs.
    nu = tangent(domain, draw(model, domain, len(de), rng))
    spread = spread_of(nu, de)
    nu, de = nu / spread, de / spread
    centres = nu[rng.permutation(len(nu))[:n_centres]]
    unit = Median()(np.vstack([nu, de]))
    scores = {}
    for width in WIDTHS:
        on_nu, on_de = (gaussians(part / (width * unit), centres / (width * unit)) for part in (nu, de))
        for penalty, score in zip(PENALTIES, leave_one_out(on_nu, on_de, alpha, PENALTIES), strict=True):
            scores[width, penalty] = score
    width, penalty = min(scores, key=lambda pair: scores[pair])
    on_nu, on_de = (gaussians(part / (width * unit), centres / (width * unit)) for part in (nu, de))
    coefficients = least_squares(on_nu, on_de, alpha, penalty)
    return GaussianSum(centres * spread, width * unit * spread, coefficients)


def least_squares(on_nu: Array, on_de: Array, alpha: float, penalty: float) -> Array:
    """θ ≥ 0 that minimises ½θᵀ(Ĥ + λI)θ − ĥᵀθ, (b,).

    The usual estimate has no constraint and its negative coefficients are set to zero afterwards, which
    makes it too large; to ask for θ ≥ 0 at once does not.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    matrix, vector = _moments(on_nu, on_de, alpha)
    factor = np.linalg.cholesky(matrix + penalty * np.eye(len(matrix)))
    return np.asarray(nnls(factor.T, solve_triangular(factor, vector, lower=True))[0])


def leave_one_out(on_nu: Array, on_de: Array, alpha: float, penalties: tuple[float, ...]) -> list[float]:
    """The cross-validated objective, for each penalty λ, each time one draw and one training row left out.

    Without constraint θ = (Ĥ + λI)⁻¹ĥ. Leaving out the i-th pair V = (ψ(nu_i), ψ(de_i)) changes Ĥ by a
    matrix of rank two, so that with B = Ĥ + (1 − 1/n)λI, S = VᵀB⁻¹V, u = VᵀB⁻¹ĥ and
    D = diag(α, 1 − α)/n the two values of r that are needed are (I − SD)⁻¹(u − S e₁/n).
    """
    n = len(on_nu)
    matrix, vector = _moments(on_nu, on_de, alpha)
    eigenvalues, basis = np.linalg.eigh(matrix)
    first, second, target = on_nu @ basis, on_de @ basis, vector @ basis
    weight = np.array([alpha, 1.0 - alpha])
    scores = []
    for penalty in penalties:
        inverse = 1.0 / (np.maximum(eigenvalues, 0.0) + (1.0 - 1.0 / n) * penalty)
        s = np.empty((n, 2, 2))
        for a, left in enumerate((first, second)):
            for b, right in enumerate((first, second)):
                s[:, a, b] = np.einsum("ij,j,ij->i", left, inverse, right)
        u = np.column_stack([first @ (inverse * target), second @ (inverse * target)])
        system = np.eye(2) - s * (weight / n)
        r = np.linalg.solve(system, (u - s[:, :, 0] / n)[:, :, None])[:, :, 0]
        scores.append(float((0.5 * r**2 @ weight - r[:, 0]).mean()))
    return scores


def _moments(on_nu: Array, on_de: Array, alpha: float) -> tuple[Array, Array]:
    """Ĥ, (b, b), and ĥ, (b,)."""
    matrix = alpha * on_nu.T @ on_nu / len(on_nu) + (1.0 - alpha) * on_de.T @ on_de / len(on_de)
    return matrix, on_nu.mean(axis=0)


@dataclass(frozen=True, eq=False)
class RatioToKDE:
    """r = 1/(α + (1 − α)e^{−t}) with t = log q − log p̂ − level; ∇r = r(1 − αr)∇t."""

    model: Model
    kde: GaussianKDE
    level: float
    alpha: float

    def value(self, x: Array, domain: Domain) -> Array:
        """r, (n,)."""
        t = self.model.logpdf(x) - self.kde.logpdf(tangent(domain, x)) - self.level
        return relative(t, self.alpha)

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        """r, (n,), and its gradient, (n, d)."""
        r = self.value(x, domain)
        slope = self.kde.score(tangent(domain, x))
        if domain.basis is not None:
            slope = slope @ domain.basis
        return r, (r * (1.0 - self.alpha * r))[:, None] * (self.model.score(x) - slope)


def relative(t: Array, alpha: float) -> Array:
    """1/(α + (1 − α)e^{−t}), without overflow; (n,)."""
    shrunk = np.exp(-np.abs(t))
    large = 1.0 / (alpha + (1.0 - alpha) * shrunk)
    return np.where(t >= 0, large, shrunk / (alpha * shrunk + 1.0 - alpha))


def _fit_kde(problem: Problem, alpha: float) -> tuple[RatioToKDE, float]:
    """The ratio, and its mean over the training rows, each left out of the estimate."""
    model, domain, x = problem.model, problem.domain, problem.observations
    if not model.has_logpdf:
        raise InputError(
            f'`method` "kde" needs the log density of the model, and {model.name} has only a score. Pass '
            'Model(logpdf=...), or method="rulsif", which needs a sampler.'
        )
    y = tangent(domain, x)
    n, m = y.shape
    covariance = np.atleast_2d(np.cov(y, rowvar=False)) * n ** (-2.0 / (m + 4))
    try:
        kde = GaussianKDE(y, covariance)
    except np.linalg.LinAlgError:
        raise InputError(
            f"the {n} rows lie in a subspace, so there is no kernel density estimate of them. "
            'Pass more rows, drop a coordinate, or use method="rulsif".',
            argument="training",
        ) from None
    # At a training row the estimate sees that row itself, which other data do not.
    _, log_volume = np.linalg.slogdet(2.0 * math.pi * covariance)
    own = np.exp(-0.5 * log_volume - math.log(n) - kde.logpdf(y))
    with np.errstate(divide="ignore"):
        left_out = kde.logpdf(y) + np.log(np.maximum(1.0 - own, 0.0)) + math.log(n / (n - 1))
    t = model.logpdf(x) - left_out
    if np.isnan(t).any() or not np.isfinite(np.median(t)):
        raise InputError(
            f"the log density of {model.name} is not finite at half of the rows, so its ratio to "
            "that of the data has no level.",
            argument="training",
        )
    level = float(np.median(t))
    return RatioToKDE(model, kde, level, alpha), float(relative(t - level, alpha).mean())

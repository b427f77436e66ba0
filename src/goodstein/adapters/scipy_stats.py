"""Frozen distributions of scipy.stats, old style and new."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from goodstein.adapters.describe import bases, describe
from goodstein.domains import Box, Euclidean
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.models.kde import GaussianKDE
from goodstein.models.model import Model
from goodstein.types import Array


def from_distribution(rv: Any) -> Model:
    """Turn any object of scipy.stats into a model, or say why that cannot be done."""
    names = bases(rv)
    discrete = names & {"rv_discrete", "rv_discrete_frozen", "DiscreteDistribution"}
    if discrete or ("multi_rv_frozen" in names and hasattr(rv, "logpmf")):
        _refuse(
            rv,
            "is discrete, and does not say on which states. Say so: Model(logpdf=rv.logpmf, "
            "domain=Lattice(levels, d))",
        )
    if names & {"rv_generic", "multi_rv_generic"}:
        name = getattr(rv, "name", None) or type(rv).__name__.removesuffix("_gen")
        raise InputError(
            f"`model`: scipy.stats.{name} has no parameters yet. Call it: "
            f"scipy.stats.{name}{'(loc, scale)' if 'rv_generic' in names else '(...)'}."
        )
    if "rv_frozen" in names:
        return _on_circle(rv) if rv.dist.name == "vonmises" else _univariate(Frozen(rv))
    if "_ProbabilityDistribution" in names:
        return _univariate(NewStyle(rv))
    if "multi_rv_frozen" in names:
        return _multivariate(rv)
    if "gaussian_kde" in names:
        return _kernel_density(rv)
    _refuse(rv, "is not a distribution")


class Frozen:
    """A frozen univariate distribution, as log density and sampler."""

    def __init__(self, rv: Any) -> None:
        self.rv = rv

    @property
    def name(self) -> str:
        """How the user wrote it."""
        arguments = [_number(value) for value in self.rv.args]
        arguments += [f"{key}={_number(value)}" for key, value in self.rv.kwds.items()]
        return f"scipy.stats.{self.rv.dist.name}({', '.join(arguments)})"

    def logpdf(self, x: Array) -> Array:
        """Log density at (n, 1), (n,)."""
        return np.asarray(self.rv.logpdf(x[:, 0]))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n points, (n, 1)."""
        return np.asarray(self.rv.rvs(size=n, random_state=rng)).reshape(n, 1)


class NewStyle:
    """A distribution of SciPy's new infrastructure, as log density and sampler."""

    def __init__(self, rv: Any) -> None:
        self.rv = rv

    @property
    def name(self) -> str:
        """What it calls itself, on one line."""
        text = " ".join(str(self.rv).split())
        for loose, tight in (("( ", "("), ("[ ", "["), (", )", ")"), (", ]", "]")):
            text = text.replace(loose, tight)
        return text

    def logpdf(self, x: Array) -> Array:
        """Log density at (n, 1), (n,)."""
        return np.asarray(self.rv.logpdf(x[:, 0]))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n points, (n, 1)."""
        return np.asarray(self.rv.sample(shape=(n,), rng=rng)).reshape(n, 1)


def _univariate(wrapped: Frozen | NewStyle) -> Model:
    lower, upper = (np.asarray(end, dtype=np.float64) for end in wrapped.rv.support())
    if lower.ndim or upper.ndim:
        _refuse(
            wrapped.rv,
            f"holds an array of distributions, of shape {np.broadcast_shapes(lower.shape, upper.shape)}. "
            "Pass a single one, or their joint density as Model(logpdf=...)",
        )
    domain: Domain = Box(lower, upper) if np.isfinite([lower, upper]).any() else Euclidean(1)
    return Model(logpdf=wrapped.logpdf, sample=wrapped.sample, domain=domain, name=wrapped.name)


def _on_circle(rv: Any) -> Model:
    """The von Mises distribution, which has a period and so is no density on the line."""
    from goodstein import families
    from goodstein.adapters.model import as_model

    (kappa,), loc, scale = rv.dist._parse_args(*rv.args, **rv.kwds)
    if np.ndim(kappa) or np.ndim(loc) or scale != 1:
        _refuse(rv, "must have one kappa, one loc and no scale: angles have the period 2π")
    return as_model(families.VonMises(float(loc), float(kappa)))


def _multivariate(rv: Any) -> Model:
    """Distributions that have a family of their own, and so a closed-form score."""
    from goodstein import families
    from goodstein.adapters.model import as_model

    kind = type(rv).__name__.removesuffix("_frozen")
    if kind == "multivariate_normal":
        return as_model(families.Normal(rv.mean, rv.cov))
    if kind == "multivariate_t":
        if np.isinf(rv.df):
            return as_model(families.Normal(rv.loc, rv.shape))
        return as_model(families.StudentT(rv.df, rv.loc, rv.shape))
    if kind == "dirichlet":
        return as_model(families.Dirichlet(rv.alpha))
    if kind == "vonmises_fisher":
        return as_model(families.VonMisesFisher(rv.mu, rv.kappa))
    if kind == "uniform_direction":
        return as_model(families.UniformOnSphere(rv.dim))
    if not hasattr(rv, "logpdf"):
        _refuse(rv, "has no log density")
    dim = getattr(rv, "dim", None)
    if not isinstance(dim, (int, np.integer)) or np.shape(rv.rvs(size=2, random_state=0)) != (2, dim):
        _refuse(rv, "is not a distribution of vectors. Flatten it yourself: Model(logpdf=..., sample=...)")
    return Model(logpdf=rv.logpdf, sample=MultivariateSampler(rv), name=describe(rv))


class MultivariateSampler:
    """``rvs`` of a multivariate distribution."""

    def __init__(self, rv: Any) -> None:
        self.rv = rv

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n points, (n, d)."""
        # scipy.stats drops the first axis for n = 1.
        return np.asarray(self.rv.rvs(size=n, random_state=rng)).reshape(n, -1)


def _kernel_density(rv: Any) -> Model:
    from goodstein.adapters.model import as_model

    points = np.asarray(rv.dataset, dtype=np.float64).T.copy()
    name = f"scipy.stats.gaussian_kde of {len(points)} points"
    return as_model(GaussianKDE(points, np.asarray(rv.covariance), np.asarray(rv.weights), name))


def _number(value: Any) -> str:
    return f"{value:g}" if np.ndim(value) == 0 and not isinstance(value, str) else type(value).__name__


def _refuse(rv: Any, why: str) -> NoReturn:
    dist = getattr(rv, "dist", rv)
    name = getattr(dist, "name", None) or type(dist).__name__.removesuffix("_frozen")
    raise InputError(f"`model`: scipy.stats.{name} {why}.")

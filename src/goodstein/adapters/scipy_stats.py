"""Frozen distributions of scipy.stats, old style and new."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

import numpy as np

from goodstein.adapters.methods import from_methods
from goodstein.data.rows import SeenMoments
from goodstein.domains import Box, Euclidean, Naturals
from goodstein.domains.base import Domain
from goodstein.families.binomial import Multinomial
from goodstein.families.dirichlet import Dirichlet
from goodstein.families.dirichlet_multinomial import DirichletMultinomial
from goodstein.families.normal import Normal
from goodstein.families.student import StudentT
from goodstein.families.von_mises import VonMises
from goodstein.families.von_mises_fisher import UniformOnSphere, VonMisesFisher
from goodstein.foreign import bases, describe, unusable
from goodstein.models.kde import GaussianKDE
from goodstein.models.model import Model
from goodstein.models.provenance import Fit
from goodstein.types import Array

SAME: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "multivariate_normal": (Normal, ("mean", "cov")),
    "multivariate_t": (StudentT, ("df", "loc", "shape")),
    "dirichlet": (Dirichlet, ("alpha",)),
    "vonmises_fisher": (VonMisesFisher, ("mu", "kappa")),
    "uniform_direction": (UniformOnSphere, ("dim",)),
}
"""Multivariate distributions, the same families, and the attributes that are their parameters."""

WITH_MEAN = {"norm", "expon", "gamma", "invgauss"}
"""Distributions that have the mean of the data where they were fitted to them by maximum likelihood."""


def from_distribution(rv: Any) -> Model:
    """Turn any object of scipy.stats into a model, or say why that cannot be done."""
    names = bases(rv)
    if names & {"rv_generic", "multi_rv_generic"} and "rv_sample" not in names:
        name = f"scipy.stats.{getattr(rv, 'name', None) or type(rv).__name__.removesuffix('_gen')}"
        call = f"{name}{'(loc, scale)' if 'rv_generic' in names else '(...)'}"
        raise unusable(f"{name} has no parameters yet.", f"Call it: {call}.")
    if names & {"rv_discrete_frozen", "rv_sample"}:
        return _of_counts(OldStyle(rv))
    if "DiscreteDistribution" in names:
        return _of_counts(NewStyle(rv))
    if "rv_frozen" in names:
        return _on_circle(rv) if rv.dist.name == "vonmises" else _univariate(OldStyle(rv))
    if "_ProbabilityDistribution" in names:
        return _univariate(NewStyle(rv))
    if "multi_rv_frozen" in names:
        return _multivariate(rv)
    if "gaussian_kde" in names:
        return _kernel_density(rv)
    if "FitResult" in names:
        family = getattr(getattr(rv, "_dist", None), "name", "...")
        raise unusable(
            "a result of scipy.stats.fit holds parameters, and is not a distribution.",
            f"Pass scipy.stats.{family}(*fitted.params).",
        )
    _refuse(rv, "is not a distribution")


class OldStyle:
    """A frozen univariate distribution, as log density and sampler."""

    def __init__(self, rv: Any) -> None:
        self.rv = rv

    @property
    def name(self) -> str:
        """How the user wrote it."""
        if not hasattr(self.rv, "dist"):  # made of a table of probabilities
            return f"scipy.stats.{self.rv.name}"
        arguments = [_number(value) for value in self.rv.args]
        arguments += [f"{key}={_number(value)}" for key, value in self.rv.kwds.items()]
        return f"scipy.stats.{self.rv.dist.name}({', '.join(arguments)})"

    def logpdf(self, x: Array) -> Array:
        """Log density at (n, 1), (n,)."""
        return np.asarray(self.rv.logpdf(x[:, 0]))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n points, (n, 1)."""
        return _draws(self.rv, n, rng)


class NewStyle(OldStyle):
    """A distribution of SciPy's new infrastructure, as log density and sampler."""

    @property
    def name(self) -> str:
        text = " ".join(str(self.rv).split())
        for loose, tight in (("( ", "("), ("[ ", "["), (", )", ")"), (", ]", "]")):
            text = text.replace(loose, tight)
        return text

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.rv.sample(shape=(n,), rng=rng)).reshape(n, 1)


def _univariate(wrapped: OldStyle) -> Model:
    lower, upper = (np.asarray(end, dtype=np.float64) for end in wrapped.rv.support())
    if lower.ndim or upper.ndim:
        shape = np.broadcast_shapes(lower.shape, upper.shape)
        remedy = "Pass a single one, or their joint density as Model(logpdf=...)"
        _refuse(wrapped.rv, f"holds an array of distributions, of shape {shape}. {remedy}")
    domain: Domain = Box(lower, upper) if np.isfinite([lower, upper]).any() else Euclidean(1)
    model = Model(logpdf=wrapped.logpdf, sample=wrapped.sample, domain=domain, name=wrapped.name)
    if isinstance(wrapped, NewStyle) or wrapped.rv.dist.name not in WITH_MEAN:
        return model
    mean = np.array([wrapped.rv.mean()], np.float64)
    return model.remember(Fit(None, SeenMoments(mean)))


def _of_counts(wrapped: OldStyle) -> Model:
    """A distribution of whole numbers, none of them negative."""
    rv = wrapped.rv
    lower = np.asarray(rv.support()[0], dtype=np.float64)
    if lower.ndim or not lower >= 0:
        many = "holds an array of distributions" if lower.ndim else f"has states from {lower:g} on, no counts"
        so = "Say where it lives: Model(logpdf=..., domain=StateSpace(1, neighbours)), or a Lattice"
        _refuse(rv, f"{many}. {so}")

    def logpmf(x: Array) -> Array:
        return np.asarray(rv.logpmf(x[:, 0]))

    return Model(logpdf=logpmf, sample=wrapped.sample, domain=Naturals(1), name=wrapped.name)


def _on_circle(rv: Any) -> Model:
    """The von Mises distribution, which has a period and so is no density on the line."""
    (kappa,), loc, scale = rv.dist._parse_args(*rv.args, **rv.kwds)
    if np.ndim(kappa) or np.ndim(loc) or scale != 1:
        _refuse(rv, "must have one kappa, one loc and no scale: angles have the period 2π")
    return from_methods(VonMises(float(loc), float(kappa)))


def _multivariate(rv: Any) -> Model:
    """Distributions that have a family of their own, and so a closed-form score."""
    kind = type(rv).__name__.removesuffix("_frozen")
    if kind == "multivariate_t" and np.isinf(rv.df):
        return from_methods(Normal(rv.loc, rv.shape))
    if kind == "multinomial":
        return from_methods(Multinomial(int(rv.n), rv.p))
    if kind == "dirichlet_multinomial":
        return from_methods(DirichletMultinomial(int(rv.n), rv.alpha))
    if kind in SAME:
        family, parameters = SAME[kind]
        return from_methods(family(*(getattr(rv, name) for name in parameters)))
    if hasattr(rv, "logpmf"):
        so = "Say so: Model(logpdf=rv.logpmf, domain=Naturals(d)), or a Lattice of as many coordinates"
        _refuse(rv, f"is discrete, and does not say on which states. {so}")
    if not hasattr(rv, "logpdf"):
        _refuse(rv, "has no log density")
    dim = getattr(rv, "dim", None)
    if not isinstance(dim, (int, np.integer)) or np.shape(rv.rvs(size=2, random_state=0)) != (2, dim):
        _refuse(rv, "is not a distribution of vectors. Flatten it yourself: Model(logpdf=..., sample=...)")
    return Model(logpdf=rv.logpdf, sample=partial(_draws, rv), name=describe(rv))


def _draws(rv: Any, n: int, rng: np.random.Generator) -> Array:
    """n points, (n, d)."""
    # scipy.stats drops the first axis for n = 1.
    return np.asarray(rv.rvs(size=n, random_state=rng)).reshape(n, -1)


def _kernel_density(rv: Any) -> Model:
    points = np.asarray(rv.dataset, dtype=np.float64).T.copy()
    name = f"scipy.stats.gaussian_kde of {len(points)} points"
    return from_methods(GaussianKDE(points, np.asarray(rv.covariance), np.asarray(rv.weights), name))


def _number(value: Any) -> str:
    return f"{value:g}" if np.ndim(value) == 0 and not isinstance(value, str) else type(value).__name__


def _refuse(rv: Any, why: str) -> NoReturn:
    dist = getattr(rv, "dist", rv)
    name = getattr(dist, "name", None) or type(dist).__name__.removesuffix("_frozen")
    raise unusable(f"scipy.stats.{name} {why}.")

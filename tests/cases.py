"""The instances that the laws of the library are tested on: one list for each concept.

Something new is one line here, and all laws of its kind in ``test_laws.py`` run over it; one that is missing
fails there. Samples are drawn by NumPy and not by the library. See ``definitions.py`` for operators of points
with their definitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import goodstein as gs
from definitions import TANGENTIAL, Array, Function
from directions import polar_embedding, polar_jacobian, polar_metric
from goodstein.data import Points
from goodstein.data.base import OwnData
from goodstein.estimate import (
    AnyDirichlet,
    AnyExponential,
    AnyGamma,
    AnyNormal,
    ExponentialFamily,
    MinimumStein,
    Parametric,
    ScoreMatching,
    TruncatedScoreMatching,
)
from goodstein.families import (
    ERGM,
    BernoulliRBM,
    BetaBinomial,
    Bingham,
    Binomial,
    CategoricalTable,
    Dirichlet,
    DirichletMultinomial,
    Exponential,
    Gamma,
    GaussianMixture,
    Geometric,
    Gompertz,
    Ising,
    Kent,
    Laplace,
    LogisticNormal,
    LogLogistic,
    LogNormal,
    Multinomial,
    NegativeBinomial,
    Normal,
    PiecewiseExponential,
    Poisson,
    PoissonProcess,
    Potts,
    ProbabilisticPCA,
    Product,
    Strauss,
    StudentT,
    Truncated,
    Uniform,
    UniformOnSphere,
    VonMises,
    VonMisesFisher,
    Weibull,
    ZeroInflated,
)
from goodstein.graphs import GlauberFlips, SubgraphCounts, WeisfeilerLehman
from goodstein.kernels import (
    IMQ,
    CategoricalProduct,
    Gaussian,
    Hamming,
    Matern52,
    RationalQuadratic,
    Whitened,
)
from goodstein.kernels.base import as_kernel
from goodstein.operators.finite_set import FiniteSet
from goodstein.patterns import ConfigurationKernel, Distances, Innovations, Numbers, Papangelou

inf = np.inf
Sampler = Callable[[int, np.random.Generator], Any]


# --- kernels ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelCase:
    """A kernel and observations that it compares; of a radial one also φ(ρ) in JAX, from the textbooks.

    One that is whitened looks at coordinates Lᵀu with LLᵀ = `metric`. `fit` is what it takes its scales from.
    """

    name: str
    kernel: Any
    profile: Function | None = None
    whitened: bool = False
    at: Any = None
    fit: Any = None

    def make(self, m: int = 2) -> Any:
        """The kernel for m coordinates."""
        return Whitened(self.kernel, metric(m)) if self.whitened else self.kernel

    def linear_map(self, m: int) -> Array:
        """L; the identity for a kernel that is not whitened."""
        return np.linalg.cholesky(metric(m)) if self.whitened else np.eye(m)


def metric(m: int) -> Array:
    """A metric that is neither diagonal nor of unit scale."""
    index = np.arange(m)
    return 0.6 ** np.abs(index[:, None] - index) * np.sqrt(np.outer(index + 1.5, index + 1.5))


def power(width2, exponent) -> Function:
    return lambda rho: (1 + rho / width2) ** exponent


def squared_exponential(width) -> Function:
    return lambda rho: jnp.exp(-rho / (2 * width**2))


def matern52(width) -> Function:
    """At ρ = 0 its Taylor polynomial, which has the same two derivatives there: √ρ has none."""
    c = math.sqrt(5) / width

    def phi(rho):
        t = c * jnp.sqrt(jnp.where(rho > 0, rho, 1.0))
        taylor = 1 - c**2 * rho / 6 + c**4 * rho**2 / 24
        return jnp.where(rho > 0, (1 + t + t**2 / 3) * jnp.exp(-t), taylor)

    return phi


@dataclass(frozen=True)
class PlainKernel:
    """A user's object with the two methods of a radial kernel, its length one, and nothing else."""

    def fitted(self, points):
        return self

    def profiles(self, rho, order=2):
        return [np.exp(-rho / 2) * (-0.5) ** k for k in range(order + 1)]


def random_tables(levels: int, d: int) -> Array:
    """Positive definite tables of positive numbers, (d, levels, levels)."""
    root = np.random.default_rng([levels, d]).normal(size=(d, levels, 2 * levels))
    return np.exp(0.3 * np.einsum("iak,ibk->iab", root, root) / levels)


def adjacency(nodes: int, p: float, rng: np.random.Generator) -> Array:
    """A graph whose edges are independent."""
    upper = np.triu(rng.uniform(size=(nodes, nodes)) < p, 1)
    return (upper | upper.T).astype(float)


POINTS = np.random.default_rng(0).standard_normal((9, 2))
STATES = np.random.default_rng(1).integers(0, 3, (9, 2)).astype(float)
SCATTERED = gs.Patterns([np.random.default_rng(k).uniform(size=(k, 2)) for k in range(5)], 2)
NETWORKS = [adjacency(6, 0.5, np.random.default_rng(k)) for k in range(5)]

KERNELS = [
    KernelCase("Gaussian", Gaussian(0.9), squared_exponential(0.9)),
    KernelCase("IMQ", IMQ(1.1), power(1.1**2, -0.5)),
    KernelCase("IMQ(-.3)", IMQ(0.8, exponent=-0.3), power(0.8**2, -0.3)),
    KernelCase("RationalQuadratic", RationalQuadratic(0.7, alpha=1.7), power(2 * 1.7 * 0.7**2, -1.7)),
    KernelCase("Matern52", Matern52(1.3), matern52(1.3)),
    KernelCase(
        "sum",
        Gaussian(0.6) + IMQ(1.5),
        lambda rho: squared_exponential(0.6)(rho) + power(1.5**2, -0.5)(rho),
    ),
    KernelCase("whitened", IMQ(1.1), power(1.1**2, -0.5), whitened=True),
    KernelCase("own", as_kernel(PlainKernel()), squared_exponential(1.0)),
    KernelCase("Hamming", Hamming(2.0), at=STATES),
    KernelCase("CategoricalProduct", CategoricalProduct(random_tables(3, 2)), at=STATES),
    KernelCase("CategoricalProduct, small", CategoricalProduct([[1, 0.5], [0.5, 1]]), at=STATES % 2),
    KernelCase("ConfigurationKernel", ConfigurationKernel(0.4, 0.7), at=SCATTERED),
    KernelCase("ConfigurationKernel, means", ConfigurationKernel(0.4, 0.7, True), at=SCATTERED),
    KernelCase("SubgraphCounts", SubgraphCounts(), at=NETWORKS, fit=gs.Graph(NETWORKS[0])),
    KernelCase("WeisfeilerLehman", WeisfeilerLehman(2, "none"), at=NETWORKS),
]
RADIAL = [case for case in KERNELS if case.profile is not None]


# --- data and operators ----------------------------------------------------------------------


class Words(gs.Data):
    """A kind of data outside the library: words of one letter, a or b."""

    def __init__(self, words):
        self.words = list(words)

    def __len__(self):
        return len(self.words)

    def take(self, rows):
        return Words([self.words[row] for row in rows])


class PlainWords:
    """The same, and no class of the library's."""

    def __init__(self, words):
        self.words = words

    def __len__(self):
        return len(self.words)

    def take(self, rows):
        return PlainWords([self.words[row] for row in rows])


@dataclass(frozen=True)
class Letters:
    """Each word is a with probability p, and b otherwise."""

    p: float

    def sample(self, n, rng):
        return Words(rng.choice(["a", "b"], p=[self.p, 1 - self.p], size=n))


@dataclass(frozen=True)
class Frequencies:
    """T f(x) = f(x) − E f, with f two indicators; a user's operator of a user's data."""

    def features(self, model, domain, data):
        observed = np.array([[word == "a", word == "b"] for word in data.words], float)
        value, none = observed - [model.p, 1 - model.p], np.zeros(len(data))
        return gs.SteinFeatures(np.zeros((len(data), 2)), value, weight=none)  # no derivatives

    def default_kernel(self):
        return Gaussian(1.0)


@dataclass(frozen=True)
class PlainLangevin:
    """The Langevin operator as a user writes it."""

    pointwise = True

    def features(self, model, domain, data):
        return gs.SteinFeatures(points=data, value=model.score(data), weight=None)


@dataclass(frozen=True)
class OperatorCase:
    """An operator with a model, a sampler of the model, and a sampler of another law, which it must see."""

    name: str
    operator: Any
    model: Any
    sample: Sampler
    wrong: Sampler
    n: int = 60
    null: Any = None
    draws: bool = False  # whether the operator itself draws random numbers

    def data(self, n: int | None = None, seed: int = 0) -> Any:
        """Data of the model."""
        return self.sample(n or self.n, np.random.default_rng([7, seed]))

    def wrong_data(self, n: int | None = None, seed: int = 0) -> Any:
        """Data of the other law."""
        return self.wrong(n or self.n, np.random.default_rng([8, seed]))


def normals(shift=0.0, scale=1.0, d=2) -> Sampler:
    return lambda n, rng: shift + scale * rng.standard_normal((n, d))


def correlated(shift, cov) -> Sampler:
    return lambda n, rng: rng.multivariate_normal([shift, 0], cov, n)


def two_modes(share, d=2) -> Sampler:
    """Normals about −5 and 5 in every coordinate."""

    def sample(n, rng):
        return np.where(rng.uniform(size=(n, 1)) < share, -5.0, 5.0) + rng.standard_normal((n, d))

    return sample


def uniforms(power=1.0) -> Sampler:
    return lambda n, rng: rng.uniform(size=(n, 2)) ** power


def in_disc(power=0.5) -> Sampler:
    """Radius U^power: uniform for ½."""

    def sample(n, rng):
        angle = rng.uniform(0, 2 * np.pi, n)
        return rng.uniform(size=(n, 1)) ** power * np.column_stack([np.cos(angle), np.sin(angle)])

    return sample


def compositions(*alpha) -> Sampler:
    return lambda n, rng: rng.dirichlet(alpha, n)


def headings(mean) -> Sampler:
    return lambda n, rng: rng.vonmises(mean, 1.5, (n, 1))


def directions(pull) -> Sampler:
    def sample(n, rng):
        x = rng.standard_normal((n, 3)) + np.array([0.0, 0.0, pull])
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    return sample


def states(*shares) -> Sampler:
    return lambda n, rng: rng.choice(len(shares), (n, 2), p=shares).astype(float)


def poissons(*rates) -> Sampler:
    return lambda n, rng: rng.poisson(rates, (n, len(rates))).astype(float)


def kinds(*shares) -> Sampler:
    return lambda n, rng: rng.multinomial(8, shares, n).astype(float)


def orders(pull) -> Sampler:
    """Orders of three things by noisy scores, and their pull towards 0, 1, 2."""
    return lambda n, rng: np.argsort(pull * np.arange(3) + rng.gumbel(size=(n, 3)), axis=1).astype(float)


def exchanges(order) -> Array:
    """Orders of three things in which two that follow each other change places."""
    return order[[[1, 0, 2], [0, 2, 1]]]


def lifetimes(shape) -> Sampler:
    """Weibull durations of scale one, some of them censored."""

    def sample(n, rng):
        event, censoring = rng.weibull(shape, n), rng.exponential(2.0, n)
        return gs.Censored(np.minimum(event, censoring), event <= censoring)

    return sample


def growing(t, z):
    """The cumulative hazard of durations with the scale exp(z/2)."""
    return t * np.exp(-0.5 * z)


def followed(slope) -> Sampler:
    """Exponential durations with the scale exp(slope·z), some of them censored, some with a late entry."""

    def sample(n, rng):
        z = rng.standard_normal(n)
        entry = rng.uniform(0.0, 0.3, n) * (np.arange(n) % 2)
        event, censoring = (
            entry + np.exp(slope * z) * rng.exponential(size=n),
            entry + rng.exponential(2.0, n),
        )
        return gs.Censored(np.minimum(event, censoring), event <= censoring, entry, z)

    return sample


def pairs(shift) -> Sampler:
    def sample(n, rng):
        x = rng.standard_normal((n, 1))
        return gs.Paired(x, x + shift + rng.standard_normal((n, 1)))

    return sample


def clumps(parents) -> Sampler:
    """Each parent with three children close by."""

    def sample(n, rng):
        centres = [rng.uniform(0.05, 0.95, size=(rng.poisson(parents), 2)) for _ in range(n)]
        children = [np.repeat(c, 3, axis=0) for c in centres]
        return gs.Patterns([c + rng.uniform(-0.05, 0.05, c.shape) for c in children], 2)

    return sample


def scatter(intensity) -> Sampler:
    def sample(n, rng):
        return gs.Patterns([rng.uniform(size=(rng.poisson(intensity), 2)) for _ in range(n)], 2)

    return sample


def network(p) -> Sampler:
    return lambda n, rng: gs.Graph(adjacency(n, p, rng))


def one_pattern(power=1.0) -> Sampler:
    """One pattern of about 60 points, whatever n."""
    return lambda n, rng: gs.Pattern(rng.uniform(size=(rng.poisson(60), 2)) ** power)


def words(p, kind=Words) -> Sampler:
    return lambda n, rng: kind(rng.choice(["a", "b"], p=[p, 1 - p], size=n))


def prior_score(theta):
    return -theta


def likelihood_score(theta, y):
    return y[:, :, None] - theta[:, None]


SQUARE = gs.Box(0, [1, 1])
FAR_APART = GaussianMixture([0.5, 0.5], [[-5, -5], [5, 5]], 1.0)
PLANE, HALVES = Normal([0, 0]), Dirichlet([0.5, 0.5, 0.5])
LOADINGS = np.array([[1.0], [-0.5]])
FACTORS = ProbabilisticPCA(LOADINGS, variance=0.4).latent()
OBSERVED = np.random.default_rng(3).normal(1.0, 1.0, 9)
POSTERIOR = gs.Posterior(prior_score, likelihood_score, OBSERVED, gs.Euclidean(1), batched=True)
LAW = OBSERVED.sum() / 10, 10**-0.5  # mean and deviation of the posterior, in closed form
TABLE = CategoricalTable(np.outer([2, 3, 5], [2, 3, 5]))


def alike(x) -> Array:
    return np.zeros(len(x))


ANY_ORDER = gs.Model(logpdf=alike, domain=gs.StateSpace(3, exchanges))


def line(x):
    return x


CONDITIONAL = gs.ConditionalModel.gaussian(line, 1.0)
LOCATIONS = np.random.default_rng(2).standard_normal((3, 2))

HALF, THIRDS, SPREAD = (0.5, 0.5, 0.5), (0.2, 0.3, 0.5), LOADINGS @ LOADINGS.T + 0.4 * np.eye(2)
HAZARD, SPHERE = Exponential(1.0), UniformOnSphere(3)
REGRESSION = gs.SurvivalRegression(cumulative_hazard=growing, name="exponential regression")
PATTERN, GRAPH = PoissonProcess(9.0, SQUARE), ERGM(12, edges=-1.0)
SOME, DENSE = GlauberFlips(50), PoissonProcess(60.0, SQUARE)
FEW = gs.MonteCarlo(39)

OPERATORS = [
    OperatorCase("Langevin", gs.Langevin(), PLANE, normals(), normals(0.8)),
    OperatorCase("own", PlainLangevin(), PLANE, normals(), normals(0.8)),
    OperatorCase("Standardised", gs.Standardised(), Uniform(SQUARE), uniforms(), uniforms(2.0)),
    OperatorCase("MatrixStandardised", TANGENTIAL, Uniform(gs.Ball(2)), in_disc(), in_disc(1.5)),
    OperatorCase("Mirrored", gs.Mirrored(), HALVES, compositions(*HALF), compositions(2, 2, 2)),
    OperatorCase("LogRatio", gs.LogRatio(), HALVES, compositions(*HALF), compositions(2, 2, 2)),
    OperatorCase("Dilation", gs.Dilation(), PLANE, normals(), normals(0, 1.8)),
    OperatorCase("Margin", gs.Margin(1), PLANE, normals(), normals(0.8)),
    OperatorCase("Margin, box", gs.Margin(1), Uniform(SQUARE), uniforms(), uniforms(2.0)),
    OperatorCase("Margin, simplex", gs.Margin(2), HALVES, compositions(*HALF), compositions(2, 2, 2)),
    OperatorCase("Margin, circle", gs.Margin(0), VonMises(0, 1.5), headings(0), headings(1.5)),
    OperatorCase("Margin, sphere", gs.Margin(2), SPHERE, directions(0), directions(2)),
    OperatorCase("Margin, states", gs.Margin(0), TABLE, states(*THIRDS), states(0.6, 0.3, 0.1)),
    OperatorCase("Pair", gs.Pair(1, 0), PLANE, normals(), normals(0.8)),
    OperatorCase("Direction", gs.Direction([1, -2]), PLANE, normals(), normals(0, 1.8)),
    OperatorCase("Moments", gs.Moments(1), PLANE, normals(), normals(0, 1.8)),
    OperatorCase("Moments, box", gs.Moments(0), Uniform(SQUARE), uniforms(), uniforms(2.0)),
    OperatorCase("Moments, simplex", gs.Moments(1), HALVES, compositions(*HALF), compositions(2, 2, 9)),
    OperatorCase("Counts", gs.Counts(2), TABLE, states(*THIRDS), states(0.6, 0.3, 0.1)),
    OperatorCase("Harmonics, torus", gs.Harmonics(1), VonMises(0, 1.5), headings(0), headings(1.5)),
    OperatorCase("Harmonics, sphere", gs.Harmonics(1), SPHERE, directions(0), directions(2)),
    OperatorCase("Tangential", gs.Tangential(), SPHERE, directions(0), directions(2)),
    OperatorCase("DrawnMoments", gs.DrawnMoments(1), PLANE, normals(), normals(0.8), draws=True),
    OperatorCase("DrawnRadius", gs.DrawnRadius(), Uniform(SQUARE), uniforms(), uniforms(2.0), draws=True),
    OperatorCase(
        "DrawnPairs", gs.DrawnPairs(), PLANE, normals(), correlated(0, [[1, 0.6], [0.6, 1]]), draws=True
    ),
    OperatorCase("DrawnLevel", gs.DrawnLevel(), PLANE, normals(), normals(0, 1.8), draws=True),
    OperatorCase("DrawnMargins", gs.DrawnMargins(), PLANE, normals(), normals(0.8), draws=True),
    OperatorCase("Regularised", gs.Regularised(), PLANE, normals(), normals(0.8), n=90, draws=True),
    OperatorCase("MeanEmbedding", gs.MeanEmbedding(5, 20), PLANE, normals(), normals(0.8), draws=True),
    OperatorCase(
        "embedded states", gs.MeanEmbedding(5, 9), TABLE, states(*THIRDS), states(0.6, 0.3, 0.1), draws=True
    ),
    OperatorCase("Perturbed", gs.Perturbed(), FAR_APART, two_modes(0.5), two_modes(0.9)),
    OperatorCase("FiniteSet", FiniteSet(gs.Langevin(), LOCATIONS), PLANE, normals(), normals(0.8)),
    OperatorCase("Coordinate, circle", gs.Coordinate(), VonMises(0, 1.5), headings(0), headings(1.5)),
    OperatorCase("Coordinate, sphere", gs.Coordinate(), SPHERE, directions(0), directions(2)),
    OperatorCase("SecondOrder, plane", gs.SecondOrder(), PLANE, normals(), normals(0.8)),
    OperatorCase("SecondOrder, sphere", gs.SecondOrder(), SPHERE, directions(0), directions(2)),
    OperatorCase("Difference", gs.Difference(), TABLE, states(*THIRDS), states(0.6, 0.3, 0.1)),
    OperatorCase("Jumps", gs.Jumps(), Poisson([2.0, 5.0]), poissons(2, 5), poissons(4, 8)),
    OperatorCase("Jumps, states", gs.Jumps("states"), Poisson(2.5), poissons(2.5), poissons(4)),
    OperatorCase("Jumps, kinds", gs.Jumps(), Multinomial(8, THIRDS), kinds(*THIRDS), kinds(0.6, 0.3, 0.1)),
    OperatorCase("Jumps, orders", gs.Jumps(), ANY_ORDER, orders(0.0), orders(3.0)),
    OperatorCase("Latent", gs.Latent(20), FACTORS, correlated(0, SPREAD), correlated(1, SPREAD), draws=True),
    OperatorCase(
        "Stochastic", gs.Stochastic(4), POSTERIOR, normals(*LAW, 1), normals(2.0, 0.3, 1), draws=True
    ),
    OperatorCase("Martingale", gs.Martingale(), HAZARD, lifetimes(1), lifetimes(3)),
    OperatorCase("Martingale, regression", gs.Martingale(), REGRESSION, followed(0.5), followed(-1.0)),
    OperatorCase("CoxResiduals", gs.CoxResiduals(), gs.CoxModel([-0.5]), followed(0.5), followed(-1.0)),
    OperatorCase("Timing", gs.Timing(), HAZARD, lifetimes(1), lifetimes(3)),
    OperatorCase("Timing, all alike", gs.Timing(standardised=True), HAZARD, lifetimes(1), lifetimes(3)),
    OperatorCase("Survival", gs.Survival(), HAZARD, lifetimes(1), lifetimes(3)),
    OperatorCase("ProportionalHazards", gs.ProportionalHazards(), HAZARD, lifetimes(1), lifetimes(3)),
    OperatorCase("Conditional", gs.Conditional(), CONDITIONAL, pairs(0.0), pairs(1.0)),
    OperatorCase("Residuals", gs.Residuals(), CONDITIONAL, pairs(0.0), pairs(1.0)),
    OperatorCase("DrawnResiduals", gs.DrawnResiduals(), CONDITIONAL, pairs(0.0), pairs(1.0), draws=True),
    OperatorCase("DrawnRanks", gs.DrawnRanks(), CONDITIONAL, pairs(0.0), pairs(1.0), draws=True),
    OperatorCase("Numbers", Numbers(), PATTERN, scatter(9.0), scatter(20.0), n=25),
    OperatorCase("Distances", Distances([0.2]), PATTERN, scatter(9.0), clumps(3.0), n=25),
    OperatorCase("Papangelou", Papangelou(49), PATTERN, scatter(9.0), scatter(20.0), n=25),
    OperatorCase("GlauberFlips", GlauberFlips(), GRAPH, network(0.27), network(0.8), n=12, null=FEW),
    OperatorCase("some flips", SOME, GRAPH, network(0.27), network(0.8), n=12, null=FEW, draws=True),
    OperatorCase("Innovations", Innovations(nodes=100), DENSE, one_pattern(), one_pattern(2.0), null=FEW),
    OperatorCase("own data", Frequencies(), Letters(0.5), words(0.5), words(0.9)),
    OperatorCase("plain data", Frequencies(), Letters(0.5), words(0.5, PlainWords), words(0.9, PlainWords)),
]


@dataclass(frozen=True)
class DataCase:
    """Data of a kind, as the library holds them, with a model and an operator of theirs."""

    name: str
    data: Any
    model: Any
    operator: Any = None


def drawn(sampler: Sampler, n: int = 40) -> Any:
    return sampler(n, np.random.default_rng(5))


DATA = [
    DataCase("points", Points(drawn(normals())), PLANE),
    DataCase("chains", gs.Chains(np.split(drawn(normals()), [7])), PLANE),
    DataCase("durations", drawn(lifetimes(1.0)), HAZARD),
    DataCase("pairs", drawn(pairs(0.0)), CONDITIONAL),
    DataCase("patterns", drawn(scatter(9.0), 20), PATTERN),
    DataCase("graph", drawn(network(0.27), 12), GRAPH),
    DataCase("own", drawn(words(0.5)), Letters(0.5), Frequencies()),
    DataCase("plain", OwnData(drawn(words(0.5, PlainWords))), Letters(0.5), Frequencies()),
    DataCase("pattern", drawn(one_pattern()), DENSE),
]


# --- domains ---------------------------------------------------------------------------------

L_SHAPE = [(0, 0), (4, 0), (4, 2), (2, 2), (2, 5), (0, 5)]
HOLE = [(0.5, 0.5), (1.5, 0.5), (1.5, 1.25), (0.5, 1.25)]
CORNER = ([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])

BOUNDED = [
    gs.Box(-1, 3),
    gs.Box([0, -1], [1, 3]),
    gs.Box(0, [1, 1, 1]),
    gs.Ball(1, radius=2, center=[1]),
    gs.Ball(2, radius=2, center=[1, 0]),
    gs.Ball(3),
    gs.Simplex(2),
    gs.Simplex(3),
    gs.Simplex(5),
    gs.Polytope(*CORNER),
    gs.Polytope([[1], [-2]], [3, 4]),
    # A pentagon of unscaled rows with one redundant inequality.
    gs.Polytope([[2, 1], [-1, 0], [0, -3], [0, 1], [1, 0], [1, 1]], [8, 0, 0, 3, 3.5, 100]),
    gs.Polygon(L_SHAPE),
    gs.Polygon(L_SHAPE, holes=[HOLE]),
]
UNBOUNDED = [
    gs.Box([0, -inf], [inf, inf]),
    gs.Box([-inf, 2, 0], [1, inf, 1]),
    gs.Orthant(1),
    gs.Orthant(3),
    gs.Polytope([[1, 1]], [0]),
    gs.Polytope([[-1, 0, 0], [0, -1, 0], [0, 0, -1]], [0, 0, 0]),
]
WITHOUT_BOUNDARY = [gs.Euclidean(1), gs.Euclidean(3), gs.Box([-inf, -inf], inf)]
CLOSED = [gs.Circle(), gs.Torus(3), gs.Sphere(2), gs.Sphere(4), gs.Lattice(3, 2), gs.Lattice((-1, 1), 4)]
COUNTABLE = [gs.Naturals(1), gs.Naturals(3), gs.Naturals.fixed_total(3), gs.StateSpace(3, exchanges)]
CHARTS = [
    gs.Chart(
        2,
        polar_metric,
        embedding=polar_embedding,
        jacobian=polar_jacobian,
        coordinates=gs.Box([0, 0], [np.pi, 2 * np.pi]),
        periodic=[1],
    )
]
FLAT = BOUNDED + UNBOUNDED + WITHOUT_BOUNDARY
DOMAINS = FLAT + CLOSED + COUNTABLE + CHARTS


def inside(domain, n, seed=0) -> Array:
    """Points of a domain that were not drawn by it."""
    rng = np.random.default_rng(seed)
    if isinstance(domain, gs.Simplex):
        return rng.dirichlet(np.full(domain.parts, 1.5), size=n)
    if domain in COUNTABLE:
        return rng.permuted(np.tile(np.arange(float(domain.dim)), (n, 1)), axis=1)
    if isinstance(domain, gs.Lattice):
        return rng.choice(domain.levels, size=(n, domain.dim))
    proposals = rng.normal(0.5, 1.5, size=(max(100 * n, 1000), domain.dim))
    if isinstance(domain, gs.Sphere):
        return proposals[:n] / np.linalg.norm(proposals[:n], axis=1, keepdims=True)
    return proposals[domain.contains(proposals)][:n]


# --- null distributions ----------------------------------------------------------------------


def fitted_normal(x):
    return Normal.fit(x)


NULLS = {
    "wild, orthogonal": gs.WildBootstrap(99),
    "wild, iid": gs.WildBootstrap(99, signs="iid"),
    "wild, chains": gs.WildBootstrap(99, flip=0.1),
    "wild, fitted": gs.FittedWildBootstrap(99),
    "spectral": gs.Spectral(99),
    "spectral, subsample": gs.Spectral(99, max_points=30),
    "monte carlo": gs.MonteCarlo(19),
    "parametric": gs.ParametricBootstrap(fitted_normal, 19),
}


# --- families --------------------------------------------------------------------------------


def symmetric(d, scale, seed) -> Array:
    upper = np.triu(np.random.default_rng(seed).normal(scale=scale, size=(d, d)), 1)
    return upper + upper.T


def slope(u):
    """Intensity that grows to the right."""
    return 40.0 * (0.5 + u[:, 0])


COV = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]])
AXES = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]

CONTINUOUS = [
    Normal(),
    Normal([1, -2, 3], COV),
    StudentT(2.5),
    StudentT(4, [1, -2, 3], COV),
    Laplace([0, 1, -1], [1, 2, 0.5]),
    GaussianMixture([0.2, 0.5, 0.3], [[0, 0, 0], [2, -1, 0], [-1, 1, 3]], [COV, 0.5 * COV, np.eye(3)]),
    GaussianMixture([0.3, 0.7], [-2, 1], [0.5, 2]),
    ProbabilisticPCA([[1.0, 0.2], [-0.5, 0.8], [0.3, 1.5]], variance=0.4, mean=[1.0, 0.0, -2.0]),
    Dirichlet([0.5, 1, 3]),
    LogisticNormal([0.5, -0.5], [[1, 0.3], [0.3, 0.5]]),
    Uniform(gs.Ball(3)),
    Uniform(gs.Simplex(4)),
    Truncated(Normal([0.5, 0], [[1, 0.4], [0.4, 1]]), gs.Ball(2)),
    Truncated(Dirichlet([2, 3, 4]), gs.Simplex(3)),
    gs.families.GaussianCopula([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]]),
    gs.families.StudentCopula(3.5, 0.6),
    gs.families.ClaytonCopula(1.5, 3),
    gs.families.GumbelCopula(1.8),
    gs.families.FrankCopula(-4.0),
    gs.families.DirichletMixture([0.4, 0.6], [[4, 2, 3], [2, 3, 9]]),
    gs.families.LogisticNormalMixture([0.3, 0.7], [[1.0, 0.0], [-0.5, 0.5]], [0.3, 0.5]),
]
DIRECTIONAL = [
    VonMises(0.7, 2.5),
    VonMises(0.0, 0.0),
    VonMisesFisher([0.48, 0.6, 0.64], 3.0),
    VonMisesFisher(np.eye(7)[3], 0.5),
    VonMisesFisher([0.6, 0.8], 0.0),
    UniformOnSphere(4),
    Bingham([[3.0, 0.5, 0.0], [0.5, -1.0, 0.4], [0.0, 0.4, 0.0]]),
    Bingham(np.diag([5.0, 0.0, -2.0, 1.0, 1.0])),
    Kent(AXES, 6.0, 2.0),
    Kent(AXES, 2.0, 4.0),
]
LIFETIMES = [
    Exponential(2.0),
    Weibull(2.0, 0.7),
    Weibull(3.0, 1.0),
    Weibull(0.5, 2.5),
    LogNormal(0.3, 0.8),
    LogNormal(-2.0, 2.0),
    LogLogistic(2.0, 0.6),
    LogLogistic(1.5, 1.0),
    LogLogistic(0.5, 3.0),
    Gamma(0.5, 2.0),
    Gamma(1.0, 2.0),
    Gamma(4.0, 0.5),
    Gompertz(0.5, 2.0),
    Gompertz(0.5, 0.0),
    PiecewiseExponential([1.0, 3.0], [0.5, 0.1, 1.0]),
]
DISCRETE = [
    Ising(symmetric(4, 0.5, 1), [0.3, -0.2, 0.0, 0.5]),
    Potts(3, symmetric(3, 0.8, 2), np.random.default_rng(3).normal(size=(3, 3))),
    Potts((2.0, -1.0, 7.0), symmetric(2, 1.0, 4), [0.0, 0.5, -0.3]),
    BernoulliRBM(np.random.default_rng(5).normal(size=(2, 4)), [0.3, -0.1, 0.0, 0.2], [0.4, -0.6]),
    BernoulliRBM(np.random.default_rng(6).normal(size=(5, 3)), 0.1, -0.2),
    CategoricalTable(np.random.default_rng(8).integers(1, 9, size=(3, 3))),
    CategoricalTable([0.3, 0.36, 0.22, 0.09, 0.03]),
    BetaBinomial(3, a=8.0, b=3.0),
    ERGM(4, edges=0.3, two_stars=-0.2, triangles=0.5),
    gs.families.StochasticBlockModel([0, 0, 1, 1], [[0.5, -1.0], [-1.0, 0.2]], [0.1, -0.3, 0.4, -0.2]),
]
COUNTS = [
    Poisson(3.0),
    Poisson([0.5, 40.0]),
    NegativeBinomial(3.0, 2.0),
    NegativeBinomial(50.0, 0.4),
    Binomial(7, 0.3),
    Geometric(0.3),
    ZeroInflated(Poisson(2.0), 0.3),
    ZeroInflated(NegativeBinomial(4.0, 3.0), 0.2),
    Multinomial(6, THIRDS),
    DirichletMultinomial(6, [1.5, 0.4, 3.0]),
    Product([Poisson(2.0), Geometric(0.4)]),
]
PROCESSES = [
    PoissonProcess(30.0, SQUARE),
    PoissonProcess(slope, SQUARE),
    Strauss(30.0, 0.4, 0.1, SQUARE),
    gs.families.Hawkes(1.0, 0.4, 2.0, gs.Box(0, 20)),
]
FAMILIES = CONTINUOUS + DIRECTIONAL + LIFETIMES + DISCRETE + COUNTS + PROCESSES


# --- estimators ------------------------------------------------------------------------------


@dataclass(frozen=True)
class EstimatorCase:
    """An estimator and a family, and data whose law is a member of it, with its parameters."""

    name: str
    estimator: Any
    family: Any
    data: Array
    truth: dict[str, Any]
    domain: Any = None


def log_cosh(x, theta):
    return -jnp.log(jnp.cosh(x[:, 0] - theta[0]))


def squares(x):
    return np.hstack([x, x**2])


def hyperbolic_secants(n: int) -> Array:
    """Density ∝ 1/cosh x: log |tan(πU/2)|."""
    return np.log(np.tan(np.pi / 2 * np.random.default_rng(9).uniform(size=(n, 1))))


GAUSSIAN = drawn(normals(0.5), 200)
POSITIVE = drawn(lambda n, rng: rng.gamma(2.0, 3.0, (n, 1)), 200)
PARTS = drawn(compositions(2.0, 3.0, 4.0), 200)
CUT = GAUSSIAN[(np.abs(GAUSSIAN) < 2).all(axis=1)]

ESTIMATORS = [
    EstimatorCase("normal", ScoreMatching(), AnyNormal(), GAUSSIAN, {"mean": [0.5, 0.5]}),
    EstimatorCase(
        "normal, truncated",
        TruncatedScoreMatching(),
        AnyNormal(),
        CUT,
        {"mean": [0.5, 0.5]},
        gs.Box(-2, [2, 2]),
    ),
    EstimatorCase(
        "normal, Stein", MinimumStein(kernel=IMQ(1.0)), AnyNormal(), GAUSSIAN, {"mean": [0.5, 0.5]}
    ),
    EstimatorCase("Dirichlet", TruncatedScoreMatching(), AnyDirichlet(), PARTS, {"alpha": [2, 3, 4]}),
    EstimatorCase(
        "Dirichlet, Stein", MinimumStein(kernel=IMQ(1.0)), AnyDirichlet(), PARTS, {"alpha": [2, 3, 4]}
    ),
    EstimatorCase("gamma", TruncatedScoreMatching(), AnyGamma(), POSITIVE, {"shape": 2.0, "scale": 3.0}),
    EstimatorCase(
        "gamma, Stein", MinimumStein(kernel=IMQ(1.0)), AnyGamma(), POSITIVE, {"shape": 2.0, "scale": 3.0}
    ),
    EstimatorCase(
        "exponential",
        TruncatedScoreMatching(),
        AnyExponential(),
        drawn(lambda n, rng: rng.exponential(3.0, (n, 1)), 200),
        {"scale": 3.0},
    ),
    EstimatorCase(
        "exponential family",
        ScoreMatching(),
        ExponentialFamily(squares),
        GAUSSIAN[:, :1],
        {"theta": [0.5, -0.5]},
    ),
    EstimatorCase(
        "parametric",
        ScoreMatching(),
        Parametric(log_cosh, start=[0.5]),
        hyperbolic_secants(200),
        {"theta": [0.0]},
    ),
]

"""Results on fixed seeds, recorded before a change of the inside of the library, compared after it.

Every case is a function without arguments that uses public names only; :func:`run` turns what it
returns into plain numbers, and :func:`differences` compares two of these. ``test_recorded.py`` does it
for every case in ``recorded.json``; by hand it is

    python recorded_cases.py --write recorded.json    # the present results become the reference
    python recorded_cases.py --check recorded.json    # what is different now; exit code 1 if anything is

On the machine that has recorded the results ``--strict`` leaves no room for other rounding errors than in the
last digits. ``--only text`` restricts both to the cases whose name contains the text.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import sys
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import scipy.stats

import goodstein as gs
from goodstein.graphs import SubgraphCounts, WeisfeilerLehman
from goodstein.patterns import ConfigurationKernel, Papangelou

CASES = {}
"""The cases by name, "group/case"."""

STATISTICS, PVALUES, DRAWS = 1e-9, 1e-9, 1e-5
"""Relative tolerances: of statistics and other numbers; of p-values; of the draws.

A statistic is compared relative to the spread of its draws, if that is larger: one that is nearly zero is a
difference of much larger numbers. A p-value is a multiple of 1/(draws + 1), so within this tolerance it is
the same number. Only that of a relative test is the value of a continuous function.
"""

OF_FAMILIES = {"sample": 1e-9, "logpdf": 1e-9, "score": 1e-9, "fit": 1e-6, "influence": 1e-5}
"""Tolerances of what the cases of families record, relative to the mean size of each list of numbers."""

LEVEL = 0.05

ROWS, SOME = 10, 8
"""Rows of a family and draws of a null distribution that are recorded."""

REASONS = {
    "takes account of the fit": "corrected for the fit",
    "fits every simulated": "refitted",
    "simulated, because": "affordable",
    "would take too long": "too long",
    "rows depend": "dependent rows",
    "no sampler": "no sampler",
    "weights of simulated": "weights",
    "was fitted to these very data": "fitted in an unknown way",
    "approximate": "simulated approximately",
    "is an estimate": "estimated score",
    "Markov chains": "chains",
    "too many states": "too many states",
    "finds nothing": "sampler finds nothing",
}
"""Names of the reasons for a null distribution, by the words in which a result gives them. Where these words
change this table does too, and nothing that is recorded."""

LOOSE = {
    # In single precision, of which another processor rounds the last digits in another way.
    "aggregated/": 3e-5,
    "chosen/aggregated": 3e-5,
    "chosen/check": 3e-5,
    "own/operator_among_others": 3e-5,
    "refused/aggregated_overruled": 3e-5,
    "operators/embedding_logratio": 1e-8,
    "operators/regularised": 1e-5,
    "regularised/": 1e-5,
    "m3d/": 3e-3,  # differences of nearly equal numbers
    # Found by a search, which may stop a little earlier or later, or by numerical derivatives.
    "auxiliary/": 1e-5,
    "estimate/": 1e-5,
    "families/": 1e-6,
    "fssd/": 1e-6,
    "models/lifelines": 1e-5,
    "models/numerical": 1e-5,
    "models/sklearn": 1e-6,
}
"""Larger tolerances of statistics and draws, by the beginning of a name: on the machine that has recorded
them all numbers agree within the small ones, on others within these; p-values, verdicts and what the audit
found are the same everywhere."""

DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning, ImportWarning)
"""Warnings of other packages about themselves, which depend on what is installed."""


def record(group, **cases):
    CASES.update({f"{group}/{name}": case for name, case in cases.items()})


# Data, made by NumPy, so that a change of the library's samplers shows only where they are used.

F = gs.families
LAVAS = gs.datasets.skye_lavas()
WILD = gs.WildBootstrap(499)
DISC = gs.Ball(2)
SQUARE = gs.Box([0, 0], [1, 1])
TRIANGLE = gs.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
ELL = gs.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
HOLED = gs.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], holes=[[(1, 1), (3, 1), (3, 3), (1, 3)]])


def ksd(x, model, null=WILD, rng=1, **options):
    return gs.ksd_test(x, model, null=null, rng=rng, **options)


def rng_of(seed):
    return np.random.default_rng([20_220, seed])


def normal(n=60, d=2, shift=0.0, scale=1.0, seed=0):
    return shift + scale * rng_of(seed).standard_normal((n, d))


def uniform(n=60, d=2, power=1.0, seed=0):
    return rng_of(seed).uniform(size=(n, d)) ** power


def exponential(n=60, d=2, power=1.0, seed=0):
    return rng_of(seed).exponential(size=(n, d)) ** power


def within(domain, n=60, side=1.0, seed=0):
    """Uniform in a region of the plane, by rejection."""
    x = side * rng_of(seed).uniform(-1 if domain == DISC else 0, 1, size=(10 * n, 2))
    return x[domain.contains(x)][:n]


def parts(*alpha, n=60, seed=0):
    return rng_of(seed).dirichlet(alpha, n)


def angles(n=60, d=1, kappa=1.0, seed=0):
    return rng_of(seed).vonmises(0.0, kappa, (n, d)) % (2 * np.pi)


def directions(n=60, d=3, pull=1.0, seed=0):
    x = normal(n, d, seed=seed) + pull * np.eye(d)[-1]
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def spins(n=80, d=3, p=0.5, seed=0):
    return np.where(rng_of(seed).uniform(size=(n, d)) < p, 1.0, -1.0)


def counts(most=4, n=80, d=1, p=0.5, seed=0):
    return rng_of(seed).binomial(most, p, (n, d)).astype(float)


def watched(n=60, shape=1.0, seed=0):
    """Durations of a Weibull law of scale one, and whether they ended in the event."""
    rng = rng_of(seed)
    event, censoring = rng.weibull(shape, n), rng.exponential(2.0, n)
    return np.minimum(event, censoring), event <= censoring


def durations(n=60, shape=1.0, seed=0):
    return gs.Censored(*watched(n, shape, seed))


def chain(n=150, d=1, memory=0.7, seed=0):
    """States of an autoregression with a standard normal law."""
    x = normal(n, d, seed=seed)
    for k in range(1, n):
        x[k] = memory * x[k - 1] + math.sqrt(1 - memory**2) * x[k]
    return x


def graph(n=14, p=0.3, seed=0):
    upper = np.triu(rng_of(seed).uniform(size=(n, n)) < p, 1).astype(float)
    return upper + upper.T


def patterns(count=14, intensity=12.0, power=1.0, seed=0):
    rng = rng_of(seed)
    return [rng.uniform(size=(rng.poisson(intensity), 2)) ** power for _ in range(count)]


# Models of a user.


def minus_x(x):
    return -x


def logistic(x):
    """The log density of a product of logistic distributions, of all points."""
    return np.sum(-x - 2 * np.log1p(np.exp(-x)), axis=-1)


def in_jax(task):
    """A test of a model in JAX, in double precision, whatever JAX does elsewhere."""
    import jax

    if hasattr(jax, "enable_x64"):
        context = jax.enable_x64(True)
    else:
        from jax.experimental import enable_x64

        context = enable_x64(True)
    with context:
        return task(jax)


def fitted_sklearn(kind):
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import KernelDensity

    x = np.vstack([normal(60, shift=-2.0, seed=8), normal(60, shift=2.0, seed=9)])
    return (
        GaussianMixture(2, random_state=0).fit(x)
        if kind == "mixture"
        else KernelDensity(bandwidth=0.8).fit(x)
    )


def fitted_lifelines(name):
    import lifelines

    times, seen = watched(80, 1.4, seed=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lifelines and autograd, about themselves
        return getattr(lifelines, name)().fit(times, seen)


def frame(package, x):
    import importlib

    return importlib.import_module(package).DataFrame({f"x{k}": x[:, k] for k in range(x.shape[1])})


def with_executor(task):
    with ThreadPoolExecutor(2) as pool:
        return task(pool)


def survival_frame():
    times, seen = watched(60, 1.3)
    import pandas as pd

    return gs.Censored.from_frame(
        pd.DataFrame({"t": times, "died": seen}), durations="t", event_observed="died"
    )


def structured():
    times, seen = watched(60, 1.3)
    return np.array(list(zip(seen, times, strict=True)), dtype=[("event", bool), ("time", float)])


def normal_mean():
    """x | z ~ N(z, 1) and z ~ N(0, 1), of which the marginal is N(0, 2)."""
    return gs.LatentModel(
        conditional_score=lambda x, z: z - x,
        posterior_sample=lambda x, draws, rng: rng.normal(x[:, None] / 2, math.sqrt(0.5), (len(x), draws, 1)),
        domain=gs.Euclidean(1),
        sample=lambda n, rng: rng.normal(0.0, math.sqrt(2.0), (n, 1)),
        name="normal with a normal mean",
    )


def posterior(n=30):
    """Of the mean of a normal sample, with a standard normal prior; and draws from it."""
    y = normal(n, 1, shift=1.0, seed=5)[:, 0]
    model = gs.Posterior(lambda t: -t, lambda t, y: (y - t)[:, None], y, gs.Euclidean(1), name="mean")
    return model, normal(60, 1, shift=y.sum() / (n + 1), scale=(n + 1) ** -0.5, seed=6)


def linear_hazard():
    return gs.SurvivalModel(
        hazard=lambda t: 0.7 + t, cumulative_hazard=lambda t: 0.7 * t + t**2 / 2, name="linear hazard"
    )


def regression(n=60, d=1, bend=0.0, seed=0):
    x = 2.0 * uniform(n, d, seed=seed)
    return x, x.sum(axis=1) + bend * x[:, 0] ** 2 + normal(n, 1, seed=seed + 100)[:, 0]


def line(slope=1.0, scale=1.0):
    return gs.ConditionalModel.gaussian(lambda x: slope * x.sum(axis=1), scale)


def fitted_line(data):
    x = data.x.reshape(len(data.x), -1).sum(axis=1)
    y = data.y.reshape(-1)
    return line(float((x * y).sum() / (x * x).sum()))


def conditional(x, y, model, null=WILD, rng=1, **options):
    return gs.conditional_ksd_test(x, y, model, null=null, rng=rng, **options)


def torus_of_revolution():
    """The uniform law on a torus in R³, and draws from it: the outer side has more room."""

    def embedding(u):
        (a, b), s, c = u, np.sin, np.cos
        return [(2 + c(a)) * c(b), (2 + c(a)) * s(b), s(a)]

    def jacobian(u):
        (a, b), s, c = u, np.sin, np.cos
        return [[-s(a) * c(b), -(2 + c(a)) * s(b)], [-s(a) * s(b), (2 + c(a)) * c(b)], [c(a), 0.0]]

    chart = gs.Chart(
        2,
        lambda u: np.diag([1.0, (2.0 + np.cos(u[0])) ** 2]),
        embedding=embedding,
        jacobian=jacobian,
        coordinates=gs.Box([0, 0], [2 * np.pi, 2 * np.pi]),
        periodic=[0, 1],
    )
    u = 2 * np.pi * uniform(200, seed=3)
    return chart, u[3.0 * uniform(200, 1, seed=4)[:, 0] < 2.0 + np.cos(u[:, 0])][:60]


def half_plane():
    """The hyperbolic half-plane with the law of (X, e^Y), X and Y normal, and draws from it."""
    chart = gs.Chart(2, lambda u: np.eye(2) / u[1] ** 2, coordinates=gs.Box([-np.inf, 0], [np.inf, np.inf]))
    model = gs.Model(
        score=lambda u: np.column_stack([-u[:, 0], (1.0 - np.log(u[:, 1])) / u[:, 1]]), name="log-normal"
    )
    x = normal(60, seed=3)
    return chart, model, np.column_stack([x[:, 0], np.exp(x[:, 1])])


def on_chart(what, operator=None):
    if what == "torus":
        chart, x = torus_of_revolution()
        return ksd(x, lambda u: 0.0 * u, domain=chart, operator=operator)
    chart, model, x = half_plane()
    return ksd(x, model, domain=chart, operator=operator)


def refused(task):
    """How a test is refused: the class of the error, whose words may change."""
    try:
        task()
    except ValueError as error:
        return {"refused": type(error).__name__}
    return {"refused": None}


# Models and data, with the defaults of everything else.

record(
    "models",
    score_function=lambda: ksd(normal(), minus_x),
    score_of_one_point=lambda: ksd(normal(seed=1), lambda x: np.array([-x[0], -x[1] / 2])),
    score_false=lambda: ksd(normal(shift=0.25), minus_x),
    score_in_one_dimension=lambda: ksd(normal(50, 1)[:, 0], lambda x: -x),
    numerical_logpdf=lambda: ksd(normal(scale=1.8), gs.Model(logpdf=logistic)),
    numerical_logpdf_of_one_point=lambda: ksd(normal(40), gs.Model(logpdf=lambda x: -0.5 * float(x @ x))),
    numerical_with_a_kink=lambda: ksd(
        np.vstack([normal(), [[1e-7, 0.5]]]), gs.Model(logpdf=lambda x: -np.abs(x).sum(1))
    ),
    numerical_rounded=lambda: ksd(
        normal(40), gs.Model(logpdf=lambda x: (-0.5 * (x**2).sum(1)).astype(np.float32))
    ),
    logpdf_and_score=lambda: ksd(
        normal(seed=2), gs.Model(logpdf=lambda x: -0.5 * (x**2).sum(1), score=minus_x)
    ),
    batched=lambda: ksd(normal(seed=6), gs.Model(score=minus_x, batched=True, name="batched")),
    with_sampler=lambda: ksd(
        normal(40),
        gs.Model(score=minus_x, sample=lambda n, rng: rng.standard_normal((n, 2))),
        gs.MonteCarlo(99),
    ),
    jax_logpdf=lambda: in_jax(
        lambda jax: ksd(normal(seed=4), gs.Model(logpdf=lambda x: -0.5 * jax.numpy.sum(x**2)))
    ),
    scipy_norm=lambda: ksd(normal(60, 1), scipy.stats.norm(0.1, 1.0)),
    scipy_gamma=lambda: ksd(exponential(60, 1), scipy.stats.gamma(1.3)),
    scipy_multivariate=lambda: ksd(normal(), scipy.stats.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]])),
    scipy_kde=lambda: ksd(normal(40, 1), scipy.stats.gaussian_kde(normal(50, 1, seed=7)[:, 0])),
    scipy_beta_on_its_interval=lambda: ksd(uniform(60, 1, 1.2), scipy.stats.beta(2, 2)),
    sklearn_mixture=lambda: ksd(
        np.vstack([normal(30, shift=-2), normal(30, shift=2, seed=1)]), fitted_sklearn("mixture")
    ),
    sklearn_kernel_density=lambda: ksd(normal(40, shift=1.5), fitted_sklearn("density")),
    lifelines_exponential=lambda: ksd(durations(), fitted_lifelines("ExponentialFitter")),
    lifelines_weibull=lambda: ksd(durations(shape=1.4), fitted_lifelines("WeibullFitter")),
    normal=lambda: ksd(normal(), F.Normal([0, 0], [[1, 0.5], [0.5, 1]])),
    student=lambda: ksd(rng_of(1).standard_t(3, (60, 1)), F.StudentT(3)),
    student_false=lambda: ksd(rng_of(1).standard_t(2, (60, 1)), F.Normal()),
    laplace=lambda: ksd(rng_of(2).laplace(size=(60, 2)), F.Laplace([0, 0])),
    mixture=lambda: ksd(normal(), F.GaussianMixture([0.5, 0.5], [[-0.4, 0], [0.4, 0]], 1.0)),
    probabilistic_pca=lambda: ksd(normal(60, 3), F.ProbabilisticPCA([[0.5], [0.2], [0.1]], 0.9)),
    logistic_normal=lambda: ksd(parts(2, 2, 2), F.LogisticNormal([0, 0], 0.6)),
    dirichlet_fitted_to_lavas=lambda: ksd(LAVAS, F.Dirichlet.fit(LAVAS)),
    logistic_normal_of_lavas=lambda: ksd(LAVAS, F.LogisticNormal.fit(LAVAS)),
    truncated=lambda: ksd(within(DISC), F.Truncated(F.Normal([0, 0], 0.8), DISC)),
    truncated_by_domain=lambda: ksd(within(DISC, seed=1), F.Normal([0.3, 0], 2.0), domain=DISC),
    truncated_scipy=lambda: ksd(uniform(60, 1), scipy.stats.norm(0.5, 1.0), domain=gs.Box(0, 1)),
)

record(
    "data",
    lists=lambda: ksd(normal(40).tolist(), minus_x),
    flat_list=lambda: ksd(normal(40, 1)[:, 0].tolist(), F.Normal()),
    pandas=lambda: ksd(frame("pandas", normal(seed=5)), F.Normal([0.1, 0.0])),
    polars=lambda: ksd(frame("polars", normal(seed=5)), F.Normal([0.1, 0.0])),
    integers=lambda: ksd(counts(), F.BetaBinomial(4, 5, 5)),
    censored=lambda: ksd(durations(60, 1.3), F.Exponential(1.0)),
    censored_frame=lambda: ksd(survival_frame(), F.Exponential(1.0)),
    scipy_censored=lambda: ksd(
        scipy.stats.CensoredData.right_censored(*(lambda t, seen: (t, ~seen))(*watched(60, 1.3))),
        F.Exponential(1.0),
    ),
    structured=lambda: ksd(structured(), F.Exponential(1.0)),
    durations_without_censoring=lambda: ksd(
        watched(60, 1.2)[0], F.Exponential(1.0), operator=gs.Martingale()
    ),
    random_generator=lambda: gs.ksd_test(normal(), minus_x, null=WILD, rng=np.random.default_rng(7)),
    many_rows=lambda: ksd(normal(700, shift=0.03), minus_x),
    two_workers=lambda: ksd(normal(700, shift=0.03), minus_x, workers=2),
    executor=lambda: with_executor(lambda pool: ksd(normal(700, shift=0.03), minus_x, workers=pool)),
)

# Kernels.

record(
    "kernels",
    imq=lambda: ksd(normal(shift=0.2), minus_x, kernel=gs.IMQ(1.0)),
    imq_exponent=lambda: ksd(normal(shift=0.1), minus_x, kernel=gs.IMQ(0.7, exponent=-0.3)),
    imq_median=lambda: ksd(normal(scale=1.3), minus_x, kernel=gs.IMQ(gs.Median(0.5))),
    gaussian=lambda: ksd(normal(scale=1.3), minus_x, kernel=gs.Gaussian()),
    gaussian_fixed=lambda: ksd(normal(50, 5), minus_x, kernel=gs.Gaussian(2.0)),
    matern=lambda: ksd(normal(shift=0.15), minus_x, kernel=gs.Matern52()),
    matern_one_dimension=lambda: ksd(normal(60, 1), minus_x, kernel=gs.Matern52(0.8)),
    rational_quadratic=lambda: ksd(normal(shift=0.15), minus_x, kernel=gs.RationalQuadratic(alpha=2.0)),
    sum=lambda: ksd(normal(shift=0.15), minus_x, kernel=gs.Gaussian(0.5) + gs.IMQ(2.0)),
    sum_of_three=lambda: ksd(normal(scale=0.9), minus_x, kernel=gs.Gaussian() + gs.IMQ() + gs.Matern52()),
    whitened=lambda: ksd(normal() * [1, 30], F.Normal([0, 0], [[1, 0], [0, 900]]), kernel=gs.Whitened()),
    whitened_metric=lambda: ksd(
        normal(shift=0.15), minus_x, kernel=gs.Whitened(gs.Gaussian(1.0), metric=[[2.0, 0.5], [0.5, 1.0]])
    ),
    whitened_sum=lambda: ksd(
        normal(seed=4, scale=1.2), minus_x, kernel=gs.Whitened(gs.Gaussian() + gs.IMQ())
    ),
    hamming=lambda: ksd(spins(), F.Ising(np.zeros((3, 3))), kernel=gs.Hamming(0.4)),
    categorical=lambda: ksd(
        counts(3, d=2),
        F.CategoricalTable(np.outer([1, 3, 3, 1], [1, 3, 3, 1])),
        kernel=gs.CategoricalProduct(np.exp(-0.5 * np.abs(np.subtract.outer(np.arange(4), np.arange(4))))),
    ),
    radial_on_lattice=lambda: ksd(counts(), F.BetaBinomial(4, 5, 5), kernel=gs.Gaussian(1.5)),
    whitened_on_simplex=lambda: ksd(parts(2, 3, 4), F.Dirichlet([2, 3, 4]), kernel=gs.Whitened(gs.IMQ())),
)

# Null distributions.

record(
    "nulls",
    wild=lambda: ksd(normal(), minus_x, gs.WildBootstrap()),
    wild_few_rows=lambda: ksd(normal(9), minus_x, gs.WildBootstrap(199)),
    wild_iid=lambda: ksd(normal(), minus_x, gs.WildBootstrap(499, signs="iid")),
    wild_flip=lambda: ksd(chain(), F.Normal(), gs.WildBootstrap(499, flip=0.1)),
    wild_flip_orthogonal=lambda: ksd(chain(seed=1), F.Normal(0.3), gs.WildBootstrap(299, "orthogonal", 0.05)),
    spectral=lambda: ksd(normal(), minus_x, gs.Spectral(2000)),
    spectral_of_a_part=lambda: ksd(normal(90, shift=0.1), minus_x, gs.Spectral(999, max_points=50)),
    spectral_on_simplex=lambda: ksd(parts(1, 2, 2), F.Dirichlet([1.2, 2, 2]), gs.Spectral(999)),
    monte_carlo=lambda: ksd(normal(40), F.Normal([0, 0]), gs.MonteCarlo(199)),
    monte_carlo_false=lambda: ksd(normal(40, shift=0.3), F.Normal([0, 0]), gs.MonteCarlo(99)),
    monte_carlo_two_workers=lambda: ksd(normal(40), F.Normal([0, 0]), gs.MonteCarlo(199), workers=2),
    monte_carlo_on_ball=lambda: ksd(
        within(DISC, 40), F.Truncated(F.Normal([0, 0], 0.8), DISC), gs.MonteCarlo(49)
    ),
    monte_carlo_by_domain=lambda: ksd(
        within(DISC, 40), F.Normal([0, 0], 0.8), gs.MonteCarlo(49), domain=DISC
    ),
    parametric=lambda: ksd(
        normal(40, 1), F.Normal.fit(normal(40, 1)), gs.ParametricBootstrap(F.Normal.fit, 99)
    ),
    parametric_false=lambda: ksd(
        exponential(50, 1), F.Normal.fit(exponential(50, 1)), gs.ParametricBootstrap(F.Normal.fit, 99)
    ),
    parametric_other_model=lambda: ksd(normal(40, 1), F.Normal(), gs.ParametricBootstrap(F.Normal.fit, 49)),
    parametric_partial=lambda: ksd(
        normal(40, 3),
        F.ProbabilisticPCA.fit(normal(40, 3), n_components=1),
        gs.ParametricBootstrap(partial(F.ProbabilisticPCA.fit, n_components=1), 49),
    ),
    parametric_lavas=lambda: ksd(
        LAVAS, F.LogisticNormal.fit(LAVAS), gs.ParametricBootstrap(F.LogisticNormal.fit, 49)
    ),
)

# Operators on regions of R^d.


def sine(x):
    return np.sin(np.pi * x)


def ball_matrix(x):
    return np.eye(2) - x[:, :, None] * x[:, None, :]


record(
    "operators",
    langevin=lambda: ksd(normal(), minus_x, operator=gs.Langevin()),
    standardised_on_plane=lambda: ksd(
        normal(shift=0.1),
        minus_x,
        operator=gs.Standardised(gs.Auxiliary(lambda x: 1.0 / (1.0 + (x**2).sum(1)))),
    ),
    ball_power=lambda: ksd(
        within(DISC), lambda x: -x, domain=DISC, operator=gs.Standardised(gs.BallPower(3.0))
    ),
    ball_distance=lambda: ksd(within(DISC), F.Uniform(DISC), operator=gs.Standardised(gs.BoundaryDistance())),
    box_product=lambda: ksd(uniform(power=1.1), F.Uniform(SQUARE), operator=gs.Standardised(gs.BoxProduct())),
    box_product_scale=lambda: ksd(
        exponential(),
        lambda x: -0.0 * x - 1,
        domain=gs.Orthant(2),
        operator=gs.Standardised(gs.BoxProduct(0.7)),
    ),
    box_distance=lambda: ksd(uniform(), F.Uniform(SQUARE), operator=gs.Standardised(gs.BoundaryDistance())),
    product_of_parts=lambda: ksd(
        parts(0.5, 1, 1), F.Dirichlet([0.5, 1, 1]), operator=gs.Standardised(gs.ProductOfParts())
    ),
    product_of_parts_power=lambda: ksd(
        parts(1.5, 2, 2), F.Dirichlet([1.5, 2, 2.4]), operator=gs.Standardised(gs.ProductOfParts(0.5))
    ),
    geometric_mean=lambda: ksd(
        parts(2, 3, 4), F.Dirichlet([2, 3, 5]), operator=gs.Standardised(gs.GeometricMean())
    ),
    simplex_distance=lambda: ksd(
        parts(1, 2, 2), F.Dirichlet([1, 2, 2]), operator=gs.Standardised(gs.BoundaryDistance())
    ),
    own_auxiliary=lambda: ksd(uniform(), F.Uniform(SQUARE), operator=gs.Standardised(gs.Auxiliary(sine))),
    own_auxiliary_gradient=lambda: ksd(
        uniform(power=0.9),
        F.Uniform(SQUARE),
        operator=gs.Standardised(gs.Auxiliary(sine, lambda x: np.pi * np.cos(np.pi * x))),
    ),
    matrix=lambda: ksd(
        within(DISC),
        F.Truncated(F.Normal([0.2, 0], 1.0), DISC),
        operator=gs.MatrixStandardised(ball_matrix, lambda x: -3.0 * x),
    ),
    mirrored_simplex=lambda: ksd(parts(0.5, 0.5, 0.5), F.Dirichlet([0.5, 0.5, 0.6]), operator=gs.Mirrored()),
    mirrored_simplex_with_zeros=lambda: ksd(
        np.vstack([parts(1, 1, 1), [[0.0, 0.4, 0.6], [1.0, 0.0, 0.0]]]),
        F.Dirichlet([1, 1, 1]),
        operator=gs.Mirrored(),
    ),
    mirrored_box=lambda: ksd(uniform(power=1.2), F.Uniform(SQUARE), operator=gs.Mirrored()),
    mirrored_half_line=lambda: ksd(exponential(60, 1), F.Gamma(1.2, 1.0), operator=gs.Mirrored()),
    logratio=lambda: ksd(parts(0.5, 0.5, 0.5), F.Dirichlet([0.5, 0.5, 0.5]), operator=gs.LogRatio()),
    dilation=lambda: ksd(normal(60, 3, scale=1.1), minus_x, operator=gs.Dilation()),
    dilation_centre=lambda: ksd(
        normal(60, 3), minus_x, operator=gs.Dilation(gs.Langevin(), centre=[0.1, 0, 0])
    ),
    dilation_logratio=lambda: ksd(
        parts(2, 2, 2), F.Dirichlet([1.8, 2, 2]), operator=gs.Dilation(gs.LogRatio())
    ),
    dilation_box=lambda: ksd(uniform(), F.Uniform(SQUARE), operator=gs.Dilation()),
    dilation_matrix=lambda: ksd(
        within(DISC),
        F.Uniform(DISC),
        operator=gs.Dilation(gs.MatrixStandardised(ball_matrix, lambda x: -3.0 * x)),
    ),
    regularised_draws=lambda: ksd(normal(60, 3), F.Normal([0, 0, 0]), operator=gs.Regularised(draws=80)),
    regularised_default=lambda: ksd(
        normal(60, 3), F.Normal([0, 0.2, 0]), operator=gs.Regularised(strength=0.05)
    ),
    regularised_split=lambda: ksd(normal(80), minus_x, operator=gs.Regularised(fraction=0.3, draws=0)),
    regularised_whole=lambda: ksd(
        normal(40), F.Normal([0, 0]), gs.MonteCarlo(49), operator=gs.Regularised(fraction=None)
    ),
    regularised_inner=lambda: ksd(
        parts(1, 2, 2),
        F.Dirichlet([1, 2, 2.2]),
        operator=gs.Regularised(gs.Mirrored(), strength=0.1, draws=60),
    ),
    regularised_durations=lambda: ksd(
        durations(80), F.Exponential(1.0), operator=gs.Regularised(gs.Martingale())
    ),
    embedding=lambda: ksd(
        uniform(power=1.2), F.Uniform(SQUARE), operator=gs.MeanEmbedding(draws=8, landmarks=30)
    ),
    embedding_parts=lambda: ksd(parts(1, 2, 2), F.Dirichlet([1, 2, 2]), operator=gs.MeanEmbedding(10, 40)),
    embedding_logratio=lambda: ksd(
        parts(1, 2, 2), F.Dirichlet([1.2, 2, 2]), operator=gs.MeanEmbedding(10, 40, logratio=True)
    ),
    embedding_lattice=lambda: ksd(counts(), F.BetaBinomial(4, 5, 5), operator=gs.MeanEmbedding(10, 20)),
    embedding_monte_carlo=lambda: ksd(
        uniform(40, power=1.2), F.Uniform(SQUARE), gs.MonteCarlo(49), operator=gs.MeanEmbedding(4, 20)
    ),
    regularised_monte_carlo=lambda: ksd(
        normal(40), F.Normal([0, 0.2]), gs.MonteCarlo(49), operator=gs.Regularised(draws=30)
    ),
    second_order=lambda: ksd(normal(), minus_x, operator=gs.SecondOrder()),
    second_order_kernel=lambda: ksd(
        normal(scale=0.9), minus_x, operator=gs.SecondOrder(), kernel=gs.Gaussian(2.0)
    ),
)

record(
    "latent",
    default=lambda: ksd(normal(60, 1, scale=1.3), normal_mean()),
    few_draws=lambda: ksd(normal(60, 1, scale=1.4, shift=0.3), normal_mean(), operator=gs.Latent(draws=3)),
    many_draws=lambda: ksd(normal(60, 1, scale=1.6), normal_mean(), operator=gs.Latent(50, gs.Langevin())),
    second_order=lambda: ksd(
        normal(60, 1, scale=1.4), normal_mean(), operator=gs.Latent(20, gs.SecondOrder())
    ),
    monte_carlo=lambda: ksd(
        normal(40, 1, scale=1.4), normal_mean(), gs.MonteCarlo(49), operator=gs.Latent(5)
    ),
    pca=lambda: ksd(
        normal(60, 3), F.ProbabilisticPCA([[0.5], [0.2], [0.1]], 0.9).latent(), operator=gs.Latent(20)
    ),
    posterior=lambda: ksd(*posterior()[::-1]),
    stochastic=lambda: ksd(*posterior()[::-1], operator=gs.Stochastic(batch_size=5)),
    stochastic_replace=lambda: ksd(*posterior()[::-1], operator=gs.Stochastic(12, replace=True)),
    stochastic_false=lambda: ksd(posterior()[1] + 0.2, posterior()[0], operator=gs.Stochastic(20)),
)

# Domains.

record(
    "domains",
    euclidean=lambda: ksd(normal(), minus_x, domain=gs.Euclidean(2)),
    interval=lambda: ksd(uniform(60, 1, 1.1), F.Uniform(gs.Box(0, 1))),
    box=lambda: ksd(uniform(), lambda x: 1.0 - x, domain=SQUARE),
    half_infinite_box=lambda: ksd(
        np.hstack([uniform(60, 1), normal(60, 1)]),
        lambda x: np.column_stack([0.0 * x[:, 0], -x[:, 1]]),
        domain=gs.Box([0, -np.inf], [1, np.inf]),
    ),
    orthant=lambda: ksd(exponential(power=1.1), lambda x: 0.0 * x - 1.0, domain=gs.Orthant(2)),
    half_line=lambda: ksd(exponential(60, 1), F.Gamma(1.0, 1.2)),
    ball=lambda: ksd(within(DISC), lambda x: 0.0 * x, domain=DISC),
    shifted_ball=lambda: ksd(2 * within(DISC) + [1, 0], F.Uniform(gs.Ball(2, radius=2, center=[1, 0]))),
    simplex=lambda: ksd(parts(2, 2, 2, 2), F.Dirichlet([2, 2, 2, 2.5])),
    polytope=lambda: ksd(within(TRIANGLE), F.Uniform(TRIANGLE)),
    polytope_false=lambda: ksd(within(TRIANGLE), lambda x: 3.0 + 0.0 * x, domain=TRIANGLE),
    polygon=lambda: ksd(within(ELL, side=2.0), F.Uniform(ELL)),
    polygon_with_hole=lambda: ksd(within(HOLED, side=4.0), F.Normal([2, 2], 9.0), domain=HOLED),
    circle=lambda: ksd(angles(kappa=1.0), F.VonMises(0.2, 1.2)),
    circle_score=lambda: ksd(angles(kappa=0.001), lambda t: 0.0 * t, domain=gs.Circle()),
    circle_second_order=lambda: ksd(angles(), F.VonMises(0.0, 1.0), operator=gs.SecondOrder()),
    torus=lambda: ksd(angles(d=2), lambda t: -np.sin(t), domain=gs.Torus(2)),
    torus_second_order=lambda: ksd(
        angles(d=2), lambda t: -np.sin(t - 0.2), domain=gs.Torus(2), operator=gs.SecondOrder()
    ),
    sphere=lambda: ksd(directions(), F.VonMisesFisher([0, 0, 1], 1.7)),
    sphere_uniform=lambda: ksd(directions(pull=0.1), F.UniformOnSphere(3)),
    sphere_coordinate=lambda: ksd(directions(), F.VonMisesFisher([0, 0, 1], 1.7), operator=gs.Coordinate()),
    sphere_four=lambda: ksd(directions(d=4, pull=0.0), F.UniformOnSphere(4), operator=gs.Coordinate()),
    sphere_bingham=lambda: ksd(directions(pull=0.0), F.Bingham(np.diag([0.5, 0.0, -0.5]))),
    sphere_kent=lambda: ksd(directions(pull=2.0), F.Kent(np.eye(3)[::-1], 4.0, 0.2)),
    chart_torus=lambda: on_chart("torus"),
    chart_torus_second_order=lambda: on_chart("torus", gs.SecondOrder()),
    chart_half_plane=lambda: on_chart("half plane"),
    chart_half_plane_second_order=lambda: on_chart("half plane", gs.SecondOrder()),
    chart_half_plane_own_auxiliary=lambda: on_chart(
        "half plane", gs.Coordinate(gs.Auxiliary(lambda u: u[:, 1] / (1.0 + u[:, 1]) ** 2))
    ),
)

record(
    "discrete",
    ising=lambda: ksd(spins(), F.Ising(0.2 * (1 - np.eye(3)))),
    ising_published=lambda: ksd(spins(), F.Ising(np.zeros((3, 3)), 0.1), operator=gs.Difference()),
    bound=lambda: ksd(spins(), F.Ising(0.1 * (1 - np.eye(3))), operator=gs.Difference(bound=10)),
    potts=lambda: ksd(counts(2, d=2), F.Potts(3, [[0.0, 0.1], [0.1, 0.0]], [0.0, 0.6, 0.0])),
    table=lambda: ksd(counts(3, p=0.4), F.CategoricalTable(scipy.stats.binom(3, 0.45).pmf(range(4)))),
    rare_states=lambda: ksd(
        counts(5, p=0.15),
        F.CategoricalTable(scipy.stats.binom(5, 0.15).pmf(range(6))),
        operator=gs.Difference(),
    ),
    beta_binomial=lambda: ksd(counts(), F.BetaBinomial(4, 2, 2)),
    machine=lambda: ksd((spins(d=2) + 1) / 2, F.BernoulliRBM([[0.5, -0.5]], 0.1)),
    logpdf=lambda: ksd(
        counts(2, d=2), gs.Model(logpdf=lambda x: 0.5 * (x[:, 0] == x[:, 1]), domain=gs.Lattice(3, 2))
    ),
    monte_carlo=lambda: ksd(counts(2, d=3), F.Potts(3, np.zeros((3, 3)), [0.0, 0.7, 0.0]), gs.MonteCarlo(99)),
    parametric=lambda: ksd(spins(60), F.Ising.fit(spins(60)), gs.ParametricBootstrap(F.Ising.fit, 19)),
)

# Durations.

record(
    "survival",
    martingale=lambda: ksd(durations(), F.Exponential(1.0), operator=gs.Martingale()),
    martingale_hazard=lambda: ksd(durations(60, 1.2), F.Weibull(1.0, 1.0), operator=gs.Martingale("hazard")),
    martingale_plain=lambda: ksd(durations(60, 1.2), F.Exponential(1.1), operator=gs.Martingale(None)),
    survival=lambda: ksd(durations(), F.Exponential(1.0), operator=gs.Survival()),
    survival_gompertz=lambda: ksd(durations(), F.Gompertz(0.8, 0.3), operator=gs.Survival()),
    proportional=lambda: ksd(durations(80), F.Exponential(3.0), operator=gs.ProportionalHazards()),
    proportional_horizon=lambda: ksd(
        durations(80, 1.5), F.Weibull(1.0, 1.0), operator=gs.ProportionalHazards(horizon=1.0)
    ),
    scipy=lambda: ksd(durations(), scipy.stats.weibull_min(1.1)),
    loglogistic=lambda: ksd(durations(), F.LogLogistic(0.8, 1.4)),
    lognormal=lambda: ksd(durations(), F.LogNormal(-0.4, 1.2)),
    gamma=lambda: ksd(durations(), F.Gamma(1.1, 0.9)),
    piecewise=lambda: ksd(durations(), F.PiecewiseExponential([0.5], [0.8, 1.2])),
    own_hazard=lambda: ksd(durations(60, 1.3), linear_hazard()),
    fitted_to_the_same_data=lambda: ksd(durations(60, 1.3), F.Weibull.fit(durations(60, 1.3))),
    monte_carlo=lambda: ksd(durations(40), F.Exponential(1.2), gs.MonteCarlo(49)),
    monte_carlo_proportional=lambda: ksd(
        durations(40), F.Exponential(1.2), gs.MonteCarlo(49), operator=gs.ProportionalHazards()
    ),
    parametric=lambda: ksd(
        durations(60, 1.5),
        F.Exponential.fit(durations(60, 1.5)),
        gs.ParametricBootstrap(F.Exponential.fit, 49),
    ),
    spectral=lambda: ksd(durations(60, 1.1), F.Exponential(1.0), gs.Spectral(999)),
)

# Conditional models.


def same(x, y):
    return (x[:, None, 0] == y[None, :, 0]) + 0.0


record(
    "conditional",
    gaussian=lambda: conditional(*regression(), line()),
    wrong_slope=lambda: conditional(*regression(bend=0.5), line(1.2)),
    x_kernel=lambda: conditional(*regression(bend=0.2), line(), x_kernel=gs.IMQ(0.5)),
    operator=lambda: conditional(
        *regression(d=2), line(), operator=gs.Conditional(gs.Langevin(), x_kernel=gs.Gaussian(0.5))
    ),
    categories=lambda: conditional(
        counts(2, 60), normal(60, 1), gs.ConditionalModel(score=lambda y, x: -y, name="noise"), x_kernel=same
    ),
    score_function=lambda: conditional(*regression(), lambda y, x: x[:, 0] - y),
    logpdf=lambda: conditional(
        *regression(), gs.ConditionalModel(logpdf=lambda y, x: -0.5 * (y - 0.9 * x[:, 0]) ** 2)
    ),
    box=lambda: conditional(
        uniform(60, 1),
        uniform(60, 1, seed=1),
        gs.ConditionalModel(score=lambda y, x: 0.5 * x, domain=gs.Box(0, 1)),
    ),
    lattice=lambda: conditional(
        normal(60, 1),
        counts(2, 60),
        gs.ConditionalModel(
            logpdf=lambda y, x: np.log(np.array([1, 2, 1]))[y[:, 0].astype(int)], domain=gs.Lattice(3, 1)
        ),
    ),
    monte_carlo=lambda: conditional(*regression(40), line(0.9), gs.MonteCarlo(49)),
    parametric=lambda: conditional(*regression(40, bend=0.4), *fitted_and_null()),
    kernel=lambda: conditional(*regression(), line(), kernel=gs.IMQ(1.0)),
)


def fitted_and_null():
    class Pair:
        x, y = regression(40, bend=0.4)

    return fitted_line(Pair), gs.ParametricBootstrap(fitted_line, 49)


# Point patterns and graphs.


def pattern(x, model, null=WILD, rng=1, **options):
    return gs.point_pattern_ksd_test(x, model, null=null, rng=rng, **options)


def of_graph(x, model, null=None, rng=1, **options):
    return gs.graph_ksd_test(x, model, null=null or gs.MonteCarlo(39), sweeps=5, rng=rng, **options)


def networkx_graph():
    import networkx

    return networkx.from_numpy_array(graph())


record(
    "patterns",
    poisson=lambda: pattern(patterns(), F.PoissonProcess(12.0, SQUARE)),
    poisson_false=lambda: pattern(patterns(power=1.2), F.PoissonProcess(12.0, SQUARE)),
    uneven=lambda: pattern(patterns(), F.PoissonProcess(lambda u: 8.0 + 8.0 * u[:, 0], SQUARE)),
    strauss=lambda: pattern(patterns(), F.Strauss(14.0, 0.8, 0.08, SQUARE)),
    strauss_sampled=lambda: pattern(
        F.Strauss(30.0, 0.2, 0.1, SQUARE).sample(10, rng=1), F.PoissonProcess(16.0, SQUARE)
    ),
    kernel=lambda: pattern(
        patterns(), F.PoissonProcess(11.0, SQUARE), kernel=ConfigurationKernel(0.3, scale=1.0)
    ),
    normalised=lambda: pattern(
        patterns(),
        F.PoissonProcess(12.0, SQUARE),
        kernel=ConfigurationKernel(gs.Median(0.5**0.5), scale=0.5**0.5, normalised=True),
        operator=Papangelou(nodes=8),
    ),
    monte_carlo=lambda: pattern(patterns(6, 6.0), F.PoissonProcess(7.5, SQUARE), gs.MonteCarlo(19)),
    spectral=lambda: pattern(patterns(), F.PoissonProcess(12.0, SQUARE), gs.Spectral(999)),
    polygon=lambda: pattern([within(ELL, 9, 2.0, seed=k) for k in range(8)], F.PoissonProcess(3.0, ELL)),
    parametric=lambda: pattern(
        patterns(6, 6.0, power=1.3),
        F.PoissonProcess.fit(patterns(6, 6.0, power=1.3), SQUARE),
        gs.ParametricBootstrap(partial(F.PoissonProcess.fit, domain=SQUARE), 19),
    ),
)

record(
    "graphs",
    counts=lambda: of_graph(graph(), F.ERGM(14, edges=-0.8)),
    networkx=lambda: of_graph(networkx_graph(), F.ERGM(14, edges=-0.5)),
    triangles=lambda: of_graph(graph(), F.ERGM(14, edges=-1.2, two_stars=0.02, triangles=0.2)),
    few_counts=lambda: of_graph(
        graph(), F.ERGM(14, edges=-0.8), kernel=SubgraphCounts(("edges", "triangles"))
    ),
    weisfeiler_lehman=lambda: of_graph(graph(10), F.ERGM(10, edges=-0.8), kernel=WeisfeilerLehman(1)),
    weisfeiler_lehman_plain=lambda: of_graph(
        graph(10), F.ERGM(10, edges=-0.3), gs.MonteCarlo(19), kernel=WeisfeilerLehman(2, "none")
    ),
    n_edges=lambda: of_graph(graph(), F.ERGM(14, edges=-0.8), n_edges=30),
    parametric=lambda: of_graph(graph(), F.ERGM.fit(graph()), gs.ParametricBootstrap(F.ERGM.fit, 19)),
    parametric_edges=lambda: of_graph(
        graph(),
        F.ERGM.fit(graph(), ("edges",)),
        gs.ParametricBootstrap(partial(F.ERGM.fit, statistics=("edges",)), 19),
        n_edges=40,
    ),
)

# What users may write themselves: an operator, a kernel, models of any kind.


@dataclass(frozen=True)
class Slice:
    """T f(x) = (r·∇log q) f(r·x) + f′(r·x), which looks along one direction."""

    direction: tuple[float, ...]

    def features(self, model, domain, data):
        r = np.array(self.direction)[:, None]
        return gs.SteinFeatures(data @ r, model.score(data) @ r)


@dataclass(frozen=True)
class Cubic:
    """k = (1 + ρ)⁻³, of the squared distance ρ."""

    def fitted(self, points):
        return self

    def profiles(self, rho, order=2):
        factors = (1.0, -3.0, 12.0, -60.0, 360.0)
        return [factors[k] * (1.0 + rho) ** (-3.0 - k) for k in range(order + 1)]


class Repulsion:
    """A point process that is known by its intensity alone: its points repel each other a little."""

    domain = SQUARE

    def papangelou(self, u, pattern):
        near = ((u[:, None, :] - pattern[None, :, :]) ** 2).sum(-1) < 0.01
        return 14.0 * 0.7 ** near.sum(axis=1)


class Bernoulli:
    """A graph whose edges are independent, with a chain that draws it anew."""

    def log_odds(self, adjacency):
        return np.full(adjacency.shape, -0.9)

    def walk(self, adjacency, steps, rng):
        return graph(len(adjacency), 1 / (1 + math.exp(0.9)), seed=int(rng.integers(1 << 30)))


class Logistic:
    """A model with methods."""

    domain = gs.Euclidean(2)

    def score(self, x):
        return -np.tanh(x / 2)

    def logpdf(self, x):
        return logistic(x)

    def sample(self, n, rng):
        return rng.logistic(size=(n, 2))


record(
    "own",
    operator=lambda: ksd(normal(60, 4, shift=0.1), minus_x, operator=Slice((0.6, 0.8, 0.0, 0.0))),
    operator_among_others=lambda: aggregated(
        normal(60, 4), minus_x, operators=[gs.Langevin(), Slice((1.0, 0.0, 0.0, 0.0))], kernels=TWO
    ),
    operator_inside=lambda: ksd(
        normal(60, 4, scale=1.1), F.Normal([0.0] * 4), operator=gs.Dilation(Slice((0.0, 0.0, 1.0, 0.0)))
    ),
    operator_audited=lambda: gs.audit(F.Normal([0, 0]), operator=Slice((0.6, 0.8)), rng=1),
    kernel=lambda: ksd(normal(shift=0.1), minus_x, kernel=Cubic()),
    kernel_second_order=lambda: ksd(directions(), F.VonMisesFisher([0, 0, 1], 2.2), kernel=Cubic()),
    model=lambda: ksd(rng_of(3).logistic(size=(60, 2)), Logistic()),
    model_simulated=lambda: ksd(normal(40, scale=1.5), Logistic(), gs.MonteCarlo(49)),
    pattern_model=lambda: pattern(patterns(), Repulsion()),
    graph_model=lambda: of_graph(graph(), Bernoulli()),
)

# Tests that consist of others.


def aggregated(x, model, null=WILD, rng=1, **options):
    return gs.aggregated_test(x, model, null=null, rng=rng, **options)


TWO = [gs.Gaussian(gs.Median(0.5)), gs.IMQ()]

record(
    "aggregated",
    euclidean=lambda: aggregated(normal(), F.Normal([0, 0])),
    euclidean_false=lambda: aggregated(normal(scale=1.3), F.Normal([0, 0])),
    five_dimensions=lambda: aggregated(normal(80, 5, scale=1.05), F.Normal([0.0] * 5)),
    without_sampler=lambda: aggregated(normal(), minus_x),
    simplex=lambda: aggregated(parts(1, 2, 2), F.Dirichlet([1, 2, 2])),
    simplex_refused_member=lambda: aggregated(parts(0.4, 0.4, 0.4), F.Dirichlet([0.5, 0.4, 0.4])),
    region=lambda: aggregated(uniform(power=1.2), F.Uniform(SQUARE)),
    ball_by_domain=lambda: aggregated(within(DISC), F.Normal([0, 0]), domain=DISC),
    half_line=lambda: aggregated(exponential(60, 1), F.Gamma(1.2, 0.9)),
    circle=lambda: aggregated(angles(), F.VonMises(0.1, 1.0)),
    sphere=lambda: aggregated(directions(), F.VonMisesFisher([0, 0, 1], 1.4)),
    lattice=lambda: aggregated(spins(), F.Ising(0.1 * (1 - np.eye(3)))),
    durations=lambda: aggregated(durations(60, 1.2), F.Exponential(1.0)),
    lavas=lambda: aggregated(LAVAS, F.Dirichlet([3, 3, 1])),
    kernels=lambda: aggregated(normal(shift=0.2), minus_x, kernels=TWO),
    operators=lambda: aggregated(
        parts(1, 2, 2), F.Dirichlet([1, 2, 2.5]), operators=[gs.LogRatio(), gs.Mirrored()]
    ),
    weights=lambda: aggregated(
        normal(), minus_x, operators=[gs.Langevin(), gs.Dilation()], kernels=TWO, weights=[4, 2, 1, 1]
    ),
    wild_iid=lambda: aggregated(normal(scale=1.2), minus_x, gs.WildBootstrap(299, signs="iid"), kernels=TWO),
    wild_flip=lambda: aggregated(chain(), F.Normal(), gs.WildBootstrap(299, flip=0.1), kernels=TWO),
    monte_carlo=lambda: aggregated(normal(40), F.Normal([0, 0.2]), gs.MonteCarlo(49), kernels=TWO),
    monte_carlo_default=lambda: aggregated(normal(30), F.Normal([0, 0]), gs.MonteCarlo(19)),
    monte_carlo_durations=lambda: aggregated(durations(40), F.Exponential(1.0), gs.MonteCarlo(19)),
    parametric=lambda: aggregated(
        exponential(40, 1),
        F.Normal.fit(exponential(40, 1)),
        gs.ParametricBootstrap(F.Normal.fit, 39),
        kernels=TWO,
    ),
    parametric_default=lambda: aggregated(
        LAVAS, F.LogisticNormal.fit(LAVAS), gs.ParametricBootstrap(F.LogisticNormal.fit, 19)
    ),
    workers=lambda: aggregated(normal(), F.Normal([0, 0]), workers=2),
    chart=lambda: (lambda chart, x: aggregated(x, lambda u: 0.0 * u, domain=chart))(*torus_of_revolution()),
    latent=lambda: aggregated(normal(60, 1, scale=1.7), normal_mean(), kernels=TWO),
    stochastic=lambda: aggregated(
        *posterior()[::-1], operators=[gs.Stochastic(5), gs.Langevin()], kernels=TWO
    ),
    regularised_member=lambda: aggregated(
        normal(), F.Normal([0, 0.3]), operators=[gs.Langevin(), gs.Regularised(draws=50)], kernels=TWO
    ),
    sum_and_whitened=lambda: aggregated(
        normal(shift=0.15),
        minus_x,
        kernels=[gs.Whitened(gs.Gaussian()), gs.Gaussian(1.0) + gs.IMQ(1.0), gs.Matern52()],
    ),
)


def regularised(x, model, null=WILD, rng=1, **options):
    return gs.regularised_test(x, model, null=null, rng=rng, **options)


record(
    "regularised",
    draws=lambda: regularised(normal(), F.Normal([0, 0])),
    split=lambda: regularised(normal(80, shift=0.15), minus_x),
    strengths=lambda: regularised(normal(60, 3), F.Normal([0, 0, 0.2]), strengths=[1.0, 0.1], draws=50),
    whole=lambda: regularised(normal(40), F.Normal([0, 0]), gs.MonteCarlo(19), fraction=None),
    simplex=lambda: regularised(parts(1, 2, 2), F.Dirichlet([1, 2, 2]), operator=gs.Mirrored()),
    durations=lambda: regularised(durations(80), F.Exponential(1.2), operator=gs.Martingale()),
    kernel=lambda: regularised(normal(), F.Normal([0, 0]), kernel=gs.Gaussian(0.7), draws=50),
)


def bimodal(n=80):
    return np.where(uniform(n, 1) < 0.5, -0.7, 0.7) + 0.7 * normal(n, 1)


record(
    "select",
    default=lambda: gs.select(bimodal(), F.Normal(), rng=1).test(null=WILD, rng=1),
    true_model=lambda: gs.select(normal(80), F.Normal([0, 0]), rng=1).test(null=WILD, rng=1),
    operators=lambda: gs.select(
        parts(1, 2, 2, n=80),
        F.Dirichlet([1, 2, 2]),
        operators=[gs.LogRatio(), gs.Mirrored()],
        train_fraction=0.4,
        rng=1,
    ).test(null=WILD, rng=1),
    dropped=lambda: gs.select(
        parts(0.5, 0.5, 0.5, n=80),
        F.Dirichlet([0.5, 0.5, 0.5]),
        operators=[gs.LogRatio(), gs.Standardised(gs.GeometricMean())],
        kernels=[gs.IMQ()],
        rng=1,
    ).test(null=WILD, rng=1),
    durations=lambda: gs.select(durations(80, 1.3), F.Exponential(1.0), rng=1).test(null=WILD, rng=1),
    lattice=lambda: gs.select(spins(), F.Ising(0.1 * (1 - np.eye(3))), rng=1).test(null=WILD, rng=1),
    other_data=lambda: gs.select(normal(80), F.Normal([0, 0]), rng=1).test(
        normal(50, seed=1), null=WILD, rng=1
    ),
    monte_carlo=lambda: gs.select(normal(60), F.Normal([0, 0.3]), rng=1).test(null=gs.MonteCarlo(49), rng=1),
    criteria=lambda: [
        [c.u, c.sigma, c.criterion]
        for c in gs.select(bimodal(), F.Normal(), rng=1).candidates
        if c.dropped is None
    ],
)

record(
    "relative",
    two_models=lambda: gs.relative_ksd_test(normal(), F.Normal([0.6, 0]), F.Normal([0.2, 0]), rng=1),
    changed_places=lambda: gs.relative_ksd_test(normal(), F.Normal([0.2, 0]), F.Normal([0.6, 0]), rng=1),
    equally_wrong=lambda: gs.relative_ksd_test(
        normal(seed=1), F.Normal([0.5, 0]), F.Normal([-0.5, 0]), rng=1
    ),
    many_rows=lambda: gs.relative_ksd_test(normal(700), F.Normal([0.3, 0]), F.Normal([0, 0.29]), rng=1),
    pair_of_operators=lambda: gs.relative_ksd_test(
        normal(60, 1, scale=1.4),
        normal_mean(),
        F.Normal(0.8, 2.0),
        operator=(gs.Latent(20), gs.Langevin()),
        rng=1,
    ),
    latent=lambda: gs.relative_ksd_test(
        normal(60, 3),
        F.ProbabilisticPCA([[0.2], [0.1], [0.9]], 2.0).latent(),
        F.ProbabilisticPCA([[0.8], [0.1], [0.3]], 1.0).latent(),
        operator=gs.Latent(20),
        rng=1,
    ),
    undefined=lambda: gs.relative_ksd_test(normal(), F.Normal([0, 0], 1.0), F.Normal([0, 0], 1.001), rng=1),
    simplex=lambda: gs.relative_ksd_test(
        parts(2, 3, 4), F.Dirichlet([1, 1, 1]), F.Dirichlet([2, 3, 8]), rng=1
    ),
    lattice=lambda: gs.relative_ksd_test(counts(), F.BetaBinomial(4, 1, 2), F.BetaBinomial(4, 2, 3), rng=1),
    domain=lambda: gs.relative_ksd_test(
        within(DISC), F.Normal([1, 0]), F.Normal([0, 0.8]), domain=DISC, kernel=gs.Gaussian(1.0), rng=1
    ),
    durations=lambda: gs.relative_ksd_test(
        durations(), F.Exponential(2.0), F.Exponential(0.8), operator=gs.Martingale(None), rng=1
    ),
)

# Tests for comparison.

record(
    "fssd",
    default=lambda: gs.fssd_test(normal(120, shift=0.1), F.Normal([0, 0]), n_resamples=999, rng=1),
    locations=lambda: gs.fssd_test(
        normal(80),
        minus_x,
        locations=[[0.0, 0.0], [1.0, -1.0]],
        kernel=gs.Gaussian(1.0),
        n_resamples=999,
        rng=1,
    ),
    not_optimised=lambda: gs.fssd_test(
        normal(100, shift=0.2), minus_x, optimise=False, n_resamples=999, rng=1
    ),
    simplex=lambda: gs.fssd_test(
        parts(2, 3, 4, n=100), F.Dirichlet([2, 3, 4.5]), optimise=False, n_locations=3, n_resamples=999, rng=1
    ),
    ball=lambda: gs.fssd_test(
        within(DISC, 100), minus_x, domain=DISC, optimise=False, n_resamples=999, rng=1
    ),
)

record(
    "mmd",
    default=lambda: gs.mmd_test(normal(50, shift=0.2), F.Normal([0, 0]), n_resamples=199, rng=1),
    kernel=lambda: gs.mmd_test(
        normal(50), F.Normal([0, 0]), kernel=gs.IMQ(1.0), n_draws=70, n_resamples=199, rng=1
    ),
    domain=lambda: gs.mmd_test(within(DISC, 50), F.Normal([0, 0]), domain=DISC, n_resamples=199, rng=1),
    lattice=lambda: gs.mmd_test(spins(50), F.Ising(0.1 * (1 - np.eye(3))), n_resamples=199, rng=1),
    simplex=lambda: gs.mmd_test(parts(1, 2, 2, n=50), F.Dirichlet([1, 2, 2]), n_resamples=199, rng=1),
)

record(
    "m3d",
    default=lambda: gs.m3d_test(normal(40, 1, shift=0.3), F.Normal(), n_resamples=49, rng=1),
    kernel=lambda: gs.m3d_test(
        normal(40), F.Normal([0, 0]), kernel=gs.Gaussian(), n_draws=60, n_scales=3, n_resamples=49, rng=1
    ),
    box=lambda: gs.m3d_test(uniform(40), F.Uniform(SQUARE), n_scales=4, n_resamples=49, rng=1),
)

# Auxiliary functions from data.


def learnt(x, model, **options):
    g = gs.auxiliary.learn(x[:60], model, n_features=3, rng=1, **options)
    return ksd(x[60:], model, operator=gs.Standardised(g), kernel=g.kernel)


record("datasets", lavas=lambda: gs.datasets.skye_lavas())

record(
    "auxiliary",
    learnt=lambda: learnt(normal(120, 1, scale=1.15), F.Normal()),
)

# Audits, refusals and their overruling.

HALF = F.Dirichlet([0.5, 0.5, 0.5])
TOO_SLOW = gs.Standardised(gs.GeometricMean())

record(
    "audit",
    normal=lambda: gs.audit(F.Normal([0, 0]), rng=1),
    score_only=lambda: gs.audit(minus_x, domain=gs.Euclidean(2), data=normal(), rng=1),
    wrong_score=lambda: gs.audit(
        gs.Model(score=lambda x: -2 * x, logpdf=lambda x: -0.5 * (x**2).sum(1)), data=normal(), rng=1
    ),
    dirichlet=lambda: gs.audit(HALF, rng=1),
    dirichlet_refused=lambda: gs.audit(HALF, operator=TOO_SLOW, rng=1),
    langevin_on_ball=lambda: gs.audit(F.Uniform(DISC), operator=gs.Langevin(), rng=1),
    polygon=lambda: gs.audit(F.Uniform(ELL), rng=1),
    half_line=lambda: gs.audit(F.Gamma(0.7, 1.0), rng=1),
    sphere=lambda: gs.audit(F.VonMisesFisher([0, 0, 1], 2.0), rng=1),
    sphere_coordinate_without_auxiliary=lambda: gs.audit(
        F.UniformOnSphere(3), operator=gs.Coordinate(False), rng=1
    ),
    lattice=lambda: gs.audit(F.Ising(np.zeros((3, 3))), data=spins(), rng=1),
    survival_refused=lambda: gs.audit(F.Weibull(1.0, 1.5), operator=gs.Survival(), data=durations(), rng=1),
    martingale=lambda: gs.audit(F.Weibull(1.0, 1.5), data=durations(), rng=1),
    embedding=lambda: gs.audit(F.Normal([0, 0]), operator=gs.MeanEmbedding(), rng=1),
)

record(
    "refused",
    simplex=lambda: refused(lambda: ksd(parts(0.5, 0.5, 0.5), HALF, operator=TOO_SLOW)),
    simplex_overruled=lambda: ksd(parts(0.5, 0.5, 0.5), HALF, operator=TOO_SLOW, audit=False),
    ball_overruled=lambda: ksd(within(DISC), minus_x, domain=DISC, operator=gs.Langevin(), audit=False),
    survival=lambda: refused(lambda: ksd(durations(), F.Weibull(1.0, 1.5), operator=gs.Survival())),
    survival_overruled=lambda: ksd(durations(), F.Weibull(1.0, 1.5), operator=gs.Survival(), audit=False),
    relative_overruled=lambda: gs.relative_ksd_test(
        parts(0.5, 0.5, 0.5), HALF, F.Dirichlet([2, 2, 2]), operator=TOO_SLOW, rng=1, audit=False
    ),
    aggregated=lambda: refused(lambda: aggregated(parts(0.5, 0.5, 0.5), HALF, operators=[TOO_SLOW])),
    aggregated_overruled=lambda: aggregated(
        parts(0.5, 0.5, 0.5), HALF, operators=[TOO_SLOW, gs.LogRatio()], kernels=[gs.IMQ()], audit=False
    ),
    regularised_whole=lambda: refused(lambda: ksd(normal(), minus_x, operator=gs.Regularised(fraction=None))),
    outside=lambda: refused(lambda: ksd(normal(), F.Uniform(SQUARE))),
    monte_carlo_without_sampler=lambda: refused(lambda: ksd(normal(), minus_x, gs.MonteCarlo(9))),
)

# Null distributions that the library chooses.


def auto(x, model, **options):
    return ksd(x, model, "auto", **options)


def checked(data, model, **options):
    found = gs.check(data, model, rng=1, **options)
    return {"decision": found.decision, "test": found.test}


LINE = regression(40)
record(
    "chosen",
    wild=lambda: gs.ksd_test(normal(40), minus_x, rng=1),
    no_sampler=lambda: auto(normal(40), minus_x),
    simulated=lambda: auto(normal(40), F.Normal([0, 0])),
    many_rows=lambda: auto(normal(2000, 1), F.Normal()),
    dependent_rows=lambda: auto(chain(150), F.Normal()),
    chains=lambda: auto(gs.Chains([chain(80), chain(80, seed=1)]), F.Normal()),
    weighted=lambda: auto(gs.Weighted(normal(60), 1.0 + np.arange(60) % 3), F.Normal([0, 0])),
    fitted=lambda: auto(normal(60, 1), F.Normal.fit(normal(60, 1))),
    fitted_elsewhere=lambda: auto(normal(60, 1), F.Normal.fit(normal(60, 1, seed=1))),
    durations=lambda: auto(durations(40), F.Exponential()),
    fitted_durations=lambda: auto(durations(60, 1.3), F.Weibull.fit(durations(60, 1.3))),
    pairs=lambda: conditional(*LINE, line(), "auto"),
    latent=lambda: auto(normal(40, 1, scale=1.4), normal_mean()),
    patterns=lambda: gs.point_pattern_ksd_test(
        patterns(), F.PoissonProcess(12.0, SQUARE), null="auto", rng=1
    ),
    one_pattern=lambda: gs.point_pattern_ksd_test(
        patterns(1, 40.0)[0], F.PoissonProcess.fit(patterns(1, 40.0)[0], SQUARE), rng=1
    ),
    graph=lambda: gs.graph_ksd_test(graph(), F.ERGM(14, edges=-0.8), sweeps=5, rng=1),
    aggregated=lambda: gs.aggregated_test(normal(30), F.Normal([0, 0]), kernels=TWO, rng=1),
    check=lambda: checked(normal(30), F.Normal([0, 0])),
    check_false=lambda: checked(normal(30, scale=1.6), F.Normal([0, 0])),
    check_fitted=lambda: checked(exponential(60, 1), F.Normal.fit(exponential(60, 1))),
    check_parts=lambda: checked(LAVAS, F.Dirichlet.fit(LAVAS)),
    check_few=lambda: checked(normal(4, 1), minus_x),
)

# Stein matrices.


def matrix(x, model, **options):
    h = gs.stein_matrix(x, model, rng=1, **options)
    return {
        "shape": list(h.shape),
        "trace": np.trace(h),
        "sum": h.sum(),
        "norm": np.linalg.norm(h),
        "corner": h[0, -1],
    }


record(
    "matrix",
    langevin=lambda: matrix(normal(20), minus_x),
    standardised=lambda: matrix(within(DISC, 20), minus_x, domain=DISC, kernel=gs.Matern52(1.0)),
    mirrored=lambda: matrix(parts(0.5, 1, 1, n=20), F.Dirichlet([0.5, 1, 1]), operator=gs.Mirrored()),
    difference=lambda: matrix(spins(20), F.Ising(0.2 * (1 - np.eye(3))), operator=gs.Difference()),
    sphere=lambda: matrix(directions(20), F.VonMisesFisher([0, 0, 1], 1.7)),
    survival=lambda: matrix(durations(20), F.Exponential(1.0), operator=gs.Survival()),
    latent=lambda: matrix(normal(20, 1), normal_mean(), operator=gs.Latent(4)),
    regularised=lambda: matrix(normal(20), F.Normal([0, 0]), operator=gs.Regularised(draws=20)),
    embedding=lambda: matrix(normal(20), F.Normal([0, 0]), operator=gs.MeanEmbedding(4, 10)),
)

# Families: draws, log densities, scores, fits and influences.


def family(model, fit=None, score=True):
    """What it says of draws of its own; of a fit its parameters, log densities and influences."""
    x = model.sample(ROWS, rng=1)
    found = {"sample": np.ravel(x), "logpdf": np.ravel(model.logpdf(x))}
    if score:
        found["score"] = np.ravel(model.score(x))
    return found if fit is None else found | fitted(fit, model.sample(200, rng=2), x)


def fitted(fit, data, x=None):
    """Loadings may turn, as their space does not, so that they are seen through the log density alone."""
    model = fit(data)
    names = inspect.signature(type(model)).parameters
    values = {name: getattr(model, name) for name in names if name != "loadings"}
    found = {"fit": {k: np.ravel(v) for k, v in values.items() if np.asarray(v).dtype.kind in "fi"}}
    if x is not None:
        found["fit"]["logpdf"] = np.ravel(model.logpdf(x))
    known = model.provenance
    if known is not None and known.influence is not None and "loadings" not in names:
        found["influence"] = np.ravel(known.influence(data).values[:ROWS])
    return found


record(
    "families",
    normal=lambda: family(F.Normal([0, 1], [[2, 1], [1, 2]]), F.Normal.fit),
    student=lambda: family(F.StudentT(3, [0, 1]), F.StudentT.fit),
    laplace=lambda: family(F.Laplace([0, 1], 2), F.Laplace.fit),
    mixture=lambda: family(
        F.GaussianMixture([0.3, 0.7], [-2, 2]), partial(F.GaussianMixture.fit, n_components=2, rng=1)
    ),
    pca=lambda: family(F.ProbabilisticPCA([[1], [2]], 1), partial(F.ProbabilisticPCA.fit, n_components=1)),
    dirichlet=lambda: family(F.Dirichlet([0.5, 1, 2]), F.Dirichlet.fit),
    dirichlet_mixture=lambda: family(
        F.DirichletMixture([0.4, 0.6], [[4, 2, 30], [20, 3, 9]]),
        partial(F.DirichletMixture.fit, n_components=2, rng=1),
    ),
    logistic_normal=lambda: family(F.LogisticNormal([0, 1]), F.LogisticNormal.fit),
    logistic_normal_mixture=lambda: family(
        F.LogisticNormalMixture([0.3, 0.7], [[2.0, 0.0], [-2, 0.5]], [0.3, 0.5]),
        partial(F.LogisticNormalMixture.fit, n_components=2, rng=1),
    ),
    uniform=lambda: family(F.Uniform(ELL)),
    truncated=lambda: family(F.Truncated(F.Normal([0, 0]), DISC)),
    gaussian_copula=lambda: family(F.GaussianCopula([[1.0, 0.5], [0.5, 1.0]]), F.GaussianCopula.fit),
    student_copula=lambda: family(F.StudentCopula(3.5, 0.6), F.StudentCopula.fit),
    clayton=lambda: family(F.ClaytonCopula(1.5, 3), F.ClaytonCopula.fit),
    gumbel=lambda: family(F.GumbelCopula(1.8), F.GumbelCopula.fit),
    frank=lambda: family(F.FrankCopula(-4.0), F.FrankCopula.fit),
    exponential=lambda: family(F.Exponential(2.0), F.Exponential.fit),
    gamma=lambda: family(F.Gamma(2.0, 3.0), F.Gamma.fit),
    weibull=lambda: family(F.Weibull(2.0, 3.0), F.Weibull.fit),
    gompertz=lambda: family(F.Gompertz(0.5, 2.0), F.Gompertz.fit),
    lognormal=lambda: family(F.LogNormal(0.0, 2.0), F.LogNormal.fit),
    loglogistic=lambda: family(F.LogLogistic(2.0, 3.0), F.LogLogistic.fit),
    piecewise=lambda: family(
        F.PiecewiseExponential([1.0, 3.0], [0.5, 0.1, 1.0]),
        partial(F.PiecewiseExponential.fit, breakpoints=[1.0, 3.0]),
        score=False,
    ),
    von_mises=lambda: family(F.VonMises(0.5, 2.0), F.VonMises.fit),
    von_mises_fisher=lambda: family(F.VonMisesFisher([0, 0, 1], 2.0), F.VonMisesFisher.fit),
    uniform_on_sphere=lambda: family(F.UniformOnSphere(4)),
    bingham=lambda: family(F.Bingham(np.diag([3.0, 1.0, 0.0])), F.Bingham.fit),
    kent=lambda: family(F.Kent(np.eye(3), 10.0, 3.0), F.Kent.fit),
    ising=lambda: family(F.Ising(0.3 * (1 - np.eye(3)), 0.1), F.Ising.fit),
    potts=lambda: family(F.Potts(3, [[0.0, 1.0], [1.0, 0.0]]), partial(F.Potts.fit, levels=3)),
    table=lambda: family(
        F.CategoricalTable([[1, 2], [3, 4]]), partial(F.CategoricalTable.independent, levels=2)
    ),
    beta_binomial=lambda: family(F.BetaBinomial(4, 2, 3)),
    machine=lambda: family(F.BernoulliRBM([[1.0, -1.0]], 0.5)),
    poisson_counts=lambda: family(F.Poisson([0.5, 40.0]), F.Poisson.fit),
    negative_binomial=lambda: family(F.NegativeBinomial(3.0, 2.0), F.NegativeBinomial.fit),
    binomial=lambda: family(F.Binomial(7, 0.3), partial(F.Binomial.fit, count=7)),
    multinomial=lambda: family(F.Multinomial(6, [0.2, 0.3, 0.5]), F.Multinomial.fit),
    geometric=lambda: family(F.Geometric(0.3), F.Geometric.fit),
    zero_inflated=lambda: family(F.ZeroInflated(F.Poisson(2.0), 0.3), F.ZeroInflated.fit),
    dirichlet_multinomial=lambda: family(
        F.DirichletMultinomial(6, [1.5, 0.4, 3.0]), F.DirichletMultinomial.fit
    ),
    product=lambda: family(
        F.Product([F.Poisson(2.0), F.Geometric(0.4)]),
        partial(F.Product.fit, families=[F.Poisson, F.Geometric]),
    ),
    random_graph=lambda: family(F.ERGM(4, edges=0.3, two_stars=-0.2, triangles=0.5)),
    random_graph_sampled=lambda: F.ERGM(8, edges=-0.5, triangles=0.2).sample(5, rng=1).sum(axis=1),
    random_graph_fitted=lambda: fitted(partial(F.ERGM.fit, statistics=("edges", "triangles")), graph()),
    block_model=lambda: family(F.StochasticBlockModel([0, 0, 1, 1], [[0.5, -1.0], [-1.0, 0.2]])),
    block_model_fitted=lambda: fitted(partial(F.StochasticBlockModel.fit, blocks=[0, 1] * 7), graph()),
    censored_exponential=lambda: fitted(F.Exponential.fit, durations()),
    censored_weibull=lambda: fitted(F.Weibull.fit, durations()),
    censored_lognormal=lambda: fitted(F.LogNormal.fit, durations()),
    strauss=lambda: [len(p) for p in F.Strauss(30.0, 0.2, 0.1, SQUARE).sample(5, rng=1)],
    strauss_fitted=lambda: fitted(partial(F.Strauss.fit, domain=SQUARE, radius=0.1), patterns(1, 40.0)[0]),
    poisson=lambda: [p.sum() for p in F.PoissonProcess(lambda u: 30 * u[:, 0], SQUARE).sample(5, rng=1)],
    poisson_fitted=lambda: F.PoissonProcess.fit(patterns(), SQUARE).mass,
    hawkes=lambda: [p.sum() for p in F.Hawkes(1.0, 0.4, 2.0, gs.Box(0, 20)).sample(5, rng=1)],
    hawkes_fitted=lambda: fitted(
        partial(F.Hawkes.fit, domain=gs.Box(0, 100)), np.cumsum(exponential(80, 1, power=2.0), axis=0) / 2
    ),
)

# Estimation.


def fit(estimator, *arguments, **options):
    found = estimator.fit(*arguments, rng=1, **options)
    return {**found.parameters, "errors": list(found.standard_errors.values()), "converged": found.converged}


def cut_off(n=150):
    """Normal, cut off by the unit circle."""
    x = normal(n, scale=0.5)
    return x[np.linalg.norm(x, axis=1) < 1]


def cauchy(x, theta):
    return -jnp.log1p((x[:, 0] - theta[0]) ** 2)


E = gs.estimate
record(
    "estimate",
    score_matching=lambda: fit(E.ScoreMatching(), normal(), E.AnyNormal()),
    truncated_ball=lambda: fit(E.TruncatedScoreMatching(), cut_off(), E.AnyNormal(), domain=DISC),
    truncated_auxiliary=lambda: fit(
        E.TruncatedScoreMatching(gs.BallPower(2)), cut_off(), E.AnyNormal(), domain=DISC
    ),
    dirichlet=lambda: fit(E.TruncatedScoreMatching(), parts(0.7, 1, 2), E.AnyDirichlet()),
    gamma=lambda: fit(E.TruncatedScoreMatching(), exponential(60, 1), E.AnyGamma()),
    exponential=lambda: fit(E.TruncatedScoreMatching(), exponential(60, 1), E.AnyExponential()),
    exponential_family=lambda: fit(
        E.TruncatedScoreMatching(),
        uniform(60, 1),
        E.ExponentialFamily(lambda x: np.hstack([x, x**4])),
        domain=gs.Box(0, 1),
    ),
    parametric=lambda: fit(
        E.ScoreMatching(), normal(60, 1), E.Parametric(cauchy, start=[0.0], names=["location"])
    ),
    minimum_stein=lambda: fit(E.MinimumStein(), parts(0.7, 1, 2), E.AnyDirichlet()),
    minimum_stein_normal=lambda: fit(E.MinimumStein(kernel=gs.Gaussian(1.0)), normal(50, 1), E.AnyNormal()),
    then_test=lambda: ksd(
        normal(40, 1, seed=1), E.ScoreMatching().fit(normal(60, 1), E.AnyNormal(), rng=1).model
    ),
    then_refit=lambda: (
        lambda found: ksd(normal(40, 1), found.model, gs.ParametricBootstrap(found.refit, 19))
    )(E.ScoreMatching().fit(normal(40, 1), E.AnyNormal(), rng=1)),
    bootstrap=lambda: E.ScoreMatching().fit(normal(60, 1), E.AnyNormal(), rng=1).bootstrap(20, rng=2).draws,
)

# Power.


def z_test(data, model, *, rng):
    return float(scipy.stats.norm.sf(math.sqrt(len(data)) * data.mean()))


def quick(data, model, *, rng):
    return gs.ksd_test(data, model, null=gs.WildBootstrap(39), rng=rng)


def study():
    cells = [
        gs.Cell(F.Normal(), F.Normal(0.5), 20, name="shift"),
        gs.Cell(F.Exponential(), F.Weibull(1, 1.6), 20, name="shape", censoring=F.Exponential(3)),
    ]
    found = gs.power_study(cells, {"KSD": quick}, trials=8, bound_draws=(400, 200), seed=1)
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in found.table()]
    return {"rows": rows, "pvalues": {" ".join(key): values for key, values in found.pvalues.items()}}


def needed(**options):
    found = gs.sample_size(F.Normal(), F.Normal(0.7), z_test, trials=60, bounds=(5, 60), rng=1, **options)
    return [found.n, *found.interval, found.bound, [[n, rate.value] for n, rate in found.curve]]


def most_power(*arguments, **options):
    found = gs.neyman_pearson_power(*arguments, n_null=400, n_alternative=200, rng=1, **options)
    return [found.power, *found.interval, found.threshold]


record(
    "power",
    study=study,
    sample_size=needed,
    sample_size_without_bound=lambda: needed(bound=False),
    bound=lambda: most_power(F.Normal(), F.Normal(0.5), 12),
    bound_of_counts=lambda: most_power(F.BetaBinomial(4, 2, 2), F.BetaBinomial(4, 2, 3), 15),
    bound_by_domain=lambda: most_power(F.Normal([0, 0]), F.Normal([0.8, 0]), 15, domain=DISC),
    bound_censored=lambda: most_power(F.Exponential(), F.Weibull(1, 1.5), 20, censoring=F.Exponential(2)),
)


# Recording and comparing.


def plain(value):
    """Numbers to twelve digits, strings, lists of them; NaN and infinities, which JSON lacks, as strings."""
    if isinstance(value, gs.TestResult):
        return of_result(value)
    if isinstance(value, gs.AuditReport):
        return by_status(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else str(value)
    return value


def of_result(result):
    draws = np.asarray(result.null_distribution)
    found = {
        "pvalue": result.pvalue,
        "statistic": result.statistic,
        "v_statistic": result.v_statistic,
        "n": result.n,
        "title": result.title,
        "verdict": verdict(result),
        "null": type(result.null).__name__,
        "checks": by_status(result.audit),
        "notes": len(result.notes),
        "bandwidth": result.to_dict()["bandwidth"],
        "draws": {"count": len(draws)},
        "details": {k: v for k, v in result.details.items() if isinstance(v, int | float | np.number)},
    }
    if reason := result.details.get("null distribution"):
        found["reason"] = next(name for words, name in REASONS.items() if words in reason)
    if len(draws):
        some = [float(f"{draw:.7g}") for draw in draws[:: max(1, len(draws) // SOME)][:SOME]]
        found["draws"] |= {"mean": draws.mean(), "std": draws.std(), "some": some}
    if result.members:
        keys = ("weight", "statistic", "spread", "pvalue", "adjusted_pvalue")
        found["members"] = [{key: getattr(member, key) for key in keys} for member in result.members]
    return plain(found)


def verdict(result):
    """What the verdict comes to, whatever its words are."""
    if not result.audit.valid:
        return "invalid"
    if result.undefined:
        return "undefined"
    if result.undecided():
        return "undecided"
    return "rejected" if result.pvalue <= LEVEL else "not rejected"


def by_status(report):
    """Names of the checks, in their order, by what became of them."""
    found = {}
    for check in report.checks:
        found.setdefault(check.status, []).append(check.name)
    return found


def run(name):
    """What a case returns, as plain numbers, with the categories of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = plain(CASES[name]())
    told = sorted(one.category.__name__ for one in caught if not issubclass(one.category, DEVELOPERS))
    return {"result": value, "warnings": told}


def differences(name, recorded, found, strict=False):
    """Lines that say what is not as it was; none if all is. Strict: with the small tolerances for all."""
    loose = [] if strict else [rtol for start, rtol in LOOSE.items() if name.startswith(start)]
    return list(_differences(recorded, found, "", max([STATISTICS, *loose])))


def _differences(old, new, where, rtol, size=0.0):
    """Numbers are compared relative to themselves, or to this size where that is larger."""
    last = where.rpartition("/")[2]
    of_family = [tolerance for part, tolerance in OF_FAMILIES.items() if f"/{part}" in where]
    rtol = max([rtol, *of_family])
    if isinstance(old, dict) and isinstance(new, dict):
        spread = old.get("draws", {}).get("std") or old.get("spread")
        # Each is compared relative to the larger one.
        sizes = {"statistic": spread, "v_statistic": spread, "spread": old.get("statistic")}
        if last == "draws" and "std" in old:
            # Of draws that are all the same the spread is a rounding error.
            rtol, size = max(DRAWS, rtol), max(old["std"], STATISTICS * abs(old["mean"]))
        for key in {**old, **new}:
            if key not in old or key not in new:
                yield f"{where}/{key}: {old.get(key, 'missing')!r} → {new.get(key, 'missing')!r}"
                continue
            beside = sizes.get(key)
            larger = abs(beside) if _is_real(beside) else size
            yield from _differences(old[key], new[key], f"{where}/{key}", rtol, larger)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{where}: {len(old)} → {len(new)} entries"
        if of_family:
            size = float(np.mean(np.abs(old))) if old else 0.0
        for k, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _differences(one, other, f"{where}/{k}", rtol, size)
    elif _is_real(old) and _is_real(new):
        if abs(old - new) > (PVALUES * abs(old) if last.endswith("pvalue") else rtol * max(abs(old), size)):
            yield f"{where}: {old!r} → {new!r}"
    elif old != new:
        yield f"{where}: {old!r} → {new!r}"


def _is_real(value):
    return isinstance(value, float | int) and not isinstance(value, bool)


SHOWN = 6
"""Differences of one case that are printed, at most."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--check", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--strict", action="store_true", help="the small tolerances, for the same machine")
    parser.add_argument("--times", action="store_true", help="print the seconds of every case")
    options = parser.parse_args()
    found, start = {}, time.perf_counter()
    wrong = 0
    recorded = json.loads(options.check.read_text(encoding="utf-8")) if options.check else {}
    for name in CASES:
        if options.only not in name:
            continue
        began = time.perf_counter()
        try:
            found[name] = run(name)
        except Exception as error:
            found[name] = {"error": f"{type(error).__name__}: {error}"}
        if options.times:
            print(f"{time.perf_counter() - began:7.3f} s  {name}")
        if "error" in found[name]:
            wrong += 1
            print(f"{name}\n  {found[name]['error']}")
        elif options.check:
            old = recorded.get(name)
            lines = ["not recorded"] if old is None else differences(name, old, found[name], options.strict)
            wrong += bool(lines)
            if lines:
                print(
                    name,
                    *lines[:SHOWN],
                    *([f"… {len(lines)} in all"] if len(lines) > SHOWN else []),
                    sep="\n  ",
                )
    if options.check:
        for name in sorted(recorded.keys() - CASES.keys()):
            wrong += 1
            print(f"{name}\n  recorded, but there is no such case")
    if options.write and not wrong:
        if options.only and options.write.exists():
            old = json.loads(options.write.read_text(encoding="utf-8"))
            found = {name: found.get(name, old.get(name)) for name in CASES if name in found or name in old}
        text = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in found.items())
        options.write.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    print(f"{len(found)} cases, {wrong} wrong, {time.perf_counter() - start:.1f} s, {gs.__file__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

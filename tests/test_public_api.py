"""The public face: names and signatures are a promise, and a user's own parts need no registration."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import re
import subprocess
import sys
import types
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import goodstein as gs
from goodstein.auxiliary import default_auxiliary
from goodstein.domains import Domain, Face
from goodstein.nulls import Calibration

ROOT = Path(__file__).resolve().parents[1]
FAMILY = gs.families

PUBLIC = [
    "AuditReport",
    "Auxiliary",
    "Ball",
    "BallPower",
    "BoundaryDistance",
    "Box",
    "BoxProduct",
    "CalibrationWarning",
    "CategoricalProduct",
    "Cell",
    "Censored",
    "Chains",
    "Chart",
    "CheckResult",
    "Circle",
    "Conditional",
    "ConditionalModel",
    "Coordinate",
    "CoxModel",
    "CoxResiduals",
    "Counts",
    "Data",
    "Decaying",
    "Difference",
    "Dilation",
    "Direction",
    "DomainError",
    "DrawnLevel",
    "DrawnMargins",
    "DrawnMoments",
    "DrawnPairs",
    "DrawnRadius",
    "DrawnRanks",
    "DrawnResiduals",
    "Euclidean",
    "FittedWildBootstrap",
    "Gaussian",
    "GeometricMean",
    "Gradients",
    "Graph",
    "Hamming",
    "Harmonics",
    "IMQ",
    "InputError",
    "Jumps",
    "Langevin",
    "Latent",
    "LatentModel",
    "Lattice",
    "LogRatio",
    "Margin",
    "Martingale",
    "Matern52",
    "MatrixStandardised",
    "MeanEmbedding",
    "Median",
    "Mirrored",
    "Model",
    "Moments",
    "Monitor",
    "MonteCarlo",
    "Naturals",
    "NumericalScoreWarning",
    "Nystrom",
    "Operator",
    "Orthant",
    "Pair",
    "Paired",
    "ParametricBootstrap",
    "Pattern",
    "Patterns",
    "Perturbed",
    "Polygon",
    "Polytope",
    "Posterior",
    "ProductOfParts",
    "ProportionalHazards",
    "RationalQuadratic",
    "Regularised",
    "Residuals",
    "ResourceError",
    "SamplingError",
    "ScoreError",
    "SecondOrder",
    "Simplex",
    "Spectral",
    "Sphere",
    "Standardised",
    "SteinFeatures",
    "SteinIdentityError",
    "StateSpace",
    "Stochastic",
    "Survival",
    "SurvivalModel",
    "SurvivalRegression",
    "Tangential",
    "TestResult",
    "Timing",
    "Torus",
    "Weighted",
    "Whitened",
    "WildBootstrap",
    "__version__",
    "aggregated_test",
    "as_model",
    "audit",
    "auxiliary",
    "check",
    "conditional_ksd_test",
    "datasets",
    "estimate",
    "families",
    "from_lonlat",
    "equivalence_test",
    "from_numpyro",
    "fssd_test",
    "graph_ksd_test",
    "graphs",
    "ksd_test",
    "m3d_test",
    "mmd_test",
    "neyman_pearson_power",
    "patterns",
    "plot",
    "point_pattern_ksd_test",
    "power_study",
    "regularised_test",
    "relative_ksd_test",
    "sample_size",
    "select",
    "split",
    "stein_matrix",
    "stein_weights",
    "testing",
    "thin",
]

FAMILIES = [
    "BernoulliRBM",
    "BetaBinomial",
    "Bingham",
    "Binomial",
    "CategoricalTable",
    "ClaytonCopula",
    "Dirichlet",
    "DirichletMixture",
    "DirichletMultinomial",
    "ERGM",
    "Exponential",
    "FrankCopula",
    "Gamma",
    "GaussianCopula",
    "GaussianMixture",
    "Geometric",
    "Gompertz",
    "GumbelCopula",
    "Hawkes",
    "Ising",
    "Kent",
    "Laplace",
    "LogLogistic",
    "LogNormal",
    "LogisticNormal",
    "LogisticNormalMixture",
    "Multinomial",
    "NegativeBinomial",
    "Normal",
    "PiecewiseExponential",
    "Poisson",
    "PoissonProcess",
    "Potts",
    "ProbabilisticPCA",
    "Product",
    "StochasticBlockModel",
    "Strauss",
    "StudentCopula",
    "StudentT",
    "Truncated",
    "Uniform",
    "UniformOnSphere",
    "VonMises",
    "VonMisesFisher",
    "Weibull",
    "ZeroInflated",
]


# --- names and signatures ---------------------------------------------------------------------


def test_the_public_names_are_these_and_no_others():
    assert sorted(gs.__all__) == sorted(PUBLIC)
    assert len(set(gs.__all__)) == len(gs.__all__)
    assert all(getattr(gs, name) is not None for name in PUBLIC)


def test_the_families_are_these_and_no_others():
    assert sorted(FAMILY.__all__) == FAMILIES


def parameters(function) -> dict[str, inspect.Parameter]:
    found = dict(inspect.signature(function).parameters)
    found.pop("self", None)
    return found


def shape(function) -> str:
    """A signature without annotations, as one would write it."""
    parts, starred = [], False
    for name, parameter in parameters(function).items():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        parts.append(name + default)
    return f"({', '.join(parts)})"


SIGNATURES = [
    (
        gs.ksd_test,
        "(data, model, *, domain=None, operator=None, kernel=None, null=None, tolerance=None, "
        "weights=None, approximate=None, workers=None, rng=None, audit=True, progress=None)",
    ),
    (gs.Nystrom, "(landmarks=None)"),
    (
        gs.Monitor,
        "(model, *, domain=None, operator=None, kernel=None, reference=None, landmarks=256, bound=None, "
        "rng=None, audit=True)",
    ),
    (
        gs.equivalence_test,
        "(data, model, *, margin=None, shift=None, domain=None, operator=None, kernel=None, null=None, "
        "workers=None, rng=None, audit=True, progress=None)",
    ),
    (
        gs.check,
        "(data, model, *, domain=None, operators=None, null='auto', level=0.05, weights=None, workers=None, "
        "rng=None, audit=True, progress=None)",
    ),
    (gs.Decaying, "(auxiliary=None, power=1.0, centre=None, scale=None)"),
    (gs.stein_matrix, "(data, model, *, domain=None, operator=None, kernel=None, rng=None)"),
    (gs.thin, "(draws, model, size, *, domain=None, operator=None, kernel=None)"),
    (gs.stein_weights, "(draws, model, *, domain=None, operator=None, kernel=None)"),
    (gs.Weighted, "(data, weights)"),
    (gs.Gradients, "(gradients, *, domain=None, name='gradients')"),
    (
        gs.testing.assert_samples,
        "(draws, model, *, false_alarms=1e-06, domain=None, operator=None, kernel=None, workers=None, rng=0)",
    ),
    (gs.audit, "(model, *, domain=None, operator=None, data=None, rng=None)"),
    (gs.as_model, "(model)"),
    (gs.Euclidean, "(d)"),
    (gs.Box, "(lower, upper)"),
    (gs.Orthant, "(d)"),
    (gs.Ball, "(d, radius=1.0, center=None)"),
    (gs.Simplex, "(parts)"),
    (gs.Polytope, "(A, b)"),
    (gs.BallPower, "(p=2.0)"),
    (gs.BoundaryDistance, "()"),
    (gs.ProductOfParts, "(power=1.0)"),
    (gs.GeometricMean, "()"),
    (gs.Auxiliary, "(value, gradient=None)"),
    (gs.estimate.ScoreMatching, "(starts=5, max_iterations=500)"),
    (gs.estimate.TruncatedScoreMatching, "(auxiliary=None, starts=5, max_iterations=500)"),
    (gs.estimate.MinimumStein, "(operator=None, kernel=None, starts=5, max_iterations=500)"),
    (gs.estimate.ScoreMatching.fit, "(data, family, *, domain=None, rng=None)"),
    (gs.estimate.TruncatedScoreMatching.fit, "(data, family, *, domain=None, rng=None)"),
    (gs.estimate.MinimumStein.fit, "(data, family, *, domain=None, rng=None)"),
    (
        gs.estimate.ExponentialFamily,
        "(statistic, names=None, base=None, gradient=None, laplacian=None, sample=None)",
    ),
    (
        gs.estimate.Parametric,
        "(log_density=None, score=None, *, start=None, names=None, bounds=None, sample=None)",
    ),
    (gs.estimate.Fit.bootstrap, "(resamples=200, rng=None, workers=None, *, progress=None)"),
    (gs.Langevin, "()"),
    (gs.Standardised, "(auxiliary=None)"),
    (gs.MatrixStandardised, "(G, divergence)"),
    (gs.Mirrored, "()"),
    (gs.Censored, "(durations, event_observed=None, entry=None, covariates=None)"),
    (gs.Martingale, "(transform='cdf', covariate_kernel=None)"),
    (gs.CoxModel, "(coefficients, *, fitted_to=None, name=None)"),
    (gs.CoxResiduals, "(degree=2, covariate_kernel=None, *, covariate=None, trend=0, pairs=False)"),
    (gs.SurvivalRegression, "(*, cumulative_hazard=None, hazard=None, name=None, fitted_to=None)"),
    (gs.Survival, "()"),
    (gs.ProportionalHazards, "(horizon=None)"),
    (gs.LatentModel, "(conditional_score, posterior_sample, domain=None, *, sample=None, name=None)"),
    (gs.Latent, "(draws=100, operator=None, seed=0)"),
    (gs.Stochastic, "(batch_size, replace=False, operator=None, seed=0)"),
    (gs.SecondOrder, "()"),
    (gs.Coordinate, "(auxiliary=True)"),
    (gs.Circle, "()"),
    (gs.Torus, "(d)"),
    (gs.Sphere, "(d)"),
    (gs.Lattice, "(levels, d)"),
    (gs.Difference, "(bound=None)"),
    (gs.Naturals, "(d=1, moves=None)"),
    (gs.StateSpace, "(d, neighbours)"),
    (gs.Jumps, "(functions=None, units=None)"),
    (gs.LogRatio, "()"),
    (gs.Gaussian, "(bandwidth=None)"),
    (gs.IMQ, "(bandwidth=None, exponent=-0.5)"),
    (gs.Matern52, "(bandwidth=None)"),
    (gs.Median, "(scale=1.0)"),
    (gs.WildBootstrap, "(n_resamples=999, signs='orthogonal', flip='auto')"),
    (gs.MonteCarlo, "(n_resamples=999)"),
    (gs.Dilation, "(operator=None, centre=None)"),
    (gs.Margin, "(column, operator=None)"),
    (gs.Pair, "(first, second, operator=None)"),
    (gs.Direction, "(vector, operator=None)"),
    (gs.Moments, "(degree=1, operator=None)"),
    (gs.Perturbed, "(modes=None)"),
    (gs.Counts, "(degree=1, operator=None)"),
    (gs.Harmonics, "(degree=1, operator=None)"),
    (gs.Timing, "(degree=1, operator=None, *, covariate=None, trend=0, pairs=False, standardised=False)"),
    (gs.Residuals, "(degree=0, covariate=None, trend=3, operator=None)"),
    (gs.DrawnResiduals, "(degree=1, covariate=None, trend=3, draws=100, seed=0)"),
    (gs.DrawnRanks, "(degree=4, covariate=None, trend=0, draws=100, seed=0)"),
    (gs.DrawnMoments, "(degree=2, operator=None)"),
    (gs.DrawnRadius, "(operator=None)"),
    (gs.DrawnPairs, "(degree=2, operator=None)"),
    (gs.DrawnLevel, "(degree=3, operator=None)"),
    (gs.DrawnMargins, "(degree=3, column=None, operator=None)"),
    (gs.Tangential, "()"),
    (gs.MeanEmbedding, "(draws=20, landmarks=100, logratio=False, seed=0)"),
    (gs.Regularised, "(operator=None, strength=0.1, fraction=0.2, draws=None, seed=0)"),
    (
        gs.aggregated_test,
        "(data, model, *, domain=None, kernels=None, operators=None, weights=None, "
        "null='auto', workers=None, rng=None, "
        "audit=True, progress=None)",
    ),
    (
        gs.mmd_test,
        "(data, model, *, domain=None, kernel=None, n_draws=None, n_resamples=999, workers=None, rng=None, "
        "progress=None)",
    ),
    (
        gs.m3d_test,
        "(data, model, *, domain=None, kernel=None, n_draws=None, n_scales=6, n_resamples=199, "
        "workers=None, rng=None, progress=None)",
    ),
    (
        gs.regularised_test,
        "(data, model, *, domain=None, operator=None, kernel=None, strengths=None, fraction=0.2, "
        "draws=None, null=None, workers=None, "
        "rng=None, audit=True, progress=None)",
    ),
    (
        gs.select,
        "(data, model, *, domain=None, operators=None, kernels=None, "
        "train_fraction=0.3, rng=None, audit=True, progress=None)",
    ),
    (
        gs.auxiliary.learn,
        "(training, model, *, domain=None, kernel=None, boundary=None, n_features=6, penalty=None, "
        "max_ratio=7.0, max_rows=1000, rng=None)",
    ),
    (
        gs.neyman_pearson_power,
        "(model, alternative, n, level=0.05, *, n_null=20000, n_alternative=10000, domain=None, "
        "log_ratio=None, censoring=None, rng=None)",
    ),
    (
        gs.Cell,
        "(model, alternative, n, *, name='', level=None, effect=None, sample_null=None, log_ratio=None, "
        "censoring=None, tests=None)",
    ),
    (
        gs.power_study,
        "(cells, tests, *, trials=500, level=0.05, size=True, bound=True, bound_draws=(20000, 5000), "
        "workers=None, path=None, seed=0, progress=None)",
    ),
    (
        gs.sample_size,
        "(model, alternative, test=None, *, power=0.8, level=0.05, trials=500, bounds=(10, 10000), "
        "sample_null=None, log_ratio=None, censoring=None, bound=True, workers=None, rng=None, "
        "progress=None)",
    ),
]


def test_signatures_are_those_of_the_contract():
    for function, expected in SIGNATURES:
        assert shape(function) == expected, function.__name__


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (gs.Model, ["score", "logpdf", "domain", "sample"]),
        (gs.Polygon, ["shape"]),
        (gs.ParametricBootstrap, ["fit", "n_resamples"]),
        (gs.Spectral, ["n_resamples"]),
        (gs.RationalQuadratic, ["bandwidth"]),
        (FAMILY.Normal, ["mean", "cov"]),
        (FAMILY.GaussianMixture, ["weights", "means", "covs"]),
        (FAMILY.StudentT, ["df", "loc", "shape"]),
        (FAMILY.Laplace, ["loc", "scale"]),
        (FAMILY.Dirichlet, ["alpha"]),
        (FAMILY.LogisticNormal, ["mean", "cov"]),
        (FAMILY.Uniform, ["domain"]),
        (FAMILY.Exponential, ["scale"]),
        (FAMILY.Weibull, ["scale", "shape"]),
        (FAMILY.Truncated, ["model", "domain"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arguments_named_by_the_contract_come_first_and_in_order(function, names):
    assert list(parameters(function))[: len(names)] == names


def test_families_have_the_methods_of_the_contract():
    for name in FAMILIES:
        family = getattr(FAMILY, name)
        assert list(parameters(family.sample))[:2] == ["n", "rng"], name
        assert parameters(family.sample)["rng"].default is None, name
        if name == "Hawkes":  # of times
            assert list(parameters(family.compensator)) == ["t", "events"], name
            continue
        if name in ("PoissonProcess", "Strauss"):  # of patterns, not of points
            assert list(parameters(family.papangelou)) == ["u", "pattern"], name
            continue
        for method in ("score", "logpdf"):
            assert list(parameters(getattr(family, method))) == ["x"], name


def test_results_and_reports_have_the_members_of_the_contract():
    x = FAMILY.Normal().sample(20, rng=1)
    result = gs.ksd_test(x, FAMILY.Normal(), rng=1)
    for name in ("statistic", "pvalue", "null_distribution", "n", "operator", "kernel", "domain", "null"):
        assert hasattr(result, name)
    for method in ("summary", "to_dict", "to_json", "_repr_html_"):
        assert callable(getattr(result, method))
    report = gs.audit(FAMILY.Normal(), rng=1)
    assert report.valid is True
    assert all(hasattr(check, "status") for check in report.checks)


@pytest.mark.parametrize(
    "domain",
    [
        gs.Euclidean(2),
        gs.Box(0, [1, 1]),
        gs.Ball(2),
        gs.Simplex(3),
        gs.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]),
    ],
    ids=repr,
)
def test_domains_have_the_members_of_the_contract(domain):
    x = np.full((1, domain.dim), 1 / domain.dim - 1e-3 * (domain.dim == 2))
    assert domain.contains(x).all()
    assert domain.boundary_distance(x).shape == (1,)
    g, dg = default_auxiliary(domain).evaluate(x, domain)
    assert len(g) == len(dg) == 1


def test_only_data_and_model_are_positional():
    with pytest.raises(TypeError, match="positional"):
        gs.ksd_test(np.zeros((3, 1)), FAMILY.Normal(), gs.Euclidean(1))


MODULES = [importlib.import_module(found.name) for found in pkgutil.walk_packages(gs.__path__, "goodstein.")]
METHODS = (types.FunctionType, property, cached_property, classmethod, staticmethod)


def public(module):
    """Classes and functions that a module defines under a name without underscore."""
    own = {name: thing for name, thing in vars(module).items() if not name.startswith("_")}
    kinds = (type, types.FunctionType)
    return [t for t in own.values() if isinstance(t, kinds) and t.__module__ == module.__name__]


def documented(item, name):
    """Whether a method has a docstring, its own or that of what it overrides."""
    versions = [vars(base)[name] for base in item.__mro__ if name in vars(base)]
    return any((version.__doc__ or "").strip() for version in versions)


def test_every_public_object_and_method_has_a_docstring():
    items = [item for module in [gs, *MODULES] for item in public(module)]
    missing = [item.__qualname__ for item in items if not (item.__doc__ or "").strip()]
    for item in items:
        if isinstance(item, type):
            methods = [key for key, value in vars(item).items() if isinstance(value, METHODS)]
            missing += [
                f"{item.__qualname__}.{key}"
                for key in methods
                if not key.startswith("_") and not documented(item, key)
            ]
    assert len(items) > 500 and missing == []


def test_the_main_functions_document_every_parameter_with_an_example():
    for function in (gs.ksd_test, gs.audit, gs.as_model):
        for name in parameters(function):
            assert re.search(rf"\b{name}\b", function.__doc__), f"{function.__name__}: {name}"
        assert ">>>" in function.__doc__


def test_the_version_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+([a-z.+-].*)?", gs.__version__)


# --- imports ------------------------------------------------------------------------------------

HEAVY = ["scipy", "shapely", "narwhals", "matplotlib", "jax", "torch", "sklearn", "pandas", "polars"]


def loaded_after(code: str) -> list[str]:
    """Which heavy packages a fresh interpreter has loaded after running some code."""
    program = f"{code}\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    return eval(done.stdout)


def test_importing_the_library_loads_numpy_alone():
    assert loaded_after("import goodstein") == []


def test_a_test_of_a_numpy_score_loads_nothing_more():
    code = """
import numpy as np
import goodstein as gs
x = np.random.default_rng(0).normal(size=(50, 2))
gs.ksd_test(x, lambda x: -x, rng=1)
gs.ksd_test(x, gs.families.Normal([0, 0]), null=gs.Spectral(99), rng=1)
gs.ksd_test(x, gs.families.Normal([0, 0]), null=gs.MonteCarlo(9), rng=1)
print(end="")
"""
    assert loaded_after(code) == []


def test_a_test_on_a_simplex_or_a_box_loads_nothing_more():
    code = """
import goodstein as gs
model = gs.families.Dirichlet([0.5, 0.5, 0.5])
gs.ksd_test(model.sample(50, rng=1), model, rng=1)
model = gs.families.Uniform(gs.Box(0, [1, 1]))
gs.ksd_test(model.sample(50, rng=1), model, rng=1)
"""
    assert loaded_after(code) == []


# --- a user's own parts, unregistered -------------------------------------------------------------


class OwnKernel:
    """The inverse multiquadric of unit length, and nothing but the two methods that are asked for."""

    def fitted(self, points):
        return self

    def profiles(self, rho, order=2):
        base = 1.0 + rho
        return [base**-0.5, -0.5 * base**-1.5, 0.75 * base**-2.5][: order + 1]


class OwnOperator:
    """The Langevin operator."""

    def features(self, model, domain, data):
        return gs.SteinFeatures(points=data, value=model.score(data), weight=None)


class OwnDistanceOperator:
    """The standardised operator with the distance to the boundary of [0, 1], matrix form."""

    def features(self, model, domain, data):
        g, dg = np.minimum(data, 1 - data), np.where(data < 0.5, 1.0, -1.0)
        return gs.SteinFeatures(data, g * model.score(data) + dg, g[:, :, None])

    def boundary_weight(self, domain, x, normals):
        return np.minimum(x, 1 - x) * normals


@dataclass(frozen=True)
class OwnInterval(Domain):
    """[0, 1]."""

    dim = 1
    bounded = True

    def contains(self, x):
        return ((x >= 0) & (x <= 1)).all(axis=1)

    def boundary_distance(self, x):
        return np.minimum(x, 1 - x)[:, 0]

    def default_auxiliary(self):
        return gs.BoundaryDistance()

    def faces(self, interior, rng):
        return [
            Face("left end", np.array([[0.0]]), np.array([[1.0]]), np.array([0.5])),
            Face("right end", np.array([[1.0]]), np.array([[-1.0]]), np.array([0.5])),
        ]


class OwnNull:
    """The wild bootstrap, draw by draw, on the dense Stein matrix."""

    def calibrate(self, problem, *, workers, rng):
        h = problem.form.matrix()
        np.fill_diagonal(h, 0.0)
        n = len(h)
        signs = rng.choice([-1.0, 1.0], size=(199, n))
        draws = np.einsum("bi,ij,bj->b", signs, h, signs) / (n * (n - 1))
        return Calibration(h.sum() / (n * (n - 1)), draws)


X = FAMILY.Normal([0.0, 0.0]).sample(60, rng=1)
U = np.random.default_rng(1).beta(2.0, 2.0, size=(60, 1))


def test_a_kernel_of_ones_own_equals_the_built_in_one():
    model = FAMILY.Normal([0.0, 0.0])
    own, built_in = (gs.ksd_test(X, model, kernel=kernel, rng=1) for kernel in (OwnKernel(), gs.IMQ(1.0)))
    assert own.statistic == pytest.approx(built_in.statistic, rel=1e-10)
    assert own.pvalue == built_in.pvalue
    np.testing.assert_allclose(own.null_distribution, built_in.null_distribution, rtol=1e-4, atol=1e-8)
    assert own.to_dict()["bandwidth"] is None


def test_an_operator_of_ones_own_equals_the_built_in_one():
    model = FAMILY.Normal([0.0, 0.0])
    own, built_in = (
        gs.ksd_test(X, model, operator=operator, rng=1) for operator in (OwnOperator(), gs.Langevin())
    )
    assert own.statistic == built_in.statistic
    assert own.pvalue == built_in.pvalue


def test_an_operator_of_ones_own_with_a_boundary_is_audited_and_equals_the_built_in_one():
    model = FAMILY.Uniform(gs.Box(0, 1))
    own = gs.ksd_test(U, model, operator=OwnDistanceOperator(), rng=1)
    built_in = gs.ksd_test(U, model, operator=gs.Standardised(gs.BoundaryDistance()), rng=1)
    assert own.statistic == pytest.approx(built_in.statistic, rel=1e-10)
    assert own.pvalue == built_in.pvalue
    assert own.notes == ()
    assert gs.audit(model, operator=OwnDistanceOperator(), rng=1).valid


def test_a_domain_of_ones_own_equals_the_built_in_one():
    """Its distance is differentiated numerically; on an interval that is exact to rounding."""
    own = gs.ksd_test(U, lambda x: -x, domain=OwnInterval(), rng=1)
    built_in = gs.ksd_test(
        U, lambda x: -x, domain=gs.Box(0, 1), operator=gs.Standardised(gs.BoundaryDistance()), rng=1
    )
    assert own.statistic == pytest.approx(built_in.statistic, rel=1e-6)
    assert own.domain == OwnInterval()
    with pytest.raises(gs.SteinIdentityError, match=r"left end|right end"):
        gs.ksd_test(U, lambda x: -x, domain=OwnInterval(), operator=gs.Langevin(), rng=1)
    with pytest.raises(gs.DomainError, match=r"1 of 61 rows \(row 60\) lie outside OwnInterval"):
        gs.ksd_test(np.vstack([U, [[1.5]]]), lambda x: -x, domain=OwnInterval())


def test_a_null_method_of_ones_own_agrees_with_the_built_in_one():
    model = FAMILY.Normal([0.0, 0.0])
    own, built_in = (
        gs.ksd_test(X, model, null=null, rng=1) for null in (OwnNull(), gs.WildBootstrap(199, signs="iid"))
    )
    assert own.statistic == pytest.approx(built_in.statistic, rel=1e-10)
    assert own.pvalue == pytest.approx(built_in.pvalue, abs=0.15)
    assert own.null_distribution.std() == pytest.approx(built_in.null_distribution.std(), rel=0.3)
    assert "OwnNull" in str(own)


def test_a_model_of_ones_own_is_any_object_with_a_score():
    class Own:
        def score(self, x):
            return -x

        def __repr__(self):
            return "Own()"

    assert gs.ksd_test(X, Own(), rng=1).pvalue == gs.ksd_test(X, FAMILY.Normal([0, 0]), rng=1).pvalue
    assert gs.ksd_test(X, Own(), rng=1).model == "Own()"


def test_all_of_ones_own_parts_at_once():
    result = gs.ksd_test(
        U,
        lambda x: -x,
        domain=OwnInterval(),
        operator=OwnDistanceOperator(),
        kernel=OwnKernel(),
        null=OwnNull(),
        rng=1,
    )
    assert 0 < result.pvalue <= 1
    assert result.to_json()


# --- what CONTRIBUTING.md shows --------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown():
    """The classes of CONTRIBUTING.md, made by running its code."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) >= 3
    module = types.ModuleType("contributing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)  # dataclasses look up their module
        for block in blocks:
            exec(compile(block, "CONTRIBUTING.md", "exec"), vars(module))
        yield vars(module)


def test_the_kernel_of_the_guide_has_the_right_derivatives_and_runs(shown):
    kernel = shown["Matern72"](bandwidth=1.3)
    rho = np.linspace(0.05, 9.0, 40)
    step = 1e-5
    for order in (0, 1):
        below, above = (kernel.profiles(rho + move)[order] for move in (-step, step))
        np.testing.assert_allclose(
            (above - below) / (2 * step), kernel.profiles(rho)[order + 1], rtol=1e-5, atol=1e-9
        )
    result = gs.ksd_test(X, FAMILY.Normal([0, 0]), kernel=shown["Matern72"](), rng=1)
    assert result.kernel.bandwidth == gs.Median()(X)
    assert result.pvalue > 0.05


def test_the_operator_of_the_guide_is_valid_and_equals_the_standardised_one(shown):
    operator = shown["TailWeighted"]()
    model = FAMILY.StudentT(5.0, [0.0, 0.0])
    assert gs.audit(model, operator=operator, rng=1).valid

    def root(x):
        return np.sqrt(1 + (x**2).sum(axis=1))

    same = gs.Standardised(gs.Auxiliary(root, lambda x: x / root(x)[:, None]))
    np.testing.assert_allclose(
        gs.stein_matrix(X, model, operator=operator),
        gs.stein_matrix(X, model, operator=same),
        rtol=1e-9,
        atol=1e-12,
    )


def test_the_domain_of_the_guide_is_audited_and_keeps_its_level(shown):
    domain = shown["Annulus"](1.0, 2.0)
    rng = np.random.default_rng(1)
    radius, angle = np.sqrt(rng.uniform(1, 4, 80)), rng.uniform(0, 2 * np.pi, 80)
    x = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    result = gs.ksd_test(x, np.zeros_like, domain=domain, rng=1)
    assert result.audit.valid
    assert result.pvalue > 0.05
    with pytest.raises(gs.SteinIdentityError, match=r"inner circle|outer circle"):
        gs.ksd_test(x, np.zeros_like, domain=domain, operator=gs.Langevin(), rng=1)


def test_the_null_of_the_guide_keeps_its_level_and_finds_a_shift(shown):
    null, model = shown["Blocks"](10), FAMILY.Normal(0.0)
    found = [gs.ksd_test(model.sample(200, rng=k), model, null=null, rng=k).pvalue for k in range(150)]
    # Binomial(150, .05) exceeds 18 with probability 4e-4; the statistic of a block is skewed to the right.
    assert np.sum(np.array(found) <= 0.05) <= 18
    assert gs.ksd_test(1.0 + model.sample(200, rng=1), model, null=null, rng=1).pvalue <= 0.01
    with pytest.raises(gs.InputError, match="cannot draw the statistics of several tests jointly"):
        gs.aggregated_test(model.sample(50, rng=1), model, null=null, rng=1)


def test_the_kind_of_data_of_the_guide_has_steins_identity_and_finds_another_model(shown):
    orders = np.array(list(itertools.permutations(range(4))))
    model, operator = shown["Mallows"](1.5), shown["Exchange"]()
    weight = np.exp(-model.energy(orders))
    value = operator.features(model, None, shown["Rankings"](orders)).value
    np.testing.assert_allclose(weight @ value / weight.sum(), 0.0, atol=1e-14)
    drawn = np.random.default_rng(1).choice(len(orders), 150, p=weight / weight.sum())
    data = shown["Rankings"](orders[drawn])
    assert gs.ksd_test(data, model, operator=operator, rng=1).pvalue > 0.05
    assert gs.ksd_test(data, shown["Mallows"](0.0), operator=operator, rng=1).pvalue <= 0.01


def test_the_test_of_the_guide_is_the_test_with_its_operator(shown):
    x, model = 1.2 * X, FAMILY.Normal([0.0, 0.0])
    own, same = shown["tail_test"](x, model, rng=1), gs.ksd_test(x, model, operator=gs.Dilation(), rng=1)
    assert (own.pvalue, own.title) == (same.pvalue, "Test of the tails")
    assert 0 < shown["tail_test"](x, model, null=gs.MonteCarlo(19), rng=1).pvalue <= 1


# --- what is promised -------------------------------------------------------------------------------


def test_what_is_provisional_is_public_and_listed_once():
    text = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    names = re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1).split()
    assert names == sorted(set(names))
    for name in names:
        first, *rest = name.split(".")
        assert first in PUBLIC
        found = getattr(gs, first)
        for part in rest:
            found = getattr(found, part)


def test_rooms_of_which_something_is_promised_say_what_is_public():
    text = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith("| public names")]
    for room in re.findall(r"`(\w+)`", row.split("|")[1]):
        module = importlib.import_module(f"goodstein.{room}")
        assert module.__all__ and all(hasattr(module, name) for name in module.__all__), room


def test_the_changelog_is_that_of_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.split(r"^## ", text, flags=re.MULTILINE)[1]
    assert newest.startswith(f"[{gs.__version__}] - 20") or f"Becomes {gs.__version__}" in newest
    known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (\w+)", text, re.MULTILINE)) <= known

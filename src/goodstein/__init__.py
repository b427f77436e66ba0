"""Does this model fit this data? Goodness-of-fit tests by kernel Stein discrepancies."""

from typing import TYPE_CHECKING, Any

from goodstein._api import audit, ksd_test, stein_matrix
from goodstein._version import __version__
from goodstein.auditing.report import AuditReport
from goodstein.domains import (
    Auxiliary,
    Ball,
    BallPower,
    BoundaryDistance,
    Box,
    BoxProduct,
    Euclidean,
    GeometricMean,
    Orthant,
    Polygon,
    Polytope,
    ProductOfParts,
    Simplex,
)
from goodstein.errors import (
    CalibrationWarning,
    DomainError,
    InputError,
    NumericalScoreWarning,
    SamplingError,
    ScoreError,
    SteinIdentityError,
)
from goodstein.features import SteinFeatures
from goodstein.kernels import IMQ, Gaussian, Matern52, Median, RationalQuadratic, Whitened
from goodstein.models import Model, as_model
from goodstein.nulls import MonteCarlo, ParametricBootstrap, Spectral, WildBootstrap
from goodstein.operators import Langevin, LogRatio, MatrixStandardised, Mirrored, Standardised
from goodstein.result import TestResult

if TYPE_CHECKING:
    from goodstein import auxiliary, datasets, estimate, families
    from goodstein.aggregation import aggregated_test
    from goodstein.auxiliary.diagnose import diagnose_auxiliary
    from goodstein.censored import Censored
    from goodstein.comparisons.fssd import fssd_test
    from goodstein.comparisons.m3d import m3d_test
    from goodstein.comparisons.mmd import mmd_test
    from goodstein.comparisons.regularised import regularised_test
    from goodstein.conditional import conditional_ksd_test
    from goodstein.domains.chart import Chart
    from goodstein.domains.circle import Circle, Torus
    from goodstein.domains.lattice import Lattice
    from goodstein.domains.sphere import Sphere
    from goodstein.graphs import graph_ksd_test
    from goodstein.kernels.categorical import CategoricalProduct
    from goodstein.kernels.hamming import Hamming
    from goodstein.models.conditional import ConditionalModel
    from goodstein.models.latent import LatentModel
    from goodstein.models.posterior import Posterior
    from goodstein.models.survival import SurvivalModel
    from goodstein.operators.conditional import Conditional
    from goodstein.operators.coordinate import Coordinate
    from goodstein.operators.difference import Difference
    from goodstein.operators.dilation import Dilation
    from goodstein.operators.embedding import MeanEmbedding
    from goodstein.operators.latent import Latent
    from goodstein.operators.martingale import Martingale
    from goodstein.operators.proportional import ProportionalHazards
    from goodstein.operators.regularised import Regularised
    from goodstein.operators.second_order import SecondOrder
    from goodstein.operators.stochastic import Stochastic
    from goodstein.operators.survival import Survival
    from goodstein.patterns import point_pattern_ksd_test
    from goodstein.power import Cell, neyman_pearson_power, power_study, sample_size
    from goodstein.relative import relative_ksd_test
    from goodstein.selection import select

__all__ = [
    "IMQ",
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
    "Chart",
    "Circle",
    "Conditional",
    "ConditionalModel",
    "Coordinate",
    "Difference",
    "Dilation",
    "DomainError",
    "Euclidean",
    "Gaussian",
    "GeometricMean",
    "Hamming",
    "InputError",
    "Langevin",
    "Latent",
    "LatentModel",
    "Lattice",
    "LogRatio",
    "Martingale",
    "Matern52",
    "MatrixStandardised",
    "MeanEmbedding",
    "Median",
    "Mirrored",
    "Model",
    "MonteCarlo",
    "NumericalScoreWarning",
    "Orthant",
    "ParametricBootstrap",
    "Polygon",
    "Polytope",
    "Posterior",
    "ProductOfParts",
    "ProportionalHazards",
    "RationalQuadratic",
    "Regularised",
    "SamplingError",
    "ScoreError",
    "SecondOrder",
    "Simplex",
    "Spectral",
    "Sphere",
    "Standardised",
    "SteinFeatures",
    "SteinIdentityError",
    "Stochastic",
    "Survival",
    "SurvivalModel",
    "TestResult",
    "Torus",
    "Whitened",
    "WildBootstrap",
    "__version__",
    "aggregated_test",
    "as_model",
    "audit",
    "auxiliary",
    "conditional_ksd_test",
    "datasets",
    "diagnose_auxiliary",
    "estimate",
    "families",
    "fssd_test",
    "graph_ksd_test",
    "ksd_test",
    "m3d_test",
    "mmd_test",
    "neyman_pearson_power",
    "point_pattern_ksd_test",
    "power_study",
    "regularised_test",
    "relative_ksd_test",
    "sample_size",
    "select",
    "stein_matrix",
]


# Loaded when first used (SPEC 1): a test of one's own score on R^d needs none of them.
_MODULES = ("auxiliary", "datasets", "estimate", "families")
_LAZY = {
    **{name: name for name in _MODULES},
    "CategoricalProduct": "kernels.categorical",
    "Cell": "power",
    "Censored": "censored",
    "Chart": "domains.chart",
    "Circle": "domains.circle",
    "Conditional": "operators.conditional",
    "ConditionalModel": "models.conditional",
    "Coordinate": "operators.coordinate",
    "Difference": "operators.difference",
    "Dilation": "operators.dilation",
    "Hamming": "kernels.hamming",
    "Latent": "operators.latent",
    "LatentModel": "models.latent",
    "Lattice": "domains.lattice",
    "Martingale": "operators.martingale",
    "MeanEmbedding": "operators.embedding",
    "Posterior": "models.posterior",
    "ProportionalHazards": "operators.proportional",
    "Regularised": "operators.regularised",
    "SecondOrder": "operators.second_order",
    "Sphere": "domains.sphere",
    "Stochastic": "operators.stochastic",
    "Survival": "operators.survival",
    "SurvivalModel": "models.survival",
    "Torus": "domains.circle",
    "aggregated_test": "aggregation",
    "conditional_ksd_test": "conditional",
    "diagnose_auxiliary": "auxiliary.diagnose",
    "fssd_test": "comparisons.fssd",
    "graph_ksd_test": "graphs",
    "m3d_test": "comparisons.m3d",
    "mmd_test": "comparisons.mmd",
    "neyman_pearson_power": "power",
    "point_pattern_ksd_test": "patterns",
    "power_study": "power",
    "regularised_test": "comparisons.regularised",
    "relative_ksd_test": "relative",
    "sample_size": "power",
    "select": "selection",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'goodstein' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"goodstein.{_LAZY[name]}")
    return module if name in _MODULES else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)

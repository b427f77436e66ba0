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
    from goodstein import datasets, families
    from goodstein.censored import Censored
    from goodstein.comparisons.fssd import fssd_test
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
    from goodstein.operators.latent import Latent
    from goodstein.operators.martingale import Martingale
    from goodstein.operators.proportional import ProportionalHazards
    from goodstein.operators.second_order import SecondOrder
    from goodstein.operators.stochastic import Stochastic
    from goodstein.operators.survival import Survival
    from goodstein.patterns import point_pattern_ksd_test
    from goodstein.relative import relative_ksd_test

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
    "Censored",
    "Chart",
    "Circle",
    "Conditional",
    "ConditionalModel",
    "Coordinate",
    "Difference",
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
    "as_model",
    "audit",
    "conditional_ksd_test",
    "datasets",
    "families",
    "fssd_test",
    "graph_ksd_test",
    "ksd_test",
    "point_pattern_ksd_test",
    "relative_ksd_test",
    "stein_matrix",
]


# Loaded when first used (SPEC 1): a test of one's own score on R^d needs none of them.
_LAZY = {
    "datasets": "datasets",
    "families": "families",
    "CategoricalProduct": "kernels.categorical",
    "Censored": "censored",
    "Chart": "domains.chart",
    "Circle": "domains.circle",
    "Conditional": "operators.conditional",
    "ConditionalModel": "models.conditional",
    "Coordinate": "operators.coordinate",
    "Difference": "operators.difference",
    "Hamming": "kernels.hamming",
    "Latent": "operators.latent",
    "LatentModel": "models.latent",
    "Lattice": "domains.lattice",
    "Martingale": "operators.martingale",
    "Posterior": "models.posterior",
    "ProportionalHazards": "operators.proportional",
    "SecondOrder": "operators.second_order",
    "Sphere": "domains.sphere",
    "Stochastic": "operators.stochastic",
    "Survival": "operators.survival",
    "SurvivalModel": "models.survival",
    "Torus": "domains.circle",
    "conditional_ksd_test": "conditional",
    "fssd_test": "comparisons.fssd",
    "graph_ksd_test": "graphs",
    "point_pattern_ksd_test": "patterns",
    "relative_ksd_test": "relative",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'goodstein' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"goodstein.{_LAZY[name]}")
    return module if name in ("datasets", "families") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)

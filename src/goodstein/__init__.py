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
    "DomainError",
    "Euclidean",
    "Gaussian",
    "GeometricMean",
    "InputError",
    "Langevin",
    "LogRatio",
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
    "ProductOfParts",
    "RationalQuadratic",
    "SamplingError",
    "ScoreError",
    "Simplex",
    "Spectral",
    "Standardised",
    "SteinFeatures",
    "SteinIdentityError",
    "TestResult",
    "Whitened",
    "WildBootstrap",
    "__version__",
    "as_model",
    "audit",
    "datasets",
    "families",
    "ksd_test",
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

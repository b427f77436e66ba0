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


def __getattr__(name: str) -> Any:
    # Loaded when first used (SPEC 1): a test of one's own score needs neither.
    if name in ("datasets", "families"):
        import importlib

        return importlib.import_module(f"goodstein.{name}")
    raise AttributeError(f"module 'goodstein' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

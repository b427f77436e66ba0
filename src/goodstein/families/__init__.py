"""Families: distributions with a closed-form score, a sampler and, where standard, a fit."""

from __future__ import annotations

from goodstein.families.dirichlet import Dirichlet
from goodstein.families.laplace import Laplace
from goodstein.families.logistic_normal import LogisticNormal
from goodstein.families.mixture import GaussianMixture
from goodstein.families.normal import Normal
from goodstein.families.student import StudentT
from goodstein.families.truncated import Truncated
from goodstein.families.uniform import Uniform

__all__ = [
    "Dirichlet",
    "GaussianMixture",
    "Laplace",
    "LogisticNormal",
    "Normal",
    "StudentT",
    "Truncated",
    "Uniform",
]

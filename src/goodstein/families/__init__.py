"""Families: distributions with a closed-form score, a sampler and, where standard, a fit."""

from __future__ import annotations

from goodstein.families.beta_binomial import BetaBinomial
from goodstein.families.bingham import Bingham
from goodstein.families.dirichlet import Dirichlet
from goodstein.families.ergm import ERGM
from goodstein.families.exponential import Exponential
from goodstein.families.gamma import Gamma
from goodstein.families.gompertz import Gompertz
from goodstein.families.ising import Ising
from goodstein.families.kent import Kent
from goodstein.families.laplace import Laplace
from goodstein.families.logistic_normal import LogisticNormal
from goodstein.families.loglogistic import LogLogistic
from goodstein.families.lognormal import LogNormal
from goodstein.families.mixture import GaussianMixture
from goodstein.families.normal import Normal
from goodstein.families.piecewise import PiecewiseExponential
from goodstein.families.poisson_process import PoissonProcess
from goodstein.families.potts import Potts
from goodstein.families.ppca import ProbabilisticPCA
from goodstein.families.rbm import BernoulliRBM
from goodstein.families.strauss import Strauss
from goodstein.families.student import StudentT
from goodstein.families.table import CategoricalTable
from goodstein.families.truncated import Truncated
from goodstein.families.uniform import Uniform
from goodstein.families.von_mises import VonMises
from goodstein.families.von_mises_fisher import UniformOnSphere, VonMisesFisher
from goodstein.families.weibull import Weibull

__all__ = [
    "ERGM",
    "BernoulliRBM",
    "BetaBinomial",
    "Bingham",
    "CategoricalTable",
    "Dirichlet",
    "Exponential",
    "Gamma",
    "GaussianMixture",
    "Gompertz",
    "Ising",
    "Kent",
    "Laplace",
    "LogLogistic",
    "LogNormal",
    "LogisticNormal",
    "Normal",
    "PiecewiseExponential",
    "PoissonProcess",
    "Potts",
    "ProbabilisticPCA",
    "Strauss",
    "StudentT",
    "Truncated",
    "Uniform",
    "UniformOnSphere",
    "VonMises",
    "VonMisesFisher",
    "Weibull",
]

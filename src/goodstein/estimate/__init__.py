"""Estimation without normalising constants: score matching and the minimum Stein discrepancy."""

from goodstein.estimate.bootstrap import Bootstrap
from goodstein.estimate.exponential import ExponentialFamily
from goodstein.estimate.fit import Fit
from goodstein.estimate.mixture import Mixture
from goodstein.estimate.parametric import Parametric
from goodstein.estimate.ready import Dirichlet, Exponential, Gamma, Normal
from goodstein.estimate.score_matching import ScoreMatching, TruncatedScoreMatching
from goodstein.estimate.stein import MinimumStein
from goodstein.estimate.weights import SquaredDistance

__all__ = [
    "Bootstrap",
    "Dirichlet",
    "Exponential",
    "ExponentialFamily",
    "Fit",
    "Gamma",
    "MinimumStein",
    "Mixture",
    "Normal",
    "Parametric",
    "ScoreMatching",
    "SquaredDistance",
    "TruncatedScoreMatching",
]

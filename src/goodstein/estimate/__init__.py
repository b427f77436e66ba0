"""Estimation without normalising constants: score matching and the minimum Stein discrepancy."""

from goodstein.estimate.distributions import AnyDirichlet, AnyExponential, AnyGamma, AnyNormal
from goodstein.estimate.exponential import ExponentialFamily
from goodstein.estimate.faces import SquaredDistance
from goodstein.estimate.fit import Bootstrap, Fit
from goodstein.estimate.parametric import Parametric
from goodstein.estimate.score_matching import ScoreMatching, TruncatedScoreMatching
from goodstein.estimate.stein import MinimumStein

__all__ = [
    "AnyDirichlet",
    "AnyExponential",
    "AnyGamma",
    "AnyNormal",
    "Bootstrap",
    "ExponentialFamily",
    "Fit",
    "MinimumStein",
    "Parametric",
    "ScoreMatching",
    "SquaredDistance",
    "TruncatedScoreMatching",
]

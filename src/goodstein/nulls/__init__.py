"""Null distributions: what the statistic would be if the model were true."""

from goodstein.nulls.base import Calibration, Null
from goodstein.nulls.fitted import FittedWildBootstrap
from goodstein.nulls.montecarlo import MonteCarlo
from goodstein.nulls.parametric import ParametricBootstrap
from goodstein.nulls.spectral import Spectral
from goodstein.nulls.wild import WildBootstrap

__all__ = [
    "Calibration",
    "FittedWildBootstrap",
    "MonteCarlo",
    "Null",
    "ParametricBootstrap",
    "Spectral",
    "WildBootstrap",
]

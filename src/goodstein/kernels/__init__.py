"""Radial kernels k(x, y) = φ(‖x − y‖²) and the rules that choose their bandwidth."""

from goodstein.kernels.bandwidth import Median
from goodstein.kernels.base import RadialKernel
from goodstein.kernels.categorical import CategoricalProduct
from goodstein.kernels.gaussian import Gaussian
from goodstein.kernels.hamming import Hamming
from goodstein.kernels.imq import IMQ, RationalQuadratic
from goodstein.kernels.matern import Matern52
from goodstein.kernels.sum import Sum
from goodstein.kernels.whitened import Whitened

__all__ = [
    "IMQ",
    "CategoricalProduct",
    "Gaussian",
    "Hamming",
    "Matern52",
    "Median",
    "RadialKernel",
    "RationalQuadratic",
    "Sum",
    "Whitened",
]

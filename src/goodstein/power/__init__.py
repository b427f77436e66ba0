"""How much tests find, how much any test could find, and how many observations that takes."""

from goodstein.power.cell import Cell
from goodstein.power.neyman_pearson import NeymanPearsonPower, neyman_pearson_power
from goodstein.power.planning import SampleSize, sample_size
from goodstein.power.rates import Rate
from goodstein.power.result import PowerStudy
from goodstein.power.study import power_study

__all__ = [
    "Cell",
    "NeymanPearsonPower",
    "PowerStudy",
    "Rate",
    "SampleSize",
    "neyman_pearson_power",
    "power_study",
    "sample_size",
]

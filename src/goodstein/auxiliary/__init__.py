"""Choosing the auxiliary function g: from a training part of the data, and what to look at before.

Everything here is found on training data and refuses to be evaluated on them.
"""

from goodstein.auxiliary.diagnose import diagnose_auxiliary
from goodstein.auxiliary.learnt import LearntAuxiliary, learn
from goodstein.auxiliary.ratio import density_ratio
from goodstein.auxiliary.report import AuxiliaryReport

__all__ = ["AuxiliaryReport", "LearntAuxiliary", "density_ratio", "diagnose_auxiliary", "learn"]

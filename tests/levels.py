"""Rejections of true models: how many trials, and which counts the level can produce."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from scipy.stats import binom


def trials(quick: int, thorough: int) -> pytest.MarkDecorator:
    """A few trials, which notice what is grossly wrong; as many as are wanted in `make test-all`."""
    return pytest.mark.parametrize("trials", [quick, pytest.param(thorough, marks=pytest.mark.slow)])


def check_level(pvalues: Iterable[float], *levels: float, conservative: bool = False) -> None:
    """Fail unless every level could have produced its number of rejections.

    At the right level each bound is exceeded with probability 5e-4; a conservative test has no lower one.
    """
    values = np.fromiter(pvalues, dtype=float)
    for level in levels:
        rejected = int(np.count_nonzero(values <= level + 1e-12))
        low, high = binom.ppf([5e-4, 1 - 5e-4], len(values), level)
        told = f"{rejected} of {len(values)} at {level}: expected {low:.0f} to {high:.0f}"
        assert rejected <= high and (conservative or rejected >= low), told

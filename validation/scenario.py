"""One scenario of the power table: a null model, alternatives with growing effect, and tests.

All tests see the same draws. A module ``power_<name>.py`` has a function ``scenarios()`` that returns
some of these; ``power.py`` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Draw = Callable[[int, np.random.Generator], Any]
"""n observations."""
PValue = Callable[[Any, np.random.Generator], float]
"""The p-value of data."""


@dataclass(frozen=True)
class Alternative:
    """One law of the data."""

    label: str
    """The effect, for example ``"shape 1.2"``."""
    draw: Draw
    log_ratio: Callable[[Any], float] | None = None
    """log p(data) − log q(data) up to a constant, for the Neyman–Pearson bound; None where not known."""
    published: Mapping[str, float] = field(default_factory=dict)
    """Published rejection rates at ``level``, by the name of the test."""


@dataclass(frozen=True)
class Scenario:
    """One table: rows are alternatives, columns are tests."""

    name: str
    n: int
    null: Draw
    """Data under the null model: the measured size, and the threshold of the Neyman–Pearson test."""
    alternatives: tuple[Alternative, ...]
    """In the order of their effect."""
    tests: Mapping[str, PValue]
    """Ours first; classical tests that need no name of ours after them."""
    level: float = 0.05
    about: str = ""
    """What is tested against what, and what the table shows."""
    trials: int | None = None
    """Fewer than the default where a test is slow."""
    judged: bool = False
    """Whether the first test is compared with all others, law by law, in a table of its own."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """By law, why the first test falls short of the best other one there."""

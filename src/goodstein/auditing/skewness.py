"""Whether enough observations carry a statistic for the wild bootstrap to know its distribution.

Random signs make a symmetric distribution of whatever features the observations have. Where these are so
skewed that few of them are most of the sum, those of another sample would be others, and the wild bootstrap
takes the size of the statistic from the few that happen to be there. How many there are is seen on the
diagonal of the Stein matrix, the squared norms of the features: m = (Σ_i h_ii)² / Σ_i h_ii², which is n for
features of equal size and 1 where one observation is all. By a rule of thumb from cases with known rates
(Dirichlet(100, 1, .1), n = 200: .115 at the level .05 with m between 4 and 13; normal models: right with m =
22), m should be at least a tenth of n, or sixteen, and not below seven; of very few observations, four
tenths. Samples without their rare large values are those that are rejected, and the last to show them: so the
share is that of many draws from the model, if it can be drawn from. Where these say that fewer than four
carry it, a small p-value decides nothing.

Without a sampler a test cannot be simulated instead, so that a warning is not enough. Draws are then those of
chains, and a small p-value decides nothing where fewer than three tenths of n, or 24, carry the statistic. At
n = 80 and the levels .05 and .01 such tests reject .075 and .037 (a normal law cut off by a line, 12 of 80),
.082 and .027 (Exp × N, 10), .10 and .04 (Beta(.3, 5) × Beta(2, .6), 19); with 30 of 200 or 300 .05 and .015.
Of ordinary models more than four tenths do. Functions of second degree have heavier tails by themselves, of
normal models too, and mislead less, as they are more nearly symmetric: for them the rule above decides.

Weights make skewed features of even ones, and no draws of the model tell how skewed: the data must do. For
these at least thirty observations should carry a statistic (normal laws moved by ½ to 1¼, n = 50 to
1000: with the warning left out at most .06 of all samples are rejected at .05), and below twelve
nothing is tested (:mod:`goodstein.auditing.weights`).

A single row that is nearly all of the trace, and far beyond what the model draws, is another matter: a slip,
or a fill value for what is missing. It is one of n in pairs of rows, which U is made of, and all of V.
"""

from __future__ import annotations

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.types import Array

LEAST, MOST = 7.0, 16.0
"""Observations that must carry a statistic, and those that are always enough."""
WEIGHTED = 30.0
"""Observations that must carry one with weights."""
UNKNOWN = 4.0
"""Observations that must carry one in draws of the model, so that a small p-value says anything."""
DECISIVE, OF_ALL = 24.0, 0.3
"""Observations, and their share, that must carry one so that a small p-value decides without a sampler."""
OF_FEW, OF_MANY = 0.4, 0.1
"""The same as shares of a small and of a large number of observations."""
ALONE = 0.9
"""Share of the trace that makes a row stand alone."""
FEWEST = 10
"""Observations below which one of them may well be most of the trace."""


def standing_alone(diagonal: Array) -> int | None:
    """The row that is nearly all of the trace, if there is one."""
    row, largest = int(diagonal.argmax()), float(diagonal.max())
    if len(diagonal) < FEWEST or not largest > 0 or not ALONE * float((diagonal / largest).sum()) < 1.0:
        return None
    return row


def check_alone(diagonal: Array, row: int, which: str) -> Check:
    """What is said of a row that is nearly all of the trace."""
    others = np.delete(diagonal, row)
    times = float(diagonal[row] / others.max()) if others.max() > 0 else np.inf
    message = (
        f"{which} stands alone: its h(x, x) is {times:.2g} times the largest of {len(others)} other rows. "
        "With random signs the p-value is about all other rows, by eigenvalues about this one alone. Is it a "
        f"slip, or a fill value for what is missing? Test without it: np.delete(data, {row}, axis=0)."
    )
    return Question("rows that stand alone").warned(message)


def carrying(diagonal: Array) -> float:
    """(Σ h)² / (N Σ h²), the share of N observations that carries the trace."""
    largest = float(diagonal.max(initial=0.0))
    if not largest > 0:
        return 1.0
    unit = diagonal / largest
    return float(unit.sum()) ** 2 / (len(unit) * float(unit @ unit))


def needed(n: int, *, weighted: bool = False) -> float:
    """How many of n observations must."""
    return min(WEIGHTED, OF_FEW * n) if weighted else max(min(LEAST, OF_FEW * n), min(MOST, OF_MANY * n))


def too_skewed(diagonal: Array, n: int, *, weighted: bool = False) -> bool:
    """Whether too few of n observations carry a statistic, from h(x, x) at these or at draws of the model."""
    return n * carrying(diagonal) < needed(n, weighted=weighted)


def decisive(n: int) -> float:
    """How many of n observations must carry a statistic that cannot be simulated, for it to decide."""
    return min(DECISIVE, OF_ALL * n)


def skewed(diagonal: Array, n: int, remedy: str, *, least: float) -> Check:
    """Warn of a statistic that too few observations carry; if fewer than `least`, it decides nothing."""
    carry = n * carrying(diagonal)
    found = f"about {carry:.2g} of {n} observations carry the statistic"
    message = (
        f"The features are so skewed that {found}: the wild bootstrap may reject true models too often. "
        f"{remedy}"
    )
    # Poisson counts of mean .005 to .03, n = 100: .15 to .60 are rejected, at the levels .05 and .01 alike.
    small = f"{found}, of which random signs do not know the distribution" if carry < least else ""
    return Question("skewed features").warned(message, asymptotic=True, small=small)

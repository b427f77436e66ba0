r"""Wealth of a gambler who bets against a model: a process that stays small if the model is true.

Payoffs g_t with mean zero given the past, and stakes λ_t ∈ [0, ½] that depend on the past alone, make the
wealth

.. math:: K_t = \prod_{s \le t} (1 + \lambda_s g_s)

a martingale; it is not negative where g ≥ −2. By Ville's inequality P(sup_t K_t ≥ 1/α) ≤ α, whenever one
looks, and however often. The stakes follow the growth of past payoffs (aGRAPA; Waudby-Smith, Ramdas, 2024):
λ_t = Σ_{s<t} g_s / (c + Σ_{s<t} g_s²), cut off at 0 and ½.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from goodstein.types import Array

MOST = 0.5
"""The largest stake: payoffs may then fall to −2."""

CAUTION = 0.25
"""c, the square of a payoff of one half, as if one such had been seen that said nothing."""


@dataclass(frozen=True)
class Wealth:
    """Logarithms of the wealth and of its largest value so far, and sums of payoffs and of their squares."""

    log: float = 0.0
    log_largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def after(self, payoffs: Array) -> Wealth:
        """What the next payoffs, one after another, make of it."""
        if not len(payoffs):
            return self
        totals = self.total + np.cumsum(payoffs)
        squares = self.squares + np.cumsum(payoffs**2)
        # What is staked on a payoff knows those before it only.
        before = np.append(self.total, totals[:-1]) / (CAUTION + np.append(self.squares, squares[:-1]))
        path = self.log + np.cumsum(np.log1p(np.clip(before, 0.0, MOST) * payoffs))
        largest = max(self.log_largest, float(path.max()))
        return Wealth(float(path[-1]), largest, float(totals[-1]), float(squares[-1]))

    def times(self, other: Wealth) -> Wealth:
        """The wealth of two gamblers on independent observations, of which the first plays on.

        The largest value is that of the product from now on: what it was before nobody has seen.
        """
        log = self.log + other.log
        return replace(self, log=log, log_largest=max(0.0, log))

"""The Dirichlet distribution."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from goodstein.domains import Simplex
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.families.checks import as_compositions, vector
from goodstein.families.coordinates import Positive, free
from goodstein.families.gamma import log_gamma_variates
from goodstein.types import Array, ArrayLike

MOST_STEPS = 200


class Dirichlet(Family):
    r"""Dirichlet distribution on the simplex of compositions with d parts.

    .. math::

        \log q(x) = \sum_i (\alpha_i - 1) \log x_i + \log\Gamma\bigl(\textstyle\sum_i \alpha_i\bigr)
        - \sum_i \log\Gamma(\alpha_i), \qquad s_i(x) = \frac{\alpha_i - 1}{x_i}.

    The density is with respect to Lebesgue measure of the first d - 1 parts, as in
    :data:`scipy.stats.dirichlet`. The score is that of the formula in all d coordinates;
    only its part along the simplex means anything, and that is all an operator uses.

    Parameters
    ----------
    alpha
        Concentrations, positive, (d,) with d >= 2.

    References
    ----------
    Aitchison (1986), *The Statistical Analysis of Compositional Data*, section 3.4.
    Minka (2000, revised 2012), "Estimating a Dirichlet distribution".

    Examples
    --------
    >>> from goodstein.families import Dirichlet
    >>> q = Dirichlet([0.5, 0.5, 0.5])
    >>> q
    Dirichlet([0.5, 0.5, 0.5])
    >>> q.score([[0.5, 0.25, 0.25]])
    array([[-1., -2., -2.]])
    >>> q.weighted_score([[1, 0, 0]])
    array([[-0.5, -0.5, -0.5]])
    >>> Dirichlet.fit(Dirichlet([1, 2, 3]).sample(100_000, rng=0)).alpha.round(1)
    array([1., 2., 3.])
    """

    alpha: Array
    domain: Simplex

    _free = free(alpha=Positive())

    def __init__(self, alpha: ArrayLike) -> None:
        alpha = vector(alpha, "alpha", above=0.0)
        if len(alpha) < 2:
            raise InputError(f"a composition has at least 2 parts, got {len(alpha)}.", argument="alpha")
        self._set(alpha=alpha, domain=Simplex(len(alpha)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Maximum likelihood from positive parts by Newton's method (Minka), in O(d) operations a step.

        The likelihood is strictly concave, so the maximum found is the only one.
        """
        return cls(fitted_alpha(as_compositions(x)))

    def score(self, x: ArrayLike) -> Array:
        """Infinite where a part is zero, unless its α is 1."""
        # A part with α = 1 does not enter the density, not even at zero.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.alpha == 1, 0.0, (self.alpha - 1) / self._points(x))

    def weighted_score(self, x: ArrayLike) -> Array:
        """x ∘ score = α - 1 at every row, (n, d); finite where parts are zero."""
        return np.broadcast_to(self.alpha - 1, self._points(x).shape).copy()

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density, normalised, (n,); -inf off the simplex.

        Where parts are zero it is infinite, and NaN where some of them have α < 1 and others
        α > 1, because the density then has no limit.
        """
        x = self._points(x)
        constant = math.lgamma(self.alpha.sum()) - sum(map(math.lgamma, self.alpha))
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(self.alpha == 1, 0.0, (self.alpha - 1) * np.log(x))
            total = terms.sum(axis=1) + constant
        return np.where(self.domain.contains(x), total, -np.inf)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        # In logarithms, so that a part is zero only where its value is below the least float64, about
        # 5e-324 (for α = 0.01 fewer than one part in a thousand).
        logs = log_gamma_variates(np.broadcast_to(self.alpha, (n, self.dim)), rng)
        parts = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(parts / parts.sum(axis=1, keepdims=True))

    def _influence_values(self, data: Any) -> Array:
        """F⁻¹(log x − E log x)/α with the information F = diag ψ′(α) − ψ′(Σα) 11ᵀ, as the fit inverts it."""
        from scipy.special import polygamma, psi

        alpha = self.alpha
        gradient = np.log(self._points(data)) - (psi(alpha) - psi(alpha.sum()))
        each, together = polygamma(1, alpha), polygamma(1, alpha.sum())
        shared = (gradient / each).sum(axis=1, keepdims=True) / (1 / together - (1 / each).sum())
        return np.asarray((gradient + shared) / (each * alpha))


def fitted_alpha(x: Array, weights: Array | None = None) -> Array:
    """The concentrations that maximise the likelihood of compositions, (d,), each counted by its weight."""
    from scipy.special import gammaln, polygamma, psi

    mean, mean_log = np.average(x, axis=0, weights=weights), np.average(np.log(x), axis=0, weights=weights)
    spread = float(mean @ (np.log(mean) - mean_log))  # at least 0, and 0 only for equal rows (Jensen)
    if spread < 1e-12:
        reason = "all rows are (nearly) the same, so `alpha` would be infinite."
        raise InputError(reason, argument="x", remedy="Check `x`.")

    def likelihood(alpha: Array) -> tuple[float, float]:
        """Mean log likelihood and the rounding error to expect in it."""
        total, parts = gammaln(alpha.sum()), gammaln(alpha)
        value = total - parts.sum() + ((alpha - 1) * mean_log).sum()
        return float(value), 1e-14 * float(1 + abs(total) + np.abs(parts).sum())

    # For large α the spread is (d - 1) / (2 Σα); elsewhere that is right to a factor, which is
    # all that a concave problem needs of a start.
    alpha = mean * (len(mean) - 1) / (2 * spread)
    value, rounding = likelihood(alpha)
    for _ in range(MOST_STEPS):
        gradient = psi(alpha.sum()) - psi(alpha) + mean_log
        # The Hessian is diag(-ψ′(α)) + ψ′(Σα) 11ᵀ, inverted by the Sherman-Morrison formula.
        diagonal = -polygamma(1, alpha)
        shared = (gradient / diagonal).sum() / (1 / polygamma(1, alpha.sum()) + (1 / diagonal).sum())
        step = (shared - gradient) / diagonal
        # The likelihood still to gain, to second order: free of the scale of α.
        gain = float(gradient @ step)
        while (alpha + step <= 0).any() or likelihood(alpha + step)[0] < value - rounding:
            step = step / 2
        alpha = alpha + step
        value, rounding = likelihood(alpha)
        if gain < max(1e-12, (1e-14 * alpha.sum()) ** 2):  # the second is the rounding error of psi
            return np.asarray(alpha)
    reason = f"the Dirichlet fit did not converge within {MOST_STEPS} steps, at alpha={alpha}."
    raise InputError(reason, argument="x")

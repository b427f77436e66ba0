"""The Ising model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import check_option, number
from goodstein.domains import Lattice
from goodstein.domains.lattice import Codes
from goodstein.errors import InputError
from goodstein.families import discrete
from goodstein.families.checks import as_entries
from goodstein.families.coordinates import Couplings, Location, free
from goodstein.families.discrete import LatticeFamily
from goodstein.types import Array, ArrayLike

SPINS = (-1.0, 1.0)
LARGEST = 8.0
"""Parameters beyond this, e^16 in odds, are on their way to infinity."""


class Ising(LatticeFamily):
    r"""The Ising model: spins x ∈ {−1, 1}^d with pairwise couplings.

    .. math::

        \log q(x) = \sum_i \mu_i x_i + \sum_{i<j} \theta_{ij} x_i x_j + \text{const}, \qquad
        s_i(x) = 1 - \exp\Bigl(-2 x_i \bigl(\mu_i + \textstyle\sum_j \theta_{ij} x_j\bigr)\Bigr).

    Parameters
    ----------
    theta
        Couplings, (d, d), symmetric with zero diagonal.
    mu
        Fields, (d,); a number stands for all spins.

    References
    ----------
    Besag (1974), "Spatial interaction and the statistical analysis of lattice systems", *JRSS B* 36.
    Yang, Liu, Rao & Neville (2018), "Goodness-of-fit testing for discrete distributions via Stein
    discrepancy", *ICML*.

    Examples
    --------
    >>> from goodstein.families import Ising
    >>> q = Ising([[0.0, 0.5], [0.5, 0.0]])
    >>> q
    Ising(theta=[[0, 0.5], [0.5, 0]], mu=[0, 0])
    >>> q.score([[1, 1]]).round(4)
    array([[0.6321, 0.6321]])
    >>> x = q.sample(2000, rng=1)
    >>> round(float(Ising.fit(x).theta[0, 1]), 1)
    0.5
    """

    theta: Array
    mu: Array

    _free = free(theta=Couplings(), mu=Location())

    def __init__(self, theta: ArrayLike, mu: ArrayLike = 0.0) -> None:
        couplings = discrete.as_couplings("theta", theta)
        d = len(couplings)
        self._set(theta=couplings, mu=as_entries("mu", mu, d, "spin"), domain=Lattice(SPINS, d))

    @classmethod
    def fit(cls, x: ArrayLike, *, method: str | None = None, penalty: float = 0.0) -> Self:
        """Fit fields and couplings to spins (n, d).

        Parameters
        ----------
        x
            Observations, each −1 or 1.
        method
            ``"likelihood"`` for maximum likelihood by enumeration, up to 12 spins; or
            ``"pseudolikelihood"`` (Besag 1975), which multiplies the conditional probabilities of each
            spin given the others. None takes the first where it can.
        penalty
            Ridge penalty: penalty/2 times the sum of squares of all parameters is subtracted from the mean
            log likelihood. Zero leaves it out, but then there is no estimate if some combination of
            spins never occurs.
        """
        lattice, codes = discrete.as_states(x, SPINS)
        spins, ridge, d = _spins(codes), number(penalty, "penalty", least=0.0), lattice.dim
        check_option(method, "method", (None, "likelihood", "pseudolikelihood"))
        small = lattice.size <= discrete.FIT_STATES
        if method == "likelihood" and not small:
            reason = f"the likelihood of {d} spins needs 2^{d} states; at most 2^12 are summed over."
            raise InputError(reason, argument="method", remedy='Use "pseudolikelihood".')
        if method == "likelihood" or (method is None and small):
            observed = _statistics(spins).mean(axis=0)
            beta = discrete.maximum_likelihood(_statistics(lattice.states()), observed, ridge)
        else:
            beta = _pseudolikelihood(spins, ridge)
        return cls(discrete.symmetric(beta[d:], d), beta[:d])

    def _fit_method(self, penalty: float = 0.0, method: str | None = None, **options: Any) -> str:
        small = 2**self.dim <= discrete.FIT_STATES
        if method == "likelihood" or (method is None and small):
            return super()._fit_method(penalty=penalty)
        return f"penalised {discrete.PSEUDOLIKELIHOOD}" if penalty else discrete.PSEUDOLIKELIHOOD

    def _log_weight(self, codes: Codes) -> Array:
        spins = _spins(codes)
        return np.asarray(np.einsum("ij,ij->i", spins, 0.5 * (spins @ self.theta) + self.mu))

    def _log_ratio(self, codes: Codes) -> Array:
        spins = _spins(codes)
        return -2.0 * spins * (spins @ self.theta + self.mu)

    def _log_conditional(self, codes: Codes, i: int) -> Array:
        coupled = np.flatnonzero(self.theta[i])  # few, of many spins
        field = _spins(codes[:, coupled]) @ self.theta[i, coupled] + self.mu[i]
        return np.stack([-field, field], axis=1)


def _spins(codes: Codes) -> Array:
    return np.asarray(2.0 * codes - 1.0, dtype=np.float64)


def _statistics(spins: Array) -> Array:
    """x_i, and x_i x_j over i < j: what the parameters multiply, (n, d + d(d − 1)/2)."""
    i, j = np.triu_indices(spins.shape[1], 1)
    return np.concatenate([spins, spins[:, i] * spins[:, j]], axis=1)


def _pseudolikelihood(spins: Array, penalty: float) -> Array:
    """Maximise the mean of Σ_i log q(x_i | the others) − penalty·‖β‖²/2."""
    from scipy.optimize import minimize

    n, d = spins.shape
    i, j = np.triu_indices(d, 1)

    def loss(beta: Array) -> tuple[float, Array]:
        margin = 2.0 * spins * (spins @ discrete.symmetric(beta[d:], d) + beta[:d])
        value = np.logaddexp(0.0, -margin).sum() / n + 0.5 * penalty * (beta @ beta)
        # The derivative in the field of each spin.
        pull = -2.0 * spins / (1.0 + np.exp(np.minimum(margin, 700.0))) / n
        pairs = pull.T @ spins
        gradient = np.concatenate([pull.sum(axis=0), pairs[i, j] + pairs[j, i]]) + penalty * beta
        return float(value), gradient

    start = np.zeros(d + len(i))
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-14, "gtol": 1e-7}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    if np.abs(loss(found.x)[1]).max() > 1e-4 or (penalty == 0.0 and np.abs(found.x).max() > LARGEST):
        raise discrete.no_estimate()
    return np.asarray(found.x)

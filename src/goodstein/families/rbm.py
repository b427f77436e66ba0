"""The restricted Boltzmann machine with binary units."""

from __future__ import annotations

import numpy as np

from goodstein.constraints import check_count, numbers
from goodstein.domains import Lattice
from goodstein.domains.lattice import Codes
from goodstein.errors import InputError
from goodstein.families.checks import as_entries
from goodstein.families.discrete import EXACT_STATES, SWEEPS, LatticeFamily
from goodstein.lazy import cached_property
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator


class BernoulliRBM(LatticeFamily):
    r"""The restricted Boltzmann machine: x ∈ {0, 1}^d with m hidden binary units, summed out.

    .. math::

        \log q(x) = b^\top x + \sum_{j=1}^m \log\bigl(1 + e^{c_j + W_j^\top x}\bigr) + \text{const}.

    Parameters
    ----------
    weights
        W, (m, d): one row for each hidden unit.
    visible_bias
        b, (d,); a number stands for all units.
    hidden_bias
        c, (m,); a number stands for all units.

    References
    ----------
    Smolensky (1986), "Information processing in dynamical systems: foundations of harmony theory".

    Examples
    --------
    >>> from goodstein.families import BernoulliRBM
    >>> q = BernoulliRBM([[1.0, -1.0]], 0.5, 0.0)
    >>> q.logpdf([[0, 0], [1, 0]]).round(4)
    array([0.6931, 1.8133])
    >>> q.score([[0, 0]]).round(4)
    array([[-2.0652, -0.1276]])
    """

    weights: Array
    visible_bias: Array
    hidden_bias: Array

    def __init__(
        self, weights: ArrayLike, visible_bias: ArrayLike = 0.0, hidden_bias: ArrayLike = 0.0
    ) -> None:
        matrix = numbers(weights, "weights")
        if matrix.ndim != 2:
            reason = f"expected shape (m, d), one row for each hidden unit, got {matrix.shape}."
            raise InputError(reason, argument="weights")
        m, d = matrix.shape
        visible = as_entries("visible_bias", visible_bias, d, "unit")
        hidden = as_entries("hidden_bias", hidden_bias, m, "unit")
        self._set(weights=matrix, visible_bias=visible, hidden_bias=hidden, domain=Lattice(2, d))

    def sample(self, n: int, rng: RNG = None, *, sweeps: int = SWEEPS) -> Array:
        """Draw ``n`` independent states, (n, d).

        With at most 16 visible or 16 hidden units they are exact, by enumeration of these. Otherwise
        every draw is the end of a Gibbs chain of its own, which starts at a uniform state and updates all
        hidden and then all visible units ``sweeps`` times.
        """
        m = len(self.weights)
        if m >= self.dim or 2**m > EXACT_STATES:
            return super().sample(n, rng, sweeps=sweeps)
        generator = as_generator(rng)
        return self._visible(self._hidden.sample(check_count(n, "n", 0), generator), generator)

    @cached_property
    def _hidden(self) -> BernoulliRBM:
        """The law of the hidden units, which is a machine of the same kind."""
        return BernoulliRBM(self.weights.T, self.hidden_bias, self.visible_bias)

    def _visible(self, hidden: Array, rng: np.random.Generator) -> Array:
        """x given the hidden units: independent coordinates."""
        return _bernoulli(hidden @ self.weights + self.visible_bias, rng)

    def _gibbs(self, n: int, sweeps: int, rng: np.random.Generator) -> Codes:
        x = _bernoulli(np.zeros((n, self.dim)), rng)
        for _ in range(sweeps):
            x = self._visible(_bernoulli(x @ self.weights.T + self.hidden_bias, rng), rng)
        return x.astype(np.intp)

    def _log_weight(self, codes: Codes) -> Array:
        active = codes @ self.weights.T + self.hidden_bias
        return np.asarray(codes @ self.visible_bias + np.logaddexp(0.0, active).sum(axis=1))

    def _log_ratio(self, codes: Codes) -> Array:
        step = 1.0 - 2.0 * codes
        active = codes @ self.weights.T + self.hidden_bias
        before = np.logaddexp(0.0, active).sum(axis=1)
        result = step * self.visible_bias
        # One unit at a time: all at once would be an array (n, m, d).
        for i in range(self.dim):
            after = np.logaddexp(0.0, active + step[:, i, None] * self.weights[:, i])
            result[:, i] += after.sum(axis=1) - before
        return result


def _bernoulli(logit: Array, rng: np.random.Generator) -> Array:
    return np.asarray(rng.logistic(size=logit.shape) < logit, dtype=np.float64)

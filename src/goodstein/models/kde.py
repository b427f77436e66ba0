"""A Gaussian kernel density estimate as a model."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from goodstein.data.rows import SeenRows
from goodstein.domains import Euclidean
from goodstein.models.provenance import Fit, Fittable
from goodstein.types import RNG, Array
from goodstein.validation import as_generator

BLOCK_ELEMENTS = 1 << 20


class GaussianKDE(Fittable):
    r"""A Gaussian kernel density estimate, with its score in closed form.

    .. math::

        q(x) = \sum_j w_j N(x; y_j, H), \qquad
        s(x) = H^{-1}\Bigl(\sum_j r_j(x)\, y_j - x\Bigr), \qquad
        r_j(x) = \frac{w_j N(x; y_j, H)}{q(x)}.

    It is a mixture with as many components as there were observations, so it is evaluated
    in blocks: memory is O(block · m), for m observations, never n·m·d.

    The observations y are (m, d), H is (d, d), and the weights, (m,), need not sum to one; None for equal
    ones. Its ``repr`` is the name.

    >>> import numpy as np
    >>> from goodstein.models.kde import GaussianKDE
    >>> kde = GaussianKDE(np.array([[-1.0], [1.0]]), np.eye(1))
    >>> kde.score(np.array([[0.0], [2.0]])).round(4)
    array([[ 0.   ],
           [-1.036]])
    """

    def __init__(
        self, points: Array, covariance: Array, weights: Array | None = None, name: str = "GaussianKDE"
    ) -> None:
        m, d = points.shape
        weights = np.full(m, 1 / m) if weights is None else weights / weights.sum()
        self.points, self.weights = points[weights > 0], weights[weights > 0]
        self.domain = Euclidean(d)
        self._name = name
        self.remember(Fit("kernel density", SeenRows(self.points)))
        self._factor = np.linalg.cholesky(covariance)
        self._inverse = np.linalg.inv(self._factor)
        # Distances come from a matrix product, which is accurate for centred coordinates only.
        self._center = self.points.mean(axis=0)
        self._white = (self.points - self._center) @ self._inverse.T

    def score(self, x: Array) -> Array:
        """Gradient of the log density, (n, d)."""
        score = np.empty(x.shape)
        for rows, white, exponent in self._blocks(x):
            exponent -= exponent.max(axis=1, keepdims=True)
            share = np.exp(exponent, out=exponent)
            mean = (share @ self._white) / share.sum(axis=1, keepdims=True)
            score[rows] = (mean - white) @ self._inverse
        return score

    def logpdf(self, x: Array) -> Array:
        """Log density, (n,)."""
        logpdf = np.empty(len(x))
        constant = 0.5 * len(self._factor) * math.log(2 * math.pi) + np.log(np.diag(self._factor)).sum()
        for rows, _, exponent in self._blocks(x):
            largest = exponent.max(axis=1)
            exponent -= largest[:, None]
            logpdf[rows] = np.log(np.exp(exponent, out=exponent).sum(axis=1)) + largest - constant
        return logpdf

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw n points: an observation, and noise of the kernel."""
        rng = as_generator(rng)
        chosen = rng.choice(len(self.points), size=n, p=self.weights)
        noise: Array = rng.standard_normal((n, len(self._factor))) @ self._factor.T
        return self.points[chosen] + noise

    def __repr__(self) -> str:
        return self._name

    def _blocks(self, x: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Rows, the whitened points there, and log w_j − ½‖·‖² for each observation, (block, m)."""
        log_weights = np.log(self.weights) - 0.5 * np.einsum("ij,ij->i", self._white, self._white)
        size = max(1, BLOCK_ELEMENTS // len(self.points))
        for start in range(0, len(x), size):
            rows = slice(start, start + size)
            white = (x[rows] - self._center) @ self._inverse.T
            exponent = white @ self._white.T
            exponent += log_weights
            exponent -= 0.5 * np.einsum("ij,ij->i", white, white)[:, None]
            yield rows, white, exponent

"""Posterior distributions whose score is a sum over observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import check_flag, check_text, require_functions
from goodstein.domains.base import Domain
from goodstein.errors import ScoreError, must
from goodstein.models.averages import ROWS, Averaged, evaluate
from goodstein.models.functions import title
from goodstein.models.model import Model
from goodstein.numerics.ranges import cut
from goodstein.types import Array, ArrayLike
from goodstein.validation import as_array


class Posterior(Averaged):
    r"""A posterior q(θ) ∝ π₀(θ) ∏_l π(y_l | θ), whose score is a sum over the observations y_l.

    .. math:: s(\theta) = \nabla \log \pi_0(\theta) + \sum_{l=1}^L \nabla_\theta \log \pi(y_l \mid \theta).

    It is a :class:`Model` like others, whose score looks at all observations; the operator
    :class:`Stochastic` looks at a few of them for each draw of θ.

    Parameters
    ----------
    prior_score
        ∇ log π₀, in any form that :class:`Model` takes as a score.
    likelihood_score
        ``likelihood_score(theta, y)``: the gradients ∇_θ log π(y_l | θ), (m, d), at one point θ, (d,),
        for m observations, the rows of y; one row for each observation, not their sum. NumPy or JAX.
    observations
        Observations, an array with one row (or number) for each, (L,) or (L, ...).
    domain
        Where θ lives; None where that is not known.
    batched
        Whether ``likelihood_score`` takes all points at once: θ, (n, d), and y, (n, m, ...), with
        rows of its own for each point, to (n, m, d).
    sample
        A sampler of the posterior, ``sample(n, rng)``, if there is one.
    name
        What messages and results call the model.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> y = np.array([1.0, 2.0, 4.0, 3.0])
    >>> posterior = gs.Posterior(
    ...     prior_score=lambda theta: -theta,
    ...     likelihood_score=lambda theta, y: (y - theta)[:, None],
    ...     observations=y,
    ...     name="mean of a normal",
    ... )
    >>> posterior.score([[0.0], [2.0]])
    array([[10.],
           [ 0.]])
    >>> x = np.random.default_rng(1).normal(2.0, np.sqrt(1 / 5), (100, 1))  # the exact posterior
    >>> gs.ksd_test(x, posterior, operator=gs.Stochastic(batch_size=2), rng=1).pvalue > 0.05
    True
    """

    def __init__(
        self,
        prior_score: Callable[..., Any],
        likelihood_score: Callable[..., Any],
        observations: ArrayLike,
        domain: Domain | None = None,
        *,
        batched: bool = False,
        sample: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        require_functions({"prior_score": prior_score, "likelihood_score": likelihood_score}, "Posterior")
        given = as_array(observations, "observations")
        if (
            given.dtype.kind not in "biuf"
            or given.ndim == 0
            or not given.size
            or not np.isfinite(given).all()
        ):
            wanted = "an array of finite numbers, one row for each observation and at least one"
            raise must("observations", wanted, observations, "Posterior")
        self._observations = np.array(given)
        self._observations.setflags(write=False)
        super().__init__(score=prior_score, domain=domain, sample=sample)
        del self._functions["score"]  # of the prior alone
        self._prior = Model(score=prior_score, name="the prior")
        self._likelihood_score = likelihood_score
        self._all_points = check_flag(batched, "batched", of="Posterior")
        self._name = f"Posterior({title(likelihood_score)})" if name is None else check_text(name, "name")

    @property
    def observations(self) -> npt.NDArray[Any]:
        """The observations, one row for each."""
        return self._observations

    @property
    def has_score(self) -> bool:
        """The score is a sum over all observations."""
        return True

    def score(self, x: ArrayLike) -> Array:
        """The score with all observations, at each row, (n, d)."""
        return self.subsampled_score(x, None)

    def weighted_score(self, x: ArrayLike) -> Array:
        return self._points(x) * self.score(x)

    def subsampled_score(self, x: ArrayLike, index: npt.NDArray[np.intp] | None) -> Array:
        """∇log π₀(θ_i) + (L/m) Σ_{l in row i of the index} ∇_θ log π(y_l | θ_i), (n, d).

        The index, (n, m), says which observations each point looks at; None for all of them.
        """
        points = self._points(x)
        if not len(points):
            return points.copy()
        prior = self._prior.score(points)
        size = len(self._observations)
        m = size if index is None else index.shape[1]
        total = self._at_all(points, index, m) if self._all_points else self._one_by_one(points, index, m)
        values = np.asarray(prior + (total if m == size else (size / m) * total))
        self._require_finite("score", values, points)
        return values

    def _one_by_one(self, x: Array, index: npt.NDArray[np.intp] | None, m: int) -> Array:
        """Σ over the observations of each point, one point after the other, (n, d)."""
        total = np.empty_like(x)
        for i, theta in enumerate(x):
            y = self._observations if index is None else self._observations[index[i]]
            total[i] = self._gradients(theta, y, (m,)).sum(axis=0)
        return total

    def _at_all(self, x: Array, index: npt.NDArray[np.intp] | None, m: int) -> Array:
        """The same with a function of many points."""
        every = self._observations
        parts = []
        for rows in cut(0, len(x), max(1, ROWS // m)):
            count = rows.stop - rows.start
            y = np.broadcast_to(every, (count, *every.shape)) if index is None else every[index[rows]]
            parts.append(self._gradients(x[rows], y, (count, m)).sum(axis=1))
        return np.concatenate(parts)

    def _gradients(self, theta: Array, y: npt.NDArray[Any], shape: tuple[int, ...]) -> Array:
        where = f"`likelihood_score` of {self.name}"
        values = evaluate(self._likelihood_score, where, theta, y)
        d = theta.shape[-1]
        if d == 1 and values.shape == shape:
            values = values[..., None]
        if values.shape != (*shape, d):
            raise ScoreError(
                f"{where} returned shape {values.shape} for θ of shape {theta.shape} and observations of "
                f"shape {y.shape}; expected {(*shape, d)}: the gradient in θ for each of the {shape[-1]} "
                "observations, not their sum."
            )
        return values

    def _title(self) -> str:
        return f"{self.name}, {len(self._observations)} observations"

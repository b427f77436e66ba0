"""Models with latent variables, whose score is a mean over the posterior of the latent variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import answered, asked, check_count, check_text, require_functions
from goodstein.domains.base import Domain
from goodstein.errors import InputError, ScoreError, given
from goodstein.models.averages import ROWS, Averaged, evaluate
from goodstein.models.functions import title
from goodstein.numerics.ranges import cut
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

FEW = 4
"""Points at which it is asked whether draws of z use their generator."""


class LatentModel(Averaged):
    r"""A model q(x) = ∫ q(x | z) π(z) dz that is known through q(x | z) and draws of z given x.

    Its score needs neither the integral nor the prior of z, because

    .. math:: \nabla \log q(x) = E[\nabla_x \log q(x \mid z) \mid x],

    a mean over the posterior of z. :class:`Latent` puts the mean of a few posterior draws in its place.

    Parameters
    ----------
    conditional_score
        ``conditional_score(x, z)``: ∇_x log q(x | z), (n, d), at n pairs of a point x, (n, d), and a
        value z of the latent variable. z has the n rows that ``posterior_sample`` returned for the
        same points, without the axis of the draws: (n, k) if that was (n, draws, k), and (n,) if it
        was (n, draws). Each row must be treated by itself. NumPy or JAX. On a :class:`Lattice` it is
        the conditional difference score 1 − q(¬_i x | z) / q(x | z), whose posterior mean is the
        difference score of the marginal.
    posterior_sample
        ``posterior_sample(x, draws, rng)``: for each row of x, (n, d), that many draws of z given x,
        (n, draws) or (n, draws, ...), from the :class:`numpy.random.Generator` ``rng``. Draws for
        different rows must be independent.
    domain
        Where x lives; None where that is not known.
    sample
        A sampler of x, ``sample(n, rng)``, (n, d), for :class:`MonteCarlo`.
    name
        What messages and results call the model.

    Notes
    -----
    Draws from a Markov chain are as good as they are close to the posterior: what the chain has not
    forgotten of its start is a bias of the score, which no level of the test covers. Give it a
    burn-in, and draws from a chain of its own for each row. The number of draws that are averaged
    changes the power only, provided that ∇_x log q(x | z) has a finite variance over z given x.

    References
    ----------
    Kanagawa, Jitkrittum, Mackey, Fukumizu, Gretton (2023), A kernel Stein test for comparing latent
    variable models, Journal of the Royal Statistical Society B 85.

    Examples
    --------
    With x | z ~ N(z, 1) and z ~ N(0, 1) the marginal is N(0, 2), and z | x ~ N(x/2, 1/2):

    >>> import numpy as np
    >>> import goodstein as gs
    >>> model = gs.LatentModel(
    ...     conditional_score=lambda x, z: z - x,
    ...     posterior_sample=lambda x, draws, rng: rng.normal(
    ...         x[:, None] / 2, np.sqrt(0.5), (len(x), draws, 1)
    ...     ),
    ...     domain=gs.Euclidean(1),
    ...     name="normal with a normal mean",
    ... )
    >>> x = gs.families.Normal(0, 2).sample(100, rng=1)
    >>> gs.ksd_test(x, model, operator=gs.Latent(draws=50), rng=1).pvalue > 0.05
    True
    """

    latent = True

    def __init__(
        self,
        conditional_score: Callable[..., Any],
        posterior_sample: Callable[..., Any],
        domain: Domain | None = None,
        *,
        sample: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        required = {"conditional_score": conditional_score, "posterior_sample": posterior_sample}
        require_functions(required, "LatentModel")
        super().__init__(score=conditional_score, domain=domain, sample=sample)
        del self._functions["score"]  # it is none: only its posterior mean is
        self._conditional_score = conditional_score
        self._posterior_sample = posterior_sample
        self._name = f"LatentModel({title(conditional_score)})" if name is None else check_text(name, "name")

    def score(self, x: ArrayLike) -> Array:
        """Raise: the score is a mean over the posterior of z, which can only be estimated."""
        raise ScoreError(
            f"{self.name} is a LatentModel: its score can only be estimated by draws of the latent variable. "
            f"Use {given('operator', 'Latent(draws=100)')}, or Latent(draws=100, operator=...) around the "
            "operator you want."
        )

    def weighted_score(self, x: ArrayLike) -> Array:
        return self.score(x)

    def estimated_score(self, x: ArrayLike, draws: int = 100, rng: RNG = None) -> Array:
        """The mean of ∇_x log q(x_i | z_ij) over so many draws z_ij of z given x_i, (n, d)."""
        points = self._points(x)
        draws = check_count(draws, "draws")
        generator = as_generator(rng)
        chunks = cut(0, len(points), max(1, ROWS // draws))
        values = np.concatenate([self._averaged(points[rows], draws, generator) for rows in chunks])
        self._require_finite("estimated score", values, points)
        return values

    def _averaged(self, x: Array, draws: int, rng: np.random.Generator) -> Array:
        n, d = x.shape
        z = self._posterior(x, draws, rng)
        flat = z.reshape(n * draws, *z.shape[2:])
        where = f"`conditional_score` of {self.name}"
        values = evaluate(self._conditional_score, where, np.repeat(x, draws, axis=0), flat)
        if values.shape == (n * draws,) and d == 1:
            values = values[:, None]
        if values.shape != (n * draws, d):
            hint = " z has no second axis here: write z[:, None]." if z.ndim == 2 else ""
            raise ScoreError(
                f"{where} returned shape {values.shape} for {n * draws} pairs of x, {(n * draws, d)}, and z, "
                f"{flat.shape}; expected {(n * draws, d)}.{hint}"
            )
        return np.asarray(values.reshape(n, draws, d).mean(axis=1))

    def _posterior(self, x: Array, draws: int, rng: np.random.Generator) -> npt.NDArray[Any]:
        n, where = len(x), f"`posterior_sample` of {self.name}"

        def posterior(draws: int, rng: np.random.Generator) -> Any:
            """Draws of z at a few rows of x, those at one place in one row."""
            return np.swapaxes(self._posterior_sample(x[:FEW].copy(), draws, rng), 0, 1)

        self.settle(posterior, "`posterior_sample`")
        drawn = asked(self._posterior_sample, where, x.copy(), draws, rng)
        answered(drawn, where)
        z = np.asarray(drawn)  # labels stay whole numbers
        if z.shape[:2] != (n, draws):
            raise InputError(
                f"{where} returned shape {z.shape} for {n} points and {draws} draws; expected ({n}, {draws}) "
                f"or ({n}, {draws}, ...): as many draws for each point."
            )
        # With labels this may happen by chance; with numbers on a scale it cannot.
        if n > 1 and z.dtype.kind == "f" and z.size > n and (z == z[0]).all() and np.ptp(z) > 0:
            remedy = "They must be draws of z given x, independent for different points."
            raise InputError(f"{where} returned the same draws for all {n} points.", remedy=remedy)
        return z

"""The stochastic Stein operator: each point looks at a few observations of a posterior."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import MOST_DRAWS, check_count, check_flag, check_seed
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.models.model import Model
from goodstein.models.posterior import Posterior
from goodstein.operators.base import Operator
from goodstein.operators.estimated import Estimated, set_linear
from goodstein.types import Array


@dataclass(frozen=True)
class Stochastic(Estimated):
    r"""An operator whose score looks at a random part of the observations of a :class:`Posterior`.

    .. math:: \hat s_i = \nabla \log \pi_0(\theta_i)
              + \frac Lm \sum_{l \in \sigma_i} \nabla_\theta \log \pi(y_l \mid \theta_i),

    with a subset σ_i of m of the L observations, drawn at random for each θ_i by itself. The estimate
    is unbiased and independent for different i, so the test keeps its level with subsets of any size; larger
    ones give more power. One subset for all points would make the test reject every posterior.

    Parameters
    ----------
    batch_size
        m, observations for each point.
    replace
        Whether an observation may be drawn more than once for the same point.
    operator
        The operator that takes this score, and is linear in it; None for the default on the model's domain.
    seed
        Seed of the subsets; :func:`ksd_test` takes it from its ``rng``.

    Notes
    -----
    The null hypothesis is that the points are independent draws from the posterior. For the states of
    a Markov chain keep their order, in which tests look for dependence.

    References
    ----------
    Gorham, Raj, Mackey (2020), Stochastic Stein discrepancies, NeurIPS 33.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> y = np.random.default_rng(1).normal(1.0, 1.0, 50)
    >>> posterior = gs.Posterior(
    ...     lambda theta: -theta, lambda theta, y: (y - theta)[:, None], y, gs.Euclidean(1)
    ... )
    >>> x = np.random.default_rng(2).normal(y.sum() / 51, 51**-0.5, (200, 1))
    >>> gs.ksd_test(x, posterior, operator=gs.Stochastic(batch_size=10), rng=1).pvalue > 0.05
    True
    """

    batch_size: int
    replace: bool = False
    operator: Operator | None = None
    seed: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        check_count(self.batch_size, "batch_size", most=MOST_DRAWS)
        check_flag(self.replace, "replace", of="Stochastic")
        check_seed(self.seed, of="Stochastic")
        set_linear(self)

    def scores(self, model: Any, data: Array) -> Array:
        posterior = _posterior(model)
        return posterior.subsampled_score(data, self.subsets(len(data), len(posterior.observations)))

    def subsets(self, n: int, size: int) -> npt.NDArray[np.intp]:
        """Which of `size` observations each of n points looks at, (n, batch_size), in increasing order."""
        rng = np.random.default_rng(self.seed)
        if self.replace:
            drawn = rng.integers(0, size, (n, self.batch_size), dtype=np.intp)
        elif self.batch_size > size:
            raise InputError(
                f"`batch_size` of Stochastic is {self.batch_size}, but there are only {size} observations. "
                f"Take at most {size}, or replace=True."
            )
        else:
            drawn = np.array(
                [rng.choice(size, self.batch_size, replace=False, shuffle=False) for _ in range(n)], np.intp
            )
        return np.sort(drawn, axis=1)

    def probe(self, model: Any, domain: Domain) -> Model:
        """The model itself, whose score looks at all observations."""
        return _posterior(model)


def _posterior(model: Any) -> Posterior:
    if isinstance(model, Posterior):
        return model
    raise InputError(
        f"Stochastic() needs a Posterior(prior_score, likelihood_score, observations), got {model.name}. "
        "Where the score is no sum over observations use Langevin()."
    )

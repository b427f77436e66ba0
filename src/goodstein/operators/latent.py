"""The operator of models with latent variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from goodstein.constraints import MOST_DRAWS, check_count, check_seed
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.models.latent import LatentModel
from goodstein.models.model import Model
from goodstein.operators.base import Operator
from goodstein.operators.estimated import Estimated, set_linear
from goodstein.types import Array

PROBING = 400
"""Draws, at least, with which the audit looks at the score near a boundary."""


@dataclass(frozen=True)
class Latent(Estimated):
    r"""An operator whose score is averaged over draws of the latent variable.

    .. math:: \hat s_i = \frac1m \sum_{j=1}^m \nabla_x \log q(x_i \mid z_{ij}),
              \qquad z_{ij} \sim q(z \mid x_i)

    in the place of the score of a :class:`LatentModel`. It is unbiased, and independent for different i, so
    the test keeps its level with any number of draws; more give more power.

    Parameters
    ----------
    draws
        m, draws of the latent variable for each observation.
    operator
        The operator that takes this score, and is linear in it; None for the default on the model's
        domain, which on a :class:`Lattice` is ``Difference()`` without bound.
    seed
        Seed of the draws; :func:`ksd_test` takes it from its ``rng``.

    References
    ----------
    Kanagawa, Jitkrittum, Mackey, Fukumizu, Gretton (2023), A kernel Stein test for comparing latent
    variable models, Journal of the Royal Statistical Society B 85.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.ProbabilisticPCA([[1.0], [2.0], [0.5]], variance=0.5)
    >>> x = model.sample(100, rng=1)
    >>> gs.ksd_test(x, model.latent(), operator=gs.Latent(draws=20), rng=1).pvalue > 0.05
    True
    """

    draws: int = 100
    operator: Operator | None = None
    seed: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        check_count(self.draws, "draws", most=MOST_DRAWS)
        check_seed(self.seed, of="Latent")
        set_linear(self)

    def scores(self, model: Any, data: Array) -> Array:
        return _latent(model).estimated_score(data, self.draws, self.seed)

    def probe(self, model: Any, domain: Domain) -> Model:
        draws = max(self.draws, PROBING) if domain.has_boundary else self.draws
        score = partial(_latent(model).estimated_score, draws=draws, rng=self.seed)
        return Model(score=score, domain=domain, batched=True, name=model.name)


def _latent(model: Any) -> LatentModel:
    if isinstance(model, LatentModel):
        return model
    raise InputError(
        f"Latent() needs a LatentModel(conditional_score, posterior_sample), got {model.name}. Where the "
        "score itself is known use Langevin(); the families with latent variables have a method latent()."
    )

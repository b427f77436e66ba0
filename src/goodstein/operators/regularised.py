"""The spectrally regularised Stein kernel: directions in which the features vary little count for more."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.constraints import MOST_DRAWS, check_count, check_seed, number
from goodstein.data.points import Points, draw
from goodstein.domains.base import Domain
from goodstein.errors import InputError, SamplingError, ScoreError, given, must, takes
from goodstein.lazy import Kept
from goodstein.operators.base import Operator, Wrapping, set_inner
from goodstein.operators.defaults import default_operator
from goodstein.operators.embedding import EmbeddingFeatures, MeanEmbedding
from goodstein.operators.regularised_features import DRAWS, DrawnFeatures, Reference, RegularisedFeatures

MOST_SPLIT = 1000
"""Rows that are split off, at most: the covariance is then known well enough."""
MOST_WHOLE = 2000
"""Rows up to which the covariance may be that of all data, which needs an n × n matrix."""
SAFE = 0.03
"""A strength at which level was found at every size of the reference; see :meth:`Regularised.least`."""
SMALLEST = 1e-6
"""Strengths below this would be lost in rounding errors."""


@dataclass(frozen=True)
class Regularised(Wrapping):
    r"""Another operator, its Stein kernel divided by the covariance of its features, C + λ.

    .. math:: h_\lambda(x, y) = \langle \xi_x, (C_Z + \lambda)^{-1} \xi_y \rangle
              = \lambda^{-1} [h(x, y) - h(x, Z) (m \lambda I + h(Z, Z))^{-1} h(Z, y)],

    with :math:`C_Z = m^{-1} \sum_{z \in Z} \xi_z \otimes \xi_z` the covariance of the Stein features at m
    reference points Z. The plain discrepancy sees the directions in which features vary much, and hardly any
    others; here all whose variance exceeds λ count alike. With Z independent of the tested data Stein's
    identity holds given Z.

    Parameters
    ----------
    operator
        The operator inside; None takes the domain's own. For censored durations name it:
        ``Regularised(Martingale())``.
    strength
        λ as a multiple of the mean of h(z, z) over Z, the trace of the covariance. The number of directions
        that count, tr C(C + λ)⁻¹, is at most 1/strength. A large one gives the plain test.
    fraction
        Share of the rows that are split off, at random, as reference points (1000 rows at most), where
        none are drawn from the model. The rest is tested. None: all data are reference points and all are
        tested; see the notes.
    draws
        Reference points that are drawn from the model, which cost no data. None: twice as many as there are
        observations, 500 at most, if the data are points and the model has a sampler, which may be an
        approximate one; otherwise, and with 0, a split. The kernel is fitted to such draws, not to the data.
    seed
        Seed of split or draws; tests take it from their ``rng``.

    Notes
    -----
    With ``fraction=None`` the wild bootstrap rejects true models too often, the more so the more directions
    count: on Dirichlet(½, ½, ½), n = 200, level .05, we measured .05, .06, .10, .24 and .58 with 4, 9, 15, 24
    and 34 of them. Such a test is refused unless the null distribution is simulated (:class:`MonteCarlo`) or
    strength ≥ 4/√n. Memory is n × n, and n at most 2000. With other reference points the level suffers where
    the strength is far below 1/m: below min(0.03, 1/m) only simulated null distributions are accepted.

    References
    ----------
    Hagrass, Sriperumbudur, Balasubramanian (2024), Minimax optimal goodness-of-fit testing with kernel
    Stein discrepancy.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> model = gs.families.Normal(np.zeros(5))
    >>> x = model.sample(200, rng=1)
    >>> x[:, 0] = 0.5 * x[:, 1] + np.sqrt(0.75) * x[:, 0]  # correlated, each still standard normal
    >>> gs.ksd_test(x, model, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Regularised(strength=0.01), rng=1).pvalue < 0.01
    True
    """

    operator: Operator | None = None
    strength: float = 0.1
    fraction: float | None = 0.2
    draws: int | None = None
    seed: int = field(default=0, repr=False)
    _kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_inner(self, "the operator to regularise, such as Langevin()", never=Regularised)
        if self.operator is not None and self.operator.changes_model:
            raise InputError(
                f"{self.operator!r} counts who is at risk, so its observations depend on each other and "
                "cannot be split into reference points and others. Use Regularised(Martingale())."
            )
        check_seed(self.seed, of="Regularised")
        wanted = f"a number of at least {SMALLEST:g}"
        number(self.strength, "strength", of="Regularised", above=SMALLEST * (1 - 1e-9), wanted=wanted)
        if self.fraction is not None:
            wanted = "a number between 0 and 1, or None"
            number(self.fraction, "fraction", of="Regularised", below=1.0, above=0.0, wanted=wanted)
        if self.draws is not None:
            check_count(self.draws, "draws", 0, MOST_DRAWS)
            if self.draws == 1:
                raise must("draws", "0, or at least 2 draws", self.draws, "Regularised")
            if self.fraction is None and self.draws:
                raise InputError(
                    f"Regularised: the reference points are all data (fraction=None) or {self.draws} draws "
                    "from the model, not both. Leave out one of the two."
                )

    @property
    def given(self) -> Regularised:
        """Without the draws, which a result has no use for."""
        return replace(self, operator=None if self.operator is None else self.operator.given)

    def __repr__(self) -> str:
        parts = [] if self.operator is None else [repr(self.operator)]
        parts.append(f"strength={float(self.strength):.6g}")
        parts += [] if self.fraction == 0.2 else [f"fraction={self.fraction}"]
        parts += [] if self.draws is None else [f"draws={self.draws}"]
        return f"Regularised({', '.join(parts)})"

    def choose(self, domain: Domain) -> Operator:
        return default_operator(domain)

    def seeded(self, seed: int) -> Regularised:
        inner = None if self.operator is None else self.operator.seeded(seed + 1)
        return replace(self, seed=seed, operator=inner)

    def features(self, model: Any, domain: Domain, data: Any) -> RegularisedFeatures | DrawnFeatures:
        """Those of the operator inside, at the data and at the reference points."""
        n, inner = len(data), self.inner(domain)
        drawn, m = self._plan(model, data)
        if drawn:
            try:
                seed = [self.seed, 2]
                reference = self._kept(
                    lambda: Reference(draw(model, domain, m, np.random.default_rng(seed))), m, model, domain
                )
                joint = inner.features(model, domain, np.vstack([data, reference.draws]))
            except (InputError, ScoreError, SamplingError) as error:
                inner.features(model, domain, data)  # an error here is about the user's own rows
                raise type(error)(
                    f"Regularised: {m} reference points could not be drawn from {model.name} and used. With "
                    f"draws=0 a part of the data takes their place. ({error})"
                ) from None
            return DrawnFeatures(joint, n, float(self.strength), reference)
        reference, rest = np.arange(n), np.arange(n)
        if self.fraction is not None:
            order = np.random.default_rng([self.seed, 3]).permutation(n)
            reference, rest = np.sort(order[:m]), np.sort(order[m:])
        features = inner.features(model, domain, data)
        return RegularisedFeatures(features, reference, rest, n, float(self.strength))

    def stacked(self, model: Any, domain: Domain, data: Any, count: int) -> DrawnFeatures | None:
        """Where the operator inside compares with draws; what is made of them is that of the first sample."""
        n, inner = len(data) // count, self.inner(domain)
        if not isinstance(inner, MeanEmbedding) or inner.landmarks > DRAWS:
            return None
        first = self.features(model, domain, data[:n])
        if not (isinstance(first, DrawnFeatures) and isinstance(first.inner, EmbeddingFeatures)):
            return None
        samples = EmbeddingFeatures(inner.points(domain, data), first.inner.drawn, own=n)
        return replace(first, samples=samples)

    def features_beside(
        self, features: Any, model: Any, domain: Domain, others: Any
    ) -> RegularisedFeatures | None:
        """The reference points stay those of the data."""
        inner = self.inner(domain).features_beside(features.inner, model, domain, others)
        return None if inner is None else features.beside(inner, len(others))

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return [*super().conditions(model, domain, data, rng), self._check(model, data)]

    def least(self, model: Any, data: Any) -> float:
        """The smallest strength with which null distributions that do not simulate the model keep the level.

        4/√n where the reference points are all data, otherwise min(0.03, 1/m).
        """
        _, m = self._plan(model, data)
        return 4.0 / math.sqrt(m) if self.fraction is None else min(SAFE, 1.0 / m)

    def _check(self, model: Any, data: Any) -> Check:
        question = Question("strength of the regularisation")
        if data is None:
            return question.skipped("The least strength depends on the number of observations.")
        least, (drawn, m) = self.least(model, data), self._plan(model, data)
        whose = "that are the tested data" if self.fraction is None else "split off"
        message = (
            f"The strength is {self.strength:g}, with {m} reference points "
            f"{'drawn from the model' if drawn else whose}. Below {least:.3g} null distributions that do not "
            "simulate the model do not keep the level."
        )
        if self.strength >= least * (1 - 1e-9):
            return question.passed(message)
        share = "fraction=0.2" if takes("fraction") else "Regularised(..., fraction=0.2)"
        other = f"{share}, " if self.fraction is None else ""
        message += f" Use {other}{given('null', 'MonteCarlo()')}, or a larger strength."
        return question.failed(message, asymptotic=True)

    def _plan(self, model: Any, data: Any) -> tuple[bool, int]:
        """Whether the reference points are drawn from the model, and their number."""
        n = len(data)
        if self.fraction is None:
            if n > MOST_WHOLE:
                raise InputError(
                    f"Regularised(fraction=None) holds an n × n matrix, for at most {MOST_WHOLE} rows; here "
                    f"are {n}. Use fraction=0.2, whose memory is n × {MOST_SPLIT} at most."
                )
            return False, n
        able = model.takes is Points and model.has_sample
        if self.draws and not able:
            reason = "the data are not points" if model.has_sample else f"{model.name} has no sampler"
            raise InputError(
                f"Regularised(draws={self.draws}) draws reference points from the model, but {reason}. Use "
                "draws=0, which splits off a part of the data."
            )
        if able and self.draws != 0:
            return True, self.draws or min(2 * n, DRAWS)
        m = min(math.ceil(self.fraction * n), MOST_SPLIT)
        if n - m < 2:
            raise InputError(
                f"of {n} rows Regularised(fraction={self.fraction:g}) splits off {m}, and {n - m} "
                f"remain, but a test needs at least 2. Use a smaller fraction, or more data.",
                argument="data",
            )
        return False, m

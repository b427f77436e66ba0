"""Test functions less their mean under the model, estimated by draws from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np

from goodstein.auditing.report import Check
from goodstein.auditing.serial import Dependence, dependence
from goodstein.constraints import MOST_DRAWS, check_count, check_flag, check_seed
from goodstein.data.points import draw
from goodstein.domains import Domain, Lattice, Simplex
from goodstein.errors import InputError, refuse_rows
from goodstein.kernels import Gaussian, Hamming, Kernel
from goodstein.kernels.frames import Frame, Located, spread_frame
from goodstein.lazy import FEW, Kept, cached_property
from goodstein.numerics.ranges import cut
from goodstein.operators.base import Operator
from goodstein.stein.forms import LowRankForm
from goodstein.stein.pairwise import Pairwise
from goodstein.types import Array

CHECKED, LONGEST = 500, 1.5
"""Draws in which the audit looks for dependence, and the correlation time that it minds."""
AGAIN = 4
"""The second look has so many times more draws, in which a chain is seen all the better."""
CHUNK = 4096
"""Draws that are looked at together."""
RESOLVED = 1e-13
"""Differences of features below this share of the largest are rounding errors."""
SMALLEST = 1e-10
"""Eigenvalues of the landmarks' matrix below this share of the largest are rounding errors."""
ROWS = 400
"""Observations that are looked at together."""
HELD = 1 << 23
"""Draws times things made of them that are kept: all members of a collection ask in turn."""


@dataclass(frozen=True)
class MeanEmbedding(Operator):
    """T f(x_i) = f(x_i) − mean_b f(y_ib), with draws y_i1, y_i2, … of the model for every observation.

    E T f = E_p f − E_q f, so the discrepancy is the maximum mean discrepancy between data and model. The
    draws add 1/m of the noise that the data have. It sees what the score hardly feels, such as the weights
    of modes that lie far apart, and on a bounded region the edge as well as the middle.

    The kernel is projected on its span at L landmarks Z, drawn from the model too: k_Z(x, y) = k(x, Z) k(Z,
    Z)⁻¹ k(Z, y), which for smooth kernels is nearly k and makes time and memory linear in n·m.

    Parameters
    ----------
    draws
        Draws for each observation, m.
    landmarks
        Their number, L.
    logratio
        On a simplex whether to compare isometric log-ratios, which tell small parts apart, rather than the
        parts themselves. All parts must then be positive.
    seed
        Seed of draws and landmarks; tests take it from their ``rng``.

    Notes
    -----
    Given the landmarks, observations with their draws are independent and have mean zero under the model, so
    all null distributions apply. Another seed gives another p-value, within the noise of the draws. The
    kernel needs no derivatives; None takes a Gaussian, on a lattice that of Hamming's distance.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf, Smola (2012), A kernel two-sample test.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Uniform(gs.Box(0, [1, 1]))
    >>> x = model.sample(100, rng=1) ** 1.5
    >>> gs.ksd_test(x, model, operator=gs.MeanEmbedding(), rng=1).pvalue < 0.01
    True
    """

    draws: int = 20
    landmarks: int = 100
    logratio: bool = False
    seed: int = field(default=0, repr=False)
    _kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)

    conditions_suffice = True  # no annotation: not a field

    def __post_init__(self) -> None:
        for name, least in (("draws", 1), ("landmarks", 2)):  # sums of them leave the range of an np.int8
            object.__setattr__(self, name, check_count(getattr(self, name), name, least, MOST_DRAWS))
        check_flag(self.logratio, "logratio", of="MeanEmbedding")
        check_seed(self.seed, of="MeanEmbedding")

    def seeded(self, seed: int) -> MeanEmbedding:
        # The same one for all operators that look at it, so that they have the same draws.
        return cast("MeanEmbedding", self._kept(lambda: replace(self, seed=seed), seed))

    def features(self, model: Any, domain: Domain, data: Any) -> EmbeddingFeatures:
        return self.stacked(model, domain, data, 1)

    def stacked(self, model: Any, domain: Domain, data: Any, count: int) -> EmbeddingFeatures:
        _require_sampler(model)
        n = len(data) // count
        # Many samples of the model are compared with the same draws.
        drawn = self._kept(lambda: self._drawn(model, domain, n), n, model, domain)
        return EmbeddingFeatures(self.points(domain, data), drawn)

    def features_beside(
        self, features: Any, model: Any, domain: Domain, others: Any
    ) -> EmbeddingFeatures | None:
        """The others are compared with all draws of the data: fewer would make a function of them rough."""
        return EmbeddingFeatures(features.observations, features.drawn, self.points(domain, others))

    def _drawn(self, model: Any, domain: Domain, n: int) -> Drawn:
        """Draws for n observations, and landmarks."""
        rng = np.random.default_rng([self.seed, 5])
        # Some samplers return their draws in an order, such as one component of a mixture after another.
        drawn = rng.permutation(draw(model, domain, n * self.draws + self.landmarks, rng))
        if self.logratio:
            # A part that underflowed is positive all the same; in the data a zero is a zero.
            drawn = np.maximum(drawn, np.finfo(float).tiny)
        landmarks, drawn = drawn[: self.landmarks], drawn[self.landmarks :]
        others = self.points(domain, drawn).reshape(n, self.draws, -1)
        return Drawn(drawn, others, self.points(domain, landmarks))

    def points(self, domain: Domain, x: Array) -> Array:
        """Where the kernel looks."""
        if not self.logratio:
            return domain.embedded(x)
        remedy = "Use MeanEmbedding(), which compares the parts themselves."
        refuse_rows(~(x > 0).all(axis=1), "have parts that are zero, which have no logarithm.", remedy)
        assert domain.basis is not None
        return np.asarray(np.log(x) @ domain.basis.T)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """Nothing but independent draws: no identity has to hold."""
        _require_sampler(model)
        # Once for all operators that look at the same draws.
        seen: Dependence = self._kept(lambda: self._dependence(model, domain), -1, model, domain)
        if _chained(seen):
            message = (
                f"Successive draws of {model.name} are correlated, with a correlation time of "
                f"{seen.time:.2g}, as those of a Markov chain are, and MeanEmbedding needs independent ones. "
                "Thin the chain, or shuffle draws of a long one; or use an operator that needs the score."
            )
            return [Check("draws", "fail", message)]
        return [Check("draws", "pass", f"Needs independent draws of {model.name}, and no score.")]

    def _dependence(self, model: Any, domain: Domain) -> Dependence:
        """Whether successive draws depend on each other."""
        rng = np.random.default_rng([self.seed, 6])
        # Of independent draws one look in a thousand is wrong, which many users would meet.
        for n in (CHECKED, AGAIN * CHECKED):
            seen = dependence([domain.embedded(draw(model, domain, n, rng))], [n])
            if not _chained(seen):
                break
        return seen

    def on(self, domain: Domain) -> MeanEmbedding:
        """With the kernel of choice on this domain."""
        if self.logratio and not isinstance(domain, Simplex):
            raise InputError(f"MeanEmbedding(logratio=True) is for a Simplex, got {domain!r}. Leave it out.")
        if not isinstance(domain, Lattice):
            return self
        # The same one for all operators that look at it, so that they have the same draws.
        make = partial(_OnLattice, self.draws, self.landmarks, seed=self.seed)
        return cast("MeanEmbedding", self._kept(make, -2))

    def default_kernel(self) -> Kernel:
        return Gaussian()

    @property
    def given(self) -> MeanEmbedding:
        """Without the draws, which a result has no use for."""
        return replace(self)

    def __repr__(self) -> str:
        own = {"draws": 20, "landmarks": 100, "logratio": False}
        said = [
            f"{name}={getattr(self, name)}" for name, usual in own.items() if getattr(self, name) != usual
        ]
        return f"MeanEmbedding({', '.join(said)})"


def _chained(seen: Dependence) -> bool:
    return seen.certain and seen.time > LONGEST


class _OnLattice(MeanEmbedding):
    """The same where the levels have no order."""

    def on(self, domain: Domain) -> MeanEmbedding:
        return self

    def default_kernel(self) -> Kernel:
        return Hamming()


def _require_sampler(model: Any) -> None:
    if not model.has_sample:
        raise InputError(
            f"MeanEmbedding compares the data with draws from the model, but {model.name} has no sampler. "
            f"{model.sampler_advice}, or use an operator that needs the score only."
        )


@dataclass(frozen=True)
class Drawn(Located):
    """Draws for each of n observations, landmarks Z, (L, k), and weights of the draws, (n, m).

    Of the draws there are `rows` as the model has made them, (nm, d), and the `others` at which the kernel
    looks, (n, m, k).
    """

    rows: Array
    others: Array
    landmarks: Array
    _kept: Kept = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n, m, _ = self.others.shape
        object.__setattr__(self, "_kept", Kept(max(FEW, HELD // (n * m))))

    @property
    def points(self) -> Array:
        """The landmarks: a kernel that is fitted to the data would tell them from draws of the model."""
        return self.landmarks

    @cached_property
    def frame(self) -> Frame:
        """Units in which the landmarks spread alike in every coordinate."""
        return spread_frame(self.landmarks)

    def seen_by(self, kernel: Kernel) -> Seen:
        """What a fitted kernel makes of them."""
        seen: Seen = self.kept(lambda: Seen(self, kernel), kernel)
        return seen

    def kept(self, make: Callable[[], Any], key: Any) -> Any:
        """What else is made of them, once for each key."""
        return self._kept(make, 0, key)


def compare(values: Array, means: Array) -> Array:
    """Values of one or several samples, (kn, c), less means, (n, c), of which each sample has its own."""
    return np.asarray(values.reshape(-1, *means.shape) - means).reshape(values.shape)


class Seen:
    """k(Z, Z)^(−½) of a fitted kernel, and the means of k(y_ib, Z) over b times that, (n, r)."""

    def __init__(self, drawn: Drawn, kernel: Kernel) -> None:
        self.pairwise = Pairwise(kernel, drawn.landmarks)
        self.marks = self.pairwise.placed(drawn.landmarks)
        values, vectors = np.linalg.eigh(self.pairwise(self.marks, self.marks))
        kept = values > SMALLEST * values[-1]
        self.root = vectors[:, kept] / np.sqrt(values[kept])
        self.largest = float(values[-1])
        n, m, k = drawn.others.shape
        self.means = np.empty((n, self.root.shape[1]))
        for rows in cut(0, n, max(1, CHUNK // m)):
            each = self.at(drawn.others[rows].reshape(-1, k)).reshape(-1, m, len(self.marks))
            self.means[rows] = each.mean(axis=1) @ self.root

    def projected(self, points: Array) -> Array:
        """k(x, Z) k(Z, Z)^(−½), a few rows at a time, so that they stay in the cache."""
        out = np.empty((len(points), self.root.shape[1]))
        for rows in cut(0, len(points), ROWS):
            np.matmul(self.at(points[rows]), self.root, out=out[rows])
        return out

    def at(self, points: Array) -> Array:
        """k(x, Z)."""
        return self.pairwise(self.pairwise.placed(points), self.marks)


@dataclass(frozen=True)
class EmbeddingFeatures(Located):
    """Observations, (n, k), and what they are compared with; others, (l, k), which nobody observed.

    The observations may be several samples, one after another, which are all compared with the same; `own` is
    how many of the rows with draws there are in a sample, where that is not all of them.
    """

    observations: Array
    drawn: Drawn
    others: Array | None = None
    own: int | None = None
    kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)

    @property
    def points(self) -> Array:
        """The landmarks, to which kernels are fitted."""
        return self.drawn.points

    @property
    def shared(self) -> Located:
        return self.drawn

    def form(self, kernel: Kernel) -> LowRankForm:
        """τ τᵀ with τ_i = [k(x_i, Z) − mean_b k(y_ib, Z)] k(Z, Z)^(−½)."""
        seen = self.drawn.seen_by(kernel)
        tau = seen.projected(self.observations)
        each = tau.reshape(-1, *seen.means[: self.own].shape)
        each -= seen.means[: self.own]
        if not max(tau.max(), -tau.min()) > RESOLVED * np.sqrt(seen.largest):
            raise InputError(
                f"{kernel!r} does not tell the observations from draws of the model, whatever they are: what "
                "is left are rounding errors. Take a smaller bandwidth, or another kernel."
            )
        if self.others is not None:
            tau = np.vstack([tau, seen.at(self.others) @ seen.root - seen.means.mean(axis=0)])
        return LowRankForm(tau)

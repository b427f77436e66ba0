"""The spectrally regularised Stein kernel: directions in which the features vary little count for more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.auditing.report import Check, Question
from goodstein.constraints import MOST_DRAWS, check_count, check_seed, number
from goodstein.data.points import Points, draw
from goodstein.domains.base import Domain
from goodstein.engine.executors import one_blas_thread
from goodstein.engine.workspace import scratch
from goodstein.errors import InputError, SamplingError, ScoreError, given, must, takes
from goodstein.kernels.frames import Frame, Located
from goodstein.lazy import Kept
from goodstein.numerics.ranges import cut
from goodstein.operators.base import Operator, Wrapping, set_inner
from goodstein.operators.defaults import default_operator
from goodstein.operators.embedding import EmbeddingFeatures, MeanEmbedding
from goodstein.stein.features import Features, SteinFeatures, joined_features
from goodstein.stein.forms import BlockForm, DenseForm, LowRankForm, finite_diagonal
from goodstein.stein.totals import loose_block
from goodstein.types import Array, Single

DRAWS = 500
"""Draws from the model where nothing is said, at most; more cost more and tell little."""
MOST_SPLIT = 1000
"""Rows that are split off, at most: the covariance is then known well enough."""
MOST_WHOLE = 2000
"""Rows up to which the covariance may be that of all data, which needs an n × n matrix."""
SAFE = 0.03
"""A strength at which level was found at every size of the reference; see :meth:`Regularised.least`."""
ROUNDING = 1e-9
"""Entries of a Stein matrix that differ by less than this share of the largest are the same."""
SINGLE = 3e-3
"""Strengths from which on a statistic may do with single precision."""
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
        return self.features_near(model, model, domain, data)

    def features_near(
        self, model: Any, nearby: Any, domain: Domain, data: Any
    ) -> RegularisedFeatures | DrawnFeatures:
        """Reference points are drawn from the first model, whichever of both is tested."""
        n, inner = len(data), self.inner(domain)
        drawn, m = self._plan(model, data)
        if drawn:
            try:
                seed = [self.seed, 2]
                reference = self._kept(
                    lambda: Reference(draw(model, domain, m, np.random.default_rng(seed))), m, model, domain
                )
                joint = inner.features_near(model, nearby, domain, np.vstack([data, reference.draws]))
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
        features = inner.features_near(model, nearby, domain, data)
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


@dataclass(frozen=True)
class RegularisedFeatures(Located):
    """Features of the operator inside, and which of them are reference points, which are tested."""

    inner: Features
    reference: npt.NDArray[np.intp]
    rest: npt.NDArray[np.intp]
    n_data: int
    strength: float

    @property
    def points(self) -> Any:
        """Those of all data, so that the bandwidth is that of the plain test."""
        return self.inner.points[: self.n_data]

    def joined(self, others: Sequence[RegularisedFeatures]) -> RegularisedFeatures | None:
        """The tested rows of these and of the others; the reference points stay those of the first."""
        inner = joined_features(self.inner, [other.inner for other in others])
        if inner is None or self.n_data > len(self.rest):
            return None
        parts = [self, *others]
        lengths = [int(max(part.rest[-1], part.reference[-1])) + 1 for part in parts]
        starts = np.cumsum([0, *lengths[:-1]])
        rest = [part.rest + start for part, start in zip(parts, starts, strict=True)]
        return replace(self, inner=inner, rest=np.concatenate(rest))

    def beside(self, inner: Features, count: int) -> RegularisedFeatures:
        """With so many other observations at the end of the features inside, to be looked at too."""
        rest = np.concatenate([self.rest, self.n_data + np.arange(count)])
        return replace(self, inner=inner, rest=rest)

    @cached_property
    def frame(self) -> Frame | None:
        """That of the plain test too."""
        inner = self.inner
        if isinstance(inner, SteinFeatures):
            inner = inner.take(np.arange(self.n_data))
        return inner.frame if isinstance(inner, Located) else None

    def form(self, kernel: Any) -> BlockForm:
        """The regularised Stein matrix of the tested rows."""
        inner = self.inner.form(kernel)
        ridge = _ridge(finite_diagonal(inner, self.n_data)[self.reference], self.strength)
        if len(self.rest) == len(self.reference) and (self.rest == self.reference).all():
            return _whole(inner, ridge)
        joint, m = inner.take(np.concatenate([self.reference, self.rest])), len(self.reference)
        factor = Factor(inner.take(self.reference), ridge)
        projection = Projection(joint, slice(0, m), slice(m, joint.n), factor)
        return RegularisedForm(inner.take(self.rest), projection.values, ridge)


@dataclass(frozen=True)
class DrawnFeatures(Located):
    """Features of the operator inside at n observations, and behind them at draws of the model.

    `samples` are those of several samples, to be looked at in the place of the n observations.
    """

    inner: Features
    n: int
    strength: float
    reference: Reference
    samples: EmbeddingFeatures | None = None

    @property
    def points(self) -> Any:
        """Those of the draws: kernel and covariance are then the same whatever the data."""
        return self.shared.points

    @cached_property
    def shared(self) -> Located:
        return self.reference.seen(self.inner, self.n)

    def joined(self, others: Sequence[DrawnFeatures]) -> RegularisedFeatures | None:
        """The observations of these and of the others; the reference points stay those of the first."""
        inner = joined_features(self.inner, [other.inner for other in others])
        if inner is None:
            return None
        drawn = len(self.reference.draws)
        starts = np.cumsum([0, *(part.n + len(part.reference.draws) for part in (self, *others))])
        rest = [start + np.arange(part.n) for part, start in zip((self, *others), starts[:-1], strict=True)]
        reference = np.arange(self.n, self.n + drawn)
        return RegularisedFeatures(inner, reference, np.concatenate(rest), self.n, self.strength)

    def beside(self, inner: Features, count: int) -> RegularisedFeatures:
        """With so many other observations at the end of the features inside, to be looked at too."""
        n, drawn = self.n, len(self.reference.draws)
        rest = np.concatenate([np.arange(n), n + drawn + np.arange(count)])
        return RegularisedFeatures(inner, np.arange(n, n + drawn), rest, n, self.strength)

    def form(self, kernel: Any) -> BlockForm:
        """The regularised Stein matrix of the observations."""
        if self.samples is not None:
            # With the same draws and kernel for all samples.
            whitening = self.reference.kept(lambda: self._whitening(kernel), 0, kernel, self.samples.drawn)
            return LowRankForm(self.samples.form(kernel).tau @ whitening)
        inner, n = self.inner.form(kernel), self.n
        diagonal = finite_diagonal(inner, n)[n:]
        if (tau := inner.factor) is not None and tau.shape[1] <= DRAWS:
            whitening = self.reference.whitening(tau[n:], _ridge(diagonal, self.strength))
            return LowRankForm(tau[:n] @ whitening)
        factor, ridge = self.reference.factor(inner, n, diagonal, self.strength, kernel)
        projection = Projection(inner, slice(n, inner.n), slice(0, n), factor)
        return DrawnForm(inner.take(np.arange(n)), projection, ridge, self.strength)

    def _whitening(self, kernel: Any) -> Array:
        """That of the draws, which the operator inside looks at through no more functions than draws."""
        tau = self.inner.form(kernel).factor
        assert tau is not None
        tau = tau[self.n :]
        return self.reference.whitening(tau, _ridge((tau**2).sum(axis=1), self.strength))


@dataclass(frozen=True, eq=False)
class _Points(Located):
    """Points alone."""

    points: Any


class Reference:
    """Draws of the model at which the covariance is taken, with what was made of them for other data.

    That is used again if the features at the draws are the same, as they are for operators that look at each
    point by itself; if they are not it is made anew.
    """

    def __init__(self, draws: Array) -> None:
        self.draws = draws
        self.kept = Kept()
        self._features: SteinFeatures | None = None
        self._factored: tuple[Any, Array, Factor, float] | None = None
        self._whitening: tuple[Array, Array] | None = None

    def seen(self, inner: Any, n: int) -> Located:
        """What kernels are fitted to, of features at n observations and the draws."""
        if not isinstance(inner, SteinFeatures):
            shared = inner.shared if isinstance(inner, Located) else None
            return shared if shared is not None else _Points(inner.points[n:])
        own, before = inner.take(np.arange(n, len(inner))), self._features
        if before is not None and own.equals(before):
            return before
        self._features = own
        return own

    def factor(
        self, inner: BlockForm, n: int, diagonal: Array, strength: float, kernel: Any
    ) -> tuple[Factor, float]:
        """L with L Lᵀ = mλI + h(Z, Z), and λ."""
        probe = np.concatenate([diagonal, inner.block(slice(n, n + 1), slice(n, inner.n))[0]])
        before = self._factored
        same = before is not None and before[0] is kernel and _close(before[1], probe)
        if before is None or not same:
            ridge = _ridge(diagonal, strength)
            factor = Factor(inner.take(np.arange(n, inner.n)), ridge)
            self._factored = before = kernel, probe, factor, ridge
        return before[2], before[3]

    def whitening(self, tau: Array, ridge: float) -> Array:
        """C with C Cᵀ = (A + λ)⁻¹, A = τᵀτ/m at the reference points: h_λ = τCCᵀτᵀ where h = ττᵀ."""
        before = self._whitening
        if before is None or not np.array_equal(before[0], tau):
            from scipy.linalg import solve_triangular

            m, c = tau.shape
            lower = np.linalg.cholesky(tau.T @ tau / m + ridge * np.eye(c))
            self._whitening = before = tau, solve_triangular(lower, np.eye(c), lower=True).T
        return before[1]

    def __reduce__(self) -> tuple[type[Reference], tuple[Array]]:
        return Reference, (self.draws,)


def _close(one: Array, other: Array) -> bool:
    """Whether numbers differ by rounding only: products are taken about a centre that moves with the data."""
    return bool(np.abs(one - other).max() <= ROUNDING * np.abs(one).max())


def _ridge(diagonal: Array, strength: float) -> float:
    """λ, from h(z, z)."""
    trace = float(diagonal.mean())
    if not trace > 0:
        raise InputError(
            f"The operator inside Regularised is zero at all {len(diagonal)} reference points, so "
            "nothing can be learnt from them. Check the auxiliary function and the data."
        )
    return strength * trace


def _whole(inner: BlockForm, ridge: float) -> DenseForm:
    """n H(H + nλ)⁻¹ = n(I − nλ(H + nλ)⁻¹), in which nothing large cancels."""
    from scipy.linalg import cho_factor, cho_solve

    n = inner.n
    with one_blas_thread():
        shifted = inner.matrix()
        shifted.flat[:: n + 1] += n * ridge
        inverse = cho_solve(cho_factor(shifted, lower=True, overwrite_a=True), np.eye(n))
    inverse *= -(n * ridge)
    inverse.flat[:: n + 1] += 1.0
    return DenseForm(0.5 * n * (inverse + inverse.T))


class Factor:
    """L, lower triangular, with L Lᵀ = mλI + h(Z, Z)."""

    def __init__(self, reference: BlockForm, ridge: float) -> None:
        m = reference.n
        with one_blas_thread():
            shifted = reference.matrix()
            shifted.flat[:: m + 1] += m * ridge
            self.lower = np.linalg.cholesky(shifted)

    @cached_property
    def inverse(self) -> Single:
        """L⁻¹ in single precision, a product with which is faster than solving."""
        from scipy.linalg import solve_triangular

        eye = np.eye(len(self.lower))
        return np.asarray(solve_triangular(self.lower, eye, lower=True, check_finite=False), np.float32)


@dataclass(frozen=True)
class Projection:
    """W = h(·, Z) L⁻ᵀ at the tested observations, (n, m), from the form of all and where they are in it."""

    form: BlockForm
    reference: slice
    rest: slice
    factor: Factor

    @cached_property
    def values(self) -> Array:
        """W."""
        from scipy.linalg import solve_triangular

        start, stop = self.rest.start, self.rest.stop
        w = np.empty((stop - start, len(self.factor.lower)))
        with one_blas_thread():
            for cols in cut(start, stop, 256):
                block = self.form.block(self.reference, cols)
                solved = solve_triangular(self.factor.lower, block, lower=True, check_finite=False)
                w[cols.start - start : cols.stop - start] = solved.T
        return w

    @property
    def single(self) -> Array:
        """W in single precision, for sums in which its errors average out."""
        block = loose_block(self.form, self.reference, self.rest).astype(np.float32)
        return np.asarray((self.factor.inverse @ block).T, np.float64)


class RegularisedForm(BlockForm):
    """λ⁻¹(H − W Wᵀ), from H of the operator inside, W, (n, m), and λ."""

    def __init__(self, inner: BlockForm, projected: Array, ridge: float) -> None:
        self._inner, self._projected, self._ridge = inner, projected, ridge

    @property
    def n(self) -> int:
        return self._inner.n

    def take(self, index: Any) -> RegularisedForm:
        return RegularisedForm(self._inner.take(index), self._projected[index], self._ridge)

    def block(self, rows: slice, cols: slice) -> Array:
        w = self._projected
        cols = slice(cols.start, min(cols.stop, self.n))  # the audit asks for as many as it drew
        out = self._inner.block(rows, cols)
        out -= np.matmul(w[rows], w[cols].T, out=scratch("regularised", out.shape))
        out *= 1.0 / self._ridge
        return out

    @property
    def vanishes(self) -> bool:
        return self._inner.vanishes

    def reduced(self) -> tuple[BlockForm | None, float, float]:
        return self._reduced(*_sums(self._projected))

    def _reduced(self, square: float, squares: float) -> tuple[BlockForm | None, float, float]:
        """From the square of the sum of all W, and the sum of their squares."""
        inner, factor, rest = self._inner.reduced()
        return inner, factor / self._ridge, (rest - (square - squares)) / self._ridge

    def diagonal(self) -> Array:
        w = self._projected
        left = self._inner.diagonal() - np.einsum("ij,ij->i", w, w)
        return np.asarray(np.maximum(left, 0.0) / self._ridge)  # below zero by rounding only


class DrawnForm(RegularisedForm):
    """The same, with W made when a block is asked for: a statistic alone needs less of it."""

    def __init__(self, inner: BlockForm, projection: Projection, ridge: float, strength: float) -> None:
        self._inner, self._projection, self._ridge, self._strength = inner, projection, ridge, strength

    @cached_property
    def _projected(self) -> Array:  # type: ignore[override]
        return self._projection.values

    def reduced(self) -> tuple[BlockForm | None, float, float]:
        # 1/λ multiplies rounding errors.
        w = self._projection.single if self._strength >= SINGLE else self._projected
        return self._reduced(*_sums(w))


def _sums(w: Array) -> tuple[float, float]:
    """‖Σ_i W_i‖² and Σ_i ‖W_i‖²."""
    total = w.sum(axis=0)
    return float(total @ total), float(np.vdot(w, w))

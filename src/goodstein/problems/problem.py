"""A test before its null distribution, and several tests of the same data, which share whatever they can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from goodstein.auditing.serial import Dependence
from goodstein.data.base import Data
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, one_blas_thread
from goodstein.engine.reduce import quadratic_forms
from goodstein.errors import BandwidthError, InputError
from goodstein.kernels import Kernel
from goodstein.kernels.frames import Located
from goodstein.kernels.own import own_terms
from goodstein.lazy import cached_property
from goodstein.operators.base import Operator, features_of, fitted_of, sharing_features, stacked_of
from goodstein.problems.order import dependence_of
from goodstein.stein.features import Features
from goodstein.stein.forms import BlockForm, LowRankForm
from goodstein.stein.totals import statistics
from goodstein.types import Array


def as_given(model: Any) -> Any:
    """A model that needs no wrapping."""
    return model


@dataclass(frozen=True)
class Problem:
    """Everything that determines the statistic.

    Operator and kernel are as the user gave them; what they take from the data (bandwidths, scales) is fixed
    when it is first needed, and fixed anew for other data, so that a simulated null distribution goes through
    exactly the steps of the observed statistic. `adopt` brings in a model in any form, such as a fit returns.
    Matrix products are left to one BLAS thread here as in the engine: several add in another order, and bits
    would depend on the number of cores.
    """

    data: Data
    model: Any
    domain: Domain
    operator: Operator
    kernel: Kernel
    adopt: Callable[[Any], Any] = field(default=as_given, repr=False, compare=False)

    @property
    def observations(self) -> Any:
        """The data as operators and fits see them."""
        return self.data.observations

    @cached_property
    def fitted_operator(self) -> Operator:
        """The operator with everything that it takes from the data fixed."""
        with one_blas_thread():
            return fitted_of(self.operator, self.observations, self.domain)

    @cached_property
    def features(self) -> Features:
        """The operator at the observations; the only place where the score is evaluated."""
        with one_blas_thread():
            return features_of(self.fitted_operator, self.model, self.domain, self.observations)

    @cached_property
    def fitted_kernel(self) -> Kernel:
        """The kernel with its bandwidth fixed."""
        with one_blas_thread():
            return self.kernel.fitted_to(self.features)

    @cached_property
    def form(self) -> BlockForm:
        """The Stein form of the observations."""
        form, weights = self.features.form(self.fitted_kernel), self.data.weights
        if weights is not None:
            if form.n != len(weights):
                raise InputError(
                    f"{self.fitted_operator!r} looks at {form.n} of {len(weights)} observations, and has no "
                    "place for weights.",
                    remedy="Use another operator, or leave out the weights.",
                )
            form = form.weighted(weights)
        if self.operator.diagonal_counts:
            return form
        if form.vanishes:
            raise InputError(
                f"{self.fitted_operator!r} is zero at all {form.n} observations, so the test sees nothing. "
                "Check the auxiliary function, and that the data do not all lie on the boundary."
            )
        return form

    @cached_property
    def dependence(self) -> Dependence:
        """Whether the observations depend on each other in their order, as this test sees them."""
        return dependence_of(self.data, [self.form])

    def statistic(self, workers: Workers = 1) -> float:
        """The U-statistic of KSD², or the mean over all pairs where the operator says so."""
        if self.operator.diagonal_counts:
            return self.form.mean()
        return quadratic_forms(self.form, None, workers=workers)[0]

    def v_statistic(self, statistic: float) -> float:
        """V = Σ_ij H_ij / n², from U, which leaves out the diagonal."""
        if self.operator.diagonal_counts:
            return statistic
        n, diagonal = self.form.n, self.form.diagonal()
        found = (statistic * n * (n - 1) + float(diagonal.sum())) / n**2
        negative = found < -1e-6 * float(np.abs(diagonal).mean())  # beyond rounding
        if negative and own_terms(self.fitted_kernel):
            raise InputError(
                f"V is {found:.3g} with {self.fitted_kernel.given!r}, but it cannot be negative.",
                argument="kernel",
                remedy="Check that the kernel is positive definite, and its derivatives.",
            )
        return found

    def with_data(self, data: Data) -> Problem:
        """The same question of other data."""
        return self._with("data", data)

    def with_kernel(self, kernel: Kernel, *, fitted: bool = False) -> Problem:
        """The same question with another kernel; the features, which may hold many draws, are kept."""
        moved = self._with("kernel", kernel)
        moved.__dict__.update(fitted_operator=self.fitted_operator, features=self.features)
        if fitted:
            moved.__dict__["fitted_kernel"] = kernel
        return moved

    def _with(self, name: str, value: Any) -> Problem:
        """A copy with another field, as `replace` makes it, in a tenth of the time: samples need many."""
        moved = object.__new__(Problem)
        moved.__dict__.update({field: self.__dict__[field] for field in FIELDS})
        moved.__dict__[name] = value
        return moved

    def with_model(self, model: Any) -> Problem:
        """The same question of another model, in any form that the user may bring."""
        return replace(self, model=self.adopt(model).on(self.domain).near(self.observations))

    def simulate(self, rng: np.random.Generator) -> Data:
        """Draw from the model as many observations as there are, of the same kind."""
        return self.data.drawn(self.model, self.domain, rng)


FIELDS = [each.name for each in fields(Problem)]


@dataclass(frozen=True)
class Collection:
    """Problems that differ in operator and kernel only.

    `groups` has for every operator a problem with it, whose own kernel does not count, and the kernels to
    use; `fallback` kernels for data that have no scale of their own, in the order of the problems.
    """

    groups: tuple[tuple[Problem, tuple[Kernel, ...]], ...]
    fallback: tuple[Kernel, ...] | None = None
    kept: dict[int, tuple[Any, Any, list[Kernel]]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, problem: Problem) -> Collection:
        """One problem, which keeps what it has computed."""
        alone = cls(((problem, (problem.kernel,)),))
        alone.__dict__["problems"] = [problem]
        return alone

    @property
    def data(self) -> Data:
        """The data of all problems."""
        return self.groups[0][0].data

    @property
    def model(self) -> Any:
        """The model of all problems."""
        return self.groups[0][0].model

    @cached_property
    def problems(self) -> list[Problem]:
        """All members; those with the same operator, itself or inside another, share its features."""
        members: list[Problem] = []
        with sharing_features():
            for problem, kernels in self.groups:
                fitted = self._fitted(problem.features, kernels, len(members))
                members += [problem.with_kernel(kernel, fitted=True) for kernel in fitted]
        return members

    def _fitted(self, features: Features, kernels: tuple[Kernel, ...], place: int) -> list[Kernel]:
        """Kernels with bandwidths and metrics fixed; where the data have no part in it, once for all."""
        shared = features.shared if isinstance(features, Located) else None
        if shared is None:
            return self._fit(features, kernels, place)
        # By what is the same object in all copies of the collection, and in parts of it.
        before = self.kept.get(id(kernels))
        if before is None or before[0] is not shared or before[1] is not kernels:
            self.kept[id(kernels)] = before = shared, kernels, self._fit(features, kernels, place)
        return before[2]

    def _fit(self, features: Features, kernels: tuple[Kernel, ...], place: int) -> list[Kernel]:
        try:
            return [kernel.fitted_to(features) for kernel in kernels]
        except BandwidthError:
            if self.fallback is None:
                raise
            return list(self.fallback[place : place + len(kernels)])

    @property
    def forms(self) -> list[BlockForm]:
        """The Stein forms of all members."""
        return [problem.form for problem in self.problems]

    @cached_property
    def dependence(self) -> Dependence:
        """Whether the observations depend on each other in their order, as any of the members sees them."""
        by_operator = {id(problem.features): problem for problem in reversed(self.problems)}
        return dependence_of(self.data, [problem.form for problem in by_operator.values()])

    def statistics(self, workers: Workers = 1) -> Array:
        """The U-statistics of all members."""
        forms = self.forms
        alike = len({form.n for form in forms}) == 1
        if not alike or any(problem.operator.diagonal_counts for problem in self.problems):
            return np.array([problem.statistic(workers) for problem in self.problems])
        return statistics(forms, workers)[:, 0]

    def statistics_of(self, samples: Sequence[Data]) -> Array:
        """The U-statistics of all members for several other samples of the same size, (samples, members).

        Operators that offer it look at all samples together, the others at one by one.
        """
        fallback = self.fallback or tuple(problem.fitted_kernel for problem in self.problems)
        count, whole = len(samples), samples[0].stacked(samples)
        out, thin = np.empty((len(fallback), count)), {}
        alone: list[tuple[Problem, tuple[Kernel, ...]]] = []
        places: list[int] = []
        start = 0
        with sharing_features():
            for problem, kernels in self.groups:
                here = range(start, start := start + len(kernels))
                features = None
                if whole is not None:
                    features = stacked_of(problem.operator, problem.model, problem.domain, whole, count)
                # One after the other: those of finite rank are large, and not needed any more.
                for place, kernel in zip(here, self._for_stack(features, kernels), strict=True):
                    form = None if features is None else features.form(kernel)
                    if form is None:
                        alone.append((problem, kernels))
                        places += here
                        break
                    if isinstance(form, LowRankForm):
                        out[place] = form.apart(count)
                    else:
                        thin[place] = form
        if thin:
            out[list(thin)] = statistics(list(thin.values()), 1, count)
        if alone:
            rest = Collection(tuple(alone), tuple(fallback[place] for place in places), self.kept)
            out[places] = np.transpose([rest.with_data(sample).statistics() for sample in samples])
        return out.T

    def _for_stack(self, features: Any, kernels: tuple[Kernel, ...]) -> Sequence[Kernel]:
        """Kernels as features of several samples take them: fitted where all samples see the same."""
        shared = features.shared if isinstance(features, Located) else None
        return kernels if shared is None else self._fitted(features, kernels, 0)

    def with_data(self, data: Data) -> Collection:
        """The same questions of other data, such as simulated ones.

        A sample of equal points, such as durations that all end with the study, has no scale of its own and
        takes the bandwidths of these data.
        """
        fallback = self.fallback or tuple(problem.fitted_kernel for problem in self.problems)
        groups = tuple((p.with_data(data), kernels) for p, kernels in self.groups)
        return Collection(groups, fallback, self.kept)

    def with_model(self, model: Any) -> Collection:
        """The same questions of another model."""
        groups = tuple((p.with_model(model), kernels) for p, kernels in self.groups)
        return Collection(groups, self.fallback)

    def simulate(self, rng: np.random.Generator) -> Data:
        """Draw from the model as many observations as there are, of the same kind.

        From the model as it was given: some operators put one that was fitted in its place.
        """
        given = [problem for problem, _ in self.groups if not problem.operator.changes_model]
        return (given or [self.groups[0][0]])[0].simulate(rng)

"""Several tests of the same data, which share whatever they can."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from goodstein.engine.executors import Workers
from goodstein.errors import BandwidthError
from goodstein.kernels.bandwidth import Median
from goodstein.kernels.base import Kernel, RadialKernel
from goodstein.problems.problem import Problem
from goodstein.stein.forms import BlockForm
from goodstein.stein.shared import joint_statistics
from goodstein.types import Array


@dataclass(frozen=True)
class Collection:
    """Problems that differ in operator and kernel only.

    Attributes
    ----------
    groups
        For every operator a problem with it, and the kernels to use; the kernel of the problem does not
        count.
    fallback
        Kernels for data that have no scale of their own, in the order of the problems.
    """

    groups: tuple[tuple[Problem, tuple[Kernel, ...]], ...]
    fallback: tuple[Kernel, ...] | None = None

    @property
    def data(self) -> Any:
        """The data of all problems."""
        return self.groups[0][0].data

    @property
    def model(self) -> Any:
        """The model of all problems."""
        return self.groups[0][0].model

    @cached_property
    def problems(self) -> list[Problem]:
        """All members; those with the same operator share its features."""
        members: list[Problem] = []
        for problem, kernels in self.groups:
            shared = {"fitted_operator": problem.fitted_operator, "features": problem.features}
            for kernel in self._fitted(problem, kernels, len(members)):
                member = replace(problem, kernel=kernel)
                member.__dict__.update(shared)
                members.append(member)
        return members

    def _fitted(self, problem: Problem, kernels: tuple[Kernel, ...], place: int) -> list[Kernel]:
        """Kernels with their bandwidths fixed; multiples of the median distance need it only once."""
        points = problem.features.points
        median: float | None = None
        fitted: list[Kernel] = []
        try:
            for kernel in kernels:
                rule = getattr(kernel, "bandwidth", 1.0)
                # A kernel that says itself how it is fitted is asked.
                usual = isinstance(kernel, RadialKernel) and type(kernel).fitted is RadialKernel.fitted
                if usual and (rule is None or type(rule) is Median):
                    if median is None:
                        median = Median()(points)
                    width = median * (1.0 if rule is None else rule.scale)
                    fitted.append(replace(kernel, bandwidth=width))  # type: ignore[type-var]
                else:
                    fitted.append(kernel.fitted(points))
        except BandwidthError:
            if self.fallback is None:
                raise
            return list(self.fallback[place : place + len(kernels)])
        return fitted

    @property
    def forms(self) -> list[BlockForm]:
        """The Stein forms of all members."""
        return [problem.form for problem in self.problems]

    def statistics(self, workers: Workers = 1) -> Array:
        """The U-statistics of all members."""
        forms = self.forms
        if len({form.n for form in forms}) > 1:
            return np.array([problem.statistic(workers) for problem in self.problems])
        return joint_statistics(forms, None, workers=workers)[0]

    def with_data(self, data: Any) -> Collection:
        """The same questions of other data, such as simulated ones.

        A sample of equal points, such as durations that all end with the study, has no scale of its own and
        takes the bandwidths of these data.
        """
        fallback = self.fallback or tuple(problem.kernel for problem in self.problems)
        return Collection(tuple((p.with_data(data), kernels) for p, kernels in self.groups), fallback)

    def with_model(self, model: Any) -> Collection:
        """The same questions of another model."""
        return replace(self, groups=tuple((p.with_model(model), kernels) for p, kernels in self.groups))

    def simulate(self, rng: np.random.Generator) -> Any:
        """Draw from the model as many observations as there are, of the same kind.

        From the model as it was given: some operators put one that was fitted in its place.
        """
        given = [problem for problem, _ in self.groups if not hasattr(problem.operator, "null_model")]
        return (given or [self.groups[0][0]])[0].simulate(rng)

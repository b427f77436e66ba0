"""The wild bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from goodstein.auditing.serial import Dependence
from goodstein.constraints import check_count, check_option, number
from goodstein.engine.executors import Workers
from goodstein.engine.reduce import quadratic_forms
from goodstein.engine.schemes import IndependentSigns, OrthogonalSigns
from goodstein.errors import InputError, given
from goodstein.nulls.base import Calibration, JointCalibration, Null
from goodstein.problems.problem import Collection, Problem
from goodstein.stein.forms import BlockForm
from goodstein.stein.shared import joint_statistics
from goodstein.types import Array
from goodstein.validation import draw_seed

LIBERAL = 5.0
"""Correlation times between two changes of sign, on average, below which a given `flip` is called liberal."""


@dataclass(frozen=True)
class WildBootstrap(Null):
    """Multiply the observations' features by random signs: U* = Σ_{i≠j} ε_i ε_j H_ij / n(n−1).

    Its level is asymptotic, and measured in ``validation/size.md``. With signs the U- and the V-statistic
    give the same p-value. Where rows are independent :class:`Perturbed` has labels drawn anew in their place.

    Parameters
    ----------
    n_resamples
        Number of draws.
    signs
        ``"orthogonal"``: sign patterns orthogonal over random blocks of rows, as accurate as
        independent ones and several times faster; ``"iid"``: independent signs, the reference.
    flip
        Probability that the sign changes from one row to the next. One half gives independent signs.
        ``"auto"`` is one half unless the rows are found to depend on each other in their order, as draws of a
        Markov chain do (:mod:`goodstein.auditing.serial`); then it is zero but for the first rows of batches,
        five correlation times long, whose sums are nearly independent. Of a given number below
        one half, which makes the signs a Markov chain, 1/flip should be ten correlation times or more, and
        n·flip ten or more: too large a flip is liberal, too small a one conservative, and batches are both
        less (``validation/size.md``). Signs of several chains (:class:`goodstein.Chains`) are independent.

    References
    ----------
    Chwialkowski, Strathmann, Gretton (2016), A kernel test of goodness of fit. Canay, Romano, Shaikh (2017),
    Randomization tests under an approximate symmetry assumption, for signs of few batches.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0, 1).sample(100, rng=1)
    >>> gs.ksd_test(x, gs.families.Normal(1, 1), null=gs.WildBootstrap(n_resamples=199), rng=1).pvalue
    0.005
    """

    n_resamples: int = 999
    signs: Literal["orthogonal", "iid"] = "orthogonal"
    flip: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")
        check_option(self.signs, "signs", ("orthogonal", "iid"))
        if not (isinstance(self.flip, str) and self.flip == "auto"):
            wanted = "a probability in (0, 0.5] or 'auto'; one half is for independent data"
            number(self.flip, "flip", above=0.0, most=0.5, wanted=wanted)

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        form = problem.form
        weights = self.weights(problem, form.n, rng)
        statistic, draws = quadratic_forms(form, weights, workers=workers)
        return Calibration(statistic, self._redrawn([form], draws[None], weights, rng)[0])

    def calibrate_jointly(
        self, collection: Collection, *, workers: Workers, rng: np.random.Generator
    ) -> JointCalibration:
        forms = collection.forms
        sizes = sorted({form.n for form in forms})
        if len(sizes) > 1:
            raise InputError(
                f"The members look at different numbers of observations ({', '.join(map(str, sizes))}), so "
                "they cannot share random signs. Leave out those that split the data, or use "
                f"{given('null', 'MonteCarlo()')}."
            )
        weights = self.weights(collection, sizes[0], rng)
        statistics, draws = joint_statistics(forms, weights, workers=workers)
        return JointCalibration(statistics, self._redrawn(forms, draws, weights, rng))

    def _redrawn(
        self,
        forms: Sequence[BlockForm],
        draws: Array,
        weights: IndependentSigns | OrthogonalSigns,
        rng: np.random.Generator,
    ) -> Array:
        """Draws of forms that know better than by signs, where rows are independent, in the place of these.

        They are independent of the other members' draws, which makes the smallest p-value of all larger if
        anything: Gaussian correlation inequality.
        """
        if isinstance(weights, OrthogonalSigns) or weights.flip == 0.5:
            for k, form in enumerate(forms):
                own = form.redrawn(self.n_resamples, rng)
                draws[k] = draws[k] if own is None else own
        return draws

    def smallest_pvalue(self, asked: Problem | Collection, n: int) -> float:
        """The probability of equal signs in all rows: such a draw is the statistic itself."""
        flip, starts = self._changes(asked, n)
        return float((1.0 - flip) ** (n - len(starts)) * 0.5 ** (len(starts) - 1))

    def allows(self, dependence: Dependence) -> bool:
        return isinstance(self.flip, str) or self.flip * LIBERAL * dependence.time <= 1.0

    def weights(
        self, asked: Problem | Collection, n: int, rng: np.random.Generator
    ) -> IndependentSigns | OrthogonalSigns:
        """Random signs of n rows."""
        seed = draw_seed(rng)
        flip, starts = self._changes(asked, n)
        if self.signs == "orthogonal" and flip == 0.5:
            return OrthogonalSigns(seed, n, self.n_resamples)
        return IndependentSigns(seed, n, self.n_resamples, flip, tuple(map(int, starts)))

    def _changes(self, asked: Problem | Collection, n: int) -> tuple[float, Sequence[int]]:
        """The probability that a sign changes, and rows before which it is one half whatever it is else."""
        if not isinstance(self.flip, str):
            # Some operators look at a part of the data only.
            sequences = asked.data.sequences if len(asked.data) == n else (n,)
            return float(self.flip), np.cumsum([0, *sequences[:-1]]).tolist()
        dependence = asked.dependence
        return (0.0, dependence.batches.tolist()) if dependence.found else (0.5, [0])

"""The wild bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np

from goodstein.engine.executors import Workers
from goodstein.engine.reduce import IndependentSigns, OrthogonalSigns, quadratic_forms
from goodstein.errors import InputError, given
from goodstein.nulls.base import Calibration, JointCalibration, Null
from goodstein.problems.problem import Collection, Problem
from goodstein.stein.shared import joint_statistics
from goodstein.validation import check_count, draw_seed


@dataclass(frozen=True)
class WildBootstrap(Null):
    """Multiply the observations' features by random signs: U* = Σ_{i≠j} ε_i ε_j H_ij / n(n−1).

    Its level is asymptotic, and measured in ``validation/size.md``. With signs the U- and the V-statistic
    give the same p-value.

    Parameters
    ----------
    n_resamples
        Number of draws.
    signs
        ``"orthogonal"``: sign patterns orthogonal over random blocks of rows, as accurate as
        independent ones and several times faster; ``"iid"``: independent signs, the reference.
    flip
        Probability that the sign changes from one row to the next. One half gives independent signs; smaller
        values suit dependent data in their order of time, such as a Markov chain. Signs damp the covariance
        at lag k by (1 − 2·flip)^k, so 1/flip should be ten times the correlation time or more, while n·flip
        should not fall below ten or so: too large a flip is liberal, too small a one conservative
        (``validation/size.md``). Chains are independent of each other, whatever ``signs`` says.

    References
    ----------
    Chwialkowski, Strathmann, Gretton (2016), A kernel test of goodness of fit.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0, 1).sample(100, rng=1)
    >>> gs.ksd_test(x, gs.families.Normal(1, 1), null=gs.WildBootstrap(n_resamples=199), rng=1).pvalue
    0.005
    """

    n_resamples: int = 999
    signs: Literal["orthogonal", "iid"] = "orthogonal"
    flip: float = 0.5

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")
        if self.signs not in ("orthogonal", "iid"):
            raise InputError(f'`signs` must be "orthogonal" or "iid", got {self.signs!r}.')
        if not (isinstance(self.flip, Real) and 0.0 < self.flip <= 0.5):
            raise InputError(
                f"`flip` must be a probability in (0, 0.5], got {self.flip!r}. One half is for "
                "independent data."
            )

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        form = problem.form
        return Calibration(*quadratic_forms(form, self._weights(form.n, rng), workers=workers))

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
        weights = self._weights(sizes[0], rng)
        return JointCalibration(*joint_statistics(forms, weights, workers=workers))

    def smallest_pvalue(self, n: int) -> float:
        """(1 − flip)^(n−1), the probability of equal signs: such a draw is the statistic itself."""
        return float((1.0 - self.flip) ** (n - 1))

    def _weights(self, n: int, rng: np.random.Generator) -> IndependentSigns | OrthogonalSigns:
        seed = draw_seed(rng)
        if self.signs == "orthogonal" and self.flip == 0.5:
            return OrthogonalSigns(seed, n, self.n_resamples)
        return IndependentSigns(seed, n, self.n_resamples, float(self.flip))

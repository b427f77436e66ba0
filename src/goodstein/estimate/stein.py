"""Minimum kernel Stein discrepancy estimation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.adapters.model import as_model
from goodstein.auditing.boundary import check_boundary, exponents
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.estimate.base import Sample, as_family, as_sample, require_rows
from goodstein.estimate.discrepancy import DiscrepancyObjective
from goodstein.estimate.fit import Fit, search
from goodstein.kernels.base import Kernel
from goodstein.kernels.whitened import Whitened
from goodstein.models.model import Model
from goodstein.operators.base import Operator, fitted_operator
from goodstein.pipeline.compose import as_generator, check_parts, choose_kernel, placed, seeded
from goodstein.stein.features import SteinFeatures
from goodstein.types import RNG, Array
from goodstein.validation import check_count

PROBE = 2.0**200
"""Size of the scores by which an operator's slopes are found; a power of two, so that nothing is rounded."""

LOST = 1e-3
"""Rounding error of a feature, as a share of their typical size, that spoils the estimate."""


@dataclass(frozen=True)
class MinimumStein:
    r"""The parameters that minimise the kernel Stein discrepancy between model and data.

    .. math:: \hat θ = \arg\min_θ \frac{1}{n^2} \sum_{ij} h_θ(x_i, x_j),

    the ``v_statistic`` of :func:`goodstein.ksd_test` with the same operator and kernel, its bandwidth fixed
    from the data once. The Stein features are affine in the score, so for exponential families the minimum
    is a closed form. The V-statistic is taken, diagonal included, because it is never negative: there is
    always a minimum, and no search can run away. The U-statistic has neither property, and for the families
    here its minimum is the more biased one in small samples.

    Standard errors are those of an estimator that minimises a statistic of degree 2.

    Parameters
    ----------
    operator
        Stein operator; None takes what :func:`goodstein.ksd_test` takes on the domain. Any whose features are
        affine in the score.
    kernel
        None takes :class:`goodstein.IMQ` with the median bandwidth.
    starts
        From how many points to search, for families without a closed form.
    max_iterations
        Steps of each search.

    References
    ----------
    Barp, Briol, Duncan, Girolami & Mackey (2019), "Minimum Stein discrepancy estimators", *NeurIPS* 32.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import Dirichlet, MinimumStein
    >>> x = gs.families.Dirichlet([0.5, 1.0, 2.0]).sample(1000, rng=1)
    >>> MinimumStein().fit(x, Dirichlet()).parameters["alpha"].round(1)
    array([0.5, 1. , 2. ])
    """

    operator: Operator | None = None
    kernel: Kernel | None = None
    starts: int = 5
    max_iterations: int = 500

    def __post_init__(self) -> None:
        check_parts(None, self.operator)
        if self.kernel is not None:
            choose_kernel(self.kernel, None)  # type: ignore[arg-type]
        check_count(self.starts, "starts")
        check_count(self.max_iterations, "max_iterations")

    def fit(self, data: Any, family: Any, *, domain: Domain | None = None, rng: RNG = None) -> Fit:
        """Fit a family to data; see :meth:`TruncatedScoreMatching.fit`."""
        family = as_family(family)
        sample = as_sample(data, family, domain)
        sample = replace(sample, axes=getattr(family, "ambient", False))
        generator = as_generator(rng)
        operator = seeded(placed(self.operator, None, sample.domain), 0)
        operator = fitted_operator(operator, sample.data, sample.domain)
        _require_identity(operator, sample)
        features, slopes = _affine_features(operator, sample)
        kernel = choose_kernel(self.kernel, operator).fitted(features.points)
        if isinstance(kernel, Whitened):
            mapped = [_mapped(features, value, kernel) for value in np.moveaxis(slopes, 2, 0)]
            features, slopes = features.mapped(kernel.linear_map), np.stack(mapped, axis=2)
            kernel = kernel.kernel
        scores = family.scores(sample)
        require_rows(scores, repr(family))
        objective = DiscrepancyObjective(scores, features, slopes, kernel)
        fit = search(self, family, sample, objective, generator)
        if objective.lost(fit._coordinates) > LOST:
            raise InputError(
                f"`data`: some rows are so near to the boundary of {sample.domain!r}, and scores there so "
                "large, that the discrepancy has no digits left. Use TruncatedScoreMatching(), whose weights "
                "are small there, or remove these rows, in a way you can defend."
            )
        check = check_boundary(
            as_model(fit.model).on(sample.domain),
            sample.domain,
            operator,
            sample.data,
            np.random.default_rng(0),
        )
        return fit.with_notes([check.message]) if check.status == "fail" else fit


class Field:
    """A score that is the same vector everywhere, or given row by row."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __call__(self, x: Array) -> Array:
        """The score at points (n, d)."""
        return np.broadcast_to(self.values, x.shape).copy()


def _mapped(features: SteinFeatures, value: Array, kernel: Whitened) -> Array:
    return SteinFeatures(features.points, value, features.weight).mapped(kernel.linear_map).value


def _require_identity(operator: Operator, sample: Sample) -> None:
    """Raise where Stein's identity fails even for a density that is bounded."""
    if not (sample.domain.has_boundary and hasattr(operator, "boundary_weight")):
        return
    flat = Model(score=Field(np.zeros(1)), domain=sample.domain, batched=True)
    for face in exponents(flat, sample.domain, operator, sample.data, np.random.default_rng(0)):
        if not face.identity:
            raise InputError(
                f"{operator!r} does not vanish at the face {face.face} of {sample.domain!r}, so Stein's "
                "identity fails there and the estimate would be wrong. Leave `operator` out, or use "
                "Standardised()."
            )


def _affine_features(operator: Operator, sample: Sample) -> tuple[SteinFeatures, Array]:
    """The features at score zero, and how the values change with the score along each direction, (n, J, m).

    They are found by asking the operator, so that an operator of a user's own will do.
    """

    def at(score: Array) -> SteinFeatures:
        model = Model(score=Field(score), domain=sample.domain, batched=True, name="a probe")
        found = operator.features(model, sample.domain, sample.data)
        if type(found) is not SteinFeatures:
            raise InputError(
                f"{operator!r} has no features (points, value, weight) that are affine in the score, so it "
                "cannot be used to estimate. Use Langevin(), Standardised(), LogRatio() or Mirrored()."
            )
        return found

    zero = at(np.zeros(sample.domain.dim))
    # With a large score, next to which the value at zero costs the slopes no digits.
    slopes = np.stack([(at(PROBE * k).value - zero.value) / PROBE for k in sample.directions], axis=2)
    trial = np.random.default_rng(0).standard_normal((len(sample), len(sample.directions)))
    seen = at(trial @ sample.directions)
    expected = zero.value + np.einsum("njm,nm->nj", slopes, trial)
    size = float(np.abs(expected).max())
    same = seen.weight is zero.weight or np.array_equal(seen.weight, zero.weight)  # type: ignore[arg-type]
    if np.abs(seen.value - expected).max() > 1e-8 * size or not same:
        raise InputError(
            f"The features of {operator!r} are not affine in the score, so it cannot be used to estimate. "
            "Use Langevin(), Standardised(), LogRatio() or Mirrored()."
        )
    return zero, slopes

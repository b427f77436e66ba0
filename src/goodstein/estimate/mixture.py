"""Mixtures of normal distributions, to be fitted."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from goodstein.errors import InputError
from goodstein.estimate.base import Sample, Scores, require_full
from goodstein.estimate.mixture_scores import MixtureScores
from goodstein.families.checks import as_positive, require_spread
from goodstein.validation import check_count

Covariance = Literal["spherical", "diagonal", "full"]
KINDS = ("spherical", "diagonal", "full")


@dataclass(frozen=True)
class Mixture:
    r"""Mixture of normal distributions, q(x) = Σ_c w_c N(x; μ_c, Σ_c), restricted to the domain.

    With responsibilities r_c and component scores s_c the score is s = Σ_c r_c s_c, and

    .. math:: \nabla \cdot s = \sum_c r_c (\|s_c\|^2 - \mathrm{tr}\, Σ_c^{-1}) - \|s\|^2 .

    Score matching of a mixture has no lower bound: as a component shrinks onto one observation the
    objective falls like −2g·d/(nσ²). So its scale is fixed, or has a floor.

    Parameters
    ----------
    components
        Number of components K.
    covariance
        ``"spherical"``, ``"diagonal"`` or ``"full"``.
    scale
        Standard deviation of all components, if it is known; spherical components only.
    smallest_scale
        No component has a smaller standard deviation, in any direction. None takes the standard deviation
        within the clusters of k-means times (m²/n)^(1/4), at most ½, where m is how often the most frequent
        row occurs: the size at which a component on that row alone lowers the objective by about its own
        sampling error. A fit says where the floor was reached; what lies there was not estimated.
    margin
        How far outside of the bounding box of the data a mean may lie, as a share of its sides. Means of
        truncated distributions may lie outside of the domain; but of many components some then become
        mere tails, of any weight, and hardly a draw of the mixture falls into the domain. With 0 none does.

    Notes
    -----
    Components are ordered by their means, by the first coordinate first. Standard deviations are at most
    ten times that of the data. Weights are those of the mixture before truncation; those of components
    that lie far apart are hardly determined, because the score does not feel them.

    References
    ----------
    Liu, Kanamori & Williams (2022), "Estimating density models with truncation boundaries using score
    matching", *Journal of Machine Learning Research* 23(186).
    Wenliang & Kanagawa (2020), "Blindness of score-based methods to isolated components and mixing
    proportions", arXiv:2008.10087.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import Mixture, TruncatedScoreMatching
    >>> square = gs.Box([0, 0], [1, 1])
    >>> truth = gs.families.GaussianMixture([0.5, 0.5], [[0.2, 0.3], [0.8, 0.7]], [0.04, 0.04])
    >>> x = gs.families.Truncated(truth, square).sample(2000, rng=1)
    >>> fit = TruncatedScoreMatching().fit(x, Mixture(2, scale=0.2), domain=square, rng=1)
    >>> fit.parameters["means"].round(1)
    array([[0.2, 0.3], [0.8, 0.7]])
    """

    components: int
    covariance: Covariance = "spherical"
    scale: float | None = None
    smallest_scale: float | None = None
    margin: float = 0.5

    def __post_init__(self) -> None:
        check_count(self.components, "components")
        if self.covariance not in KINDS:
            raise InputError(
                f"`covariance` must be one of {', '.join(map(repr, KINDS))}, got {self.covariance!r}."
            )
        for name in ("scale", "smallest_scale"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_positive(name, getattr(self, name)))
        if (
            isinstance(self.margin, bool)
            or not isinstance(self.margin, (int, float))
            or not 0 <= self.margin < 100
        ):
            raise InputError(f"`margin` must be a number of at least 0, got {self.margin!r}.")
        if self.scale is not None and self.smallest_scale is not None:
            raise InputError("`scale` fixes all scales, so `smallest_scale` has no use. Pass one of them.")
        if self.scale is not None and self.covariance != "spherical":
            raise InputError(
                f"`scale` fixes spherical components, got covariance={self.covariance!r}. Leave one of them "
                "out, or pass `smallest_scale`."
            )

    def __repr__(self) -> str:
        given = [f"{f.name}={v!r}" for f in fields(self)[1:] if (v := getattr(self, f.name)) != f.default]
        return f"Mixture({', '.join([str(self.components), *given])})"

    def scores(self, sample: Sample) -> Scores:
        """The mixture at these data."""
        require_full(sample, f"Mixture({self.components})")
        require_spread(sample.data, "`data`")
        distinct = len(np.unique(sample.data, axis=0))
        if distinct < self.components:
            raise InputError(
                f"`data`: {distinct} distinct rows are too few for {self.components} components. Ask for "
                "fewer."
            )
        return MixtureScores(self, sample)

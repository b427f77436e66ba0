"""A mixture seen through the labels of its components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goodstein.families.mixture import GaussianMixture, _log_sum_exp
from goodstein.types import Array


@dataclass(frozen=True)
class Labels:
    """The latent variable of a mixture: x | z ~ N(μ_z, Σ_z), with P(z = j) = w_j."""

    mixture: GaussianMixture

    def conditional_score(self, x: Array, z: npt.NDArray[np.intp]) -> Array:
        """Σ_z⁻¹(μ_z − x), (n, d), for labels (n,)."""
        score = np.empty_like(x)
        for j, (mean, scatter) in enumerate(zip(self.mixture.means, self.mixture._scatters, strict=True)):
            score[z == j] = (mean - x[z == j]) @ scatter.precision
        return score

    def posterior_sample(self, x: Array, draws: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Labels by the responsibilities of the components, (n, draws)."""
        joint = self.mixture._log_joint(x)
        responsibilities = np.exp(joint - _log_sum_exp(joint)[:, None])
        edges = np.cumsum(responsibilities[:, :-1], axis=1)
        return np.asarray((rng.random((len(x), draws, 1)) >= edges[:, None]).sum(axis=2))

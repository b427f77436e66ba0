"""Many directions at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from goodstein.constraints import MOST_DRAWS, check_count, check_seed
from goodstein.domains import Domain
from goodstein.kernels.base import Kernel
from goodstein.kernels.frames import Located
from goodstein.lazy import cached_property
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import Names, View, projected, unit_frame
from goodstein.stein.features import SteinFeatures, SteinForm
from goodstein.stein.forms import BlockForm
from goodstein.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Sliced(View):
    """Another operator seen along random directions: the mean over v of the forms of f(y) = v φ_v(v·y).

    Each direction is a :class:`Direction`, and a kernel in one dimension does not lose its power when there
    are many coordinates. On R^d and on boxes directions are drawn in the coordinates of the default kernels,
    ``Whitened(metric="score")``, in which neither units nor correlations count; one bandwidth, by the mean of
    their median distances, serves all.

    Parameters
    ----------
    count
        How many directions there are.
    operator
        The operator inside, with plain :class:`SteinFeatures`; None takes the domain's own, on a sphere
        :class:`Tangential`.
    seed
        Seed of the directions; tests take it from their ``rng``.

    References
    ----------
    Gong, Li, Hernández-Lobato (2021), Sliced kernelized Stein discrepancy.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal([0.0] * 50)
    >>> x = gs.families.Laplace([0.0] * 50, 0.8).sample(300, rng=1)
    >>> gs.ksd_test(x, model, operator=gs.Sliced(50), rng=1).pvalue < 0.01
    True
    """

    count: int = 20
    operator: Operator | None = None
    seed: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        set_inner(self)
        check_count(self.count, "count", most=MOST_DRAWS, of="Sliced")
        check_seed(self.seed, of="Sliced")

    def looks_at(self, names: Names = None) -> str:
        return f"{self.count} random directions"

    def seeded(self, seed: int) -> Self:
        return super().seeded(seed)._with(seed=seed)

    def features(self, model: Any, domain: Domain, data: Any) -> SlicedFeatures:
        """(v·y, v·a, vᵀGv) for every direction."""
        inner = self.square(model, domain, data)
        return self._sliced(inner, inner, domain)

    def features_beside(
        self, features: Any, model: Any, domain: Domain, others: Any
    ) -> SlicedFeatures | None:
        """The others in the metric of the data."""
        joint = self.inner(domain).features_beside(features.inside, model, domain, others)
        return self._sliced(joint, features.inside, domain) if isinstance(joint, SteinFeatures) else None

    def _sliced(self, features: SteinFeatures, own: SteinFeatures, domain: Domain) -> SlicedFeatures:
        """The metric is that of some of the observations."""
        frame = unit_frame(own, domain)
        moved = features if frame is None else features.seen_in(frame)
        rng = np.random.default_rng([self.seed, 6])
        vectors = rng.standard_normal((self.count, moved.points.shape[1]))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return SlicedFeatures(tuple(projected(moved, vector[:, None]) for vector in vectors), own)

    def _arguments(self) -> list[str]:
        return [str(self.count)]


@dataclass(frozen=True)
class SlicedFeatures(Located):
    """The features along several directions, and those of all coordinates of which they were made."""

    slices: tuple[SteinFeatures, ...]
    inside: SteinFeatures

    def __len__(self) -> int:
        return len(self.slices[0])

    @property
    def points(self) -> Array:
        """The coordinates along all directions, (n, count)."""
        return np.hstack([part.points for part in self.slices])

    @cached_property
    def median_distance(self) -> float:
        """The mean of those along each direction."""
        return float(np.mean([part.median_distance for part in self.slices]))

    def joined(self, others: Sequence[Self]) -> Self:
        """These and the others, one after another."""
        parts = zip(self.slices, *(other.slices for other in others), strict=True)
        return replace(self, slices=tuple(first.joined(rest) for first, *rest in parts))

    def form(self, kernel: Kernel) -> SlicedForm:
        """The mean of their Stein matrices."""
        return SlicedForm(tuple(SteinForm(*part.seen_by(kernel)) for part in self.slices))


class SlicedForm(BlockForm):
    """The mean of forms of the same observations."""

    def __init__(self, forms: Sequence[BlockForm]) -> None:
        self.forms = tuple(forms)

    @property
    def n(self) -> int:
        return self.forms[0].n

    def block(self, rows: slice, cols: slice) -> Array:
        # A block may be scratch of this thread, which the next form overwrites.
        out = np.array(self.forms[0].block(rows, cols))
        for form in self.forms[1:]:
            out += form.block(rows, cols)
        return np.asarray(out / len(self.forms))

    def diagonal(self) -> Array:
        return np.asarray(np.mean([form.diagonal() for form in self.forms], axis=0))

    def take(self, index: Any) -> SlicedForm:
        return SlicedForm([form.take(index) for form in self.forms])

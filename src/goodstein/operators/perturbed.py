"""The perturbed test: observations are moved between isolated modes, and must not mind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.constraints import numbers
from goodstein.domains.base import Domain
from goodstein.errors import InputError, must, refuse_rows
from goodstein.kernels.base import Kernel
from goodstein.kernels.finite import OwnFunctions, refuse_kernel
from goodstein.lazy import Kept
from goodstein.operators.base import Operator
from goodstein.operators.mode_search import Modes, find_modes, log_density
from goodstein.stein.finite import FiniteFeatures, LabelFeatures
from goodstein.types import Array, ArrayLike

RARELY = 0.1
"""Share of what moves between the modes could tell, below which it is too little to go on."""


@dataclass(frozen=True, eq=False)
class Perturbed(Operator):
    r"""T f(x) = f(x) − E[f(X′) | x], with X′ the point x after a move between isolated modes of the model.

    Where modes lie far apart scores do not see how the mass is shared among them, or that one is missing.
    Let the modes be x = μ_j + L_j z. A point x of mode i has one place in every mode, y_j = μ_j + L_j z with
    the same z, and the move that draws one of them with probabilities

    .. math:: \pi_j(z) \propto q(y_j)\, |\det L_j|

    leaves the model as it is, whatever μ and L are, so that E_q T f = 0. The test functions are the
    indicators of the modes' own regions (of the mixture of normals N(μ_j, L_jL_jᵀ)), divided by the roots of
    the shares; a place in the region of another mode is not moved to. So τ_j(x) = 1[x in j] − π_j(z): the
    shares of the modes, less what the model says of each observation, and of them alone. It
    belongs beside an operator that sees the shapes, ``operators=[Langevin(), Perturbed()]``.

    Only the log density is needed, up to a constant: no score, no sampler.

    Parameters
    ----------
    modes
        Starting points of the search for modes, (M, d), one near each. None starts from draws of the model;
        where it cannot be drawn from, from the observations and from points that spread more widely.

    Notes
    -----
    Given z, labels are independent with known probabilities, so :class:`WildBootstrap` draws them anew
    instead of signs, unless rows depend on each other: exact at every n for given maps. Maps come from the
    model alone (its maxima and the curvature there); observations only say where to look for them, and that
    only where there is neither a sampler nor `modes`. What this does to the level is in
    ``validation/size.md``.

    The published version moves every observation at random and tests the moved ones by scores. It sees wrong
    shares only as far as moves that do not succeed change the shape of a mode. Here the mean over the move is
    taken, and the test functions see the shares themselves.

    References
    ----------
    Liu, Duncan, Gandy (2023), Using perturbation to improve goodness-of-fit tests based on kernelized Stein
    discrepancy. Hodgkinson, Salomone, Roosta (2020), The reproducing Stein kernel approach for post-hoc
    corrected sampling, for operators of Markov kernels.

    Examples
    --------
    >>> import goodstein as gs
    >>> far = gs.families.GaussianMixture([0.5, 0.5], [-5.0, 5.0], 1.0)
    >>> model = gs.Model(logpdf=far.logpdf)
    >>> x = gs.families.GaussianMixture([0.7, 0.3], [-5.0, 5.0], 1.0).sample(100, rng=1)
    >>> gs.ksd_test(x, model, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Perturbed(), rng=1).pvalue < 0.01
    True
    """

    modes: ArrayLike | None = None
    _kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)

    conditions_suffice = True  # no annotation: not a field
    title = "Perturbed Stein test of the shares of modes"

    def __post_init__(self) -> None:
        if self.modes is not None:
            modes = np.array(numbers(self.modes, "modes", ndim=(1, 2), of="Perturbed"))
            modes = modes[:, None] if modes.ndim == 1 else modes
            if len(modes) < 2:
                raise must("modes", "at least two points, one near each mode", self.modes, "Perturbed")
            modes.setflags(write=False)
            object.__setattr__(self, "modes", modes)

    def looks_at(self, names: Sequence[str] | None = None) -> str:
        """What it looks at, in words."""
        return "the shares of isolated modes"

    def on(self, domain: Domain) -> Perturbed:
        if not domain.flat or domain.basis is not None:
            raise InputError(
                f"Perturbed moves points of R^d and of its full-dimensional parts, and {domain!r} is no such."
            )
        if self.modes is not None and np.shape(self.modes)[1] != domain.dim:
            wanted = f"points with {domain.dim} coordinates, as the data have"
            raise must("modes", wanted, self.modes, "Perturbed")
        return self

    def found(self, model: Any, domain: Domain, data: Array) -> Modes:
        """The modes between which points are moved: two and more, or none."""
        if not model.has_logpdf:
            raise InputError(
                f"Perturbed compares log densities at places far apart, and {model.name} has only a score.",
                remedy="Pass Model(logpdf=...), up to a constant.",
            )
        starts = None if self.modes is None else np.asarray(self.modes)
        # Many samples of a model have the same modes; without a sampler the data say where to look.
        asked = model if model.has_sample or starts is not None else data
        modes: Modes = self._kept(lambda: find_modes(model, domain, data, starts), 0, model, domain, asked)
        return modes

    def features(self, model: Any, domain: Domain, data: Array) -> LabelFeatures:
        """1[x in j] − π_j(z), over the roots of the shares."""
        modes = self.found(model, domain, data)
        if not len(modes):
            raise InputError(_none(model))
        return moved(modes, model, domain, data)

    def features_beside(self, features: Any, model: Any, domain: Domain, others: Array) -> FiniteFeatures:
        """The others between the same modes."""
        assert isinstance(features, LabelFeatures)
        return features.joined([moved(features.context, model, domain, others)])

    def default_kernel(self) -> Kernel:
        return OwnFunctions()

    def adapted(self, kernel: Kernel) -> Kernel:
        return refuse_kernel(self, kernel)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """Modes that lie apart, and moves between them that succeed; no identity has to hold at an edge."""
        question = Question("moves between modes")
        if data is None:
            return [question.skipped("Modes are looked for when there are data.")]
        modes = self.found(model, domain, data)
        if not len(modes):
            return [question.failed(_none(model))]
        shares = ", ".join(f"{share:.2g}" for share in modes.shares)
        message = f"{len(modes)} modes of {model.name} lie apart, with about the shares {shares}."
        p = moved(modes, model, domain, data).probabilities
        success = float((p * (1.0 - p)).sum(axis=1).mean() / (1.0 - modes.shares @ modes.shares))
        if success < RARELY:
            return [
                question.warned(
                    f"{message} They are so unlike each other that moves between them tell {success:.1%} of "
                    "what they could: wrong shares may not be seen."
                )
            ]
        return [question.passed(message)]

    @property
    def given(self) -> Perturbed:
        """Without what was found, which a result has no use for."""
        return Perturbed(self.modes)

    def __repr__(self) -> str:
        return "Perturbed()" if self.modes is None else f"Perturbed({np.asarray(self.modes).tolist()})"


def moved(modes: Modes, model: Any, domain: Domain, x: Array) -> LabelFeatures:
    """The mode of each observation, and the probabilities of all of its places."""
    labels = modes.labels(x)
    z = modes.standardised(x)[labels, np.arange(len(x))]
    logs = np.full((len(x), len(modes)), -np.inf)
    for j in range(len(modes)):
        here = labels == j
        place = np.where(here[:, None], x, modes.place(z, j))
        own = here | (modes.labels(place) == j)
        logs[own, j] = log_density(model, domain, place[own]) + modes.log_volumes[j]
    observed = logs[np.arange(len(x)), labels]
    refuse_rows(~np.isfinite(observed), f"have no density under {model.name}.", "Remove them.")
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return LabelFeatures.of(
        labels, weights / weights.sum(axis=1, keepdims=True), 1.0 / np.sqrt(modes.shares), modes
    )


def _none(model: Any) -> str:
    return (
        f"No two modes of {model.name} were found that lie apart, so Perturbed has nothing to move between. "
        "Use an operator that sees shapes, such as Langevin(), or name starting points near them: "
        "Perturbed(modes)."
    )

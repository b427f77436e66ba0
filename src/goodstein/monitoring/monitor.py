"""A model that is watched while observations arrive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from goodstein.auditing.fitted import Advice, check_fitted
from goodstein.constraints import check_count, check_flag, check_share, number
from goodstein.data.points import Points, draw
from goodstein.domains.base import Domain
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import InputError, must, warn, within_memory
from goodstein.kernels.base import Kernel
from goodstein.monitoring.bets import Bets, together
from goodstein.monitoring.wealth import Wealth
from goodstein.operators.base import Operator
from goodstein.pipeline.audit import overruled, quick_audit, require_valid
from goodstein.pipeline.compose import compose, draw_seeds
from goodstein.pipeline.split import require_points
from goodstein.problems.problem import Problem
from goodstein.results.bound import bounded
from goodstein.text import Report, Table, short
from goodstein.types import RNG, ArrayLike
from goodstein.validation import as_generator

REFERENCE = 500
"""Draws of the model from which bandwidth, scales and bound are taken."""


class Monitor(Report):
    r"""Watch whether a model fits a stream, with evidence that is valid whenever one looks.

    A gambler bets against the model, on one observation after another. With ξ_x the Stein feature of x,
    ⟨ξ_x, ξ_x′⟩ = h(x, x′), μ_t the mean feature of the first t − 1 observations, in the span of those of the
    first m, and B ≥ sup √h(x, x), the payoff of the t-th is

    .. math:: g_t(x) = \frac{\langle \mu_t, \xi_x \rangle}{\lVert \mu_t \rVert B}, \qquad
              K_t = \prod_{s \le t} \bigl(1 + \lambda_s g_s(x_s)\bigr).

    If the observations are independent draws from the model, the mean of h(z, x_t) is zero for every z, so
    that of g_t(x_t) given the past is too, as μ_t and λ_t depend on the past alone. By the Cauchy–Schwarz
    inequality g_t ≥ −√h(x, x)/B ≥ −1, so that K_t is a martingale and not negative: P(K_t ≥ 1/α at any time)
    ≤ α. One may look after every observation, and stop or go on as one likes. Work for an observation is
    O(m), however many were seen.

    Parameters
    ----------
    model, domain, operator, kernel
        As in :func:`ksd_test`; the data are points. Where under the operator an observation may count without
        limit, on R^d and unbounded boxes ``Standardised(Decaying())`` takes its place, as for a tolerance.
    reference
        Rows from which bandwidth, scales and B are taken, such as earlier data, (n, d); they are not tested.
        None draws 500 from the model, which must then have a sampler.
    landmarks
        m: so many of the first observations span what the bets can see.
    bound
        B, at least sup √h(x, x) over the domain; then the operator is used as it is. None looks for it (as
        :meth:`TestResult.tolerance` does), which is no proof. Stakes λ ≤ ½ leave room for an error: evidence
        is valid as long as sup √h(x, x) ≤ 2B, and an observation beyond that is refused.
    rng
        Seed of the draws.
    audit
        Whether to raise :class:`SteinIdentityError` where Stein's identity does not hold, and so nothing is
        valid.

    Notes
    -----
    **Dependent observations are not allowed**: after its predecessor the next draw of a Markov chain does not
    have the law of the model, and bets on that win. Whether the first m depend on each other is looked at,
    and told. The model must not have been fitted to the stream.

    To go on later pickle it: ``pickle.dump(monitor, file)`` keeps the model and all that was seen.

    The e-value is the wealth now: under the model its mean is one or less at whatever time one stops. The
    p-value is one over the largest wealth so far. A test of fixed size finds more in the same observations:
    ``validation/power.md`` has both.

    References
    ----------
    Martinez-Taboada, Ramdas (2024), Sequential kernelized Stein discrepancy, arXiv:2409.17505. Waudby-Smith,
    Ramdas (2024), Estimating means of bounded random variables by betting, for the stakes.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal([0.0, 0.0])
    >>> monitor = gs.Monitor(model, rng=1)
    >>> x = gs.families.Normal([0.5, 0.0]).sample(1000, rng=2)
    >>> for chunk in (x[:100], x[100:400], x[400:]):
    ...     if monitor.update(chunk).reject(0.01):
    ...         break
    >>> monitor.n < 1000, monitor.evalue > 100
    (True, True)
    """

    def __init__(
        self,
        model: Any,
        *,
        domain: Domain | None = None,
        operator: Operator | None = None,
        kernel: Kernel | None = None,
        reference: ArrayLike | None = None,
        landmarks: int = 256,
        bound: float | None = None,
        rng: RNG = None,
        audit: bool = True,
    ) -> None:
        check_flag(audit, "audit")
        check_count(landmarks, "landmarks", 2, of="Monitor")
        given = None if bound is None else number(bound, "bound", above=0.0, of="Monitor")
        seeds = draw_seeds(as_generator(rng))
        problem = compose(reference, model, domain, operator, kernel, seeds, without_data=reference is None)
        if reference is None:
            problem = replace(problem, data=_drawn(problem, seeds[1]))
        require_points(problem, "Monitor")
        if problem.form.n != len(problem.data):
            raise together(problem.operator)
        self._problem, largest = bounded(problem) if given is None else (problem, given)
        report = quick_audit(self._problem, np.random.default_rng(seeds[0]))
        if audit:
            require_valid([report])
        self._told: list[str] = overruled(report)
        self._n, self._wealth, self._bets = 0, Wealth(), Bets(self._problem, largest, landmarks)

    @property
    def n(self) -> int:
        """Observations seen."""
        return self._n

    @property
    def evalue(self) -> float:
        """The wealth now; 20 or more is evidence against the model at level .05, and so on."""
        return math.exp(min(self._wealth.log, 700.0))

    @property
    def pvalue(self) -> float:
        """One over the largest wealth so far, valid at any time; at most one, and never zero."""
        return math.exp(-min(self._wealth.log_largest, 700.0))

    def reject(self, level: float = 0.05) -> bool:
        """Whether the evidence has reached a level at any time so far."""
        return self.pvalue <= check_share(level, "level")

    def update(self, chunk: ArrayLike) -> Self:
        """Take the next observations, (k, d), in the order in which they came; one or many.

        How the stream is cut into chunks changes nothing.
        """
        problem = self._problem
        if chunk is None:
            raise InputError("is None. Pass the observations.", argument="chunk", predicate=True)
        with within_memory(), one_blas_thread():
            data = problem.data.like(chunk, problem.model, problem.domain)
            self._tell(
                check.message
                for check in check_fitted(
                    problem.model,
                    data.observations,
                    corrected=False,
                    advice=Advice("Watch rows that took no part in the fit."),
                )
            )
            # All or nothing: what cannot be looked at leaves the monitor as it was.
            self._bets.require_bounded(data.observations)
            growing = not self._bets.complete
            for payoffs in self._bets.payoffs(data.observations):
                self._wealth = self._wealth.after(payoffs)
            self._n += len(data)
            if growing and self._bets.complete:
                self._look_at_order()
        return self

    def merge(self, *others: Monitor) -> Monitor:
        """The evidence of several monitors of one model, each with observations of its own: a new monitor.

        If all observations are independent of each other, the product of the e-values is an e-value, also if
        every shard was watched and stopped, or the product was: a factor has mean one given all that was seen
        before, wherever that was. Shards must not have observations in common. (Of e-values that depend on
        each other the mean is an e-value.) The largest wealth so far is then that of the product from now on.
        The new monitor goes on with the bets of the one that has seen most.

        Examples
        --------
        >>> import goodstein as gs
        >>> model = gs.families.Normal(0, 1)
        >>> x = gs.families.Normal(0.4, 1).sample(400, rng=1)
        >>> first = gs.Monitor(model, rng=1).update(x[:200])
        >>> second = gs.Monitor(model, rng=1).update(x[200:])
        >>> both = first.merge(second)
        >>> both.n, both.evalue > max(first.evalue, second.evalue)
        (400, True)
        """
        for k, other in enumerate(others):
            if not isinstance(other, Monitor):
                raise must(f"others[{k}]", "a Monitor", other)
            same = (self._problem.model.name, self._problem.domain)
            if (other._problem.model.name, other._problem.domain) != same:
                raise InputError(f"others[{k}] watches another model, {other._problem.model.name}.")
        everyone = sorted((self, *others), key=lambda monitor: -monitor.n)
        if not self._problem.domain.discrete:
            rows = [set(map(bytes, monitor._bets.rows)) for monitor in everyone]
            if len(set().union(*rows)) < sum(map(len, rows)):
                raise InputError(
                    "The monitors have observations in common, so that their evidence is not independent."
                )
        merged = copy(everyone[0])
        merged._bets = copy(merged._bets)
        merged._told = list(dict.fromkeys(note for monitor in everyone for note in monitor._told))
        for other in everyone[1:]:
            merged._wealth = merged._wealth.times(other._wealth)
            merged._n += other.n
        return merged

    def report(self) -> str:
        """All of it in words."""
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Evidence and how it was obtained, as plain numbers and strings."""
        return {
            "n": self.n,
            "evalue": self.evalue,
            "pvalue": self.pvalue,
            "model": self._problem.model.name,
            "operator": repr(self._problem.fitted_operator),
            "kernel": repr(self._problem.fitted_kernel),
            "bound": self._bets.bound,
            "landmarks": len(self._bets.rows),
            "notes": list(self._told),
        }

    def __repr__(self) -> str:
        return f"<Monitor of {self._problem.model.name}: n = {self.n}, e-value {self.evalue:.3g}>"

    def _title(self) -> str:
        return "Sequential kernel Stein discrepancy test"

    def _tables(self) -> Sequence[Table]:
        told = {
            "model": self._problem.model.name,
            "data": f"{self.n} observations so far on {self._problem.domain!r}",
            "operator": short(self._problem.operator),
            "kernel": short(self._problem.fitted_kernel),
            "e-value": f"{self.evalue:.4g}",
            "p-value": f"{self.pvalue:.4g}   (valid at any time)",
        }
        return [Table((), list(told.items()))]

    def _notes(self) -> Sequence[str]:
        return [f"Note: {note}" for note in self._told]

    def _tell(self, notes: Any) -> None:
        for note in notes:
            if note not in self._told:
                self._told.append(note)
                warn(note)

    def _look_at_order(self) -> None:
        found = self._bets.dependence()
        if found.certain:
            self._tell(
                [
                    "The observations depend on each other in the order in which they come (correlation time "
                    f"{found.time:.3g}), so that the evidence is not valid. Watch every "
                    f"{math.ceil(5 * found.time)}th of them."
                ]
            )


def _drawn(problem: Problem, seed: int) -> Points:
    """Draws of the model."""
    model = problem.model
    if not model.has_sample or problem.domain is None:
        raise InputError(
            f"{model.name} has no sampler, from which bandwidth, scales and bound would be taken.",
            remedy="Pass `reference`, rows of earlier data.",
        )
    return Points(draw(model, problem.domain, REFERENCE, np.random.default_rng(seed)))

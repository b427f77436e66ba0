"""Which null distribution is used where a user names none: the one place that decides."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from goodstein.data.points import Points, draw
from goodstein.domains import Lattice, Naturals, Simplex
from goodstein.errors import InputError, SamplingError
from goodstein.lazy import deferred
from goodstein.nulls.base import Null, as_null
from goodstein.nulls.fitted import FittedWildBootstrap
from goodstein.nulls.montecarlo import MonteCarlo
from goodstein.nulls.parametric import ParametricBootstrap
from goodstein.nulls.wild import WildBootstrap
from goodstein.patterns.single import Pattern
from goodstein.problems.problem import Collection, Problem

conditional_data = deferred("goodstein.conditional.data")
survival_data = deferred("goodstein.survival.data")

AUTO = "auto"
"""What a user writes who leaves the choice to the library."""

BUDGET = 5000.0
"""Milliseconds of one core for a simulated null distribution, about two seconds on a machine with four."""

SAMPLES = (999, 499)
"""Numbers of simulated samples, of which the first is taken that can be had for that."""

REFITS = 499
"""Numbers of simulated samples that are fitted anew where there are few rows for each parameter."""

EXACT_STATES = 1 << 16
"""States of a lattice beyond which the families' own draws are ends of long Markov chains."""


class Choice(NamedTuple):
    """A null method, and why it was chosen; nothing where the user named it."""

    null: Null
    reason: str = ""


def choose_null(
    null: Any, problem: Problem, n_resamples: int = 999, *, automatic: bool = False, members: float = 1
) -> Choice:
    """The user's null method, or the library's.

    By these rules, of which the first that applies decides: what the user names is taken as it is; one
    observation alone has to be simulated; a model that knows that it was fitted to these very data, and how,
    gets the wild bootstrap that takes account of it; with ``"auto"``, or nothing and `automatic`, a model
    that can be drawn from is simulated where that is affordable (:func:`obstacle`); else the wild bootstrap.
    """
    replicated = problem.data.replicated
    named = isinstance(null, str) and null == AUTO
    if null is None or named:
        if not replicated:
            return _of_one(problem)
        if (corrected := FittedWildBootstrap.where_known(problem, n_resamples)) is not None:
            again = problem.model.provenance.refit is not None and problem.model.has_sample
            if again and corrected.few(problem):
                return Choice(ParametricBootstrap(None, REFITS), "fits every simulated sample anew")
            return Choice(corrected, "takes account of the fit of the model to these very data")
        if not (named or automatic):
            return Choice(WildBootstrap(n_resamples))
        reason = obstacle(problem)
        cost = cost_of_a_sample(problem, members)
        count = next((count for count in SAMPLES if count * cost <= BUDGET), None)
        if reason is None and count is not None:
            reason = f"simulated, because the model can be drawn from and {count} samples are affordable"
            return Choice(MonteCarlo(count), reason)
        reason = reason or f"{SAMPLES[-1]} samples of {len(problem.data)} observations would take too long"
        return Choice(WildBootstrap(n_resamples), f"wild bootstrap: {reason}")
    chosen = as_null(null)
    if problem.data.weights is not None and (chosen.simulates or chosen.refits):
        why = "nobody knows the weights of simulated rows" if chosen.simulates else "a fit has other weights"
        raise InputError(
            f"{chosen.given!r} has no place for weighted rows: {why}.",
            argument="null",
            remedy="Use WildBootstrap() or Spectral().",
        )
    if not replicated and not chosen.simulates:
        raise InputError(
            f"One of {problem.data.kind} is one observation, so its null distribution has to be simulated: "
            f"`null` must be MonteCarlo() or ParametricBootstrap(fit), got {null!r}."
        )
    return Choice(chosen)


def _of_one(problem: Problem) -> Choice:
    """One observation alone, which is simulated; a fit to this very pattern is repeated.

    Fits to graphs, by pseudo-likelihood, need not exist for all that are simulated, so nothing is assumed.
    """
    known = problem.model.provenance
    refits = isinstance(problem.data, Pattern) and known is not None and known.refit is not None
    if refits and known.exact(known.rows.among(problem.observations)):
        return Choice(ParametricBootstrap(None, 199), "fits every simulated pattern anew, as this one was")
    return Choice(MonteCarlo(199))


def told_of(choice: Choice) -> dict[str, str]:
    """What a result tells of the choice, where the library made it."""
    return {"null distribution": choice.reason} if choice.reason else {}


def independent(choice: Choice, asked: Problem | Collection, n_resamples: int = 999) -> Choice:
    """The choice, or the wild bootstrap where the library chose to simulate rows that are not independent."""
    if choice.reason and choice.null.simulates and asked.dependence.clear:
        return Choice(WildBootstrap(n_resamples), "wild bootstrap: the rows depend on each other")
    return choice


def obstacle(problem: Problem) -> str | None:
    """Why the model is not simulated; None where it can be drawn from, independently and fast."""
    model, domain = problem.model, problem.domain
    if problem.data.weights is not None:
        return "nobody knows the weights of simulated rows"
    fit = model.provenance
    if fit is not None and fit.exact(fit.rows.among(problem.observations)):
        return f"{model.name} was fitted to these very data, and simulated samples to none"
    if isinstance(problem.data, survival_data.Censored):
        return _cannot_be_drawn(problem)
    if not isinstance(problem.data, Points | conditional_data.Paired):
        return "simulated data of this kind are approximate, or slow"
    if not model.has_sample:
        return f"{model.name} has no sampler"
    if isinstance(problem.data, conditional_data.Paired):
        return None
    if model.latent or model.estimated:
        return f"the score of {model.name} is an estimate"
    if len(problem.data.sequences) > 1:
        return "the data are Markov chains"
    if isinstance(domain, Lattice) and domain.size > EXACT_STATES:
        return f"{model.name} has too many states to be drawn from without a Markov chain"
    try:
        draw(model, domain, 2, np.random.default_rng(0))
    except (InputError, SamplingError) as error:
        if error.argument == "rng":
            raise
        return f"the sampler of {model.name} finds nothing on {domain!r}"
    return None


def _cannot_be_drawn(problem: Problem) -> str | None:
    """The same of durations, whose censoring times are drawn from their Kaplan–Meier estimate."""
    if problem.observations.covariates is not None or problem.observations.entry.any():
        return "simulated durations with covariates or late entry are approximate"
    if not problem.model.samples:
        return f"{problem.model.name} has no sampler of its own"
    try:
        problem.simulate(np.random.default_rng(0))
    except (InputError, SamplingError) as error:
        if error.argument == "rng":
            raise
        return f"the sampler of {problem.model.name} fails"
    return None


def cost_of_a_sample(problem: Problem, members: float) -> float:
    """About how many milliseconds the statistics of one sample take on an ordinary core.

    It must not be measured: the same seed gives the same p-value on every machine. The numbers are those of
    the default collections at n = 50 to 700 in one to twenty columns, to within a factor of two.
    """
    n, d = len(problem.data), 1 if problem.domain is None else problem.domain.dim
    pairs = n**2 * (1.0 + d / 20.0)
    if isinstance(problem.data, conditional_data.Paired):  # one sample after the other
        return members * (0.5 + 3.5e-6 * pairs)
    more = 0.0
    if isinstance(problem.domain, Simplex):  # some members have a matrix for every row
        more = 1e-4 * n * d**2
    elif isinstance(problem.domain, Naturals) and d > 1:  # neighbours, each with a probability of its own
        more = n * (8e-3 * d + 1e-3 * d**2)
    return more + members * (0.12 + 3.2e-6 * pairs)

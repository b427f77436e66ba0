"""From what a test asked to an explanation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from goodstein.auditing.agreement import check_repeatable
from goodstein.conditional.data import Paired
from goodstein.data.points import Points
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import InputError
from goodstein.explain.compare import Bounds, Compared, Stretch, compare, few, from_few, none_of, stretch
from goodstein.explain.explanation import PLACES, Explanation, Finding
from goodstein.explain.fits import fit_of, influence_in
from goodstein.explain.shares import bounded_scores, rare
from goodstein.explain.shares import limits as share_limits
from goodstein.explain.sides import FEW, Drawn, Given, Scored, Side, Timed
from goodstein.explain.step_down import adjusted, log_pvalues
from goodstein.explain.views import Look, Told
from goodstein.models.provenance import Refitting
from goodstein.problems.problem import Problem
from goodstein.survival.data import Censored
from goodstein.types import Array, BoolArray
from goodstein.validation import draw_seed

SAMPLES, REFITS, ROWS = 120, 100, 400
"""Samples of the model that show how far z is from normal, those that are fitted, and rows of each."""

MANY = 20
"""Draws for each row, of models around the fitted one."""

ROWS_AT_MOST = 50_000
"""Rows that are looked at, whose influences are all held."""

SURE = 1e-3
"""Adjusted p-values below which the order is by names first: far out they are extrapolated."""

FEWEST = 20
"""Observations below which nothing is said."""


class About(NamedTuple):
    """What an explanation says besides its findings."""

    level: float
    n: int
    model: str
    notes: tuple[str, ...]


@one_blas_thread()
def explain_problem(problem: Problem, null: Any, *, level: float, rng: np.random.Generator) -> Explanation:
    """Which views of the data a model fails in."""
    whole, notes = len(problem.data), []
    if whole > ROWS_AT_MOST:
        evenly = np.linspace(0, whole - 1, ROWS_AT_MOST).astype(np.intp)
        # Of a fit to all rows nothing is known that could be said of some.
        problem, null = problem.with_data(problem.data.take(evenly)), None
        notes.append(f"{ROWS_AT_MOST} of the {whole} rows were looked at, evenly spaced.")
    fit = fit_of(problem, null)
    side, n = side_of(problem, rng, fit.matters), len(problem.data)
    seeds = [draw_seed(rng) for _ in range(3)]
    values, psi = side.measure(problem.observations)
    reference, bounds = side.reference(), side.bounds()
    # Noise of m draws adds n/8m of a variance for each parameter, at most: the steps are of four errors.
    many = max(FEW, MANY * n)
    slopes = fit.slopes(
        lambda model: side.measure(problem.observations, model)[0] - side.reference(model, many)
    )
    if slopes is not None and fit.influence is not None:
        psi, bounds = psi - fit.influence.values @ slopes, Bounds.none(len(values))
    seldom = np.array([view.kind == PLACES for view in side.look.views]) & rare(reference, n)
    kinds = [
        f"rare {view.kind}" if few_rows else view.kind
        for view, few_rows in zip(side.look.views, seldom.tolist(), strict=True)
    ]
    dependence = problem.dependence
    starts = dependence.batches if dependence.found else None
    compared = compare(values, psi, reference, bounds, starts=starts, added=side.error())
    unseen = side.unseen(reference)
    # That data lie there even less says nothing.
    compared = replace(compared, z=np.where(unseen & (values < reference), 0.0, compared.z))
    if slopes is not None:
        # What the fit matches has no error but that of the model's draws, which says nothing of the data.
        matched = compared.errors**2 < 2.0 * side.error()
        compared = replace(compared, z=np.where(matched, 0.0, compared.z))
    notes += [*side.notes, *fit.notes, *(each.message for each in check_repeatable(problem.model))]
    how = own = none_of(len(values))
    if starts is not None:
        how = own = few(len(values), len(starts), level)
        scores = from_few(compared.z, len(starts))
        may = "depend" if dependence.clear else "may depend"
        notes.append(f"The rows {may} on each other: errors are those of {len(starts)} batches of them.")
    else:
        if not fit.matters:
            how = own = resampled(side, kinds, bounds, n, seeds[1])
            if side.samples:
                how = sampled(side, kinds, reference, bounds, n, seeds[0])
        elif side.samples and fit.refit is not None:
            how, z = refitted(side, kinds, fit.refit, slopes, bounds, n, seeds[0])
            own = how
            if slopes is None:
                compared = replace(compared, sums=z)
        scores = from_few(how.cautious(own, compared.z), n)
        if not fit.matters:
            scores = np.where(seldom, bounded_scores(compared.values, reference, n), scores)
    about = About(level, n, problem.model.name, tuple(notes))
    chosen = np.random.default_rng(seeds[2])
    limits = limits_of(side.look, compared, (how, own), n, level, None if starts is None else len(starts))
    noise = np.sqrt(side.error()) * np.ones(len(values))
    return explained(side.look, problem.observations, compared, limits, unseen, noise, scores, about, chosen)


def side_of(problem: Problem, rng: np.random.Generator, fitted: bool) -> Side:
    """Data and model as they are asked; raises where there is nothing to ask."""
    data, model = problem.data, problem.model
    if not data.replicated:
        raise InputError(
            f"explain() compares many observations with a model, and one of {data.kind} is one observation.",
            remedy="aggregated_test says which looks at it fail, and plot() shows it.",
        )
    if data.weights is not None:
        raise InputError(
            "explain() has no place for weighted rows.", remedy="Ask contributions() of the result instead."
        )
    if len(data) < FEWEST:
        raise InputError(
            f"explain() needs {FEWEST} observations or more, and these are {len(data)}.", argument="data"
        )
    if isinstance(data, Censored):
        return Timed(problem, rng)
    if isinstance(data, Paired) and (problem.domain.discrete or problem.domain.flat):
        if not model.has_sample:
            raise InputError(
                f"explain() compares outcomes with draws of the model, and {model.name} has no sampler.",
                remedy=f"{model.sampler_advice}.",
            )
        return Given(problem, rng)
    if not isinstance(data, Points):
        raise InputError(
            f"explain() knows views of points, durations and outcomes given covariates, not of {data.kind}.",
            argument="data",
            remedy="Ask witness() and contributions() instead.",
        )
    if model.has_sample:
        return Drawn(problem, rng)
    domain = problem.domain
    if domain.discrete or not (domain.flat or domain.basis is not None):
        raise InputError(
            f"explain() compares data on {domain!r} with draws, and {model.name} has no sampler.",
            remedy=f"{model.sampler_advice}.",
        )
    return Scored(problem, rng, fitted)


def sampled(side: Side, kinds: Sequence[str], reference: Array, bounds: Bounds, n: int, seed: int) -> Stretch:
    """How far z is from normal in samples of the model."""
    rows, z = min(n, ROWS), []
    for sample in side.drawn(SAMPLES, rows, seed):
        values, psi = side.measure(sample)
        z.append(compare(values, psi, reference, bounds).z)
    return stretch(np.array(z), kinds, math.sqrt(rows / n), 1.0)


def resampled(side: Side, kinds: Sequence[str], bounds: Bounds, n: int, seed: int) -> Stretch:
    """How far z is from normal in samples of the data's own rows, about the quantities of the data."""
    rows, z = min(n, ROWS), []
    middle, _ = side.of_rows(np.arange(n))
    for k in range(SAMPLES):
        chosen = np.random.default_rng([seed, k]).integers(0, n, rows)
        values, psi = side.of_rows(chosen)
        z.append(compare(values, psi, middle, bounds).z)
    found = np.array(z)
    # Where the variance follows from the mean, samples of data with another mean say nothing of it.
    found[:, np.isfinite(bounds.known)] = 0.0
    return stretch(found, kinds, math.sqrt(rows / n), 1.0)


def refitted(
    side: Side,
    kinds: Sequence[str],
    refit: Refitting,
    slopes: Array | None,
    bounds: Bounds,
    n: int,
    seed: int,
) -> tuple[Stretch, Array]:
    """The same where the model is fitted to every sample; and z of these, (samples, v)."""
    rows, found = min(n, ROWS), []
    many = MANY * rows
    refit = refit.begun(side.problem.observations)
    for k, sample in enumerate(side.drawn(REFITS, rows, seed)):
        try:
            model = refit(sample)
            values, psi = side.measure(sample, model)
            # Of the same draws all of them would be off by the same noise, and be taken for what z is about.
            reference = side.reference(model, many, k)
            moved = None if slopes is None else influence_in(model, sample, slopes)
        except InputError:  # a sample that cannot be fitted, or does not determine all parameters
            continue
        psi = psi if moved is None else psi - moved
        found.append(compare(values, psi, reference, bounds, added=side.error(many)).z)
    if len(found) < 0.9 * REFITS:
        raise InputError(
            f"explain() fits samples of {side.problem.model.name} as the data were fitted, and that fails in "
            f"{REFITS - len(found)} of {REFITS}: there are too few data.",
            remedy="Use a model that was fixed beforehand.",
        )
    z = np.array(found)
    # Without influences the errors are those of a fixed model, too large for what the fit matches.
    shrunk, tail = (math.sqrt(rows / n), 1.0) if slopes is not None else (1.0, 0.05)
    return stretch(z, kinds, shrunk, tail), np.nan_to_num(z - np.nanmean(z, axis=0))


def limits_of(
    look: Look,
    compared: Compared,
    stretches: tuple[Stretch, Stretch],
    n: int,
    level: float,
    batches: int | None,
) -> tuple[Array, Array]:
    """Limits of every view, (v,) each, by whichever stretch they are wider; of shares they stay shares."""
    (low, high), others = (how.limits(compared, level) for how in stretches)
    low, high = np.minimum(low, others[0]), np.maximum(high, others[1])
    share = np.array([view.share for view in look.views])
    c = float(stdtrit(max((batches or math.inf) - 1, 1), 1.0 - level / 2.0))
    within = share_limits(compared.values[share], compared.errors[share], n, c)
    low[share], high[share] = within
    return low, high


def explained(
    look: Look,
    observations: Any,
    compared: Compared,
    limits: tuple[Array, Array],
    unseen: BoolArray,
    noise: Array,
    scores: Array,
    about: About,
    rng: np.random.Generator,
) -> Explanation:
    """Findings in order, with adjusted p-values."""
    known = np.flatnonzero(compared.known)
    if not known.size:
        raise InputError(
            "explain() has nothing to compare: no quantity of these data varies.", argument="data"
        )
    kinds = [look.views[k].kind for k in known.tolist()]
    counts = {kind: kinds.count(kind) for kind in kinds}
    weights = np.array([1.0 / (len(counts) * counts[kind]) for kind in kinds])
    found = adjusted(scores[known], weights, compared.sums[:, known], rng)
    alone = np.exp(log_pvalues(scores))
    low, high = limits
    evidence = log_pvalues(scores[known]) - np.log(weights)
    places = np.array([kind == PLACES for kind in kinds])
    order = np.lexsort((evidence, places, np.maximum(found, SURE)))
    findings = []
    groups = _merged(look, known[order], found[order] <= about.level, compared)
    for place in order.tolist():
        k = int(known[place])
        if (group := groups.get(k, [k]))[0] != k:
            continue  # told with a neighbour
        view, reference = look.views[k], float(compared.reference[k])
        effect, lower, upper = (
            view.shown(float(value), reference) for value in (compared.values[k], low[k], high[k])
        )
        fails, least = bool(found[place] <= about.level), bool(unseen[k])
        told = Told(effect, lower, upper, view.shown(reference, reference), fails, least, float(noise[k]))
        statement = look.sentence(group)(told) + (look.remark(k, observations) if told.fails else "")
        findings.append(
            Finding(
                view.name,
                view.kind,
                statement,
                float(alone[k]),
                float(found[place]),
                told.fails,
                effect,
                lower,
                upper,
                told.model,
                view.unit,
                view.columns,
            )
        )
    return Explanation(tuple(findings), *about)


def _merged(look: Look, order: Any, fails: Any, compared: Compared) -> dict[int, list[int]]:
    """For places that fail the group of neighbours that are told as one, the one with most evidence first."""
    groups: dict[int, list[int]] = {}
    for more in (True, False):
        side = [
            k
            for k, wrong in zip(order.tolist(), fails.tolist(), strict=True)
            if wrong and look.views[k].kind == PLACES and (compared.values[k] > compared.reference[k]) == more
        ]
        groups |= {k: group for group in look.together(side) for k in group}
    return groups

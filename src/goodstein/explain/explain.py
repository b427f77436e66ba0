"""From what a test asked to an explanation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from goodstein.data.points import Points
from goodstein.errors import InputError
from goodstein.explain.compare import Compared, Stretch, compare, from_few, none_of, stretch
from goodstein.explain.explanation import PLACES, Explanation, Finding
from goodstein.explain.fits import fit_of, influence_in
from goodstein.explain.looks import look_at_points
from goodstein.explain.step_down import adjusted, log_pvalues
from goodstein.explain.views import Look, Told
from goodstein.models.provenance import Refitting
from goodstein.problems.problem import Problem
from goodstein.types import Array
from goodstein.validation import draw_seed

DRAWS = (20_000, 100_000)
"""Draws of the model that its quantities are taken from: fifty for each row, within these limits."""

SOME = 4_000
"""Draws that tell the variances of quantities under the model."""

SAMPLES, REFITS, ROWS = 300, 200, 400
"""Samples of the model that show how far z is from normal, those that are fitted, and rows of each."""

SURE = 1e-3
"""Adjusted p-values below which the order is by names first: far out they are extrapolated."""

FEWEST = 20
"""Observations below which nothing is said."""


def explain_problem(problem: Problem, null: Any, *, level: float, rng: np.random.Generator) -> Explanation:
    """Which views of the data a model fails in."""
    data = problem.data
    if not data.replicated:
        raise InputError(
            "explain() compares many observations with the model, and one graph is one observation."
        )
    if len(data) < FEWEST:
        raise InputError(
            f"explain() needs {FEWEST} observations or more, these are {len(data)}.", argument="data"
        )
    if not isinstance(data, Points):
        raise InputError(
            f"explain() knows views of points and durations, not of {data.kind}.",
            remedy="Ask witness() and contributions() instead.",
        )
    if not problem.model.has_sample:
        raise InputError(
            f"explain() compares quantities of the data with those of draws of the model, and "
            f"{problem.model.name} has no sampler.",
            remedy=f"{problem.model.sampler_advice}.",
        )
    return Drawn(problem, null, rng).explanation(level)


class About(NamedTuple):
    """What an explanation says besides its findings."""

    level: float
    n: int
    model: str
    notes: tuple[str, ...]


class Drawn:
    """Points, and a model that can be drawn from."""

    def __init__(self, problem: Problem, null: Any, rng: np.random.Generator) -> None:
        self._problem, self._n = problem, len(problem.data)
        self._seeds = [draw_seed(rng) for _ in range(4)]
        self._many = int(np.clip(50 * self._n, *DRAWS))
        self._draws = self._draw(self._many, self._seeds[0])
        names = problem.data.names or _names(problem)
        chosen = np.random.default_rng(self._seeds[1])
        self._look = look_at_points(problem.observations, self._draws, problem.domain, names, chosen)
        self._fit = fit_of(problem, null)

    def explanation(self, level: float) -> Explanation:
        """What is found."""
        problem, look, n, fit = self._problem, self._look, self._n, self._fit
        values, psi = look.measure(problem.observations)
        reference = self._reference(None)
        _, drawn = look.measure(self._draws[:SOME])
        variances = (drawn**2).mean(axis=0)
        least = np.where([view.least for view in look.views], variances, 0.0)
        slopes = fit.slopes(self._reference)
        if slopes is not None and fit.influence is not None:
            psi, least = psi - fit.influence.values @ slopes, np.zeros(len(values))
        dependence = problem.dependence
        starts = dependence.batches if dependence.found else None
        added = variances / self._many
        compared = compare(values, psi, reference, least=least, starts=starts, added=added)
        notes = fit.notes
        how = none_of(len(values))
        if starts is not None:
            scores = from_few(compared.z, len(starts))
            notes.append(f"The rows depend on each other: errors are those of {len(starts)} batches of them.")
        else:
            if not fit.matters:
                how = self._sampled(reference, least)
            elif fit.refit is not None:
                how, z = self._refitted(fit.refit, slopes, least, variances)
                if slopes is None:
                    compared = replace(compared, sums=z)
            scores = how.normal(compared.z)
        rng = np.random.default_rng(self._seeds[3])
        about = About(level, n, problem.model.name, tuple(notes))
        return explained(look, problem.observations, compared, how, scores, about, rng)

    def _draw(self, n: int, *seed: int, model: Any = None) -> Array:
        problem = self._problem if model is None else self._problem.with_model(model)
        rng = np.random.default_rng(seed)
        drawn: Array = problem.data.many(problem.model, problem.domain, n, rng).observations
        return drawn

    def _reference(self, model: Any, many: int | None = None) -> Array:
        """T(Q); of other models by the same seed, so that draws differ by the move of parameters alone."""
        draws = self._draws
        if model is not None:
            draws = self._draw(many or self._many, self._seeds[0], model=model)
        return self._look.measure(draws, influence=False)[0]

    def _sampled(self, reference: Array, least: Array) -> Stretch:
        """How far z is from normal in samples of the model."""
        rows, z = min(self._n, ROWS), []
        for k in range(SAMPLES):
            values, psi = self._look.measure(self._draw(rows, self._seeds[2], k))
            z.append(compare(values, psi, reference, least=least).z)
        return stretch(np.array(z), math.sqrt(rows / self._n), 0.9)

    def _refitted(
        self, refit: Refitting, slopes: Array | None, least: Array, variances: Array
    ) -> tuple[Stretch, Array]:
        """The same where the model is fitted to every sample; and z of these, (samples, v)."""
        rows, found = min(self._n, ROWS), []
        many = 20 * rows
        refit = refit.begun(self._problem.observations)
        for k in range(REFITS):
            sample = self._draw(rows, self._seeds[2], k)
            try:
                model = refit(sample)
                reference = self._reference(model, many)
            except InputError:  # a sample that cannot be fitted
                continue
            values, psi = self._look.measure(sample)
            moved = None if slopes is None else influence_in(model, sample, slopes)
            psi = psi if moved is None else psi - moved
            found.append(compare(values, psi, reference, least=least, added=variances / many).z)
        if len(found) < 0.9 * REFITS:
            raise InputError(
                f"explain() fits samples of {self._problem.model.name} as the data were fitted, and that "
                f"fails in {REFITS - len(found)} of {REFITS}: there are too few data.",
                remedy="Use a model that was fixed beforehand.",
            )
        z = np.array(found)
        # Without influences the errors are those of a fixed model, too large for what the fit matches.
        shrunk, least_tail = (math.sqrt(rows / self._n), 0.9) if slopes is not None else (1.0, 0.05)
        return stretch(z, shrunk, least_tail), np.nan_to_num(z - np.nanmean(z, axis=0))


def explained(
    look: Look,
    observations: Any,
    compared: Compared,
    how: Stretch,
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
    low, high = how.limits(compared, about.level)
    evidence = log_pvalues(scores[known]) - np.log(weights)
    places = np.array([kind == PLACES for kind in kinds])
    order = np.lexsort((evidence, places, np.maximum(found, SURE)))
    findings = []
    for place in order.tolist():
        k = int(known[place])
        view, reference = look.views[k], float(compared.reference[k])
        effect, lower, upper = (
            view.shown(float(value), reference) for value in (compared.values[k], low[k], high[k])
        )
        told = Told(effect, lower, upper, view.shown(reference, reference), bool(found[place] <= about.level))
        statement = view.sentence(told) + (look.remark(k, observations) if told.fails else "")
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


def _names(problem: Problem) -> list[str]:
    word = "part" if problem.domain.basis is not None else "column"
    return [f"{word} {j}" for j in range(problem.domain.dim)]

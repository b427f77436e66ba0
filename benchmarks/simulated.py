"""Simulated null distributions of the default collections of aggregated_test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
from report import Bound, Row
from timing import Action, Ratio, by_turns, ratio, with_blas

import goodstein as gs
from goodstein.nulls.montecarlo import MonteCarlo, Simulated
from goodstein.pipeline.compose import draw_seeds
from goodstein.problems.problem import Collection
from goodstein.tests_of_fit.aggregated import _groups

N, SAMPLES = 200, 60
"""Rows of a sample, and how many are simulated at a time."""


def _spins() -> gs.families.Ising:
    """Nine states on a square grid, neighbours alike."""
    across, down = np.divmod(np.arange(9), 3)
    steps = np.abs(across[:, None] - across) + np.abs(down[:, None] - down)
    return gs.families.Ising(0.3 * (steps == 1))


MODELS: dict[str, Callable[[], Any]] = {
    "line": lambda: gs.families.Normal(0.0, 1.0),
    "R^5": lambda: gs.families.Normal(np.zeros(5)),
    "simplex of 3 parts": lambda: gs.families.Dirichlet([2.0, 1.0, 0.5]),
    "simplex of 6 parts": lambda: gs.families.Dirichlet([2.0, 1.0, 0.5, 1.0, 2.0, 3.0]),
    "square": lambda: gs.families.Uniform(gs.Box(0, [1, 1])),
    "sphere": lambda: gs.families.VonMisesFisher([0, 0, 1.0], 2.0),
    "9 spins": _spins,
    "durations": lambda: gs.families.Weibull(1.5, 1.0),
}


def collection(model: Any, durations: bool) -> Collection:
    """All members of the library's own collection for data from a model."""
    rng = np.random.default_rng(4)
    data = model.sample(N, rng=rng)
    if durations:
        time, end = rng.weibull(1.5, N), rng.exponential(2.0, N)
        data = gs.Censored(np.minimum(time, end), time <= end)
    groups, _ = _groups(data, model, None, None, None, draw_seeds(rng), simulated=True, shared=True)
    return Collection(tuple(groups))


def _one_by_one(task: Simulated) -> Action:
    """The same samples, each by itself."""

    def run() -> None:
        for k in range(SAMPLES):
            sample = task.collection.simulate(np.random.default_rng([task.seed, k]))
            task.collection.with_data(sample).statistics()

    return run


def _all(observed: Collection, threads: int) -> Action:
    null = MonteCarlo(SAMPLES)
    return lambda: null.calibrate_jointly(observed, workers=threads, rng=np.random.default_rng(1))


def simulated_nulls(
    threads: int, rounds: int, least: float, progress: Callable[[str], None]
) -> Iterator[Row]:
    """What a simulated sample takes, and what it gains by being looked at with others."""
    for name, made in MODELS.items():
        progress(f"simulated null distribution: {name}, n={N}")
        observed = collection(made(), name == "durations")
        alone = with_blas(1, _one_by_one(Simulated(observed, 1)))
        together = {"one": _all(observed, 1), "all": _all(observed, threads)}
        times = by_turns({"alone": alone, **together}, rounds, least=least)
        gain = ratio(times["alone"], times["one"])
        what = f"one by one ÷ together, simulated samples of aggregated_test, {name}, n={N}, one thread"
        yield Row("13", what, gain, Bound(1.0, at_least=True))
        spent = [1e3 * t / SAMPLES for t in times["all"]]
        took = Ratio(median(spent), min(spent), max(spent))
        what = f"aggregated_test simulated null, a resample, {name}, n={N}"
        yield Row("13", what, took, Bound(4, unit="ms"), unit="ms", judged=False)

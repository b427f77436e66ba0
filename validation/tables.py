"""The tables of both reports: cells, the tests that are run on them, and what is said about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

import goodstein as gs
from goodstein.data.points import Points
from goodstein.nulls.base import JointCalibration
from goodstein.nulls.combine import combined
from goodstein.pipeline.compose import compose
from goodstein.tests_of_fit.default_members import default_collection, shares_of

Array = np.ndarray
RNG = np.random.Generator
Test = Callable[..., Any]
"""(data, model, *, rng) -> result or p-value."""
Part = tuple[Sequence[gs.Cell], Mapping[str, Test]]
"""What `power_study` takes: cells, and the tests that are run on all of them."""

NULL = "null"
"""What the results call the data of a table of power that follow its model."""


@dataclass(frozen=True, eq=False)
class Table:
    """One table of a report."""

    name: str
    about: str
    parts: Sequence[Part]
    """A table of power has one part, and our test is its first."""
    trials: int | None = None
    """At most so many, where a test is slow."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Of sizes: by pattern of `cell | test`, why a rate is not the level; every such note rests on a
    measurement, most often another row. Of power: by cell, why our test falls short of the best other one."""
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Rates that others have published, by cell and test."""
    judged: bool = False
    """Whether our test is compared with all others, cell by cell, in a table of its own."""
    draws: int = 999
    """Draws of the null distribution behind a p-value, unless the name of the test says `B=`."""

    @property
    def cells(self) -> list[gs.Cell]:
        return [cell for cells, _ in self.parts for cell in cells]

    @property
    def tests(self) -> list[str]:
        return list(dict.fromkeys(test for _, tests in self.parts for test in tests))

    @property
    def level(self) -> float:
        return self.cells[0].level or 0.05

    @property
    def keys(self) -> list[tuple[str, str, str]]:
        """What is measured: table, law of the data and test, in the order of the report."""
        found = []
        for cells, tests in self.parts:
            names = dict.fromkeys(law for cell in cells for law in laws(cell))
            found += [(self.name, law, test) for law in names for test in tests]
        assert len(set(found)) == len(found), f"{self.name}: two rows have the same name"
        return found


def laws(cell: gs.Cell) -> dict[str, str]:
    """The laws of the data of a cell: what the results call them, and what `power_study` does."""
    return {cell.name: "null"} if cell.alternative is None else {NULL: "null", cell.name: "alternative"}


def true(
    cases: Mapping[str, Any], tests: Mapping[str, Test], sizes: Iterable[int] = (50, 200), **how: Any
) -> Part:
    """Models that are true, at some sample sizes; `how` goes to the cells."""
    pairs = [(case, model, n) for case, model in cases.items() for n in sizes]
    return [gs.Cell(model, None, n, name=f"{case}, n = {n}", **how) for case, model, n in pairs], tests


def against(
    null: Any,
    n: int,
    tests: Mapping[str, Test],
    *,
    level: float = 0.05,
    trials: int | None = None,
    **how: Any,
) -> Callable[..., Table]:
    """A maker of tables of power with one model; `how` goes to the cells.

    It takes name, text, and the laws of the data in the order of their effect; a law is a model, or a sampler
    with its log likelihood ratio to the null.
    """

    def table(name: str, about: str, truths: Mapping[str, Any], **more: Any) -> Table:
        cells = []
        for label, truth in truths.items():
            law, log_ratio = truth if isinstance(truth, tuple) else (truth, None)
            cells.append(gs.Cell(null, law, n, name=label, level=level, log_ratio=log_ratio, **how))
        return Table(name, about, [(cells, tests)], trials, **more)

    return table


# Our tests.

KSD = partial(gs.ksd_test, workers=1)
WILD = gs.WildBootstrap()


def named(test: Test, /, name: str = "", null: Any = WILD, **options: Any) -> dict[str, Test]:
    """A test with options, under a name that says them, and the null method where it is not the default."""
    return {
        ", ".join(filter(None, [name, calibration(null)])) or "default": partial(test, null=null, **options)
    }


ksd = partial(named, KSD)


def calibration(null: Any) -> str:
    if isinstance(null, gs.WildBootstrap) and not isinstance(null, gs.FittedWildBootstrap):
        if null.flip != "auto":
            return f"wild, flip {null.flip:g}"
        return "" if null.signs == "orthogonal" else "wild, iid signs"
    names = {
        gs.ParametricBootstrap: "parametric bootstrap",
        gs.FittedWildBootstrap: "fitted wild",
        gs.MonteCarlo: "Monte Carlo",
        gs.Spectral: "spectral",
    }
    return f"{names[type(null)]}, B={null.n_resamples}"


def fitted(data: Any, _: Any, *, fit: Callable[[Any], Any], test: Test = KSD, **options: Any) -> Any:
    """A test of the model that is fitted to the data."""
    return test(data, fit(data), **options)


def estimated(
    case: str, model: Any, fit: Callable[[Any], Any], draws: int, sizes: Iterable[int] = (50,)
) -> list[Part]:
    """A model that is fitted to the data, by the bootstrap that repeats the fit and by the default one."""
    bootstrap = named(fitted, null=gs.ParametricBootstrap(fit, draws), fit=fit)
    return [true({case: model}, bootstrap, (50,)), true({case: model}, named(fitted, fit=fit), sizes)]


def instead(model: Any, test: Test = KSD, **options: Any) -> Test:
    """A test of another model than that of the cell."""
    return lambda data, _, *, rng: test(data, model, rng=rng, **options)


# Simulated null distributions, once for all trials.


@dataclass(frozen=True)
class Kept(gs.MonteCarlo):
    """`MonteCarlo` that keeps its draws and the collection."""

    found: list[Any] = field(default_factory=list)

    def calibrate_jointly(self, collection: Any, **options: Any) -> JointCalibration:
        joint = super().calibrate_jointly(collection, **options)
        self.found.append((collection, joint.draws))
        return joint


class Simulated(NamedTuple):
    """The library's collection for a model and n observations, and its joint null distribution."""

    collection: Any
    draws: Array
    shares: Array

    def pvalue(self, data: Array) -> float:
        statistics = self.collection.with_data(Points(data)).statistics()
        return combined(JointCalibration(statistics, self.draws), self.shares).calibration.pvalue


@lru_cache(maxsize=8)
def simulated_once(model: Any, n: int, count: int) -> Simulated:
    """What `aggregated_test` makes of a model with the seed 1, once for all data sets of n rows."""
    null = Kept(count)
    data = model.sample(n, np.random.default_rng(0))
    result = gs.aggregated_test(data, model, null=null, workers=1, rng=1)
    collection, draws = null.found[0]
    kinds = default_collection(compose(data, model))
    entries = iter(zip((entry for kind in kinds.values() for entry in kind), shares_of(kinds), strict=True))
    shares: list[float] = []
    # They are in the order of the entries, of which the audit may have left out some.
    for name in (repr(problem.operator) for problem, _ in collection.groups):
        shares += next(some for entry, some in entries if name.startswith(repr(entry.operator)[:-1]))
    found = Simulated(collection, draws, np.array(shares) / sum(shares))
    assert found.pvalue(data) == result.pvalue
    return found


def aggregated(data: Any, model: Any, *, rng: RNG) -> Any:
    """`gs.aggregated_test`; where it simulates its null distribution, to save time, once for all trials.

    Of durations and of y given x, whose samples are censored as the data are or keep x, and of a score on a
    line, which is integrated near the data, 199 each time.
    """
    points = isinstance(data, np.ndarray)
    if points and getattr(model, "has_sample", hasattr(model, "sample")):
        return simulated_once(model, len(data), 499).pvalue(data)
    anew = compose(data, model).model.has_sample if points else isinstance(data, gs.Censored | gs.Paired)
    null: Any = gs.MonteCarlo(199) if anew else "auto"
    return gs.aggregated_test(data, model, null=null, workers=1, rng=rng)


# What a user would do today.


def simulated(
    statistic: Callable[[Any, Any], float],
    draws: int = 9999,
    sample: Callable[[Any, int, RNG], Any] | None = None,
    two_sided: bool = False,
) -> Test:
    """A test that rejects large values of statistic(data, model), simulated once under the model."""

    def test(data: Any, model: Any, *, rng: RNG) -> float:
        values, value = null_values(statistic, model, len(data), draws, sample), statistic(data, model)
        slack = 1e-12 * abs(value)
        upper = (1 + np.count_nonzero(values >= value - slack)) / (1 + draws)
        lower = (1 + np.count_nonzero(values <= value + slack)) / (1 + draws)
        return float(min(1.0, 2 * min(lower, upper)) if two_sided else upper)

    return test


@lru_cache(maxsize=64)
def null_values(statistic: Test, model: Any, n: int, draws: int, sample: Callable[..., Any] | None) -> Array:
    """The statistic under the model."""
    rng = np.random.default_rng(20)
    draw = model.sample if sample is None else partial(sample, model)
    return np.array([statistic(draw(n, rng), model) for _ in range(draws)])


def two_sample(gram: Callable[[Array], Array]) -> Test:
    """A test against as many draws of the model: sᵀKs with signs s for the samples, 199 permutations."""

    def test(x: Array, model: Any, *, rng: RNG) -> float:
        k = gram(np.concatenate([x, model.sample(len(x), rng)]))
        signs = np.repeat([1.0, -1.0], len(x))
        labels = np.column_stack([signs, *(rng.permutation(signs) for _ in range(199))])
        values = np.einsum("ik,ik->k", labels, k @ labels)
        return float(np.mean(values >= values[0] - 1e-9 * abs(values[0])))

    return test


def squared_distances(points: Array) -> Array:
    norms = (points**2).sum(axis=1)
    return np.maximum(norms[:, None] + norms - 2 * points @ points.T, 0.0)


def gaussian(points: Array) -> Array:
    """The Gaussian kernel with the median bandwidth."""
    squared = squared_distances(points)
    return np.exp(-squared / (2 * np.median(squared[np.triu_indices(len(points), 1)])))


def energy(points: Array) -> Array:
    return -np.sqrt(squared_distances(points))

"""Robberies in Chicago: mixtures fitted to some locations by truncated score matching, tested on others.

And what the tests say of laws that are true, known or fitted anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import variants
from crime_locations import Locations, crime_locations
from mixtures import Mixture

import goodstein as gs
from goodstein.estimate import TruncatedScoreMatching
from goodstein.families import GaussianMixture, Truncated
from goodstein.power.trials import seed_of

Array = np.ndarray
PART = "chicago"
BOUNDARY = "chicago_boundary.geojson"
ALL_2020 = 7855
"""Robberies of the whole year 2020, of which the paper used some or all."""


@dataclass(frozen=True)
class Source:
    """A table, its year, and how many of its rows to take at random (None: all)."""

    file: str
    year: int
    size: int | None = None


PART_2020, WHOLE_2020 = "2020, a part", "2020, whole year"
LIKE_2020, YEAR, EARLIER = "2017, as many as in 2020", "2017, whole year", "2016, whole year"
SOURCES = {
    PART_2020: Source("chicago_robbery_2020_part.csv", 2020),
    WHOLE_2020: Source("chicago_robbery_2020.csv", 2020),  # run by whoever has it
    LIKE_2020: Source("chicago_robbery_2017.csv", 2017, ALL_2020),
    YEAR: Source("chicago_robbery_2017.csv", 2017),
    EARLIER: Source("chicago_robbery_2016.csv", 2016),
}
PUBLISHED, DISTINCT = "as published", "one point for each location"
TIES = (PUBLISHED, DISTINCT, "moved within 50 m", "moved within 100 m")

FLOOR = 1.0
"""Kilometres: no component is narrower than a neighbourhood."""
TWO, TWENTY, BY_EM = "2 components", "20 components", "20 components by EM"
FAMILIES = {
    TWO: Mixture(2, smallest_scale=FLOOR),
    TWENTY: Mixture(20, smallest_scale=FLOOR),
    "20 components, scale at least 0.5 km": Mixture(20, smallest_scale=0.5),
    "20 components, scale at least 2 km": Mixture(20, smallest_scale=2.0),
    "20 components, goodstein's own floor": Mixture(20),
    # 0.06° is 5.0 km from west to east and 6.7 km from south to north.
    "2 components, scale 5 km": Mixture(2, scale=5.0),
    "2 components, scale 6.7 km": Mixture(2, scale=6.7),
    "20 components, scale 5 km": Mixture(20, scale=5.0),
    "20 components, scale 6.7 km": Mixture(20, scale=6.7),
}
SCALES = tuple(FAMILIES)[2:]
ESTIMATOR = TruncatedScoreMatching(starts=3, max_iterations=300)
MEDIAN, DEFAULT, AGGREGATED = "bd-KSD(g2)", "goodstein default", "goodstein aggregated"
TESTS = {
    MEDIAN: variants.bd_ksd(gs.BoundaryDistance()),
    DEFAULT: variants.default,
    AGGREGATED: variants.aggregated,
}
SIZES = (300, 1000, 3000)
"""Observations in parts of the test half of 2017; the last part is all of it."""
STEP = 0.1
"""Kilometres between the points at which densities are summed."""


def generator(*names: object) -> np.random.Generator:
    """Seeded by what it is for."""
    return np.random.default_rng(seed_of(PART, *map(str, names)))


@lru_cache(maxsize=4)
def _read(folder: str, file: str, year: int) -> Locations:
    return crime_locations(Path(folder) / file, Path(folder) / BOUNDARY, year)


def load(folder: str, data: str) -> Locations:
    """All locations of a table."""
    return _read(folder, SOURCES[data].file, SOURCES[data].year)


def folder_of(data: Path | None) -> Path | None:
    """Where the tables are, or None."""
    folder = None if data is None else data / "chicago"
    return folder if folder is not None and (folder / BOUNDARY).exists() else None


def prepared(folder: str, data: str, ties: str, k: int) -> Locations:
    """The locations of a replicate, thinned and with their ties treated."""
    places, size = load(folder, data), SOURCES[data].size
    if size is not None and size < len(places):
        places, _ = places.split(generator(data, "thinned", k), size)
    if ties == DISTINCT:
        return places.distinct()
    if ties != PUBLISHED:
        return places.jittered(float(ties.split()[-2]) / 1000, generator(data, ties, k))
    return places


def halves(places: Locations, data: str, ties: str, k: int) -> tuple[Locations, Locations]:
    """One to fit and one to test; the same for all models of the same data."""
    return places.split(generator(data, ties, "split", k))


@lru_cache(maxsize=1)
def cells(domain: gs.Polygon) -> Array:
    """The middles of small squares that cover the city."""
    west, south, east, north = domain.geometry.bounds
    x, y = np.meshgrid(np.arange(west + STEP / 2, east, STEP), np.arange(south + STEP / 2, north, STEP))
    middles = np.column_stack([x.ravel(), y.ravel()])
    return middles[domain.contains(middles)]


def log_density(model: Truncated, x: Array) -> Array:
    """The logarithm of the density on the city, its constant by summation."""
    values = model.model.logpdf(cells(model.domain))
    top = values.max()
    return model.model.logpdf(x) - top - np.log(np.exp(values - top).sum() * STEP**2)


def gain(model: Truncated, x: Array) -> float:
    """Mean log density at the points, above that of the uniform law."""
    return float(log_density(model, x).mean() + np.log(model.domain.geometry.area))


def fitted(points: Array, domain: gs.Polygon, model: str, *names: object) -> tuple[Truncated, dict[str, Any]]:
    """The fitted model, and how the search ended."""
    rng = generator(model, *names)
    if model == BY_EM:
        return Truncated(GaussianMixture.fit(points, 20, rng), domain), {"converged": True, "at_floor": 0}
    found = ESTIMATOR.fit(points, FAMILIES[model], domain=domain, rng=rng)
    floor = FAMILIES[model].smallest_scale
    scales = np.sqrt(found.model.model.covs[:, 0, 0])
    at_floor = 0 if floor is None else int((scales <= 1.005 * floor).sum())
    return found.model, {"converged": found.converged, "at_floor": at_floor}


def pvalue(test: str, x: Array, law: Any, *names: object) -> float | None:
    """None where the test needs draws of a law that has almost no mass in the city."""
    try:
        return float(TESTS[test](x, law, rng=generator(test, *names)).pvalue)
    except gs.SamplingError:
        return None


def mixture(domain: gs.Polygon, weights: Any, means: Any, covs: Any) -> Truncated:
    """A law on the city; weights that were written with few digits do not quite add to one."""
    return Truncated(GaussianMixture(np.array(weights) / np.sum(weights), means, covs), domain)


# Work that is done in processes


def split(folder: str, data: str, ties: str, model: str, k: int, aggregate: bool) -> dict[str, Any]:
    """The p-values of one random split."""
    begin = time.process_time()
    places = prepared(folder, data, ties, k)
    first, second = halves(places, data, ties, k)
    law, outcome = fitted(first.points, places.domain, model, data, ties, k)
    x = generator(data, ties, "order", k).permutation(second.points)
    sizes = [n for n in SIZES if n < len(x)] if data == YEAR and ties == PUBLISHED else []
    rows = [
        {"test": name, "n": n, "pvalue": pvalue(name, x[:n], law, data, ties, model, k, n)}
        for name in (TESTS if aggregate else (MEDIAN, DEFAULT))
        for n in (*sizes, len(x))
    ]
    outside = int((~places.domain.contains(law.model.means)).sum())
    outcome |= {"outside": outside, "gain": gain(law, x), "seconds": time.process_time() - begin}
    parameters = {name: getattr(law.model, name).tolist() for name in ("weights", "means", "covs")}
    return {"rows": rows, "outcome": outcome, "law": parameters if k == 0 else None}


def known(folder: str, law: dict[str, Any], data: str, n: int, start: int, stop: int) -> list[dict[str, Any]]:
    """The p-values of a law that is known, on draws of it."""
    model, found = mixture(load(folder, PART_2020).domain, **law), []
    for k in range(start, stop):
        names = (data, "known", n, k)
        x = model.sample(n, generator(*names))
        found.append({test: pvalue(test, x, model, *names) for test in TESTS})
    return found


def refitted(
    folder: str, law: dict[str, Any], data: str, model: str, fit: int, test: int, k: int
) -> list[dict[str, Any]]:
    """The p-values of the right model, fitted to some draws of the law and tested on others."""
    truth, names = mixture(load(folder, PART_2020).domain, **law), (data, "refitted", model, fit, test, k)
    x = truth.sample(fit + test, generator(*names))
    found, _ = fitted(x[:fit], truth.domain, model, *names)
    return [{name: pvalue(name, x[fit:], found, *names) for name in TESTS}]


def family(folder: str, model: str, draws: int) -> list[dict[str, Any]]:
    """The p-value of the model on all locations of the 2020 part, every bootstrap sample fitted anew."""
    places = prepared(folder, PART_2020, PUBLISHED, 0)
    # From one start, as it must be done so often.
    found = replace(ESTIMATOR, starts=1).fit(places.points, FAMILIES[model], domain=places.domain, rng=0)
    null = gs.ParametricBootstrap(found.refit, draws)
    result = TESTS[MEDIAN](places.points, found.model, null=null, rng=generator(model, "family"))
    return [{MEDIAN: float(result.pvalue)}]


def check(kind: str, *arguments: Any) -> list[dict[str, Any]]:
    return {"known": known, "refitted": refitted, "family": family}[kind](*arguments)

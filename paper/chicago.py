"""Robberies in Chicago: mixtures fitted to one half by truncated score matching, tested on the other."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import variants
from setting import Row, Setting

import goodstein as gs
from goodstein.datasets import Locations, crime_locations
from goodstein.estimate import Mixture, TruncatedScoreMatching
from goodstein.families import GaussianMixture, Truncated
from goodstein.power.trials import seed_of

Array = np.ndarray
PART = "chicago"
TITLE = "Chicago robberies"
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
def load(folder: str, file: str, year: int) -> Locations:
    return crime_locations(Path(folder) / file, Path(folder) / BOUNDARY, year=year)


def prepared(folder: str, data: str, ties: str, k: int) -> Locations:
    """The locations of a replicate, thinned and with their ties treated."""
    source = SOURCES[data]
    places = load(folder, source.file, source.year)
    if source.size is not None and source.size < len(places):
        places, _ = places.split(source.size / len(places), rng=generator(data, "thinned", k))
    if ties == DISTINCT:
        return places.distinct()
    if ties != PUBLISHED:
        return places.jittered(float(ties.split()[-2]) / 1000, rng=generator(data, ties, k))
    return places


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


def split(folder: str, data: str, ties: str, model: str, k: int, aggregate: bool) -> dict[str, Any]:
    """The p-values of one random split; the same for all models of the same data."""
    begin = time.process_time()
    places = prepared(folder, data, ties, k)
    first, second = places.split(rng=generator(data, ties, "split", k))
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
    return {"rows": rows, "outcome": outcome, "law": parameters(law) if k == 0 else None}


def pvalue(test: str, x: Array, law: Any, *names: object) -> float | None:
    """None where the test needs draws of a law that has almost no mass in the city."""
    try:
        return float(TESTS[test](x, law, rng=generator(test, *names)).pvalue)
    except gs.SamplingError:
        return None


def parameters(law: Truncated) -> dict[str, Any]:
    mixture = law.model
    return {name: getattr(mixture, name).tolist() for name in ("weights", "means", "covs")}


# The run


@dataclass(frozen=True)
class Plan:
    """Which splits to run: of the first replicates the aggregated test as well."""

    data: str
    models: tuple[str, ...]
    splits: int
    aggregated: int
    ties: tuple[str, ...] = (PUBLISHED,)


PLANS = (
    Plan(PART_2020, (TWO, TWENTY), 20, 20),
    Plan(PART_2020, (BY_EM,), 10, 10),
    Plan(WHOLE_2020, (TWO, TWENTY), 20, 3),
    Plan(LIKE_2020, (TWO, TWENTY), 15, 5),
    Plan(YEAR, (TWO, TWENTY), 10, 3),
    Plan(YEAR, (BY_EM,), 2, 2),
    Plan(EARLIER, (TWO, TWENTY), 5, 2),
    Plan(PART_2020, (TWENTY,), 10, 10, TIES[1:]),
    Plan(YEAR, (TWENTY,), 3, 3, TIES[1:]),
    Plan(PART_2020, SCALES, 10, 0),
    Plan(YEAR, SCALES, 2, 0),
)
QUICK = (Plan(PART_2020, (TWO,), 1, 1),)


def folder_of(setting: Setting) -> Path | None:
    """Where the data are, or None."""
    folder = None if setting.data is None else setting.data / "chicago"
    return folder if folder is not None and (folder / BOUNDARY).exists() else None


def run(setting: Setting) -> None:
    folder = folder_of(setting)
    if folder is None:
        print(f"{PART}: no data in {setting.data}; what was measured before stays", file=sys.stderr)
        return
    plans = [plan for plan in setting.choose(PLANS, QUICK) if (folder / SOURCES[plan.data].file).exists()]
    tasks = {
        f"{plan.data} | {ties} | {model} | {k}": (str(folder), plan.data, ties, model, k, k < plan.aggregated)
        for plan in plans
        for ties in plan.ties
        for model in plan.models
        for k in range(plan.splits)
    }
    # The longest first, so that no worker waits for them at the end.
    order = sorted(tasks, key=lambda name: (tasks[name][3] != BY_EM, tasks[name][1] == PART_2020))
    found = setting.each(PART, split, {name: tasks[name] for name in order})
    found = {name: found[name] for name in tasks}
    _write_splits(setting, tasks, found)
    _write_data(setting, folder, plans)
    if not setting.quick:
        from chicago_checks import write_checks

        write_checks(setting, str(folder), {name: value["law"] for name, value in found.items()})


def _write_splits(setting: Setting, tasks: dict[str, Any], found: dict[str, Any]) -> None:
    splits: list[Row] = []
    groups: dict[tuple[Any, ...], list[tuple[float | None, dict[str, Any]]]] = {}
    laws: list[Row] = []
    for name, (_, data, ties, model, k, _) in tasks.items():
        for row in found[name]["rows"]:
            here = {"data": data, "ties": ties, "model": model, "test": row["test"], "n": row["n"]}
            splits.append({**here, "split": k, "pvalue": row["pvalue"]})
            # Halves after thinning or of places differ by a few points; what is alike is the rank of n.
            rank = [r["n"] for r in found[name]["rows"] if r["test"] == row["test"]].index(row["n"])
            groups.setdefault((data, ties, model, row["test"], rank), []).append(
                (row["pvalue"], {**found[name]["outcome"], "n": row["n"]})
            )
        law = found[name]["law"]
        if law is not None and ties == PUBLISHED and model in (TWO, TWENTY, BY_EM):
            for weight, mean, cov in zip(law["weights"], law["means"], law["covs"], strict=True):
                place = {"east": mean[0], "north": mean[1], "xx": cov[0][0], "xy": cov[0][1], "yy": cov[1][1]}
                laws.append({"data": data, "model": model, "weight": weight, **place})
    setting.write(f"{PART}_splits", splits)
    setting.write(f"{PART}_laws", laws)
    setting.write(PART, [_summary(key, values) for key, values in groups.items()])


def _summary(key: tuple[Any, ...], values: list[tuple[float | None, dict[str, Any]]]) -> Row:
    pvalues = np.array([value for value, _ in values if value is not None])
    outcomes = [outcome for _, outcome in values]
    data, ties, model, test, _ = key
    return {
        "data": data,
        "ties": ties,
        "model": model,
        "test": test,
        "n": outcomes[0]["n"],
        "splits": len(pvalues),
        "no_draws": len(values) - len(pvalues),
        "least": float(pvalues.min()),
        "median": float(np.median(pvalues)),
        "most": float(pvalues.max()),
        "below_05": float(np.mean(pvalues <= 0.05 + 1e-9)),
        "gain": float(np.median([outcome["gain"] for outcome in outcomes])),
        "at_floor": float(np.mean([outcome["at_floor"] for outcome in outcomes])),
        "outside": float(np.mean([outcome["outside"] for outcome in outcomes])),
        "stopped_early": sum(not outcome["converged"] for outcome in outcomes),
        "seconds": float(np.mean([outcome["seconds"] for outcome in outcomes])),
    }


def _write_data(setting: Setting, folder: Path, plans: list[Plan]) -> None:
    """What the loader says of every table."""
    rows = []
    for data in dict.fromkeys(plan.data for plan in plans):
        if SOURCES[data].size is not None:
            continue
        places = load(str(folder), SOURCES[data].file, SOURCES[data].year)
        rows.append(
            {
                "data": data,
                "rows": places.rows_read,
                "unlocated": places.unlocated,
                "outside": places.outside,
                "other_parts": places.other_parts,
                "locations": len(places),
                "distinct": places.n_distinct,
                "tied": places.n_tied,
                "area": places.domain.geometry.area,
            }
        )
    setting.write(f"{PART}_data", rows)


def draw(setting: Setting) -> None:
    from chicago_figures import draw

    draw(setting)


def summary(setting: Setting) -> str:
    from chicago_report import summary

    return summary(setting)


def report(setting: Setting) -> str:
    from chicago_report import report

    return report(setting)

"""Draw the pictures of the documentation: `python docs/pictures.py` in the test environment.

`python docs/pictures.py folder` draws them as PNG files for a look.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import scipy.stats

import goodstein as gs

IMAGES = Path(__file__).parent / "images"


def frame(x: np.ndarray, *names: str) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(x).reshape(len(x), -1), columns=list(names))


def axis() -> gs.TestResult:
    rng = np.random.default_rng(1)
    waiting = np.concatenate([rng.normal(54, 6, 100), rng.normal(80, 6, 180)])
    model = gs.families.Normal(70.0, 180.0)
    return gs.ksd_test(frame(rng.permutation(waiting), "minutes to the next eruption"), model, rng=1)


def polygon() -> gs.TestResult:
    homes, about = gs.datasets.humberside(), gs.datasets.about("humberside")
    homes = np.random.default_rng(1).permutation(homes)
    return gs.ksd_test(frame(homes, "east", "north"), gs.families.Uniform(about.domain), rng=1)


def readme() -> gs.TestResult:
    diameters = np.random.default_rng(1).permutation(gs.datasets.about("longleaf").table()["dbh"])
    return gs.check({"trunk in cm": diameters}, gs.families.Normal.fit(diameters), rng=1).test


def plane() -> gs.TestResult:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((500, 2))
    x[:, 1] = 0.7 * x[:, 1] + 0.6 * (x[:, 0] ** 2 - 1)
    model = gs.families.Normal([0.0, 0.0], [[1.0, 0.0], [0.0, 1.2]])
    return gs.ksd_test(frame(x, "length in mm", "width in mm"), model, rng=1)


def box() -> gs.TestResult:
    trees = np.random.default_rng(1).permutation(gs.datasets.redwood())
    return gs.ksd_test(trees, gs.families.Uniform(gs.datasets.about("redwood").domain), rng=1)


def triangle() -> gs.TestResult:
    x = gs.datasets.skye_lavas()
    names = list(gs.datasets.about("skye_lavas").table())[-3:]
    return gs.ksd_test(frame(x, *names), gs.families.Dirichlet([2.0, 2.0, 2.0]), rng=1)


def circle() -> gs.TestResult:
    x = np.random.default_rng(1).permutation(gs.datasets.turtles())
    return gs.ksd_test(frame(x, "direction"), gs.families.VonMises(1.1, 1.1), rng=1)


def sphere() -> gs.TestResult:
    rng = np.random.default_rng(2)
    lon = rng.normal(-70, 25, 250)
    lat = np.clip(rng.normal(10, 18, 250), -80, 80)
    return gs.ksd_test(
        gs.from_lonlat(lon, lat), gs.families.VonMisesFisher(gs.from_lonlat([-60.0], [12.0])[0], 5.0), rng=1
    )


def time() -> gs.TestResult:
    data = gs.datasets.lung()
    return gs.ksd_test(data, gs.families.Exponential(data.durations.sum() / data.event_observed.sum()), rng=1)


def states() -> gs.TestResult:
    counts = np.repeat(np.arange(6.0), [447, 132, 42, 21, 3, 2])
    model = gs.families.CategoricalTable(scipy.stats.poisson(counts.mean()).pmf(np.arange(10)))
    return gs.ksd_test(frame(np.random.default_rng(1).permutation(counts), "accidents"), model, rng=1)


def counts() -> gs.TestResult:
    accidents = np.random.default_rng(1).permutation(np.repeat(np.arange(6.0), [447, 132, 42, 21, 3, 2]))
    return gs.ksd_test(frame(accidents, "accidents"), gs.families.Poisson.fit(accidents), rng=1)


def graph() -> gs.TestResult:
    import networkx

    club = networkx.to_numpy_array(networkx.karate_club_graph(), weight=None)
    return gs.graph_ksd_test(club, gs.families.ERGM.fit(club, ["edges"], ridge=0.1), sweeps=5, rng=1)


def patterns() -> gs.TestResult:
    bricks = gs.datasets.osteocytes()
    window = gs.datasets.about("osteocytes").domain
    model = gs.families.PoissonProcess.fit(bricks, window)
    return gs.point_pattern_ksd_test(bricks, model, rng=1)


def pattern() -> gs.TestResult:
    seedlings, window = gs.datasets.redwood(), gs.datasets.about("redwood").domain
    return gs.ksd_test(seedlings, gs.families.PoissonProcess.fit(seedlings, window), rng=1)


def conditional() -> gs.TestResult:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 3, 300)
    y = 1 + x + (0.3 + 0.4 * x) * rng.standard_normal(300)
    model = gs.ConditionalModel(score=lambda y, x: -(y - 1 - x) / 0.8, name="y | x ~ Normal(1 + x, 0.8)")
    return gs.conditional_ksd_test(x, y, model, rng=1)


def several() -> gs.TestResult:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 4))
    x[:, 3] = 0.8 * x[:, 0] + 0.3 * x[:, 3] + 0.5
    x[:, 2] = np.abs(x[:, 2])
    model = gs.families.Normal(np.zeros(4), np.eye(4))
    return gs.ksd_test(frame(x, "height", "weight", "age", "dose"), model, rng=1)


def aggregated() -> gs.TestResult:
    x = np.random.default_rng(1).standard_t(4, 300)
    return gs.aggregated_test(x, gs.families.Normal(0, 1), rng=1)


def explanation() -> Any:
    return several().explain(rng=1)


PICTURES: dict[str, tuple[Callable[[], Any], str | None]] = {
    "axis": (axis, "where"),
    "plane": (plane, "where"),
    "box": (box, "where"),
    "polygon": (polygon, "where"),
    "triangle": (triangle, "where"),
    "circle": (circle, "where"),
    "sphere": (sphere, "where"),
    "time": (time, "where"),
    "states": (states, "where"),
    "counts": (counts, "where"),
    "graph": (graph, "where"),
    "patterns": (patterns, "where"),
    "pattern": (pattern, "where"),
    "conditional": (conditional, "where"),
    "pairs": (several, "where"),
    "null": (plane, "null"),
    "contributions": (triangle, "contributions"),
    "members": (aggregated, "members"),
    "transform": (several, "transform"),
    "transform_durations": (time, "transform"),
    "findings": (explanation, None),
}


def draw(name: str) -> Any:
    make, kind = PICTURES[name]
    made = make()
    return gs.plot.findings(made) if name == "findings" else made.plot(kind)


def main(folder: str | None = None, *names: str) -> None:
    matplotlib.use("Agg")
    if folder is None:
        readme().plot().figure.savefig(IMAGES / "trunks.png", dpi=110, facecolor="white")
    for name in names or PICTURES:
        picture = draw(name)
        if folder is None:
            (IMAGES / f"{name}.svg").write_text(gs.plot.svg(picture), encoding="utf-8")
        else:
            getattr(picture, "figure", picture).savefig(Path(folder) / f"{name}.png", dpi=80)


if __name__ == "__main__":
    main(*sys.argv[1:])

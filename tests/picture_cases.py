"""Pictures that are compared with stored ones: one for each kind of data and of picture.

`python tests/picture_cases.py` in the test environment stores them anew; look at what changed before you
commit it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

import goodstein as gs

FOLDER = Path(__file__).parent / "images"
DPI = 40


def frame(x, *names):
    return pd.DataFrame(np.asarray(x, dtype=float).reshape(len(x), -1), columns=list(names))


@functools.cache
def axis():
    x = np.random.default_rng(1).normal(0.7, 1.0, 150)
    return gs.ksd_test(frame(x, "height in cm"), gs.families.Normal(0, 1), rng=1)


@functools.cache
def plane():
    x = np.random.default_rng(2).normal([0.8, 0.0], 1.0, (200, 2))
    return gs.ksd_test(frame(x, "east", "north"), gs.families.Normal([0, 0]), rng=1)


@functools.cache
def polygon():
    window = gs.Polygon([(0, 0), (4, 0), (4, 2), (2, 4), (0, 4)], holes=[[(1, 1), (2, 1), (1, 2)]])
    x = window.sample_uniform(400, rng=1)
    x = x[np.random.default_rng(1).random(len(x)) < x[:, 0] / 4]
    return gs.ksd_test(x, gs.families.Uniform(window), rng=1)


@functools.cache
def triangle():
    x = gs.families.Dirichlet([6, 3, 2]).sample(60, rng=1)
    return gs.ksd_test(frame(x, "sand", "silt", "clay"), gs.families.Dirichlet([2, 2, 2]), rng=1)


@functools.cache
def circle():
    x = gs.families.VonMises(1.0, 2.0).sample(120, rng=1)
    return gs.ksd_test(frame(x, "direction"), gs.families.VonMises(0.0, 1.0), rng=1)


@functools.cache
def sphere():
    x = gs.families.VonMisesFisher([0.0, 1.0, 0.0], 4.0).sample(150, rng=1)
    return gs.ksd_test(x, gs.families.VonMisesFisher([1.0, 0.0, 0.0], 2.0), rng=1)


@functools.cache
def durations():
    t = gs.families.Weibull(2.0, 3.0).sample(120, rng=1).ravel()
    c = np.random.default_rng(2).uniform(0, 6, 120)
    data = gs.Censored(np.minimum(t, c), t <= c)
    return gs.ksd_test(data, gs.families.Exponential(3.0), rng=1)


@functools.cache
def states():
    x = np.random.default_rng(1).choice(5, 200, p=[0.4, 0.1, 0.2, 0.2, 0.1]).astype(float)
    return gs.ksd_test(frame(x, "visits"), gs.families.CategoricalTable(np.full(5, 0.2)), rng=1)


@functools.cache
def graph():
    rng = np.random.default_rng(1)
    adjacency = np.triu(rng.random((16, 16)) < 0.15, 1)
    adjacency[0, 1:12] = True
    adjacency = (adjacency + adjacency.T).astype(float)
    model = gs.families.ERGM(16, edges=-1.5)
    return gs.graph_ksd_test(adjacency, model, null=gs.MonteCarlo(19), sweeps=2, rng=1)


@functools.cache
def patterns():
    window = gs.Box(0, [1, 1])
    rng = np.random.default_rng(1)
    drawn = [rng.random((k, 2)) ** 2 for k in rng.integers(3, 12, 12)]
    return gs.point_pattern_ksd_test(drawn, gs.families.PoissonProcess(8.0, window), rng=1)


@functools.cache
def conditional():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 3, 150)
    model = gs.ConditionalModel(score=lambda y, x: x - y, name="y given x")
    return gs.conditional_ksd_test(x, x + 0.5 + rng.standard_normal(150), model, rng=1)


@functools.cache
def several():
    x = np.random.default_rng(1).standard_normal((100, 3))
    x[:, 2] += x[:, 0]
    return gs.ksd_test(frame(x, "a", "b", "c"), gs.families.Normal(np.zeros(3)), rng=1)


@functools.cache
def collection():
    x = np.random.default_rng(1).standard_t(3, 80)
    kernels = [gs.Gaussian(0.5), gs.Gaussian(2.0), gs.IMQ(1.0)]
    return gs.aggregated_test(x, gs.families.Normal(0, 1), kernels=kernels, rng=1)


def explanation(count: int = 3) -> Any:
    """Anything with the interface of an explanation."""
    rows = [
        ("the mean is higher than the model says", 1.4, 0.9, 1.9, 0.001),
        ("tails are longer than those of the model", 0.31, 0.12, 0.5, 0.012),
        ("less related than the model says", -0.2, -0.45, 0.05, 0.4),
    ]
    findings = [
        SimpleNamespace(
            view="view",
            statement=said,
            effect=effect,
            low=low,
            high=high,
            adjusted=p,
            pvalue=p,
            fails=p < 0.05,
            unit="cm",
            model=0.5 if effect > 1 else 0.0,
            columns=(),
        )
        for said, effect, low, high, p in rows[:count]
    ]
    return SimpleNamespace(findings=tuple(findings))


WHERE: dict[str, Callable[[], Any]] = {
    "axis": axis,
    "plane": plane,
    "polygon": polygon,
    "triangle": triangle,
    "circle": circle,
    "sphere": sphere,
    "time": durations,
    "states": states,
    "graph": graph,
    "patterns": patterns,
    "conditional": conditional,
    "pairs": several,
}

CASES: dict[str, Callable[..., Any]] = {
    **{name: functools.partial(lambda make: gs.plot.where(make()), make) for name, make in WHERE.items()},
    "null": lambda: gs.plot.null_distribution(axis()),
    "contributions": lambda: gs.plot.contributions(triangle()),
    "members": lambda: gs.plot.members(collection()),
    "transform": lambda: gs.plot.transform(several()),
    "transform_censored": lambda: gs.plot.transform(durations()),
    "findings": lambda: gs.plot.findings(explanation()),
}


def drawn(picture: Any) -> np.ndarray:
    """A picture as pixels, (h, w, 3), without letters, whose fonts and places differ between machines."""
    figure = getattr(picture, "figure", picture)
    figure.set_layout_engine("none")
    figure.legends.clear()
    for text in figure.texts:
        text.set_visible(False)
    for label in (figure._suptitle, figure._supxlabel):
        if label is not None:
            label.set_visible(False)
    for ax in figure.axes:
        if len(figure.axes) == 1:
            ax.set_position([0.05, 0.05, 0.9, 0.9])
        if ax.get_legend() is not None:
            ax.get_legend().remove()
        for text in [*ax.texts, ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label]:
            text.set_visible(False)
        ax.tick_params(labelbottom=False, labelleft=False)
        ax.xaxis.offsetText.set_visible(False)
    figure.set_dpi(DPI)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy()


def store() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import image, pyplot

    FOLDER.mkdir(exist_ok=True)
    for name, draw in CASES.items():
        image.imsave(FOLDER / f"{name}.png", drawn(draw()))
        pyplot.close("all")


if __name__ == "__main__":
    store()

"""Run time against n: bd-KSD, and MMD with the draws that it needs from a truncated model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import laws
import numpy as np
import variants
from setting import Setting
from style import COLOURS, GREY, MARKERS, canvas, legend_below, x_ticks
from verdicts import agrees
from words import Span

import goodstein as gs
from goodstein.families import Normal, Truncated

PART = "runtime"
PRINTED = "mixture in the ball of R³"
TEN, FAR = "Gaussian in the ball of R¹⁰", "mixture in the ball of R³, means ±3e₁"
LAWS = {
    PRINTED: laws.mixture(),
    FAR: laws.two(3.0 * laws.MEANS, np.eye(3)),
    TEN: Truncated(Normal(np.zeros(10), np.eye(10)), gs.Ball(10)),
}
SIZES = {
    PRINTED: (100, 200, 400, 700, 1000, 2000),
    FAR: (100, 200, 400, 700, 1000, 2000),
    TEN: (100, 200, 400, 1000),
}
REPEATS = {PRINTED: 7, FAR: 7, TEN: 3}
QUICK = {PRINTED: (100, 200), FAR: (100,), TEN: (100,)}


@dataclass(frozen=True)
class Stored:
    """A sampler whose draws are there already."""

    points: np.ndarray

    def __call__(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.points[:n]


def measure(region: str, n: int, repeats: int) -> dict[str, float]:
    """Median seconds of the tests and of their parts, one after the other in every repetition."""
    model, ksd = LAWS[region], variants.bd_ksd(gs.BallPower(2))
    data, points = model.sample(n, rng=[n, 0]), model.sample(n, rng=[n, 1])
    ready = gs.Model(sample=Stored(points), domain=model.domain, score=model.score)
    ready.trusted = True  # else it is asked whether it uses its generator
    timed: dict[str, Callable[[int], Any]] = {
        "ksd": lambda k: ksd(data, model, rng=k),
        "mmd": lambda k: variants.mmd(data, model, rng=k),
        "mmd_drawn": lambda k: variants.mmd(data, ready, rng=k),
        "sampling": lambda k: model.sample(n, rng=[n, 2, k]),
    }
    # The first repetition also pays for what is loaded and cached.
    found = [{name: _seconds(function, k) for name, function in timed.items()} for k in range(repeats + 1)]
    return {name: float(np.median([one[name] for one in found[1:]])) for name in timed}


def _seconds(function: Callable[[int], Any], k: int) -> float:
    start = perf_counter()
    function(k)
    return perf_counter() - start


def run(setting: Setting) -> None:
    tasks = {}
    for region, several in setting.choose(SIZES, QUICK).items():
        repeats = setting.choose(REPEATS[region], 1)
        tasks |= {f"{region}, n = {n}, {repeats} repeats": (region, n, repeats) for n in several}
    # One after the other: what runs beside would be measured too.
    found = replace(setting, workers=1).each(PART, measure, tasks)
    draws = setting.choose(1_000_000, 200_000)
    rate = {region: law.acceptance_rate(draws, rng=0) for region, law in LAWS.items()}
    rows = [
        {"region": region, "n": n, "repeats": repeats, "acceptance": rate[region], **found[name]}
        for name, (region, n, repeats) in tasks.items()
    ]
    setting.write(PART, rows)


# What is drawn and said

LINES = {"mmd": "MMD with its draws", "mmd_drawn": "MMD, draws at hand", "ksd": "bd-KSD(p=2)"}


def draw(setting: Setting) -> None:
    rows = setting.read(PART)
    with canvas(setting, PART, nrows=1, ncols=3, figsize=(10.0, 3.7), sharey=True) as (fig, axes):
        for ax, region in zip(axes, SIZES, strict=True):
            own = rows.where(region=region)
            n = own.all("n")
            for (name, label), colour, marker in zip(LINES.items(), COLOURS, MARKERS, strict=False):
                # Two of them are hardly apart; the first shows below the other.
                wide = {"ms": 8, "lw": 4, "alpha": 0.4} if name == "mmd" else {"ms": 4, "lw": 1.2}
                ax.plot(n, own.all(name), color=colour, marker=marker, label=label, **wide)
            style = {"color": GREY, "ls": "--", "lw": 1.2, "marker": "x", "ms": 4}
            ax.plot(n, own.all("sampling"), **style, label="the draws alone")
            ax.set(xscale="log", yscale="log", xlabel="n")
            ax.set_title(f"{region}\n{own[0]['acceptance']:.2g} of draws accepted", fontsize=9)
            x_ticks(ax, [one for one in n if one != 700])
            ax.grid(axis="y", color="#e6e6e6", lw=0.6)
        axes[0].set_ylabel("seconds, one core")
        legend_below(fig, axes[0], ncols=4)


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    for row in rows:
        row |= {f"{name}_ms": _milliseconds(row[name]) for name in (*LINES, "sampling")}
        row |= {"ratio": row["mmd"] / row["ksd"], "drawn_ratio": row["mmd_drawn"] / row["ksd"]}
        row["share"] = min(1.0, row["sampling"] / row["mmd"])
    own, hard = rows.where(region=PRINTED), rows.where(region=TEN)
    shares, accepted = Span(own.all("share")), rows.by("region")
    return {
        "rows": rows,
        "repeats": Span(rows.all("repeats")),
        "accepted": "; ".join(f"{region} {row['acceptance']:.2g}" for region, row in accepted.items()),
        "ratios": Span(own.all("ratio")),
        "shares": shares,
        "hard": Span(hard.all("share")),
        "one_in": {"own": 1 / own[0]["acceptance"], "hard": 1 / hard[0]["acceptance"]},
        "slower": agrees(min(own.all("ratio")) > 1),
        "cause": agrees(shares.low > 0.5),
    }


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g}" if seconds < 1 else f"{1000 * seconds:.0f}"

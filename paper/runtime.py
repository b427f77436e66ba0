"""Run time against n: bd-KSD, and MMD with the draws that it needs from a truncated model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import laws
import numpy as np
import variants
from claims import Finding, listed, percent
from setting import Row, Setting
from verdicts import DIFFERS, REPRODUCED
from writing import figure, table

import goodstein as gs
from goodstein.families import GaussianMixture, Normal, Truncated

PART = "runtime"
TITLE = "Run time"
PRINTED = "mixture in the ball of R³"
TEN, FAR = "Gaussian in the ball of R¹⁰", "mixture in the ball of R³, means ±3e₁"
SIZES = {
    PRINTED: (100, 200, 400, 700, 1000, 2000),
    FAR: (100, 200, 400, 700, 1000, 2000),
    TEN: (100, 200, 400, 1000),
}
REPEATS = {PRINTED: 7, FAR: 7, TEN: 3}
QUICK = {PRINTED: (100, 200), FAR: (100,), TEN: (100,)}


def law(region: str) -> Truncated:
    if region == PRINTED:
        return laws.mixture()
    if region == TEN:
        return Truncated(Normal(np.zeros(10), np.eye(10)), gs.Ball(10))
    return Truncated(GaussianMixture([0.5, 0.5], 3.0 * laws.MEANS, [np.eye(3)] * 2), gs.Ball(3))


@dataclass(frozen=True)
class Stored:
    """A sampler whose draws are there already."""

    points: np.ndarray

    def __call__(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.points[:n]


def measure(region: str, n: int, repeats: int) -> dict[str, float]:
    """Median seconds of the tests and of their parts, one after the other in every repetition."""
    model, ksd = law(region), variants.bd_ksd(gs.BallPower(2))
    data, points = model.sample(n, rng=[n, 0]), model.sample(n, rng=[n, 1])
    ready = gs.Model(sample=Stored(points), domain=model.domain, score=model.score)
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
    # One after the other: what runs beside would be measured too.
    alone = replace(setting, workers=1)
    tasks = {}
    for region, several in setting.choose(SIZES, QUICK).items():
        repeats = setting.choose(REPEATS[region], 1)
        tasks |= {f"{region}, n = {n}, {repeats} repeats": (region, n, repeats) for n in several}
    found = alone.each(PART, measure, tasks)
    rate = {
        region: law(region).acceptance_rate(setting.choose(1_000_000, 200_000), rng=0) for region in SIZES
    }
    setting.write(
        PART,
        [
            {"region": region, "n": n, "repeats": repeats, "acceptance": rate[region], **found[name]}
            for name, (region, n, repeats) in tasks.items()
        ],
    )


# What is drawn and said

LINES = {"mmd": "MMD with its draws", "mmd_drawn": "MMD, draws at hand", "ksd": "bd-KSD(p=2)"}


def draw(setting: Setting) -> None:
    from matplotlib.ticker import NullLocator
    from style import COLOURS, GREY, MARKERS, canvas

    rows = setting.read(PART)
    with canvas(setting, PART, nrows=1, ncols=3, figsize=(10.0, 3.7), sharey=True) as (fig, axes):
        for ax, region in zip(axes, SIZES, strict=True):
            own = [row for row in rows if row["region"] == region]
            n = [row["n"] for row in own]
            for (name, label), colour, marker in zip(LINES.items(), COLOURS, MARKERS, strict=False):
                # Two of them are hardly apart; the first shows below the other.
                wide = {"ms": 8, "lw": 4, "alpha": 0.4} if name == "mmd" else {"ms": 4, "lw": 1.2}
                ax.plot(n, [row[name] for row in own], color=colour, marker=marker, label=label, **wide)
            sampling = [row["sampling"] for row in own]
            ax.plot(n, sampling, color=GREY, ls="--", lw=1.2, marker="x", ms=4, label="the draws alone")
            ax.set(xscale="log", yscale="log", xlabel="n")
            ax.set_title(f"{region}\n{own[0]['acceptance']:.2g} of draws accepted", fontsize=9)
            ticks = [one for one in n if one != 700]
            ax.set_xticks(ticks, [str(one) for one in ticks])
            ax.xaxis.set_minor_locator(NullLocator())
            ax.grid(axis="y", color="#e6e6e6", lw=0.6)
        axes[0].set_ylabel("seconds, one core")
        handles, labels = axes[0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=4)


def report(setting: Setting) -> str:
    rows = setting.read(PART)
    lines = [
        [
            f"{row['region']}, n = {row['n']}",
            _milliseconds(row["ksd"]),
            _milliseconds(row["mmd"]),
            _milliseconds(row["mmd_drawn"]),
            _milliseconds(row["sampling"]),
            f"{row['mmd'] / row['ksd']:.1f}",
            f"{row['mmd_drawn'] / row['ksd']:.1f}",
            f"{100 * _share(row):.0f} %",
        ]
        for row in rows
    ]
    accepted = {row["region"]: row["acceptance"] for row in rows}
    return "\n\n".join(
        [
            f"## {TITLE}",
            "The paper's Figure 2 (c) has the run time of bd-KSD and of MMD against n, for truncated "
            "data. Here both have 999 resamples, and MMD draws as many points as there are data, by "
            "rejection from the law without truncation; one core, medians of "
            f"{_range(row['repeats'] for row in rows)} repetitions. Seconds depend on the machine; the "
            "ratios, taken in one run, less so; both depend on how draws and permutations are made, which "
            "for the paper's MMD we do not know. Two regions are added in which rejection is harder. "
            "Share of draws that are accepted: "
            + "; ".join(f"{region} {share:.2g}" for region, share in accepted.items())
            + ".",
            figure(PART, "Median time of one test. Grey: the part of it that goes into the draws."),
            table(
                [
                    "",
                    "bd-KSD, ms",
                    "MMD, ms",
                    "MMD, draws at hand, ms",
                    "draws alone, ms",
                    "MMD / bd-KSD",
                    "draws at hand / bd-KSD",
                    "share of draws in MMD",
                ],
                lines,
            ),
            listed(PART, findings(rows)),
        ]
    )


def summary(setting: Setting) -> str:
    own = [row for row in setting.read(PART) if row["region"] == PRINTED]
    ratios = [row["mmd"] / row["ksd"] for row in own]
    return (
        f"MMD takes {min(ratios):.0f}–{max(ratios):.0f} times as long as bd-KSD, but at most "
        f"{100 * max(map(_share, own)):.0f} % of its time goes into sampling the paper's mixture."
    )


def findings(rows: Sequence[Row]) -> dict[tuple[str, str], Finding]:
    """Verdicts on the claims of published.csv."""
    own = [row for row in rows if row["region"] == PRINTED]
    ratios, shares = [row["mmd"] / row["ksd"] for row in own], [_share(row) for row in own]
    hard = [row for row in rows if row["region"] == TEN]
    return {
        ("all", "MMD slower"): Finding(
            REPRODUCED if min(ratios) > 1 else DIFFERS,
            f"It takes {min(ratios):.1f} to {max(ratios):.1f} times as long.",
        ),
        ("all", "sampling"): Finding(
            REPRODUCED if min(shares) > 0.5 else DIFFERS,
            f"Of its time {percent(shares)} goes into the draws, although only one in "
            f"{1 / own[0]['acceptance']:.0f} is accepted; the rest is the kernel of 2n points and the "
            "permutations. Where the domain has little mass it is another matter: in the ball of R¹⁰, "
            f"with one accepted draw in {1 / hard[0]['acceptance']:.0f}, the share is "
            f"{percent(map(_share, hard))}.",
        ),
    }


def _share(row: Row) -> float:
    """How much of the time of MMD goes into the draws."""
    return min(1.0, row["sampling"] / row["mmd"])


def _range(values: Iterable[int]) -> str:
    found = sorted(set(values))
    return f"{found[0]}" if len(found) == 1 else f"{found[0]}–{found[-1]}"


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g}" if seconds < 1 else f"{1000 * seconds:.0f}"

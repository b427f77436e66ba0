"""The paper's power table: truncated data in the ball of R³, compositions on S², n = 200, level .01."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import laws
import numpy as np
import variants
from bounds import ball_bound, dirichlet_bound
from setting import Row, Setting
from style import COLOURS, GREY, canvas
from verdicts import IMPOSSIBLE, judge, keeps_level, printed
from words import SIZE, Span, of_samples, put

import goodstein as gs

PART = "power_table"
N = 200

BALL = {
    "bd-KSD(g1)": variants.bd_ksd(gs.BallPower(1)),
    "bd-KSD(g2)": variants.bd_ksd(gs.BallPower(2)),
    "bd-KSD(g1), as coded": variants.coded(gs.Standardised(gs.BallPower(1))),
    "bd-KSD(g2), as coded": variants.coded(gs.Standardised(gs.BallPower(2))),
    "goodstein default": variants.default,
}
SIMPLEX = {
    "bd-KSD(g1)": variants.bd_ksd(gs.GeometricMean()),
    "bd-KSD(g2)": variants.bd_ksd(gs.BoundaryDistance()),
    "bd-KSD(g2), per face": variants.invalid(variants.PerFace()),
    "MSD": variants.invalid(gs.Mirrored()),
    "bd-KSD(g1), as coded": variants.coded(variants.Ambient(gs.GeometricMean())),
    "bd-KSD(g2), as coded": variants.coded(variants.Ambient(gs.BoundaryDistance())),
    "MSD, as coded": variants.coded(variants.CodedMirror()),
    "bd-KSD(product of parts)": variants.bd_ksd(gs.ProductOfParts()),
    "goodstein default": variants.default,
}
SLOWER = {"MMD": variants.mmd, "goodstein aggregated": variants.aggregated}
SLOWEST = {"M3D": variants.m3d}
LAWS = {"ball": laws.mixture, "simplex": laws.dirichlet}


def cells(group: str, several: tuple[float, ...]) -> list[gs.Cell]:
    null = LAWS[group]()  # one object, so that the cells share their size
    others = [laws.SINGULAR_MIXTURE if (group, nu) == ("ball", 1.0) else LAWS[group](nu) for nu in several]
    return [
        gs.Cell(null, other, N, name=f"{group}, ν = {nu:g}", effect=nu)
        for nu, other in zip(several, others, strict=True)
    ]


def run(setting: Setting) -> None:
    rows: list[Row] = []
    for group, several, tests in (
        ("ball", (0.1, 0.3, 0.9, 1.0), BALL),
        ("simplex", (0.1, 0.3, 1.0), SIMPLEX),
    ):
        study = partial(setting.study, PART, cells(group, several), bound=False)
        rows += study(tests, trials=2000, quick=50)
        rows += study(SLOWER, trials=500, quick=12)
        rows += study(SLOWEST, trials=200, quick=5)
    setting.write(PART, [row | {"bound": _bound(row["cell"])} for row in rows])


@cache
def _bound(name: str) -> float:
    """The most that any test of level .01 can reach, by quadrature; 1 for mutually singular laws."""
    group, nu = name.split(", ν = ")
    if group == "simplex":
        return dirichlet_bound(float(nu), N)
    return 1.0 if nu == "1" else ball_bound(laws.mixture(), laws.mixture(float(nu)), N)


# What is drawn and said

TITLES = {"ball": "truncated mixture in the ball", "simplex": "Dirichlet on the simplex"}
PRINTED = ("bd-KSD(g1)", "bd-KSD(g2)", "MMD", "M3D")
"""The tests of the paper; on the simplex it has MSD too."""
VALID = ("bd-KSD(g2)", "MMD", "M3D", "MSD", "bd-KSD(product of parts)")
"""Tests of compositions that keep their level."""


def draw(setting: Setting) -> None:
    at = setting.read(PART).by("cell", "test")
    with canvas(setting, PART, ncols=2, figsize=(9.0, 3.6), sharey=True) as (_, axes):
        for axis, (group, title) in zip(axes, TITLES.items(), strict=True):
            tests = (*PRINTED, "MSD") if group == "simplex" else PRINTED
            cells = [name for name in at if name.startswith(group) and printed(PART, name, tests[0])]
            for i, name in enumerate(cells):
                _bars(axis, i, [(printed(PART, name, test)["value"], at[name][test]) for test in tests])
            axis.set_xticks(range(len(cells)), [name.split(", ")[1] for name in cells])
            axis.set_title(title)
            axis.set_ylim(0, 1.04)
            axis.legend(fontsize=7, loc="upper left")
        axes[0].set_ylabel("power at level .01, n = 200")
    draws = {f"ν = {label}": laws.mixture(nu).sample for label, nu in (("0", 0.0), (".3", 0.3), (".9", 0.9))}
    draws["ν = 1"] = laws.SINGULAR_MIXTURE
    with canvas(setting, "singular", ncols=4, figsize=(9.0, 2.6), sharey=True) as (_, axes):
        for axis, (label, sample) in zip(axes, draws.items(), strict=True):
            x = sample(600, np.random.default_rng(1))
            axis.plot(x[:, 0], x[:, 1], ".", ms=2.5, color=COLOURS[0])
            axis.set(title=label, xlabel="x₁", aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
        axes[0].set_ylabel("x₂")


def _bars(axis: Any, i: int, pairs: list[tuple[float, Row]]) -> None:
    """Printed power beside ours and the bound in one cell."""
    width = 0.8 / len(pairs)
    for j, (value, row) in enumerate(pairs):
        x, colour = i - 0.4 + (j + 0.5) * width, COLOURS[j]
        axis.bar(x, value, width * 0.9, facecolor="none", edgecolor=colour, linewidth=1.0)
        ends = [[row["power"] - row["power_lower"]], [row["power_upper"] - row["power"]]]
        label = None if i else row["test"]
        axis.errorbar(x, row["power"], ends, fmt="o", ms=3.5, color=colour, label=label)
        axis.plot([x - width * 0.45, x + width * 0.45], [row["size"]] * 2, color=colour, linewidth=2.5)
    label = None if i else "most possible"
    axis.plot([i - 0.42, i + 0.42], [pairs[0][1]["bound"]] * 2, color=GREY, linestyle="--", label=label)


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    at, simplex = rows.by("cell", "test"), {nu: f"simplex, ν = {nu}" for nu in ("0.1", "0.3", "1")}
    small = [at[f"ball, ν = {nu}"][test] for nu in (0.1, 0.3) for test in PRINTED]
    high = (*PRINTED, "goodstein default", "goodstein aggregated")
    coded = [row["size"] for row in rows if "as coded" in row["test"] and row["cell"].startswith("simplex")]

    def powers(name: str, tests: Iterable[str]) -> str:
        return ", ".join(f"{test} {at[name][test]['power']:.3f}" for test in tests)

    return {
        "at": at,
        "trials": {row["test"]: row["trials"] for row in rows},
        "ball": _lines(at, "ball"),
        "simplex": _lines(at, "simplex"),
        "impossible": sum(judge(printed(PART, row["cell"], row["test"]), row) == IMPOSSIBLE for row in small),
        "small": len(small),
        "ours": Span(row["power"] for row in small),
        "high": powers("ball, ν = 0.9", high),
        "valid": Span(at[simplex["1"]][test]["power"] for test in VALID),
        "powers": {
            test: "/".join(f"{at[name][test]['power']:.3f}" for name in simplex.values())
            for test in at[simplex["1"]]
        },
        "per_face": of_samples(at[simplex["0.1"]]["bd-KSD(g2), per face"]["size"]),
        "coded": of_samples(min(coded)),
        "order": powers(simplex["0.3"], VALID),
    }


def _lines(at: dict[str, dict[str, Row]], group: str) -> dict[str, str]:
    """The lines of a table: the bound, and by test its size and all that is printed and ours."""
    here = [tests for name, tests in at.items() if name.startswith(group)]
    found = {
        test: " | ".join([put(SIZE, here[0][test]), *(_entry(one[test]) for one in here)]) for test in here[0]
    }
    return found | {"bound": " | ".join(f"{one['MMD']['bound']:.3f}" for one in here)}


def _entry(row: Row) -> str:
    """Printed and ours, with the verdict in short."""
    entry = printed(PART, row["cell"], row["test"])
    if entry is None:
        return f"{row['power']:.3f}"
    verdict = judge(entry, row)
    word = (
        "**impossible**" if verdict == IMPOSSIBLE else verdict + ("" if keeps_level(row) else ", **invalid**")
    )
    return f"{entry['value']:.3f} → {row['power']:.3f} ({word})"

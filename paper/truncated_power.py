"""Power against n for truncated data: a Gaussian and a mixture in the ball of R³, level .01."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import laws
import numpy as np
import variants
from ball_bound import ball_bound
from claims import listed
from setting import Row, Setting
from truncated_claims import (
    DISC,
    GAUSSIAN,
    GAUSSIAN_NU,
    MIXTURE,
    POWERS,
    PRINTED,
    TESTS,
    bounds,
    chosen,
    findings,
    order_of_p,
    printed_bounds,
)
from verdicts import keeps_level, rate
from writing import figure, table

import goodstein as gs
from goodstein.families import GaussianMixture, Truncated

PART = "truncated_power"
TITLE = "Power against n, truncated data"

KSD = {f"bd-KSD(p={p:g})": variants.bd_ksd(gs.BallPower(p)) for p in POWERS}
MMD = {"MMD": variants.mmd}
AGGREGATED = {"goodstein aggregated": variants.aggregated}
# Beyond n = 1000 the permutations of MMD are what costs.
COARSE_MMD = {"MMD": partial(gs.mmd_test, kernel=gs.Gaussian(), n_resamples=199, workers=1)}

# Alternatives, and how many observations: in a figure of the paper, or where they can be found.
SIZES: dict[tuple[str, float], tuple[int, ...]] = {
    (GAUSSIAN, 1.0): (25, 50, *PRINTED),
    (GAUSSIAN, 0.9): PRINTED[:4],
    (GAUSSIAN, 0.5): PRINTED,
    (MIXTURE, -0.5): PRINTED,
    (MIXTURE, -0.9): PRINTED[:4],
}
QUICK: dict[tuple[str, float], tuple[int, ...]] = {
    (GAUSSIAN, 1.0): (50, 100),
    (GAUSSIAN, 0.9): (100, 200),
    (GAUSSIAN, 0.5): (200,),
    (MIXTURE, -0.5): (200,),
    (MIXTURE, -0.9): (100, 200),
}
MORE: dict[tuple[str, float], tuple[int, ...]] = {
    (GAUSSIAN, 0.5): (2000, 4000, 8000),
    (MIXTURE, -0.5): (4000, 16_000),
}


def cells(sizes: dict[tuple[str, float], tuple[int, ...]]) -> list[gs.Cell]:
    return [cell(family, nu, n) for (family, nu), several in sizes.items() for n in several]


def cell(family: str, nu: float, n: int) -> gs.Cell:
    make = laws.gaussian if family == GAUSSIAN else laws.mixture
    other = laws.SINGULAR_GAUSSIAN if nu == 1 else make(nu)
    return gs.Cell(make(), other, n, name=f"{family}, ν = {number(nu)}, n = {n}", effect=nu)


def number(nu: float) -> str:
    return f"{nu:g}".replace("-", "−")


def run(setting: Setting) -> None:
    # The bound of most cells is found by quadrature, and simulated at n = 200 to check it.
    study = partial(setting.study, PART, bound=False)
    some = cells(setting.choose(SIZES, QUICK))
    tests = {**KSD, "goodstein default": variants.default}
    rows = study(some, tests, trials=200, quick=20)
    rows += study([one for one in some if one.n > 25], MMD, trials=100, quick=12)
    rows += study([one for one in some if one.n in (200, 1000)], AGGREGATED, trials=100, quick=6)
    if not setting.quick:
        more = cells(MORE)
        rows += study([one for one in more if one.n < 10_000], KSD, trials=50, quick=0)
        rows += study([one for one in more if one.n < 5000], COARSE_MMD, trials=50, quick=0)
        few = {name: KSD[name] for name in ("bd-KSD(p=4)", "bd-KSD(p=1)")}
        rows += study([one for one in more if one.n > 10_000], few, trials=40, quick=0, size=False)
        some += more
    checked = [one for one in some if one.n == 200 and (not setting.quick or one.effect == 0.5)]
    draws = setting.choose((5000, 2000), (1000, 1000))
    # All trials are on record by now.
    simulated = study(
        checked, {"bd-KSD(p=4)": KSD["bd-KSD(p=4)"]}, trials=200, quick=20, bound=True, bound_draws=draws
    )
    setting.write(PART, [*_completed(rows, some, simulated), *_plane(setting.choose(PRINTED, (200,)))])


def _completed(rows: Sequence[Row], some: Sequence[gs.Cell], simulated: Sequence[Row]) -> list[Row]:
    """The rows with family, ν and the bounds."""
    by_name = {one.name: one for one in some}
    bounds = {name: _bound(one) for name, one in by_name.items()}
    check = {row["cell"]: (row["bound_lower"], row["bound_upper"]) for row in simulated}
    done = []
    for row in rows:
        family = row["cell"].split(", ")[0]
        lower, upper = check.get(row["cell"], (None, None))
        new = {"family": family, "nu": by_name[row["cell"]].effect, **row, "bound": bounds[row["cell"]]}
        new |= {"bound_lower": lower, "bound_upper": upper, "of_bound": row["power"] / bounds[row["cell"]]}
        done.append(new)
    return done


def _bound(one: gs.Cell) -> float:
    """1 for the singular law, whose plane the null never meets: to look there is a test without error."""
    return 1.0 if one.effect == 1 else ball_bound(one.null, one.alternative, one.n)


def _plane(sizes: Sequence[int]) -> list[Row]:
    """The bounds of the mixture in the disc of R², which the paper names."""

    def disc(nu: float) -> Truncated:
        spread = np.array([[1.0, nu], [nu, 1.0]])
        return Truncated(GaussianMixture([0.5, 0.5], laws.MEANS[:, :2], [spread] * 2), gs.Ball(2))

    return [
        {
            "family": DISC,
            "nu": -0.5,
            "cell": f"{DISC}, ν = −0.5, n = {n}",
            "test": "none",
            "n": n,
            "bound": ball_bound(disc(0.0), disc(-0.5), n, points=200),
        }
        for n in sizes
    ]


# What is drawn and said


def draw(setting: Setting) -> None:
    from matplotlib.ticker import NullLocator
    from style import COLOURS, GREY, MARKERS, canvas

    rows = setting.read(PART)
    with canvas(setting, PART, nrows=2, ncols=3, figsize=(9.0, 5.6), sharey=True) as (_, axes):
        panels = axes.ravel()
        for ax, (family, nu) in zip(panels, SIZES, strict=False):
            limit = bounds(rows, family, nu)
            ax.axvspan(PRINTED[0], PRINTED[-1], color="#f2f2f2", zorder=0, label="n from 100 to 1000")
            ax.plot(
                sorted(limit), [limit[n] for n in sorted(limit)], color=GREY, lw=3, alpha=0.6, label="bound"
            )
            ax.axhline(0.01, color=GREY, ls=":", lw=1, label="level .01")
            for test, colour, marker in zip(TESTS, COLOURS, MARKERS, strict=True):
                line = chosen(rows, family, nu, test)
                ls = "none" if test == "goodstein aggregated" else "--" if test == "MMD" else "-"
                _curve(ax, line, color=colour, marker=marker, ls=ls, label=test)
            ax.set(
                title=f"{family.capitalize()}, ν = {number(nu)}", xscale="log", xlabel="n", ylim=(-0.03, 1.05)
            )
            few = (100, 1000) if max(limit) > 1000 else (50, 100, 200, 400)
            ticks = sorted({n for n in limit if n in few} | {min(limit), max(limit)})
            ax.set_xticks(ticks, [str(n) for n in ticks])
            ax.xaxis.set_minor_locator(NullLocator())
            if len(limit) == 1:  # a quick run
                ax.set_xlim(ticks[0] / 3, ticks[0] * 3)
        for ax in axes[:, 0]:
            ax.set_ylabel("power")
        handles, labels = panels[0].get_legend_handles_labels()
        panels[5].axis("off")
        panels[5].legend(handles, labels, loc="center", fontsize=9)


def _curve(ax: Any, line: Sequence[Row], **style: Any) -> None:
    n, power = [row["n"] for row in line], [row["power"] for row in line]
    ends = [
        [row["power"] - row["power_lower"] for row in line],
        [row["power_upper"] - row["power"] for row in line],
    ]
    ax.errorbar(n, power, yerr=np.maximum(ends, 0.0), ms=4, lw=1.2, elinewidth=0.7, **style)


def report(setting: Setting) -> str:
    rows = setting.read(PART)
    trials = ", ".join(
        f"{test} {_range(row['trials'] for row in rows if row['test'] == test)}" for test in TESTS
    )
    pieces = [
        f"## {TITLE}",
        "The paper's Figure 2 (a) has N(0, I) in the unit ball of R³ as null and Σ_ν with ν = 1 as "
        "alternative, Figure 2 (b) the mixture of N(−e₁, I) and N(e₁, I) and ν = −½; level .01, 200 "
        "trials, g⁽ᵖ⁾ = 1 − ‖x‖ᵖ. Which n they have is not in the text; Table 2 has 100 to 1000, which we "
        "take. We add ν = .9, .5 and −.9, and more observations, "
        f"with which the alternatives can be found. Trials: {trials}. Beyond n = 1000 MMD has 199 "
        "permutations, not 999. The bound is the power of the likelihood-ratio test, by quadrature; "
        f"{_check(rows)}",
        "*ν = 1 is no density.* Σ₁ is singular: all draws have x₁ = x₂, a plane that has no mass "
        "under the null. One observation is enough to tell them apart without error, so the bound is "
        "1 at every n; a kernel test, which does not look for planes, needs more.",
        figure(
            PART, "Power against n. Bars: 95 % intervals. Grey line: no test of level .01 has more power."
        ),
        *(_section(rows, family, nu) for family, nu in SIZES),
        _sizes(rows),
        "What the paper says, and what we find (a difference counts beyond three standard errors):",
        listed(PART, findings(rows)),
    ]
    return "\n\n".join(pieces)


def summary(setting: Setting) -> str:
    rows = setting.read(PART)
    printed = printed_bounds(rows, MIXTURE, -0.5)
    return (
        f"of two p the larger has {order_of_p(rows, GAUSSIAN, GAUSSIAN_NU)} for the Gaussian. The "
        f"figure of the mixture cannot be had with n ≤ {max(printed)}: at ν = −½ no test of level .01 has "
        f"more power there than {max(printed.values()):.3f}."
    )


def _range(values: Any) -> str:
    found = sorted(set(values))
    return f"{found[0]}" if len(found) == 1 else f"{found[0]}–{found[-1]}" if found else "0"


def _check(rows: Sequence[Row]) -> str:
    known = {row["cell"]: row for row in rows if row["bound_lower"] is not None}
    inside = [row["bound_lower"] <= row["bound"] <= row["bound_upper"] for row in known.values()]
    return f"simulated 95 % intervals at n = 200 contain it in {sum(inside)} of {len(inside)} cells."


def _section(rows: Sequence[Row], family: str, nu: float) -> str:
    limit = bounds(rows, family, nu)
    found = {(row["n"], row["test"]): row for test in TESTS for row in chosen(rows, family, nu, test)}
    lines = [
        [
            f"{n}",
            rate(limit[n]),
            *(rate(found[n, test]["power"]) if (n, test) in found else "–" for test in TESTS),
        ]
        for n in sorted(limit)
    ]
    return f"**{family.capitalize()}, ν = {number(nu)}**\n\n" + table(["n", "bound", *TESTS], lines)


def _sizes(rows: Sequence[Row]) -> str:
    lines = []
    for family in (GAUSSIAN, MIXTURE):
        own = [row for row in rows if row["family"] == family and row["size"] is not None]
        for n in sorted({row["n"] for row in own}):
            found = {row["test"]: row for row in own if row["n"] == n}
            lines.append(
                [
                    f"{family}, n = {n}",
                    *(
                        rate(found[t]["size"]) + (found[t]["size_mark"] or "") if t in found else "–"
                        for t in TESTS
                    ),
                ]
            )
    marked = [row for row in rows if row["size"] is not None and not keeps_level(row)]
    said = (
        "No size is above it beyond chance"
        if not marked
        else f"{len({row['cell'] for row in marked})} cells exceed it (↑)"
    )
    return f"**Size** at level .01, from as many trials as the powers. {said}.\n\n" + table(
        ["null", *TESTS], lines
    )

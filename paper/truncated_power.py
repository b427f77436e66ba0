"""Power against n for truncated data: a Gaussian and a mixture in the ball of R³, level .01."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any

import laws
import variants
from bounds import ball_bound
from setting import Row, Rows, Setting
from style import BOUND, COLOURS, LEVEL, MARKERS, canvas, curve, x_ticks
from verdicts import VISIBLE, Order, judge_trends, keeps_level
from words import SIZE, Span, put, signed, table

import goodstein as gs

PART = "truncated_power"
GAUSSIAN, MIXTURE, DISC = "Gaussian", "mixture", "mixture in the disc"
PRINTED = (100, 200, 400, 700, 1000)
KSD = {f"bd-KSD(p={p:g})": variants.bd_ksd(gs.BallPower(p)) for p in (4, 2, 1, 0.5)}
MMD = {"MMD": variants.mmd}
AGGREGATED = {"goodstein aggregated": variants.aggregated}
LARGER = tuple(combinations(KSD, 2))
"""The test with the larger p comes first."""
TESTS = (*KSD, "MMD", "goodstein default", "goodstein aggregated")
# Beyond n = 1000 the permutations of MMD are what costs.
COARSE_MMD = {"MMD": partial(gs.mmd_test, kernel=gs.Gaussian(), n_resamples=199, workers=1)}

Sizes = dict[tuple[str, float], tuple[int, ...]]
# Alternatives, and how many observations: in a figure of the paper, or where they can be found.
SIZES: Sizes = {
    (GAUSSIAN, 1.0): (25, 50, *PRINTED),
    (GAUSSIAN, 0.9): PRINTED[:4],
    (GAUSSIAN, 0.5): PRINTED,
    (MIXTURE, -0.5): PRINTED,
    (MIXTURE, -0.9): PRINTED[:4],
}
QUICK: Sizes = {
    (GAUSSIAN, 1.0): (50, 100),
    (GAUSSIAN, 0.9): (100, 200),
    (GAUSSIAN, 0.5): (200,),
    (MIXTURE, -0.5): (200,),
    (MIXTURE, -0.9): (100, 200),
}
MORE: Sizes = {(GAUSSIAN, 0.5): (2000, 4000, 8000), (MIXTURE, -0.5): (4000, 16_000)}


def cells(sizes: Sizes) -> list[gs.Cell]:
    return [cell(family, nu, n) for (family, nu), several in sizes.items() for n in several]


def cell(family: str, nu: float, n: int) -> gs.Cell:
    make = laws.gaussian if family == GAUSSIAN else laws.mixture
    other = laws.SINGULAR_GAUSSIAN if nu == 1 else make(nu)
    return gs.Cell(make(), other, n, name=f"{family}, ν = {signed(nu)}, n = {n}", effect=nu)


def run(setting: Setting) -> None:
    # The bound of most cells is found by quadrature, and simulated at n = 200 to check it.
    study = partial(setting.study, PART, bound=False)
    some = cells(setting.choose(SIZES, QUICK))
    rows = study(some, KSD | {"goodstein default": variants.default}, trials=200, quick=20)
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
    draws, first = setting.choose((5000, 2000), (1000, 1000)), {"bd-KSD(p=4)": KSD["bd-KSD(p=4)"]}
    # All trials are on record by now.
    simulated = study(checked, first, trials=200, quick=20, bound=True, bound_draws=draws)
    setting.write(PART, [*_completed(rows, some, simulated), *_plane(setting.choose(PRINTED, (200,)))])


def _completed(rows: Sequence[Row], some: Sequence[gs.Cell], simulated: Sequence[Row]) -> list[Row]:
    """The rows with family, ν and the bounds."""
    by_name, check = {one.name: one for one in some}, Rows(simulated).by("cell")
    bounds = {name: _bound(one) for name, one in by_name.items()}
    done = []
    for row in rows:
        name = row["cell"]
        ends = {end: check.get(name, {}).get(end) for end in ("bound_lower", "bound_upper")}
        new = {"family": name.split(", ")[0], "nu": by_name[name].effect, **row, "bound": bounds[name]}
        done.append(new | ends | {"of_bound": row["power"] / bounds[name]})
    return done


def _bound(one: gs.Cell) -> float:
    """1 for the singular law, whose plane the null never meets: to look there is a test without error."""
    return 1.0 if one.effect == 1 else ball_bound(one.model, one.alternative, one.n)


def _plane(sizes: Sequence[int]) -> list[Row]:
    """The bounds of the mixture in the disc of R², which the paper names."""
    row, pair = {"family": DISC, "nu": -0.5}, (laws.mixture(d=2), laws.mixture(-0.5, d=2))
    return [
        row
        | {"cell": f"{DISC}, ν = −0.5, n = {n}", "test": "none", "n": n}
        | {"bound": ball_bound(*pair, n, points=200)}
        for n in sizes
    ]


# What is drawn and said


def draw(setting: Setting) -> None:
    rows = setting.read(PART)
    with canvas(setting, PART, nrows=2, ncols=3, figsize=(9.0, 5.6), sharey=True) as (_, axes):
        panels = axes.ravel()
        for ax, (family, nu) in zip(panels, SIZES, strict=False):
            limit = bounds(rows, family, nu)
            ax.axvspan(PRINTED[0], PRINTED[-1], color="#f2f2f2", zorder=0, label="n from 100 to 1000")
            ax.plot(list(limit), list(limit.values()), **BOUND)
            ax.axhline(0.01, **LEVEL)
            for test, colour, marker in zip(TESTS, COLOURS, MARKERS, strict=True):
                ls = "none" if test == "goodstein aggregated" else "--" if test == "MMD" else "-"
                line = chosen(rows, family, nu, test)
                curve(ax, line, "n", color=colour, marker=marker, ls=ls, label=test)
            title = f"{family.capitalize()}, ν = {signed(nu)}"
            ax.set(title=title, xscale="log", xlabel="n", ylim=(-0.03, 1.05))
            few = (100, 1000) if max(limit) > 1000 else (50, 100, 200, 400)
            ticks = sorted({n for n in limit if n in few} | {min(limit), max(limit)})
            x_ticks(ax, ticks)
            if len(limit) == 1:  # a quick run
                ax.set_xlim(ticks[0] / 3, ticks[0] * 3)
        for ax in axes[:, 0]:
            ax.set_ylabel("power")
        handles, labels = panels[0].get_legend_handles_labels()
        panels[5].axis("off")
        panels[5].legend(handles, labels, loc="center", fontsize=9)


def chosen(rows: Rows, family: str, nu: float, test: str) -> Rows:
    return rows.where(family=family, nu=nu, test=test).sorted("n")


def bounds(rows: Rows, family: str, nu: float) -> dict[int, float]:
    return dict(sorted((row["n"], row["bound"]) for row in rows.where(family=family, nu=nu)))


def compared(rows: Rows, family: str, several: Sequence[float], *tests: tuple[str, str]) -> Order:
    """The first of two tests beside the second, in all cells that both have; several ν and pairs."""
    pairs = []
    for nu in several:
        for one, other in tests:
            second = rows.where(family=family, nu=nu, test=other).by("cell")
            first = rows.where(family=family, nu=nu, test=one)
            pairs += [(row, second[row["cell"]]) for row in first if row["cell"] in second]
    return Order.among(pairs)


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    known = Rows(row for row in rows if row["bound_lower"] is not None).by("cell").values()
    inside = [row["bound_lower"] <= row["bound"] <= row["bound_upper"] for row in known]
    all_nu = [nu for family, nu in SIZES if family == GAUSSIAN]
    half, limit = [chosen(rows, GAUSSIAN, 0.5, test) for test in KSD], bounds(rows, GAUSSIAN, 0.5)
    best = {n: max(row["power"] for line in half for row in line if row["n"] == n) for n in limit}
    with_mmd = [
        compared(rows, GAUSSIAN, all_nu, *((f"bd-KSD(p={p:g})", "MMD") for p in pair))
        for pair in ((4, 2), (1, 0.5))
    ]
    return {
        "trials": ", ".join(f"{test} {Span(rows.where(test=test).all('trials')):d}" for test in TESTS),
        "inside": sum(inside),
        "checked": len(inside),
        "powers": "\n\n".join(_powers(rows, family, nu) for family, nu in SIZES),
        **_sizes(rows),
        "growth": _growth(rows),
        "order": compared(rows, GAUSSIAN, all_nu, *LARGER),
        "best": ", ".join(f"{best[n]:.2f} of {limit[n]:.2f} at n = {n}" for n in limit),
        "mmd": with_mmd,
        **_mixture(rows),
    }


def _growth(rows: Rows) -> dict[str, Any]:
    lines = {test: chosen(rows, GAUSSIAN, 1.0, test) for test in (*KSD, "MMD")}
    verdict, words = judge_trends(lines, "grows")
    points = [row["power"] for test in KSD for row in lines[test] if row["n"] in PRINTED]
    full = sum(power > 0.99 for power in points)
    end = ": against the singular law little is left to grow" if 2 * full > len(points) else ""
    return {"verdict": verdict, "words": words, "full": full, "of": len(points), "end": end}


OUT_OF_REACH = (
    "At ν = −½ and n = {largest} no test of level .01 has more power than {reach:.3f} in the ball of R³ (to "
    "which the printed means belong), or {in_disc:.3f} in the disc of R² (which is printed), so five curves "
    "could not be told apart. With more observations than that, which the text does not exclude, they could."
)


def _mixture(rows: Rows) -> dict[str, Any]:
    """Whether the orders that the figure of the mixture shows can be seen there, and where they can."""
    reach = {n: most for n, most in bounds(rows, MIXTURE, -0.5).items() if n in PRINTED}
    largest = max(reach)
    found = {"reach": max(reach.values()), "largest": largest, "in_disc": bounds(rows, DISC, -0.5)[largest]}
    figures = {"A larger p": LARGER, "MMD, beside p = 1,": (("MMD", "bd-KSD(p=1)"),)}
    found["mixture"] = []
    for who, pairs in figures.items():
        drawn, clear = (compared(rows, MIXTURE, (nu,), *pairs) for nu in (-0.5, -0.9))
        verdict, words = drawn.verdict, f"{who} has {drawn} at ν = −½."
        if found["reach"] <= VISIBLE:
            verdict, words = f"not possible with n up to {largest}", put(OUT_OF_REACH, found)
        words += f" {who} has {clear} at ν = −.9, where there is something to find."
        found["mixture"].append({"verdict": verdict, "words": words})
    return found


def _powers(rows: Rows, family: str, nu: float) -> str:
    limit, at = bounds(rows, family, nu), rows.where(family=family, nu=nu).by("n", "test")
    lines = [[n, f"{limit[n]:.3f}", *(put("{power:.3f}", at[n].get(test)) for test in TESTS)] for n in limit]
    return f"**{family.capitalize()}, ν = {signed(nu)}**\n\n{table(['n', 'bound', *TESTS], lines)}"


def _sizes(rows: Rows) -> dict[str, str]:
    own = Rows(row for row in rows if row["size"] is not None)
    lines = []
    for family in (GAUSSIAN, MIXTURE):
        at = own.where(family=family).by("n", "test")
        lines += [[f"{family}, n = {n}", *(put(SIZE, at[n].get(test)) for test in TESTS)] for n in sorted(at)]
    marked = {row["cell"] for row in own if not keeps_level(row)}
    said = f"{len(marked)} cells exceed it (↑)" if marked else "No size is above it beyond chance"
    return {"sizes": table(["null", *TESTS], lines), "exceeding": said}

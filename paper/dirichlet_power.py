"""Power for compositions: Dirichlet(½, …, ½) against ½ − ⅓ in the first part, over n and dimension."""

from __future__ import annotations

from functools import partial
from typing import Any

import laws
import numpy as np
import variants
from bounds import dirichlet_bound
from setting import Rows, Setting
from style import BOUND, COLOURS, LEVEL, MARKERS, canvas, curve, legend_below, x_ticks
from verdicts import DIFFERS, Order, judge_trends, keeps_level
from words import Span, put, table

import goodstein as gs

PART = "dirichlet_power"
NU = -1 / 3
PARTS, N = 3, 50
"""Where the other axis stands still."""
SIZES = (10, 20, 30, 50, 75, 100, 200)
DIMENSIONS = (3, 4, 6, 8, 10, 15, 20)
FEW = 10

MEAN, MINIMUM, PRODUCT = "bd-KSD(g1)", "bd-KSD(g2)", "bd-KSD(product of parts)"
AUXILIARIES = {MEAN: gs.GeometricMean(), MINIMUM: gs.BoundaryDistance(), PRODUCT: gs.ProductOfParts()}
FAST = {
    **{name: variants.bd_ksd(auxiliary) for name, auxiliary in AUXILIARIES.items()},
    "MSD": variants.invalid(gs.Mirrored()),
    "MMD": variants.mmd,
    "goodstein default": variants.default,
}
SLOW = {"goodstein aggregated": variants.aggregated}
TESTS = (*FAST, *SLOW)
SHOWN = (MEAN, MINIMUM, "MMD")
"""The tests of the paper's figure, of which its claims speak."""


def run(setting: Setting) -> None:
    dimensions = setting.choose(DIMENSIONS, (3, 10))
    pairs = [(PARTS, n) for n in setting.choose(SIZES, (20, 50))]
    pairs += [(d, N) for d in dimensions if (d, N) not in pairs]
    cells = [
        gs.Cell(laws.dirichlet(parts=d), laws.dirichlet(NU, d), n, name=f"d = {d}, n = {n}") for d, n in pairs
    ]
    study = partial(setting.study, PART, cells, bound_draws=setting.choose((10_000, 5_000), (2_000, 1_000)))
    rows = Rows(study(FAST, trials=200, quick=25) + study(SLOW, trials=100, quick=8))
    done = []
    for cell, (d, n) in zip(cells, pairs, strict=True):
        exact, draws = dirichlet_bound(NU, n, d), setting.choose(100, 20)
        largest = {test: dominance(cell.model, n, AUXILIARIES[test], draws) for test in (MEAN, MINIMUM)}
        for row in rows.where(cell=cell.name):
            done.append({"d": d, **row, "bound_exact": exact, "largest": largest.get(row["test"])})
    done.sort(key=lambda row: row["test"] in SLOW)
    # At n = 50 the bound is 1; with fewer observations it shows how it depends on the dimension.
    for d in dimensions:
        bound = dirichlet_bound(NU, FEW, d)
        done.append({"d": d, "cell": f"d = {d}, n = {FEW}", "test": "none", "n": FEW, "bound_exact": bound})
    setting.write(PART, done)


def dominance(model: Any, n: int, auxiliary: Any, draws: int) -> float:
    """The share of Σ h² that pairs with one single observation have, the median over draws of the null."""
    shares = []
    for k in range(draws):
        x = model.sample(n, np.random.default_rng([n, model.domain.parts, k]))
        h = gs.stein_matrix(x, model, operator=gs.Standardised(auxiliary), kernel=gs.Gaussian())
        squares = (h - np.diag(np.diag(h))) ** 2
        shares.append(2.0 * squares.sum(axis=1).max() / squares.sum())
    return float(np.median(shares))


# What is drawn and said


def along(rows: Rows, test: str, axis: str) -> Rows:
    """The rows of a test over n or over d."""
    fixed = {"d": PARTS} if axis == "n" else {"n": N}
    return rows.where(test=test, **fixed).sorted(axis)


def draw(setting: Setting) -> None:
    rows = setting.read(PART)
    with canvas(setting, PART, nrows=1, ncols=2, figsize=(9.0, 4.6), sharey=True) as (fig, axes):
        for ax, axis in zip(axes, ("n", "d"), strict=True):
            for test, colour, marker in zip(TESTS, COLOURS, MARKERS, strict=True):
                line, style = along(rows, test, axis), {"color": colour, "marker": marker}
                curve(ax, line, axis, **style, label=test)
                if test == MEAN:
                    style |= {"ls": "--", "mfc": "white"}
                    curve(ax, line, axis, "size", **style, label=f"{test}, its size")
            limit = along(rows, MEAN, axis)
            ax.plot(limit.all(axis), limit.all("bound_exact"), zorder=0, **BOUND)
            ax.axhline(0.01, **LEVEL)
            ax.set(xscale="log", ylim=(-0.03, 1.05))
            x_ticks(ax, limit.all(axis))
        axes[0].set(title=f"d = {PARTS} parts", xlabel="n", ylabel="power")
        axes[1].set(title=f"n = {N}", xlabel="parts d")
        legend_below(fig, axes[0], ncols=4, fontsize=8.5)


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    known = Rows(row for row in rows if row["bound_lower"] is not None).by("cell").values()
    inside = [row["bound_lower"] - 5e-5 <= row["bound_exact"] <= row["bound_upper"] + 5e-5 for row in known]
    wrong = Rows(row for row in rows if row["size"] is not None and not keeps_level(row))
    said = [f"{test} ({'; '.join(wrong.where(test=test).all('cell'))})" for test in wrong.kinds("test")]
    more = {test: Rows(row for row in along(rows, test, "d") if row["d"] > PARTS) for test in (MEAN, MINIMUM)}
    few = rows.where(test="none").all("bound_exact")
    trends = {
        axis: judge_trends({test: along(rows, test, axis) for test in SHOWN}, expected)
        for axis, expected in (("n", "grows"), ("d", "falls"))
    }
    return {
        "trials": {row["test"]: row["trials"] for row in rows},
        "inside": sum(inside),
        "checked": len(inside),
        "over_n": _table(rows, "n"),
        "over_d": _table(rows, "d"),
        "wrong": ", ".join(said) or "none",
        "sizes": Span(along(rows, MEAN, "n").all("size")),
        "more": {
            test: {key: Span(some.all(key)) for key in ("size", "largest")} for test, some in more.items()
        },
        "few": {"n": FEW, "first": few[0], "last": few[-1]},
        "parts": {"n": N, "least": PARTS, "most": max(rows.all("d"))},
        "grows": trends["n"],
        "falls": trends["d"],
        "in_words": f"{trends['d'][0]}, {trends['d'][1][0].lower()}{trends['d'][1][1:]}",
        "least": min(along(rows, "goodstein aggregated", "d").all("power")),
        **_orders(rows),
    }


def _table(rows: Rows, axis: str) -> str:
    at = rows.by("cell", "test")
    lines = []
    for row in along(rows, MEAN, axis):
        rates = [put("{power:.3f} ({size:.3f})", at[row["cell"]][test]) for test in TESTS]
        lines.append([row[axis], f"{row['bound_exact']:.3f}", *rates])
    return table([axis, "bound", *TESTS], lines)


def _orders(rows: Rows) -> dict[str, Any]:
    """Which test has more power than which; g⁽¹⁾ beside g⁽²⁾ only where both are tests of the level."""
    at = [tests for tests in rows.by("cell", "test").values() if MEAN in tests]
    both = [tests for tests in at if keeps_level(tests[MEAN]) and keeps_level(tests[MINIMUM])]
    order = Order.among((tests[MEAN], tests[MINIMUM]) for tests in both)
    wrong = [tests[MEAN]["size"] for tests in at if tests not in both]
    mean = sum(not keeps_level(tests[MEAN]) for tests in at)
    brackets = f" (but in {mean} of the {len(at)} it does not keep its level, so this is not power)"
    rejects = (
        f"In {len(wrong)} of {len(at)} cells g⁽¹⁾ does not keep its level: it rejects "
        f"{100 * Span(wrong):.0f} % of true models, so its rejections are not power. "
    )
    return {
        "over_mmd": {test: Order.among((tests[test], tests["MMD"]) for tests in at) for test in AUXILIARIES},
        "not_power": brackets if mean else "",
        "both": order,
        "g1_verdict": DIFFERS if wrong else order.verdict,
        "g1_invalid": rejects if wrong else "",
    }

"""Power for compositions: Dirichlet(½, …, ½) against ½ − ⅓ in the first part, over n and dimension."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import laws
import numpy as np
import variants
from claims import Finding, Order, judge_trends, listed, percent
from setting import Row, Setting
from verdicts import DIFFERS, keeps_level, rate
from writing import figure, table

import goodstein as gs

PART = "dirichlet_power"
TITLE = "Power against n and dimension, compositions"
NU = -1 / 3
PARTS, N = 3, 50
"""Where the other axis stands still."""
SIZES = (10, 20, 30, 50, 75, 100, 200)
DIMENSIONS = (3, 4, 6, 8, 10, 15, 20)
FEW = 10

MEAN, MINIMUM, PRODUCT = "bd-KSD(g1)", "bd-KSD(g2)", "bd-KSD(product of parts)"
FAST = {
    MEAN: variants.bd_ksd(gs.GeometricMean()),
    MINIMUM: variants.bd_ksd(gs.BoundaryDistance()),
    PRODUCT: variants.bd_ksd(gs.ProductOfParts()),
    "MSD": variants.invalid(gs.Mirrored()),
    "MMD": variants.mmd,
    "goodstein default": variants.default,
}
SLOW = {"goodstein aggregated": variants.aggregated}
TESTS = (*FAST, *SLOW)
SHOWN = (MEAN, MINIMUM, "MMD")
"""The tests of the paper's figure, of which its claims speak."""


def cells(setting: Setting) -> list[gs.Cell]:
    pairs = [(PARTS, n) for n in setting.choose(SIZES, (20, 50))]
    pairs += [(d, N) for d in setting.choose(DIMENSIONS, (3, 10)) if (d, N) not in pairs]
    return [
        gs.Cell(laws.dirichlet(parts=d), laws.dirichlet(NU, d), n, name=f"d = {d}, n = {n}") for d, n in pairs
    ]


def run(setting: Setting) -> None:
    some = cells(setting)
    study = partial(setting.study, PART, some, bound_draws=setting.choose((10_000, 5_000), (2_000, 1_000)))
    rows = study(FAST, trials=200, quick=25) + study(SLOW, trials=100, quick=8)
    parts = {cell.name: cell.null.domain.parts for cell in some}
    exact = {cell.name: laws.dirichlet_bound(NU, cell.n, parts[cell.name]) for cell in some}
    largest = {
        (cell.name, test): dominance(cell.null, cell.n, auxiliary, setting.choose(100, 20))
        for cell in some
        for test, auxiliary in ((MEAN, gs.GeometricMean()), (MINIMUM, gs.BoundaryDistance()))
    }
    done = [
        {"d": parts[cell], **row, "bound_exact": exact[cell], "largest": largest.get((cell, row["test"]))}
        for row in rows
        if (cell := row["cell"])
    ]
    # At n = 50 the bound is 1; with fewer observations it shows how it depends on the dimension.
    for d in setting.choose(DIMENSIONS, (3, 10)):
        bound = laws.dirichlet_bound(NU, FEW, d)
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


def along(rows: Sequence[Row], test: str, axis: str) -> list[Row]:
    """The rows of a test over n or over d."""
    fixed, value = ("d", PARTS) if axis == "n" else ("n", N)
    found = [row for row in rows if row["test"] == test and row[fixed] == value]
    return sorted(found, key=lambda row: row[axis])


def draw(setting: Setting) -> None:
    from matplotlib.ticker import NullLocator
    from style import COLOURS, GREY, MARKERS, canvas

    rows = setting.read(PART)
    with canvas(setting, PART, nrows=1, ncols=2, figsize=(9.0, 4.6), sharey=True) as (fig, axes):
        for ax, axis in zip(axes, ("n", "d"), strict=True):
            for test, colour, marker in zip(TESTS, COLOURS, MARKERS, strict=True):
                line = along(rows, test, axis)
                _curve(ax, axis, line, "power", color=colour, marker=marker, label=test)
                if test == MEAN:
                    style = {"color": colour, "marker": marker, "ls": "--", "mfc": "white"}
                    _curve(ax, axis, line, "size", **style, label=f"{test}, its size")
            limit = along(rows, MEAN, axis)
            ax.plot(
                [row[axis] for row in limit],
                [row["bound_exact"] for row in limit],
                color=GREY,
                lw=3,
                alpha=0.6,
                zorder=0,
                label="bound",
            )
            ax.axhline(0.01, color=GREY, ls=":", lw=1, label="level .01")
            ticks = [row[axis] for row in limit]
            ax.set(xscale="log", ylim=(-0.03, 1.05))
            ax.set_xticks(ticks, [str(tick) for tick in ticks])
            ax.xaxis.set_minor_locator(NullLocator())
        axes[0].set(title=f"d = {PARTS} parts", xlabel="n", ylabel="power")
        axes[1].set(title=f"n = {N}", xlabel="parts d")
        handles, labels = axes[0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8.5)


def _curve(ax: Any, axis: str, line: Sequence[Row], what: str, **style: Any) -> None:
    rates = np.array([[row[what], row[f"{what}_lower"], row[f"{what}_upper"]] for row in line])
    ends = np.maximum([rates[:, 0] - rates[:, 1], rates[:, 2] - rates[:, 0]], 0.0)
    ax.errorbar([row[axis] for row in line], rates[:, 0], yerr=ends, ms=4, lw=1.2, elinewidth=0.7, **style)


def report(setting: Setting) -> str:
    rows = setting.read(PART)
    trials = {row["test"]: row["trials"] for row in rows}
    return "\n\n".join(
        [
            f"## {TITLE}",
            "The paper's Figure 3 has the null Dirichlet(½, …, ½) on S^(d−1) and the alternative with "
            "½ − ⅓ in the first part, level .01, 200 trials, for the geometric mean g⁽¹⁾, the minimum "
            "distance g⁽²⁾ and MMD. Which n and d it has is not in the text. We add the product of "
            f"the parts, MSD, and goodstein's own tests. Trials: {trials[MEAN]}, aggregated "
            f"{trials['goodstein aggregated']}. The bound is the power of the likelihood-ratio test, "
            f"by inverting a characteristic function; {_check(rows)}",
            figure(
                PART,
                "Power over n and over the dimension, with 95 % intervals. Dashed: how often the test "
                "with the geometric mean rejects a true model. Grey line: no test of level .01 has "
                "more power.",
            ),
            _table(rows, "n"),
            _table(rows, "d"),
            _remark(rows),
            "What the paper says, and what we find (a difference counts beyond three standard errors):",
            listed(PART, findings(rows)),
        ]
    )


def summary(setting: Setting) -> str:
    rows = setting.read(PART)
    sizes = [row["size"] for row in along(rows, MEAN, "n")]
    limit, falling = few_bounds(rows), judge_trends({t: along(rows, t, "d") for t in SHOWN}, "falls")
    return (
        f"with {PARTS} parts the geometric mean rejects {percent(sizes)} of true models. What is "
        f"possible does not fall with the dimension (bound at n = {FEW}: {limit[0]:.3f} with {PARTS} "
        f"parts, {limit[-1]:.3f} with {_most_parts(rows)}). That power falls with it: "
        f"{falling.verdict}, {falling.reason[0].lower()}{falling.reason[1:]}"
    )


def _most_parts(rows: Sequence[Row]) -> int:
    return max(row["d"] for row in rows)


def few_bounds(rows: Sequence[Row]) -> list[float]:
    """The bound at few observations, over the dimension."""
    return [row["bound_exact"] for row in rows if row["test"] == "none"]


def _check(rows: Sequence[Row]) -> str:
    known = {row["cell"]: row for row in rows if row["bound_lower"] is not None}.values()
    inside = [row["bound_lower"] - 5e-5 <= row["bound_exact"] <= row["bound_upper"] + 5e-5 for row in known]
    return f"the 95 % interval of the simulated bound contains it in {sum(inside)} of {len(inside)} cells."


def _table(rows: Sequence[Row], axis: str) -> str:
    lines = []
    for row in along(rows, MEAN, axis):
        found = {one["test"]: one for one in rows if one["cell"] == row["cell"]}
        line = [f"{row[axis]}", rate(row["bound_exact"])]
        line += [f"{rate(found[test]['power'])} ({rate(found[test]['size'])})" for test in TESTS]
        lines.append(line)
    where = f"d = {PARTS} parts" if axis == "n" else f"n = {N}"
    return f"**Power over {axis}, {where}** (in brackets the size)\n\n" + table(
        [axis, "bound", *TESTS], lines
    )


def _remark(rows: Sequence[Row]) -> str:
    """Who does not keep the level, and what the geometric mean does in higher dimensions."""
    wrong = [row for row in rows if row["size"] is not None and not keeps_level(row)]
    tests = dict.fromkeys(row["test"] for row in wrong)
    said = [f"{test} ({'; '.join(row['cell'] for row in wrong if row['test'] == test)})" for test in tests]
    words = [f"Sizes above the level: {', '.join(said) or 'none'}."]
    more = [row for row in along(rows, MEAN, "d") if row["d"] > PARTS]
    if more:
        ours, other = (
            [row["largest"] for row in along(rows, test, "d") if row["d"] > PARTS] for test in (MEAN, MINIMUM)
        )
        sizes = [row["size"] for row in more]
        words.append(
            f"With more than {PARTS} parts the geometric mean rejects {percent(sizes, 1)} of true "
            f"models at n = {N}, although Stein's identity fails there too (see *The auxiliary "
            "functions*). In samples of the null the pairs with one single observation make up "
            f"{percent(ours)} of the sum of squares of the Stein kernel, against {percent(other)} for the "
            "minimum distance (medians): what the test says depends on one row of the data."
        )
    return " ".join(words)


def findings(rows: Sequence[Row]) -> dict[tuple[str, str], Finding]:
    """Verdicts on the claims of published.csv."""
    lines = {axis: {test: along(rows, test, axis) for test in SHOWN} for axis in ("n", "d")}
    found = {(row["d"], row["n"], row["test"]): row for row in rows}
    where = sorted({(row["d"], row["n"]) for row in rows if row["test"] == MEAN})
    limit, falls = few_bounds(rows), judge_trends(lines["d"], "falls")
    return {
        ("n", "growth"): judge_trends(lines["n"], "grows"),
        ("d", "growth"): falls._replace(
            reason=f"{falls.reason} The task does not get harder: the bound at n = {FEW} is "
            f"{limit[0]:.3f} with {PARTS} parts and {limit[-1]:.3f} with {_most_parts(rows)}: the "
            "likelihood ratio depends on x₁ alone. The least power of the aggregated test is "
            f"{min(row['power'] for row in along(rows, 'goodstein aggregated', 'd')):.2f}."
        ),
        ("all", "KSD over MMD"): _over_mmd(found, where),
        ("all", "g1 over g2"): _g1_over_g2(found, where),
    }


def _over_mmd(found: dict[tuple[int, int, str], Row], where: Sequence[tuple[int, int]]) -> Finding:
    def order(test: str) -> Order:
        return Order.among((found[*cell, test], found[*cell, "MMD"]) for cell in where)

    reason = f"Beside MMD, g⁽²⁾ has {order(MINIMUM)}, g⁽¹⁾ {order(MEAN)}"
    wrong = sum(not keeps_level(found[*cell, MEAN]) for cell in where)
    if wrong:
        reason += f" (but in {wrong} of the {len(where)} it does not keep its level, so this is not power)"
    return Finding(order(MINIMUM).verdict, f"{reason}, the product of the parts {order(PRODUCT)}.")


def _g1_over_g2(found: dict[tuple[int, int, str], Row], where: Sequence[tuple[int, int]]) -> Finding:
    """Compared only where both are tests of the level."""
    both = [cell for cell in where if all(keeps_level(found[*cell, test]) for test in (MEAN, MINIMUM))]
    order = Order.among((found[*cell, MEAN], found[*cell, MINIMUM]) for cell in both)
    reason = f"Where both keep the level g⁽¹⁾ has {order}."
    sizes = [found[*cell, MEAN]["size"] for cell in where if cell not in both]
    if not sizes:
        return Finding(order.verdict, reason)
    return Finding(
        DIFFERS,
        f"In {len(sizes)} of {len(where)} cells g⁽¹⁾ does not keep its level: it rejects {percent(sizes)} "
        f"of true models, so its rejections are not power. {reason}",
    )

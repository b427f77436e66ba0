"""The appendix' remarks on survival: which operator, and on which scale, at several rates of censoring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import survival_cells as cells
import survival_numbers
import variants
from setting import Row, Rows, Setting
from style import COLOURS, GREY, MARKERS, canvas, legend_below
from survival_cells import CDF, CONSTANT, FALLING, HAZARD, NULLS, PLAIN, RISING, SURVIVAL
from verdicts import DECISIVE, DIFFERS, REPRODUCED, UNDECIDED, Order, keeps_level
from words import SIZE, put, table

PART = "survival_remarks"
DEFAULT, AGGREGATED = "goodstein default", "goodstein aggregated"
PARTLY = "reproduced for the constant hazard, differs for others"
"""Fernández et al. have the constant hazard as null."""
COMPARISONS = ((PLAIN, SURVIVAL), (CDF, PLAIN), (CDF, SURVIVAL), (HAZARD, CDF))


def run(setting: Setting) -> None:
    study = partial(setting.study, PART, level=cells.LEVEL)
    if not setting.quick:
        study = partial(study, bound_draws=(8_000, 2_000))
    single = {**cells.ALL, **cells.SCALES, DEFAULT: variants.default}
    apply = {name: (*(cells.SCALES if name == CONSTANT else cells.ALL), DEFAULT) for name in NULLS}
    rows = study(cells.cells(setting, apply), single, trials=400, quick=30)
    apply = dict.fromkeys(NULLS, (AGGREGATED,))
    rows += study(cells.cells(setting, apply), {AGGREGATED: variants.aggregated}, trials=100, quick=10)
    setting.write(PART, rows)
    setting.write(survival_numbers.PART, survival_numbers.rows(setting))


# What is drawn and said

LINES = {
    CDF: (0, "-"),
    HAZARD: (1, "-"),
    PLAIN: (2, "-"),
    SURVIVAL: (3, "-"),
    cells.FINE_CDF: (0, "--"),
    cells.FINE_HAZARD: (1, "--"),
    AGGREGATED: (6, ":"),
}
"""Colour and line of each test."""


def draw(setting: Setting) -> None:
    at = setting.read(PART).by("cell", "test")
    _draw_panels(setting, PART, at, (CONSTANT,), (*cells.SCALES, AGGREGATED))
    _draw_panels(setting, "survival_operators", at, (RISING, FALLING), (*cells.ALL, AGGREGATED))


def _draw_panels(
    setting: Setting, figure: str, at: dict[str, Any], nulls: Sequence[str], tests: Sequence[str]
) -> None:
    """Power against the rate of censoring, one panel for each alternative."""
    panels = [(name, law) for name in nulls for law in cells.ALTERNATIVES[name]]
    options = {"nrows": 2, "ncols": 3, "figsize": (9.0, 5.2), "sharex": True, "sharey": True}
    with canvas(setting, figure, **options) as (fig, axes):
        for axis, (null, law) in zip(axes.flat, panels, strict=True):
            names = {100 * share: cells.cell_name(null, law, share) for share in cells.RATES}
            here = {share: at[name] for share, name in names.items() if name in at}
            bounds = [rows[CDF]["bound"] for rows in here.values()]
            axis.plot(list(here), bounds, color=GREY, linewidth=2.5, label="most possible")
            for test in tests:
                number, line = LINES[test]
                style = {"marker": MARKERS[number], "ms": 4, "color": COLOURS[number], "label": test}
                axis.plot(list(here), [rows[test]["power"] for rows in here.values()], line, **style)
            title = law if null == CONSTANT else f"{null}: {law}"
            axis.set(title=title, ylim=(-0.02, 1.04), xticks=[100 * share for share in cells.RATES])
        for axis in axes[:, 0]:
            axis.set_ylabel("power at level .01")
        for axis in axes[1]:
            axis.set_xlabel("per cent censored under the null")
        legend_below(fig, axes.flat[0], ncols=3, fontsize=8)


def values(setting: Setting) -> dict[str, Any]:
    rows, numbers = setting.read(PART), setting.read(survival_numbers.PART)
    at = rows.by("cell", "test")
    trials = {row["test"]: row["trials"] for row in rows}
    said = survival_numbers.values(numbers)
    orders = {
        "operators": compared(rows, COMPARISONS[0]),
        "constant": compared(rows, (CDF, PLAIN), CONSTANT),
        "plain": compared(rows, (CDF, PLAIN), RISING, FALLING),
        "survival": compared(rows, (CDF, SURVIVAL), RISING, FALLING),
        "hazard": compared(rows, (HAZARD, CDF)),
    }
    both = compared(rows, (CDF, PLAIN)) + compared(rows, (CDF, SURVIVAL))
    partly = (both.verdict, orders["constant"].verdict) == (DIFFERS, REPRODUCED)
    verdicts = {
        "operators": orders["operators"].verdict,
        "transformed": PARTLY if partly else both.verdict,
        "hazard": _not_more(rows),
        "reason": DIFFERS,
        **said["signs"],
    }
    counts = Counter(verdicts.values())
    where = {name: compared(rows, (HAZARD, CDF), name) for name in NULLS}
    fine = at[cells.cell_name(CONSTANT, "periodic, θ = 4", 0.3)]
    scale, transform = (abs(fine[CDF]["power"] - fine[test]["power"]) for test in (cells.FINE_CDF, HAZARD))
    return {
        **said,
        **orders,
        "n": cells.N,
        "trials": trials[CDF],
        "and_trials": f" ({trials[AGGREGATED]} for the aggregated test)" if AGGREGATED in trials else "",
        "verdict": verdicts,
        "counts": ", ".join(f"{count} × {verdict}" for verdict, count in counts.items()),
        "where": ", ".join(
            f"for the {name} {one.more} and {one.less} of {one.of}" for name, one in where.items()
        ),
        "comparisons": _comparisons(rows),
        "constant_powers": _powers(at, CONSTANT, (*cells.SCALES, DEFAULT, AGGREGATED)),
        "rising_powers": _powers(at, RISING, (*cells.ALL, DEFAULT, AGGREGATED)),
        "falling_powers": _powers(at, FALLING, (*cells.ALL, DEFAULT, AGGREGATED)),
        "more": "more" if scale > transform else "less",
        "fine": fine,
        "sizes": _sizes(rows),
    }


def compared(rows: Rows, pair: tuple[str, str], *nulls: str) -> Order:
    """Two tests in the same cells of some nulls, or of all, where both keep their level."""
    found = []
    for name, tests in rows.by("cell", "test").items():
        if name.startswith(nulls or tuple(NULLS)):
            one, other = (tests.get(_alias(name, test)) for test in pair)
            if one and other and one is not other and keeps_level(one) and keeps_level(other):
                found.append((one, other))
    return Order.among(found)


def _alias(cell: str, test: str) -> str:
    """The same test under the name that the cell has it by."""
    return HAZARD if cell.startswith(CONSTANT) and test in (PLAIN, SURVIVAL) else test


def _comparisons(rows: Rows) -> str:
    lines = []
    for pair in COMPARISONS:
        orders = [compared(rows, pair, name) for name in NULLS]
        counts = [f"{one.more} / {one.less} / {one.of - one.more - one.less}" for one in orders]
        lines.append(
            [" / ".join(pair), *(c if one.of else None for c, one in zip(counts, orders, strict=True))]
        )
    return table(["first / second", *NULLS], lines)


def _not_more(rows: Rows) -> str:
    """Whether the cumulative hazard has no more power than the distribution function."""
    few = min(rows.where(test=CDF).all("trials")) < DECISIVE
    if compared(rows, (HAZARD, CDF)).more:
        return DIFFERS if compared(rows, (HAZARD, CDF), CONSTANT).more or few else PARTLY
    return UNDECIDED if few else REPRODUCED


def _powers(at: dict[str, dict[str, Row]], null: str, tests: Sequence[str]) -> str:
    lines = []
    for law in cells.ALTERNATIVES[null]:
        for share in cells.RATES:
            here = at.get(cells.cell_name(null, law, share))
            if here:
                powers = [put("{power:.3f}", here.get(test)) for test in tests]
                lines.append([law, f"{share:.0%}", put("{bound:.3f}", here[CDF]), *powers])
    return table([f"{null}, against", "censored", "most possible", *tests], lines)


def _sizes(rows: Rows) -> str:
    tests = (*cells.ALL, cells.FINE_CDF, cells.FINE_HAZARD, DEFAULT, AGGREGATED)
    lines = []
    for name in NULLS:
        for share in cells.RATES:
            ends = name, f", {share:.0%} censored"
            own = (row for row in rows if row["cell"].startswith(ends[0]) and row["cell"].endswith(ends[1]))
            here = Rows(own).by("test")
            if here:
                sizes = [put(SIZE, here.get(_alias(name, test))) for test in tests]
                lines.append([name, f"{share:.0%}", *sizes])
    return table(["null", "censored", *tests], lines)

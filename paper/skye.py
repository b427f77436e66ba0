"""The 23 Skye lavas: a density estimate of one half, tested on the other; over many splits."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import variants
from claims import UNDECIDED
from setting import Row, Setting
from skye_estimates import MAIN, MINIMUM, SIMPLEX, TESTS, PlaneDensity
from verdicts import DIFFERS, REPRODUCED, printed, rate
from writing import figure, table

import goodstein as gs
from goodstein.families import Dirichlet, LogisticNormal
from goodstein.power.rates import Rate, wilson

Array = np.ndarray
PART = "skye"
TITLE = "Skye lavas"
ROWS, FITTED = 23, 11
"""All lavas, and those to which the density is fitted; 23 has no half."""
CHUNK = 25
"""Replicates that one task runs."""
REPLICATES = (1000, 25)
"""In a full and in a quick run."""
LEVEL = 0.05
SETS, SPLITS = (100, 5), 40
"""Simulated data sets, each split many times."""
DRAWS = (999, 99)
"""Of the parametric bootstrap."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
GRID = (*np.round(np.geomspace(0.001, 0.1, 21), 5), *np.round(np.linspace(0.15, 1.0, 18), 2))
"""Where the distribution function of the p-values is kept."""


LAVAS = "lavas"
TWELVE = "lavas, 12 to fit"
JITTER = "lavas, rounding undone at random"
LOGISTIC = "23 draws of a logistic normal"
SMOOTH = "23 draws of a density estimate"
OWN = "draws of the tested estimate"
KNOWN = "12 draws, the model known"
REPEATED = f"a logistic normal, {SPLITS} splits each"
CELLS = {
    LAVAS: tuple(TESTS),
    LOGISTIC: tuple(TESTS),
    SMOOTH: tuple(TESTS),
    OWN: tuple(TESTS),
    TWELVE: (MAIN,),
    JITTER: (MAIN,),
    KNOWN: (MAIN, "log-ratios, normal scale"),
}


@lru_cache
def truth() -> LogisticNormal:
    """The logistic normal of all 23 lavas."""
    return LogisticNormal.fit(gs.datasets.skye_lavas())


@lru_cache
def smooth() -> PlaneDensity:
    """The normal-scale density estimate of all 23 lavas."""
    return TESTS[MAIN].fit(gs.datasets.skye_lavas())


def generator(*names: object) -> np.random.Generator:
    """Seeded by what it is for."""
    return np.random.default_rng(zlib.crc32(" | ".join(map(str, names)).encode()))


def replicate(cell: str, k: int) -> dict[str, float]:
    """The p-values of all tests of a cell in one replicate, all on the same split."""
    rng = generator(PART, cell, k)
    lavas = gs.datasets.skye_lavas()
    fitted = 12 if cell == TWELVE else FITTED
    if cell == JITTER:
        noise = rng.uniform(-0.005, 0.005, lavas.shape)
        lavas = lavas + noise - noise.mean(axis=1, keepdims=True)
    if cell == LOGISTIC:
        x = truth().sample(ROWS, rng)
    elif cell == SMOOTH:
        x = smooth().sample(ROWS, rng)
    else:
        x = lavas[rng.permutation(ROWS)]
    found = {}
    for name in CELLS[cell]:
        split, own = TESTS[name], generator(PART, cell, name, k)
        model = split.fit(x[:fitted])
        other = split.draw(model, ROWS - fitted, own) if cell == OWN else x[fitted:]
        found[name] = split.pvalue(model, other, own)
    return found


def known(k: int) -> dict[str, float]:
    """The p-values of the same tests of a model that is known, on as few draws of it."""
    x = truth().sample(ROWS - FITTED, generator(PART, KNOWN, k))
    tests = {MAIN: MINIMUM, "log-ratios, normal scale": variants.invalid(gs.LogRatio())}
    return {
        name: float(test(x, truth(), rng=generator(PART, KNOWN, name, k)).pvalue)
        for name, test in tests.items()
    }


def chunk(cell: str, start: int) -> list[dict[str, float]]:
    return [known(k) if cell == KNOWN else replicate(cell, k) for k in range(start, start + CHUNK)]


def repeated(number: int) -> list[float]:
    """The p-values of the main test over many splits of one data set; number 0 are the lavas."""
    rng = generator(PART, REPEATED, number)
    x = truth().sample(ROWS, rng) if number else gs.datasets.skye_lavas()
    split, found = TESTS[MAIN], []
    for _ in range(SPLITS):
        x = x[rng.permutation(ROWS)]
        found.append(split.pvalue(split.fit(x[:FITTED]), x[FITTED:], rng))
    return found


FAMILIES = {"logistic normal": LogisticNormal, "Dirichlet": Dirichlet}
QUESTIONS = {
    "goodstein default": variants.default,
    "bd-KSD(g2)": MINIMUM,
    "goodstein aggregated": variants.aggregated,
}


def family(name: str, test: str, draws: int) -> float:
    """The p-value of a family on all lavas, every bootstrap sample fitted anew."""
    x, fit = gs.datasets.skye_lavas(), FAMILIES[name].fit
    null = gs.ParametricBootstrap(fit, draws)
    return float(QUESTIONS[test](x, fit(x), null=null, rng=generator(PART, name, test)).pvalue)


WORK = {"chunk": chunk, "repeated": repeated, "family": family}


def perform(what: str, *arguments: Any) -> Any:
    return WORK[what](*arguments)


def run(setting: Setting) -> None:
    replicates, sets, draws = (setting.choose(*pair) for pair in (REPLICATES, SETS, DRAWS))
    tasks = [
        *(("chunk", cell, start) for cell in CELLS for start in range(0, replicates, CHUNK)),
        *(("repeated", number) for number in range(sets + 1)),
        *(("family", name, test, draws) for name in FAMILIES for test in QUESTIONS),
    ]
    by_name = setting.each(PART, perform, {" | ".join(map(str, task)): task for task in tasks})
    found = dict(zip(tasks, by_name.values(), strict=True))
    pvalues: dict[tuple[str, str], list[float]] = {}
    for cell in CELLS:
        for start in range(0, replicates, CHUNK):
            for outcomes in found["chunk", cell, start]:
                for test, value in outcomes.items():
                    pvalues.setdefault((cell, test), []).append(value)
    rows = [_row(cell, test, np.array(values)) for (cell, test), values in pvalues.items()]
    rows.append(_repeated_row([np.array(found["repeated", number]) for number in range(sets + 1)]))
    rows += [
        {"cell": f"all 23, {task[1]}", "test": task[2], "trials": draws, "pvalue": value}
        for task, value in found.items()
        if task[0] == "family"
    ]
    setting.write(PART, rows)
    setting.write(
        f"{PART}_pvalues",
        [
            {
                "cell": cell,
                "test": test,
                "level": level,
                "share": float(np.mean(np.array(values) <= level + 1e-9)),
            }
            for (cell, test), values in pvalues.items()
            if cell in CURVES and test in SHOWN
            for level in GRID
        ],
    )


def _row(cell: str, test: str, values: Array) -> Row:
    """Quantiles of the p-values, and how often a test of level .05 rejects: its size if the model is true."""
    quantiles = np.quantile(values, QUANTILES)
    rate_ = Rate.of(np.count_nonzero(values <= LEVEL + 1e-9), len(values))
    kind = "size" if cell in (OWN, KNOWN) else "power"
    rates = {name: rate_ if name == kind else None for name in ("size", "power")}
    return {
        "cell": cell,
        "test": test,
        "level": LEVEL,
        "trials": len(values),
        **{name: one and one.value for name, one in rates.items()},
        "lower": rate_.interval[0],
        "upper": rate_.interval[1],
        **{f"quantile_{q:g}": float(value) for q, value in zip(QUANTILES, quantiles, strict=True)},
        "mean": float(values.mean()),
        "below_01": float(np.mean(values <= 0.01 + 1e-9)),
        "below_004": float(np.mean(values <= 0.004 + 1e-9)),
    }


def rejected(row: Row) -> float:
    """How often a test of level .05 rejects."""
    return row["power"] if row["size"] is None else row["size"]


def _repeated_row(pvalues: list[Array]) -> Row:
    """The lavas, which come first, among simulated data sets, by the mean p-value over as many splits."""
    means = np.array([values.mean() for values in pvalues])
    shares = np.array([np.mean(values <= 0.05 + 1e-9) for values in pvalues])
    sets = len(pvalues) - 1
    quantiles = np.quantile(shares[1:], QUANTILES)
    return {
        "cell": REPEATED,
        "test": MAIN,
        "trials": sets,
        # Of the share of splits with p ≤ .05 in one data set.
        **{f"quantile_{q:g}": float(value) for q, value in zip(QUANTILES, quantiles, strict=True)},
        "mean": float(means[0]),
        "lavas": float(shares[0]),
        "pvalue": (1 + np.count_nonzero(means[1:] <= means[0])) / (sets + 1),
    }


def draw(setting: Setting) -> None:
    _draw_triangles(setting)
    _draw_pvalues(setting)


def _draw_triangles(setting: Setting) -> None:
    import mpltern  # noqa: F401  makes the projection known
    from style import COLOURS, canvas

    lavas = gs.datasets.skye_lavas()
    order = generator(PART, LAVAS, 0).permutation(ROWS)
    fitted, tested = lavas[order[:FITTED]], lavas[order[FITTED:]]
    halves = {"density of 11 lavas, plane": TESTS[MAIN].fit(fitted).logpdf}
    log_ratios = TESTS["log-ratios, normal scale"].fit(fitted)
    halves["density of 11 lavas, log-ratios"] = lambda x: (
        log_ratios.logpdf(SIMPLEX.to_logratio(x)) - np.log(x).sum(axis=1)
    )
    whole = {name: one.fit(lavas).logpdf for name, one in FAMILIES.items()}
    options = {"ncols": 2, "figsize": (9.0, 4.6), "subplot_kw": {"projection": "ternary"}}
    with canvas(setting, "skye_triangles", **options) as (_, axes):
        for axis, densities in zip(axes, (halves, whole), strict=True):
            for colour, (name, logpdf) in zip(COLOURS, densities.items(), strict=False):
                _contours(axis, logpdf, colour)
                axis.plot([], [], [], color=colour, label=name)
            axis.set_tlabel("F (iron)")
            axis.set_llabel("A (alkalis)")
            axis.set_rlabel("M (magnesium)")
        dot = {"linestyle": "none", "marker": "o", "color": "black", "ms": 4}
        axes[0].plot(*_corners(fitted), **dot, label="fitted (11)")
        axes[0].plot(*_corners(tested), **dot, mfc="white", label="tested (12)")
        axes[1].plot(*_corners(lavas), **dot, label="all 23")
        for axis in axes:
            axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0.66, 1.0))


def _corners(x: Array) -> tuple[Array, Array, Array]:
    """Top, left and right of the triangle, as petrologists draw it."""
    return x[:, 1], x[:, 0], x[:, 2]


def _contours(axis: Any, logpdf: Callable[[Array], Array], colour: str) -> None:
    """The smallest regions with 50 and 90 % of the mass."""
    steps = 300
    i, j = np.meshgrid(np.arange(1, steps), np.arange(1, steps), indexing="ij")
    keep = i + j < steps
    x = np.column_stack([i[keep], j[keep], steps - i[keep] - j[keep]]) / steps
    density = np.exp(logpdf(x))
    order = np.sort(density)[::-1]
    mass = np.cumsum(order) / order.sum()
    levels = sorted(order[np.searchsorted(mass, share)] for share in (0.9, 0.5))
    axis.tricontour(*_corners(x), density, levels=levels, colors=colour, linewidths=(1.0, 1.8))


CURVES = {LAVAS: "-", LOGISTIC: "--", SMOOTH: "-.", OWN: ":"}
SHOWN = (MAIN, "plane, cross-validation", "log-ratios, normal scale")


def _draw_pvalues(setting: Setting) -> None:
    from style import COLOURS, GREY, canvas

    rows = setting.read(f"{PART}_pvalues")
    with canvas(setting, "skye_pvalues", ncols=3, figsize=(9.0, 3.2), sharey=True) as (_, axes):
        for axis, test in zip(axes, SHOWN, strict=True):
            for colour, (cell, line) in zip(COLOURS, CURVES.items(), strict=False):
                here = [row for row in rows if row["cell"] == cell and row["test"] == test]
                axis.plot(
                    [row["level"] for row in here],
                    [row["share"] for row in here],
                    line,
                    color=colour,
                    label=cell,
                )
            grid = np.array(GRID)
            axis.plot(grid, grid, color=GREY, linewidth=0.8, label="uniform")
            axis.axvline(_published().value, color="black", linewidth=0.8)
            axis.annotate(" printed .004", (_published().value, 0.93), fontsize=7)
            axis.set(xscale="log", xlim=(0.001, 1), ylim=(0, 1), title=test, xlabel="p")
        axes[0].set_ylabel("share of p-values up to p")
        axes[0].legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(0, 0.92))


def _published() -> Any:
    entry = printed(PART, "kernel density estimate", "bd-KSD(g2)")
    assert entry is not None and entry.value is not None
    return entry


def summary(setting: Setting) -> str:
    """What the head of the report says."""
    rows = setting.read(PART)
    found = {(row["cell"], row["test"]): row for row in rows}
    lavas, data, again = found[LAVAS, MAIN], found[LOGISTIC, MAIN], found[REPEATED, MAIN]
    return (
        f"p = {_published().value:.3f} is printed for one split; over {lavas['trials']} random splits the "
        f"median is {lavas['quantile_0.5']:.2f}, and {lavas['below_004']:.1%} are as small. At level .05 "
        f"the procedure rejects {rejected(lavas):.0%} of splits of the lavas and {rejected(data):.0%} "
        "of samples of a logistic normal fitted to them, among which the lavas are "
        f"{'' if again['pvalue'] <= 0.05 else 'not '}unusual (p = {again['pvalue']:.2f}). "
        f"{_families_said(rows)}"
    )


CONSISTENT = 0.025
"""A split with a p-value that fewer splits than this reach would be no ordinary one."""


def report(setting: Setting) -> str:
    rows = setting.read(PART)
    found = {(row["cell"], row["test"]): row for row in rows}
    return "\n\n".join(
        [
            f"## {TITLE}",
            "**The paper** fits a Gaussian kernel density estimate to half of the 23 compositions (A: "
            "alkalis Na₂O + K₂O, there printed Na₂ + K₂O; F: iron as Fe₂O₃; M: MgO), tests it "
            "on the other half with the distance to the nearest face as g, reports p = "
            f"{_published().value:.3f} and concludes that the fit is not good enough. Which split, which "
            "bandwidth matrix and which coordinates are not said. (Its published code estimates a "
            "p-value as a share of 500 draws; .004 is 2 of 500.)",
            _setup_text(found),
            figure(
                "skye_triangles",
                "Left: the first split; contours of the smallest regions with 50 % (thick) and 90 % "
                "(thin) of the mass of the density estimated from the 11 filled points, in the plane of "
                "the triangle and in log-ratios. Right: the two families fitted to all 23.",
            ),
            "### One split decides nothing",
            _splits_table(found),
            _splits_text(found),
            "### What the procedure does when nothing is wrong",
            _level_table(found),
            _level_text(found),
            figure(
                "skye_pvalues",
                "Distribution functions of the p-values. On the grey curve a test has its level at every "
                "level.",
            ),
            "### Better questions",
            _family_table(rows),
            _family_text(rows),
        ]
    )


def _setup_text(found: dict[tuple[str, str], Row]) -> str:
    return (
        f"**Here** a random {FITTED} of the 23 are fitted and the other {ROWS - FITTED} tested, in "
        f"{found[LAVAS, MAIN]['trials']} random splits, with a Gaussian kernel at the median and the wild "
        "bootstrap. The reference that the paper gives for its estimate (Chacón, Duong & Wand 2011) has a "
        "full bandwidth matrix in closed form, the normal-scale one; for a density in two dimensions it "
        "is exactly SciPy's `gaussian_kde` (Scott's and Silverman's rules coincide there), and for its "
        "gradient, which is what a score needs, it has another constant and power of n. Beside these two "
        "stands likelihood cross-validation over all full matrices. Plug-in selectors of full matrices "
        "are in R's ks and, as far as we know, in no Python library; the cross-validation of statsmodels "
        "is over diagonal matrices only. *Plane*: the estimate lives in the plane of the triangle and is "
        "cut off at its edge, which leaves the score as it is. (Other affine coordinates, such as two of "
        "the three parts, give the same estimate, because these selectors turn with the coordinates.) "
        "*Log-ratios*: estimate and test in isometric log-ratio coordinates, which have no edge. *As "
        "coded*: derivatives in all three parts and the p-value of the published code."
    )


def _splits_table(found: dict[tuple[str, str], Row]) -> str:
    header = [
        "estimate and test",
        "5 %",
        "25 %",
        "median",
        "75 %",
        "95 %",
        "p ≤ .05",
        "p ≤ .004",
        "printed .004",
    ]
    lines = []
    for cell in (LAVAS, TWELVE, JITTER):
        for test in CELLS[cell]:
            row = found[cell, test]
            name = test if cell == LAVAS else f"{test}: {cell.split(', ')[1]}"
            lines.append(
                [
                    name,
                    *(rate(row[f"quantile_{q:g}"]) for q in QUANTILES),
                    f"{rejected(row):.1%}",
                    f"{row['below_004']:.1%}",
                    _verdict(row),
                ]
            )
    return table(header, lines)


def _verdict(row: Row) -> str:
    if row["below_004"] >= CONSISTENT:
        return REPRODUCED
    return DIFFERS if wilson(row["below_004"], row["trials"])[1] < CONSISTENT else UNDECIDED


def _splits_text(found: dict[tuple[str, str], Row]) -> str:
    row = found[LAVAS, MAIN]
    return (
        "Quantiles of the p-values over random splits of the same 23 rows. The printed .004 counts as "
        f"reproduced if {CONSISTENT:.1%} of splits or more reach it, and as undecided if the 95 % interval "
        "of that share has room for it. With the same data, estimate and test a split can give "
        f"{rate(row['quantile_0.05'])} or {rate(row['quantile_0.95'])}; half of them are above "
        f"{rate(row['quantile_0.5'], 2)}. If 12 are fitted and 11 tested, "
        f"{rejected(found[TWELVE, MAIN]):.1%} of splits reject at level .05; if the rounding to whole "
        f"per cents is undone by uniform noise, {rejected(found[JITTER, MAIN]):.1%}. All 23 rows are "
        "distinct, although many share a value in one part."
    )


LEVELS = {
    LAVAS: "the lavas",
    LOGISTIC: "a logistic normal, fitted to the lavas",
    SMOOTH: "the plane's density estimate of all 23",
    OWN: "the very estimate that is tested",
    KNOWN: "a logistic normal, which is tested itself",
}


def _level_table(found: dict[tuple[str, str], Row]) -> str:
    names = ["data", *TESTS]
    lines = []
    for cell, name in LEVELS.items():
        line = [name]
        for test in TESTS:
            row = found.get((cell, test))
            line.append("–" if row is None else f"{rejected(row):.3f} ({row['below_004']:.3f})")
        lines.append(line)
    note = "*Share of p-values ≤ .05 (≤ .004).*"
    return f"{table(names, lines)}\n\n{note}"


def _level_text(found: dict[tuple[str, str], Row]) -> str:
    own, data, known_ = found[OWN, MAIN], found[LOGISTIC, MAIN], found[KNOWN, MAIN]
    lavas, again = found[LAVAS, MAIN], found[REPEATED, MAIN]
    kept = max(own["lower"], known_["lower"]) <= LEVEL
    coded = found[OWN, "plane, normal scale, as coded"]
    special = again["pvalue"] <= 0.05
    if special:
        end = "So the lavas fit worse than samples of that law do."
    else:
        end = (
            "A small p-value here says that 11 points are few for a density estimate, of these lavas as of "
            "any other data; it says nothing about the lavas."
        )
    return "\n\n".join(
        [
            f"**The test {'keeps' if kept else 'exceeds'} its level with 12 observations**: of draws from "
            f"the very estimate that is tested it rejects {rejected(own):.1%} at level .05, of draws from "
            f"a known logistic normal {rejected(known_):.1%}. (As coded it rejects "
            f"{rejected(coded):.1%} of the draws from its own model.)",
            "**The procedure has no level to keep.** Its null hypothesis, that half the data come from a "
            "density estimate of the other half, is false for every sample: an estimate from 11 points is "
            "not the law they come from. When 23 draws of a logistic normal are treated like the lavas, "
            f"{rejected(data):.1%} of the tests reject at level .05 and {data['below_004']:.1%} give .004 "
            f"or less; for the lavas it is {rejected(lavas):.1%} and {lavas['below_004']:.1%}.",
            "**The conclusion that the estimate does not fit well enough: "
            f"{REPRODUCED if special else DIFFERS}.** Of {again['trials']} such simulated samples, each "
            f"split {SPLITS} times, the share of splits with p ≤ .05 ranges from "
            f"{again['quantile_0.05']:.3f} to {again['quantile_0.95']:.3f} (5 % and 95 % quantiles); for "
            f"as many splits of the lavas it is {again['lavas']:.3f}. By the mean p-value over the "
            f"splits the lavas are {'' if special else 'not '}unusual among them (p = "
            f"{again['pvalue']:.2f}). {end}",
        ]
    )


def _family_rows(rows: list[Row]) -> dict[tuple[str, str], Row]:
    return {
        (row["cell"].removeprefix("all 23, "), row["test"]): row
        for row in rows
        if row["cell"].startswith("all 23, ")
    }


def _family_table(rows: list[Row]) -> str:
    found = _family_rows(rows)
    lines = [[name, *(rate(found[name, test]["pvalue"]) for test in QUESTIONS)] for name in FAMILIES]
    return table(["family, fitted to all 23", *QUESTIONS], lines)


def _families_said(rows: list[Row]) -> str:
    """Which families the tests on all 23 lavas refute."""
    found = _family_rows(rows)
    refuted = [name for name in FAMILIES if all(found[name, test]["pvalue"] <= 0.05 for test in QUESTIONS)]
    kept = [name for name in FAMILIES if all(found[name, test]["pvalue"] > 0.05 for test in QUESTIONS)]
    unclear = [name for name in FAMILIES if name not in refuted + kept]
    said = []
    if refuted:
        said.append(f"all tests refute the {' and the '.join(refuted)} family at level .05")
    if kept:
        said.append(f"no test speaks against the {' or the '.join(kept)} family")
    if unclear:
        said.append(f"the tests disagree on the {' and the '.join(unclear)} family")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def _family_text(rows: list[Row]) -> str:
    draws = next(iter(_family_rows(rows).values()))["trials"]
    return (
        "Does a family of laws describe the lavas? That question uses all 23 rows and has a null "
        f"hypothesis that can be true; the parametric bootstrap ({draws} samples, each fitted anew) "
        f"calibrates it. {_families_said(rows)} The lavas lie along a band that is bent in the triangle, "
        "as no Dirichlet law is, and straight in log-ratios. The data are rounded to whole per cents and "
        "the models are not; with parts of 4 % and more that is a small error beside the spread of the "
        "data."
    )

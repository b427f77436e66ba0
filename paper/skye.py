"""The 23 Skye lavas: a density estimate of one half, tested on the other; over many splits."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import variants
from setting import Row, Setting
from skye_estimates import MAIN, MINIMUM, SIMPLEX, TESTS, PlaneDensity
from style import COLOURS, GREY, canvas, corners
from verdicts import DIFFERS, REPRODUCED, agrees, printed
from words import put, table

import goodstein as gs
from goodstein.families import Dirichlet, LogisticNormal
from goodstein.power.rates import Rate, wilson

Array = np.ndarray
PART = "skye"
ROWS, FITTED = 23, 11
"""All lavas, and those to which the density is fitted; 23 has no half."""
REPLICATES, SETS, DRAWS = (1000, 25), (100, 5), (999, 99)
"""In a full and in a quick run: splits, simulated data sets, draws of the parametric bootstrap."""
CHUNK, SPLITS = 25, 40
"""Replicates that one task runs, and splits of a simulated data set."""
LEVEL = 0.05
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
GRID = (*np.round(np.geomspace(0.001, 0.1, 21), 5), *np.round(np.linspace(0.15, 1.0, 18), 2))
"""Where the distribution function of the p-values is kept."""

LAVAS, TWELVE, JITTER = "lavas", "lavas, 12 to fit", "lavas, rounding undone at random"
LOGISTIC, SMOOTH = "23 draws of a logistic normal", "23 draws of a density estimate"
OWN, KNOWN = "draws of the tested estimate", "12 draws, the model known"
REPEATED = f"a logistic normal, {SPLITS} splits each"
RATIOS, CODED = "log-ratios, normal scale", "plane, normal scale, as coded"
CELLS = {
    **dict.fromkeys((LAVAS, LOGISTIC, SMOOTH, OWN), tuple(TESTS)),
    **dict.fromkeys((TWELVE, JITTER), (MAIN,)),
    KNOWN: (MAIN, RATIOS),
}
CURVES = {LAVAS: "-", LOGISTIC: "--", SMOOTH: "-.", OWN: ":"}
SHOWN = (MAIN, "plane, cross-validation", RATIOS)
"""What the figure of p-values shows: cells with their lines, and tests."""


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
    lavas, fitted = gs.datasets.skye_lavas(), 12 if cell == TWELVE else FITTED
    if cell == JITTER:
        noise = rng.uniform(-0.005, 0.005, lavas.shape)
        lavas = lavas + noise - noise.mean(axis=1, keepdims=True)
    if cell in (LOGISTIC, SMOOTH):
        x = (truth() if cell == LOGISTIC else smooth()).sample(ROWS, rng)
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
    tests = {MAIN: MINIMUM, RATIOS: variants.invalid(gs.LogRatio())}
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


def perform(what: str, *arguments: Any) -> Any:
    return {"chunk": chunk, "repeated": repeated, "family": family}[what](*arguments)


def run(setting: Setting) -> None:
    replicates, sets, draws = (setting.choose(*pair) for pair in (REPLICATES, SETS, DRAWS))
    tasks = [
        *(("chunk", cell, start) for cell in CELLS for start in range(0, replicates, CHUNK)),
        *(("repeated", number) for number in range(sets + 1)),
        *(("family", name, test, draws) for name in FAMILIES for test in QUESTIONS),
    ]
    by_name = setting.each(PART, perform, {" | ".join(map(str, task)): task for task in tasks})
    pvalues: dict[tuple[str, str], list[float]] = {}
    families, splits = [], []
    for (what, *arguments), value in zip(tasks, by_name.values(), strict=True):
        if what == "chunk":
            for test, one in ((test, one) for outcomes in value for test, one in outcomes.items()):
                pvalues.setdefault((arguments[0], test), []).append(one)
        elif what == "repeated":
            splits.append(np.array(value))
        else:
            name, test, _ = arguments
            families.append({"cell": f"all 23, {name}", "test": test, "trials": draws, "pvalue": value})
    rows = [_row(cell, test, np.array(values)) for (cell, test), values in pvalues.items()]
    setting.write(PART, [*rows, _repeated_row(splits), *families])
    curves = [
        {"cell": cell, "test": test, "level": level, "share": _share(np.array(values), level)}
        for (cell, test), values in pvalues.items()
        if cell in CURVES and test in SHOWN
        for level in GRID
    ]
    setting.write(f"{PART}_pvalues", curves)


def _share(values: Array, level: float) -> float:
    """Of p-values that are at most the level, but for rounding."""
    return float(np.mean(values <= level + 1e-9))


def _quantiles(values: Array) -> Row:
    found = np.quantile(values, QUANTILES)
    return {f"quantile_{q:g}": float(value) for q, value in zip(QUANTILES, found, strict=True)}


def _row(cell: str, test: str, values: Array) -> Row:
    """Quantiles of the p-values, and how often a test of level .05 rejects: its size if the model is true."""
    rate = Rate.of(np.count_nonzero(values <= LEVEL + 1e-9), len(values))
    true = cell in (OWN, KNOWN)
    return {
        "cell": cell,
        "test": test,
        "level": LEVEL,
        "trials": len(values),
        "size": rate.value if true else None,
        "power": None if true else rate.value,
        "lower": rate.interval[0],
        "upper": rate.interval[1],
        **_quantiles(values),
        "mean": float(values.mean()),
        "below_01": _share(values, 0.01),
        "below_004": _share(values, 0.004),
    }


def _repeated_row(pvalues: list[Array]) -> Row:
    """The lavas, which come first, among simulated data sets, by the mean p-value over as many splits."""
    means = np.array([values.mean() for values in pvalues])
    shares = np.array([_share(values, 0.05) for values in pvalues])
    sets = len(pvalues) - 1
    return {
        "cell": REPEATED,
        "test": MAIN,
        "trials": sets,
        **_quantiles(shares[1:]),  # of the share of splits with p ≤ .05 in one data set
        "mean": float(means[0]),
        "lavas": float(shares[0]),
        "pvalue": (1 + np.count_nonzero(means[1:] <= means[0])) / (sets + 1),
    }


# What is drawn and said


def draw(setting: Setting) -> None:
    _draw_triangles(setting)
    rows = setting.read(f"{PART}_pvalues")
    value = printed(PART, "kernel density estimate", "bd-KSD(g2)")["value"]
    with canvas(setting, "skye_pvalues", ncols=3, figsize=(9.0, 3.2), sharey=True) as (_, axes):
        for axis, test in zip(axes, SHOWN, strict=True):
            for colour, (cell, line) in zip(COLOURS, CURVES.items(), strict=False):
                here = rows.where(cell=cell, test=test)
                axis.plot(here.all("level"), here.all("share"), line, color=colour, label=cell)
            axis.plot(GRID, GRID, color=GREY, linewidth=0.8, label="uniform")
            axis.axvline(value, color="black", linewidth=0.8)
            axis.annotate(" printed .004", (value, 0.93), fontsize=7)
            axis.set(xscale="log", xlim=(0.001, 1), ylim=(0, 1), title=test, xlabel="p")
        axes[0].set_ylabel("share of p-values up to p")
        axes[0].legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(0, 0.92))


def _draw_triangles(setting: Setting) -> None:
    lavas = gs.datasets.skye_lavas()
    order = generator(PART, LAVAS, 0).permutation(ROWS)
    fitted, tested = lavas[order[:FITTED]], lavas[order[FITTED:]]
    ratios = TESTS[RATIOS].fit(fitted)
    halves = {
        "density of 11 lavas, plane": TESTS[MAIN].fit(fitted).logpdf,
        "density of 11 lavas, log-ratios": lambda x: (
            ratios.logpdf(SIMPLEX.to_logratio(x)) - np.log(x).sum(axis=1)
        ),
    }
    whole = {name: one.fit(lavas).logpdf for name, one in FAMILIES.items()}
    options = {"ncols": 2, "figsize": (9.0, 4.6), "subplot_kw": {"projection": "ternary"}}
    with canvas(setting, "skye_triangles", **options) as (_, axes):
        for axis, densities in zip(axes, (halves, whole), strict=True):
            for colour, (name, logpdf) in zip(COLOURS, densities.items(), strict=False):
                _contours(axis, logpdf, colour)
                axis.plot([], [], [], color=colour, label=name)
            corners(axis, "F (iron)", "A (alkalis)", "M (magnesium)")
        dot = {"linestyle": "none", "marker": "o", "color": "black", "ms": 4}
        axes[0].plot(*_turned(fitted), **dot, label="fitted (11)")
        axes[0].plot(*_turned(tested), **dot, mfc="white", label="tested (12)")
        axes[1].plot(*_turned(lavas), **dot, label="all 23")
        for axis in axes:
            axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0.66, 1.0))


def _turned(x: Array) -> tuple[Array, Array, Array]:
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
    axis.tricontour(*_turned(x), density, levels=levels, colors=colour, linewidths=(1.0, 1.8))


CONSISTENT = 0.025
"""A split with a p-value that fewer splits than this reach would be no ordinary one."""
FEW = (
    "A small p-value here says that 11 points are few for a density estimate, of draws from a smooth law as "
    "of the lavas; it does not set the lavas apart."
)


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    for row in rows:
        row["rejected"] = row["power"] if row["size"] is None else row["size"]
        row["name"] = row["test"] if row["cell"] == LAVAS else f"{row['test']}: {row['cell'].split(', ')[-1]}"
        row["verdict"] = None if row["below_004"] is None else _reached(row)
    at = rows.by("cell", "test")
    families = {name: at[f"all 23, {name}"] for name in FAMILIES}
    asked = [
        [name, *(put("{pvalue:.3f}", own[test]) for test in QUESTIONS)] for name, own in families.items()
    ]
    special = at[REPEATED][MAIN]["pvalue"] <= 0.05
    kept = max(at[cell][MAIN]["lower"] for cell in (OWN, KNOWN)) <= LEVEL
    return {
        "printed": printed(PART, "kernel density estimate", "bd-KSD(g2)")["value"],
        "splits": [row for cell in (LAVAS, TWELVE, JITTER) for row in at[cell].values()],
        "tests": " | ".join(TESTS),
        "levels": {
            cell: " | ".join(put("{rejected:.3f} ({below_004:.3f})", at[cell].get(test)) for test in TESTS)
            for cell in (*CURVES, KNOWN)
        },
        "families": table(["family, fitted to all 23", *QUESTIONS], asked),
        "draws": families["Dirichlet"]["bd-KSD(g2)"]["trials"],
        "said": _families_said(families),
        "consistent": CONSISTENT,
        "count": {"fitted": FITTED, "tested": ROWS - FITTED, "splits": SPLITS},
        "keeps": "keeps" if kept else "exceeds",
        "unusual": "unusual" if special else "not unusual",
        "conclusion": agrees(special),
        "end": "So the lavas fit worse than samples of that law do." if special else FEW,
        "lavas": at[LAVAS][MAIN],
        "twelve": at[TWELVE][MAIN],
        "jitter": at[JITTER][MAIN],
        "data": at[LOGISTIC][MAIN],
        "own": at[OWN][MAIN],
        "coded": at[OWN][CODED],
        "known": at[KNOWN][MAIN],
        "again": at[REPEATED][MAIN],
    }


def _reached(row: Row) -> str:
    """Whether a split can give the printed .004."""
    if row["below_004"] >= CONSISTENT:
        return REPRODUCED
    return DIFFERS if wilson(row["below_004"], row["trials"])[1] < CONSISTENT else "borderline"


def _families_said(families: dict[str, dict[str, Row]]) -> str:
    """Which families the tests on all 23 lavas refute."""
    refuting = {name: [row["pvalue"] <= 0.05 for row in own.values()] for name, own in families.items()}
    refuted = [name for name, each in refuting.items() if all(each)]
    kept = [name for name, each in refuting.items() if not any(each)]
    unclear = [name for name in refuting if name not in refuted + kept]
    said = [f"all tests refute the {' and the '.join(refuted)} family at level .05"] if refuted else []
    said += [f"no test speaks against the {' or the '.join(kept)} family"] if kept else []
    said += [f"the tests disagree on the {' and the '.join(unclear)} family"] if unclear else []
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."

"""The 23 Skye lavas: a density estimate of one half, tested on the other; over many splits."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any

import numpy as np
import variants
from setting import Row, Setting
from skye_estimates import MAIN, MINIMUM, TESTS, PlaneDensity
from verdicts import printed

import goodstein as gs
from goodstein.families import Dirichlet, LogisticNormal
from goodstein.power.rates import Rate

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

CURVES = {LAVAS: "-", LOGISTIC: "--", SMOOTH: "-.", OWN: ":"}
SHOWN = (MAIN, "plane, cross-validation", "log-ratios, normal scale")
"""What the figure of p-values shows: cells with their lines, and tests."""


@lru_cache
def truth() -> LogisticNormal:
    """The logistic normal of all 23 lavas."""
    return LogisticNormal.fit(gs.datasets.skye_lavas())


@lru_cache
def smooth() -> PlaneDensity:
    """The normal-scale density estimate of all 23 lavas."""
    return TESTS[MAIN].fit(gs.datasets.skye_lavas())


def published_pvalue() -> float:
    entry = printed(PART, "kernel density estimate", "bd-KSD(g2)")
    assert entry is not None and entry.value is not None
    return entry.value


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
    from skye_figures import draw

    draw(setting)


def summary(setting: Setting) -> str:
    from skye_report import summary

    return summary(setting)


def report(setting: Setting) -> str:
    from skye_report import report

    return report(setting)

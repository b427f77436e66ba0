"""Robberies in Chicago: what the tests say of laws that are true, known or fitted anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from chicago import (
    ALL_2020,
    ESTIMATOR,
    FAMILIES,
    MEDIAN,
    PART,
    PART_2020,
    PUBLISHED,
    SOURCES,
    TESTS,
    TWENTY,
    TWO,
    YEAR,
    fitted,
    generator,
    load,
    prepared,
    pvalue,
)
from setting import Row, Setting

import goodstein as gs
from goodstein.families import GaussianMixture, Truncated
from goodstein.power.rates import wilson

KNOWN = {PART_2020: (331, 300, 25), YEAR: (ALL_2020 // 2, 20, 2)}
"""Of the law fitted to these data: size of the samples, how many, and how many in one task."""
REFITTED = {PART_2020: ((331, 331, 60), (596, 66, 60)), YEAR: ((ALL_2020 // 2, ALL_2020 // 2, 16),)}
"""How many draws to fit, how many to test, and how often."""
BOOTSTRAP = {TWO: 199, TWENTY: 99}


def rebuilt(folder: str, found: dict[str, Any]) -> Truncated:
    """The law with these parameters on the city; which table is read along with it does not matter."""
    source = SOURCES[PART_2020]
    weights = np.array(found["weights"])
    mixture = GaussianMixture(weights / weights.sum(), found["means"], found["covs"])
    return Truncated(mixture, load(folder, source.file, source.year).domain)


def known(folder: str, law: dict[str, Any], data: str, n: int, start: int, stop: int) -> list[Row]:
    """The p-values of a law that is known, on draws of it."""
    model, found = rebuilt(folder, law), []
    for k in range(start, stop):
        names = (data, "known", n, k)
        x = model.sample(n, generator(*names))
        found.append({test: pvalue(test, x, model, *names) for test in TESTS})
    return found


def refitted(
    folder: str, law: dict[str, Any], data: str, model: str, fit: int, test: int, k: int
) -> list[Row]:
    """The p-values of the right model, fitted to some draws of the law and tested on others."""
    truth, names = rebuilt(folder, law), (data, "refitted", model, fit, test, k)
    x = truth.sample(fit + test, generator(*names))
    found, _ = fitted(x[:fit], truth.domain, model, *names)
    return [{name: pvalue(name, x[fit:], found, *names) for name in TESTS}]


def family(folder: str, model: str, draws: int) -> list[Row]:
    """The p-value of the model on all locations of the 2020 part, every bootstrap sample fitted anew."""
    places = prepared(folder, PART_2020, PUBLISHED, 0)
    # From one start, as it must be done so often.
    found = replace(ESTIMATOR, starts=1).fit(places.points, FAMILIES[model], domain=places.domain, rng=0)
    null = gs.ParametricBootstrap(found.refit, draws)
    result = TESTS[MEDIAN](places.points, found.model, null=null, rng=generator(model, "family"))
    return [{MEDIAN: float(result.pvalue)}]


def check(kind: str, folder: str, *arguments: Any) -> list[Row]:
    return {"known": known, "refitted": refitted, "family": family}[kind](folder, *arguments)


def write_checks(setting: Setting, folder: str, laws: dict[str, Any]) -> None:
    tasks: dict[str, tuple[Any, ...]] = {}
    rows: dict[str, Row] = {}
    for model, draws in BOOTSTRAP.items():
        name = f"family | {model} | {draws}"
        tasks[f"{name} | 0"] = ("family", folder, model, draws)
        rows[name] = {"case": "family", "law_of": PART_2020, "model": model, "draws": draws}
    for data, (n, repetitions, step) in KNOWN.items():
        law, name = laws[f"{data} | {PUBLISHED} | {TWENTY} | 0"], f"known | {data} | {n}"
        for start in range(0, repetitions, step):
            tasks[f"{name} | {start}"] = ("known", folder, law, data, n, start, start + step)
        rows[name] = {"case": "known", "law_of": data, "model": TWENTY, "fitted": 0, "n": n}
    for data, plans in REFITTED.items():
        for model in (TWO, TWENTY):
            law = laws[f"{data} | {PUBLISHED} | {model} | 0"]
            for fit, test, repetitions in plans:
                name = f"refitted | {data} | {model} | {fit} | {test}"
                for k in range(repetitions):
                    tasks[f"{name} | {k}"] = ("refitted", folder, law, data, model, fit, test, k)
                rows[name] = {"case": "refitted", "law_of": data, "model": model, "fitted": fit, "n": test}
    found = setting.each(
        f"{PART}_checks", check, dict(sorted(tasks.items(), key=lambda task: _cost(task[1])))
    )
    outcomes: dict[str, list[Row]] = {}
    for name in tasks:
        outcomes.setdefault(name.rpartition(" | ")[0], []).extend(found[name])
    setting.write(
        f"{PART}_checks",
        [
            {**rows[name], "test": test, **_rates([value[test] for value in values])}
            for name, values in outcomes.items()
            for test in values[0]
        ],
    )


def _cost(task: tuple[Any, ...]) -> int:
    """The longest first, so that no worker waits for them at the end."""
    kind, data = task[0], task[3]
    return 0 if kind == "family" else 1 if data == YEAR else 2


def _rates(values: list[float | None]) -> Row:
    pvalues = np.array([value for value in values if value is not None])
    below = float(np.mean(pvalues <= 0.05 + 1e-9))
    low, high = wilson(below, len(pvalues))
    return {
        "repetitions": len(pvalues),
        "no_draws": len(values) - len(pvalues),
        "least": float(pvalues.min()),
        "median": float(np.median(pvalues)),
        "rejected": below,
        "lower": low,
        "upper": high,
    }

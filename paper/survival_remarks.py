"""The appendix' remarks on survival: which operator, and on which scale, at several rates of censoring."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial

import survival_numbers
import variants
from claims import DECISIVE, UNDECIDED, Finding, Order, listed
from setting import Row, Setting
from survival_cells import (
    AGGREGATED,
    ALL,
    ALTERNATIVES,
    CDF,
    CONSTANT,
    DEFAULT,
    FALLING,
    FINE_CDF,
    FINE_HAZARD,
    FORMULAS,
    HAZARD,
    LEVEL,
    NULLS,
    OPERATORS,
    PLAIN,
    RATES,
    RISING,
    SCALES,
    SURVIVAL,
    N,
    cell_name,
    cells,
)
from verdicts import DIFFERS, LIMIT, REPRODUCED, keeps_level, rate
from writing import figure, table

PART = "survival_remarks"
NUMBERS = survival_numbers.PART
TITLE = "Remarks on survival"
PARTLY = "reproduced for the constant hazard, differs for others"
"""Fernández et al. have the constant hazard as null."""


def run(setting: Setting) -> None:
    study = partial(setting.study, PART, level=LEVEL)
    if not setting.quick:
        study = partial(study, bound_draws=(8_000, 2_000))
    single = {**ALL, **SCALES, DEFAULT: variants.default}
    apply = {name: (*(SCALES if name == CONSTANT else ALL), DEFAULT) for name in NULLS}
    rows = study(cells(setting, apply), single, trials=400, quick=30)
    apply = dict.fromkeys(NULLS, (AGGREGATED,))
    rows += study(cells(setting, apply), {AGGREGATED: variants.aggregated}, trials=100, quick=10)
    setting.write(PART, rows)
    setting.write(NUMBERS, survival_numbers.rows(setting))


def draw(setting: Setting) -> None:
    from survival_figures import draw

    draw(setting)


def report(setting: Setting) -> str:
    rows, numbers = setting.read(PART), setting.read(NUMBERS)
    found = {(row["cell"], row["test"]): row for row in rows}
    trials = {row["test"]: row["trials"] for row in rows}
    return "\n\n".join(
        [
            f"## {TITLE}",
            "**The paper** says of tests for right-censored durations, partly of its own results and "
            "partly of those of Fernández et al. (2020), who introduced the operators: the martingale "
            "operator is estimated more accurately than the survival operator (Section 3.2); "
            "transforming durations by the null's distribution function, so that the null becomes "
            "uniform, gives more power (appendix); transforming them by the null's cumulative hazard "
            "does not give more than that (appendix). It prints no numbers.",
            f"**Here**: n = {N}, level .01 as in Fernández et al., Gaussian kernel at the median distance "
            "on the scale that the operator looks at, wild bootstrap; censoring times are exponential, "
            f"such that the given share of durations is censored under the null. {trials[CDF]} trials"
            + (f" ({trials[AGGREGATED]} for the aggregated test)" if AGGREGATED in trials else "")
            + ". *Most possible* is the Neyman–Pearson bound, by simulation. A test is named by its operator "
            "and the transform. Nulls have the hazards "
            + ", ".join(f"{FORMULAS[name]} ({name})" for name in NULLS)
            + ". Alternatives: *hazard × 1.5*, proportional to the null's; *Weibull k* with the shape k "
            "(scale 1 beside the constant, 1.55 beside the rising and 0.45 beside the falling hazard); "
            "*periodic*, 1 − cos(θπt); *slower growth*, 0.3·exp(t/2); *constant hazard*, 1/0.45. "
            "*¼ median*: a quarter of the median distance as bandwidth.",
            listed(PART, findings(rows, numbers)),
            _comparison_table(rows),
            "### All operators are one",
            _identity_text(numbers),
            figure(
                PART,
                "Null with constant hazard, where the martingale operator with the cumulative hazard, "
                "without transform, and the survival operator are the same test.",
            ),
            _power_table(found, CONSTANT, (*SCALES, DEFAULT, AGGREGATED)),
            _constant_text(found),
            figure(
                "survival_operators", "Nulls with rising and with falling hazard, where all operators differ."
            ),
            _power_table(found, RISING, (*ALL, DEFAULT, AGGREGATED)),
            _power_table(found, FALLING, (*ALL, DEFAULT, AGGREGATED)),
            "### Accuracy of the statistic",
            _accuracy_text(numbers),
            "### Sizes",
            _sizes(rows),
            "### The sign of ζ",
            _zeta_text(numbers),
        ]
    )


COMPARISONS = ((PLAIN, SURVIVAL), (CDF, PLAIN), (CDF, SURVIVAL), (HAZARD, CDF))


def pairs(rows: Sequence[Row], names: Sequence[str], first: str, second: str) -> list[tuple[Row, Row]]:
    """Rows of two tests in the same cells of some nulls, where both keep their level."""
    found = {(row["cell"], row["test"]): row for row in rows}
    result = []
    for cell in dict.fromkeys(row["cell"] for row in rows if row["cell"].startswith(tuple(names))):
        one, other = (found.get((cell, _alias(cell, test))) for test in (first, second))
        if (
            one is not None
            and other is not None
            and one is not other
            and keeps_level(one)
            and keeps_level(other)
        ):
            result.append((one, other))
    return result


def _alias(cell: str, test: str) -> str:
    """The same test under the name that the cell has it by."""
    return HAZARD if cell.startswith(CONSTANT) and test in (PLAIN, SURVIVAL) else test


def _comparison_table(rows: list[Row]) -> str:
    lines = []
    for first, second in COMPARISONS:
        line = [f"{first} / {second}"]
        for name in NULLS:
            order = Order.among(pairs(rows, [name], first, second))
            line.append(
                f"{order.more} / {order.less} / {order.of - order.more - order.less}" if order.of else "–"
            )
        lines.append(line)
    note = (
        "*In how many cells the first test has more power / the second / neither beyond three standard "
        "errors, of those where both keep their level. For the constant hazard martingale and survival "
        "are the same test.*"
    )
    return f"{table(['first / second', *NULLS], lines)}\n\n{note}"


def findings(rows: list[Row], numbers: list[Row]) -> dict[tuple[str, str], Finding]:
    """Verdicts on the claims of published.csv."""

    def order(first: str, second: str, *names: str) -> Order:
        return Order.among(pairs(rows, names or tuple(NULLS), first, second))

    operators, plain, survival = (order(*some) for some in COMPARISONS[:3])
    both = Order(plain.more + survival.more, plain.less + survival.less, plain.of + survival.of)
    there = order(CDF, PLAIN, CONSTANT)
    others = [order(CDF, test, RISING, FALLING) for test in (PLAIN, SURVIVAL)]
    transformed = PARTLY if (both.verdict, there.verdict) == (DIFFERS, REPRODUCED) else both.verdict
    zeta = {row["what"]: row for row in numbers if row["kind"] == "zeta"}
    known = (
        "All operators are computed from the data without error, and the ζ of the paper is in none of "
        "them; what a transform changes is the kernel (*All operators are one*)."
    )
    return {
        ("operators", "martingale against survival"): Finding(
            operators.verdict,
            "No measure of accuracy is named. Without transform the test with the martingale operator has "
            f"{operators}, nulls with rising and falling hazard; its statistic has {_more_accurate(numbers)} "
            "(*Accuracy of the statistic*).",
        ),
        ("transforms", "cdf against none"): Finding(
            transformed,
            "For the constant hazard, which is the null of Fernández et al. and for which the operators "
            f"without transform coincide: {there}. For the rising and the falling hazard: {others[0]} with "
            f"the martingale operator without transform, {others[1]} with the survival operator.",
        ),
        ("transforms", "cumulative hazard against cdf"): _not_more(rows),
        ("transforms", "reason"): Finding(DIFFERS, known),
        **{
            ("zeta", what): Finding(_zeta_verdict(zeta[what]), reason)
            for what, reason in (
                (
                    "Theorem 2",
                    "It gives +ω in place of −ω: the solution of the proof's equation has a minus.",
                ),
                ("Corollary 1", "It gives +λ₀ω in place of −λ₀ω, for the same reason."),
                (
                    "uniform null",
                    "It gives ω/(1 − u), which with the sign corrected belongs to the survival operator.",
                ),
            )
        },
    }


def _not_more(rows: list[Row]) -> Finding:
    order = Order.among(pairs(rows, tuple(NULLS), HAZARD, CDF))
    few = min(row["trials"] for row in rows if row["test"] == CDF) < DECISIVE
    each = {name: Order.among(pairs(rows, [name], HAZARD, CDF)) for name in NULLS}
    verdict = UNDECIDED if few else REPRODUCED
    if order.more:
        verdict = DIFFERS if each[CONSTANT].more or few else PARTLY
    where = [f"for the {name} {one.more} and {one.less} of {one.of}" for name, one in each.items()]
    return Finding(verdict, f"The cumulative hazard has {order}: {', '.join(where)}.")


def summary(setting: Setting) -> str:
    """What the head of the report says."""
    rows, numbers = setting.read(PART), setting.read(NUMBERS)
    counts = Counter(one.verdict for one in findings(rows, numbers).values())
    said = ", ".join(f"{count} × {verdict}" for verdict, count in counts.items())
    operators = Order.among(pairs(rows, tuple(NULLS), PLAIN, SURVIVAL))
    return (
        f"verdicts on what is said: {said}. "
        f"The martingale operator has {operators} with the survival operator; the two are one operator with "
        "different kernels. The printed ζ lacks a minus sign."
    )


def _zeta_verdict(row: Row) -> str:
    if abs(row["plus"] - row["wanted"]) < 1e-3:
        return REPRODUCED
    return "differs in sign" if abs(row["minus"] - row["wanted"]) < 1e-3 else DIFFERS


def _identity_text(numbers: list[Row]) -> str:
    lines = [[row["what"], f"{row['value']:.0e}"] for row in numbers if row["kind"] == "identity"]
    return "\n\n".join(
        [
            "The survival operator at a test function ω is the martingale operator at λ₀ω, and a "
            "transformed test is the martingale test with test functions of F₀(t) or Λ₀(t). So there is "
            "one operator with the four kernels K(t, t′), λ₀(t)λ₀(t′)K(t, t′), K(F₀(t), F₀(t′)) and "
            "K(Λ₀(t), Λ₀(t′)). Which is best is a question of where, and on which scale, the alternative "
            "differs from the null, not of how well an auxiliary function is estimated: all are computed "
            "from the data without error. (The g of the paper contains ω, so it is no auxiliary function "
            "that a test could use.)",
            "How far the matrices of the Stein kernel are apart, relative to their largest entry (of the "
            "operators themselves in the third line):",
            table(["the same", "largest difference"], lines),
        ]
    )


def _power_table(found: dict[tuple[str, str], Row], name: str, tests: Sequence[str]) -> str:
    lines = []
    for law in ALTERNATIVES[name]:
        for share in RATES:
            cell = cell_name(name, law, share)
            if (cell, CDF) in found:
                powers = [found[cell, test]["power"] if (cell, test) in found else None for test in tests]
                lines.append([law, f"{share:.0%}", rate(found[cell, CDF]["bound"]), *map(rate, powers)])
    return table([f"{name}, against", "censored", "most possible", *tests], lines)


def _constant_text(found: dict[tuple[str, str], Row]) -> str:
    cell = cell_name(CONSTANT, "periodic, θ = 4", 0.3)
    power = {test: found[cell, test]["power"] for test in (*SCALES, AGGREGATED)}
    scale, transform = (abs(power[CDF] - power[test]) for test in (FINE_CDF, HAZARD))
    head = "more" if scale > transform else "less"
    return (
        f"**Here the scale matters {head} than the transform.** Fernández et al. show a power of about .75 "
        "(read from a figure) for the cdf transform at θ = 4 with 30 % censored, and all other tests near "
        f"the level. With the median distance as bandwidth we find {rate(power[CDF])} and, for the "
        f"cumulative hazard, {rate(power[HAZARD])}; with a quarter of it {rate(power[FINE_CDF])} and "
        f"{rate(power[FINE_HAZARD])}. The aggregated test, which tries several, has "
        f"{rate(power[AGGREGATED])}."
    )


def _accuracies(numbers: list[Row]) -> dict[tuple[str, str], float]:
    return {(row["what"], row["test"]): row["value"] for row in numbers if row["kind"] == "accuracy"}


def _more_accurate(numbers: list[Row]) -> str:
    found = _accuracies(numbers)
    cases = list(dict.fromkeys(what for what, _ in found))
    larger = [found[what, PLAIN] - found[what, SURVIVAL] for what in cases]
    # The standard error of a mean over a standard deviation, of two of them, as for normal variables.
    trials = min(row["trials"] for row in numbers if row["kind"] == "accuracy")
    limits = [
        LIMIT * math.sqrt(sum(1 + found[what, test] ** 2 / 2 for test in (PLAIN, SURVIVAL)) / trials)
        for what in cases
    ]
    more, less = (
        sum(sign * one > limit for one, limit in zip(larger, limits, strict=True)) for sign in (1, -1)
    )
    return (
        f"a larger ratio of mean to standard deviation in {more} and a smaller one in {less} of {len(cases)} "
        "cases, beyond three standard errors"
    )


def _accuracy_text(numbers: list[Row]) -> str:
    found = _accuracies(numbers)
    cases = list(dict.fromkeys(what for what, _ in found))
    lines = [[what, *(rate(found[what, test], 2) for test in OPERATORS)] for what in cases]
    return "\n\n".join(
        [
            "Mean of the U-statistic under an alternative, divided by its standard deviation; 30 % censored, "
            f"{next(row['trials'] for row in numbers if row['kind'] == 'accuracy')} trials. Without "
            f"transform the martingale operator has {_more_accurate(numbers)}, compared with the survival "
            "operator.",
            table(["", *OPERATORS], lines),
        ]
    )


def _sizes(rows: list[Row]) -> str:
    tests = (*ALL, FINE_CDF, FINE_HAZARD, DEFAULT, AGGREGATED)
    lines = []
    for name in NULLS:
        for share in RATES:
            end = f"{share:.0%} censored"
            here = {
                row["test"]: row
                for row in rows
                if row["cell"].startswith(name) and row["cell"].split(", ")[-1] == end
            }
            if here:
                sizes = [
                    here.get(HAZARD if name == CONSTANT and test in (PLAIN, SURVIVAL) else test)
                    for test in tests
                ]
                lines.append(
                    [
                        name,
                        f"{share:.0%}",
                        *(
                            "–" if row is None else f"{rate(row['size'])}{row['size_mark'] or ''}"
                            for row in sizes
                        ),
                    ]
                )
    return table(["null", "censored", *tests], lines)


def _zeta_text(numbers: list[Row]) -> str:
    lines = []
    for row in numbers:
        if row["kind"] in ("zeta", "mean"):
            what = row["what"] if row["kind"] == "zeta" else f"{row['what']}: mean under the null"
            digits = [f"{row[key]:.4f}".replace("-0.0000", "0.0000") for key in ("wanted", "plus", "minus")]
            lines.append([what, "" if row["t"] is None else f"{row['t']:g}", *digits])
    return "\n\n".join(
        [
            "For censored durations Theorem 2 needs a ζ with ω(ζ′ + ζ(log μ₀)′) + ω′ζ = −ω, and "
            "Corollary 1 one with −ωλ₀ on the right. The solutions are −∫μ₀ω/(μ₀ω) and −∫μ₀ωλ₀/(μ₀ω); the "
            "differential equations are printed with the minus, the solutions without. The table has the "
            "left side by quadrature, for the hazard 0.3·exp(t) and for the uniform null, with ω = "
            "t·exp(−t). With the printed sign the mean under the null is not zero (last lines), so with "
            "enough data a test built on it would reject a true model. For the uniform null the paper gives "
            "the martingale operator and beside it the ζ of the survival operator; either sign of that is "
            "wrong for it, and the correct one is −∫ω/ω.",
            table(["statement", "t", "needed", "with the printed ζ", "with −ζ"], lines),
        ]
    )

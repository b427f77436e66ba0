"""What the paper says of the power for truncated data, judged by our results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

from claims import VISIBLE, Finding, Order, judge_trends
from setting import Row
from verdicts import DIFFERS

GAUSSIAN, MIXTURE, DISC = "Gaussian", "mixture", "mixture in the disc"
GAUSSIAN_NU = (1.0, 0.9, 0.5)
PRINTED = (100, 200, 400, 700, 1000)
POWERS = (4, 2, 1, 0.5)
KSD = tuple(f"bd-KSD(p={p:g})" for p in POWERS)
TESTS = (*KSD, "MMD", "goodstein default", "goodstein aggregated")


def chosen(rows: Sequence[Row], family: str, nu: float, test: str) -> list[Row]:
    found = [row for row in rows if (row["family"], row["nu"], row["test"]) == (family, nu, test)]
    return sorted(found, key=lambda row: row["n"])


def pairs(rows: Sequence[Row], family: str, nu: float, one: str, other: str) -> list[tuple[Row, Row]]:
    """Rows of two tests in the same cells."""
    second = {row["cell"]: row for row in chosen(rows, family, nu, other)}
    return [(row, second[row["cell"]]) for row in chosen(rows, family, nu, one) if row["cell"] in second]


def bounds(rows: Sequence[Row], family: str, nu: float) -> dict[int, float]:
    return {row["n"]: row["bound"] for row in rows if (row["family"], row["nu"]) == (family, nu)}


def printed_bounds(rows: Sequence[Row], family: str, nu: float) -> dict[int, float]:
    return {n: value for n, value in bounds(rows, family, nu).items() if n in PRINTED}


def order_of_p(rows: Sequence[Row], family: str, several: Sequence[float]) -> Order:
    return Order.among(
        pair
        for nu in several
        for larger, smaller in combinations(POWERS, 2)
        for pair in pairs(rows, family, nu, f"bd-KSD(p={larger:g})", f"bd-KSD(p={smaller:g})")
    )


def findings(rows: Sequence[Row]) -> dict[tuple[str, str], Finding]:
    """Verdicts on the claims of published.csv."""
    return {
        (GAUSSIAN, "growth"): _growth(rows),
        (GAUSSIAN, "order of p"): _gaussian_order(rows),
        (GAUSSIAN, "MMD"): _gaussian_mmd(rows),
        (GAUSSIAN, "variance"): Finding(
            DIFFERS,
            "Before truncation every Σ_ν has unit variances, and x₁ and x₂ play the same part; what "
            "differs is their correlation. For |ν| < 1 log q₀/q_ν is quadratic in x, so the difference "
            "of the scores is linear: zero at the centre, largest at the boundary. A larger p does help, "
            "but it puts less of the weight near the centre, not more (see *The auxiliary functions*).",
        ),
        (MIXTURE, "order of p"): _mixture(rows, partial(order_of_p, rows, MIXTURE), "A larger p"),
        (MIXTURE, "MMD"): _mixture(
            rows,
            lambda several: Order.among(
                pair for nu in several for pair in pairs(rows, MIXTURE, nu, "MMD", "bd-KSD(p=1)")
            ),
            "MMD, beside p = 1,",
        ),
    }


def _growth(rows: Sequence[Row]) -> Finding:
    lines = {test: chosen(rows, GAUSSIAN, 1.0, test) for test in (*KSD, "MMD")}
    found = judge_trends(lines, "grows")
    points = [row["power"] for test in KSD for row in lines[test] if row["n"] in PRINTED]
    full = sum(power > 0.99 for power in points)
    words = f"From n = {PRINTED[0]} on {full} of {len(points)} rates of bd-KSD are above .99"
    if 2 * full > len(points):
        words += ": against the singular law little is left to grow"
    return found._replace(reason=f"{found.reason} {words}.")


def _gaussian_order(rows: Sequence[Row]) -> Finding:
    order = order_of_p(rows, GAUSSIAN, GAUSSIAN_NU)
    limit = bounds(rows, GAUSSIAN, 0.5)
    best = {
        n: max(row["power"] for test in KSD for row in chosen(rows, GAUSSIAN, 0.5, test) if row["n"] == n)
        for n in limit
    }
    words = ", ".join(f"{best[n]:.2f} of {limit[n]:.2f} at n = {n}" for n in sorted(limit))
    return Finding(
        order.verdict,
        f"Of two p the larger has {order}. The best of the four at ν = .5, and what is possible: {words}.",
    )


def _gaussian_mmd(rows: Sequence[Row]) -> Finding:
    def order(*several: float) -> Order:
        return Order.among(
            pair
            for nu in GAUSSIAN_NU
            for p in several
            for pair in pairs(rows, GAUSSIAN, nu, f"bd-KSD(p={p:g})", "MMD")
        )

    return Finding(
        order(4, 2).verdict,
        f"bd-KSD with p = 4 or 2 has {order(4, 2)}; with p = 1 or ½ it has {order(1, 0.5)}.",
    )


def _mixture(rows: Sequence[Row], compare: Callable[[Sequence[float]], Order], who: str) -> Finding:
    """Out of reach as printed; what is true where there is something to find."""
    printed, plane = printed_bounds(rows, MIXTURE, -0.5), bounds(rows, DISC, -0.5)
    clear = compare((-0.9,))
    largest = max(printed)
    reason = f"{who} has {clear} at ν = −.9, where there is something to find."
    if max(printed.values()) > VISIBLE:
        found = compare((-0.5,))
        return Finding(found.verdict, f"{who} has {found} at ν = −½. {reason}")
    return Finding(
        f"not possible with n up to {largest}",
        f"At ν = −½ and n = {largest} no test of level .01 has more power than {printed[largest]:.3f} "
        f"in the ball of R³ (to which the printed means belong), or {plane[largest]:.3f} in the disc "
        f"of R² (which is printed), so five curves could not be told apart. With more observations than "
        f"that, which the text does not exclude, they could. {reason}",
    )

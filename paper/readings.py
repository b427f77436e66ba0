"""Is there a reading of the truncated half of the power table under which its numbers are possible?"""

from __future__ import annotations

from typing import Any

import laws
import numpy as np
import variants
from bounds import ball_bound
from laws import MEANS, two
from setting import Rows, Setting
from verdicts import LIMIT, REPRODUCED, error, judge, printed
from words import put, table

import goodstein as gs
from goodstein.families import Normal

PART = "readings"
N = 200
VALUES = (0.1, 0.3)
TESTS = {"bd-KSD(g1)": variants.bd_ksd(gs.BallPower(1)), "bd-KSD(g2)": variants.bd_ksd(gs.BallPower(2))}
COMPOSITIONS = {
    "bd-KSD(g2)": variants.bd_ksd(gs.BoundaryDistance()),
    "MMD": variants.mmd,
    "MSD": variants.invalid(gs.Mirrored()),
}
READINGS = {
    "as printed: correlation ν": laws.mixture,
    "all three correlations ν": lambda nu: two(MEANS, np.full((3, 3), nu) + (1 - nu) * np.eye(3)),
    "variance 1 + ν in the first coordinate": lambda nu: two(MEANS, np.diag([1.0 + nu, 1.0, 1.0])),
    "all variances 1 + ν": lambda nu: two(MEANS, (1 + nu) * np.eye(3)),
    "means moved by ν along the first axis": lambda nu: two(MEANS + np.array([nu, 0.0, 0.0]), np.eye(3)),
    "means further apart by ν": lambda nu: two((1 + nu) * MEANS, np.eye(3)),
    "components with standard deviation ½": lambda nu: two(MEANS, 0.25 * laws.covariance(nu)),
    "in the disc of R²": lambda nu: laws.mixture(nu, d=2),
    "one Gaussian, no mixture": laws.gaussian,
    "one Gaussian, not truncated": lambda nu: Normal(np.zeros(3), laws.covariance(nu)),
}
"""The laws of the data by ν; the null has ν = 0."""


def run(setting: Setting) -> None:
    cells = []
    for name, law in READINGS.items():
        tests = ["KSD"] if isinstance(law(0.0), Normal) else list(TESTS)
        cells += [gs.Cell(law(0.0), law(nu), N, name=f"{name}, ν = {nu:g}", tests=tests) for nu in VALUES]
    cells = setting.choose(cells, cells[:2])
    tests = {**TESTS, "KSD": variants.default}
    rows = setting.study(PART, cells, tests, trials=500, quick=30, size=False, bound=False)
    bounds = {cell.name: _bound(cell.model, cell.alternative) for cell in cells}
    rows = [row | {"bound": bounds[row["cell"]]} for row in rows]
    # The compositional cells at other sample sizes and with more parts.
    others = [
        gs.Cell(laws.dirichlet(0, d), laws.dirichlet(nu, d), n, name=f"{d} parts, n = {n}, ν = {nu:g}")
        for d, n in ((3, 30), (3, 50), (3, 100), (10, 200))
        for nu in (0.1, 0.3, 1.0)
    ]
    others = setting.choose(others, others[:1])
    rows += setting.study(PART, others, COMPOSITIONS, trials=300, quick=20, size=False, bound=False)
    setting.write(PART, rows)


def _bound(null: Any, alternative: Any) -> float:
    if isinstance(null, Normal):  # not truncated, and quickly drawn
        return float(gs.neyman_pearson_power(null, alternative, N, 0.01, rng=0).power)
    return ball_bound(null, alternative, N)


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    others = Rows(row for row in rows if "parts" in row["cell"])
    truncated = Rows(row for row in rows if row not in others)
    target = [printed("power_table", f"ball, ν = {nu:g}", "bd-KSD(g2)")["value"] for nu in VALUES]
    lines = []
    for name in _names(truncated):
        here = [truncated.where(cell=f"{name}, ν = {nu:g}") for nu in VALUES]
        bounds = [group[0]["bound"] for group in here]
        best = [max(group.all("power")) for group in here]
        could = all(a - most <= LIMIT * error(most, 200) for a, most in zip(target, bounds, strict=True))
        lines.append({"name": name, "bounds": bounds, "best": best, "could": "yes" if could else "no"})
    possible = [line["name"] for line in lines if line["could"] == "yes"]
    return {
        "readings": lines,
        "many": {0: "none makes", 1: "one makes"}.get(len(possible), f"{len(possible)} make"),
        "count": len(lines),
        "which": f" ({'; '.join(possible)})" if possible else "",
        "possible": "; ".join(possible),
        "impossible": not possible,
        "target": target,
        "n": N,
        "trials": rows[0]["trials"],
        "composition_trials": others[0]["trials"],
        **_compositions(others),
    }


def _names(rows: Rows) -> list[str]:
    """Of the cells, without ν."""
    return list(dict.fromkeys(cell.rsplit(",", 1)[0] for cell in rows.kinds("cell")))


def _compositions(rows: Rows) -> dict[str, str]:
    """Printed and measured power of the compositional tests, by number of parts and sample size."""
    at, names = rows.by("cell", "test"), _names(rows)
    several = [nu for nu in ("0.1", "0.3", "1") if any(cell.endswith(f"= {nu}") for cell in at)]
    lines, matched = [], []
    for test in COMPOSITIONS:
        entries = [printed("power_table", f"simplex, ν = {nu}", test) for nu in several]
        lines.append([test, "printed, n = 200", *(f"{entry['value']:.3f}" for entry in entries)])
        for name in names:
            found = [at.get(f"{name}, ν = {nu}", {}).get(test) for nu in several]
            lines.append(["", name, *(put("{power:.3f}", row) for row in found)])
            pairs = zip(entries, found, strict=True)
            if all(row is not None and judge(entry, row) == REPRODUCED for entry, row in pairs):
                matched.append(f"{test} ({name})")
    said = "none of these agrees with the printed powers at all three ν"
    if len(several) < 3:
        said = "not all ν were run"
    elif matched:
        said = f"all three printed powers agree with {'; '.join(matched)}"
    header = ["test", "", *(f"ν = {nu}" for nu in several)]
    return {"compositions": table(header, lines, text=2), "agreement": said}

"""The paper's table of rejection rates under the null: truncated Gaussian in the ball of R³, level .01."""

from __future__ import annotations

from typing import Any

import laws
import variants
from setting import Setting
from verdicts import DIFFERS, error, judge, printed
from words import SIZE, Span, of_samples, put, table

import goodstein as gs

PART = "type_one"
SIZES = (100, 400, 700, 1000)
KSD = {f"bd-KSD(p={p:g})": variants.bd_ksd(gs.BallPower(p)) for p in (4, 2, 1, 0.5)}
OTHERS = {"KSD(g=1)": variants.invalid(gs.Langevin()), "goodstein default": variants.default}


def run(setting: Setting) -> None:
    null = laws.gaussian()
    cells = [gs.Cell(null, None, n, name=f"n = {n}") for n in setting.choose(SIZES, SIZES[:2])]
    rows = setting.study(PART, cells, KSD | OTHERS, trials=2000, quick=100)
    rows += setting.study(PART, cells, {"MMD": variants.mmd}, trials=500, quick=40)
    setting.write(PART, rows)


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    cells, by_test = rows.kinds("cell"), rows.by("test", "cell")
    for row in rows:
        row["entry"] = printed(PART, row["cell"], row["test"])
        row["printed"] = row["entry"] and row["entry"]["value"]
        row["far"] = (row["size"] - 0.01) / error(0.01, row["trials"])
    lines = [
        [test, *(put(f"{{printed:.3f}} / {SIZE}", by_test[test][cell]) for cell in cells)]
        for test in (*KSD, "MMD", *OTHERS)
    ]
    always = min(rows.where(test="KSD(g=1)").all("size"))
    excess = [
        f"{row['test']} at {row['cell']}"
        for row in rows
        if row["entry"] and row["printed"] < 1 and row["printed"] - 0.01 > 3 * error(0.01, 500)
    ]
    wrong = [
        put("{test}, {cell}: {printed:.3f} printed, {size:.3f} ours", row)
        for row in rows
        if row["entry"] and judge(row["entry"], row) == DIFFERS
    ]
    own = [row for row in rows if row["test"] in (*KSD, "MMD")]
    many = sum(row["far"] > 3 for row in own)
    return {
        "trials": {row["test"]: row["trials"] for row in rows},
        "sizes": table(["", *cells], lines),
        "valid": Span(row["size"] for row in rows if row["test"] in KSD),
        "always": f"{'at least ' if always < 1 else ''}{of_samples(always)}",
        "excess": len(excess),
        "which": ", ".join(excess),
        "own": len(own),
        "many": "one does" if many == 1 else f"{many or 'none'} do",
        "farthest": max(own, key=lambda row: row["far"]),
        "wrong": "; ".join(wrong),
    }

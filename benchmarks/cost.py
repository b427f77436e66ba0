"""What a test costs: core-seconds by n, d and B, fitted on small samples and checked on large ones.

    python benchmarks/cost.py            # fits, checks, and writes COST.md beside this file: some minutes

The work is n²/2 pairs, each with d coordinates and G = ⌈B/32⌉ products with signs, and some for each row:

    seconds = n²·(a + b·d + c·G) + n·(e + f·d) + g,

of one core, in CPU time, for `ksd_test` with its usual kernel and orthogonal signs. The constants are those
of the machine; relative errors are minimised, and all constants are at least zero. Beyond 20 000 rows what is
called measured is reckoned from the first few strips of rows, whose share of all pairs is known.
"""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

import goodstein as gs
from goodstein.engine import schemes
from goodstein.engine.triangle import areas

RESULTS = Path(__file__).with_name("COST.md")
FIT = [(n, d, draws) for n in (2000, 8000) for d in (2, 10, 50) for draws in (200, 1000, 5000)]
# Beyond some ten thousand rows factors and signs no longer lie in the caches.
FIT += [(20_000, 2, 200), (20_000, 10, 1000), (20_000, 50, 5000)]
CHECK = [(50_000, 10, 1000), (50_000, 50, 5000), (100_000, 2, 200), (100_000, 10, 1000), (10**6, 10, 1000)]
TABLE = [(n, d, b) for n in (10**4, 10**5, 10**6, 10**7) for d in (2, 10, 50) for b in (1000,)]
STRIPS = 6
HONESTLY = """\
The range of the fit was chosen after a look: a first one, to n = 1000–4000, predicted only .71 to .83 of
what was measured at n = 100 000, since beyond some ten thousand rows factors and signs no longer lie in the
caches. So the tests below took no part in the fit, but tests of their size had a part in the choice of its
range: they show how far it can be continued on this machine, and are no blind check.

*Measured* means: the time until the first strip of some 250 rows is done, and for all other strips that of
the next six, by their share of all pairs. None of these tests was run to its end.

Runs differ with what else the machine does: two of them measured 70 and 78 core-minutes in the last row, and
predicted 68 and 84.
"""


def terms(n: int, d: int, draws: int) -> np.ndarray:
    """What the constants are multiplied by."""
    signs = -(-draws // 32)
    return np.array([n**2, n**2 * d, n**2 * signs, n, n * d, 1.0], float)


def measured(n: int, d: int, draws: int, rounds: int = 1) -> float:
    """Core-seconds of a test, of large samples from the first few strips."""
    x = np.random.default_rng(0).standard_normal((n, d))
    # Signs that are orthogonal, also where the sample happens to look dependent: one in twenty does.
    model, null = gs.families.Normal(np.zeros(d)), gs.WildBootstrap(draws, flip=0.5)
    found = []
    for _ in range(rounds):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it will take long
            if n <= 20_000:
                gs.ksd_test(x, model, null=null, workers=1, rng=1)
                found.append(time.process_time() - start)
            else:
                found.append(_by_strips(x, model, null, start))
    return min(found)


def _by_strips(x: np.ndarray, model: object, null: gs.WildBootstrap, start: float) -> float:
    """The time until the first strip has ended, and that of all others by the next few."""
    n, seen = len(x), []

    def stop(done: int, total: int) -> None:
        if done:
            seen.append(time.process_time())
            if len(seen) > STRIPS:
                raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        gs.ksd_test(x, model, null=null, workers=1, rng=1, progress=stop)
    work = areas(schemes.OrthogonalSigns(0, n, null.n_resamples).strips(), n)
    rate = np.median(np.diff(seen)) / np.mean(work[1 : STRIPS + 1])
    return seen[0] - start + rate * sum(work[1:])


def fitted(rows: list[tuple[int, int, int]], times: list[float]) -> np.ndarray:
    """The constants."""
    design = np.array([terms(*row) for row in rows]) / np.array(times)[:, None]
    scale = design.max(axis=0)
    return nnls(design / scale, np.ones(len(rows)))[0] / scale


def spoken(seconds: float) -> str:
    """Core-seconds in a table."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s" if seconds > 10 else f"{seconds:.2g} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="check on the smallest sample alone; write nothing"
    )
    options = parser.parse_args()
    check = CHECK[:1] if options.quick else CHECK
    measured(1000, 2, 200)
    times = [measured(*row, rounds=2) for row in FIT]
    constants = fitted(FIT, times)
    errors = [terms(*row) @ constants / t - 1.0 for row, t in zip(FIT, times, strict=True)]
    lines = [
        "# What a test costs",
        "",
        "Written by `python benchmarks/cost.py`. Core-seconds of `ksd_test`, d columns, B draws, G = ⌈B/32⌉:",
        "",
        "seconds = n²·(a + b·d + c·G) + n·(e + f·d) + g, with (a, b, c, e, f, g) = ("
        + ", ".join(f"{c:.2g}" for c in constants)
        + "),",
        f"fitted to {len(FIT)} tests of n = 2000–20 000. Errors of the fit: median "
        f"{np.median(np.abs(errors)):.0%}, from {min(errors):+.0%} to {max(errors):+.0%}.",
        "",
        *HONESTLY.splitlines(),
        "",
        "| n | d | B | measured | predicted | predicted ÷ measured |",
        "|---|---|---|---|---|---|",
    ]
    for row in check:
        n, d, draws = row
        seconds, expected = measured(*row), float(terms(*row) @ constants)
        cells = (f"{n:,}", d, draws, spoken(seconds), spoken(expected), f"{expected / seconds:.2f}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        "Predicted, in time of one core:",
        "",
        "| n | d | B | one core | 64 cores |",
        "|---|---|---|---|---|",
    ]
    for n, d, draws in TABLE:
        seconds = float(terms(n, d, draws) @ constants)
        lines.append(f"| {n:,} | {d} | {draws} | {spoken(seconds)} | {spoken(seconds / 64)} |")
    print("\n".join(lines))
    if not options.quick:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Rows of the table of results, their verdicts, and the Markdown they become."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from peers import installed_version
from timing import Ratio, blas_in_use

import goodstein as gs

PREAMBLE = """\
# Speed and memory of goodstein

Written by `make bench`. Every number is a ratio of two things that took turns in the same run, because
seconds say more about the machine than about the code; a row that does give a time is not judged. A ratio
is the median over the rounds of the ratio within a round, its spread the smallest and the largest of them.
For processes started from the shell it is the ratio of the shortest times.

Unless said otherwise the data are standard normal, the model is true, the kernel is IMQ with bandwidth 1
(Gaussian: 3), B = {draws}, d = 10, and there are {threads} threads.

- *sgemm*: the matrix product in single precision that no exact wild bootstrap with B independent sign
  vectors can avoid: n²B/2 multiply-adds, warm, with as many threads as the test that it is compared with.
- *full matrix*: the same test in plain vectorised NumPy, with all draws in one product.
- *loop per draw*: the same test in the manner of kgof: the matrix coordinate by coordinate, then w·Hw draw by
  draw.
- *statistic alone*: goodstein without a null distribution.

The plain versions and the peers were checked to give goodstein's statistic to ten digits before being timed.
"""


@dataclass(frozen=True)
class Bound:
    """What a target asks for: at most or at least so much."""

    value: float
    at_least: bool = False
    unit: str = "×"

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.value:g} {self.unit}".rstrip()

    def verdict(self, measured: float) -> str:
        """Whether it is met, or by how much it is missed."""
        excess = (self.value - measured if self.at_least else measured - self.value) / self.value
        return "met" if excess <= 0.0 else f"missed by {100 * excess:.0f} %"


@dataclass(frozen=True)
class Row:
    """One line of the table; a row whose numbers are times is never judged."""

    target: str
    what: str
    measured: Ratio | None
    bound: Bound | None = None
    unit: str = "×"
    judged: bool = True
    remark: str = ""

    @property
    def more_is_better(self) -> bool:
        """As its bound says; of what has none, a ratio to something of others."""
        return self.bound.at_least if self.bound is not None else self.target in ("peers", "dask")

    def cells(self, judge: bool) -> list[str]:
        """The row as text."""
        if self.measured is None:
            return [self.target, self.what, "–", "–", "–", self.remark]
        spread = f"{number(self.measured.low)}–{number(self.measured.high)}"
        asked = str(self.bound) if self.bound is not None else "–"
        value = f"{number(self.measured.value)} {self.unit}".rstrip()
        return [self.target, self.what, value, spread, asked, self.remark or self._verdict(judge)]

    def _verdict(self, judge: bool) -> str:
        if self.bound is None or self.measured is None:
            return "–"
        if not judge:
            return "not judged: small sizes"
        verdict = self.bound.verdict(self.measured.value)
        return verdict if self.judged else f"not judged: a time ({verdict} here)"


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def by_number(target: str) -> tuple[int, str]:
    """Targets in the order of their numbers, and then those that have names."""
    return (int(target), "") if target.isdigit() else (1 << 30, target)


def markdown_table(rows: Sequence[Row], judge: bool) -> str:
    """All rows, in the order of the targets."""
    head = ["target", "what is compared", "measured", "spread", "asked for", "verdict"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ordered = sorted(rows, key=lambda row: by_number(row.target))
    lines += ["| " + " | ".join(row.cells(judge)) + " |" for row in ordered]
    return "\n".join(lines)


def machine_facts(cores: int, load: float | None) -> str:
    """What the ratios were measured on and with; `load` is that before the run."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "threadpoolctl"))
    others = ", ".join(f"{name} {installed_version(name)}" for name in ("stein-thinning", "coreax", "jax"))
    lines = [
        f"- processor: {processor()}, {cores} cores in use, {platform.system()} {platform.machine()}",
        f"- BLAS: {blas_in_use()}",
        f"- Python {platform.python_version()}, goodstein {gs.__version__}, {libraries}",
        f"- peers: {others}",
    ]
    if load is not None:
        warning = " (busy: the ratios are not to be trusted)" if load > 0.3 * cores else ""
        lines.append(f"- load average of the minute before: {load:.1f}{warning}")
    return "\n".join(lines)


def processor() -> str:
    """Its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"

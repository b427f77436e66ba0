"""What a test returns."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.kernels.base import Kernel
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.auditing import AuditReport


LONGEST_DETAIL = 80
"""Characters of a list in the summary."""


@dataclass(frozen=True, eq=False)
class TestResult:
    """The outcome of a goodness-of-fit test and how it was obtained.

    Attributes
    ----------
    statistic
        U-statistic of the squared kernel Stein discrepancy; near zero, possibly below, if the
        model fits.
    pvalue
        Probability of a statistic at least this large if the model were true; never zero. NaN (in JSON
        null) where a test is undefined, as is a statistic that does not exist.
    null_distribution
        Draws of the statistic under the null, on which the p-value rests.
    n
        Number of observations.
    model, domain, operator, kernel, null
        What was used; the kernel with its bandwidth, the operator with its scales.
    audit
        What was found out about the validity of the test.
    notes
        Everything that a reader of the p-value should know.
    v_statistic
        V-statistic of the same quantity, diagonal included, which is never negative. Under random
        signs both have the same p-value.
    data
        The data in words, where "n observations on the domain" does not say it all.
    title
        Which test it is.
    details
        What else this test has to report, by name.
    """

    _statistic_name = "KSD², U-statistic"  # no annotation: not a field

    __test__ = False  # not a test case, whatever pytest thinks of the name

    statistic: float
    pvalue: float
    null_distribution: Array = field(repr=False)
    n: int
    model: str
    domain: Any
    operator: Any
    kernel: Any
    null: Any
    audit: AuditReport = field(repr=False)
    notes: tuple[str, ...] = ()
    v_statistic: float | None = None
    data: str | None = None
    title: str = "Kernel Stein discrepancy test"
    details: Mapping[str, Any] = field(default_factory=dict)

    def _rows(self) -> list[tuple[str, str]]:
        parts = {"operator": self.operator, "kernel": self.kernel, "null": self.null}
        return [
            ("model", self.model),
            ("data", self.data or f"{self.n} observations on {self.domain!r}"),
            *((name, short(part)) for name, part in parts.items() if part is not None),
            *((name, brief(value)) for name, value in self.details.items()),
            ("statistic", f"{self.statistic:.6g}   ({self._statistic_name})"),
            ("p-value", f"{self.pvalue:.4g}"),
        ]

    def __post_init__(self) -> None:
        draws = np.array(self.null_distribution)
        draws.setflags(write=False)
        object.__setattr__(self, "null_distribution", draws)

    def _verdict(self) -> str:
        if not self.audit.valid:
            return "The p-value is not valid: the audit refused this test and was overruled."
        if self.pvalue <= 0.01:
            evidence = "strong evidence against the model"
        elif self.pvalue <= 0.05:
            evidence = "evidence against the model"
        else:
            evidence = "no evidence against the model"
        return f"{evidence[0].upper()}{evidence[1:]}."

    def summary(self) -> str:
        """The result as a short text."""
        lines = [self.title, ""]
        rows = self._rows()
        width = max(10, *(len(name) for name, _ in rows))
        lines += [f"  {name:<{width}} {value}" for name, value in rows]
        lines += ["", f"  {self._verdict()}"]
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        import html

        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self._rows()
        )
        notes = "".join(f"<p><em>Note:</em> {html.escape(note)}</p>" for note in self.notes)
        return (
            f"<div><strong>{html.escape(self.title)}</strong><table>{rows}</table>"
            f"<p>{html.escape(self._verdict())}</p>{notes}</div>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings and lists."""
        return {
            "test": self.title,
            "statistic": plain(float(self.statistic)),
            "pvalue": plain(float(self.pvalue)),
            "n": int(self.n),
            "model": self.model,
            "domain": None if self.domain is None else repr(self.domain),
            "operator": repr(self.operator),
            "kernel": repr(self.kernel),
            "bandwidth": _bandwidth(self.kernel),
            "null": repr(self.null),
            "valid": bool(self.audit.valid),
            "notes": list(self.notes),
            "v_statistic": None if self.v_statistic is None else plain(float(self.v_statistic)),
            "details": {name: plain(value) for name, value in self.details.items()},
            "null_distribution": plain(np.asarray(self.null_distribution)),
        }

    def to_json(self, **options: Any) -> str:
        """:meth:`to_dict` as JSON; options go to :func:`json.dumps`."""
        import json

        return json.dumps(self.to_dict(), **options)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The null distribution with the statistic marked; needs ``pip install "goodstein[plot]"``."""
        from goodstein.plot import null_distribution

        return null_distribution(self, ax=ax)


def plain(value: Any) -> Any:
    """A number, a string or lists of them; None for NaN, which JSON does not have."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if isinstance(value, (int, float, str, type(None))) else repr(value)


def brief(value: object) -> str:
    """A detail on one line; of a long list its beginning."""
    text = " ".join(short(value).split())
    if len(text) <= LONGEST_DETAIL or not isinstance(value, list | tuple | np.ndarray):
        return text
    items = [short(item) for item in (value.tolist() if isinstance(value, np.ndarray) else value)]
    shown = items[0]
    for item in items[1:]:
        if len(shown) + len(item) > LONGEST_DETAIL - 20:
            break
        shown += f", {item}"
    return f"[{shown[:LONGEST_DETAIL]}, …] ({len(items)} in all)"


def short(thing: object) -> str:
    """A repr with its numbers to six digits, which is what a person reads."""
    return re.sub(r"\d+\.\d{6,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.6g}", repr(thing))


def _bandwidth(kernel: Kernel) -> float | list[Any] | None:
    """The bandwidth of a kernel, a list of them for a sum, None where there is none."""
    inner = getattr(kernel, "kernel", kernel)
    terms = getattr(inner, "kernels", None)
    if terms is not None:
        return [_bandwidth(term) for term in terms]
    width = getattr(inner, "bandwidth", None)
    return float(width) if isinstance(width, (int, float)) else None

"""What a diagnosis of auxiliary functions reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from goodstein.auditing.boundary import Exponents
from goodstein.auxiliary.base import Auxiliary
from goodstein.auxiliary.criterion import Criterion
from goodstein.results.result import plain
from goodstein.text import as_html, as_text
from goodstein.types import Array

COORDINATES = 6
"""Coordinates whose means are printed; :meth:`AuxiliaryReport.to_dict` has them all."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was found about one auxiliary function.

    Attributes
    ----------
    name, auxiliary
        Which one, its scales fixed.
    mean_gs, mean_gs_error
        Mean of g_i ∂_i log q over the data, and its standard error, for each coordinate; on a simplex
        in orthonormal coordinates of its tangent space.
    mean_g, mean_g_error
        Mean of g, and its standard error; for a diagonal g over all coordinates.
    mean_b, mean_b_error
        Mean of the drift b_i = g_i ∂_i log q + ∂_i g_i, whose expectation is 0 under the model
        wherever Stein's identity holds.
    criterion
        U, σ and U/σ with the kernel of the report.
    faces
        The exponents of density and g at each face of the boundary.
    valid, problems
        Whether a test with this g can keep its level, and if not, why.
    """

    name: str
    auxiliary: Auxiliary
    mean_gs: Array
    mean_gs_error: Array
    mean_g: float
    mean_g_error: float
    mean_b: Array
    mean_b_error: Array
    criterion: Criterion
    faces: tuple[Exponents, ...]
    valid: bool
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings and lists."""
        return {
            "auxiliary": self.name,
            "valid": self.valid,
            "problems": list(self.problems),
            "mean_gs": plain(self.mean_gs),
            "mean_gs_error": plain(self.mean_gs_error),
            "mean_g": plain(self.mean_g),
            "mean_g_error": plain(self.mean_g_error),
            "mean_b": plain(self.mean_b),
            "mean_b_error": plain(self.mean_b_error),
            "u": plain(self.criterion.u),
            "sigma": plain(self.criterion.sigma),
            "criterion": plain(self.criterion.value),
            "faces": [
                {"face": e.face, "density": _finite(e.density), "weight": _finite(e.weight), "valid": e.valid}
                for e in self.faces
            ],
        }


@dataclass(frozen=True, eq=False)
class AuxiliaryReport:
    """Auxiliary functions side by side; print it to read it.

    Attributes
    ----------
    model, domain, kernel
        What was looked at, in words.
    n
        Number of observations.
    rows
        One :class:`Diagnosis` for each auxiliary function.
    """

    model: str
    domain: str
    kernel: str
    n: int
    rows: tuple[Diagnosis, ...]

    def __str__(self) -> str:
        header, lines = self._table()
        notes = [f"  {note}" for note in self._notes()]
        return "\n".join([self._title, "", *as_text(header, lines), "", *notes])

    def _repr_html_(self) -> str:
        return as_html(self._title, *self._table(), self._notes())

    @property
    def _title(self) -> str:
        return f"Auxiliary functions for {self.model} on {self.domain}, {self.n} observations"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings and lists."""
        return {
            "model": self.model,
            "domain": self.domain,
            "kernel": self.kernel,
            "n": self.n,
            "auxiliaries": [row.to_dict() for row in self.rows],
        }

    def _table(self) -> tuple[list[str], list[list[str]]]:
        count = len(self.rows[0].mean_gs) if self.rows else 0
        shown = min(count, COORDINATES)
        header = ["g", "valid", "mean g", *(f"mean g·s_{i + 1}" for i in range(shown))]
        header += ["U", "σ", "U/σ", "least exponent of q·g"]
        lines = []
        for row in self.rows:
            least = min((e.density + e.weight for e in row.faces), default=math.nan)
            lines.append(
                [
                    row.name,
                    "yes" if row.valid else "NO",
                    _with_error(row.mean_g, row.mean_g_error),
                    *(_with_error(*pair) for pair in _pairs(row.mean_gs, row.mean_gs_error)[:shown]),
                    f"{row.criterion.u:.3g}",
                    f"{row.criterion.sigma:.3g}",
                    f"{row.criterion.value:.3f}",
                    "no boundary" if math.isnan(least) else f"{least:.2f}",
                ]
            )
        return header, lines

    def _notes(self) -> list[str]:
        notes = [
            f"Kernel {self.kernel}. U/σ is the power criterion; a mean of g·s of zero is no sign of power."
        ]
        if self.rows and len(self.rows[0].mean_gs) > COORDINATES:
            notes.append(f"The first {COORDINATES} of {len(self.rows[0].mean_gs)} coordinates are shown.")
        notes += [f"{row.name}: {' '.join(row.problems)}" for row in self.rows if row.problems]
        return notes


def _finite(exponent: float) -> float | None:
    """An exponent; None for one that is infinite, which JSON does not have."""
    return exponent if math.isfinite(exponent) else None


def _pairs(values: Array, errors: Array) -> list[tuple[float, float]]:
    return list(zip(values.tolist(), errors.tolist(), strict=True))


def _with_error(value: float, error: float) -> str:
    return f"{value:.3g} ± {error:.2g}"

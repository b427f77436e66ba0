"""What a selection returns: what was chosen, and the rest of the data to test it on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodstein.constraints import check_flag
from goodstein.data.rows import SeenRows
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers
from goodstein.engine.progress import ProgressLike, watching
from goodstein.kernels.base import Kernel
from goodstein.nulls.base import Null
from goodstein.operators.base import Operator, Wrapping
from goodstein.pipeline.compose import compose, draw_seeds
from goodstein.pipeline.run import run_test
from goodstein.results.result import TestResult
from goodstein.stein.features import Features
from goodstein.text import Report, Table, plain, readable
from goodstein.types import RNG, Array
from goodstein.validation import as_generator


@dataclass(frozen=True, repr=False)
class Chosen(Wrapping):
    """An operator and the rows that it was chosen on: it raises where they are among the data."""

    operator: Operator
    training: SeenRows

    def features(self, model: Any, domain: Domain, data: Any) -> Features:
        return self.operator.features(model, domain, data)

    def fitted(self, data: Any, domain: Domain) -> Chosen:
        """With the operator fitted, unless the data are those that it was chosen on."""
        self.training.refuse(data, f"this {self.operator!r}")
        return super().fitted(data, domain)

    def boundary_weight(self, domain: Domain, x: Array, normals: Array) -> Array | None:
        return self.operator.boundary_weight(domain, x, normals)

    def __repr__(self) -> str:
        return repr(self.operator)


@dataclass(frozen=True, eq=False)
class Candidate:
    """An operator and a kernel: U, σ and U/σ on the training rows, or why they were dropped."""

    operator: Operator
    kernel: Kernel | None
    u: float
    sigma: float
    criterion: float
    dropped: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings."""
        return {name: plain(value) for name, value in self.__dict__.items()}


@dataclass(frozen=True, eq=False)
class Selection(Report):
    """An operator and a kernel, chosen on training rows; :meth:`test` tests them on the others.

    Attributes
    ----------
    operator
        The chosen operator, fitted to the training rows, which it refuses as data of any test.
    kernel
        The chosen kernel, its bandwidth a number. (A kernel alone cannot know on what data it is used.)
    candidates
        All candidates, the best first, those that were dropped last.
    n_train, n_test
        Number of rows on which was chosen, and of those that are left.
    train
        Which rows of the data were the training rows, in their order.
    model, domain
        As given to :func:`select`.
    """

    operator: Chosen
    kernel: Kernel
    candidates: tuple[Candidate, ...]
    n_train: int
    n_test: int
    train: np.ndarray[Any, np.dtype[np.intp]] = field(repr=False)
    model: Any = field(repr=False)
    domain: Domain | None = field(repr=False)
    training: SeenRows = field(repr=False)
    rest: Any = field(repr=False)
    title: str = field(repr=False)

    @property
    def criterion(self) -> float:
        """U/σ of what was chosen, on the training rows, where it is too good: it was chosen for it."""
        return self.candidates[0].criterion

    @property
    def dropped(self) -> tuple[Candidate, ...]:
        """The candidates that were not considered, each with the reason."""
        return tuple(candidate for candidate in self.candidates if candidate.dropped is not None)

    def test(
        self,
        data: Any = None,
        *,
        null: Null | None = None,
        rng: RNG = None,
        workers: Workers = None,
        audit: bool = True,
        progress: ProgressLike = None,
    ) -> TestResult:
        """Test the model with what was chosen, on the rows that were not used to choose.

        Other `data` must not hold training rows, or :class:`InputError` is raised (see
        :class:`goodstein.data.rows.SeenRows`). The other parameters are those of
        :func:`ksd_test`.
        """
        watch = watching(progress)
        check_flag(audit, "audit")
        seeds = draw_seeds(as_generator(rng))
        chosen = self.operator.operator
        problem = compose(
            self.rest if data is None else data, self.model, self.domain, chosen, self.kernel, seeds
        )
        if data is not None:
            self.training.refuse(problem.observations, "this selection")
        considered = len(self.candidates) - len(self.dropped)
        with watch:
            return run_test(
                problem,
                null=null,
                workers=workers,
                seeds=seeds,
                audit=audit,
                title="Kernel Stein discrepancy test, chosen on a split",
                details={
                    "n_train": self.n_train,
                    "candidates": considered,
                    "power criterion": self.criterion,
                },
            )

    def to_dict(self) -> dict[str, Any]:
        return {
            "operator": repr(self.operator),
            "kernel": repr(self.kernel),
            "criterion": plain(self.criterion),
            "n_train": self.n_train,
            "n_test": self.n_test,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }

    def _title(self) -> str:
        return self.title

    def _tables(self) -> list[Table]:
        lines = []
        for candidate in self.candidates:
            if candidate.dropped is None:
                numbers = [f"{candidate.u:.3g}", f"{candidate.sigma:.3g}", f"{candidate.criterion:.3f}"]
                lines.append([readable(candidate.operator), readable(candidate.kernel), *numbers])
        return [Table(["operator", "kernel", "U", "σ", "U/σ"], lines)]

    def _notes(self) -> list[str]:
        notes = [
            f"Chosen is the first, on {self.n_train} training rows; {self.n_test} rows are left, on which "
            ".test() tests it."
        ]
        notes += [
            f"Not considered: {readable(candidate.operator)}"
            + ("" if candidate.kernel is None else f" with {readable(candidate.kernel)}")
            + f". {candidate.dropped}"
            for candidate in self.dropped
        ]
        return notes

"""What a selection returns: what was chosen, and the rest of the data to test it on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodstein.auxiliary.training import TrainingRows
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import CalibrationWarning
from goodstein.kernels.base import Kernel
from goodstein.nulls import Null, WildBootstrap
from goodstein.operators.base import Operator
from goodstein.pipeline.compose import as_generator, compose
from goodstein.pipeline.run import check_null, draw_seeds, run_test
from goodstein.results.result import TestResult, plain
from goodstein.tests_of_fit.chosen import Chosen
from goodstein.text import as_html, as_text, readable
from goodstein.types import RNG


@dataclass(frozen=True, eq=False)
class Candidate:
    """An operator and a kernel, and how they did on the training rows.

    Attributes
    ----------
    operator, kernel
        With everything fixed that they take from data, unless they were dropped.
    u, sigma, criterion
        U, σ and U/σ on the training rows; NaN for what was dropped.
    dropped
        Why it was not considered; None if it was.
    """

    operator: Operator
    kernel: Kernel | None
    u: float
    sigma: float
    criterion: float
    dropped: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings."""
        return {
            "operator": repr(self.operator),
            "kernel": None if self.kernel is None else repr(self.kernel),
            "u": plain(self.u),
            "sigma": plain(self.sigma),
            "criterion": plain(self.criterion),
            "dropped": self.dropped,
        }


@dataclass(frozen=True, eq=False)
class Selection:
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
    training: TrainingRows = field(repr=False)
    rest: Any = field(repr=False)
    fitted_to_data: bool = field(repr=False)
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
        null: Null = WildBootstrap(),  # noqa: B008 - frozen, used as a value
        rng: RNG = None,
        workers: Workers = None,
        audit: bool = True,
    ) -> TestResult:
        """Test the model with what was chosen, on the rows that were not used to choose.

        Parameters
        ----------
        data
            None takes the rest of the data. Other data must not hold training rows.
        null, rng, workers, audit
            As in :func:`ksd_test`.

        Raises
        ------
        InputError
            Where `data` are training rows; see :class:`goodstein.auxiliary.training.TrainingRows`.
        """
        check_workers(workers)
        check_null(null)
        seeds = draw_seeds(as_generator(rng))
        chosen = self.operator.operator
        problem = compose(
            self.rest if data is None else data, self.model, self.domain, chosen, self.kernel, seeds[2]
        )
        if data is not None:
            self.training.refuse(problem.data, "this selection")
        elif self.fitted_to_data and not getattr(null, "refits", False):
            warnings.warn(
                f"{problem.model.name} was fitted to data of which these are a part, so the p-value is "
                "conservative. Fit it to the training rows alone, or use null=ParametricBootstrap(fit).",
                CalibrationWarning,
                stacklevel=2,
            )
        considered = len(self.candidates) - len(self.dropped)
        return run_test(
            problem,
            null=null,
            workers=workers,
            seeds=seeds,
            audit=audit,
            title="Kernel Stein discrepancy test, chosen on a split",
            details={"n_train": self.n_train, "candidates": considered, "power criterion": self.criterion},
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings and lists."""
        return {
            "operator": repr(self.operator),
            "kernel": repr(self.kernel),
            "criterion": plain(self.criterion),
            "n_train": self.n_train,
            "n_test": self.n_test,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }

    def __str__(self) -> str:
        header, lines = self._table()
        notes = [f"  {note}" for note in self._notes()]
        return "\n".join([self.title, "", *as_text(header, lines), "", *notes])

    def _repr_html_(self) -> str:
        return as_html(self.title, *self._table(), self._notes())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        lines = []
        for candidate in self.candidates:
            if candidate.dropped is None:
                numbers = [f"{candidate.u:.3g}", f"{candidate.sigma:.3g}", f"{candidate.criterion:.3f}"]
                lines.append([readable(candidate.operator), readable(candidate.kernel), *numbers])
        return ["operator", "kernel", "U", "σ", "U/σ"], lines

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

"""What a test returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.constraints import check_share
from goodstein.kernels.base import as_kernel
from goodstein.lazy import deferred
from goodstein.problems.problem import Problem
from goodstein.results.member import Member, table
from goodstein.results.questions import SMALL, Questions
from goodstein.text import Table, Words, brief, plain, short, storable
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.auditing import AuditReport


pictures = deferred("goodstein.plot.choose")

VERY_SMALL = 0.01
"""p-values at most so large are strong evidence."""


@dataclass(frozen=True, eq=False)
class TestResult(Questions):
    """The outcome of a goodness-of-fit test and how it was obtained.

    Attributes
    ----------
    statistic
        U-statistic of the squared kernel Stein discrepancy; near zero, possibly below, if the model fits.
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
    statistic_name
        What the statistic is.
    claim
        What a small p-value is evidence of.
    members
        The tests of a collection, with their p-values alone and adjusted for all others, in the order in
        which they were given. ``statistic`` is then the largest evidence of a member, −log of its p-value
        with its weight, ``pvalue`` belongs to all of them together, and ``operator`` and ``kernel`` are those
        of the member with the most evidence.
    smallest_pvalue
        The smallest p-value that so many observations and draws of the null distribution can have. Where it
        exceeds .05 the test cannot decide, and the verdict says so.
    limit
        Why, where it exceeds .01, and what to do about it.
    columns
        Names of the columns of the data, where they came in a data frame.
    asked
        What :meth:`detectable`, :meth:`tolerance`, :meth:`witness` and :meth:`contributions` ask, data and
        model included. A result that is stored or sent to another process leaves it behind.
    """

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
    statistic_name: str = "KSD², U-statistic"
    claim: str = "against the model"
    members: tuple[Member, ...] = ()
    smallest_pvalue: float = 0.0
    limit: str = ""
    columns: tuple[str, ...] | None = None
    asked: tuple[Problem, ...] = field(default=(), repr=False)

    @property
    def undefined(self) -> bool:
        """Whether there is no p-value, because two models are too alike to be compared."""
        return math.isnan(self.pvalue)

    def _rows(self) -> list[tuple[str, str]]:
        parts = {"operator": self.operator, "kernel": self.kernel, "null": self.null}
        return [
            ("model", self.model),
            ("data", self.data or f"{self.n} observations on {self.domain!r}"),
            *((name, short(part)) for name, part in parts.items() if part is not None),
            *((name, brief(value)) for name, value in self.details.items()),
            ("statistic", f"{self.statistic:.6g}   ({self.statistic_name})"),
            ("p-value", f"{self.pvalue:.4g}"),
            *self._detectable_row(),
        ]

    def __post_init__(self) -> None:
        draws = np.array(self.null_distribution)
        draws.setflags(write=False)
        object.__setattr__(self, "null_distribution", draws)

    def __getstate__(self) -> dict[str, Any]:
        return {name: storable(value) for name, value in self.__dict__.items()} | {"asked": ()}

    def undecided(self, level: float = SMALL) -> str:
        """Why the test decides nothing at a level, whatever the p-value is; empty where it does.

        Either no p-value can be so small, or what the audit found speaks against taking this one at its word:
        a small one of rows that depend on each other, if the test takes them for independent; a large one of
        a model that was fitted to the same data, if nothing takes account of that.

        Parameters
        ----------
        level
            The level.

        Examples
        --------
        >>> import goodstein as gs
        >>> model = gs.families.Normal(0, 1)
        >>> print(gs.ksd_test([99.0, 100.0, 101.0], model, rng=1).undecided())
        3 observations have no p-value below 0.25 with WildBootstrap; use null=MonteCarlo().
        """
        check_share(level, "level")
        if self.smallest_pvalue > level:
            least = f"so few observations or draws have no p-value below {self.smallest_pvalue:.3g}."
            return self.limit or least
        reason = self.audit.doubt(small=self.pvalue <= level)
        return f"{reason}." if reason else ""

    def _verdict(self) -> str:
        if self.audit.refused:
            return "The p-value is not valid: the audit refused this test and was overruled."
        if self.undefined:
            return "Undefined: the two models are too alike on these data to be compared."
        if reason := self.undecided():
            return f"Cannot decide: {reason}"
        if self.pvalue > SMALL:
            return f"No evidence {self.claim}."
        if self.pvalue > VERY_SMALL:
            return f"Evidence {self.claim}. {self.limit}".rstrip()
        return f"Strong evidence {self.claim}."

    def summary(self) -> str:
        """The result as a short text."""
        text = [self.title, ""]
        rows = self._rows()
        width = max(10, *(len(name) for name, _ in rows))
        text += [f"  {name:<{width}} {value}" for name, value in rows]
        text += ["", f"  {self._verdict()}"]
        text += [f"  Note: {note}" for note in self.notes]
        if self.members:
            text += ["", *table(self.members).text()]
        return "\n".join(text)

    def __str__(self) -> str:
        return self.summary()

    def _title(self) -> str:
        return self.title

    def _tables(self) -> list[Table]:
        tables = [Table((), self._rows())]
        return [*tables, table(self.members)] if self.members else tables

    def _notes(self) -> list[str]:
        return [self._verdict(), *(f"Note: {note}" for note in self.notes)]

    def to_dict(self) -> dict[str, Any]:
        return {
            "test": self.title,
            "statistic": plain(float(self.statistic)),
            "pvalue": plain(float(self.pvalue)),
            "smallest_pvalue": plain(float(self.smallest_pvalue)),
            "n": int(self.n),
            "columns": None if self.columns is None else list(self.columns),
            "model": self.model,
            "domain": None if self.domain is None else repr(self.domain),
            "operator": repr(self.operator),
            "kernel": repr(self.kernel),
            "bandwidth": None if isinstance(self.kernel, Words) else as_kernel(self.kernel).bandwidths,
            "null": repr(self.null),
            "valid": bool(self.audit.valid),
            "notes": list(self.notes),
            "v_statistic": None if self.v_statistic is None else plain(float(self.v_statistic)),
            "details": {name: plain(value) for name, value in self.details.items()},
            "null_distribution": plain(np.asarray(self.null_distribution)),
            **({"members": [member.to_dict() for member in self.members]} if self.members else {}),
        }

    def plot(self, kind: str | None = None, *, ax: Axes | None = None) -> Any:
        """A picture; needs ``pip install "goodstein[plot]"``.

        Parameters
        ----------
        kind
            - ``"where"``: where the model fails, with more data than it allows or with less;
            - ``"null"``: the null distribution with the statistic marked;
            - ``"contributions"``: what each observation contributes to the statistic;
            - ``"pairs"``: margins and pairs of columns;
            - ``"members"``: p-values of the members of a collection;
            - ``"transform"``: shares of data below the model's quantiles, in simultaneous bands;
            - ``"findings"``: what fails, effects with their intervals;
            - None: where the model fails if that can be seen, otherwise members or the null distribution.
        ax
            Axes to draw on; None makes a new figure.

        Returns
        -------
        matplotlib Axes, or a Figure where there are several.

        Examples
        --------
        >>> import goodstein as gs
        >>> model = gs.families.Normal(0, 1)
        >>> ax = gs.ksd_test(model.sample(60, rng=1), model, rng=1).plot("null")
        >>> ax.get_xlabel()
        'KSD², U-statistic'
        """
        return pictures.picture(self, kind, ax=ax)

"""What a test returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.constraints import check_count, check_share
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import InputError
from goodstein.kernels.base import as_kernel
from goodstein.kernels.finite import OwnFunctions
from goodstein.lazy import deferred
from goodstein.nulls.wild import WildBootstrap
from goodstein.operators.base import Operator
from goodstein.operators.finite_set import FiniteSet
from goodstein.problems.problem import Problem
from goodstein.results.bound import bounded
from goodstein.results.detectable import (
    FITTED,
    Detectable,
    detectable_square,
    movable,
    smallest_moves,
    squares_unfitted,
)
from goodstein.results.member import Member, by_evidence, table
from goodstein.results.tolerance import Tolerance, tolerance_of
from goodstein.results.witness import Contributions, Witness, contributions_of, witness_of
from goodstein.text import Report, Table, Words, brief, plain, short, storable
from goodstein.types import RNG, Array
from goodstein.validation import as_generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.auditing import AuditReport
    from goodstein.explain.explanation import Explanation


views = deferred("goodstein.explain.explain")
pictures = deferred("goodstein.plot.choose")

POWER = 0.8
"""With which probability something has to be found to be called detectable."""

SMALL, VERY_SMALL = 0.05, 0.01
"""p-values that are evidence, and strong evidence."""

FSSD = FiniteSet.statistic_name

DISCREPANCIES = {Operator.statistic_name: "a KSD", FSSD: "an FSSD"}
"""Statistics whose roots are discrepancies."""


@dataclass(frozen=True, eq=False)
class TestResult(Report):
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
    def local_best(self) -> Member | None:
        """The member with the most evidence among those with a kernel, and None without members.

        It is what tells places: few functions, such as moments, are large far out.
        """
        local = [member for member in self.members if not isinstance(member.kernel, OwnFunctions)]
        return max(local or self.members, key=by_evidence, default=None)

    @property
    def best(self) -> Member:
        """The member with the most evidence against the model."""
        return max(self.members, key=by_evidence)

    @property
    def undefined(self) -> bool:
        """Whether there is no p-value, because two models are too alike to be compared."""
        return math.isnan(self.pvalue)

    def table(self) -> str:
        """All members, one on each line."""
        return "\n".join(line[2:] for line in table(self.members).text())

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

    def _detectable_row(self) -> list[tuple[str, str]]:
        found, here = self.detectable_ksd, self.statistic
        what = DISCREPANCIES.get(self.statistic_name)
        # Members have discrepancies of different scales, and few draws do not show what some of them need.
        able = [m for m in self.members if math.isfinite(m.critical) and self.smallest_pvalue <= SMALL]
        for member in able[:1]:
            here = member.statistic
            found = math.sqrt(detectable_square(member.critical, member.spread, POWER))
            what = f"in a member that looks at {member.looks_at} a KSD"
        if found is None:
            return []
        words = f"{what} of {found:.3g} in four of five samples, here {math.sqrt(max(here, 0.0)):.3g}"
        return [("detectable", f"{words} (.detectable(): more)")]

    def __post_init__(self) -> None:
        draws = np.array(self.null_distribution)
        draws.setflags(write=False)
        object.__setattr__(self, "null_distribution", draws)

    def __getstate__(self) -> dict[str, Any]:
        return {name: storable(value) for name, value in self.__dict__.items()} | {"asked": ()}

    @property
    def detectable_ksd(self) -> float | None:
        """The discrepancy, a root, that such a test at level .05 finds in about four of five samples.

        From the null distribution alone, and conservative where many features are about equally noisy; None
        where the statistic is no squared discrepancy, or no p-value can be so small.
        """
        draws = self.null_distribution
        if self.statistic_name not in DISCREPANCIES or self.smallest_pvalue > SMALL:
            return None
        # From its mean on, which is below zero where the parameters were fitted to the same data.
        critical = float(np.quantile(draws, 1.0 - SMALL) - draws.mean())
        return math.sqrt(detectable_square(critical, float(draws.std()), POWER))

    def detectable(self, *, columns: int | None = None) -> Detectable:
        """What such a test at level .05 finds in about four of five samples, in units of the data.

        On R^d and boxes shifts of a column in standard deviations and changes of its scale, on a simplex
        factors on a part, on circles rotations, of durations a factor on all times; each alone, found by
        moving the data under the operator, the kernel and the model of the test. That takes some hundred
        evaluations of the score, so it is done on request.

        Parameters
        ----------
        columns
            How many columns to look at, the first; None looks at all of them.

        Examples
        --------
        >>> import goodstein as gs
        >>> model = gs.families.Normal(0, 1)
        >>> print(gs.ksd_test(model.sample(200, rng=1), model, rng=1).detectable())
        Found at level 0.05 with probability 0.8 or so
        <BLANKLINE>
          kernel Stein discrepancy     0.193
          shift of column 0            0.25 standard deviations
          change of scale of column 0  32%
        """
        self._unweighted("detectable")
        if columns is not None:
            check_count(columns, "columns")
        ksd = self.detectable_ksd
        squares = [detectable_square(member.critical, member.spread, POWER) for member in self.members]
        if ksd is not None:
            squares = [ksd**2]
        fitted = squares and getattr(self.null, "refits", False) and movable(self.asked[0])
        if fitted:
            weights = [member.weight for member in self.members] or [1.0]
            squares = squares_unfitted(self.asked, weights, SMALL, POWER)
        moves = smallest_moves(self.asked, squares, columns) if squares else ()
        name = f"{'finite-set' if self.statistic_name == FSSD else 'kernel'} Stein discrepancy"
        return Detectable(SMALL, POWER, ksd, moves, (FITTED,) if fitted and moves else (), name)

    def tolerance(self, level: float = 0.95, *, rng: RNG = 0) -> Tolerance:
        r"""A lower confidence bound of the share of the population that the model cannot explain.

        With enough data every model is rejected; this says how wrong it is. If a share ε of the observations
        comes from elsewhere then KSD ≤ εB, B the largest discrepancy of one observation, so

        .. math:: \varepsilon \ge (\sqrt{V} - \sqrt{q})_+ / B,

        q the quantile of the wild bootstrap of V. It is a cautious bound: where the wrong observations are
        not the worst ones possible it stays well below their share. B is found by a search.

        Parameters
        ----------
        level
            Level of confidence.
        rng
            Seed of the random signs, which are drawn anew.

        Notes
        -----
        The operator and the kernel are those of the test, of a collection those of its first member, if under
        them no observation counts without limit; otherwise on R^d and unbounded boxes
        ``Standardised(Decaying())``. A model that was fitted to these data has an advantage.

        References
        ----------
        Liu, Briol (2024), On the robustness of kernel goodness-of-fit tests, arXiv:2408.05854.

        Examples
        --------
        >>> import numpy as np
        >>> import goodstein as gs
        >>> model = gs.families.Normal(0, 1)
        >>> x = model.sample(1000, rng=1)
        >>> x[::5] = 4.0
        >>> 0.05 < gs.ksd_test(x, model, rng=1).tolerance().share < 0.2
        True
        """
        check_share(level, "level")
        used, largest = bounded(self._unweighted("tolerance"))
        usable = isinstance(self.null, WildBootstrap) and not self.null.refits
        null = self.null if usable else WildBootstrap()
        calibration = null.calibrate(used, workers=None, rng=as_generator(rng))
        return tolerance_of(used, largest, calibration, level)

    def witness(self, points: Any, *, level: float = 0.95, workers: Workers = None, rng: RNG = 0) -> Witness:
        r"""Where data are more or fewer than the model allows.

        The witness of the discrepancy is positive where there are more data than the model allows and
        negative where there are fewer, at a point x the mean of h(x_i, x) over the observations,

        .. math:: g(x) = n^{-1} \sum_i h(x_i, x).

        It is held against random signs of the same features, which say how large it would be under a true
        model at each point (z) and at all points together (the limits).

        Parameters
        ----------
        points
            Where to look, of the kind of the data: points of the domain (an array or a data frame), states
            of a lattice, times for durations, pairs (x, y), whole point patterns.
        level
            Level of confidence of the limits, for all points together.
        workers
            As in :func:`ksd_test`; the numbers are the same for any.
        rng
            Seed of the random signs.

        Returns
        -------
        Witness
            A table that says it in words; of a collection under the member with the most evidence.

        Notes
        -----
        The kernel blurs: what is found at a point is about its surroundings, as wide as the bandwidth. Away
        from all data, or where the operator's weight vanishes, there is nothing to see. Of censored
        durations, a time stands for an event seen then.

        Examples
        --------
        >>> import numpy as np
        >>> import goodstein as gs
        >>> x = np.random.default_rng(1).normal(0.4, 1.0, 200)
        >>> found = gs.ksd_test(x, gs.families.Normal(0, 1), rng=1).witness([-1.0, 0.2, 1.5])
        >>> found.more, found.fewer
        (array([False, False,  True]), array([ True, False, False]))
        """
        check_share(level, "level")
        check_workers(workers)
        self._unweighted("witness")
        return witness_of(self._strongest("witness"), self.null, points, level, workers, as_generator(rng))

    def contributions(self, *, level: float = 0.95, workers: Workers = None, rng: RNG = 0) -> Contributions:
        r"""What each observation contributes to the statistic, with limits for all of them together.

        .. math:: c_i = (n - 1)^{-1} \sum_{j \ne i} h(x_i, x_j),

        the mean of which over all observations is the U-statistic: the :meth:`witness` of all others at x_i,
        positive where there are more data than the model allows and negative where there are fewer.

        Parameters
        ----------
        level, workers, rng
            As in :meth:`witness`.

        Returns
        -------
        Contributions
            A table with a line for each observation in their order, :meth:`~Contributions.sorted` on request.

        Examples
        --------
        >>> import goodstein as gs
        >>> model = gs.families.Normal(0, 1)
        >>> x = model.sample(200, rng=1)
        >>> x[::4] = 1.5
        >>> shares = gs.ksd_test(x, model, rng=1).contributions()
        >>> bool(shares.flagged[::4].all()), list(shares.to_dict())
        (True, ['row', 'column 0', 'contribution', 'lower', 'upper', 'flagged'])
        """
        check_share(level, "level")
        check_workers(workers)
        problem = self._strongest("contributions")
        return contributions_of(problem, self.null, level, workers, as_generator(rng))

    def most_discrepant(
        self, k: int = 10, *, level: float = 0.95, workers: Workers = None, rng: RNG = 0
    ) -> Contributions:
        """The k observations that contribute most, with their values, the largest contribution first.

        Parameters
        ----------
        k
            How many; all of them where there are fewer.
        level, workers, rng
            As in :meth:`contributions`.

        Examples
        --------
        >>> import goodstein as gs
        >>> model = gs.families.Normal(0, 1)
        >>> x = model.sample(200, rng=1)
        >>> x[::4] = 1.5
        >>> found = gs.ksd_test(x, model, rng=1).most_discrepant(3)
        >>> bool((found.columns()["column 0"] > 1.0).all())
        True
        """
        check_count(k, "k")
        found = self.contributions(level=level, workers=workers, rng=rng).sorted()
        return found.take(np.arange(min(k, len(found))))

    def explain(self, *, level: float = SMALL, rng: RNG = 0) -> Explanation:
        """Which views of the data the model fails in, in order, with effects in units of the data.

        Quantities that a person can name are compared with the model's: means, spreads, skewness, tails and
        rank correlations of the columns, ratios of parts, places with too many or too few rows, hazards over
        time, whatever the domain has. Each is about one thing alone, so that a wrong mean is not taken for a
        wrong variance. The p-values are adjusted for all views by closed testing: with probability at most
        `level` any view is named in which data and model agree, whatever is wrong elsewhere.

        Parameters
        ----------
        level
            The family-wise error of the list.
        rng
            Seed of the draws of the model.

        Examples
        --------
        >>> import goodstein as gs
        >>> model = gs.families.Normal([0, 0], [[1, 0], [0, 1]])
        >>> x = model.sample(300, rng=1)
        >>> x[:, 1] *= 1.4
        >>> found = gs.ksd_test(x, model, rng=1).explain()
        >>> found.findings[0].view, found.findings[0].fails
        ('spread of column 1', True)
        """
        check_share(level, "level")
        found: Explanation = views.explain_problem(
            self._lead("explain"), self.null, level=level, rng=as_generator(rng)
        )
        return found if self.pvalue > level or self.undecided(level) else found.beside(self.pvalue)

    def _strongest(self, method: str) -> Problem:
        """What was asked with the most evidence against the model that tells places."""
        lead, local = self._lead(method), self.local_best
        return lead if local is None else self.asked[self.members.index(local)]

    def _unweighted(self, method: str) -> Problem:
        """The same, for what takes all rows as alike."""
        lead = self._lead(method)
        if lead.data.weights is not None:
            remedy = "Ask contributions() instead."
            raise InputError(f"{method}() has no place for weighted rows.", remedy=remedy)
        return lead

    def _lead(self, method: str) -> Problem:
        """What was asked first."""
        if not self.asked and self.operator is None:
            raise InputError(
                f"This test has no Stein discrepancy for {method}() to ask.",
                remedy="Use ksd_test or aggregated_test.",
            )
        if not self.asked:
            raise InputError(
                f"This result does not hold the data any more, or no discrepancy for {method}() to ask.",
                remedy="Ask the result of the test before it is stored or sent to another process.",
            )
        return self.asked[0]

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
        if not self.audit.valid:
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
            text += ["", *(f"  {line}" for line in self.table().split("\n"))]
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

    def plot(self, kind: str | None = None, *, ax: Axes | None = None, theme: str | None = None) -> Any:
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
        theme
            "light" or "dark"; None takes colours of letters and paper from matplotlib's settings.

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
        return pictures.picture(self, kind, ax=ax, theme=theme)

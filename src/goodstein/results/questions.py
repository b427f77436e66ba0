"""What a result can be asked after the test, while it holds the data."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.constraints import check_count, check_share
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import InputError
from goodstein.kernels.finite import OwnFunctions
from goodstein.lazy import deferred
from goodstein.nulls.base import as_null
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
from goodstein.results.member import Member, by_evidence
from goodstein.results.tolerance import Tolerance, tolerance_of
from goodstein.results.witness import Contributions, Witness, contributions_of, witness_of
from goodstein.text import Report
from goodstein.types import RNG, Array
from goodstein.validation import as_generator

if TYPE_CHECKING:
    from goodstein.explain.explanation import Explanation

views = deferred("goodstein.explain.explain")

POWER = 0.8
"""With which probability something has to be found to be called detectable."""

SMALL = 0.05
"""p-values at most so large are evidence."""

FSSD = FiniteSet.statistic_name

DISCREPANCIES = {Operator.statistic_name: "a KSD", FSSD: "an FSSD"}
"""Statistics whose roots are discrepancies."""


class Questions(Report):
    """A result that can say where the model fails, how wrong it is at least, and what it would find."""

    statistic: float
    pvalue: float
    null_distribution: Array
    null: Any
    operator: Any
    statistic_name: str
    members: tuple[Member, ...]
    smallest_pvalue: float
    asked: tuple[Problem, ...]

    @abstractmethod
    def undecided(self, level: float = SMALL) -> str:
        """Why the test decides nothing at a level; empty where it does."""

    @property
    def local_best(self) -> Member | None:
        """The member with the most evidence among those with a kernel, and None without members.

        It is what tells places: few functions, such as moments, are large far out.
        """
        local = [member for member in self.members if not isinstance(member.kernel, OwnFunctions)]
        return max(local or self.members, key=by_evidence, default=None)

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
        fitted = squares and as_null(self.null).refits and movable(self.asked[0])
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

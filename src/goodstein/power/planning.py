"""How many observations a test needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from goodstein.constraints import check_count, check_flag, check_share, is_function, number
from goodstein.engine.executors import Workers
from goodstein.engine.progress import ProgressLike, watching
from goodstein.errors import InputError, must
from goodstein.power.cell import Cell
from goodstein.power.laws import Draw, NoSamplerError, name_of
from goodstein.power.neyman_pearson import LogLikelihoodRatio
from goodstein.power.rates import Rate
from goodstein.power.runner import Runner, perform
from goodstein.power.search import CLOSE, START, Planned, PowerCurve, bracket, least, pvalues_at
from goodstein.power.trials import Test
from goodstein.tests_of_fit.ksd import ksd_test
from goodstein.text import Report, Table
from goodstein.types import RNG
from goodstein.validation import as_generator


@dataclass(frozen=True, eq=False)
class SampleSize(Report):
    """How many observations a test needs for its power.

    Attributes
    ----------
    n
        The smallest number with the wanted power.
    interval
        95 % confidence interval of n, which the number of trials allows.
    power, level
        What was wanted.
    curve
        Numbers of observations that were tried, with the power found there.
    bound
        What the most powerful test of all would need: no test can do with fewer. None where the
        likelihood ratio is not known.
    model, alternative, test
        What was tested against what, and how.
    """

    n: int
    interval: tuple[int, int]
    power: float
    level: float
    curve: tuple[tuple[int, Rate], ...] = field(repr=False)
    bound: int | None
    model: str
    alternative: str
    test: str

    def __int__(self) -> int:
        return self.n

    def to_dict(self) -> dict[str, Any]:
        curve = [
            {"n": n, "power": rate.value, "interval": list(rate.interval), "trials": rate.trials}
            for n, rate in self.curve
        ]
        return {**super().to_dict(), "curve": curve}

    def _title(self) -> str:
        if self.n <= min(n for n, _ in self.curve):
            sure = ", the smallest that was tried, is enough"
        else:
            sure = f" (95 % interval {self.interval[0]} to {self.interval[1]})"
        return f"Sample size for power {self.power:g} at level {self.level:g}: n = {self.n}{sure}"

    def _tables(self) -> list[Table]:
        rows = {"model": self.model, "alternative": self.alternative, "test": self.test}
        if self.bound is not None:
            rows["any test"] = f"needs at least about {self.bound} (Neyman–Pearson)"
        points = sorted(self.curve, key=lambda point: point[0])
        tried = [(f"n = {n}", f"power {rate} in {rate.trials} trials") for n, rate in points]
        return [Table((), list(rows.items())), Table((), tried)]


def sample_size(
    model: Any,
    alternative: Any,
    test: Test | None = None,
    *,
    power: float = 0.8,
    level: float = 0.05,
    trials: int = 500,
    bounds: tuple[int, int] = (10, 10_000),
    sample_null: Draw | None = None,
    log_ratio: LogLikelihoodRatio | None = None,
    censoring: Any = None,
    bound: bool = True,
    workers: Workers = None,
    rng: RNG = None,
    progress: ProgressLike = None,
) -> SampleSize:
    r"""The number of observations with which a test finds an alternative with a given power.

    The power is simulated at several n, each trial with the same random numbers at all of them: doubled or
    halved until it crosses the wanted one, then by bisection. Around the crossing the curve

    .. math:: \Phi^{-1}(\text{power}) = a + b\sqrt{n}

    is fitted to all trials by maximum likelihood, and n is where it crosses. The confidence interval is
    Fieller's, with a covariance that allows for trials that share their random numbers.

    Parameters
    ----------
    model
        What the test is given, the null hypothesis.
    alternative
        The law of the data: a model with a sampler, or a function ``(n, rng) -> data``.
    test
        A function ``(data, model, *, rng)`` that returns a :class:`TestResult` or a p-value; None takes
        :func:`ksd_test`.
    power, level
        What is wanted, at which level.
    trials
        At each n near the crossing; fewer are run where the power is far off.
    bounds
        The smallest and the largest n to try.
    sample_null, log_ratio, censoring
        As in :class:`Cell`. Data under the null are drawn only for the Neyman–Pearson bound.
    bound
        Whether to find out also how many observations the most powerful test needs.
    workers
        As in :func:`power_study`.
    rng
        Seed or generator.
    progress
        As in :func:`ksd_test`; each number of observations that is tried is a step.

    Returns
    -------
    SampleSize

    Raises
    ------
    InputError
        If the power is not reached within the bounds.

    Notes
    -----
    The power of a test is taken to grow with n. An interval for n is narrow only with many trials: its width
    falls with their square root.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> from goodstein.families import Normal
    >>> from scipy.stats import norm
    >>> def z_test(data, model, *, rng):
    ...     return norm.sf(np.sqrt(len(data)) * data.mean())
    >>> found = gs.sample_size(Normal(0, 1), Normal(0.5, 1), z_test, trials=1000, rng=1)
    >>> found.interval[0] <= 25 <= found.interval[1]  # ((1.645 + 0.842)/0.5)² = 24.7
    True
    >>> found.bound
    25
    """
    watch = watching(progress, "Seeking the sample size")
    level = check_share(level, "level")
    wanted = f"a number between the level {level:g} and 1"
    power = number(power, "power", above=level, below=1.0, wanted=wanted)
    check_flag(bound, "bound")
    trials = check_count(trials, "trials", START)
    low, high = _check_bounds(bounds)
    if alternative is None:
        raise InputError("`alternative` must be a model or a function (n, rng) -> data, got None.")
    test = ksd_test if test is None else test
    if not is_function(test):
        raise must("test", "a function (data, model, *, rng) -> TestResult", test)
    try:
        cell = Cell(
            model, alternative, low, sample_null=sample_null, log_ratio=log_ratio, censoring=censoring
        )
    except NoSamplerError:  # there is a cell all the same, but no bound
        cell = Cell(model, alternative, low, sample_null=sample_null or _undrawn)
    seed = int(as_generator(rng).integers(1 << 63))
    fewest = least(cell, power, level, high, seed) if bound and cell.pair is not None else None
    job = Planned(cell, test, seed)
    with watch, Runner(workers) as runner:
        parts = {"`test`": test, "`model`": model, "`alternative`": alternative}
        todo = partial(perform, runner.packed(job, parts))
        curve = PowerCurve(partial(pvalues_at, runner, todo), power, level, trials)
        start = min(max(low, fewest or low), high)
        ends = bracket(curve.rate, start, low, high, power, CLOSE)
        if ends[1] is None:
            rate = dict(curve.points())[high]
            raise InputError(
                f"at n = {high} the power is {rate} at level {level:g}, below the wanted {power:g}."
                " Raise the upper bound, or take a test that is more sensitive to this alternative.",
                argument="bounds",
            )
        n, interval = (low, (low, low)) if ends[0] is None else curve.solved(ends[0], ends[1], low, high)
    names = map(name_of, (model, alternative, test))
    return SampleSize(n, interval, power, level, curve.points(), fewest, *names)


def _undrawn(n: int, rng: np.random.Generator) -> Any:
    raise NotImplementedError  # the null law is drawn only for the bound, and there is none


def _check_bounds(bounds: Any) -> tuple[int, int]:
    wrong = must("bounds", "the smallest and the largest n to try", bounds)
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise wrong
    low, high = bounds
    low, high = check_count(low, "bounds", 2), check_count(high, "bounds", 2)
    if not low < high:
        raise wrong
    return low, high

"""What the best test could do: the bound of Neyman and Pearson."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.pipeline.compose import as_generator, check_parts
from goodstein.power.laws import law_of, name_of
from goodstein.power.ratio import LogRatio, Pair, RatioTest
from goodstein.types import RNG
from goodstein.validation import check_count


@dataclass(frozen=True)
class NeymanPearsonPower:
    """The power of the likelihood-ratio test, which no other test of its level exceeds.

    Attributes
    ----------
    power
        The share of data sets of the alternative that it rejects.
    interval
        95 % confidence interval of the power, for the errors of the threshold and of the share.
    level, n
        Of the test.
    threshold
        What log p − log q of a data set must exceed; with unnormalised densities it contains their
        constants.
    draws
        Data sets drawn from the null and from the alternative.
    null, alternative
        What was tested against what.
    """

    power: float
    interval: tuple[float, float]
    level: float
    n: int
    threshold: float
    draws: tuple[int, int]
    null: str
    alternative: str

    def __float__(self) -> float:
        return self.power

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"Neyman–Pearson bound: power {self.power:.3f} (95 % interval {low:.3f} to {high:.3f})\n\n"
            f"  null         {self.null}\n"
            f"  alternative  {self.alternative}\n"
            f"  n            {self.n}\n"
            f"  level        {self.level:g}\n"
            f"  draws        {self.draws[0]} of the null, {self.draws[1]} of the alternative\n\n"
            "  No test of this level has more power against this alternative."
        )


def neyman_pearson_power(
    null: Any,
    alternative: Any,
    n: int,
    level: float = 0.05,
    *,
    n_null: int = 20_000,
    n_alternative: int = 10_000,
    domain: Domain | None = None,
    log_ratio: LogRatio | None = None,
    censoring: Any = None,
    rng: RNG = None,
) -> NeymanPearsonPower:
    r"""The power that no test can exceed, by simulation of the likelihood ratio.

    Of all tests of q against p at level α the one that rejects for large

    .. math:: \sum_i \log p(x_i) - \log q(x_i)

    has the most power. Here its threshold is simulated with data from q and its power with data from p, both
    of n observations. Densities need not be normalised: their constants move ratio and threshold alike.

    Parameters
    ----------
    null, alternative
        q and p: models with a log density and a sampler, anything that :func:`as_model` takes, or models of
        durations. With `log_ratio` also functions ``(n, rng) -> data``.
    n
        Observations in a data set.
    level
        α.
    n_null, n_alternative
        Data sets to draw. The threshold needs more of them than the power.
    domain
        To which both models are truncated.
    log_ratio
        ``data -> log p(data) − log q(data)`` of a whole data set, up to a constant, for data that are not
        independent points.
    censoring
        For models of durations: the law of independent censoring times, a model or a function
        ``(n, rng) -> times``. It cancels in the ratio.
    rng
        Seed or generator.

    Returns
    -------
    NeymanPearsonPower
        ``float()`` of it is the power.

    Notes
    -----
    Where the ratio takes few values, as for counts, the test rejects at the threshold with the probability
    that makes the level exact. Points are drawn for many data sets at a time, in pieces of bounded memory.

    References
    ----------
    Neyman & Pearson (1933), On the problem of the most efficient tests of statistical hypotheses.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.families import Normal
    >>> bound = gs.neyman_pearson_power(Normal(0, 1), Normal(0.5, 1), 20, rng=1)
    >>> bound.interval[0] < 0.723 < bound.interval[1]  # Φ(√20·0.5 − 1.645) = 0.723
    True
    """
    n, n_null = check_count(n, "n"), check_count(n_null, "n_null", 100)
    n_alternative = check_count(n_alternative, "n_alternative", 100)
    level = check_level(level)
    check_parts(domain, None)
    if n_null * level < 10:
        raise InputError(
            f"`n_null`: of {n_null} data sets only {n_null * level:g} would lie beyond the threshold of "
            f"level {level:g}. Draw at least {int(np.ceil(10 / level))}."
        )
    check_log_ratio(log_ratio)
    pair = Pair(
        law_of(null, "null", domain=domain, censoring=censoring),
        law_of(alternative, "alternative", domain=domain, censoring=censoring),
        n,
        log_ratio,
    )
    pair.check()
    generator = as_generator(rng)
    under_null = pair.ratios("null", n_null, generator)
    test = RatioTest.of(under_null, pair.ratios("alternative", n_alternative, generator))
    return NeymanPearsonPower(
        power=test.power(level),
        interval=test.interval(level),
        level=level,
        n=n,
        threshold=float(np.sort(under_null)[::-1][min(int(level * n_null + 1e-9), n_null - 1)]),
        draws=(n_null, n_alternative),
        null=name_of(null),
        alternative=name_of(alternative),
    )


def check_level(level: Any) -> float:
    """A level between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise InputError(f"`level` must be a number between 0 and 1, got {level!r}.")
    return float(level)


def check_log_ratio(log_ratio: Any) -> None:
    """Raise unless this is a function or None."""
    if log_ratio is not None and not callable(log_ratio):
        raise InputError(
            f"`log_ratio` must be a function data -> log p(data) − log q(data), got {log_ratio!r}."
        )

"""Counts with extra zeros, and independent columns of counts."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np

from goodstein.constraints import number
from goodstein.domains import Naturals
from goodstein.errors import InputError, must
from goodstein.families.counts import CountFamily, as_counts, most_likely
from goodstein.families.poisson import Poisson
from goodstein.lazy import cached_property
from goodstein.types import Array, ArrayLike

LEAST = 1e-4
"""Fitted shares of extra zeros below which there are none."""


class ZeroInflated(CountFamily):
    r"""Counts of another family, among them extra zeros.

    .. math:: q(x) = π\,1\{x = 0\} + (1 - π)\,q_0(x).

    Parameters
    ----------
    family
        q₀, a family of one count such as :class:`Poisson` or :class:`NegativeBinomial`.
    share
        π, the share of zeros that the family knows nothing of, 0 < π < 1.

    References
    ----------
    Lambert (1992), Zero-inflated Poisson regression, with an application to defects in manufacturing.

    Examples
    --------
    >>> import goodstein as gs
    >>> q = gs.families.ZeroInflated(gs.families.Poisson(3.0), share=0.2)
    >>> x = q.sample(300, rng=1)
    >>> gs.ksd_test(x, gs.families.Poisson(2.4), rng=1).pvalue < 0.01
    True
    >>> gs.families.ZeroInflated.fit(x)
    ZeroInflated(family=Poisson([3...]), share=0.2...)
    """

    family: CountFamily
    share: float

    def __init__(self, family: CountFamily, share: float) -> None:
        if not isinstance(family, CountFamily) or isinstance(family, ZeroInflated) or family.dim != 1:
            raise must("family", "a family of one count such as Poisson(2.0)", family, "ZeroInflated")
        share = number(share, "share", above=0.0, below=1.0)
        self._set(family=family, share=share, domain=Naturals(1))

    @classmethod
    def fit(cls, x: ArrayLike, family: Any = Poisson, **options: Any) -> Self:
        """The maximum likelihood fit to counts (n, 1).

        Parameters
        ----------
        x
            Counts, (n, 1).
        family
            The class of q₀, such as ``families.NegativeBinomial``.
        **options
            What its own ``fit`` takes beside the data, such as the `count` of :class:`Binomial`.
        """
        if not _fits(family):
            raise must("family", "a class of families such as families.Poisson", family, "ZeroInflated.fit")
        if (more := _needed(family)) and more not in options:
            reason = f"{family.__name__}.fit needs `{more}` too."
            remedy = f"ZeroInflated.fit(x, {family.__name__}, {more}=...)"
            raise InputError(reason, argument="family", remedy=f"Pass it: {remedy}.")
        counts = as_counts(x)
        zeros = float((counts == 0).mean())
        none = f"there are no more zeros than {family.__name__} has. Fit that."
        if not 0 < zeros < 1:
            raise InputError(f"the likelihood has no maximum: {none}", argument="x")
        try:
            inner = family.fit(counts[counts[:, 0] > 0], **options)
        except InputError:  # positive counts alone may be no sample of the family
            inner = family.fit(counts, **options)
        expected = math.exp(float(inner.logpdf([[0.0]])[0]))
        start = cls(inner, max((zeros - expected) / (1.0 - expected), 0.02))
        fitted = most_likely(start, counts, none)
        if fitted.share < LEAST:
            raise InputError(f"the likelihood has no maximum: {none}", argument="x")
        return fitted

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        odds = self.share * math.exp(by[-1])
        return type(self)(self.family.moved(by[:-1]), odds / (1.0 - self.share + odds))

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        return (*self.family.coordinates(), "share")

    def _logpmf(self, x: Array) -> Array:
        inner = self.family.logpdf(x) + math.log1p(-self.share)
        return np.where(x[:, 0] == 0, np.logaddexp(inner, math.log(self.share)), inner)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        drawn = self.family.sample(n, rng)[:, 0]
        return np.where(rng.random(n) < self.share, 0.0, drawn)


class Product(CountFamily):
    """Independent counts, each with a family of its own.

    Parameters
    ----------
    families
        Families of counts, in the order of the columns.

    Examples
    --------
    >>> import goodstein as gs
    >>> visits = gs.families.Product([gs.families.Poisson(2.0), gs.families.Geometric(0.4)])
    >>> gs.ksd_test(visits.sample(200, rng=1), visits, rng=1).pvalue > 0.05
    True
    """

    families: tuple[CountFamily, ...]

    def __init__(self, families: Sequence[CountFamily]) -> None:
        parts = tuple(families) if isinstance(families, list | tuple) else ()
        if not parts or not all(isinstance(part, CountFamily) and not part.domain.keeps for part in parts):
            raise must("families", "a list of families of counts such as Poisson(2.0)", families, "Product")
        self._set(families=parts, domain=Naturals(sum(part.dim for part in parts)))

    @classmethod
    def fit(cls, x: ArrayLike, families: Sequence[Any]) -> Self:
        """The maximum likelihood fit to counts (n, d), a class of families for each column.

        A family whose fit needs more than the counts, as that of :class:`Binomial` does, is fitted by itself:
        ``Product([Poisson.fit(x[:, :1]), Binomial.fit(x[:, 1:], count=10)])``.
        """
        classes = list(families) if isinstance(families, list | tuple) else []
        if not classes or not all(map(_fits, classes)):
            raise must("families", "a list of classes such as families.Poisson", families, "Product.fit")
        counts = as_counts(x, len(classes))
        for one in classes:
            if more := _needed(one):
                raise InputError(
                    f"{one.__name__}.fit needs `{more}` too, for which Product.fit has no place.",
                    argument="families",
                    remedy="Fit its column by itself: "
                    f"Product([..., {one.__name__}.fit(x[:, [j]], {more}=...)]).",
                )
        return cls([one.fit(counts[:, [j]]) for j, one in enumerate(classes)])

    @cached_property
    def _columns(self) -> list[slice]:
        stops = accumulate([0, *(part.dim for part in self.families)])
        return [slice(a, b) for a, b in pairwise(stops)]

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        parts, start = [], 0
        for part in self.families:
            stop = start + len(part.coordinates())
            parts.append(part.moved(by[start:stop]))
            start = stop
        return type(self)(parts)

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        return tuple(f"{name} of {j}" for j, part in enumerate(self.families) for name in part.coordinates())

    def _logpmf(self, x: Array) -> Array:
        parts = [part.logpdf(x[:, at]) for part, at in zip(self.families, self._columns, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.hstack([part.sample(n, rng) for part in self.families])


def _needed(family: Any) -> str:
    """What its ``fit`` needs beside counts of one column; empty where nothing."""
    _, *others = inspect.signature(family.fit).parameters.values()
    named = (one for one in others if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
    return next((one.name for one in named if one.default is one.empty), "")


def _fits(family: Any) -> bool:
    """Whether it is a class of families of counts."""
    return isinstance(family, type) and issubclass(family, CountFamily) and hasattr(family, "fit")

"""One cell of a power table: model, law of the data, number of observations."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from goodstein.constraints import check_count, check_share, check_text, number
from goodstein.errors import InputError, must
from goodstein.lazy import cached_property
from goodstein.power.laws import Draw, Law, NoSamplerError, SamplerLaw, is_function, law_of, name_of
from goodstein.power.neyman_pearson import LogLikelihoodRatio, Pair, check_log_ratio


@dataclass(frozen=True, eq=False)
class Cell:
    """A model that is tested, an alternative and a number of observations.

    Parameters
    ----------
    model
        The null hypothesis, which tests are given.
    alternative
        The law of the data: a model with a sampler, or a function ``(n, rng) -> data``; None measures
        only the size.
    n
        Observations in a data set.
    name
        What tables call the cell; it seeds the draws of the alternative. Left out it is made of the models.
    level
        The level of this cell where it is not that of the study.
    effect
        How large the difference is, kept beside the rates of this cell in the record.
    sample_null
        A function ``(n, rng) -> data`` for data under the null hypothesis that are not plain draws of the
        model, or for a model that cannot draw.
    log_ratio
        ``data -> log p(data) − log q(data)``, up to a constant, for the Neyman–Pearson bound. None takes it
        from the log densities, where both are known; otherwise there is no bound.
    censoring
        The law of independent censoring times, a model or a function ``(n, rng) -> times``, where model
        and alternative are models of durations.
    tests
        Names of the tests that apply here; None: all.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.families import Exponential, Weibull
    >>> gs.Cell(Exponential(1), Weibull(1, 1.5), 100, censoring=Exponential(7 / 3)).name
    'Exponential(1) against Weibull(scale=1, shape=1.5), n = 100'
    """

    model: Any
    alternative: Any
    n: int
    name: str = field(default="", kw_only=True)
    level: float | None = field(default=None, kw_only=True)
    effect: float | None = field(default=None, kw_only=True)
    sample_null: Draw | None = field(default=None, kw_only=True)
    log_ratio: LogLikelihoodRatio | None = field(default=None, kw_only=True)
    censoring: Any = field(default=None, kw_only=True)
    tests: Collection[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "n", check_count(self.n, "n", 2))
        if self.level is not None:
            set_(self, "level", check_share(self.level, "level"))
        if self.effect is not None:
            set_(self, "effect", number(self.effect, "effect", of="Cell"))
        several = isinstance(self.tests, list | tuple | set | frozenset)
        if self.tests is not None and not (several and all(isinstance(test, str) for test in self.tests)):
            raise must("tests", "a list of names of tests, or None", self.tests, "Cell")
        check_log_ratio(self.log_ratio)
        if self.sample_null is not None and not is_function(self.sample_null):
            raise must("sample_null", "a function (n, rng) -> data", self.sample_null, "Cell")
        if self.sample_null is not None and self.censoring is not None:
            raise InputError(
                "`censoring` and `sample_null` both say how data under the null are seen. Pass one of them."
            )
        if self.name is not None:
            check_text(self.name, "name", of="Cell")
        against = "" if self.alternative is None else f" against {name_of(self.alternative)}"
        set_(self, "name", self.name or f"{name_of(self.model)}{against}, n = {self.n}")
        # Errors about the laws belong here, not into the middle of a study.
        for law in (self.null_law, self.alternative_law):
            if law is not None:
                law.check(self.n, self.name)
        if self.pair is not None:
            self.pair.check()

    @cached_property
    def null_law(self) -> Law:
        """Where data under the null come from."""
        if self.sample_null is not None:
            return SamplerLaw(self.sample_null)
        if is_function(self.model):
            raise NoSamplerError(
                f"`model`: {name_of(self.model)} is a function, which tests take for a score, and a score "
                "cannot be drawn from. Pass a model with a sampler, or `sample_null`."
            )
        return law_of(self.model, "model", censoring=self.censoring)

    @cached_property
    def alternative_law(self) -> Law | None:
        """Where the other data come from."""
        if self.alternative is None:
            return None
        # A function returns data as they are seen, so censoring is its own affair.
        censoring = None if is_function(self.alternative) else self.censoring
        return law_of(self.alternative, "alternative", censoring=censoring)

    @property
    def null_name(self) -> str:
        """What the null law is called; it seeds the draws of the null, which cells may share."""
        own = "" if self.sample_null is None else f", data by {name_of(self.sample_null)}"
        seen = "" if self.censoring is None else f", censored by {name_of(self.censoring)}"
        return f"{name_of(self.model)}{own}{seen}, n = {self.n}"

    @property
    def pair(self) -> Pair | None:
        """Null and alternative with their likelihood ratio; None where it is not known."""
        if self.alternative_law is None:
            return None
        pair = Pair(self.null_law, self.alternative_law, self.n, self.log_ratio)
        return pair if pair.is_known else None

    def shares_null_with(self, other: Cell) -> bool:
        """Whether both cells have the same size."""
        own, others = ((cell.model, cell.sample_null, cell.censoring) for cell in (self, other))
        return self.n == other.n and all(map(_same, own, others))

    def __getstate__(self) -> dict[str, Any]:
        # The laws are made again where they are needed.
        laws = ("null_law", "alternative_law")
        return {key: value for key, value in self.__dict__.items() if key not in laws}


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return bool(one == other)
    except Exception:  # an array, or whatever an object's own comparison may raise
        return False

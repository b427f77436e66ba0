"""What all commands do before the library is asked: data, domain, models, seed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from goodstein.command.models import Chosen, choose
from goodstein.command.observations import Observed, observe
from goodstein.command.options import choice_of
from goodstein.command.output import Printer
from goodstein.command.places import place_of, region_of
from goodstein.command.trouble import about
from goodstein.command.units import refuse_other_units
from goodstein.constraints import check_share
from goodstein.domains.base import Domain
from goodstein.engine.executors import check_workers
from goodstein.engine.progress import watching
from goodstein.errors import InputError, heard
from goodstein.lazy import deferred

fitted_wild = deferred("goodstein.nulls.fitted")
montecarlo = deferred("goodstein.nulls.montecarlo")
parametric = deferred("goodstein.nulls.parametric")
spectral = deferred("goodstein.nulls.spectral")
wild = deferred("goodstein.nulls.wild")


@dataclass(frozen=True)
class Question:
    """What is asked, with everything that the options say."""

    printer: Printer
    observed: Observed | None
    place: Domain | None
    models: tuple[Chosen, ...]
    seed: int
    level: float
    options: dict[str, Any]
    said: list[str] = field(default_factory=list)
    """What results say themselves, so that it is not said twice."""

    def arguments(self, chosen: Chosen) -> dict[str, Any]:
        """What a test is given besides data and model."""
        given = {"domain": self.place, "workers": self.options.get("workers"), "rng": self.seed}
        null = null_of(self.options.get("null"), self.options.get("resamples"), chosen.fitted)
        return given if null is None else {**given, "null": null}

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Work that may take long, whose warnings are notes and whose errors speak of the file."""
        with watching(not self.printer.quiet, what), heard() as told, about(self.observed):
            yield
        for warning in dict.fromkeys(str(warning.message) for warning in told):
            if warning not in self.said:
                self.printer.note(warning)

    def record(self) -> dict[str, Any]:
        """What every record holds of the question."""
        observed = self.observed
        return {
            "seed": self.seed,
            "level": self.level,
            "data": None if observed is None else observed.summary(),
            "notes": [] if observed is None else list(observed.notes),
        }

    def footer(self) -> str:
        """How to do it again."""
        return f"  Seed {self.seed}."


def ask(source: str | None, texts: Sequence[str], options: dict[str, Any]) -> Question:
    """Read the data, and make the domain and the models, in this order; raise where one does not fit."""
    printer = Printer(options.get("as_json", False), options.get("quiet", False))
    seed = options.get("seed")
    seed = int.from_bytes(os.urandom(4)) >> 1 if seed is None else seed
    level = check_share(options.get("level", 0.05), "level")
    check_workers(options.get("workers"))
    if options.get("domain") is not None and options.get("region") is not None:
        raise InputError("--domain and --region both say where the data lie.", remedy="Pass one.")
    observed = None if source is None else observe(source, choice_of(options))
    if observed is not None:
        observed = observed.shuffled(seed) if options.get("shuffle") else observed
        for note in observed.notes:
            printer.note(note)
    place = _place(options, observed)
    if observed is not None:
        refuse_other_units(observed, place)
    with heard() as told, about(observed):
        models = tuple(
            choose(
                text,
                fit=options.get("fit", False),
                observed=observed,
                place=place,
                seed=seed,
                say=printer.note,
            )
            for text in texts
        )
        for chosen in models:
            if observed is not None and place is None:
                refuse_other_units(observed, _own_domain(chosen))
    for said in dict.fromkeys(str(warning.message) for warning in told):
        printer.note(said)
    return Question(printer, observed, place, models, seed, level, options)


def _place(options: dict[str, Any], observed: Observed | None) -> Domain | None:
    dim = None if observed is None else observed.dim
    if options.get("region") is not None:
        return region_of(options["region"])
    if options.get("domain") is not None:
        return place_of(options["domain"], dim)
    return None if observed is None else observed.domain


def _own_domain(chosen: Chosen) -> Domain | None:
    found = getattr(chosen.model, "domain", None)
    return found if isinstance(found, Domain) else None


def null_of(name: str | None, resamples: int | None, fitted: bool) -> Any:
    """The null distribution that the options name; None leaves it to the library."""
    count = {} if resamples is None else {"n_resamples": resamples}
    if name == "auto":
        return "auto"
    if name is None and not count:
        return None
    if name is None and fitted:
        return fitted_wild.FittedWildBootstrap(**count)
    if name == "spectral":
        return spectral.Spectral(**count)
    if name == "montecarlo":
        return montecarlo.MonteCarlo(**count)
    return parametric.ParametricBootstrap(**count) if name == "parametric" else wild.WildBootstrap(**count)

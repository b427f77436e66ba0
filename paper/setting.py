"""Where a run puts its results, how much of it is run, and what has been measured already."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import goodstein as gs
from goodstein.power.runner import Runner

Row = dict[str, Any]
HERE = Path(__file__).parent


class Rows(list[Row]):
    """Rows of results: numbers and text by the names of fields."""

    def where(self, **fields: Any) -> Rows:
        """Those in which the fields have these values."""
        return Rows(row for row in self if all(row[name] == value for name, value in fields.items()))

    def all(self, field: str) -> list[Any]:
        """The values of a field, one for each row."""
        return [row[field] for row in self]

    def kinds(self, field: str) -> list[Any]:
        """The different values of a field, in their order."""
        return list(dict.fromkeys(self.all(field)))

    def sorted(self, field: str) -> Rows:
        """In the order of a field."""
        return Rows(sorted(self, key=lambda row: row[field]))

    def by(self, *fields: str) -> dict[Any, Any]:
        """Rows by the values of fields, as in ``rows.by("cell", "test")[cell][test]``; the last counts."""
        found: dict[Any, Any] = {}
        for row in self:
            inner = found
            for field in fields[:-1]:
                inner = inner.setdefault(row[field], {})
            inner[row[fields[-1]]] = row
        return found


@dataclass(frozen=True)
class Setting:
    """One run of the reproduction.

    Parameters
    ----------
    folder
        Takes ``results/*.csv``, ``figures/*.png``, ``REPORT.md``, and ``records/``, in which every
        finished piece of work is kept, so that a run that was stopped goes on where it was.
    quick
        Fewer cells and trials. Trials are seeded by cell and number, so that a quick run
        repeats the first trials of the full one.
    workers
        Processes.
    data
        The folder with data that do not ship (``chicago/``), or None.
    """

    folder: Path = HERE
    quick: bool = False
    workers: int | None = None
    data: Path | None = None

    def choose(self, full: Any, quick: Any) -> Any:
        """The first, or in a quick run the second."""
        return quick if self.quick else full

    def write(self, part: str, rows: Sequence[Row]) -> None:
        """Write the results of a part, numbers with five digits."""
        fields = list(dict.fromkeys(field for row in rows for field in row))
        path = self._path("results", f"{part}.csv")
        new = path.with_suffix(".part")  # replaced in one step, so that a file is never half written
        with new.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows({field: _plain(value) for field, value in row.items()} for row in rows)
        new.replace(path)

    def read(self, part: str) -> Rows:
        """The results of a part, none if there are none. Numbers are numbers, empty fields None."""
        return read_table(self._path("results", f"{part}.csv"))

    def figure(self, name: str) -> Path:
        """Where a figure goes."""
        return self._path("figures", f"{name}.png")

    def record(self, name: str) -> Path:
        """Where finished pieces of work are kept: the folder of a study, or the file of :meth:`each`."""
        return self._path("records", name)

    def study(
        self,
        part: str,
        cells: Iterable[gs.Cell],
        tests: Mapping[str, Callable[..., Any]],
        *,
        trials: int,
        quick: int,
        level: float = 0.01,
        **options: Any,
    ) -> list[Row]:
        """Size, power and bound of tests in cells, by :func:`goodstein.power_study`; one row for each pair.

        `trials` are those of a full run, `quick` those of a quick one.
        """
        study = gs.power_study(
            list(cells),
            tests,
            trials=self.choose(trials, quick),
            level=level,
            workers=self.workers,
            path=self.record(part),
            progress=True,
            bound_draws=options.pop("bound_draws", self.choose((20_000, 10_000), (2_000, 1_000))),
            **options,
        )
        return study.table()

    def each(
        self, part: str, function: Callable[..., Any], tasks: Mapping[str, tuple[Any, ...]]
    ) -> dict[str, Any]:
        """``function(*task)`` for all tasks, by name, in processes; what is on record is not run again.

        The function must be picklable, and its results must be what JSON can hold.
        """
        path = self.record(f"{part}.jsonl")
        known: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                with suppress(json.JSONDecodeError):  # the line that a kill cut short
                    known |= json.loads(line)
        missing = [name for name in tasks if name not in known]
        # What a kill cut short must not swallow the line after it.
        with path.open("a", encoding="utf-8") as file, Runner(self.workers) as runner:
            file.write("\n")
            for number, value in runner.results(function, [tasks[name] for name in missing]):
                known[missing[number]] = value
                file.write(json.dumps({missing[number]: value}) + "\n")
                file.flush()
        return {name: known[name] for name in tasks}

    def _path(self, kind: str, name: str) -> Path:
        folder = self.folder / kind
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name


def read_table(path: Path) -> Rows:
    """A CSV file as rows; numbers are numbers, empty fields None."""
    if not path.exists():
        return Rows()
    with path.open(encoding="utf-8", newline="") as file:
        return Rows({name: _value(text, name) for name, text in row.items()} for row in csv.DictReader(file))


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return f"{value:.5g}" if isinstance(value, float) else value


def _value(text: str, name: str) -> Any:
    if text == "":
        return text if name.endswith("_mark") else None  # no mark says that nothing is to be marked
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text

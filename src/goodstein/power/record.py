"""What a study has measured, on disk: one line of JSON for each finished piece of work."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from goodstein.engine.files import as_path, unwritable
from goodstein.errors import InputError
from goodstein.power.lock import Lock
from goodstein.power.neyman_pearson import RatioTest
from goodstein.power.trials import Outcome

HEADER = {"goodstein": "power study", "version": 1}

Key = tuple[str, str, str]
"""Law, test, fingerprint."""


class Record:
    """Results by what they are of, and by the fingerprint of what it does.

    Lines are only ever appended, whole or not at all and by one study at a time, so an interruption loses at
    most the piece of work under way. Results of a test that has changed since are left in the file and not
    found again.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.trials: dict[Key, dict[int, tuple[float, float]]] = defaultdict(dict)
        """p-value and seconds by the number of the trial."""
        self.bounds: dict[tuple[str, str], RatioTest] = {}
        self._path = None if path is None else as_path(path)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._path is not None:
            with self._stack as stack:
                try:
                    stack.enter_context(Lock(self._path))
                    self._open(self._path)
                except OSError as error:
                    raise InputError(
                        f"{str(self._path)!r} cannot be written: {error.strerror}. Choose another path.",
                        argument="path",
                    ) from error
                self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def kept(self) -> str:
        """What is not lost when a study stops here, and how to go on, for messages."""
        if self._path is None:
            return "With `path` what is finished would be kept, and the same call go on from there."
        return f"What was finished is in {str(self._path)!r}, and the same call goes on from there."

    def add_trials(
        self, law: str, marks: dict[str, str], numbers: Sequence[int], found: Sequence[dict[str, Outcome]]
    ) -> None:
        """Keep the outcomes of some tests in some trials."""
        lines = []
        for test in found[0] if found else ():
            pairs = [(outcomes[test].pvalue, outcomes[test].seconds) for outcomes in found]
            self.trials[law, test, marks[test]].update(zip(numbers, pairs, strict=True))
            line = {"law": law, "test": test, "mark": marks[test], "trials": list(numbers)}
            line["pvalues"] = [pvalue for pvalue, _ in pairs]
            line["seconds"] = [float(f"{seconds:.3g}") for _, seconds in pairs]
            lines.append(line)
        self._append(lines)

    def add_bound(self, cell: str, mark: str, test: RatioTest) -> None:
        """Keep the bound of a cell."""
        self.bounds[cell, mark] = test
        above, reached = test.above.tolist(), test.reached.tolist()
        line = {"cell": cell, "mark": mark, "n_null": test.n_null, "above": above}
        # Continuous ratios are never equal.
        self._append([line if above == reached else {**line, "reached": reached}])

    def _append(self, lines: Sequence[dict[str, Any]]) -> None:
        if self._path is None or not lines:
            return
        text = b"".join(map(_line, lines))
        end: int | None = None
        try:
            with self._path.open("ab", buffering=0) as file:
                end = file.seek(0, os.SEEK_END)
                if end == 0 and lines[0] is not HEADER:  # somebody has taken the file away meanwhile
                    text = _line(HEADER) + text
                while text:
                    text = text[file.write(text) or 0 :]
        except OSError as error:
            if end is not None:
                with suppress(OSError):  # a line that stays cut off is dropped when the file is opened again
                    os.truncate(self._path, end)
            raise unwritable(self._path, error) from error

    def _open(self, path: Path) -> None:
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if not whole and _line(HEADER).startswith(text):
            # New, or cut off within its first line.
            path.write_bytes(b"")
            self._append([HEADER])
            return
        header, *lines = whole.splitlines() or [b""]
        if not _is_header(header):
            raise InputError(
                f"{str(path)!r} was not written by power_study, and is left as it is. Choose another "
                "path, or remove the file.",
                argument="path",
            )
        for number, line in enumerate(lines, 2):
            try:
                self._read(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                why = f"{error} is missing" if isinstance(error, KeyError) else error
                raise InputError(
                    f"line {number} of {str(path)!r} cannot be read ({why}). Remove the line, and what it "
                    "held is measured anew; or choose another path.",
                    argument="path",
                ) from None
        if len(whole) < len(text):
            # A line that was cut off when the process was killed.
            os.truncate(path, len(whole))

    def _read(self, found: Any) -> None:
        if not isinstance(found, dict):
            raise ValueError("it is no object of names and values")
        if "law" not in found:
            n_null, above = _whole(found, "n_null")[0], _whole(found, "above")
            reached = _whole(found, "reached") if "reached" in found else above
            if len(above) != len(reached) or max(*above, *reached, 0) > n_null or n_null < 1:
                raise ValueError("above and reached are no counts among n_null draws")
            bound = RatioTest(np.array(above, np.int64), np.array(reached, np.int64), n_null)
            self.bounds[_text(found, "cell"), _text(found, "mark")] = bound
            return
        law, test, mark = (_text(found, name) for name in ("law", "test", "mark"))
        if not law.endswith((" | null", " | alternative")):
            raise ValueError(f"law must end with null or alternative, got {law!r}")
        numbers = _whole(found, "trials")
        pvalues, seconds = _numbers(found, "pvalues", 1.0), _numbers(found, "seconds", np.inf)
        if not len(numbers) == len(pvalues) == len(seconds) == len(set(numbers)):
            raise ValueError("trials, pvalues and seconds must be as many, and each trial once")
        known = self.trials[law, test, mark]
        for k, pvalue, time in zip(numbers, pvalues, seconds, strict=True):
            if k in known and known[k][0] != pvalue:
                raise ValueError(f"the p-value of trial {k} is {pvalue:g} here and {known[k][0]:g} before")
            known[k] = pvalue, time


def _text(found: dict[str, Any], name: str) -> str:
    if not isinstance(found[name], str):
        raise ValueError(f"{name} must be text, got {found[name]!r}")
    return str(found[name])


def _whole(found: dict[str, Any], name: str) -> list[int]:
    values = found[name] if isinstance(found[name], list) else [found[name]]
    wrong = next((v for v in values if not isinstance(v, int) or isinstance(v, bool) or v < 0), None)
    if wrong is not None:
        raise ValueError(f"{name} must hold whole numbers of at least 0, got {wrong!r}")
    return values


def _numbers(found: dict[str, Any], name: str, most: float) -> list[float]:
    values = found[name] if isinstance(found[name], list) else [found[name]]
    for value in values:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0.0 <= value <= most:
            raise ValueError(f"{name} must hold numbers from 0 to {most:g}, got {value!r}")
    return [float(value) for value in values]


def _line(found: dict[str, Any]) -> bytes:
    return (json.dumps(found, ensure_ascii=False) + "\n").encode()


def _is_header(line: bytes) -> bool:
    try:
        return bool(json.loads(line) == HEADER)
    except ValueError:
        return False

"""What a study has measured, on disk: one line of JSON for each finished piece of work."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from goodstein.errors import InputError
from goodstein.power.neyman_pearson import RatioTest
from goodstein.power.trials import Outcome

HEADER = {"goodstein": "power study", "version": 1}

Key = tuple[str, str, str]
"""Law, test, fingerprint."""


class Record:
    """Results by what they are of, and by the fingerprint of what it does.

    Lines are only ever appended, so an interruption loses at most the piece of work under way. Results
    of a test that has changed since are left in the file and not found again.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.trials: dict[Key, dict[int, tuple[float, float]]] = defaultdict(dict)
        """p-value and seconds by the number of the trial."""
        self.bounds: dict[tuple[str, str], RatioTest] = {}
        self._path = None if path is None else Path(path)
        if self._path is not None:
            self._open(self._path)

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
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()

    def _open(self, path: Path) -> None:
        if not path.parent.is_dir():
            raise InputError(f"there is no folder {str(path.parent)!r}. Make it first.", argument="path")
        text = path.read_bytes() if path.exists() else b""
        if not text:
            self._append([HEADER])
            return
        whole = text[: text.rfind(b"\n") + 1]
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
                raise InputError(
                    f"line {number} of {str(path)!r} cannot be read ({error}). Remove the line, or "
                    "choose another path.",
                    argument="path",
                ) from None
        if len(whole) < len(text):
            # A line that was cut off when the process was killed.
            with path.open("r+b") as file:
                file.truncate(len(whole))

    def _read(self, found: dict[str, Any]) -> None:
        if "law" in found:
            pairs = zip(found["pvalues"], found["seconds"], strict=True)
            known = self.trials[found["law"], found["test"], found["mark"]]
            known.update(zip(found["trials"], pairs, strict=True))
        else:
            above = np.array(found["above"], np.int64)
            reached = np.array(found.get("reached", found["above"]), np.int64)
            self.bounds[found["cell"], found["mark"]] = RatioTest(above, reached, int(found["n_null"]))


def _is_header(line: bytes) -> bool:
    try:
        return bool(json.loads(line) == HEADER)
    except ValueError:
        return False

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
from goodstein.power.ratio import RatioTest
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
            lines.append(
                {
                    "law": law,
                    "test": test,
                    "mark": marks[test],
                    "trials": list(numbers),
                    "pvalues": [pvalue for pvalue, _ in pairs],
                    "seconds": [float(f"{seconds:.3g}") for _, seconds in pairs],
                }
            )
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
            raise InputError(f"`path`: there is no folder {str(path.parent)!r}. Make it first.")
        text = path.read_bytes() if path.exists() else b""
        if not text:
            self._append([HEADER])
            return
        whole = text[: text.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines()):
            self._read(line, number, path)
        if not whole:
            raise InputError(_no_study(path))
        if len(whole) < len(text):
            # A line that was cut off when the process was killed.
            with path.open("r+b") as file:
                file.truncate(len(whole))

    def _read(self, line: bytes, number: int, path: Path) -> None:
        try:
            found = json.loads(line)
            if number == 0:
                if found != HEADER:
                    raise InputError(_no_study(path))
            elif "law" in found:
                pairs = zip(found["pvalues"], found["seconds"], strict=True)
                known = self.trials[found["law"], found["test"], found["mark"]]
                known.update(zip(found["trials"], pairs, strict=True))
            else:
                above = np.array(found["above"], np.int64)
                reached = np.array(found.get("reached", found["above"]), np.int64)
                test = RatioTest(above, reached, int(found["n_null"]))
                self.bounds[found["cell"], found["mark"]] = test
        except (ValueError, KeyError, TypeError) as error:
            if number == 0:
                raise InputError(_no_study(path)) from None
            raise InputError(
                f"`path`: line {number + 1} of {str(path)!r} cannot be read ({error}). Remove the line, or "
                "choose another path."
            ) from None


def _no_study(path: Path) -> str:
    return (
        f"`path`: {str(path)!r} was not written by power_study, and is left as it is. Choose another path, "
        "or remove the file."
    )

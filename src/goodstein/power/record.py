"""What a study has measured, on disk: a small file for each law and test, and for each bound."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from goodstein.engine.files import as_path, write_whole
from goodstein.errors import InputError
from goodstein.power.neyman_pearson import RatioTest
from goodstein.power.trials import Outcome

Key = tuple[str, str, str]
"""Law, test, fingerprint."""


class Record:
    """Results by what they are of, and by the fingerprint of what it does.

    Files are replaced whole as pieces of work are finished, so that an interruption loses at most the piece
    under way. Two studies that write to one folder find the same numbers: at worst both compute a file.
    Results of a test that has changed since stay in their file and are not found again.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._trials: dict[Key, dict[int, tuple[float, float]]] = {}
        self._folder = None if path is None else as_path(path, folder=True)
        if self._folder is not None:
            self._folder.mkdir(exist_ok=True)

    @property
    def kept(self) -> str:
        """What is not lost when a study stops here, and how to go on, for messages."""
        if self._folder is None:
            return "With `path` what is finished would be kept, and the same call go on from there."
        return f"What was finished is in {str(self._folder)!r}, and the same call goes on from there."

    def trials(self, law: str, test: str, mark: str) -> dict[int, tuple[float, float]]:
        """p-value and seconds by the number of the trial."""
        key = law, test, mark
        if key not in self._trials:
            self._trials[key] = {k: (pvalue, seconds) for k, pvalue, seconds in self._read(key) or ()}
        return self._trials[key]

    def add_trials(self, law: str, test: str, mark: str, found: Mapping[int, Outcome]) -> None:
        """Keep the outcomes of a test in some trials."""
        known = self.trials(law, test, mark)
        if not known.keys() >= found.keys():
            known |= {k: (one.pvalue, float(f"{one.seconds:.3g}")) for k, one in found.items()}
            self._write((law, test, mark), [(k, *known[k]) for k in sorted(known)])

    def bound(self, cell: str, mark: str) -> RatioTest | None:
        """The bound of a cell, where it is known."""
        found = self._read((cell, "", mark))  # no test has an empty name
        if found is None:
            return None
        above, reached, n_null = found
        return RatioTest(np.array(above, np.int64), np.array(reached, np.int64), n_null)

    def add_bound(self, cell: str, mark: str, test: RatioTest) -> None:
        """Keep the bound of a cell."""
        self._write((cell, "", mark), (test.above.tolist(), test.reached.tolist(), test.n_null))

    def _file(self, folder: Path, key: Key) -> Path:
        return folder / f"{_digest(json.dumps(key).encode())[:32]}.json"

    def _read(self, key: Key) -> Any:
        """What was kept of something; None where nothing was."""
        if self._folder is None or not (file := self._file(self._folder, key)).exists():
            return None
        try:
            mark, _, content = file.read_bytes().partition(b"\n")
        except OSError as error:
            raise InputError(f"{str(file)!r} cannot be read: {error.strerror}.", argument="path") from error
        if mark.decode(errors="replace") != _digest(content):
            raise InputError(
                f"{str(file)!r} is damaged: its first line is no checksum of the rest.",
                argument="path",
                remedy="Remove the file, and what it held is measured anew; or choose another path.",
            )
        return json.loads(content)["found"]

    def _write(self, key: Key, found: Any) -> None:
        if self._folder is not None:
            content = json.dumps({"goodstein": "power study", "of": key, "found": found}).encode()
            write_whole(self._file(self._folder, key), f"{_digest(content)}\n".encode() + content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

"""What was found so far, in a file: long work that was interrupted goes on where it was.

The engine's unit of work is a piece, such as the partial sums of a strip of rows or the statistics of a
simulated sample (:func:`goodstein.engine.executors.run`). A test calls it once or a few times, always in the
same order; each call is a step, and its pieces are kept by their places. Results are put together from pieces
in the order of their places, so that the bits are those of a run without a pause.

The file is replaced as a whole, so that at every moment there is a good one or none. It holds arrays and
their shapes, nothing that could be executed. What a test is of (data, model, seed, versions) stands in it,
and another test is refused; for whatever that leaves out, one piece is computed anew and compared to the last
bit.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from goodstein.engine.blas import one_blas_thread
from goodstein.errors import InputError, must, warn
from goodstein.types import Array

FORMAT = "goodstein checkpoint 1"

EVERY = 10.0
"""Seconds between two writings, and the file takes no more than a fiftieth of the time."""

Identity: TypeAlias = Mapping[str, str]


class Step:
    """Pieces of one step that are known; without a file none are, and none are kept."""

    def __init__(self, known: dict[int, Any], keep: Callable[[], None] | None = None) -> None:
        self.known, self._keep = known, keep
        self.found: dict[int, Any] = dict(known)

    def add(self, place: int, result: Any) -> None:
        """Keep a piece, and write the file when it is time."""
        if self._keep is not None:
            self.found[place] = result
            self._keep()


NOTHING = Step({})


class Checkpoint:
    """A file of pieces; made before the work, so that a file that is of no use is refused at once."""

    def __init__(self, path: Any) -> None:
        if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes) or not str(path):
            raise must("checkpoint", "None or the path of a file", path)
        from pathlib import Path  # takes as long to load as many a test, which has no checkpoint

        self.path = Path(path)
        self.identify: Callable[[], Identity] = dict
        self._seeds: list[int] | None = None
        self._identity: dict[str, str] | None = None
        self._before: list[tuple[int, dict[int, Any]]] = []
        self._steps: list[tuple[int, Step]] = []
        self._written, self._pause, self._failed = 0.0, EVERY, False
        if self.path.is_dir() or not self.path.parent.is_dir():
            what = "is a folder" if self.path.is_dir() else "would lie in a folder that does not exist"
            raise self._refused(f"{what}. Pass the path of a file")
        if self.path.exists():
            self._read()

    def seeds(self, drawn: tuple[int, int, int], *, fixed: bool) -> tuple[int, int, int]:
        """Seeds of the test: those of the file where the caller has not `fixed` them."""
        if self._seeds is None:
            self._seeds = list(drawn)
        if not fixed:
            first, second, third = self._seeds
            return first, second, third
        if list(drawn) != self._seeds:
            raise self._other(["the seed"])
        return drawn

    @contextmanager
    def step(
        self, task: Callable[[Any], Any], items: Sequence[Any], costs: Sequence[float]
    ) -> Iterator[Step]:
        """The next step; what is found in it is kept, also where it ends in an error."""
        number = len(self._steps)
        if number == 0:
            self._compare()
        count, known = self._before[number] if number < len(self._before) else (len(items), {})
        if count != len(items):
            raise self._other(["how the work is cut into pieces"])
        if known:
            self._try(task, items, costs, known)
        step = Step(known, self._now_and_then)
        self._steps.append((count, step))
        if number == 0:
            self._write()
        try:
            yield step
        finally:
            if len(step.found) > len(known):
                self._write()

    def _compare(self) -> None:
        """Refuse the file of another test."""
        identity = dict(self.identify())
        if self._identity is not None and self._identity != identity:
            names = [name for name in identity if self._identity.get(name) != identity[name]]
            raise self._other(names or ["what was asked"])
        self._identity = identity

    def _try(
        self, task: Callable[[Any], Any], items: Sequence[Any], costs: Sequence[float], known: dict[int, Any]
    ) -> None:
        """Compute the cheapest piece anew."""
        place = min(known, key=lambda k: costs[k])
        with one_blas_thread():
            again = task(items[place])
        if _flat(again) != _flat(known[place]):
            raise self._other(["the model, its sampler or the machine's arithmetic"])

    def _other(self, names: Sequence[str]) -> InputError:
        what = f"{', '.join(names)} {'differ' if len(names) > 1 else 'differs'}"
        remedy = "Pass another path, or delete the file to begin anew"
        return self._refused(f"holds work of another test: {what}. {remedy}")

    def _refused(self, what: str) -> InputError:
        return InputError(f"{self.path} {what}.", argument="checkpoint")

    def _now_and_then(self) -> None:
        if time.monotonic() - self._written > self._pause:
            self._write()

    def _read(self) -> None:
        try:
            with self.path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                header, values = json.loads(file["header"].tobytes()), file["values"].tobytes()
            if header["format"] != FORMAT:
                raise ValueError(header["format"])
            self._seeds, self._identity = header["seeds"], header["identity"]
            first = 0
            for step in header["steps"]:
                known = {}
                for place, shape in step["pieces"]:
                    known[place], first = _read_piece(shape, values, first)
                self._before.append((step["count"], known))
        except Exception as error:  # whatever somebody else's file holds
            said = "cannot be read as a checkpoint of this version"
            remedy = "Pass another path, or delete the file to begin anew"
            raise self._refused(f"{said} ({type(error).__name__}). {remedy}") from error

    def _write(self) -> None:
        """Replace the file by one that holds all that is known."""
        start = time.monotonic()
        values: list[bytes] = []
        steps = []
        for number in range(max(len(self._steps), len(self._before))):
            if number < len(self._steps):
                count, pieces = self._steps[number][0], self._steps[number][1].found
            else:
                count, pieces = self._before[number]
            shapes = [(place, _shape(piece, values)) for place, piece in sorted(pieces.items())]
            steps.append({"count": count, "pieces": shapes})
        header = {"format": FORMAT, "seeds": self._seeds, "identity": self._identity, "steps": steps}
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            try:
                with part.open("wb") as file:
                    np.savez(
                        file, header=_bytes(json.dumps(header).encode()), values=_bytes(b"".join(values))
                    )
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(self.path)
            finally:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
        except OSError as error:
            if self._written == 0.0:
                raise self._refused(f"cannot be written ({error.strerror}). Pass another path") from error
            if not self._failed:
                self._failed = True
                said = f"`checkpoint`: {self.path} could not be written ({error.strerror})."
                warn(
                    f"{said} The work goes on, and what the file held before is still there.", RuntimeWarning
                )
        self._written = time.monotonic()
        self._pause = max(EVERY, 50.0 * (self._written - start))


def _bytes(content: bytes) -> Any:
    return np.frombuffer(content, np.uint8)


def _shape(piece: Any, values: list[bytes]) -> Any:
    """What a piece consists of, for JSON; its numbers go to `values`."""
    if isinstance(piece, tuple | list):
        return ["tuple" if isinstance(piece, tuple) else "list", *(_shape(part, values) for part in piece)]
    array: Array = np.asarray(piece)
    if array.dtype.kind not in "biuf" or not isinstance(piece, np.ndarray | np.generic | float):
        raise InputError(
            f"the null distribution makes pieces of type {type(piece).__name__}, which no file keeps. "
            "Leave it out.",
            argument="checkpoint",
        )
    values.append(array.tobytes())
    return [array.dtype.str, list(array.shape), type(piece) is float]


def _read_piece(shape: Any, values: bytes, first: int) -> tuple[Any, int]:
    """A piece, and where the next begins."""
    if shape[0] in ("tuple", "list"):
        parts = []
        for part in shape[1:]:
            found, first = _read_piece(part, values, first)
            parts.append(found)
        return (tuple(parts) if shape[0] == "tuple" else parts), first
    dtype, size = np.dtype(shape[0]), tuple(shape[1])
    count = int(np.prod(size, dtype=int))
    array = np.frombuffer(values, dtype, count, first).reshape(size).copy()
    return (float(array) if shape[2] else array if size else array[()]), first + count * dtype.itemsize


def _flat(piece: Any) -> tuple[str, bytes]:
    values: list[bytes] = []
    return json.dumps(_shape(piece, values)), b"".join(values)


_current: ContextVar[Checkpoint | None] = ContextVar("_current", default=None)


@contextmanager
def keeping(checkpoint: Checkpoint | None, identify: Callable[[], Identity]) -> Iterator[None]:
    """Have the steps inside kept in a file; `identify` says what the test is of when the first begins."""
    if checkpoint is None:
        yield
        return
    checkpoint.identify = identify
    token = _current.set(checkpoint)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def step_of(task: Callable[[Any], Any], items: Sequence[Any], costs: Sequence[float]) -> Iterator[Step]:
    """The next step of whoever keeps; what runs inside it is part of a piece and keeps nothing."""
    checkpoint = _current.get()
    if checkpoint is None:
        yield NOTHING
        return
    token = _current.set(None)
    try:
        with checkpoint.step(task, items, costs) as step:
            yield step
    finally:
        _current.reset(token)

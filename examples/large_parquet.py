"""Does a model describe the readings of ten sensors? A million rows from a Parquet file, chunk by chunk.

The readings are simulated: ten correlated sensors whose law is known, but for one of them that reads a little
too high. They are written to a Parquet file in a temporary folder and read back in chunks, as a file would be
that is larger than the memory. Two questions are asked:

1. Do all rows together fit the model? By landmarks (`gs.Nystrom`), in time that grows with the number of rows
   and not with its square.
2. How many would have been enough? A `gs.Monitor` takes one chunk after another, and its evidence may be
   looked at after each of them. It is pickled in between, as for a night.

Run it with `python examples/large_parquet.py 1000000`, which takes a minute or two and less than a gigabyte;
without a number there are 20 000 rows. It needs `pip install "goodstein[io]"`, for the file.
"""

import pickle
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import goodstein as gs

SENSORS = 10
CHUNK = 5000
"""Rows that are read at a time."""

MODEL = gs.families.Normal(np.zeros(SENSORS), 0.7 * np.eye(SENSORS) + 0.3)


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "readings.parquet"
        simulate(path, rows)
        print(f"{rows} rows of {SENSORS} sensors, {path.stat().st_size / 1e6:.0f} MB in a file")

        start = time.perf_counter()
        result = gs.ksd_test(read(path, rows), MODEL, approximate=gs.Nystrom(), rng=1)
        print(f"\nAll rows, by landmarks, in {time.perf_counter() - start:.0f} s\n")
        print(result)

        monitor, state = gs.Monitor(MODEL, rng=1), Path(folder) / "monitor.pickle"
        for number, chunk in enumerate(chunks(path, rows)):
            monitor.update(chunk)
            if monitor.reject(0.001):
                break
            if number == 0:
                state.write_bytes(pickle.dumps(monitor))
                monitor = pickle.loads(state.read_bytes())
        print(f"\n{monitor}")
        print(
            f"\nThe rows together contradict the model, p = {result.pvalue:.3f}. Whoever watches chunk by "
            f"chunk, and stops when the evidence will do, has it after {monitor.n} of them."
        )


def simulate(path: Path, rows: int) -> None:
    """Readings, those of the fourth sensor too high by a tenth of their standard deviation."""
    x = MODEL.sample(rows, rng=1)
    x[:, 3] += 0.1
    frame = pl.DataFrame(x, schema=[f"sensor {k}" for k in range(SENSORS)])
    frame.write_parquet(path, row_group_size=CHUNK)


def chunks(path: Path, rows: int) -> Iterator[np.ndarray]:
    """The rows of the file in their order, some at a time."""
    file = pl.scan_parquet(path)
    for start in range(0, rows, CHUNK):
        yield file.slice(start, CHUNK).collect().to_numpy()


def read(path: Path, rows: int) -> np.ndarray:
    """All rows in one array, without a second copy of the file."""
    x = np.empty((rows, SENSORS))
    for k, chunk in enumerate(chunks(path, rows)):
        x[k * CHUNK : k * CHUNK + len(chunk)] = chunk
    return x


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)

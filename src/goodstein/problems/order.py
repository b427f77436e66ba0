"""Whether the observations of a test depend on each other in the order in which they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from goodstein.auditing.serial import Dependence, dependence, sorted_by
from goodstein.data.base import Data
from goodstein.data.chains import Chains
from goodstein.errors import InputError, within_memory
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

LANDMARKS, RUN = 16, 2
"""Observations in whose company the others are looked at, and how many of them follow each other."""
COLUMNS, MOST = 32, 20_000
"""Columns of the data, evenly spread, and rows, the first of every sequence, that are looked at."""


@within_memory()
def dependence_of(data: Data, forms: Sequence[BlockForm] = ()) -> Dependence:
    """What the order of the data says, as they are and as forms of them see them.

    A column of a Stein matrix is a function of the observations, one of those that the test compares with
    zero. A few columns describe them all; the observations to which they belong are left out.
    """
    n = forms[0].n if forms else len(data)
    forms = [form for form in forms if form.n == n]
    sequences = data.sequences if sum(data.sequences) == n else (n,)
    if not data.replicated or data.unordered or n < 2 * RUN:
        return Dependence(sequences)
    kept, runs = np.ones(n, bool), []
    if n > MOST:
        kept = np.concatenate([np.arange(rows) / rows for rows in sequences]) < MOST / n
    if forms:
        count = max(1, min(LANDMARKS, n // 8) // RUN)
        firsts = [(2 * k + 1) * n // (2 * count) for k in range(count)]
        runs = [slice(first, first + RUN) for first in firsts]
        kept[[row for run in runs for row in range(run.start, run.stop)]] = False
    described = [_sketch(form, runs, np.flatnonzero(kept)) for form in forms]
    rows = _columns(data) if len(data) == n else None
    if rows is not None:
        described.append(rows[kept][:, :: -(-rows.shape[1] // COLUMNS)])
    ends = [0, *accumulate(sequences)]
    lengths = [int(np.count_nonzero(kept[start:end])) for start, end in pairwise(ends)]
    stated = isinstance(data, Chains)
    found = dependence(described, lengths, stated=stated)
    found = replace(found, sequences=sequences)
    if found.found and rows is not None and not stated:
        column = sorted_by(rows)
        return found if column is None else Dependence(sequences, sorted_by=column)
    return found


def _sketch(form: BlockForm, runs: Sequence[slice], kept: npt.NDArray[np.intp]) -> Array:
    """Some columns of the form in the rows that are kept, (kept, columns)."""
    columns = np.concatenate([np.arange(run.start, run.stop) for run in runs])
    if form.n <= MOST:
        return form.columns(columns)[kept]
    # Of many rows factors are made for those alone that are looked at.
    few = form.take(np.concatenate([kept, columns]))
    return np.array(few.block(slice(0, len(kept)), slice(len(kept), few.n)))


def _columns(data: Data) -> Array | None:
    """The data as numbers, (n, k); None where they are not told apart."""
    try:
        return np.asarray(data.as_rows(), np.float64)
    except InputError:
        return None

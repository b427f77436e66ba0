"""Errors and warnings, and the one way in which they speak of rows.

Every message says what is wrong, where, and how to fix it.
"""

from __future__ import annotations

import numpy as np

from goodstein.types import BoolArray


class InputError(ValueError):
    """The data or an argument cannot be used as given."""


class DomainError(InputError):
    """Data lie outside the domain, or a domain is not a valid region."""


class ScoreError(InputError):
    """A score, log density or auxiliary function cannot be evaluated or differentiated as needed."""


class BandwidthError(InputError):
    """A rule can take no bandwidth from the data, because all points are the same."""


class SteinIdentityError(ValueError):
    """Stein's identity does not hold, so the test would not keep its level."""


class SamplingError(RuntimeError):
    """A model cannot be sampled, or only with unreasonable effort."""


class NumericalScoreWarning(UserWarning):
    """A score obtained by numerical differentiation is doubtful at some rows."""


class CalibrationWarning(UserWarning):
    """A p-value is valid only under conditions that the user should check."""


def describe_rows(bad: BoolArray | np.bool_) -> str:
    """Say which rows a mask marks.

    >>> from goodstein.errors import describe_rows
    >>> import numpy as np
    >>> describe_rows(np.array([False, True, True]))
    '2 of 3 rows (the first is row 1)'
    """
    bad = np.asarray(bad)
    rows = np.flatnonzero(bad)
    if len(rows) == 1:
        return f"1 of {bad.size} rows (row {rows[0]})"
    return f"{rows.size} of {bad.size} rows (the first is row {rows[0]})"

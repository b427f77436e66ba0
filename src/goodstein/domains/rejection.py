"""Uniform draws by rejection from a bounding box, with bounded effort."""

from __future__ import annotations

import numpy as np

from goodstein.domains.base import Domain
from goodstein.errors import SamplingError
from goodstein.types import Array

MAX_PROPOSALS = 10_000_000
PILOT = 100_000


def sample_in_box(domain: Domain, lower: Array, upper: Array, n: int, rng: np.random.Generator) -> Array:
    """Draw ``n`` uniform points of ``domain``, which lies between ``lower`` and ``upper``.

    Raises
    ------
    SamplingError
        As soon as the rate of acceptance shows that more than ten million proposals would
        be needed.
    """
    largest_batch = max(1_000, 2_000_000 // domain.dim)
    accepted: list[Array] = []
    count = proposed = 0
    batch = max(1_000, 2 * n)
    while count < n:
        batch = min(batch, largest_batch, MAX_PROPOSALS)
        proposals = rng.uniform(lower, upper, size=(batch, domain.dim))
        inside = proposals[domain.contains(proposals)]
        accepted.append(inside)
        count += len(inside)
        proposed += batch
        # Before the pilot is over, an unlucky start must not look hopeless.
        needed = n * proposed / max(count, 1)
        if count < n and proposed >= PILOT and needed > MAX_PROPOSALS:
            raise SamplingError(
                f"{domain!r}: only {count} of {proposed} uniform proposals from its bounding box fell inside "
                f"(acceptance rate {count / proposed:.2g}), so {n} draws would take more than "
                f"{MAX_PROPOSALS} proposals. Ask for fewer draws, or draw with a sampler of your own."
            )
        batch = int(1.2 * (n - count) * proposed / max(count, 1)) + 1_000
    return np.concatenate(accepted)[:n] if accepted else np.empty((0, domain.dim))

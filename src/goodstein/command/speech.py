"""What the library says, in the words of the command line: options for arguments."""

from __future__ import annotations

import re

OPTIONS = {
    "data": "the data",
    "domain": "--domain",
    "level": "--level",
    "model": "the model",
    "n_resamples": "--resamples",
    "null": "--null",
    "rng": "--seed",
    "trials": "--trials",
    "workers": "--workers",
    "x": "the data",
}
"""What arguments of the library are called here."""

NULLS = {
    "MonteCarlo": "montecarlo",
    "ParametricBootstrap": "parametric",
    "Spectral": "spectral",
    "WildBootstrap": "wild",
}
"""What null distributions are called here."""

NULL = re.compile(
    rf"(?:ksd_test\(\.\.\., )?null=({'|'.join(NULLS)})\([^()]*\)\)?(?:, with the function that \w+ it)?"
)


def spoken(text: str) -> str:
    """A message with the names of options.

    >>> from goodstein.command.speech import spoken
    >>> spoken("Pass the right `domain`, or null=MonteCarlo(199).")
    'Pass the right --domain, or --null montecarlo.'
    """
    text = NULL.sub(lambda found: f"--null {NULLS[found[1]]}", text)
    return re.sub(r"`(\w+)`", lambda found: OPTIONS.get(found[1], found[0]), text)

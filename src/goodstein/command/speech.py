"""What the library says, in the words of the command line: options for arguments."""

from __future__ import annotations

import re

OPTIONS = {
    "data": "the data",
    "domain": "--domain",
    "level": "--level",
    "model": "the model",
    "n_resamples": "--resamples",
    "path": "the file",
    "null": "--null",
    "output": "--output",
    "plot": "--plot",
    "rng": "--seed",
    "trials": "--trials",
    "workers": "--workers",
    "x": "the data",
}
"""What arguments of the library are called here."""

NULLS = {
    "FittedWildBootstrap": "wild",
    "MonteCarlo": "montecarlo",
    "ParametricBootstrap": "parametric",
    "Spectral": "spectral",
    "WildBootstrap": "wild",
}
"""What null distributions are called here."""

CENSORED = re.compile(r"Pass Censored\([^()]*\)(?:, or [^.]*)?")
NULL = re.compile(
    rf"(?:ksd_test\(\.\.\., )?null=({'|'.join(NULLS)})\([^()]*\)\)?(?:, with the function that \w+ it)?"
)


METHODS = {
    " (.detectable(): more)": "",
    "(.explain())": "(--explain)",
    "(.audit)": "(goodstein audit)",
    " Draws of a Markov chain are Chains([data]).": "",
    "If each row is a chain of one parameter, pass Chains(list(data)); else data.ravel().": "Name --columns.",
    "Use operator=": "Use goodstein check, or in Python operator=",
    "shuffle the rows": "pass --shuffle",
    "shuffle them": "pass --shuffle",
    "pass from_lonlat(longitude, latitude)": "name them: --lon COLUMN --lat COLUMN",
}
"""Where results in Python say more, and what is written differently there."""


def spoken(text: str) -> str:
    """What a result says, with options and commands where it names methods and null distributions.

    >>> from goodstein.command.speech import spoken
    >>> spoken("Use null=MonteCarlo(199).")
    'Use --null montecarlo.'
    """
    for method, words in METHODS.items():
        text = text.replace(method, words)
    text = CENSORED.sub("Name the columns: --duration COLUMN --event COLUMN", text)
    text = re.sub(rf"(null=\w+\(\)) or (?=({'|'.join(NULLS)})\()", r"\1 or null=", text)
    return NULL.sub(lambda found: f"--null {NULLS[found[1]]}", text)


def renamed(text: str) -> str:
    """What an error says, with options where it names arguments; results quote names of columns so.

    >>> from goodstein.command.speech import renamed
    >>> renamed("Remove them or pass the right `domain`.")
    'Remove them or pass the right --domain.'
    """
    return spoken(re.sub(r"`(\w+)`", lambda found: OPTIONS.get(found[1], found[0]), text))

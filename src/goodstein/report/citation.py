"""How to cite the library and the article whose framework it implements; CITATION.cff says the same."""

from __future__ import annotations

from goodstein.version import __version__

TITLE = "goodstein: kernel Stein discrepancy goodness-of-fit tests"
AUTHORS = "The goodstein developers"
ARTICLE = (
    "Standardisation-function Kernel Stein Discrepancy: A Unifying View on Kernel Stein Discrepancy Tests "
    "for Goodness-of-fit"
)
ARTICLE_AUTHOR = ("Xu", "Wenkai")
YEAR, VOLUME, PREPRINT = 2022, 151, "arXiv:2106.12105"


def citations() -> tuple[str, str]:
    """The software, and the article."""
    family, given = ARTICLE_AUTHOR
    return (
        f"{AUTHORS}. {TITLE}, version {__version__}.",
        f"{family}, {given} ({YEAR}). {ARTICLE}. Proceedings of the 25th International Conference on "
        f"Artificial Intelligence and Statistics (AISTATS), PMLR {VOLUME}. {PREPRINT}.",
    )

"""Tables of durations, some of them censored."""

from __future__ import annotations

from goodstein.datasets.catalogue import carried, read
from goodstein.survival.data import Censored

SOURCE = "Taken from the R package survival 3.5-3 (LGPL-2 or later)"


def _censored(name: str) -> Censored:
    table = read(name)
    return Censored(table["time"], table["status"])


@carried(
    columns={
        "time": "weeks",
        "status": "1: relapse, 0: censored",
        "x": "whether chemotherapy was maintained",
    },
    references=(
        "R. G. Miller (1981), Survival Analysis, Wiley",
        "S. H. Embury et al. (1977), Remission maintenance therapy in acute myelogenous leukemia, "
        "Western Journal of Medicine 126, 267-272",
    ),
    source=SOURCE,
)
def aml() -> Censored:
    """Remission of 23 patients with acute myelogenous leukaemia.

    Returns
    -------
    Censored
        Weeks until relapse, 5 of 23 censored.
    """
    return _censored("aml")


@carried(
    columns={
        "time": "days",
        "status": "1: death, 0: censored",
        "age": "years",
        "rx": "treatment, 1 or 2",
    },
    references=(
        "J. H. Edmonson et al. (1979), Different chemotherapeutic sensitivities and host factors "
        "affecting prognosis in advanced ovarian carcinoma versus minimal residual disease, Cancer "
        "Treatment Reports 63, 241-247",
    ),
    source=SOURCE,
)
def ovarian() -> Censored:
    """Survival of 26 patients with ovarian cancer.

    Returns
    -------
    Censored
        Days until death, 14 of 26 censored.
    """
    return _censored("ovarian")


@carried(
    columns={
        "time": "days",
        "status": "1: death, 0: censored (2 and 1 in the package)",
        "age": "years",
        "sex": "1: male, 2: female",
        "ph_ecog": "performance score of the physician, 0 (good) to 4; one is missing",
    },
    references=(
        "C. L. Loprinzi et al. (1994), Prospective evaluation of prognostic variables from "
        "patient-completed questionnaires, Journal of Clinical Oncology 12, 601-607",
    ),
    source=SOURCE,
)
def lung() -> Censored:
    """Survival of 228 patients with advanced lung cancer.

    Returns
    -------
    Censored
        Days until death, 63 of 228 censored.

    Examples
    --------
    >>> import goodstein as gs
    >>> gs.datasets.lung()
    Censored(228 durations, 28 % censored)
    """
    return _censored("lung")


@carried(
    columns={
        "trt": "treatment, 1: standard, 2: test",
        "celltype": "squamous, smallcell, adeno or large",
        "time": "days",
        "status": "1: death, 0: censored",
        "karno": "Karnofsky performance score, 0 to 100 (good)",
        "diagtime": "months from diagnosis",
        "age": "years",
        "prior": "prior therapy, 0: no, 10: yes",
    },
    references=(
        "J. D. Kalbfleisch and R. L. Prentice (1980), The Statistical Analysis of Failure Time Data, Wiley",
    ),
    source=SOURCE,
)
def veteran() -> Censored:
    """Survival of 137 veterans with lung cancer in a trial of two treatments.

    Returns
    -------
    Censored
        Days until death, 9 of 137 censored.
    """
    return _censored("veteran")

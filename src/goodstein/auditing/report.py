"""What an audit reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

from goodstein.text import Report, Table

Status: TypeAlias = Literal["pass", "warn", "fail", "skip", "open"]
Accepts: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: its name, its outcome, and what was found.

    With ``asymptotic`` a warning concerns null distributions that hold for large samples only, and
    not those that simulate the model. A ``loud`` one is also given as a warning of Python's, as asymptotic
    ones are. ``of_data`` says that it concerns these very data, rather than Stein's identity. ``small`` and
    ``large`` say why small or large p-values mean nothing, where they do not: the verdict is then that
    nothing is decided.
    """

    name: str
    status: Status
    message: str
    asymptotic: bool = False
    loud: bool = False
    of_data: bool = False
    small: str = ""
    large: str = ""
    accepts: Accepts | None = field(default=None, compare=False, repr=False)
    """Whether another operator would pass this check, where trying is worth while."""


@dataclass(frozen=True)
class Question:
    """Something that is looked at, by name; each answer is a :class:`Check`."""

    name: str

    def passed(self, message: str) -> Check:
        """Nothing is wrong."""
        return Check(self.name, "pass", message)

    def skipped(self, message: str) -> Check:
        """It could not be looked at."""
        return Check(self.name, "skip", message)

    def open(self, message: str) -> Check:
        """It could not be looked at, and without it nobody knows whether a test is valid."""
        return Check(self.name, "open", message)

    def warned(
        self, message: str, *, asymptotic: bool = False, loud: bool = False, small: str = "", large: str = ""
    ) -> Check:
        """Something may be wrong."""
        return Check(self.name, "warn", message, asymptotic, loud, small=small, large=large)

    def failed(
        self,
        message: str,
        *,
        asymptotic: bool = False,
        of_data: bool = False,
        large: str = "",
        accepts: Accepts | None = None,
    ) -> Check:
        """Something is wrong."""
        return Check(self.name, "fail", message, asymptotic, of_data=of_data, large=large, accepts=accepts)


@dataclass(frozen=True)
class AuditReport(Report):
    """Whether a test can keep its level, and why.

    Attributes
    ----------
    model, domain, operator
        What was audited, in words.
    checks
        All checks, in the order in which they were made.
    """

    model: str
    domain: str
    operator: str
    checks: tuple[Check, ...]

    @property
    def valid(self) -> bool:
        """Whether no check failed, and none that is needed stayed open."""
        return not self.refused and not self.messages("open")

    @property
    def refused(self) -> bool:
        """Whether a check failed."""
        return bool(self.messages("fail"))

    @property
    def verdict(self) -> str:
        """Whether it is valid, in words."""
        return "valid" if self.valid else "NOT valid" if self.refused else "not known to be valid"

    def extended(self, checks: Sequence[Check]) -> AuditReport:
        """The same report with further checks."""
        return replace(self, checks=(*self.checks, *checks))

    def messages(self, status: Status) -> tuple[str, ...]:
        """What the checks with this outcome say."""
        return tuple(check.message for check in self.checks if check.status == status)

    def doubt(self, *, small: bool) -> str:
        """Why a small p-value, or a large one, means nothing; empty where nothing speaks against it."""
        reasons = (check.small if small else check.large for check in self.checks)
        return next(filter(None, reasons), "")

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "valid": self.valid, "checks": [asdict(check) for check in self.checks]}

    def _title(self) -> str:
        return f"Audit: {self.operator} for {self.model} on {self.domain} is {self.verdict}."

    def _tables(self) -> list[Table]:
        lines = [(f"[{check.status:^4}]", f"{check.name}: {check.message}") for check in self.checks]
        return [Table((), lines)]

"""What an audit reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["pass", "warn", "fail", "skip"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: its name, its outcome, and what was found.

    With ``asymptotic`` a warning concerns null distributions that hold for large samples only, and
    not those that simulate the model.
    """

    name: str
    status: Status
    message: str
    asymptotic: bool = False


@dataclass(frozen=True)
class AuditReport:
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
        """Whether no check failed."""
        return not any(check.status == "fail" for check in self.checks)

    def messages(self, status: Status) -> tuple[str, ...]:
        """What the checks with this outcome say."""
        return tuple(check.message for check in self.checks if check.status == status)

    def __str__(self) -> str:
        verdict = "valid" if self.valid else "NOT valid"
        lines = [f"Audit: {self.operator} for {self.model} on {self.domain} is {verdict}.", ""]
        lines += [f"  [{check.status:^4}] {check.name}: {check.message}" for check in self.checks]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import html

        return f"<pre style='white-space:pre-wrap'>{html.escape(str(self))}</pre>"

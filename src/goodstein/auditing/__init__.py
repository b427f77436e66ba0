"""Is this test valid? Stein's identity, finite variance, and agreement of what the model says of itself."""

from goodstein.auditing.report import AuditReport, Check

__all__ = ["AuditReport", "Check"]

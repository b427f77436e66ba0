"""One test over a collection of operators and kernels."""

from goodstein.aggregation._api import aggregated_test
from goodstein.aggregation.result import AggregatedResult, Member

__all__ = ["AggregatedResult", "Member", "aggregated_test"]

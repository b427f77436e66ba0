"""An operator that was chosen on some rows and refuses to be tested on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from goodstein.auxiliary.training import TrainingRows
from goodstein.domains.base import Domain
from goodstein.operators.base import Operator, fitted_operator
from goodstein.stein.features import Features


@dataclass(frozen=True, repr=False)
class Chosen:
    """An operator, and the rows that it was chosen on: it raises where they are among the data.

    Everything else is the operator's own.

    Attributes
    ----------
    operator
        The operator itself, its scales fixed.
    training
        The rows.
    """

    operator: Operator
    training: TrainingRows

    def features(self, model: Any, domain: Domain, data: Any) -> Features:
        """Those of the operator."""
        return self.operator.features(model, domain, data)

    def fitted(self, data: Any, domain: Domain) -> Chosen:
        """With the operator fitted, unless the data are those that it was chosen on."""
        self.training.refuse(data, f"this {self.operator!r}")
        return replace(self, operator=fitted_operator(self.operator, data, domain))

    def __repr__(self) -> str:
        return repr(self.operator)

    def __getattr__(self, name: str) -> Any:
        # Optional methods exist where the operator has them. Unpickling asks before there is one.
        if name.startswith("__") or name == "operator":
            raise AttributeError(name)
        found = getattr(self.operator, name)
        if name in ("on", "seeded"):
            return lambda argument: replace(self, operator=found(argument))
        return found

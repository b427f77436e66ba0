"""Which operator a domain gets by default."""

from __future__ import annotations

from goodstein.domains import Chart, Domain, Lattice, Simplex, Sphere, Torus
from goodstein.domains.states import States
from goodstein.errors import must
from goodstein.lazy import deferred
from goodstein.operators.base import Operator
from goodstein.operators.langevin import Langevin
from goodstein.operators.logratio import LogRatio
from goodstein.operators.standardised import Standardised

coordinate = deferred("goodstein.operators.coordinate")
difference = deferred("goodstein.operators.difference")
jumps = deferred("goodstein.operators.jumps")
second_order = deferred("goodstein.operators.second_order")


def default_operator(domain: Domain) -> Operator:
    """The operator of choice on a domain: it is valid for every density that is bounded there.

    What the domain itself names (:meth:`goodstein.domains.Domain.default_operator`); otherwise

    - on a sphere :class:`goodstein.SecondOrder`, which no choice of axes enters. It is also the more
      powerful one against all alternatives that were tried in general position: one mode, an axis, an oval
      shape, another mean direction (`validation/power.md`); :class:`goodstein.Coordinate` is against
      alternatives along the first axis;
    - on circles, tori and charts :class:`goodstein.Coordinate`;
    - on a lattice :class:`goodstein.Difference` with bound 10, so that a few rare states do no harm;
    - on counts and other states with neighbours :class:`goodstein.Jumps`;
    - on a simplex :class:`goodstein.LogRatio`;
    - elsewhere :class:`goodstein.Standardised` with the domain's auxiliary function, and without boundary
      :class:`goodstein.Langevin`.
    """
    if not isinstance(domain, Domain):
        raise must("domain", "a domain such as Box or Simplex", domain)
    wish: Operator | None = domain.default_operator()
    if wish is not None:
        return wish
    chosen: Operator
    if isinstance(domain, Sphere):
        chosen = second_order.SecondOrder()
    elif isinstance(domain, (Torus, Chart)):
        chosen = coordinate.Coordinate()
    elif isinstance(domain, Lattice):
        chosen = difference.Difference(bound=10.0)
    elif isinstance(domain, States):
        chosen = jumps.Jumps()
    elif isinstance(domain, Simplex):
        chosen = LogRatio()
    else:
        chosen = Standardised() if domain.has_boundary else Langevin()
    return chosen

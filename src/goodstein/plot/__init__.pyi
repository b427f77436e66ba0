# The public names, once: type checkers read them here, and so does `goodstein.lazy.attach`.

from goodstein.plot.choose import where as where
from goodstein.plot.collection import members as members
from goodstein.plot.effects import findings as findings
from goodstein.plot.matrix import pairs as pairs
from goodstein.plot.null import null_distribution as null_distribution
from goodstein.plot.observations import contributions as contributions
from goodstein.plot.style import svg as svg
from goodstein.plot.uniform import transform as transform

from goodstein.patterns.data import Patterns as Patterns
from goodstein.patterns.kernel import ConfigurationKernel as ConfigurationKernel
from goodstein.patterns.nodes import quadrature as quadrature
from goodstein.patterns.operator import Papangelou as Papangelou

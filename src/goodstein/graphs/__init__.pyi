from goodstein.graphs.data import Graph as Graph
from goodstein.graphs.data import as_graph as as_graph
from goodstein.graphs.kernel import WeisfeilerLehman as WeisfeilerLehman
from goodstein.graphs.operator import GlauberFlips as GlauberFlips
from goodstein.graphs.subgraphs import SubgraphCounts as SubgraphCounts

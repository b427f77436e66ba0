# The public names, once: type checkers read them here, and so does `goodstein.lazy.attach`.

from goodstein import (
    auxiliary as auxiliary,
)
from goodstein import (
    datasets as datasets,
)
from goodstein import (
    estimate as estimate,
)
from goodstein import (
    families as families,
)
from goodstein import (
    graphs as graphs,
)
from goodstein import (
    patterns as patterns,
)
from goodstein import (
    plot as plot,
)
from goodstein import (
    testing as testing,
)
from goodstein.adapters.model import as_model as as_model
from goodstein.adapters.posteriors import from_numpyro as from_numpyro
from goodstein.auditing.report import AuditReport as AuditReport
from goodstein.auxiliary.base import Auxiliary as Auxiliary
from goodstein.auxiliary.base import BoundaryDistance as BoundaryDistance
from goodstein.auxiliary.decaying import Decaying as Decaying
from goodstein.auxiliary.functions import (
    BallPower as BallPower,
)
from goodstein.auxiliary.functions import (
    BoxProduct as BoxProduct,
)
from goodstein.auxiliary.functions import (
    GeometricMean as GeometricMean,
)
from goodstein.auxiliary.functions import (
    ProductOfParts as ProductOfParts,
)
from goodstein.checking.check import check as check
from goodstein.checking.result import CheckResult as CheckResult
from goodstein.conditional.data import Paired as Paired
from goodstein.conditional.drawn_ranks import DrawnRanks as DrawnRanks
from goodstein.conditional.drawn_residuals import DrawnResiduals as DrawnResiduals
from goodstein.conditional.model import ConditionalModel as ConditionalModel
from goodstein.conditional.operator import Conditional as Conditional
from goodstein.conditional.residuals import Residuals as Residuals
from goodstein.data.base import Data as Data
from goodstein.data.chains import Chains as Chains
from goodstein.data.split import split as split
from goodstein.data.weights import Weighted as Weighted
from goodstein.domains.ball import Ball as Ball
from goodstein.domains.box import Box as Box
from goodstein.domains.box import Orthant as Orthant
from goodstein.domains.chart import Chart as Chart
from goodstein.domains.circle import Circle as Circle
from goodstein.domains.circle import Torus as Torus
from goodstein.domains.euclidean import Euclidean as Euclidean
from goodstein.domains.lattice import Lattice as Lattice
from goodstein.domains.lonlat import from_lonlat as from_lonlat
from goodstein.domains.naturals import Naturals as Naturals
from goodstein.domains.polygon import Polygon as Polygon
from goodstein.domains.polytope import Polytope as Polytope
from goodstein.domains.simplex import Simplex as Simplex
from goodstein.domains.sphere import Sphere as Sphere
from goodstein.domains.states import StateSpace as StateSpace
from goodstein.draws.reweight import stein_weights as stein_weights
from goodstein.draws.thin import thin as thin
from goodstein.errors import (
    CalibrationWarning as CalibrationWarning,
)
from goodstein.errors import (
    DomainError as DomainError,
)
from goodstein.errors import (
    InputError as InputError,
)
from goodstein.errors import (
    NumericalScoreWarning as NumericalScoreWarning,
)
from goodstein.errors import (
    ResourceError as ResourceError,
)
from goodstein.errors import (
    SamplingError as SamplingError,
)
from goodstein.errors import (
    ScoreError as ScoreError,
)
from goodstein.errors import (
    SteinIdentityError as SteinIdentityError,
)
from goodstein.graphs.data import Graph as Graph
from goodstein.kernels.bandwidth import Median as Median
from goodstein.kernels.gaussian import Gaussian as Gaussian
from goodstein.kernels.imq import IMQ as IMQ
from goodstein.kernels.imq import RationalQuadratic as RationalQuadratic
from goodstein.kernels.lattice import CategoricalProduct as CategoricalProduct
from goodstein.kernels.lattice import Hamming as Hamming
from goodstein.kernels.matern import Matern52 as Matern52
from goodstein.kernels.whitened import Whitened as Whitened
from goodstein.models.gradients import Gradients as Gradients
from goodstein.models.latent import LatentModel as LatentModel
from goodstein.models.model import Model as Model
from goodstein.models.posterior import Posterior as Posterior
from goodstein.monitoring.monitor import Monitor as Monitor
from goodstein.nulls.approximate import Nystrom as Nystrom
from goodstein.nulls.fitted import FittedWildBootstrap as FittedWildBootstrap
from goodstein.nulls.montecarlo import MonteCarlo as MonteCarlo
from goodstein.nulls.parametric import ParametricBootstrap as ParametricBootstrap
from goodstein.nulls.spectral import Spectral as Spectral
from goodstein.nulls.wild import WildBootstrap as WildBootstrap
from goodstein.operators.base import Operator as Operator
from goodstein.operators.coordinate import Coordinate as Coordinate
from goodstein.operators.difference import Difference as Difference
from goodstein.operators.dilation import Dilation as Dilation
from goodstein.operators.embedding import MeanEmbedding as MeanEmbedding
from goodstein.operators.jumps import Jumps as Jumps
from goodstein.operators.langevin import Langevin as Langevin
from goodstein.operators.latent import Latent as Latent
from goodstein.operators.logratio import LogRatio as LogRatio
from goodstein.operators.matrix import MatrixStandardised as MatrixStandardised
from goodstein.operators.mirrored import Mirrored as Mirrored
from goodstein.operators.perturbed import Perturbed as Perturbed
from goodstein.operators.regularised import Regularised as Regularised
from goodstein.operators.second_order import SecondOrder as SecondOrder
from goodstein.operators.standardised import Standardised as Standardised
from goodstein.operators.stochastic import Stochastic as Stochastic
from goodstein.operators.tangential import Tangential as Tangential
from goodstein.operators.views.counts import Counts as Counts
from goodstein.operators.views.direction import Direction as Direction
from goodstein.operators.views.drawn_level import DrawnLevel as DrawnLevel
from goodstein.operators.views.drawn_margins import DrawnMargins as DrawnMargins
from goodstein.operators.views.drawn_moments import DrawnMoments as DrawnMoments
from goodstein.operators.views.drawn_pairs import DrawnPairs as DrawnPairs
from goodstein.operators.views.drawn_radius import DrawnRadius as DrawnRadius
from goodstein.operators.views.harmonics import Harmonics as Harmonics
from goodstein.operators.views.margin import Margin as Margin
from goodstein.operators.views.moments import Moments as Moments
from goodstein.operators.views.pair import Pair as Pair
from goodstein.patterns.data import Patterns as Patterns
from goodstein.patterns.single import Pattern as Pattern
from goodstein.power import (
    Cell as Cell,
)
from goodstein.power import (
    neyman_pearson_power as neyman_pearson_power,
)
from goodstein.power import (
    power_study as power_study,
)
from goodstein.power import (
    sample_size as sample_size,
)
from goodstein.results.result import TestResult as TestResult
from goodstein.stein.features import SteinFeatures as SteinFeatures
from goodstein.survival.cox import CoxModel as CoxModel
from goodstein.survival.data import Censored as Censored
from goodstein.survival.hazard import Survival as Survival
from goodstein.survival.martingale import Martingale as Martingale
from goodstein.survival.model import SurvivalModel as SurvivalModel
from goodstein.survival.proportional import ProportionalHazards as ProportionalHazards
from goodstein.survival.regression import SurvivalRegression as SurvivalRegression
from goodstein.survival.residuals import CoxResiduals as CoxResiduals
from goodstein.survival.timing import Timing as Timing
from goodstein.tests_of_fit.aggregated import aggregated_test as aggregated_test
from goodstein.tests_of_fit.audit import audit as audit
from goodstein.tests_of_fit.conditional import conditional_ksd_test as conditional_ksd_test
from goodstein.tests_of_fit.equivalence import equivalence_test as equivalence_test
from goodstein.tests_of_fit.fssd import fssd_test as fssd_test
from goodstein.tests_of_fit.graphs import graph_ksd_test as graph_ksd_test
from goodstein.tests_of_fit.ksd import ksd_test as ksd_test
from goodstein.tests_of_fit.ksd import stein_matrix as stein_matrix
from goodstein.tests_of_fit.m3d import m3d_test as m3d_test
from goodstein.tests_of_fit.mmd import mmd_test as mmd_test
from goodstein.tests_of_fit.patterns import point_pattern_ksd_test as point_pattern_ksd_test
from goodstein.tests_of_fit.regularised import regularised_test as regularised_test
from goodstein.tests_of_fit.relative import relative_ksd_test as relative_ksd_test
from goodstein.tests_of_fit.select import select as select
from goodstein.version import __version__ as __version__

"""Domains: where a model is a density."""

from goodstein.domains.ball import Ball
from goodstein.domains.base import Domain, Face
from goodstein.domains.box import Box, Orthant
from goodstein.domains.chart import Chart
from goodstein.domains.circle import Circle, Torus
from goodstein.domains.euclidean import Euclidean
from goodstein.domains.lattice import Lattice
from goodstein.domains.polygon import Polygon
from goodstein.domains.polytope import Polytope
from goodstein.domains.simplex import Simplex
from goodstein.domains.sphere import Sphere

__all__ = [
    "Ball",
    "Box",
    "Chart",
    "Circle",
    "Domain",
    "Euclidean",
    "Face",
    "Lattice",
    "Orthant",
    "Polygon",
    "Polytope",
    "Simplex",
    "Sphere",
    "Torus",
]

"""Deformable elements, one file per kind; a new kind joins by one entry of ``ELEMENTS``."""

from hooke.elements.aerodynamics import AERODYNAMICS
from hooke.elements.attachment import ATTACHMENT
from hooke.elements.bending import BENDING
from hooke.elements.element import Element
from hooke.elements.spring import SPRING
from hooke.elements.tetrahedron import TETRAHEDRON
from hooke.elements.triangle import TRIANGLE

__all__ = ["ELEMENTS", "Element"]

ELEMENTS: tuple[Element, ...] = (SPRING, TRIANGLE, BENDING, TETRAHEDRON, ATTACHMENT, AERODYNAMICS)

"""Solvers: step a model in time."""

from hooke.solvers.solver import SolverBase, Status
from hooke.solvers.vbd.solver import SolverVBD

__all__ = ["SolverBase", "SolverVBD", "Status"]

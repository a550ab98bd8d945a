"""Solvers: step a model in time."""

from hooke.model.contacts import Contacts as ContactsKamino
from hooke.model.control import Control as ControlKamino
from hooke.model.enums import ModelFlags as SolverNotifyFlags
from hooke.model.model import Model as ModelKamino
from hooke.model.state import State as StateKamino
from hooke.solvers.kamino.config.config import JointCorrectionMode
from hooke.solvers.kamino.config.parts import (
    CollisionDetectorConfig,
    ConstrainedDynamicsConfig,
    ConstraintStabilizationConfig,
    DVIAPGDConfig,
    DVISolverConfig,
    ForwardKinematicsSolverConfig,
    LOXSolverConfig,
    MaterialManagerConfig,
    PADMMSolverConfig,
)
from hooke.solvers.kamino.ncp.solve import NcpSolution, solve_ncp
from hooke.solvers.kamino.solver import SolverKamino
from hooke.solvers.solver import SolverBase, Status
from hooke.solvers.vbd.solver import SolverVBD

__all__ = [
    "CollisionDetectorConfig",
    "ConstrainedDynamicsConfig",
    "ConstraintStabilizationConfig",
    "ContactsKamino",
    "ControlKamino",
    "DVIAPGDConfig",
    "DVISolverConfig",
    "ForwardKinematicsSolverConfig",
    "JointCorrectionMode",
    "LOXSolverConfig",
    "MaterialManagerConfig",
    "ModelKamino",
    "NcpSolution",
    "PADMMSolverConfig",
    "SolverBase",
    "SolverKamino",
    "SolverNotifyFlags",
    "SolverVBD",
    "StateKamino",
    "Status",
    "solve_ncp",
]

"""Recordings of simulations, and pictures, films and USD files of them.

The viewer reads Model and State and owns nothing.
"""

from hooke.viewer.camera import Camera
from hooke.viewer.record import Trajectory
from hooke.viewer.render import Style, render
from hooke.viewer.usd import write_usd

__all__ = ["Camera", "Style", "Trajectory", "render", "write_usd"]

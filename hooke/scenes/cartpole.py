"""A pole that a cart on a rail balances."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, about, anchors
from hooke.scenes.linkage import BARE, add_hinge
from hooke.scenes.scene import Scene, write_rows

__all__ = ["Balance", "cartpole"]


class Balance:
    """Pushes carts so that their poles stand and they go where they should.

    The push is linear in position, angle and their rates, with the poles of the closed loop where they are asked for (Ackermann's formula).

    Args:
        cart: Mass of the cart [kg].
        pole: Mass of the pole [kg].
        arm: Distance of its centre of mass from the hinge [m].
        inertia: Its moment of inertia about the hinge [kg m^2].
        goal: How far the cart is to go to either side [m].
        every: How long it stays at either side [s].
        poles: Of the closed loop [1/s].
        gravity: [m/s^2].
    """

    def __init__(
        self, cart: float, pole: float, arm: float, inertia: float, goal: float = 0.5, every: float = 3.0,
        poles: tuple[float, ...] = (-4.0, -4.4, -4.8, -5.2), gravity: float = 9.81,
    ):  # fmt: skip
        self.goal, self.every = goal, every
        masses = np.array([[cart + pole, pole * arm], [pole * arm, inertia]])
        system, push = np.zeros((4, 4)), np.zeros(4)
        system[:2, 2:] = np.eye(2)
        system[2:, 1] = np.linalg.solve(masses, [0.0, pole * gravity * arm])
        push[2:] = np.linalg.solve(masses, [1.0, 0.0])
        reach = np.stack([np.linalg.matrix_power(system, k) @ push for k in range(4)], axis=1)
        wanted = sum(c * np.linalg.matrix_power(system, 4 - k) for k, c in enumerate(np.poly(poles)))
        self.gains = np.linalg.solve(reach.T, [0.0, 0.0, 0.0, 1.0]) @ wanted
        self.now = np.zeros((1, 4))

    def place(self, time: float) -> float:
        """Where the cart is to be [m]."""
        return 0.0 if time < 0.5 * self.every else self.goal * (1.0 if int(time / self.every + 0.5) % 2 else -1.0)

    def watch(self, model: Any, state: Any, time: float) -> None:
        """Read position, angle and rates of all carts: bodies are cart, pole, cart, pole and so on."""
        q, qd = (array.numpy().astype(np.float64).reshape(-1, 2, width) for array, width in ((state.body_q, 7), (state.body_qd, 6)))
        start = model.body_q.numpy()[::2, 0]
        self.now = np.stack([q[:, 0, 0] - start, 2.0 * np.arctan2(q[:, 1, 4], q[:, 1, 6]), qd[:, 0, 0], qd[:, 1, 4]], axis=1)

    def __call__(self, model: Any, control: Any, time: float) -> None:
        error = self.now - np.array([self.place(time), 0.0, 0.0, 0.0])
        rail = np.arange(len(error)) * (model.joint_dof_count // len(error))
        write_rows(control.joint_f, rail, -error @ self.gains)


def cartpole(angle: float = 15.0, length: float = 0.8, goal: float = 0.5, every: float = 3.0) -> Scene:
    """An effort on a cart balances a pole while the cart goes to and fro on its rail.

    Args:
        angle: Of the pole to the vertical at the start [degrees].
        length: Of the pole [m].
        goal: How far the cart goes to either side [m].
        every: How long it stays there [s].
    """
    builder = ModelBuilder()
    builder.add_shape_box(-1, xform=(0, 0, 0.4, 0, 0, 0, 1), hx=1.2, hy=0.03, hz=0.03, cfg=BARE, color=(0.3, 0.3, 0.33))
    cart, tilt = builder.add_link(xform=(0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0), label="cart"), np.radians(angle)
    light = {"cfg": _dense(300.0)}
    builder.add_shape_box(cart, hx=0.13, hy=0.07, hz=0.06, color=PALETTE[0], **light)
    hinge = np.array([0.0, 0.0, 0.5])
    place = hinge + 0.5 * length * np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    pole = builder.add_link(xform=(*place, *about(1, tilt)), label="pole")
    builder.add_shape_box(pole, hx=0.02, hy=0.02, hz=0.5 * length, color=PALETTE[1], **light)
    rail = builder.add_joint_prismatic(-1, cart, axis="X", label="rail", **anchors(builder, -1, cart, hinge))
    builder.add_articulation([rail, add_hinge(builder, cart, pole, hinge, label="pivot")], label="cartpole")
    masses, inertia = builder.body_mass.array, builder.body_inertia.array[pole][1, 1]
    arm = 0.5 * length
    control = Balance(float(masses[cart]), float(masses[pole]), arm, float(inertia + masses[pole] * arm**2), goal, every)
    return Scene(
        "cartpole", builder, seconds=9.0, substeps=10, method="kamino", drive=control.watch, command=control,
        camera={"azimuth": -80.0, "elevation": 8.0},
    )  # fmt: skip


def _dense(density: float) -> Any:
    cfg = BARE.copy()
    cfg.density = density
    return cfg

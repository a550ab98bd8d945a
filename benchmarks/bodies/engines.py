"""A scene of bodies in hooke, newton and MuJoCo, each imported only in the process that runs it."""

from __future__ import annotations

import importlib
import os
from typing import Any, Protocol

import numpy as np

from benchmarks.bodies.cases import BodyCase, BodyScene, about, make_scene, product

__all__ = ["BodyEngine", "build_bodies"]


class BodyEngine(Protocol):
    """A case within one engine.

    Attributes:
        version: Of the engine.
        threads: Threads that a step uses.
    """

    version: str
    threads: int

    def step(self) -> None:
        """Move what is held, detect contacts and take one time step."""

    def start_graph(self) -> None:
        """From now on replay steps from a graph."""

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Copies of poses (n, 7) and linear velocities (n, 3)."""

    def overflow(self) -> dict[str, Any]:
        """Buffers that were too small, as {name: (needed, available)}, and warnings of instability; empty when all went well."""

    def facts(self) -> dict[str, Any]:
        """Further numbers: contacts of the last step, ``residual`` [N] where the engine tells."""


class ArrayEngine:
    """hooke or newton: the same calls of their builders, detection and solver as a user calls them."""

    def __init__(self, module: Any, case: BodyCase, solver: dict[str, Any]):
        import warp as wp

        self.wp, self.case, self.scene = wp, case, make_scene(case)
        self.model = self.build(module)
        self.pipeline = module.CollisionPipeline(self.model)
        self.contacts = self.pipeline.contacts()
        self.solver = module.solvers.SolverVBD(self.model, iterations=case.iterations, **solver)
        self.states = [self.model.state(), self.model.state()]
        self.control = self.model.control()
        self.version, self.steps = module.__version__, 0
        self.graphs: list[Any] = []
        self.needed = 0

    def build(self, module: Any) -> Any:
        """The model of the scene."""
        wp, scene = self.wp, self.scene
        builder = module.ModelBuilder()
        shape = builder.ShapeConfig(density=scene.density, mu=scene.mu, ke=scene.ke, kd=scene.kd, gap=scene.gap)
        builder.add_ground_plane(cfg=shape)
        linked = len(scene.joint) > 0
        for b, pose in enumerate(scene.pose.tolist()):
            add = builder.add_link if linked else builder.add_body
            body = add(xform=wp.transform(wp.vec3(*pose[:3]), wp.quat(*pose[3:])), is_kinematic=b in scene.held)
            if scene.box:
                builder.add_shape_box(body, hx=scene.box[0], hy=scene.box[1], hz=scene.box[2], cfg=shape)
            elif scene.capsule:
                builder.add_shape_capsule(body, radius=scene.capsule[0], half_height=scene.capsule[1], cfg=shape)
        self.link(builder)
        builder.color()
        return builder.finalize(device="cpu")

    def link(self, builder: Any) -> None:
        """Add the joints of cables; each cable is an articulation."""
        wp, scene = self.wp, self.scene
        half = scene.capsule[1] if scene.capsule else 0.0
        end, begin = (wp.transform(wp.vec3(0.0, 0.0, z), wp.quat_identity()) for z in (half, -half))
        chain: list[int] = []
        for k, (parent, child) in enumerate(scene.joint.tolist()):
            chain.append(builder.add_joint_rod(
                parent, child, parent_xform=end, child_xform=begin, stretch_stiffness=scene.stretch, bend_stiffness=scene.bend,
                bend_damping=scene.bend_damping,
            ))  # fmt: skip
            if k + 1 == len(scene.joint) or scene.joint[k + 1, 0] != child:
                builder.add_articulation(chain)
                chain = []

    def turn_held(self) -> None:
        """Put the bodies that are moved where they are at the end of the step; both states, so that either is read."""
        scene, pose = self.scene, self.states[0].body_q.numpy()
        angle = scene.rate * self.case.dt * (self.steps + 1)
        for b in scene.held:
            pose[b, 3:] = product(scene.pose[b, 3:], about(2, angle))

    def launch(self, now: Any, after: Any) -> None:
        """Detection and a step."""
        self.pipeline.collide(now, self.contacts)
        self.solver.step(now, after, self.control, self.contacts, self.case.dt)

    def step(self) -> None:
        if self.scene.held:
            self.turn_held()
        if self.graphs:
            self.wp.capture_launch(self.graphs[0])
            self.graphs.reverse()
        else:
            self.launch(*self.states)
        self.states.reverse()
        self.steps += 1

    def start_graph(self) -> None:
        """Record a step in both directions; nothing is executed meanwhile."""
        for now, after in (self.states, self.states[::-1]):
            with self.wp.ScopedCapture(device=self.model.device) as capture:
                self.launch(now, after)
            self.graphs.append(capture.graph)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        state = self.states[0]
        return state.body_q.numpy().copy(), state.body_qd.numpy()[:, :3].copy()

    def overflow(self) -> dict[str, Any]:
        """Rows of contacts that there was no room for; of newton also those of one body."""
        needed, room = int(self.contacts.rigid_contact_count.numpy()[0]), int(self.contacts.rigid_contact_max)
        return {"rigid_contact": (needed, room)} if needed > room else {}

    def facts(self) -> dict[str, Any]:
        return {"contacts": int(self.contacts.rigid_contact_count.numpy()[0])}


class HookeBodies(ArrayEngine):
    """hooke as it is called."""

    def __init__(self, case: BodyCase):
        hooke = importlib.import_module("hooke")
        super().__init__(hooke, case, {})
        given = hooke.config.workers
        self.threads = int(given) if given else int(os.cpu_count() or 1)

    def start_graph(self) -> None:
        raise ValueError("hooke records its steps by itself; it runs in the way 'plain' only")

    def overflow(self) -> dict[str, Any]:
        return super().overflow() | dict(self.solver.status.overflow)

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"residual": float(self.solver.status.residual)}


class NewtonBodies(ArrayEngine):
    """newton through its public interface. Its lists of contacts of a body do not tell when they overflow: their need is counted."""

    def __init__(self, case: BodyCase):
        self.room = case.buffer
        super().__init__(importlib.import_module("newton"), case, {"rigid_body_contact_buffer_size": self.room})
        self.threads = 1

    def overflow(self) -> dict[str, Any]:
        count = min(int(self.contacts.rigid_contact_count.numpy()[0]), int(self.contacts.rigid_contact_max))
        body = self.model.shape_body.numpy()
        shapes = [getattr(self.contacts, f"rigid_contact_shape{k}").numpy()[:count] for k in (0, 1)]
        owner = np.concatenate([body[s[s >= 0]] for s in shapes])
        most = int(np.bincount(owner[owner >= 0]).max(initial=0))
        return super().overflow() | ({"contacts of a body": (most, self.room)} if most > self.room else {})


class MujocoBodies:
    """MuJoCo with its default options and as many iterations at most; no cables."""

    def __init__(self, case: BodyCase):
        mujoco = importlib.import_module("mujoco")
        self.mujoco, self.scene = mujoco, make_scene(case)
        self.model = mujoco.MjModel.from_xml_string(describe(self.scene, case))
        self.data = mujoco.MjData(self.model)
        self.version, self.threads = mujoco.__version__, 1

    def step(self) -> None:
        self.mujoco.mj_step(self.model, self.data)

    def start_graph(self) -> None:
        raise ValueError("MuJoCo has no graphs; it runs in the way 'plain' only")

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        q = self.data.qpos.reshape(-1, 7)
        return np.concatenate([q[:, :3], q[:, 4:], q[:, 3:4]], axis=1), self.data.qvel.reshape(-1, 6)[:, :3].copy()

    def overflow(self) -> dict[str, Any]:
        names = [name for name in dir(self.mujoco.mjtWarning) if name.startswith("mjWARN_")]
        counts = {name: int(self.data.warning[getattr(self.mujoco.mjtWarning, name)].number) for name in names}
        return {name: (count, 0) for name, count in counts.items() if count}

    def facts(self) -> dict[str, Any]:
        return {"contacts": int(self.data.ncon)}


def describe(scene: BodyScene, case: BodyCase) -> str:
    """A scene of boxes in MJCF."""
    if scene.box is None:
        raise ValueError(f"{case.name}: MuJoCo runs boxes only here")
    size, bodies = " ".join(map(str, scene.box)), []
    for x, y, z, i, j, k, w in scene.pose.tolist():
        geom = f'<geom type="box" size="{size}" density="{scene.density}" friction="{scene.mu}" margin="{scene.gap}" gap="{scene.gap}"/>'
        bodies.append(f'<body pos="{x} {y} {z}" quat="{w} {i} {j} {k}"><freejoint/>{geom}</body>')
    return f"""<mujoco><option timestep="{case.dt}" iterations="{case.iterations}" gravity="0 0 -9.81"/><worldbody>
        <geom type="plane" size="0 0 1" friction="{scene.mu}"/>{"".join(bodies)}</worldbody></mujoco>"""


def build_bodies(name: str, case: BodyCase) -> BodyEngine:
    """A case, ready to step, in the engine of a name."""
    kinds: dict[str, Any] = {"hooke": HookeBodies, "newton": NewtonBodies, "mujoco": MujocoBodies}
    engine: BodyEngine = kinds[name](case)
    return engine

"""The leg of Theo Jansen's walking machines."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE
from hooke.scenes.linkage import add_bar, add_hinge, add_peg, add_plate, at_distances, drive_speed
from hooke.scenes.scene import Scene

__all__ = ["jansen_leg", "jansen_points"]

B, C, D, E, F, G, H, J, K, M = 0.415, 0.393, 0.401, 0.558, 0.394, 0.367, 0.657, 0.50, 0.619, 0.15
I_ = 0.49
PIVOT = np.array([-0.38, 0.0, -0.078])


def jansen_points(angle: float) -> dict[str, np.ndarray]:
    """Where the hinges are when the crank is at an angle [rad], the axis of the crank being the origin [m].

    The lengths are the "holy numbers" of the machine, taken as centimetres.
    """
    crank = M * np.array([np.cos(angle), 0.0, np.sin(angle)])
    knee = at_distances(PIVOT, crank, B, J)
    heel = at_distances(crank, PIVOT, K, C)
    back = at_distances(PIVOT, knee, D, E)
    ankle = at_distances(heel, back, G, F)
    foot = at_distances(heel, ankle, I_, H)
    return {"crank": crank, "pivot": PIVOT, "knee": knee, "heel": heel, "back": back, "ankle": ankle, "foot": foot}


def jansen_leg(rate: float = 5.0, angle: float = 20.0, height: float = 1.2) -> Scene:
    """Seven bars with ten hinges, three loops, and one motor; the foot goes along a nearly flat line.

    Args:
        rate: Speed of the crank [rad/s].
        angle: Of the crank at the start [degrees].
        height: Of the axis of the crank [m].
    """
    builder = ModelBuilder()
    axis = np.array([0.0, 0.0, height])
    p = {name: place + axis for name, place in jansen_points(np.radians(angle)).items()}
    for place in (axis, p["pivot"]):
        add_peg(builder, place, radius=0.02)
    crank = add_bar(builder, axis, p["crank"], label="crank", color=PALETTE[0], radius=0.012)
    upper = add_bar(builder, p["crank"], p["knee"], label="upper_rod", radius=0.012)
    lower = add_bar(builder, p["crank"], p["heel"], label="lower_rod", radius=0.012)
    shoulder = add_plate(builder, [p["pivot"], p["knee"], p["back"]], label="shoulder", radius=0.012, color=PALETTE[2])
    link = add_bar(builder, p["pivot"], p["heel"], label="link", radius=0.012)
    tendon = add_bar(builder, p["back"], p["ankle"], label="tendon", radius=0.012)
    leg = add_plate(builder, [p["heel"], p["ankle"], p["foot"]], label="leg", radius=0.012, color=PALETTE[3])
    tree = [
        add_hinge(builder, -1, crank, axis, label="motor", **drive_speed(-rate)),
        add_hinge(builder, crank, upper, p["crank"], label="crank_pin_upper"),
        add_hinge(builder, crank, lower, p["crank"], label="crank_pin_lower"),
        add_hinge(builder, upper, shoulder, p["knee"], label="knee"),
        add_hinge(builder, lower, link, p["heel"], label="heel_link"),
        add_hinge(builder, shoulder, tendon, p["back"], label="back"),
        add_hinge(builder, tendon, leg, p["ankle"], label="ankle"),
    ]
    builder.add_articulation(tree, label="leg")
    add_hinge(builder, -1, shoulder, p["pivot"], label="shoulder_pivot")
    add_hinge(builder, -1, link, p["pivot"], label="link_pivot")
    add_hinge(builder, lower, leg, p["heel"], label="heel")
    return Scene("jansen_leg", builder, seconds=4.0, substeps=10, method="kamino", camera={"azimuth": -90.0, "elevation": 5.0})

"""The same two-link arm in three formats, and short ways to read texts."""

import warnings

import numpy as np

import hooke

URDF = """<robot name="arm">
  <link name="base">
    <inertial><origin xyz="0 0 0.1"/><mass value="3"/><inertia ixx="0.04" iyy="0.05" izz="0.06" ixy="0.001" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.3 0.4"/></geometry></collision>
  </link>
  <link name="upper">
    <inertial><origin xyz="0.2 0 0" rpy="0 0 0.3"/><mass value="1.5"/><inertia ixx="0.002" iyy="0.02" izz="0.021" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.2 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.05" length="0.4"/></geometry></collision>
  </link>
  <link name="slider">
    <inertial><mass value="0.5"/><inertia ixx="0.001" iyy="0.002" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.06"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0.1 0 0.2" rpy="0 0 1.5707963267948966"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1.5" effort="40" velocity="7"/><dynamics damping="0.3" friction="0.1"/>
  </joint>
  <joint name="reach" type="prismatic">
    <parent link="upper"/><child link="slider"/><origin xyz="0.4 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-0.1" upper="0.2" effort="10" velocity="2"/>
  </joint>
</robot>"""  # noqa: E501

MJCF = """<mujoco model="arm">
  <compiler angle="degree" eulerseq="XYZ"/>
  <default><geom contype="1"/><default class="rod"><geom type="cylinder" size="0.05 0.2"/></default></default>
  <worldbody>
    <body name="base">
      <inertial pos="0 0 0.1" mass="3" fullinertia="0.04 0.05 0.06 0.001 0 0"/>
      <geom name="box" type="box" size="0.1 0.15 0.2"/>
      <body name="upper" pos="0.1 0 0.2" euler="0 0 90">
        <inertial pos="0.2 0 0" euler="0 0 17.188733853924695" mass="1.5" diaginertia="0.002 0.02 0.021"/>
        <joint name="shoulder" axis="0 1 0" range="-57.29577951308232 85.94366926962348" damping="0.3" frictionloss="0.1"/>
        <geom name="rod" class="rod" fromto="0 0 0 0.4 0 0"/>
        <body name="slider" pos="0.4 0 0">
          <inertial pos="0 0 0" mass="0.5" diaginertia="0.001 0.002 0.003"/>
          <joint name="reach" type="slide" axis="1 0 0" range="-0.1 0.2"/>
          <geom name="tip" size="0.06"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>"""

USDA = """#usda 1.0
(
    metersPerUnit = 0.01
    kilogramsPerUnit = 1
    upAxis = "Z"
)
def PhysicsScene "scene" { float physics:gravityMagnitude = 981 }
def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "NewtonMassAPI"])
{
    float physics:mass = 3
    point3f physics:centerOfMass = (0, 0, 10)
    double[] newton:inertia = [400, 500, 600, 10, 0, 0]
    def Cube "box" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double size = 1
        double3 xformOp:scale = (20, 30, 40)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    }
}
def Xform "upper" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    double3 xformOp:translate = (10, 0, 20)
    double xformOp:rotateZ = 90
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ"]
    float physics:mass = 1.5
    point3f physics:centerOfMass = (20, 0, 0)
    float3 physics:diagonalInertia = (20, 200, 210)
    quatf physics:principalAxes = (0.9887710779360422, 0, 0, 0.14943813247359922)
    def Cylinder "rod" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double radius = 5
        double height = 40
        uniform token axis = "X"
        double3 xformOp:translate = (20, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}
def Xform "slider" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    double3 xformOp:translate = (10, 40, 20)
    double xformOp:rotateZ = 90
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ"]
    float physics:mass = 0.5
    float3 physics:diagonalInertia = (10, 20, 30)
    def Sphere "tip" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double radius = 6 }
}
def PhysicsFixedJoint "ground" { rel physics:body1 = </base> }
def PhysicsRevoluteJoint "shoulder" (prepend apiSchemas = ["NewtonJointAPI"])
{
    rel physics:body0 = </base>
    rel physics:body1 = </upper>
    point3f physics:localPos0 = (10, 0, 20)
    quatf physics:localRot0 = (0.7071067811865476, 0, 0, 0.7071067811865476)
    uniform token physics:axis = "Y"
    float physics:lowerLimit = -57.29577951308232
    float physics:upperLimit = 85.94366926962348
    float newton:damping = 52.35987755982989
    float newton:friction = 1000
    float newton:velocityLimit = 401.07045659157625
}
def PhysicsPrismaticJoint "reach"
{
    rel physics:body0 = </upper>
    rel physics:body1 = </slider>
    point3f physics:localPos0 = (40, 0, 0)
    uniform token physics:axis = "X"
    float physics:lowerLimit = -10
    float physics:upperLimit = 20
}
"""


def usd_text(text):
    """The text with every brace on lines of its own, as the reader of usda wants it."""
    lines = []
    for line in text.splitlines():
        head, brace, rest = line.partition(" { ")
        if brace and rest.rstrip().endswith("}"):
            lines += [head, "{", *rest.rstrip()[:-1].split(";"), "}"]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def from_text(tmp_path, kind, text, quiet=True, builder=None, **options):
    """A builder with what a text describes."""
    builder = builder or hooke.ModelBuilder()
    if kind == "usd":
        path = tmp_path / "scene.usda"
        path.write_text(usd_text(text))
        source = str(path)
    else:
        source = text
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        builder.result = getattr(builder, f"add_{kind}")(source, **options)
    return builder


def counts(builder):
    """What must not change when an import fails."""
    tables = {name: rows.count for name, rows in builder._tables.items()}
    return tables, dict(builder.custom_attributes), np.array(builder.gravity).tolist()

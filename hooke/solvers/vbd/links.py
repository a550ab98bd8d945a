"""Links between particles and bodies that move: contacts and attachments, seen from the body.

A link ties a point X of the surface or of particles, which starts the step at X_s and has moved by D, to a body. Where the body has
moved by d and turned by exp(phi) from its centre of mass c, the point fixed to it has moved by

    u = d + (exp(phi) - 1) r,     r = X_s - c                                                      (1)

and everything the link says of the particle's motion is said of D - u. The body feels the opposite of the force on the particle at the
lever r, that at the start of the step: backward Euler changes the angular momentum of a particle by x_s x h f, of a body by
h (c x f + t), so that with this lever both together keep theirs to rounding (bodies that meet have the same, body_contacts.py).

The damper of a contact counts the approach from where the two touch. Were it that of the whole step, the force would jump where they do,
and a step that ends there would have no balance of forces.

In the documented formulation (``at_surface``) the body takes the force where its own point of contact or attachment is now, r is that of
this point and turns with the body, and dampers count the approach of the whole step.

Links are numbered: the rows of particles, then those of edges and faces, then attachments.
"""

import warp as wp

from hooke.elements.attachment import Attachments
from hooke.execution.work import Work, first_item, next_item
from hooke.math.memory import take_number
from hooke.model.contacts import SoftRows
from hooke.model.tables import Shapes
from hooke.solvers.vbd.body_contacts import contact_block, may_move
from hooke.solvers.vbd.body_motion import BodyMotion, turned
from hooke.solvers.vbd.contacts import corners_of, row_count
from hooke.solvers.vbd.facets import is_facet
from hooke.solvers.vbd.features import ROW, FeatureContacts
from hooke.solvers.vbd.workspace import ContactRows, VertexMotion

__all__ = ["Links", "begin_links", "follow_links", "gather_links", "list_links", "merge_touching", "sort_links", "start_movers"]

FEW_LINKS = wp.constant(24)


@wp.struct
class Links:
    """The links of a step: ``rows`` of particles, ``facets`` of edges and faces, then attachments; ``body`` is -1 of one without effect.

    ``corner`` and ``weight`` say which particles X is made of, ``lever`` is r. ``offset``, ``motion`` and ``reach`` are those of the row
    for a body that does not move; for a facet ``offset`` holds its distance, for an attachment the lever of its point and ``motion`` how
    far it has come where the step begins.
    ``pull`` is the force that a body's solve takes for the link and ``stiffness`` its matrix. The links of body b are
    ``link[first[b]] ... link[first[b + 1]]`` in increasing order; ``touching`` grows where a body has links or meets bodies.
    ``carrier`` is the link by which a body, ``mark``, takes a particle along, -1 without one; ``moved`` is u. ``at_surface`` is 1 where r
    is that of a point of the body.
    """

    at_surface: wp.int32
    rows: wp.int32
    facets: wp.int32
    body: wp.array(dtype=wp.int32)
    corner: wp.array(dtype=wp.vec3i)
    weight: wp.array(dtype=wp.vec3)
    lever: wp.array(dtype=wp.vec3)
    offset: wp.array(dtype=wp.vec3)
    motion: wp.array(dtype=wp.vec3)
    reach: wp.array(dtype=wp.vec3)
    moved: wp.array(dtype=wp.vec3)
    pull: wp.array(dtype=wp.vec3)
    stiffness: wp.array(dtype=wp.mat33)
    first: wp.array(dtype=wp.int32)
    filled: wp.array(dtype=wp.int32)
    touching: wp.array(dtype=wp.int32)
    link: wp.array(dtype=wp.int32)
    carrier: wp.array(dtype=wp.int32)
    mark: wp.array(dtype=wp.int32)


@wp.kernel(enable_backward=False)
def start_movers(work: Work, motion: BodyMotion, body_q: wp.array(dtype=wp.transform), body_q_prev: wp.array(dtype=wp.transform)):
    """Bodies that move start where the state says."""
    b = first_item(work, wp.tid())
    while b >= 0:
        if motion.moves[b] != 0:
            body_q_prev[b] = body_q[b]
        b = next_item(work, b)


@wp.func
def put_link(
    links: Links, motion: BodyMotion, k: int, b: int, corner: wp.vec3i, weight: wp.vec3, x: wp.vec3, point: wp.vec3
):  # fmt: skip
    """A link of X at ``x`` to a ``point`` of a body."""
    links.body[k] = b
    links.corner[k] = corner
    links.weight[k] = weight
    links.lever[k] = wp.where(links.at_surface != 0, point, x) - motion.com[b]
    links.moved[k] = wp.vec3(0.0)
    take_number(b, links.filled)


@wp.func
def from_touching(motion: wp.vec3, n: wp.vec3, distance: float, radius: float):
    """The motion of the surface that leaves of the approach what comes after touching."""
    return motion - wp.max(distance - radius, 0.0) * n


@wp.func
def begin_row(
    links: Links, soft: SoftRows, bound: ContactRows, shapes: Shapes, vertices: VertexMotion, motion: BodyMotion,
    body_q: wp.array(dtype=wp.transform), k: int,
):  # fmt: skip
    """The link of a particle's row."""
    if k < bound.first[bound.first.shape[0] - 1]:
        b = shapes.body[bound.shape[k]]
        if may_move(motion, b):
            i = soft.indices[bound.source[k]][0]
            point = wp.transform_point(body_q[b], soft.body_pos[bound.source[k]])
            put_link(links, motion, k, b, wp.vec3i(i, -1, -1), wp.vec3(1.0, 0.0, 0.0), vertices.start[i], point)
            links.offset[k] = 1.0 * bound.offset[k]
            links.motion[k] = 1.0 * bound.motion[k]
            if links.at_surface == 0:
                links.motion[k] = from_touching(
                    bound.motion[k], bound.normal[k], wp.dot(bound.normal[k], bound.offset[k]), bound.radius[k]
                )
            links.reach[k] = 1.0 * bound.reach[k]


@wp.func
def begin_facet(links: Links, soft: SoftRows, features: FeatureContacts, shapes: Shapes, vertices: VertexMotion, motion: BodyMotion,
                body_q: wp.array(dtype=wp.transform), k: int, r: int):  # fmt: skip
    """The link of an edge or a face."""
    if r < row_count(soft):
        b = shapes.body[soft.shape[r]]
        if is_facet(soft, r) and may_move(motion, b):
            x = wp.vec3(0.0)
            corner = soft.indices[r]
            for c in range(corners_of(soft, r)):
                x += soft.barycentric[r][c] * vertices.start[corner[c]]
            put_link(links, motion, k, b, corner, soft.barycentric[r], x, wp.transform_point(body_q[b], soft.body_pos[r]))
            links.offset[k] = wp.vec3(features.row[ROW * r + 3], 0.0, 0.0)
            n = wp.vec3(features.row[ROW * r], features.row[ROW * r + 1], features.row[ROW * r + 2])
            v = wp.vec3(features.row[ROW * r + 13], features.row[ROW * r + 14], features.row[ROW * r + 15])
            links.motion[k] = v
            if links.at_surface == 0:
                links.motion[k] = from_touching(v, n, features.row[ROW * r + 3], features.row[ROW * r + 11])


@wp.func
def begin_attachment(links: Links, e: Attachments, vertices: VertexMotion, motion: BodyMotion, k: int, a: int):
    """The link of an attachment."""
    b = e.body[a]
    if may_move(motion, b) and e.enabled[a]:
        i = e.particle[a]
        p = vertices.start.shape[0] - 1 - e.particle.shape[0] + a
        point = vertices.start[p] + vertices.displacement[p]
        put_link(links, motion, k, b, wp.vec3i(i, -1, -1), wp.vec3(1.0, 0.0, 0.0), vertices.start[i], point)
        links.offset[k] = point - motion.com[b]
        links.motion[k] = 1.0 * vertices.displacement[p]


@wp.kernel(enable_backward=False)
def begin_links(
    work: Work, soft: SoftRows, bound: ContactRows, features: FeatureContacts, attachments: Attachments, shapes: Shapes,
    vertices: VertexMotion, motion: BodyMotion, body_q: wp.array(dtype=wp.transform), links: Links,
):  # fmt: skip
    """Which links there are, what they are without motion of the body, and how many each body has."""
    k = first_item(work, wp.tid())
    while k >= 0:
        links.body[k] = -1
        if k < links.rows:
            begin_row(links, soft, bound, shapes, vertices, motion, body_q, k)
        elif k < links.rows + links.facets:
            begin_facet(links, soft, features, shapes, vertices, motion, body_q, k, k - links.rows)
        else:
            begin_attachment(links, attachments, vertices, motion, k, k - links.rows - links.facets)
        k = next_item(work, k)


@wp.kernel(enable_backward=False)
def list_links(work: Work, links: Links):
    """The links of every body, in no order."""
    k = first_item(work, wp.tid())
    while k >= 0:
        b = links.body[k]
        if b >= 0:
            links.link[links.first[b] + take_number(b, links.filled)] = k
        k = next_item(work, k)


@wp.kernel(enable_backward=False)
def sort_links(work: Work, links: Links):
    """The links of every body in increasing order (Shell's sort), so that sums do not depend on who came first."""
    b = first_item(work, wp.tid())
    while b >= 0:
        first, last = links.first[b], links.first[b + 1]
        stride = int(1)
        while stride < (last - first) // FEW_LINKS:
            stride = 3 * stride + 1
        while stride > 0:
            for i in range(first + stride, last):
                value, at = 1 * links.link[i], int(i)
                while at - stride >= first and links.link[wp.max(at - stride, first)] > value:
                    links.link[at] = links.link[at - stride]
                    at -= stride
                links.link[at] = value
            stride = stride // 3
        b = next_item(work, b)


@wp.kernel(enable_backward=False)
def merge_touching(work: Work, rigid: wp.array(dtype=wp.int32), links: Links):
    """Running sums of links and of the ``rigid`` rows of bodies together."""
    b = first_item(work, wp.tid())
    while b >= 0:
        links.touching[b] = links.first[b]
        if rigid.shape[0] > 0:
            links.touching[b] = links.first[b] + rigid[b]
        b = next_item(work, b)


@wp.kernel(enable_backward=False)
def gather_links(work: Work, links: Links, motion: BodyMotion):
    """What the links of every body add to its equations."""
    b = first_item(work, wp.tid())
    while b >= 0:
        force = wp.spatial_vector()
        matrix = wp.spatial_matrix()
        for n in range(links.first[b], links.first[b + 1]):
            k = links.link[n]
            f, lever = links.pull[k], 1.0 * links.lever[k]
            if links.at_surface != 0:
                lever += turned(motion.turn[b], lever)
            t = wp.cross(lever, f)
            force += wp.spatial_vector(f[0], f[1], f[2], t[0], t[1], t[2])
            matrix += contact_block(links.stiffness[k], lever, lever)
        motion.pull[b] = force
        motion.stiffening[b] = matrix
        pushed = matrix[0, 0] + matrix[1, 1] + matrix[2, 2] > 0.0
        motion.pushed[b] = wp.where(pushed, 1, 0)
        if pushed:
            motion.busy[0] = 1
            motion.busy[1] = 1
        b = next_item(work, b)


@wp.kernel(enable_backward=False)
def follow_links(
    work: Work, motion: BodyMotion, place: wp.array(dtype=wp.int32), links: Links, bound: ContactRows, features: FeatureContacts,
    vertices: VertexMotion, displacement: wp.array(dtype=wp.vec3),
):  # fmt: skip
    """Rows and points where the bodies are now. Particles go along with what carries them if they have a ``place``."""
    k = first_item(work, wp.tid())
    while k >= 0:
        b = links.body[k]
        if b >= 0:
            u = motion.way[b] + turned(motion.turn[b], links.lever[k])
            i = links.corner[k][0]
            if place.shape[0] > 0 and links.carrier[i] == k:
                displacement[place[i]] = displacement[place[i]] + (u - links.moved[k])
            links.moved[k] = u
            if k < links.rows:
                bound.offset[k] = links.offset[k] - u
                bound.motion[k] = links.motion[k] + u
                bound.reach[k] = links.reach[k] - u
            elif k < links.rows + links.facets:
                r = k - links.rows
                n = wp.vec3(features.row[ROW * r], features.row[ROW * r + 1], features.row[ROW * r + 2])
                features.row[ROW * r + 3] = links.offset[k][0] - wp.dot(n, u)
                for c in range(3):
                    features.row[ROW * r + 13 + c] = links.motion[k][c] + u[c]
            else:
                p = vertices.start.shape[0] - 1 - (links.body.shape[0] - k)
                vertices.displacement[p] = links.motion[k] + motion.way[b] + turned(motion.turn[b], links.offset[k])
        k = next_item(work, k)

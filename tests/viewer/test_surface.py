import numpy as np

from hooke.viewer.surface import connected_pieces, smooth_corners, weld

from .fake import box


def test_connected_pieces():
    rng = np.random.default_rng(0)
    order = rng.permutation(300)  # three strips of a hundred vertices with scattered numbers
    strips = np.concatenate([[(i, i + 1, i + 2) for i in range(s, s + 98)] for s in (0, 100, 200)])
    triangles = order[rng.permutation(strips)]
    piece = connected_pieces(triangles, 310)
    strip = np.argsort(order)[triangles[:, 0]] // 100
    assert piece.max() == 2
    assert len(set(zip(strip.tolist(), piece.tolist()))) == 3
    assert len(connected_pieces(np.zeros((0, 3), int), 5)) == 0


def test_creases():
    vertices, triangles = box(1.0)
    start, faces = smooth_corners(vertices, triangles, np.radians(50))
    for corner in range(36):  # a box is flat: corners share only the two triangles of their side
        around = faces[start[corner] : start[corner + 1]]
        assert set(around // 2) == {corner // 6}
        assert corner // 3 in around
    start, faces = smooth_corners(vertices, triangles, np.radians(100))
    valence = np.bincount(triangles.ravel())
    np.testing.assert_array_equal(np.diff(start), valence[triangles.ravel()])


def test_a_degenerate_triangle_has_at_least_its_own_face():
    start, faces = smooth_corners(np.zeros((3, 3)), np.array([[0, 1, 2]]), 1.0)
    assert start.tolist() == [0, 1, 2, 3] and faces.tolist() == [0, 0, 0]


def test_weld():
    vertices = np.array([(0, 0, 0), (1, 0, 0), (0, 0, 0), (1, 1e-9, 0), (1, 1e-3, 0)], np.float32)
    assert weld(vertices).tolist() == [0, 1, 0, 1, 4]

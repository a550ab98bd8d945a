"""The solve of one complementarity problem: closed forms, references in NumPy, and what is reported (theory 5, 10.1)."""

import numpy as np
import pytest
import warp as wp

from hooke.solvers.kamino.ncp.cones import project_cone, project_dual_cone
from hooke.solvers.kamino.ncp.options import COLUMNS, PenaltyMethod, make_options
from hooke.solvers.kamino.ncp.problem import RowKind
from hooke.solvers.kamino.ncp.solve import solve_ncp
from tests.kamino import ncp_problems as problems
from tests.kamino.ncp_problems import Solved, box_on_plane, natural_map, proximal_admm, reference, rows, sphere_on_plane

BILATERAL, BOX, ONE_SIDED, CONTACT, REST = RowKind
SCALARS = (wp.float64, wp.float32)
TIGHT = {"primal_tolerance": 1e-10, "dual_tolerance": 1e-10, "compl_tolerance": 1e-10}
PLAIN = {"polish": 0}  # proximal ADMM alone
GRAVITY_IMPULSE = 9.81e-3  # of 1 kg in 1 ms


def one(p, **options):
    """(impulse, velocity, status) of one problem."""
    solved = Solved([p], **options)
    return solved.impulse[0], solved.velocity[0], solved.status[0]


def random_rows(rng, singles, contacts, mu=0.6):
    """A problem with a well-conditioned matrix: rows of all kinds, then contacts."""
    n = singles + 3 * contacts
    G = rng.normal(size=(n, n + 4))
    kinds = [*rng.choice([BILATERAL, BOX, ONE_SIDED], singles), *(k for _ in range(contacts) for k in (CONTACT, REST, REST))]
    bound = rng.uniform(0.01, 0.3, (2, n))
    return rows(G @ G.T / n + 0.1 * np.eye(n), rng.normal(size=n), kinds, mu, -bound[0], bound[1])


# Sets


@wp.kernel(enable_backward=False, module="unique")
def project_both(a: wp.array(dtype=wp.vec3d), mu: wp.array(dtype=wp.float64), out: wp.array2d(dtype=wp.vec3d)):
    i = wp.tid()
    out[i, 0] = project_cone(a[i], mu[i])
    out[i, 1] = project_dual_cone(a[i], mu[i])


def test_projections():
    """Theory 5.4, and Moreau's decomposition: a = P_K a - P_K*(-a)."""
    points, mus = [], []
    for mu in (1e-6, 1.0, 1e6, 0.0):
        points += [(1, 0, 0), (1, 0, 1), (1, 0, -1)]
        mus += [mu] * 3
    rng = np.random.default_rng(3)
    points, mus = np.vstack([points, rng.normal(size=(60, 3))]), np.concatenate([mus, rng.uniform(0, 2, 60)])
    both = np.vstack([points, -points])
    out = wp.zeros((len(both), 2), dtype=wp.vec3d, device="cpu")
    wp.launch(project_both, len(both), [wp.array(both, dtype=wp.vec3d, device="cpu"),
              wp.array(np.tile(mus, 2), dtype=wp.float64, device="cpu")], [out], device="cpu")  # fmt: skip
    primal, dual = out.numpy()[:, 0], out.numpy()[:, 1]
    for k, mu in enumerate((1e-6, 1.0, 1e6)):
        den = 1 + mu * mu
        np.testing.assert_allclose(primal[3 * k], [mu * mu / den, 0, mu / den], atol=1e-12)
        np.testing.assert_allclose(dual[3 * k], [1 / den, 0, mu / den], atol=1e-12)
    np.testing.assert_array_equal(primal[10], [0, 0, 1])
    np.testing.assert_array_equal(dual[11], [1, 0, 0])
    np.testing.assert_allclose(primal[: len(points)] - dual[len(points) :], points, atol=1e-9)
    expected = [problems.project_cone(a, mu) for a, mu in zip(points, mus)]
    np.testing.assert_allclose(primal[: len(points)], expected, atol=1e-12)


# Closed forms


@pytest.mark.parametrize("scalar", SCALARS)
def test_rows_of_one_number(scalar):
    """S = 2: a bilateral row stops, a bounded one stops as far as its bounds allow, a one-sided one does not pull."""
    cases = [
        (BILATERAL, -1.0, 0, 0, 0.5, 0.0), (BILATERAL, 3.0, 0, 0, -1.5, 0.0),
        (BOX, -1.0, -0.7, 0.7, 0.5, 0.0), (BOX, -1.0, -0.2, 0.2, 0.2, -0.6), (BOX, 1.0, -0.2, 0.2, -0.2, 0.6),
        (BOX, 1.0, 0.3, 0.4, 0.3, 1.6), (BOX, 1.0, 0.0, 0.0, 0.0, 1.0), (BOX, -1.0, -np.inf, np.inf, 0.5, 0.0),
        (BOX, -1.0, -np.inf, 0.1, 0.1, -0.8), (ONE_SIDED, -1.0, 0, 0, 0.5, 0.0), (ONE_SIDED, 1.0, 0, 0, 0.0, 1.0),
    ]  # fmt: skip
    solved = Solved([rows([[2.0]], [v], [kind], low=low, high=high) for kind, v, low, high, _, _ in cases], scalar)
    np.testing.assert_allclose(np.concatenate(solved.impulse), [c[4] for c in cases], atol=1e-6)
    np.testing.assert_allclose(np.concatenate(solved.velocity), [c[5] for c in cases], atol=1e-6)
    assert (solved.status["converged"] == 1).all()


@pytest.mark.parametrize("scalar", SCALARS)
def test_sphere_on_a_plane(scalar):
    """Rolls where (2/7) m |v_t| <= mu m v_n, slips where it is more, and has no impulse where it leaves."""
    near = 1e-12 if scalar is wp.float64 else 1e-6
    stick, slip, leave = (sphere_on_plane(v, 0.4)[0] for v in ((0.7, -0.5, -1.0), (2.1, -2.8, -1.0), (0.7, 0.5, 0.1)))
    solved = Solved([stick, slip, leave], scalar, **TIGHT)
    assert (solved.status["converged"] == 1).all()
    for k, (p, v_t) in enumerate(((stick, (0.7, -0.5)), (slip, (2.1, -2.8)))):
        along = p["v"][:2]  # in the frame of the contact
        assert np.linalg.norm(along) == pytest.approx(np.linalg.norm(v_t))
        tangential = -2 / 7 * along if k == 0 else -0.4 * along / np.linalg.norm(along)
        np.testing.assert_allclose(solved.impulse[k], [*tangential, 1.0], atol=near)
    np.testing.assert_allclose(solved.velocity[0], 0.0, atol=near)
    np.testing.assert_allclose(solved.velocity[1][:2], slip["v"][:2] * (1 - 3.5 * 0.4 / 3.5), atol=4 * near)
    np.testing.assert_array_equal(solved.impulse[2], 0.0)


@pytest.mark.parametrize(("velocity", "mu", "after"), [
    ((0.0, 0.0, 0.0), 0.5, (0.0, 0.0, 0.0)),
    ((1e-3, 2e-3, 0.0), 0.5, (0.0, 0.0, 0.0)),
    ((10.0, 0.0, 0.0), 0.5, (10.0 - 0.5 * GRAVITY_IMPULSE, 0.0, 0.0)),
    ((3.0, -4.0, 0.0), 0.3, (3.0 - 0.3 * 0.6 * GRAVITY_IMPULSE, -4.0 + 0.3 * 0.8 * GRAVITY_IMPULSE, 0.0)),
    ((1.0, 0.0, 0.0), 0.0, (1.0, 0.0, 0.0)),
    ((0.5, 0.0, 1.0), 0.7, (0.5, 0.0, 1.0 - GRAVITY_IMPULSE)),
])  # fmt: skip
def test_box_on_a_plane(velocity, mu, after):
    """At rest, sticking, slipping and leaving: four contacts with a matrix of rank six, so impulses are not unique, and motion is."""
    p, J, inverse, twist = box_on_plane(velocity, mu)
    impulse, v, status = one(p, **TIGHT)
    assert status["converged"] == 1 and natural_map(p, impulse) < 1e-10
    moved = twist + inverse @ J.T @ impulse
    np.testing.assert_allclose(moved[:3], after, atol=1e-10)
    np.testing.assert_allclose(moved[3:], 0.0, atol=1e-9)
    np.testing.assert_allclose(v, J @ moved, atol=1e-10)
    assert impulse[2::3].sum() == pytest.approx(GRAVITY_IMPULSE if velocity[2] <= 0 else 0.0, abs=1e-10)


def test_box_that_tips():
    """Friction above 1 (the ratio of its sides) makes a cube that is stopped turn about its leading edge."""
    p, J, inverse, twist = box_on_plane((1.0, 0.0, 0.0), 1.6)
    impulse, v, status = one(p, **TIGHT)
    moved = twist + inverse @ J.T @ impulse
    assert status["converged"] == 1 and moved[4] > 0.01
    assert (v[2::3] > -1e-10).all() and (v[2:6:3] > 1e-3).all()  # the trailing corners lift
    np.testing.assert_allclose(impulse[:6], 0.0, atol=1e-12)


@pytest.mark.parametrize("mu", [1.2, 1.4, 2.0])
@pytest.mark.parametrize("angle", [1.0, np.arctan(2.0), 1.25])
def test_painleve_rod(mu, angle):
    """Theory 10.2, 11: a rod that slides on its end; above mu = 4/3 at tan(angle) = 2 forces have no solution, impulses have."""
    lever = 0.5 * np.array([-np.cos(angle), 0.0, -np.sin(angle)])
    J = problems.contact_rows(lever, np.zeros(3), [0.0, 0, 1])
    inverse = np.diag([1.0] * 3 + [12.0] * 3)  # a uniform rod of 1 kg and 1 m
    twist = np.array([-3.0, 0, -9.81e-3, 0, 0, 0])
    p = problems.of_bodies(J, inverse, twist, mu)
    impulse, v, status = one(p, **TIGHT)
    moved = twist + inverse @ J.T @ impulse
    assert status["converged"] == 1 and natural_map(p, impulse) < 1e-10
    energy = lambda u: u @ np.linalg.solve(inverse, u) / 2
    assert energy(moved) <= energy(twist) and v[2] == pytest.approx(0.0, abs=1e-10)
    coupled = 1 + 3 * np.cos(angle) ** 2 - 3 * mu * np.sin(angle) * np.cos(angle)
    if coupled < 0:  # pushing harder would make the end approach: it stops at once
        np.testing.assert_allclose(v, 0.0, atol=1e-9)
    else:
        assert impulse[2] == pytest.approx(9.81e-3 / coupled) and np.hypot(v[0], v[1]) > 1.0


def test_bilateral_rows_are_a_linear_system():
    rng = np.random.default_rng(0)
    p = random_rows(rng, 11, 0)
    p["kinds"][:] = BILATERAL
    impulse, v, status = one(p, **TIGHT)
    np.testing.assert_allclose(impulse, -np.linalg.solve(p["S"], p["v"]), rtol=1e-10)
    assert status["converged"] == 1 and np.abs(v).max() < 1e-10


def test_redundant_bilateral_rows():
    """Every row twice: the solve ends where the rows are satisfied."""
    rng = np.random.default_rng(1)
    J = np.repeat(rng.normal(size=(4, 6)), 2, axis=0)
    p = problems.of_bodies(J, np.diag(rng.uniform(0.1, 10, 6)), rng.normal(size=6), 0.0, kinds=[BILATERAL] * 8)
    _, v, status = one(p, **TIGHT)
    assert status["converged"] == 1 and np.abs(v).max() < 1e-10


@pytest.mark.parametrize("scalar", SCALARS)
def test_problems_of_all_kinds_of_rows(scalar):
    """Against Gauss-Seidel in double: sizes around the width of a register, worlds of different sizes in one launch."""
    rng = np.random.default_rng(5)
    sizes = [(1, 0), (2, 1), (0, 1), (5, 1), (7, 0), (8, 0), (9, 2), (0, 3), (3, 8), (16, 0), (4, 9), (1, 2)]
    cases = [random_rows(rng, *size) for size in sizes]
    solved = Solved(cases, scalar, **(TIGHT if scalar is wp.float64 else {}))
    assert (solved.status["converged"] == 1).all()
    for p, impulse, v, status in zip(cases, solved.impulse, solved.velocity, solved.status):
        near = 1e-9 if scalar is wp.float64 else 2e-4
        np.testing.assert_allclose(impulse, reference(p), atol=near)
        np.testing.assert_allclose(v, p["S"] @ impulse + p["v"], atol=near)
        assert status["natural_map"] == pytest.approx(natural_map(p, impulse), abs=1e-2 * near)


def test_matrix_that_is_not_symmetric():
    """It is used as it is."""
    rng = np.random.default_rng(8)
    p = random_rows(rng, 0, 4)
    p["S"] += 1e-3 * rng.normal(size=p["S"].shape)
    impulse, _, status = one(p, **TIGHT)
    assert status["converged"] == 1 and natural_map(p, impulse) < 1e-10


# Proximal ADMM alone


@pytest.mark.parametrize("method", list(PenaltyMethod))
@pytest.mark.parametrize("accelerated", [0, 1])
def test_every_penalty_converges(method, accelerated):
    """Theory 10.1: a box with 10 m/s and a sphere, with and without a guess, scaled or not, in at most 200 iterations."""
    cases = [box_on_plane((10.0, 0, 0), 0.7)[0], sphere_on_plane((10.0, 0, -0.5), 0.7)[0]]
    for p in list(cases):
        impulse = reference(p, 50) * 0.9
        cases.append({**p, "impulse": impulse, "velocity": p["S"] @ impulse + p["v"]})
    for scaled in (0, 1):
        solved = Solved(cases, penalty_update_method=int(method), use_acceleration=accelerated, preconditioning=scaled,
                        warm_start=1, **PLAIN)  # fmt: skip
        assert (solved.status["converged"] == 1).all() and (solved.status["iterations"] <= 200).all()
        assert (solved.status["newton_steps"] == 0).all()
        for p, impulse, v in zip(cases, solved.impulse, solved.velocity):
            assert natural_map(p, impulse) < 1e-5
            np.testing.assert_allclose(v, p["S"] @ impulse + p["v"], atol=4e-6)


@pytest.mark.parametrize("accelerated", [0, 1])
@pytest.mark.parametrize("scaled", [0, 1])
def test_history_of_forced_iterations(accelerated, scaled):
    """Eight iterations that may not converge, by the formulas of theory 5.2, 5.3, 5.8; zeros after them where fewer were made."""
    rng = np.random.default_rng(2)
    cases = [box_on_plane((10.0, 0, 0), 0.7)[0], random_rows(rng, 5, 3), random_rows(rng, 3, 0)]
    never = dict.fromkeys(TIGHT, 0.0)
    solved = Solved(cases, collect=True, max_iterations=8, use_acceleration=accelerated, preconditioning=scaled, **never, **PLAIN)
    for w, p in enumerate(cases):
        told, status, history = proximal_admm(p, 8, accelerated=accelerated, scaled=scaled), solved.status[w], solved.history[w]
        assert status["iterations"] == 8 and status["converged"] == 0
        for name in (
            "num_restarts",
            "a",
            "norm_s",
            "norm_x",
            "norm_y",
            "norm_z",
            "r_dx",
            "r_dy",
            "r_dz",
            "r_primal",
            "r_dual",
            "r_comb",
        ):
            np.testing.assert_allclose(history[name], [t[name] for t in told], rtol=1e-9, atol=1e-12, err_msg=f"{name} of {w}")
        np.testing.assert_allclose(history["r_pd"], history["r_primal"] / (history["r_dual"] + 2.3e-16), rtol=1e-9)
        np.testing.assert_allclose(history["r_dp"], history["r_dual"] / (history["r_primal"] + 2.3e-16), rtol=1e-9)
        np.testing.assert_allclose(history["r_comb_ratio"][2:], history["r_comb"][2:] / history["r_comb"][:-2], rtol=1e-9)
        for k, t in enumerate(told):
            v, impulse = p["S"] @ t["impulse"] + p["v"], t["impulse"]
            energy = impulse @ (v + p["v"]) / 2
            assert history["f_ccp"][k] == pytest.approx(energy, rel=1e-9, abs=1e-12)
            assert history["f_ncp"][k] == pytest.approx(energy + impulse @ problems.de_saxce(p, v), rel=1e-9, abs=1e-12)
            assert history["r_ncp_natmap"][k] == pytest.approx(natural_map(p, impulse), rel=1e-9, abs=1e-12)
            assert history["r_ncp_primal"][k] == pytest.approx(np.abs(impulse - problems.project(p, impulse)).max(), abs=1e-12)
        assert (history["num_rho_updates"] == 0).all() and set(history) == set(COLUMNS)


def test_history_ends_with_the_last_iteration():
    p = box_on_plane((10.0, 0, 0), 0.7)[0]
    solved = Solved([p, p], collect=True, **PLAIN)
    count = int(solved.status["iterations"][0])
    for history in solved.history:
        assert 1 < count < 200 and (history["r_comb"][:count] > 0).all() and (history["norm_y"][:count] > 0).all()
        assert all((column[count:] == 0).all() for column in history.values())


def test_acceleration_restarts():
    """Theory 10.1: with restart_tolerance 1e-6 every other iteration of bilateral rows restarts, the last one too."""
    rng = np.random.default_rng(4)
    p = random_rows(rng, 6, 0)
    p["kinds"][:] = BILATERAL
    never = dict.fromkeys(TIGHT, 0.0)
    status = one(p, max_iterations=6, restart_tolerance=1e-6, **never, **PLAIN)[2]
    told = proximal_admm(p, 6, restart_tolerance=1e-6)
    assert [t["restart"] for t in told] == [False, True] * 3
    assert status["num_restarts"] == 3 and status["restart"] == 1 and status["iterations"] == 6
    np.testing.assert_allclose(status["a"], 1.0)
    for name, expected in (
        ("r_p", "r_primal"),
        ("r_d", "r_dual"),
        ("r_dx", "r_dx"),
        ("r_dy", "r_dy"),
        ("r_dz", "r_dz"),
        ("r_a", "r_comb"),
    ):
        assert status[name] == pytest.approx(told[-1][expected], rel=1e-9), name
    assert status["r_a_p"] == pytest.approx(told[-2]["r_comb"]) and status["r_a_pp"] == pytest.approx(told[-3]["r_comb"])


def test_no_restart_where_it_converges():
    """Tolerances of 1000: two iterations, since one cannot converge, and no restart."""
    _, _, status = one(box_on_plane((10.0, 0, 0), 0.7)[0], **dict.fromkeys(TIGHT, 1e3), **PLAIN)
    assert (status["converged"], status["iterations"], status["num_restarts"], status["restart"]) == (1, 2, 0, 0)


def test_penalty_changes():
    """From a penalty that is far too small or large, BALANCED and SPECTRAL need fewer iterations than FIXED, and count the changes."""
    p = problems.random_pile(np.random.default_rng(0), spread=0.0, most=6)
    for rho in (1e-3, 1e3):
        fixed, balanced, spectral = (
            one(p, penalty_update_method=int(m), rho_0=rho, max_iterations=3000, **PLAIN)[2] for m in PenaltyMethod
        )
        assert balanced["iterations"] < fixed["iterations"] and spectral["iterations"] < fixed["iterations"]
        assert fixed["num_rho_updates"] == 0 and fixed["rho"] == rho and balanced["num_rho_updates"] > 0
        assert balanced["converged"] == 1 and balanced["rho"] != rho
    still = one(p, penalty_update_method=int(PenaltyMethod.BALANCED), rho_0=1e3, penalty_update_freq=0, max_iterations=50, **PLAIN)[
        2
    ]
    assert still["num_rho_updates"] == 0
    least = one(p, penalty_update_method=int(PenaltyMethod.BALANCED), rho_0=1e3, rho_min=500.0, max_iterations=50, **PLAIN)[2]
    assert least["rho"] >= 500.0


# Warm starts


def test_warm_start():
    """The solution as the guess needs no step; nearby it one iteration is nearer to it than from zero."""
    p = random_rows(np.random.default_rng(9), 4, 5)
    impulse, v, cold = one(p, **TIGHT)
    assert cold["newton_steps"] > 0
    again, _, status = one({**p, "impulse": impulse, "velocity": v}, warm_start=1, **TIGHT)
    assert status["newton_steps"] == 0 and status["iterations"] == 0 and status["converged"] == 1
    np.testing.assert_allclose(again, impulse, atol=1e-14)
    ignored = one({**p, "impulse": impulse, "velocity": v}, warm_start=0, **TIGHT)[2]
    assert ignored["newton_steps"] == cold["newton_steps"]
    guess = {**p, "impulse": 0.9 * impulse, "velocity": v}
    few = {"max_iterations": 1, **PLAIN}
    assert natural_map(p, one(guess, warm_start=1, **few)[0]) < natural_map(p, one(p, **few)[0])


def test_guess_that_is_not_a_number():
    """It is not used."""
    p = random_rows(np.random.default_rng(9), 4, 5)
    impulse, v = one(p, **TIGHT)[:2]
    spoilt, wrong = impulse.copy(), v.copy()
    spoilt[3], wrong[7] = np.nan, np.inf
    again, _, status = one({**p, "impulse": spoilt, "velocity": wrong}, warm_start=1, **TIGHT)
    assert status["converged"] == 1
    np.testing.assert_allclose(again, impulse, atol=1e-9)


# What is reported


def test_worlds_have_their_own_options():
    """Theory 5.5: budgets of three and eight iterations; a world without rows is solved."""
    p = box_on_plane((10.0, 0, 0), 0.7)[0]
    never = dict.fromkeys(TIGHT, 0.0)
    solved = Solved([p, p, rows(np.zeros((0, 0)), [])], each={"max_iterations": [3, 8, 8]}, **never, **PLAIN)
    np.testing.assert_array_equal(solved.status["iterations"], [3, 8, 0])
    np.testing.assert_array_equal(solved.status["converged"], [0, 0, 1])
    assert solved.status["natural_map"][2] == 0.0


def test_world_without_room():
    """More rows than there is memory for: no impulse, and a status that says so; other worlds are solved."""
    big, small = box_on_plane((0.0, 0, 0), 0.5)[0], sphere_on_plane((0.0, 0, -1.0), 0.5)[0]
    solved = Solved([{**big, "impulse": np.ones(12)}, small], room=3)
    assert solved.status["converged"].tolist() == [0, 1] and np.isinf(solved.status["natural_map"][0])
    np.testing.assert_array_equal(solved.impulse[0], 0.0)


@pytest.mark.parametrize("polish", [0, 1])
def test_numbers_that_are_none(polish):
    """A matrix or a velocity that is not finite gives no impulses and no success, and nothing that is not a number."""
    p = random_rows(np.random.default_rng(9), 3, 4)
    cases = []
    for name, value in (("v", np.nan), ("S", np.nan), ("S", np.inf), ("v", -np.inf)):
        broken = {k: x.copy() for k, x in p.items()}
        broken[name].reshape(-1)[10] = value
        cases.append(broken)
    solved = Solved([*cases, p], polish=polish)
    for impulse, v, status in zip(solved.impulse[:-1], solved.velocity, solved.status):
        assert status["converged"] == 0 and np.isinf(status["natural_map"]) and np.isfinite(v).all()
        np.testing.assert_array_equal(impulse, np.zeros(15))
    assert solved.status["converged"][-1] == 1


def test_what_does_not_converge_is_not_worse_than_nothing():
    """One iteration: what is returned is at most as far from the solution as no impulses, and the status says what holds for it."""
    rng = np.random.default_rng(6)
    cases = [problems.random_pile(rng) for _ in range(60)]
    for options in ({"polish": 0}, {"polish_steps": 1, "path_steps": 0}):
        solved = Solved(cases, max_iterations=1, **options)
        assert (solved.status["converged"] == 0).sum() > 20
        for p, impulse, status in zip(cases, solved.impulse, solved.status):
            assert natural_map(p, impulse, True) <= natural_map(p, np.zeros(len(impulse)), True) * (1 + 1e-9)
            assert status["natural_map"] == pytest.approx(natural_map(p, impulse), rel=1e-6, abs=1e-9 * (1 + np.abs(impulse).max()))


def test_random_piles():
    """Mass ratios of a million, redundant contacts, friction of 0 ... 2: what converges satisfies the conditions, and nearly all does."""
    rng = np.random.default_rng(11)
    cases = [problems.random_pile(rng) for _ in range(150)]
    solved = Solved(cases, penalty_update_method=int(PenaltyMethod.SPECTRAL))
    for p, impulse, status in zip(cases, solved.impulse, solved.status):
        assert np.isfinite(impulse).all()
        assert natural_map(p, impulse, True) <= natural_map(p, np.zeros(len(impulse)), True) * (1 + 1e-9)
        if status["converged"]:
            v = p["S"] @ impulse + p["v"]
            rounding = 1e-12 * (np.abs(p["S"]) @ np.abs(impulse)).max()
            assert (v[2::3] > -1e-6 - rounding).all()
            assert (np.hypot(impulse[::3], impulse[1::3]) <= p["mu"][::3] * impulse[2::3] * (1 + 1e-9) + 1e-9).all()
    assert solved.status["converged"].mean() > 0.96
    without = Solved(cases, penalty_update_method=int(PenaltyMethod.SPECTRAL), path_steps=0)
    assert without.status["converged"].sum() < solved.status["converged"].sum() - 5  # the smooth path finds these


def test_float32_of_random_piles():
    """Nothing that is not a number, and residuals of what single precision has."""
    rng = np.random.default_rng(12)
    cases = [problems.random_pile(rng, spread=2.0, most=10) for _ in range(100)]
    solved = Solved(cases, wp.float32, penalty_update_method=int(PenaltyMethod.SPECTRAL), **dict.fromkeys(TIGHT, 1e-5))
    assert all(np.isfinite(impulse).all() for impulse in solved.impulse) and solved.status["converged"].mean() > 0.95
    near = [natural_map(p, l, True) / (1e-3 + natural_map(p, 0 * l, True)) for p, l in zip(cases, solved.impulse)]
    assert np.median(near) < 1e-5


# solve_ncp


def normal_first(p):
    order = np.arange(len(p["v"])).reshape(-1, 3)[:, [2, 0, 1]].reshape(-1)
    return p["S"][np.ix_(order, order)], p["v"][order], p["mu"][::3]


def test_solve_ncp():
    """Components (normal, tangent, tangent); residual and velocities are those of W as it was given."""
    p = random_rows(np.random.default_rng(1), 0, 5)
    W, q, mu = normal_first(p)
    found = solve_ncp(W, q, mu)
    expected = reference(p).reshape(-1, 3)[:, [2, 0, 1]]
    np.testing.assert_allclose(found.impulses, expected, atol=1e-9)
    np.testing.assert_allclose(found.velocities.reshape(-1), W @ found.impulses.reshape(-1) + q, atol=1e-12)
    assert found.status["converged"] == 1 and found.residual == pytest.approx(
        natural_map(p, expected[:, [1, 2, 0]].reshape(-1)), abs=1e-9
    )
    again = solve_ncp(W, q, mu, guess=found.impulses)
    assert again.status["newton_steps"] == 0 and again.status["iterations"] == 0
    same = solve_ncp(W, q, 0.6, max_iterations=5, dual_tolerance=1e-7)
    np.testing.assert_allclose(same.impulses, found.impulses, atol=1e-6)


def test_solve_ncp_of_nothing():
    found = solve_ncp(np.zeros((0, 0)), [], 0.5)
    assert found.impulses.shape == (0, 3) and found.status["converged"] == 1 and found.residual == 0.0


@pytest.mark.parametrize(("change", "error", "message"), [
    ({"q": np.zeros(5)}, ValueError, "three numbers for every contact"),
    ({"W": np.eye(5)}, ValueError, r"W has shape \(5, 5\)"),
    ({"mu": [0.1, 0.2, 0.3]}, ValueError, "one for each of the 2 contacts"),
    ({"mu": [0.1, -0.2]}, ValueError, r"mu\[1\] is -0.2"),
    ({"q": np.array([0, 0, np.nan, 0, 0, 0])}, ValueError, r"q\[2\] is nan"),
    ({"guess": np.zeros(3)}, ValueError, "guess has 3 numbers; there are 6"),
    ({"max_iteration": 3}, TypeError, "no option 'max_iteration'"),
])  # fmt: skip
def test_arguments_that_do_not_fit(change, error, message):
    arguments = {"W": np.eye(6), "q": np.zeros(6), "mu": [0.1, 0.2], **change}
    with pytest.raises(error, match=message):
        solve_ncp(**arguments)


def test_option_that_is_not_there():
    with pytest.raises(TypeError, match="no option 'tolerance'"):
        make_options(tolerance=1.0)

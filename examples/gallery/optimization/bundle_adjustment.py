r"""
Where were the cameras? Bundle adjustment
=========================================

Sixteen cameras look at 500 points from different sides. Only the places of the points
in the pictures are known. The points in space and the cameras are sought, all at once,
such that the points appear where they were seen. Each observation involves one camera
and one point, so a row of the Jacobian has eight elements among some 1,600.

What one learns: ``fg.sparse.jacobian`` with ``scipy.optimize.least_squares``, indices
that are part of a pattern, and the time that a dense Jacobian takes.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import funcgrad as fg

# %%
# A camera
# --------
# A camera is a rotation (an axis times an angle, by Rodrigues' formula) and a shift.
# Its picture has the focal length 1.

CAMERAS, POINTS = 16, 500
rng = np.random.default_rng(3)


def rotate(points, turns):
    angle = np.sqrt(np.sum(turns**2, axis=1, keepdims=True) + 1e-20)
    axis = turns / angle
    along = np.sum(axis * points, axis=1, keepdims=True)
    return (
        np.cos(angle) * points
        + np.sin(angle) * np.cross(axis, points)
        + (1 - np.cos(angle)) * along * axis
    )


def project(cameras, points):
    seen = rotate(points, cameras[:, :3]) + cameras[:, 3:]
    return seen[:, :2] / seen[:, 2:]


# %%
# The observations
# ----------------
# The cameras stand on a circle and look at its middle. Five of them, drawn by
# chance, see each point. The function closes over the numbers of camera and point of
# each observation, so they are known, and are part of the Jacobian's pattern.

turns = np.linspace(-1.5, 1.5, CAMERAS)
cameras = np.zeros((CAMERAS, 6))
cameras[:, 1], cameras[:, 5] = turns, 5.0
points = rng.normal(size=(POINTS, 3))
camera = np.argsort(rng.random((POINTS, CAMERAS)), axis=1)[:, :5].ravel()
point = np.repeat(np.arange(POINTS), 5)
observed = project(cameras[camera], points[point])
SPLIT = cameras.size


def residuals(unknowns):
    guessed = unknowns[:SPLIT].reshape(CAMERAS, 6)
    places = unknowns[SPLIT:].reshape(POINTS, 3)
    return np.ravel(project(guessed[camera], places[point]) - observed)


truth = np.concatenate([cameras.ravel(), points.ravel()])
start = truth + 0.05 * rng.normal(size=truth.size)
jacobian = fg.sparse.jacobian(residuals)
pattern, colors = jacobian.pattern(start), jacobian.colors(start)
print(
    f"{pattern.shape[0]} rows, {pattern.shape[1]} columns, {pattern.nnz} elements, "
    f"{colors.products} products"
)
# A horizontal place does not depend on the vertical shift, nor a vertical on the other.
assert pattern.nnz == 8 * 2 * len(camera)
assert colors.products == 8

# %%
# The fit
# -------
# A sparse Jacobian makes ``least_squares`` solve each step by an iterative method. The
# points come out where they were, up to a motion and a scale of everything, which no
# picture shows: these are taken out before the comparison (Umeyama, 1991).

begin = time.perf_counter()
found = least_squares(
    residuals, start, jac=jacobian, x_scale="jac", ftol=1e-15, xtol=1e-12, gtol=1e-12
)
fit_seconds = time.perf_counter() - begin


def aligned(found, truth):
    """The points, moved, turned and scaled to fit the true ones."""
    centre, true_centre = found.mean(axis=0), truth.mean(axis=0)
    u, s, vt = np.linalg.svd((truth - true_centre).T @ (found - centre))
    scale = s.sum() / np.sum((found - centre) ** 2)
    return scale * (found - centre) @ (u @ vt).T + true_centre


fitted = aligned(found.x[SPLIT:].reshape(POINTS, 3), points)
error = np.abs(fitted - points).max()
print(f"{fit_seconds:.1f} s, {found.njev} Jacobians, points within {error:.1e}")
assert np.abs(found.fun).max() < 1e-6
assert error < 1e-4

# %%
# Sparse beside dense
# -------------------
# The same Jacobian, column by column for each of the unknowns, has the same numbers.


def seconds(f):
    f(start)
    begin = time.perf_counter()
    result = f(start)
    return time.perf_counter() - begin, result


sparse_seconds, sparse = seconds(jacobian)
dense_seconds, dense = seconds(fg.jit(fg.jacfwd(residuals), engine="numpy"))
np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-12)
print(
    f"a sparse Jacobian {1e3 * sparse_seconds:.1f} ms, dense {1e3 * dense_seconds:.0f}"
)
assert sparse_seconds < dense_seconds

# %%
# The points before and after the fit, seen from above, and a part of the pattern.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
before = aligned(start[SPLIT:].reshape(POINTS, 3), points)
left.plot(*before[:, [0, 2]].T, ".", color="C1", markersize=3, label="start")
left.plot(*fitted[:, [0, 2]].T, ".", color="C0", markersize=4, label="fitted")
left.plot(*points[:, [0, 2]].T, "o", color="k", markersize=5, fillstyle="none")
left.set(
    xlabel="x", ylabel="z", aspect="equal", title="Points, and true ones (circles)"
)
left.legend()
right.spy(pattern[:400, :200].toarray(), markersize=0.6, aspect="auto")
right.set(title="The first rows: cameras on the left, points behind")
plt.show()

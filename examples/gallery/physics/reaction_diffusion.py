r"""
A front that spreads: a stiff equation with a sparse Jacobian
=============================================================

A gene spreads through a population that lives along a line, as Fisher described it in
1937: :math:`u_t = u_{xx} + u (1 - u)`. On a fine grid the equation is stiff, and an
implicit solver needs the Jacobian of the right side. Each grid point feels its two
neighbours, so the Jacobian has three diagonals. ``fg.sparse.jacobian`` finds them in
the program, and three products give all its elements, however fine the grid is.

What one learns: ``fg.sparse.jacobian`` with ``scipy.integrate.solve_ivp``, patterns,
colours, and the time that a dense Jacobian takes.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import funcgrad as fg

# %%
# The equation on a grid
# ----------------------
# One front is known exactly (Ablowitz and Zeppetella, 1979). It starts the calculation,
# and its values at both ends are the boundary.

SPEED = 5 / np.sqrt(6)
LEFT, RIGHT, POINTS = -40.0, 60.0, 1000
x, h = np.linspace(LEFT, RIGHT, POINTS, retstep=True)


def front(x, t):
    return (1 + np.exp((x - SPEED * t) / np.sqrt(6))) ** -2.0


def slope(t, u):
    padded = np.concatenate([front(LEFT - h, t)[None], u, front(RIGHT + h, t)[None]])
    return (padded[2:] - 2 * u + padded[:-2]) / h**2 + u * (1 - u)


# %%
# The Jacobian
# ------------
# It is a function of time and state like the right side, and differentiates by the
# second. The pattern and its colours follow from the program alone.

jacobian = fg.sparse.jacobian(slope, argnums=1)
start = front(x, 0.0)
pattern = jacobian.pattern(0.0, start)
colors = jacobian.colors(0.0, start)
print(f"{pattern.shape[0]} rows, {pattern.nnz} elements, {colors.products} products")
assert pattern.nnz == 3 * POINTS - 2
assert colors.products == 3

# %%
# One solver, two Jacobians
# -------------------------
# The method BDF factorizes a sparse Jacobian by sparse elimination. A dense one costs a
# column for each grid point, and elimination of a full matrix.


def solve(jac):
    begin = time.perf_counter()
    found = solve_ivp(
        slope, (0, 15), start, method="BDF", jac=jac, rtol=1e-6, atol=1e-8, t_eval=TIMES
    )
    seconds = time.perf_counter() - begin
    error = np.abs(found.y - front(x[:, None], TIMES)).max()
    print(f"{seconds:6.2f} s, {found.njev} Jacobians, error {error:.1e}")
    # The error is that of the grid, which shrinks with the square of the distance.
    assert error < 0.1 * h**2
    return found.y, seconds


TIMES = np.linspace(0, 15, 6)
sparse, sparse_seconds = solve(jacobian)
dense, dense_seconds = solve(fg.jit(fg.jacobian(slope, argnums=1), engine="numpy"))
np.testing.assert_allclose(sparse, dense, atol=1e-6)
assert sparse_seconds < dense_seconds

# %%
# The front moves without a change of shape, at the speed that the exact solution has.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for t, u in zip(TIMES, sparse.T, strict=True):
    left.plot(x, u, color="C0", linewidth=1)
    left.plot(x[::50], front(x[::50], t), ".", color="C1", markersize=4)
left.set(xlabel="place", ylabel="share of the gene", title="Computed, and exact (dots)")
right.bar(["sparse", "dense"], [sparse_seconds, dense_seconds], color=["C0", "C1"])
right.set(ylabel="seconds", title=f"BDF on {POINTS} points", yscale="log")
plt.show()

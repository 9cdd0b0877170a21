r"""
Swing up a pole: optimal control
================================

A cart on a rail carries a pole that hangs down. Which forces on the cart bring the pole
up, and stop there? Two seconds of motion are a loop of Runge and Kutta's steps; the
gradient by all forces at once comes from one backward run through it, and L-BFGS finds
the answer that everybody who balances a broom knows: first back, then forth.

What one learns: ``fg.scan`` through a simulation, its gradient compiled, constraints as
a penalty that grows.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import funcgrad as fg

CART, POLE, LENGTH, GRAVITY = 1.0, 0.2, 0.5, 9.81  # kg, kg, m, m/s^2
STEPS, DT = 100, 0.02

# %%
# The motion
# ----------
# The state is the cart's place, the pole's angle from hanging, and their velocities.


def motion(state, force):
    _, angle, velocity, spin = state
    sine, cosine = np.sin(angle), np.cos(angle)
    push = force + POLE * sine * (LENGTH * spin**2 + GRAVITY * cosine)
    acceleration = push / (CART + POLE * sine**2)
    return np.stack(
        [
            velocity,
            spin,
            acceleration,
            -(acceleration * cosine + GRAVITY * sine) / LENGTH,
        ]
    )


def step(state, force):
    a = motion(state, force)
    b = motion(state + DT / 2 * a, force)
    c = motion(state + DT / 2 * b, force)
    d = motion(state + DT * c, force)
    state = state + DT / 6 * (a + 2 * b + 2 * c + d)
    return state, state


def simulate(forces):
    return fg.scan(step, np.zeros(4), forces)[1]


# %%
# The best forces
# ---------------
# Little effort, and at the end the pole up and everything at rest. That is asked for
# more and more strictly.

UP = np.array([0.0, np.pi, 0.0, 0.0])


def loss(forces, strictness):
    path = simulate(forces)
    effort = DT * np.sum(forces**2)
    return effort + strictness * np.sum((path[-1] - UP) ** 2)


value_and_grad = fg.jit(fg.value_and_grad(loss))
forces = 0.1 * np.sin(np.linspace(0, 2 * np.pi, STEPS))
for strictness in (1e2, 1e3, 1e4, 1e5):
    found = minimize(
        value_and_grad,
        forces,
        strictness,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 300},
    )
    forces = found.x
    end = np.asarray(simulate(forces))[-1]
    print(
        f"strictness {strictness:8.0f}: effort {DT * np.sum(forces**2):6.2f} "
        f"N^2 s, off by {np.abs(end - UP).max():.4f}"
    )

# %%
# Is it true?
# -----------
# SciPy's solver, with an error bound of its own, brings the pole up with the same
# forces. And no force does work that is not in the motion: energy in is energy there.

path = np.vstack([np.zeros(4), simulate(forces)])
time = DT * np.arange(STEPS + 1)
ends = [np.zeros(4)]
for force in forces:
    ends.append(
        solve_ivp(
            lambda t, y, f: motion(y, f),
            (0, DT),
            ends[-1],
            args=(force,),
            rtol=1e-10,
            atol=1e-12,
        ).y[:, -1]
    )
print(f"off from SciPy's solution by at most {np.abs(path - ends).max():.1e}")
np.testing.assert_allclose(path, ends, atol=1e-3)


def energy(state):
    _, angle, velocity, spin = state.T
    pole = (
        velocity**2 + 2 * LENGTH * velocity * spin * np.cos(angle) + LENGTH**2 * spin**2
    )
    return (
        0.5 * CART * velocity**2
        + 0.5 * POLE * pole
        + POLE * GRAVITY * LENGTH * (1 - np.cos(angle))
    )


work = np.append(0, np.cumsum(forces * np.diff(path[:, 0])))
np.testing.assert_allclose(energy(path), work, atol=1e-3)

# %%
# The motion, from light to dark; the forces; and the energy that they put in.

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(11, 3.4), layout="constrained", width_ratios=(1.4, 1, 1)
)
for k in range(0, STEPS + 1, 3):
    x, angle = path[k, :2]
    shade = plt.get_cmap("viridis_r")(k / STEPS)
    left.plot(
        [x, x + LENGTH * np.sin(angle)],
        [0, -LENGTH * np.cos(angle)],
        color=shade,
        linewidth=1,
    )
    left.plot(
        x + LENGTH * np.sin(angle),
        -LENGTH * np.cos(angle),
        "o",
        color=shade,
        markersize=4,
    )
    left.plot(x, 0, "s", color=shade, markersize=5)
left.axhline(0, color="0.8", zorder=0)
left.set(
    aspect="equal",
    xlabel="along the rail (m)",
    ylabel="height (m)",
    title="The swing, from light to dark",
)
middle.step(time[:-1], forces, where="post")
middle.axhline(0, color="0.8", linewidth=0.8, zorder=0)
middle.set(xlabel="time (s)", ylabel="force on the cart (N)", title="Forces")
right.plot(time, energy(path), label="of cart and pole")
right.plot(time, work, "--", label="put in by the force")
right.axhline(
    2 * POLE * GRAVITY * LENGTH, color="0.7", linewidth=0.8, label="at rest, pole up"
)
right.set(xlabel="time (s)", ylabel="energy (J)", title="Energy")
right.legend()
plt.show()

r"""
Planets that dance: choreographies by least action
==================================================

Nature takes paths along which the action is stationary. Ask for equal masses that
follow one another along one closed curve, and the action becomes a function of that
curve alone. Three bodies then chase each other along a figure of eight (Moore, 1993;
Chenciner and Montgomery, 2000), more bodies along chains. Here the curve is a Fourier
series, the action ten lines of NumPy, and Newton's method with the exact Hessian goes
from a rough drawing to the orbit.

What one learns: a physical principle as a loss, ``scipy.optimize.minimize`` with
gradient and Hessian, ``fg.jvp`` for velocities.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import funcgrad as fg

PERIOD = 6.32591398
SAMPLES = 128

# %%
# The action
# ----------
# The curve is a sum of sines along x, and across of sines of even orders (an even
# number of loops) or cosines of odd ones. All bodies are on it, each a part of the
# period ahead of the next. Masses and the constant of gravity are 1.

along = np.arange(1, 121, 2)


def curve(coefficients, loops, t):
    x, y = coefficients.reshape(2, -1)
    across = along + 1 if loops % 2 == 0 else along
    turns = 2 * np.pi / PERIOD * t[:, None]
    waves = np.sin(turns * across) if loops % 2 == 0 else np.cos(turns * across)
    return np.stack([np.sin(turns * along) @ x, waves @ y], axis=1)


def action(coefficients, bodies, loops):
    t = np.arange(SAMPLES * bodies) / (SAMPLES * bodies) * PERIOD
    place, velocity = fg.jvp(
        lambda t: curve(coefficients, loops, t), (t,), (np.ones_like(t),)
    )
    lagrangian = bodies / 2 * np.mean(np.sum(velocity**2, axis=1))
    for other in range(1, bodies):
        gap = place - np.roll(place, SAMPLES * other, axis=0)
        lagrangian += bodies / 2 * np.mean(1 / np.sqrt(np.sum(gap**2, axis=1)))
    return PERIOD * lagrangian


# %%
# From drawings to orbits
# -----------------------
# A Lissajous figure is drawing enough.


def orbit(bodies, loops, height):
    loss = fg.jit(fg.value_and_grad(lambda c: action(c, bodies, loops)), engine="numpy")
    hessian = fg.jit(fg.hessian(lambda c: action(c, bodies, loops)), engine="numpy")
    drawing = np.zeros((2, len(along)))
    drawing[0, 0], drawing[1, (loops - 1) // 2] = 1.3, height
    options = {"gtol": 1e-9, "maxiter": 50}
    return minimize(
        loss,
        drawing.ravel(),
        jac=True,
        hess=hessian,
        method="trust-exact",
        options=options,
    )


cases = [(3, 2, 0.4), (4, 3, 0.3), (5, 3, 0.4), (5, 4, 0.3), (6, 5, 0.3), (7, 6, 0.3)]
found = {
    (bodies, loops): orbit(bodies, loops, height) for bodies, loops, height in cases
}


# %%
# Do they move like that?
# -----------------------
# The equations of motion know nothing of curves. Integrated until each body should have
# reached the place of the next, they agree.


def motion(t, state):
    place, velocity = state.reshape(2, -1, 2)
    gap = place[:, None] - place
    distance = np.sqrt(np.sum(gap**2, axis=-1) + np.eye(len(place)))
    return np.concatenate(
        [velocity, -np.sum(gap / distance[..., None] ** 3, axis=1)]
    ).ravel()


def state_at(coefficients, bodies, loops, start):
    t = start + np.arange(bodies) / bodies * PERIOD
    return np.stack(
        fg.jvp(lambda t: curve(coefficients, loops, t), (t,), (np.ones_like(t),))
    )


for (bodies, loops), each in found.items():
    state = state_at(each.x, bodies, loops, 0.0)
    end = (
        solve_ivp(motion, (0, PERIOD / bodies), state.ravel(), rtol=1e-10, atol=1e-10)
        .y[:, -1]
        .reshape(state.shape)
    )
    off = np.abs(end - np.roll(state, -1, axis=1)).max()
    print(
        f"{bodies} bodies, {loops} loops: action "
        f"{each.fun:8.5f}, {each.nit:2} steps, off by {off:.1e}"
    )
    assert off < 1e-3

# %%
# Simó's numbers for the figure of eight (in Chenciner and Montgomery's paper): where
# two bodies are when the third passes the middle, and how fast that one is.

place, velocity = np.abs(state_at(found[3, 2].x, 3, 2, 0.0))
np.testing.assert_allclose(place[1], [0.97000436, 0.24308753], atol=1e-7)
np.testing.assert_allclose(velocity[0], [0.93240737, 0.86473146], atol=1e-6)

# %%
# The bodies with their tails.

figure, panels = plt.subplots(
    2, 3, figsize=(11, 3.4), layout="constrained", sharex=True, sharey=True
)
for axes, ((bodies, loops), each) in zip(panels.flat, found.items(), strict=True):
    axes.plot(
        *curve(each.x, loops, np.linspace(0, PERIOD, 600)).T, color="0.85", linewidth=1
    )
    for body in range(bodies):
        tail = curve(
            each.x,
            loops,
            PERIOD * (body / bodies + 0.03 - np.linspace(0, 0.6 / bodies, 80)),
        )
        axes.scatter(
            *tail.T,
            s=np.linspace(16, 0.3, 80),
            color=f"C{body}",
            linewidths=0,
            zorder=3,
            clip_on=False,
        )
        axes.plot(*tail[0], "o", color=f"C{body}", markersize=7, clip_on=False)
    axes.set(aspect="equal", title=f"{bodies} bodies, action {each.fun:.3f}")
    axes.set_axis_off()
plt.show()

r"""
What lies below: waves that come back
=====================================

Knock on the ground, and listen at many places: from the echoes geophysicists compute
what they cannot see (Tarantola, 1984). The waves are a textbook's leapfrog scheme,
which writes into slices of an array; its gradient by the speed of sound in every cell
is the echo, sent backward in time, and L-BFGS turns it into a picture of the ground.

What one learns: slices written under ``fg.scan``, one gradient by 3,000 unknowns at the
price of a few simulations, ``fg.vmap`` over experiments.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize
from tqdm import tqdm

import funcgrad as fg

ROWS, COLUMNS, STEPS = 44, 72, 320
CELL, DT = 10.0, 0.002  # metres, seconds

# %%
# The waves
# ---------
# Pressure obeys :math:`\ddot p = c^2 \nabla^2 p`. At the edges a layer soaks the waves
# up. A knock is Ricker's wavelet of 10 Hz just below the surface.

depth, along = np.mgrid[:ROWS, :COLUMNS]
edge = np.minimum(np.minimum(along, COLUMNS - 1 - along), ROWS - 1 - depth)
damping = np.exp(-((0.02 * np.maximum(0, 10 - edge)) ** 2))
t = DT * np.arange(STEPS) - 0.1
wavelet = (1 - 2 * (np.pi * 10 * t) ** 2) * np.exp(-((np.pi * 10 * t) ** 2))
sources = np.array([6, 18, 30, 42, 54, 66])
listeners = np.arange(4, 70, 2)


def leap(p, before, courant):
    laplacian = np.zeros_like(p)
    laplacian[1:-1, 1:-1] = (
        p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * p[1:-1, 1:-1]
    )
    return damping * (2 * p - damping * before + courant * laplacian)


def record(speed, source):
    """Return the signals of all listeners after one knock: f64[steps, listeners]."""
    courant = (speed * DT / CELL) ** 2

    def step(carry, knock):
        p, before = carry
        after = leap(p, before, courant)
        after[2, source] += knock
        return (after, p), after[2, listeners]

    silence = np.zeros((ROWS, COLUMNS))
    return fg.scan(step, (silence, silence), wavelet)[1]


# %%
# A hidden ground
# ---------------
# Rock is faster the deeper it lies; in it there are a lens of salt, faster, and a
# pocket of gas, slower. The speeds are in metres per second.

layers = 1500 + 15.0 * depth
salt = ((along - 24) / 9) ** 2 + ((depth - 18) / 4) ** 2 < 1
gas = ((along - 50) / 5) ** 2 + ((depth - 22) / 4) ** 2 < 1
truth = gaussian_filter(layers + 500.0 * salt - 300.0 * gas, 1)
listen = fg.jit(fg.vmap(record, (None, 0)))
heard = np.asarray(listen(truth, sources))
heard = heard + 0.01 * heard.std() * np.random.default_rng(0).normal(size=heard.shape)


# %%
# Turned around
# -------------
# The first guess knows the layers only. What is asked for is the difference, smooth by
# a little penalty, and none where the soaking layer hides everything.

seen = np.clip((edge - 4) / 6, 0, 1)


def speed_of(x):
    return layers + 100 * seen * x.reshape(ROWS, COLUMNS)


def misfit(x):
    error = fg.vmap(record, (None, 0))(speed_of(x), sources) - heard
    image = x.reshape(ROWS, COLUMNS)
    roughness = np.sum(np.diff(image, axis=0) ** 2) + np.sum(
        np.diff(image, axis=1) ** 2
    )
    return np.sum(error**2) / np.sum(heard**2) + 1e-6 * roughness


value_and_grad = fg.jit(fg.value_and_grad(misfit))
with tqdm(total=50, desc="listening") as progress:
    options = {"maxiter": progress.total}
    start = np.zeros(ROWS * COLUMNS)
    found = minimize(
        value_and_grad,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=lambda x: progress.update(),
        options=options,
    )
guess = speed_of(found.x)
print(
    f"misfit {value_and_grad(start)[0]:.5f} before, "
    f"{found.fun:.5f} after {found.nfev} gradients"
)
alike = np.corrcoef((guess - layers).ravel(), (truth - layers).ravel())[0, 1]
print(f"correlation with what is there: {alike:.2f}")
assert alike > 0.75

# %%
# Is the gradient right? It agrees with differences along a random direction.

direction = np.random.default_rng(1).normal(size=ROWS * COLUMNS)
by_differences = (misfit(1e-4 * direction) - misfit(-1e-4 * direction)) / 2e-4
np.testing.assert_allclose(
    value_and_grad(start)[1] @ direction, by_differences, rtol=1e-4
)

# %%
# The ground as it is and as it was heard, and a wave on its way.

figure, panels = plt.subplots(2, 2, figsize=(10, 5.4), layout="constrained")
extent = (0, COLUMNS * CELL, ROWS * CELL, 0)
limits = {"vmin": -450, "vmax": 450, "cmap": "RdBu_r", "extent": extent}
for axes, speed, title in [
    (panels[0, 0], truth, "What is there"),
    (panels[0, 1], guess, "What was heard"),
]:
    image = axes.imshow(speed - layers, **limits)
    axes.plot((sources + 0.5) * CELL, 0 * sources + 2 * CELL, "k*", markersize=7)
    axes.plot((listeners + 0.5) * CELL, 0 * listeners + 2 * CELL, "kv", markersize=2.5)
    axes.set(xlabel="along the ground (m)", ylabel="depth (m)", title=title)
figure.colorbar(image, ax=panels[0, :], label="speed against the layers (m/s)")
p, before = np.zeros((2, ROWS, COLUMNS))
for knock in wavelet[:115]:
    p, before = leap(p, before, (truth * DT / CELL) ** 2), p
    p[2, sources[2]] += knock
panels[1, 0].imshow(
    p, cmap="RdBu_r", vmin=-0.3 * p.max(), vmax=0.3 * p.max(), extent=extent
)
panels[1, 0].contour(
    truth - layers,
    levels=[-100, 100],
    colors="k",
    linewidths=0.6,
    extent=extent,
    origin="upper",
)
panels[1, 0].set(
    xlabel="along the ground (m)",
    ylabel="depth (m)",
    title=f"The third knock, {t[114] - t[0]:.2f} s later",
)
plain = np.asarray(listen(layers, sources[2:3]))[0]
span = (listeners[0] * CELL, listeners[-1] * CELL, STEPS * DT, 0)
size = 3 * np.std(heard[2] - plain)
panels[1, 1].imshow(
    heard[2] - plain, aspect="auto", cmap="RdBu_r", vmin=-size, vmax=size, extent=span
)
panels[1, 1].set(
    xlabel="listener at (m)",
    ylabel="time (s)",
    title="Its echoes: heard, less what the layers alone say",
)
plt.show()

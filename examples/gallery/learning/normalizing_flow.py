r"""
A density bent into two moons: a normalizing flow
=================================================

Take a round cloud of points and bend the plane, invertibly, until the cloud has the
shape of the data: then the density of the data is known everywhere, for the bending
says how much it stretches (Dinh and others, 2017). Eight bends, each a small network
that shifts and scales one coordinate by the other, are trained by Adam.

What one learns: a model as a list of parameters, a whole training step compiled with
donated buffers, a density that is checked.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from tqdm import tqdm

import funcgrad as fg
from funcgrad.optim import adam_init, adam_update, schedules

LAYERS, WIDTH, STEPS, BATCH = 8, 32, 2000, 256
rng = np.random.default_rng(0)

# %%
# The bends
# ---------
# Each bend leaves one coordinate as it is. The other is scaled and shifted by functions
# of the first, which can be undone.


def initial():
    return {
        "in": rng.normal(size=(1, WIDTH)),
        "bias": rng.normal(size=WIDTH),
        "out": np.zeros((WIDTH, 2)),
    }


def shift_and_scale(layer, kept):
    hidden = np.tanh(kept[:, None] @ layer["in"] + layer["bias"]) @ layer["out"]
    return hidden[:, 0], np.tanh(hidden[:, 1])


def to_noise(params, x):
    """Return the points before the flow, and the logarithm of the volume change."""
    a, b = x[:, 0], x[:, 1]
    stretched = 0.0
    for layer in params:
        shift, scale = shift_and_scale(layer, a)
        a, b = (b - shift) * np.exp(-scale), a
        stretched = stretched - scale
    return np.stack([a, b], axis=1), stretched


def from_noise(params, z):
    a, b = z[:, 0], z[:, 1]
    for layer in reversed(params):
        shift, scale = shift_and_scale(layer, b)
        a, b = b, a * np.exp(scale) + shift
    return np.stack([a, b], axis=1)


def log_density(params, x):
    z, stretched = to_noise(params, x)
    return -0.5 * np.sum(z**2, axis=1) - np.log(2 * np.pi) + stretched


def loss(params, x):
    return -np.mean(log_density(params, x))


# %%
# Training
# --------

params = [initial() for _ in range(LAYERS)]
state = adam_init(params, lr=schedules.cosine(5e-3, STEPS))


@fg.jit(donate_argnums=(0, 1))
def step(params, state, x):
    value, grads = fg.value_and_grad(loss)(params, x)
    params, state = adam_update(grads, state, params)
    return params, state, value


values = []
for seed in tqdm(range(STEPS), desc="bending"):
    x, _ = make_moons(BATCH, noise=0.07, random_state=seed)
    params, state, value = step(params, state, x)
    values.append(value)

# %%
# Is it a density?
# ----------------
# The moons' own density is known: points on two half circles, blurred. The mean of the
# logarithm of the flow's density, over points that it has not seen, comes near that of
# the truth, which no density beats; and the flow's density sums to one.

angle = np.linspace(0, np.pi, 400)
arcs = np.stack(
    [
        np.append(np.cos(angle), 1 - np.cos(angle)),
        np.append(np.sin(angle), 0.5 - np.sin(angle)),
    ],
    axis=1,
)
unseen, _ = make_moons(4000, noise=0.07, random_state=STEPS)
squared = np.sum((unseen[:, None] - arcs) ** 2, axis=-1) / 0.07**2
entropy = -np.mean(
    np.log(np.mean(np.exp(-squared / 2) / (2 * np.pi * 0.07**2), axis=1))
)
axis_x, axis_y = np.linspace(-2.5, 3.5, 300), np.linspace(-2, 2.5, 225)
grid = np.stack(np.meshgrid(axis_x, axis_y), axis=-1).reshape(-1, 2)
density = np.exp(log_density(params, grid)).reshape(225, 300)
total = density.sum() * (axis_x[1] - axis_x[0]) * (axis_y[1] - axis_y[0])
print(
    f"loss {loss(params, unseen):.4f} nats, the moons' own "
    f"entropy {entropy:.4f}; the density sums to {total:.4f}"
)
np.testing.assert_allclose(total, 1, atol=0.01)
np.testing.assert_allclose(loss(params, unseen), entropy, atol=0.15)
z = rng.normal(size=(2000, 2))
np.testing.assert_allclose(to_noise(params, from_noise(params, z))[0], z, atol=1e-6)

# %%
# The density; the way from the round cloud to the moons; the loss.

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(11, 3.5), layout="constrained", width_ratios=(1.3, 1.3, 1)
)
left.pcolormesh(axis_x, axis_y, np.sqrt(density), cmap="magma")
left.set(
    aspect="equal",
    xlim=(-1.6, 2.6),
    ylim=(-1.2, 1.7),
    xlabel="x",
    ylabel="y",
    title="Density (square root)",
)
turn = np.arctan2(z[:, 1], z[:, 0])
middle.scatter(*from_noise(params, z).T, c=turn, cmap="twilight", s=4, linewidths=0)
inset = middle.inset_axes((0.72, 0.68, 0.28, 0.32))
inset.scatter(*z.T, c=turn, cmap="twilight", s=1, linewidths=0)
inset.set(xticks=[], yticks=[], aspect="equal")
middle.set(
    aspect="equal",
    xlim=(-1.6, 2.6),
    ylim=(-1.2, 1.7),
    xlabel="x",
    ylabel="y",
    title="From noise to moons",
)
right.plot(np.convolve(values, np.ones(25) / 25, mode="valid"))
right.axhline(entropy, color="C1", linestyle=":", label="the moons' entropy")
right.set(
    xlabel="step",
    ylabel="loss (nats), mean of 25",
    title="Training",
    ylim=(entropy - 0.2, 2),
)
right.legend()
plt.show()

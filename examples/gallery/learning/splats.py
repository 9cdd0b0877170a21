r"""
A photograph out of three hundred blots
=======================================

How well can a picture be painted with three hundred soft, coloured ellipses? A renderer
is a function from places, shapes and colours to pixels; its gradient moves the ellipses
where they are needed. The photograph, a dahlia, comes with scikit-learn.

What one learns: a renderer in NumPy, differentiated and compiled; Adam with a learning
rate for each kind of parameter.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_sample_image
from tqdm import tqdm

import funcgrad as fg
from funcgrad.optim import adam_init, adam_update

BLOTS, STEPS = 300, 200
photo = load_sample_image("flower.jpg")[30:350, 100:580] / 255
target = photo.reshape(64, 5, 96, 5, 3).mean(axis=(1, 3)).astype(np.float32)
rows, columns, _ = target.shape
v, u = np.mgrid[:rows, :columns].astype(np.float32) / rows

# %%
# The renderer
# ------------
# A blot has a centre, a matrix that makes a circle of its ellipse, a colour and an
# opacity. Each pixel is the mean of the colours there, weighted by how much of each
# blot it sees.


def render(blots):
    du = u.ravel()[:, None] - blots["centre"][:, 0]
    dv = v.ravel()[:, None] - blots["centre"][:, 1]
    a, b, c = blots["shape"].T
    squared = (np.exp(a) * du + b * dv) ** 2 + (np.exp(c) * dv) ** 2
    weight = np.exp(blots["opacity"] - squared / 2)
    return (weight @ blots["colour"]) / (np.sum(weight, axis=1, keepdims=True) + 1e-3)


def loss(blots, pixels):
    return np.mean((render(blots) - pixels) ** 2)


# %%
# Painting
# --------

rng = np.random.default_rng(0)
centre = rng.uniform((0, 0), (columns / rows, 1), size=(BLOTS, 2)).astype(np.float32)
nearest = np.minimum((centre[:, ::-1] * rows).astype(int), [rows - 1, columns - 1])
blots = {
    "centre": centre,
    "shape": np.tile(np.array([3.0, 0.0, 3.0], np.float32), (BLOTS, 1)),
    "colour": target[tuple(nearest.T)],
    "opacity": np.zeros(BLOTS, np.float32),
}
pixels = target.reshape(-1, 3)
rates = {"centre": 0.004, "shape": 0.05, "colour": 0.02, "opacity": 0.05}
state = adam_init(blots, lr=rates)


@fg.jit(donate_argnums=(0, 1))
def step(blots, state, pixels):
    value, grads = fg.value_and_grad(loss)(blots, pixels)
    blots, state = adam_update(grads, state, blots)
    return blots, state, value


values, kept = [], {}
for number in tqdm(range(STEPS), desc="painting"):
    if number in (0, 20, 80):
        kept[number] = np.asarray(render(fg.tree.map(np.array, blots)))
    blots, state, value = step(blots, state, pixels)
    values.append(float(value))
blots = fg.tree.map(np.array, blots)
kept[STEPS] = render(blots)

# %%
# How good is it?
# ---------------
# In decibels of the signal over the noise. A picture with as many numbers, spread
# evenly as coarse pixels that are blended into each other, is what the blots have to
# beat.

numbers = sum(leaf.size for leaf in fg.tree.leaves(blots))
coarse_rows = round(np.sqrt(numbers / 3 * rows / columns))
coarse_columns = round(np.sqrt(numbers / 3 * columns / rows))
shrunk = zoom(
    target,
    (coarse_rows / rows, coarse_columns / columns, 1),
    order=1,
    grid_mode=True,
    mode="nearest",
)
coarse = zoom(
    shrunk,
    (rows / coarse_rows, columns / coarse_columns, 1),
    order=1,
    grid_mode=True,
    mode="nearest",
)


def decibels(picture):
    return -10 * np.log10(np.mean((picture.reshape(-1, 3) - pixels) ** 2))


print(
    f"{numbers} numbers: {decibels(kept[STEPS]):.1f} dB "
    f"as blots, {decibels(coarse):.1f} dB as coarse pixels"
)
assert decibels(kept[STEPS]) > decibels(coarse)

# %%
# From the first blots to the last.

figure, panels = plt.subplots(2, 3, figsize=(11, 5), layout="constrained")
pictures = {
    "step 0": kept[0],
    "step 20": kept[20],
    "step 80": kept[80],
    f"step {STEPS}": kept[STEPS],
    "photograph": target,
}
for axes, (title, picture) in zip(panels.flat, pictures.items(), strict=False):
    axes.imshow(np.clip(picture.reshape(target.shape), 0, 1), interpolation="bicubic")
    axes.set(title=title)
    axes.set_axis_off()
panels[1, 2].set(
    xlim=(0, columns),
    ylim=(rows, 0),
    aspect="equal",
    title="the blots",
    xticks=[],
    yticks=[],
)
for centre, (a, b, c), colour in zip(
    blots["centre"], blots["shape"], blots["colour"], strict=True
):
    circle = 0.7 * np.stack(
        [np.cos(np.linspace(0, 7, 30)), np.sin(np.linspace(0, 7, 30))]
    )
    outline = rows * (
        centre[:, None] + np.linalg.solve([[np.exp(a), b], [0, np.exp(c)]], circle)
    )
    panels[1, 2].fill(*outline, color=np.clip(colour, 0, 1), alpha=0.7, linewidth=0)
panels[1, 2].set_axis_off()
plt.show()

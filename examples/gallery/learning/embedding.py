r"""
Digits on a map: t-SNE
======================

Sixty-four pixels are too many to look at. t-SNE (van der Maaten and Hinton, 2008) lays
the digits out in the plane such that neighbours stay neighbours. Its gradient is famous
for a page of algebra; here the loss is written down, and ``fg.grad`` does the page.

What one learns: an objective from a paper in four lines, trained by ``fg.sgd_update``
with momentum, as in the paper.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from tqdm import tqdm

import funcgrad as fg

images, labels = load_digits(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(labels))[:600]
x, labels = images[rows], labels[rows]
n = len(x)

# %%
# Who is near whom
# ----------------
# Each point looks at the others through a Gaussian, whose width is such that it sees
# about thirty of them: that is found for all points at once by halving intervals.

squared = np.sum((x[:, None] - x) ** 2, axis=-1)
np.fill_diagonal(squared, np.inf)
low, high = np.full(n, 1e-6), np.full(n, 10.0)
for _ in range(50):
    precision = np.sqrt(low * high)
    p = np.exp(-squared * precision[:, None])
    p /= p.sum(axis=1, keepdims=True)
    seen = np.exp(-np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1))
    low, high = (
        np.where(seen > 30, precision, low),
        np.where(seen > 30, high, precision),
    )
p = (p + p.T) / (2 * n)

# %%
# The loss
# --------
# In the plane, nearness has the heavier tails of Student's distribution. The loss is
# the divergence of one nearness from the other, up to a constant.

apart = 1 - np.eye(n)


def loss(y, p):
    size = np.sum(y**2, axis=1)
    near = apart / (1 + size[:, None] + size - 2 * y @ y.T)
    return -np.sum(p * np.log(near + 1 - apart)) + np.sum(p) * np.log(np.sum(near))


def by_hand(y, p):
    """The gradient as the paper derives it."""
    gap = y[:, None] - y
    near = apart / (1 + np.sum(gap**2, axis=-1))
    return 4 * np.einsum("ij,ij,ijk->ik", p - near / near.sum(), near, gap)


y = np.random.default_rng(1).normal(size=(n, 2))
np.testing.assert_allclose(fg.grad(loss)(y, p), by_hand(y, p), atol=1e-12)

# %%
# The map
# -------
# As in the paper, nearly: SGD with momentum, 0.5 at first and 0.9 later, and at first
# all that is near pulls harder than it should. Momentum is data, so changing it
# compiles nothing anew.


@fg.jit
def step(y, state, p):
    value, slope = fg.value_and_grad(loss)(y, p)
    y, state = fg.sgd_update(slope, state, y)
    return y, state, value


y = 1e-2 * y
state = fg.sgd_init(y, lr=60.0, momentum=0.5)
values, kept = [], {}
for number in tqdm(range(401), desc="laying out"):
    if number == 100:
        state = state.replace(momentum=0.9)
    if number in (3, 10, 100, 400):
        kept[number] = y
    y, state, value = step(y, state, 6 * p if number < 100 else p)
    values.append(value)
constant = np.sum(p * np.log(np.maximum(p, 1e-300)))
print(f"divergence {values[-1] + constant:.3f} nats")

# %%
# Of a point's five nearest neighbours on the map, how many are near it in truth?
# scikit-learn's measure has 1 for all.

_, _, axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
flat = trustworthiness(x, x @ axes[:2].T)
trust = trustworthiness(x, y)
print(f"trustworthiness {trust:.3f}, of the two principal components {flat:.3f}")
assert trust > 0.97

figure = plt.figure(figsize=(11, 5), layout="constrained")
panels = figure.subplot_mosaic(
    [["a", "b", "map"], ["c", "curve", "map"]], width_ratios=(1, 1, 2.2)
)
for name, (number, points) in zip(["a", "b", "c", "map"], kept.items(), strict=True):
    size = 12 if name == "map" else 3
    dots = panels[name].scatter(*points.T, c=labels, cmap="tab10", s=size, linewidths=0)
    panels[name].set(
        xticks=[],
        yticks=[],
        title=f"step {number}",
        aspect="equal",
        adjustable="datalim",
    )
    panels[name].spines[:].set_visible(False)
for digit in range(10):
    panels["map"].text(
        *np.median(y[labels == digit], axis=0),
        digit,
        fontsize=17,
        weight="bold",
        ha="center",
        va="center",
    )
panels["curve"].plot(np.arange(100, 401), np.array(values[100:]) + constant)
panels["curve"].set(xlabel="step", ylabel="divergence (nats)", title="Loss")
plt.show()

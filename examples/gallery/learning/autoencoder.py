r"""
The plane of digits: a variational autoencoder
==============================================

Two numbers for each digit, such that pictures can be drawn from any two numbers: a
network sends pictures to clouds in the plane, another one sends points of the plane to
pictures, and both are trained together to describe the digits in as few nats as they
can (Kingma and Welling, 2014).

What one learns: random numbers inside a differentiated, compiled function by
``fg.random`` and its keys; layers of ``fg.nn``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import funcgrad as fg
from funcgrad.optim import adam_init, adam_update, schedules

images, labels = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(labels))
x, labels = (images[order] / 16).astype(np.float32), labels[order]
train_x, test_x, test_labels = x[:1500], x[1500:], labels[1500:]
EPOCHS, BATCH, WIDTH = 120, 100, 128

# %%
# Two networks
# ------------


def layer(inputs, outputs):
    weight = rng.normal(size=(outputs, inputs)) * np.sqrt(1 / inputs)
    return {"weight": weight.astype(np.float32), "bias": np.zeros(outputs, np.float32)}


def apply(layers, x):
    for each in layers[:-1]:
        x = fg.nn.tanh(fg.nn.linear(x, **each))
    return fg.nn.linear(x, **layers[-1])


params = {
    "encoder": [layer(64, WIDTH), layer(WIDTH, WIDTH), layer(WIDTH, 4)],
    "decoder": [layer(2, WIDTH), layer(WIDTH, WIDTH), layer(WIDTH, 64)],
}

# %%
# The bound
# ---------
# How surprised is the decoder by the pixels, and how far is the cloud from the one that
# all points are drawn from? Their sum bounds the negative log likelihood. The cloud is
# a mean and a width, and a point in it is the mean plus the width times a normal
# number, so that the derivative goes through.


def bound(params, x, key):
    code = apply(params["encoder"], x)
    mean, log_width = code[:, :2], code[:, 2:]
    z = mean + np.exp(log_width) * fg.random.normal(key, mean.shape, x.dtype)
    logits = apply(params["decoder"], z)
    surprise = np.sum(np.logaddexp(0, logits) - x * logits, axis=1)
    distance = 0.5 * np.sum(mean**2 + np.exp(2 * log_width) - 1 - 2 * log_width, axis=1)
    return surprise, distance


def loss(params, x, key):
    surprise, distance = bound(params, x, key)
    return np.mean(surprise + distance)


@fg.jit(donate_argnums=(0, 1))
def step(params, state, x, key):
    value, grads = fg.value_and_grad(loss)(params, x, key)
    params, state = adam_update(grads, state, params)
    return params, state, value


# %%
# Training
# --------

STEPS = EPOCHS * len(train_x) // BATCH
state = adam_init(params, lr=schedules.cosine(3e-3, STEPS))
keys = fg.random.split(fg.random.key(0), STEPS)
evaluate = fg.jit(loss)
train_values, test_values = [], []
for epoch in tqdm(range(EPOCHS), desc="training"):
    rows = rng.permutation(len(train_x)).reshape(-1, BATCH)
    values = []
    for batch, key in zip(rows, keys[epoch * len(rows) :], strict=False):
        params, state, value = step(params, state, train_x[batch], key)
        values.append(value)
    train_values.append(np.mean(values))
    test_values.append(float(evaluate(params, test_x, keys[epoch])))
params = fg.tree.map(np.array, params)

# %%
# Is it a bound?
# --------------
# The distance has a formula, which a hundred thousand draws confirm; and the likelihood
# itself, by a sum over a fine grid of the plane, lies below the bound, as it must.

mean, log_width = 0.3, -0.7
z = mean + np.exp(log_width) * rng.normal(size=100_000)
drawn = np.mean(-0.5 * ((z - mean) / np.exp(log_width)) ** 2 - log_width + 0.5 * z**2)
np.testing.assert_allclose(
    drawn, 0.5 * (mean**2 + np.exp(2 * log_width) - 1 - 2 * log_width), atol=0.01
)

axis = np.linspace(-4.5, 4.5, 121, dtype=np.float32)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
logits = apply(params["decoder"], grid)
log_p = test_x @ logits.T - np.sum(np.logaddexp(0, logits), axis=1)
log_prior = (
    -0.5 * np.sum(grid**2, axis=1) - np.log(2 * np.pi) + 2 * np.log(axis[1] - axis[0])
)
exact = -np.mean(np.logaddexp.reduce(log_p + log_prior, axis=1))
found = np.mean([evaluate(params, test_x, key) for key in keys[:50]])
print(f"bound {found:.2f} nats, by the sum over the plane {exact:.2f}")
assert exact < found < exact + 6

# %%
# The plane: what is drawn from each point of it, and where the digits that were not
# seen lie.

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(11, 4), layout="constrained", width_ratios=(1, 1, 0.7)
)
places = np.stack(
    np.meshgrid(np.linspace(-2.4, 2.4, 13), np.linspace(2.4, -2.4, 13)), axis=-1
).astype(np.float32)
drawings = 1 / (1 + np.exp(-apply(params["decoder"], places.reshape(-1, 2))))
left.imshow(
    drawings.reshape(13, 13, 8, 8).transpose(0, 2, 1, 3).reshape(104, 104),
    cmap="gray_r",
    extent=(-2.6, 2.6, -2.6, 2.6),
)
left.set(xlabel="first number", ylabel="second number", title="What is drawn there")
codes = apply(params["encoder"], test_x)[:, :2]
dots = middle.scatter(
    *codes.T, c=test_labels, cmap="tab10", s=9, linewidths=0, vmin=-0.5, vmax=9.5
)
middle.set(
    aspect="equal",
    xlim=(-2.6, 2.6),
    ylim=(-2.6, 2.6),
    xlabel="first number",
    title="Digits that were not seen",
)
figure.colorbar(dots, ax=middle, ticks=range(10), location="top", shrink=0.8)
right.plot(train_values, label="training")
right.plot(test_values, label="not seen")
right.axhline(exact, color="C2", linestyle=":", label="not seen, exact")
right.set(
    xlabel="epoch",
    ylabel="nats per digit",
    title="The bound",
    ylim=(None, test_values[3]),
)
right.legend()
plt.show()

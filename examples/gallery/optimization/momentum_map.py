r"""
A map of learning rates and momenta
===================================

How far does gradient descent get in a ravine with this learning rate and that momentum?
Theory has an answer for quadratics (Polyak, 1964), and one compiled program draws the
whole map: a run of SGD is a function of its hyperparameters, these are data, and
``fg.vmap`` runs 9,216 of them side by side.

What one learns: ``fg.sgd_init`` and ``fg.sgd_update`` inside ``fg.scan``, ``fg.vmap``
over hyperparameters, ``fg.jit``.
"""

import matplotlib.pyplot as plt
import numpy as np

import funcgrad as fg

# %%
# A ravine
# --------
# It is a hundred times as steep across as along.

curvature = np.array([1.0, 100.0])
STEPS = 100


def height(p):
    return 0.5 * np.sum(curvature * p**2)


def run(lr, momentum, nesterov):
    start = np.ones(2)
    state = fg.sgd_init(start, lr=lr, momentum=momentum, nesterov=nesterov)

    def step(carry, _):
        params, state = carry
        params, state = fg.sgd_update(fg.grad(height)(params), state, params)
        return (params, state), params

    _, path = fg.scan(step, (start, state), None, length=STEPS)
    return path


# %%
# All runs at once
# ----------------
# What a run ends with is compared with its start: the mean factor by which a step
# brings it nearer.

rates = np.geomspace(1e-3, 0.05, 96)
momenta = 1 - np.geomspace(1e-2, 1, 96)


def factor(lr, momentum, nesterov):
    path = run(lr, momentum, nesterov)
    end = np.sum(path[-1] ** 2) / 2
    return end ** (0.5 / STEPS)


def draw_map(nesterov):
    grid = fg.vmap(
        fg.vmap(lambda lr, momentum: factor(lr, momentum, nesterov), (0, None)),
        (None, 0),
    )
    with np.errstate(over="ignore"):
        return np.asarray(fg.jit(grid)(rates, momenta))


maps = {nesterov: draw_map(nesterov) for nesterov in (False, True)}
print(f"{sum(each.size for each in maps.values())} runs of {STEPS} steps")

# %%
# Polyak's optimum
# ----------------
# For curvatures between :math:`\mu` and :math:`L` it is :math:`\eta = 4 / (\sqrt L +
# \sqrt\mu)^2` with the momentum :math:`((\sqrt L - \sqrt\mu) / (\sqrt L +
# \sqrt\mu))^2`, and each step brings the point nearer by the root of that momentum.

low, high = np.sqrt(curvature)
best = 4 / (high + low) ** 2, ((high - low) / (high + low)) ** 2
row, column = np.unravel_index(np.argmin(maps[False]), maps[False].shape)
print(
    f"Polyak: rate {best[0]:.4f}, momentum {best[1]:.3f}. "
    f"The map's best: {rates[column]:.4f}, {momenta[row]:.3f}"
)
assert abs(np.log(rates[column] / best[0])) < 0.3
assert abs(momenta[row] - best[1]) < 0.08


# %%
# In the long run the factor is the spectral radius of one step, a matrix of two by two
# for each curvature. Where it is one, runs stay where they are: the border of the map.


def radius(lr, momentum):
    roots = [np.roots([1, -(1 + momentum - lr * c), momentum]) for c in curvature]
    return np.max(np.abs(roots))


theory = np.array([[radius(lr, momentum) for lr in rates] for momentum in momenta])

figure, panels = plt.subplots(
    1, 3, figsize=(11, 3.7), layout="constrained", width_ratios=(1, 1, 1.05)
)
for axes, (nesterov, factors) in zip(panels, maps.items(), strict=False):
    image = axes.pcolormesh(
        rates,
        1 - momenta,
        np.clip(factors, 0.8, 1.2),
        cmap="RdYlBu_r",
        vmin=0.8,
        vmax=1.2,
    )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="learning rate",
        title="Nesterov" if nesterov else "Heavy ball",
    )
    axes.invert_yaxis()
panels[0].set(ylabel="1 - momentum")
panels[0].contour(
    rates, 1 - momenta, theory, levels=[1.0], colors="black", linewidths=1
)
panels[0].plot(
    best[0],
    1 - best[1],
    "*",
    color="white",
    markeredgecolor="black",
    markersize=12,
    label="Polyak's optimum",
)
panels[0].legend(loc="lower left")
figure.colorbar(
    image, ax=panels[:2], label="factor of the distance per step", extend="both"
)
points = np.vstack([np.ones(2), run(best[0], best[1], False)])
panels[2].semilogy(
    np.linalg.norm(run(2 / 101, 0.0, False), axis=1), label="no momentum, its best rate"
)
panels[2].semilogy(np.linalg.norm(points, axis=1), label="Polyak's optimum")
panels[2].semilogy(
    np.sqrt(2) * np.sqrt(best[1]) ** np.arange(STEPS),
    ":",
    color="0.4",
    label="its rate in theory",
)
panels[2].set(xlabel="step", ylabel="distance from the minimum", title="Two runs")
panels[2].legend()
plt.show()

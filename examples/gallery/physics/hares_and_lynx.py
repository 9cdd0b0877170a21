r"""
Hares and lynx: an ODE fitted through ``solve_ivp``
===================================================

The Hudson's Bay Company counted the pelts that it bought for two centuries, and so left
a record of hares, and of the lynx that eat them, going up and down in turns. Lotka's
and Volterra's equations (1925, 1926) say why; which rates do the pelts tell? The
derivatives of SciPy's solver by its parameters come with its solution, so that Newton's
method finds the maximum of the likelihood and how sure it is.

What one learns: ``solve_ivp`` inside a differentiated function, a Hessian through a
solver, errors of a fitted curve.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcgrad as fg
from funcgrad.scipy import stats
from funcgrad.scipy.integrate import solve_ivp

# Thousands of pelts, 1900 to 1920: Howard (2009), after Odum and Barrett (1971).
years = np.arange(1900, 1921)
hares = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1]
hares += [40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
lynx = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7]
lynx += [51.1, 29.7, 15.8, 9.7, 10.1, 8.6]
pelts = np.array([hares, lynx])

# %%
# The equations
# -------------
# Hares multiply, and are eaten; lynx starve, and multiply by eating. Everything is
# positive, so parameters are logarithms: four rates, two first counts, and the spread
# of what is bought.


def motion(t, state, alpha, beta, gamma, delta):
    u, v = state
    return np.stack([(alpha - beta * v) * u, (-gamma + delta * u) * v])


def populations(params, t):
    alpha, beta, gamma, delta, u, v, _ = np.exp(params)
    solution = solve_ivp(
        motion,
        (t[0], t[-1]),
        np.stack([u, v]),
        t_eval=t,
        args=(alpha, beta, gamma, delta),
        rtol=1e-8,
        atol=1e-8,
    )
    return solution.y


def loss(params):
    expected = populations(params, years - 1900.0)
    return -np.sum(
        stats.norm.logpdf(np.log(pelts), np.log(expected), np.exp(params[-1]))
    )


# %%
# The fit
# -------
# The first guess is a rough one. Newton's method in a trust region needs few steps,
# each with its own Hessian through the solver.

start = np.log([0.6, 0.025, 0.8, 0.025, 30, 4, 0.5])
steps = []
found = minimize(
    fg.value_and_grad(loss),
    start,
    jac=True,
    hess=fg.hessian(loss),
    method="trust-exact",
    callback=steps.append,
)
covariance = np.linalg.inv(fg.hessian(loss)(found.x))
errors = np.sqrt(np.diag(covariance))
names = [
    "alpha (1/year)",
    "beta (1/year)",
    "gamma (1/year)",
    "delta (1/year)",
    "hares in 1900",
    "lynx in 1900",
    "spread",
]
for name, log, error in zip(names, found.x, errors, strict=True):
    print(
        f"{name:>15}: {np.exp(log):7.4f}, 95 % "
        f"{np.exp(log - 1.96 * error):7.4f} to {np.exp(log + 1.96 * error):7.4f}"
    )
print(f"{found.nit} steps, largest slope {np.abs(found.jac).max():.1e}")

# %%
# Carpenter (2018) draws from the posterior of this model with Stan: 0.55, 0.028, 0.80
# and 0.024 a year, each within some ten per cent, first counts of 34 and 5.9, and a
# spread of 0.25. A maximum of the likelihood does not make up for the six numbers that
# were fitted, so the spread is corrected. And differences agree with the gradient.

fitted = np.exp(found.x) * np.append(np.ones(6), np.sqrt(pelts.size / (pelts.size - 6)))
np.testing.assert_allclose(
    fitted, [0.55, 0.028, 0.80, 0.024, 34.0, 5.9, 0.25], rtol=0.08
)
differences = [
    (loss(start + h) - loss(start - h)) / 2e-5 for h in 1e-5 * np.eye(len(start))
]
np.testing.assert_allclose(fg.grad(loss)(start), differences, rtol=1e-4)

# %%
# The curve, and how sure it is
# -----------------------------
# The Jacobian of the whole curve by the parameters turns their errors into a band. It
# stays narrow after the record ends: when the next peak comes is well known, how high
# it is much less.

t = np.linspace(0, 30, 400)
curve = populations(found.x, t)
jacobian = fg.jacfwd(lambda params: np.log(populations(params, t)))(found.x)
spread = np.sqrt(np.einsum("stp,pq,stq->st", jacobian, covariance, jacobian))
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 3.9), layout="constrained", width_ratios=(2, 1)
)
for name, row, band, counts, color in zip(
    ["hares", "lynx"], curve, spread, pelts, ["C0", "C1"], strict=True
):
    left.fill_between(
        1900 + t,
        row * np.exp(-1.96 * band),
        row * np.exp(1.96 * band),
        color=color,
        alpha=0.2,
        linewidth=0,
    )
    left.plot(1900 + t, row, color=color, label=name)
    left.plot(years, counts, "o", color=color, markersize=4)
left.axvline(1920, color="0.7", linewidth=0.8, linestyle=":")
left.set(
    xlabel="year",
    ylabel="thousands of pelts",
    ylim=(0, 95),
    title="Counted, fitted, and foretold with 95 %",
)
left.legend(ncols=2)
for k, params in enumerate([start, *steps]):
    shade = plt.get_cmap("viridis_r")(k / len(steps))
    right.plot(
        *populations(params, np.linspace(0, 12, 200)), color=shade, linewidth=0.9
    )
right.plot(*pelts, "o", color="0.3", markersize=3)
right.set(
    xlabel="hares (thousands of pelts)",
    ylabel="lynx (thousands of pelts)",
    title="Newton's steps, from light to dark",
)
plt.show()
